/**
 * One account through all lives of the venue, by one reference client: keeps it busy until the venue is killed, has the client find out
 * what became of the request that was under way then, and holds what the client believes, and what it had been told, against what the
 * venue says after the restart. That is asked past the client wherever bytes are compared: the same request under the same key, and the
 * records of orders. What is kept is bounded: everything of the life that just ended, the orders that are open (the venue has a limit of
 * them), a sample of what is older, and of each request the record that decided it.
 */
import { Client as Reference } from "../../src/client/venue/Client.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import { type Answer, Connection } from "../load/Connection.js"
import type { DemoAccount } from "../load/VenueProcess.js"
import { type Call, Lane, type Operation, text } from "./Calls.js"
import * as Checks from "./Checks.js"
import * as Decision from "./Decision.js"
import { Follower } from "./Follower.js"
import * as Reader from "./Reader.js"
import { type Known, misbelieved, send } from "./Send.js"
import { type Address, origin, Wire } from "./Wire.js"

interface Told {
  readonly call: Call
  readonly answer: Answer
}

/** A request with its answer as later lives must repeat it, or an order that is over with its record. */
interface Old {
  readonly call?: Call
  readonly orderId: string
  readonly text: string
}

/** Old answers and ended orders that a client keeps, together; a life adds some of each. */
const mostOld = 128
const oldPerLife = 8

/** One in so many single placements is also looked up; all other operations always are. */
const lookedUpPlacements = 8

/** What a life came to, for one account. */
export interface Verified {
  readonly findings: ReadonlyArray<string>
  readonly decisions: ReadonlyArray<Decision.Decision>
  readonly fills: ReadonlyArray<Checks.Fill>
  readonly orders: number
}

/** How the request ended that was under way when the venue was killed. */
export const endings = ["had been decided", "decided anew", "never arrived"] as const
export type Ended = typeof endings[number]

/**
 * The shortest time before a client repeats itself, and in how many steps that is doubled from one client to the next: so some repeat
 * until the venue is back, others look their key up by then, and others have given up and begin again.
 */
const leastRetryMs = 40
const retrySteps = 5

/** Every so many-th client sends its commands over the stream, and every so many-th follows its account there. */
const overStream = 4
const following = 8

export class Client {
  private readonly lane: Lane
  private readonly wire: Wire
  private readonly venue: Reference
  private readonly follower: Follower | undefined
  private told: Array<Told> = []
  private neverArrived: Array<Call> = []
  private carried: ReadonlyArray<Checks.OrderRecord> = []
  private newestOrder = ""
  private newestTrade = ""
  private old: Array<Old> = []
  /** What was found since it was last asked. */
  private found: Array<string> = []
  /** What is believed of each request, by its number. */
  readonly believed = new Map<number, Decision.Believed>()

  /** `index`: which of the clients. `answered` hears of every answer, whatever was asked. */
  constructor(readonly account: DemoAccount, index: number, address: Address, answered: () => void) {
    // Where each begins elsewhere in the round of operations, all are sent however soon it ends.
    this.lane = new Lane(account, index * 5)
    this.wire = new Wire(address, account.accountId, answered)
    const fault = (text: string): void => void this.found.push(`${account.accountId}: ${text}`)
    this.venue = new Reference(this.wire, {
      url: origin,
      apiKey: account.apiKey,
      accountId: account.accountId,
      orders: index % overStream === 1 ? "socket" : "rest",
      retryDelayMs: leastRetryMs * 2 ** (index % retrySteps),
      onNotice: (notice) => this.follower?.notice(notice)
    })
    this.follower = index % following > 1 ? undefined : new Follower(this.venue, index === 0, fault)
  }

  /** Changes that it was told of by the stream, and the connections that this took. */
  get followed(): { readonly events: number; readonly connections: number } {
    return this.follower ?? { events: 0, connections: 0 }
  }

  /**
   * Sends one request after the other until that is over, and ends once it is known what became of the last one. `went` hears of every
   * outcome. The last one's end, where it was under way then and its answer was lost.
   */
  async drive(isOver: () => boolean, went: () => void): Promise<Ended | undefined> {
    let last: Ended | undefined
    while (!isOver()) {
      last = undefined
      const call = this.lane.next()
      const outcome = await send(this.venue, call)
      this.learn(call, outcome)
      went()
      const noted = this.wire.of(call.key)
      if (outcome.kind === "never_arrived") last = "never arrived"
      else if (noted.times > 1) last = noted.isRepeated ? "had been decided" : "decided anew"
    }
    return last
  }

  /** Holds everything to what was told. */
  async verify(port: number): Promise<Verified> {
    const connection = new Connection(port, true)
    const findings = this.found
    this.found = []
    findings.push(...this.unasked())
    await this.barred(connection, findings)
    const decisions = await this.repeat(connection, findings)
    const { carried } = this
    const placed = await Reader.ordersSince(this.venue, this.newestOrder)
    const orders: Array<Checks.OrderRecord> = [...placed]
    for (const { orderId } of carried) {
      const order = await Reader.order(connection, this.account, orderId)
      if (order !== undefined) orders.push(JSON.parse(order) as Checks.OrderRecord)
    }
    const fills = await Reader.fillsSince(this.venue, this.newestTrade)
    findings.push(...Checks.account({ decisions, carried, orders, fills }))
    await this.lookBack(connection, findings)
    findings.push(...await this.follower?.check(fills) ?? [])

    this.carried = orders.filter((order) => order.status === "open")
    this.newestOrder = placed[0]?.orderId ?? this.newestOrder
    this.newestTrade = fills[0]?.tradeId ?? this.newestTrade
    await this.keep(connection, orders)
    this.told = []
    this.neverArrived = []
    this.wire.forget()
    connection.close()
    return { findings, decisions, fills, orders: orders.length }
  }

