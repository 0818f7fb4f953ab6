/**
 * Index prices from a feed process, as a stream of numbered batches.
 *
 * A process opens a session and numbers its batches from 1, without gaps. A batch that was taken is never taken again: the
 * same number gets the answer that it got, or where that is no longer kept, that it was taken. So a process that lost an answer
 * or its connection sends the batch again, or asks for the last number and goes on behind it. Opening a session ends the
 * one before: of two processes that take themselves for the feed only the newest is heard.
 *
 * Sessions live as long as the process. That is enough: a sample carries the time at which its source saw it, and the engine
 * refuses what is older than what stands, so nothing sent again into a new session can move the index back.
 */
import type * as Context from "effect/Context"
import { isDelisted, type Reads } from "../engine/Reads.js"
import { internal, Principal } from "../operations/Header.js"
import type { Outcome } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"
import { toAtoms } from "./Price.js"

/** Most samples of one batch. */
export const maxSamples = 256

/** Samples that may be taken in a second on average, and at once after a quiet time. */
const rate = { perSecond: 1_000, burst: 2_000 } as const
/** Samples that may be on their way to their decisions. */
const mostUndecided = 2_048

/** A price as the feed process tells it. */
export interface StreamedPrice {
  readonly marketId: string
  readonly price: number
  readonly sourceEpochMs: number
}

/** What became of a price: the decision on it, or why there is none. */
export type Decided = { readonly marketId: string; readonly outcome: Outcome | "market_unknown" | "market_delisted" | "price_invalid" }

/** Where a stream stands. */
export interface Position {
  readonly session: string
  /** The number of the last batch that was taken; 0 before the first. */
  readonly lastSequence: number
}

/** What a batch that was taken came to. Its decisions are not told again once a later batch was taken. */
export interface Acknowledged extends Position {
  readonly repeated: boolean
  readonly decided: ReadonlyArray<Decided>
}

/** Why a batch is not taken. Nothing was done. */
export type NotTaken =
  | { readonly reason: "session_ended" }
  | { readonly reason: "gap"; readonly expected: number }
  | { readonly reason: "too_much" }

/** One batch that was taken, until all of it is decided and beyond, for as long as it is the newest. */
class Batch {
  readonly decided: Array<Decided> = []
  private readonly waiting: Array<() => void> = []

  constructor(readonly sequence: number, private undecided: number) {}

  settle(index: number, decided: Decided): void {
    this.decided[index] = decided
    if (--this.undecided === 0) { for (const callback of this.waiting.splice(0)) callback() }
  }

  whenDecided(callback: () => void): void {
    if (this.undecided === 0) callback()
    else this.waiting.push(callback)
  }
}

export class IndexStream {
  private session: string | undefined = undefined
  private newest: Batch | undefined = undefined
  private undecided = 0
  private allowance: number = rate.burst
  private allowedAtMs = Number.NEGATIVE_INFINITY

  constructor(
    private readonly reads: Reads,
    private readonly submit: Context.Tag.Service<Submit>["submit"],
    private readonly now: () => number,
    private readonly nextSession: () => string,
    /** Told of each price that is none of its market's grid: nothing decides on it. */
    private readonly refuse: (market: number, sender: "feed") => void
  ) {}

  /** Where the stream stands; undefined before a session was opened. */
  get position(): Position | undefined {
    return this.session === undefined ? undefined : { session: this.session, lastSequence: this.newest?.sequence ?? 0 }
  }

  /** Opens a session, which ends the one before. */
  open(): Position {
    const session = this.nextSession()
    this.session = session
    this.newest = undefined
    return { session, lastSequence: 0 }
  }

  /**
   * Takes a batch, unless it was taken before, and calls back once all that it came to is decided and durable. Says at once, and
   * never calls back, where it is not taken.
   */
  offer(
    session: string,
    sequence: number,
    prices: ReadonlyArray<StreamedPrice>,
    acknowledge: (acknowledged: Acknowledged) => void
  ): NotTaken | undefined {
    if (this.session !== session) return { reason: "session_ended" }
    const last = this.newest?.sequence ?? 0
    if (sequence > last + 1) return { reason: "gap", expected: last + 1 }
    if (sequence <= last) {
      this.repeat(session, sequence, acknowledge)
      return undefined
    }
    if (!this.mayTake(prices.length)) return { reason: "too_much" }
    const batch = new Batch(sequence, prices.length)
    this.newest = batch
    batch.whenDecided(() => acknowledge({ session, lastSequence: sequence, repeated: false, decided: batch.decided }))
    prices.forEach((price, index) => this.send(batch, index, price))
    return undefined
  }

  /** Tells of a batch that was taken before, once everything up to the newest is decided. */
  private repeat(session: string, sequence: number, acknowledge: (acknowledged: Acknowledged) => void): void {
    const newest = this.newest!
    newest.whenDecided(() =>
      acknowledge({
        session,
        lastSequence: newest.sequence,
        repeated: true,
        decided: sequence === newest.sequence ? newest.decided : []
      })
    )
  }

  private send(batch: Batch, index: number, { marketId, price, sourceEpochMs }: StreamedPrice): void {
    const market = this.reads.findMarket(marketId)
    if (market < 0) return batch.settle(index, { marketId, outcome: "market_unknown" })
    const view = this.reads.market(market)
    if (isDelisted(view)) return batch.settle(index, { marketId, outcome: "market_delisted" })
    const priceAtoms = toAtoms(price, view.parameters.priceScale)
    if (priceAtoms === undefined) {
      this.refuse(market, "feed")
      return batch.settle(index, { marketId, outcome: "price_invalid" })
    }
    this.undecided++
    this.submit({ kind: "SetIndexPrice", ...internal(Principal.feed), market, priceAtoms, sourceEpochMs }, (outcome) => {
      this.undecided--
      batch.settle(index, { marketId, outcome })
    })
  }

  /** Whether so many samples more are within what a stream may send; if so, they are counted. */
  private mayTake(count: number): boolean {
    const now = this.now()
    // A clock that was set back gives nothing, and takes nothing away.
    const elapsedMs = Math.max(0, now - this.allowedAtMs)
    this.allowance = Math.min(rate.burst, this.allowance + (elapsedMs * rate.perSecond) / 1_000)
    this.allowedAtMs = now
    if (this.allowance < count || this.undecided + count > mostUndecided) return false
    this.allowance -= count
    return true
  }
}
