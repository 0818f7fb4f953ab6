/**
 * Index prices from a feed process, as a stream of numbered batches.
 *
 * The process opens a session and numbers its batches from 1, without gaps. A batch is accepted only once: a repetition of its number gets
 * the same answer or, where that is no longer kept, the information that it was accepted. So a process that lost an answer or its
 * connection sends the batch again, or asks for the last number and continues after it. Opening a session ends the previous one: of two
 * processes that both act as the feed only the newest is heard.
 *
 * Sessions live as long as the venue's process. That is enough: a sample carries the time at which its source observed it, and the engine
 * refuses samples older than the present index, so that nothing sent again in a new session can move the index back.
 */
import type * as Context from "effect/Context"
import { isDelisted, type Reads } from "../engine/Reads.js"
import { internal, Principal } from "../operations/Header.js"
import type { Outcome } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"
import { toAtoms } from "./Price.js"

/** Most samples of one batch. */
export const maxSamples = 256

/** Samples accepted per second on average, and at once after a quiet time. */
const rate = { perSecond: 1_000, burst: 2_000 } as const
/** Most samples that are submitted and not yet decided. */
const mostUndecided = 2_048

/** A price as the feed process sends it. */
export interface StreamedPrice {
  readonly marketId: string
  readonly price: number
  readonly sourceEpochMs: number
}

/** The result for a price: the decision on it, or why there is none. */
export type Decided = { readonly marketId: string; readonly outcome: Outcome | "market_unknown" | "market_delisted" | "price_invalid" }

/** The position of a stream. */
export interface Position {
  readonly session: string
  /** The number of the last accepted batch; 0 before the first. */
  readonly lastSequence: number
}

/** The results of an accepted batch. They are not given again once a later batch has been accepted. */
export interface Acknowledged extends Position {
  readonly repeated: boolean
  readonly decided: ReadonlyArray<Decided>
}

/** Why a batch is not accepted. Nothing was done. */
export type NotTaken =
  | { readonly reason: "session_ended" }
  | { readonly reason: "gap"; readonly expected: number }
  | { readonly reason: "too_much" }

/** An accepted batch, kept until it is decided and for as long as it is the newest. */
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
    /** Called for each price that is not on its market's grid: no decision is made on it. */
    private readonly refuse: (market: number, sender: "feed") => void
  ) {}

  /** The stream's position; undefined before a session has been opened. */
  get position(): Position | undefined {
    return this.session === undefined ? undefined : { session: this.session, lastSequence: this.newest?.sequence ?? 0 }
  }

  /** Opens a session, which ends the previous one. */
  open(): Position {
    const session = this.nextSession()
    this.session = session
    this.newest = undefined
    return { session, lastSequence: 0 }
  }

  /**
   * Accepts a batch, unless it was accepted before, and calls back once everything in it is decided and durable. Where it does not accept
   * the batch it returns the reason at once, and never calls back.
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

  /** Acknowledges a batch that was accepted before, once everything up to the newest is decided. */
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

  /** Whether so many more samples are within the stream's rate limit; if so, they are counted. */
  private mayTake(count: number): boolean {
    const now = this.now()
    // Setting the clock back neither adds to the allowance nor reduces it.
    const elapsedMs = Math.max(0, now - this.allowedAtMs)
    this.allowance = Math.min(rate.burst, this.allowance + (elapsedMs * rate.perSecond) / 1_000)
    this.allowedAtMs = now
    if (this.allowance < count || this.undecided + count > mostUndecided) return false
    this.allowance -= count
    return true
  }
}
