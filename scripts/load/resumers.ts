/**
 * Clients that follow their own accounts' orders and fills, are cut off, and reconnect with the sequences that they had, in a process of
 * their own. What each receives is compared with its account's listings: all of it, once and in order. They are minimal clients, since so
 * many reference clients would be measured instead of the venue; the crash run uses those.
 */
import type * as Contract from "../../src/client/venue/Contract.js"
import { type Answer, Connection, get, post } from "./Connection.js"
import { body } from "./Orders.js"
import { StreamConnection } from "./StreamConnection.js"
import type { DemoAccount } from "./VenueProcess.js"

/** The process's instructions, sent one after another; each is answered once it is done. */
export type Asked =
  /** Creates the clients, and has them start following. */
  | { readonly ask: "begin"; readonly port: number; readonly accounts: ReadonlyArray<DemoAccount> }
  /** Closes all connections at once. */
  | { readonly ask: "cut" }
  /** Places so many orders for each account, one after another. */
  | { readonly ask: "trade"; readonly port: number; readonly each: number }
  /** Reads the listings, and renews tickets that expire soon. */
  | { readonly ask: "read"; readonly port: number }
  /** Has all clients reconnect. */
  | { readonly ask: "return"; readonly port: number }

/** The answer to an instruction. */
export interface Returned {
  /** Events received since the last answer. */
  readonly events: number
  /** When each reconnected client had everything, in milliseconds from the instruction, ascending. */
  readonly hadAllMs: ReadonlyArray<number>
  /** Problems, and the number of further ones. */
  readonly problems: ReadonlyArray<string>
}

/** Concurrent requests, each on a connection of its own. */
const lanes = 64
/** Connections opened at a time: the system's backlog for the venue is bounded, and excess attempts are repeated. */
const openingAtOnce = 256
/** The remaining lifetime that a ticket must have, in milliseconds. */
const leastLeftMs = 150_000
/** Entries requested of a listing: more than there are. */
const listed = 100
const shown = 10
/** How long all clients are waited for, in milliseconds: one that lacks something by then has missed it. */
const patienceMs = 300_000

const channels = ["account.orders", "account.fills"] as const
type Channel = typeof channels[number]

interface Frame {
  readonly type: string
  readonly channel: Channel
  readonly resumed?: boolean
  readonly previousSequence: number
  readonly sequence: number
  readonly data: ReadonlyArray<Contract.Order & Contract.Fill>
}

const problems: Array<string> = []
let events = 0

const orderText = ({ lastSequence, remainingQuantityAtoms, status }: Contract.Order): string =>
  `${status} ${remainingQuantityAtoms} as of ${lastSequence}`

class Resumer {
  ticket = { ticket: "", expiresAt: 0 }
  private connection: StreamConnection | undefined
  private readonly last = new Map<Channel, number>()
  private readonly live = new Set<Channel>()
  private readonly orders = new Map<string, string>()
  private readonly fills = new Set<string>()
  /** What the listings contain. */
  private expected: { readonly orders: ReadonlyMap<string, string>; readonly fills: ReadonlySet<string>; readonly last: number } = {
    orders: new Map(),
    fills: new Set(),
    last: 0
  }
  private opened = (): void => {}
  private hadAll = (): void => {}
  private hasAll = false

  constructor(readonly account: DemoAccount) {}

  /** Connects, and continues after what it has. `opened` is called once it is connected; resolves when it has everything that it missed. */
  come(port: number, opened: () => void): Promise<void> {
    this.opened = opened
    this.hasAll = false
    return new Promise((resolve) => {
      this.hadAll = resolve
      this.connection = new StreamConnection(port, {
        text: (bytes) => this.hear(JSON.parse(bytes.toString()) as Frame),
        ended: () => {
          if (this.connection !== undefined) this.wrong("its connection ended")
        }
      })
    })
  }

  /** Stops waiting. */
  giveUp(): void {
    if (this.hasAll) return
    this.wrong(`it does not have all after ${patienceMs} ms`)
    this.opened()
    this.hadAll()
  }

  leave(): void {
    const { connection } = this
    this.connection = undefined
    this.live.clear()
    connection?.close()
  }

  /** Takes over the contents of the listings. */
  expect(orders: ReadonlyArray<Contract.Order>, fills: ReadonlyArray<Contract.Fill>): void {
    this.expected = {
      orders: new Map(orders.map((order) => [order.orderId, orderText(order)])),
      fills: new Set(fills.map(({ tradeId }) => tradeId)),
      last: orders.reduce((last, { lastSequence }) => Math.max(last, lastSequence), 0)
    }
  }

  /** Reports where the received events differ from the listings. */
  compare(): void {
    const { fills, orders } = this.expected
    for (const [orderId, text] of orders) {
      if (this.orders.get(orderId) !== text) this.wrong(`${orderId} is ${text}, and it was told ${this.orders.get(orderId)}`)
    }
    if (this.orders.size !== orders.size) this.wrong(`it was told of ${this.orders.size} orders, and has ${orders.size}`)
    for (const tradeId of fills) if (!this.fills.has(tradeId)) this.wrong(`it was not told of ${tradeId}`)
    if (this.fills.size !== fills.size) this.wrong(`it was told of ${this.fills.size} fills, and has ${fills.size}`)
  }

  wrong(what: string): void {
    problems.push(`${this.account.accountId}: ${what}`)
  }

