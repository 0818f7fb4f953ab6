/**
 * One account through all lives of the venue, with one reference client: keeps it busy until the venue is killed, has the client find out
 * what became of the request in progress, and compares what the client believes, and what it had been told, with what the venue says after
 * the restart. Where bytes are compared, the venue is asked without the client: for the same request under the same key, and for the
 * records of orders. What is kept is bounded: everything of the life that has just ended, the open orders (which the venue limits), a
 * sample of what is older, and for each request the record that decided it.
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

/** A request with the answer that later lives must repeat, or an ended order with its record. */
interface Old {
  readonly call?: Call
  readonly orderId: string
  readonly text: string
}

/** Most old answers and ended orders that a client keeps, together; each life adds some of both. */
const mostOld = 128
const oldPerLife = 8

/** One in this many single placements is also looked up; all other operations always are. */
const lookedUpPlacements = 8

/** The results of a life for one account. */
export interface Verified {
  readonly findings: ReadonlyArray<string>
  readonly decisions: ReadonlyArray<Decision.Decision>
  readonly fills: ReadonlyArray<Checks.Fill>
  readonly orders: number
}

/** How the request ended that was in progress when the venue was killed. */
export const endings = ["had been decided", "decided anew", "never arrived"] as const
export type Ended = typeof endings[number]

/**
 * The shortest delay before a client repeats a request, in milliseconds, and the number of steps in which it doubles from client to client:
 * so some repeat until the venue is back, others look their key up by then, and others have given up and start over.
 */
const leastRetryMs = 40
const retrySteps = 5

/** Every so many clients, one sends its commands over the stream, and one follows its account there. */
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
  /** Findings since the last call. */
  private found: Array<string> = []
  /** What the client believes about each request, by its number. */
  readonly believed = new Map<number, Decision.Believed>()

  /** `index`: the client's number. `answered` is called for every answer. */
  constructor(readonly account: DemoAccount, index: number, address: Address, answered: () => void) {
    // With a different start for each client, all operations are sent even if a life ends early.
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

  /** Changes received over the stream, and the connections that this took. */
  get followed(): { readonly events: number; readonly connections: number } {
    return this.follower ?? { events: 0, connections: 0 }
  }

  /**
   * Sends one request after another until `isOver`, and resolves once the outcome of the last one is known. `went` is called for every
   * outcome. Returns how the last one ended, where it was in progress then and its answer was lost.
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

  /** Compares everything with what was reported. */
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

  /** The account's money atoms and positions. */
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

  /** Commands under keys that the client was not given, except for its own fences. */
  private unasked(): ReadonlyArray<string> {
    const given = new Set([...this.told, ...this.neverArrived.map((call) => ({ call }))].map(({ call }) => call.key))
    return [...this.wire.keys].filter((key) => !given.has(key)).flatMap((key) => {
      const [body = ""] = this.wire.of(key).bodies
      const { idempotencyKey } = JSON.parse(body) as { readonly idempotencyKey?: string }
      return idempotencyKey !== undefined && given.has(idempotencyKey) ? [] : [`${key} was given by nobody, and sent with ${body}`]
    })
  }

  /** What never arrived was not done, and repeating it does nothing: the listings must not contain it. */
  private async barred(connection: Connection, findings: Array<string>): Promise<void> {
    for (const call of this.neverArrived) {
      findings.push(...Checks.barred(call, await this.venue.lookUp(call.key), await Reader.ask(connection, text(call))))
    }
  }

  /** Repeats all requests of the life, and looks up their keys. Returns the decisions of the life, in order. */
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

  /** Checks that samples from earlier lives are unchanged. */
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

  /** Keeps a sample of the life: the latest answers other than to single placements, and some ended orders. */
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

/** The number of accepted entries for each operation, over decisions of any accounts. */
export const accepted = (decisions: Iterable<Decision.Decision>): Map<Operation, number> => {
  const counts = new Map<Operation, number>()
  for (const { call, entries } of decisions) {
    const done = entries.filter((entry) => entry.accepted).length
    counts.set(call.operation, (counts.get(call.operation) ?? 0) + done)
  }
  return counts
}