  /** What it holds, money atoms and positions. */
  async holdings(): Promise<{ readonly collateralAtoms: bigint; readonly positions: Contract.PositionList["positions"] }> {
    const [{ collateralAtoms }, { positions }] = await Promise.all([this.venue.balance(), this.venue.positions()])
    return { collateralAtoms: BigInt(collateralAtoms), positions }
  }

  async close(): Promise<void> {
    await this.venue.close()
  }

  private learn(call: Call, outcome: Known): void {
    const noted = this.wire.of(call.key)
    this.found.push(...misbelieved(call, outcome, noted))
    const { answer } = noted
    if (outcome.kind === "never_arrived") {
      this.neverArrived.push(call)
      this.believed.set(call.serial, "never")
    } else if (answer !== undefined) {
      this.told.push({ call, answer })
      this.lane.learn(call, answer.body)
      this.believed.set(call.serial, Decision.believed(call, answer))
    }
  }

  /** What was sent under keys that it was given by nobody, but for the fences of what never arrived. */
  private unasked(): ReadonlyArray<string> {
    const given = new Set([...this.told, ...this.neverArrived.map((call) => ({ call }))].map(({ call }) => call.key))
    return [...this.wire.keys].filter((key) => !given.has(key)).flatMap((key) => {
      const [body = ""] = this.wire.of(key).bodies
      const { idempotencyKey } = JSON.parse(body) as { readonly idempotencyKey?: string }
      return idempotencyKey !== undefined && given.has(idempotencyKey) ? [] : [`${key} was given by nobody, and sent with ${body}`]
    })
  }

  /** What never arrived was not done, and is not done by being sent again: the listings show nothing of it. */
  private async barred(connection: Connection, findings: Array<string>): Promise<void> {
    for (const call of this.neverArrived) {
      findings.push(...Checks.barred(call, await this.venue.lookUp(call.key), await Reader.ask(connection, text(call))))
    }
  }

  /** Sends everything of the life again, and looks keys up. The decisions of the life, in order. */
  private async repeat(connection: Connection, findings: Array<string>): Promise<ReadonlyArray<Decision.Decision>> {
    const decisions: Array<Decision.Decision> = []
    for (const [index, { answer, call }] of this.told.entries()) {
      if (!Decision.isDecided(call, answer)) {
        findings.push(`${call.key} (${call.operation}) was answered ${answer.status} ${answer.body}`)
        continue
      }
      const decision = Decision.read(call, answer)
      decisions.push(decision)
      const again = await Reader.ask(connection, text(call))
      if (Decision.foundNothing(decision)) {
        if (!Decision.isDecided(call, again) || !Decision.foundNothing(Decision.read(call, again))) {
          findings.push(`${call.key} (${call.operation}) found nothing, and is now answered ${again.status} ${again.body}`)
        }
        continue
      }
      findings.push(...Checks.repeated(call, Checks.comparable(answer), again))
      const isLast = index === this.told.length - 1
      if (call.operation === "place_order" && index % lookedUpPlacements !== 0 && !isLast) continue
      findings.push(...Checks.lookedUp(decision, await this.venue.lookUp(call.key)))
    }
    return decisions
  }

  /** What was kept of earlier lives is still as it was. */
  private async lookBack(connection: Connection, findings: Array<string>): Promise<void> {
    for (const { call, orderId, text: kept } of this.old) {
      if (call !== undefined) {
        findings.push(...Checks.repeated(call, kept, await Reader.ask(connection, text(call))))
        continue
      }
      const now = await Reader.order(connection, this.account, orderId)
      if (now !== kept) findings.push(`${orderId} was over as ${kept} and is now ${now}`)
    }
  }

  /** Keeps a sample of the life: its latest answers to what is no single placement, and some orders that are over. */
  private async keep(connection: Connection, orders: ReadonlyArray<Checks.OrderRecord>): Promise<void> {
    const isKept = ({ answer, call }: { readonly answer: Answer; readonly call: Call }): boolean =>
      call.operation !== "place_order" && Decision.isDecided(call, answer) && !Decision.foundNothing(Decision.read(call, answer))
    for (const { answer, call } of this.told.filter(isKept).slice(-oldPerLife)) {
      this.old.push({ call, orderId: "", text: Checks.comparable(answer) })
    }
    for (const { orderId } of orders.filter((order) => order.status !== "open").slice(-oldPerLife)) {
      const record = await Reader.order(connection, this.account, orderId)
      if (record !== undefined) this.old.push({ orderId, text: record })
    }
    this.old = this.old.slice(-mostOld)
  }
}

/** Accepted entries by operation, over decisions of any accounts. */
export const accepted = (decisions: Iterable<Decision.Decision>): Map<Operation, number> => {
  const counts = new Map<Operation, number>()
  for (const { call, entries } of decisions) {
    const done = entries.filter((entry) => entry.accepted).length
    counts.set(call.operation, (counts.get(call.operation) ?? 0) + done)
  }
  return counts
}