  private hear(frame: Frame): void {
    switch (frame.type) {
      case "hello":
        this.opened()
        return this.connection?.send(JSON.stringify({ op: "auth", id: "a", ticket: this.ticket.ticket }))
      case "auth_ok":
        return this.connection?.together(() => {
          for (const channel of channels) {
            const fromSequence = this.last.get(channel)
            this.connection?.send(JSON.stringify({ op: "subscribe", id: channel, channel, fromSequence }))
          }
        })
      case "subscribed":
        this.live.add(frame.channel)
        if (this.last.has(frame.channel)) return this.look()
        return
      case "snapshot":
        if (this.last.has(frame.channel)) this.wrong(`${frame.channel} began anew`)
        return this.take(frame)
      case "update":
        events++
        if (frame.previousSequence !== this.last.get(frame.channel) || frame.sequence <= frame.previousSequence) {
          this.wrong(`${frame.channel} told ${frame.previousSequence} to ${frame.sequence} behind ${this.last.get(frame.channel)}`)
        }
        return this.take(frame)
      case "heartbeat":
        return
      default:
        this.wrong(JSON.stringify(frame))
    }
  }

  private take({ channel, data, sequence }: Frame): void {
    this.last.set(channel, sequence)
    for (const entry of data) {
      if (channel === "account.orders") this.orders.set(entry.orderId, orderText(entry))
      else if (this.fills.has(entry.tradeId)) this.wrong(`${entry.tradeId} was told twice`)
      else this.fills.add(entry.tradeId)
    }
    this.look()
  }

  /** Checks whether it has everything by now. */
  private look(): void {
    if (this.live.size < channels.length || this.last.size < channels.length) return
    if (this.last.get("account.orders")! < this.expected.last || this.fills.size < this.expected.fills.size) return
    this.hasAll = true
    this.hadAll()
  }
}

let resumers: ReadonlyArray<Resumer> = []

const ask = (connection: Connection, text: string): Promise<Answer> =>
  new Promise((resolve, reject) => connection.request(text, resolve, reject))

/** A request that must succeed, with its answer. */
const must = async <A>(connection: Connection, text: string): Promise<A> => {
  const { body: told, status } = await ask(connection, text)
  if (status !== 200) throw new Error(`${text.slice(0, text.indexOf("\r\n"))} was answered ${status} ${told}`)
  return JSON.parse(told) as A
}

/** Runs work for each client on a few connections, each of which takes the next client as soon as it is done. */
const forAll = async (port: number, work: (resumer: Resumer, connection: Connection, index: number) => Promise<void>): Promise<void> => {
  const left = resumers.entries()
  await Promise.all(Array.from({ length: lanes }, async () => {
    const connection = new Connection(port, true)
    for (const [index, resumer] of left) await work(resumer, connection, index)
    connection.close()
  }))
}

const mintTickets = async (port: number): Promise<void> => {
  if (resumers.every(({ ticket }) => ticket.expiresAt - Date.now() > leastLeftMs)) return
  await forAll(port, async (resumer, connection) => {
    const { accountId, apiKey } = resumer.account
    const text = post("/v1/realtime/ticket", apiKey, `ticket-${accountId}-${Date.now()}`, JSON.stringify({ scopes: ["read"] }))
    resumer.ticket = await must<Contract.Ticket>(connection, text)
  })
}

let serial = 0

const trade = async (port: number, each: number): Promise<void> => {
  for (let turn = 0; turn < each; turn++) {
    const first = serial
    await forAll(port, async ({ account }, connection, index) => {
      const own = first + index
      await must(connection, post("/v1/orders", account.apiKey, `${account.accountId}-${own}`, body(account, own)))
    })
    // Odd, so that each alternates between buying and selling.
    serial += resumers.length + 1 - resumers.length % 2
  }
}

const read = (port: number): Promise<void> =>
  forAll(port, async (resumer, connection) => {
    const { accountId, apiKey } = resumer.account
    const page = <A>(what: string) => must<A>(connection, get(`/v1/accounts/${accountId}/${what}?limit=${listed}`, apiKey))
    const { nextCursor, orders } = await page<Contract.OrderList>("orders")
    const fills = await page<Contract.FillList>("fills")
    if (nextCursor !== null || fills.nextCursor !== null) throw new Error("an account has more than a page")
    resumer.expect(orders, fills.fills)
  })

/** Has all clients connect and receive what they missed. Returns when each had everything. */
const come = async (port: number): Promise<ReadonlyArray<number>> => {
  const begun = performance.now()
  const left = resumers.values()
  const had: Array<Promise<number>> = []
  const patience = setTimeout(() => resumers.forEach((resumer) => resumer.giveUp()), patienceMs)
  await Promise.all(Array.from({ length: openingAtOnce }, async () => {
    for (const resumer of left) {
      await new Promise<void>((opened) => had.push(resumer.come(port, opened).then(() => performance.now() - begun)))
    }
  }))
  const hadAllMs = await Promise.all(had)
  clearTimeout(patience)
  return hadAllMs.sort((one, other) => one - other)
}

const work = async (asked: Asked): Promise<ReadonlyArray<number>> => {
  switch (asked.ask) {
    case "begin":
      resumers = asked.accounts.map((account) => new Resumer(account))
      await mintTickets(asked.port)
      return await come(asked.port)
    case "cut":
      for (const resumer of resumers) resumer.leave()
      return []
    case "trade":
      await trade(asked.port, asked.each)
      return []
    case "read":
      await read(asked.port)
      await mintTickets(asked.port)
      return []
    case "return": {
      const hadAllMs = await come(asked.port)
      for (const resumer of resumers) resumer.compare()
      return hadAllMs
    }
  }
}

process.on("message", (asked: Asked) => {
  void work(asked).then((hadAllMs) => {
    const more = problems.length - shown
    const found = more > 0 ? [...problems.slice(0, shown), `and ${more} more`] : [...problems]
    const returned: Returned = { events, hadAllMs, problems: found }
    problems.length = 0
    events = 0
    process.send!(returned)
  })
})
process.once("disconnect", () => process.exit(0))
