/**
 * One account through all lives of the venue: keeps it busy until the connection is cut, and after the restart
 * holds what it had been told against what the venue then says. What it keeps is bounded: everything of the life
 * that just ended, the orders that are open (the venue has a limit of them), and a sample of what is older.
 */
import { type Answer, Connection, Lost } from "../load/Connection.js"
import type { DemoAccount } from "../load/VenueProcess.js"
import { type Call, Lane, type Operation, text } from "./Calls.js"
import * as Checks from "./Checks.js"
import * as Decision from "./Decision.js"
import * as Reader from "./Reader.js"

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

export class Client {
  private readonly lane: Lane
  private told: Array<Told> = []
  private unknown: Call | undefined
  private carried: ReadonlyArray<Checks.OrderRecord> = []
  private newestOrder = ""
  private newestTrade = ""
  private old: Array<Old> = []

  /** `begins`: where in its round of operations. */
  constructor(readonly account: DemoAccount, begins: number) {
    this.lane = new Lane(account, begins)
  }

  /** Sends one request after the other until the connection ends; `went` hears of every answer. */
  async drive(port: number, went: () => void): Promise<void> {
    const connection = new Connection(port, true)
    for (;;) {
      const call = this.lane.next()
      try {
        const answer = await Reader.ask(connection, text(call))
        this.told.push({ call, answer })
        this.lane.learn(call, answer.body)
        went()
      } catch (cause) {
        if (!(cause instanceof Lost)) throw cause
        this.unknown = call
        return
      }
    }
  }

  /**
   * Sends what was left open at the kill again, under the same key; whether it had been decided, undefined where nothing was
   * open. It may trade with other accounts' orders: nobody's fills are read before every client has settled.
   */
  async settle(port: number, findings: Array<string>): Promise<boolean | undefined> {
    const connection = new Connection(port, true)
    const acted = await this.sendUnknown(connection, findings)
    connection.close()
    return acted
  }

  /** Holds everything to what was told. */
  async verify(port: number): Promise<Verified> {
    const connection = new Connection(port, true)
    const findings: Array<string> = []
    const decisions = await this.repeat(connection, findings)
    const { carried } = this
    const placed = await Reader.ordersSince(connection, this.account, this.newestOrder)
    const orders = [...placed]
    for (const { orderId } of carried) {
      const order = await Reader.order(connection, this.account, orderId)
      if (order !== undefined) orders.push(JSON.parse(order) as Checks.OrderRecord)
    }
    const fills = await Reader.fillsSince(connection, this.account, this.newestTrade)
    findings.push(...Checks.account({ decisions, carried, orders, fills }))
    await this.lookBack(connection, findings)

    this.carried = orders.filter((order) => order.status === "open")
    this.newestOrder = placed[0]?.orderId ?? this.newestOrder
    this.newestTrade = fills[0]?.tradeId ?? this.newestTrade
    await this.keep(connection, orders)
    this.told = []
    connection.close()
    return { findings, decisions, fills, orders: orders.length }
  }

  /** Sends again what had no answer. What a lookup said of it before must agree. */
  private async sendUnknown(connection: Connection, findings: Array<string>): Promise<boolean | undefined> {
    const call = this.unknown
    if (call === undefined) return undefined
    const before = await Reader.lookup(connection, this.account, call.key)
    const answer = await Reader.ask(connection, text(call))
    this.unknown = undefined
    this.told.push({ call, answer })
    this.lane.learn(call, answer.body)
    if (before.outcome === "never_seen" && before.decisions.length === 0) return false
    if (Decision.isDecided(call, answer)) findings.push(...Checks.lookedUp(Decision.read(call, answer), before))
    return true
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
      findings.push(...Checks.lookedUp(decision, await Reader.lookup(connection, this.account, call.key)))
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
