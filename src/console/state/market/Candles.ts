/**
 * A market's candles of one length: the latest, and then as they change. Candles of trades come from the stream where the venue offers them
 * there; all others are polled every few seconds.
 */
import { signal } from "@preact/signals-core"
import type { Client, OrderName } from "../../../client/venue/Client.js"
import type * as Contract from "../../../client/venue/Contract.js"
import type { Following } from "../../../client/venue/Following.js"
import { Refusal, Unanswered } from "../../../client/venue/Refusal.js"
import * as Failure from "../Failure.js"
import type { Frames } from "./Frames.js"

export const timeframes = ["1m", "5m", "15m", "1h", "4h", "1d"] as const satisfies ReadonlyArray<Contract.Timeframe>
export type Timeframe = (typeof timeframes)[number]

export const serieses = ["trade", "index"] as const
export type Series = (typeof serieses)[number]

/** The shown candles, under a name that changes when they are replaced altogether. */
export interface Shown {
  readonly name: string
  /** Oldest first. */
  readonly candles: ReadonlyArray<Contract.Candle>
}

/** Most candles kept, and the number that the venue returns at once. */
const most = 1_000
const page = 100

/** Most requests further back while nothing is found. */
const mostLooks = 5

const minuteMs = 60_000

/** The duration of a candle, in milliseconds. */
const lengthsMs: Readonly<Record<Timeframe, number>> = {
  "1m": minuteMs,
  "5m": 5 * minuteMs,
  "15m": 15 * minuteMs,
  "1h": 60 * minuteMs,
  "4h": 240 * minuteMs,
  "1d": 1_440 * minuteMs
}

/**
 * The known candles merged with newer ones: each in its latest state. A full answer that begins after the last known one leaves out what
 * there was between them, and that last one may be only the beginning of a candle: then what was known is given up.
 */
export const joined = (known: ReadonlyArray<Contract.Candle>, told: ReadonlyArray<Contract.Candle>): ReadonlyArray<Contract.Candle> => {
  const first = told[0]
  if (first === undefined) return known
  const last = known.at(-1)
  if (told.length >= page && last !== undefined && last.openTimeEpochMs < first.openTimeEpochMs) return told
  return known.filter(({ openTimeEpochMs }) => openTimeEpochMs < first.openTimeEpochMs).concat(told).slice(-most)
}

export class Candles {
  readonly timeframe = signal<Timeframe>("1m")
  readonly series = signal<Series>("trade")
  readonly shown = signal<Shown | undefined>(undefined)
  readonly failure = signal<Failure.Failure | undefined>(undefined)
  private held: Shown | undefined
  private following: Following<"market.candles"> | undefined
  /** Whether they have to be polled. */
  private isPolled = true
  private turn = 0
  /** Counts the times that what was known was given up: older ones that were requested before do not belong to the later ones. */
  private part = 0
  /** From when on all candles are known; undefined before any are. */
  private knownSinceEpochMs: number | undefined
  private isOlder = false

  constructor(
    private readonly marketId: OrderName["marketId"],
    private readonly client: Client,
    private readonly frames: Frames
  ) {}

  /** Shows candles of a length and a series. */
  async choose(timeframe: Timeframe, series: Series): Promise<void> {
    this.timeframe.value = timeframe
    this.series.value = series
    const turn = ++this.turn
    this.following?.close()
    this.following = undefined
    this.isPolled = true
    this.knownSinceEpochMs = undefined
    this.failure.value = undefined
    await this.load(turn)
    if (turn === this.turn && series === "trade") this.follow(timeframe)
  }

  /** Requests changes where the stream does not carry them. */
  async refresh(): Promise<void> {
    if (this.isPolled) await this.load(this.turn)
  }

  /**
   * Requests candles before those shown, as long as the venue has more. A period without trades has none: then it searches further back.
   */
  async older(): Promise<void> {
    if (this.isOlder) return
    this.isOlder = true
    try {
      for (let looks = 0, found = false; looks < mostLooks && !found; looks++) found = await this.lookBack()
    } catch (cause) {
      // The shown candles remain valid, and the request is repeated when the user looks there again.
      if (!(cause instanceof Refusal || cause instanceof Unanswered)) throw cause
    } finally {
      this.isOlder = false
    }
  }

  private get name(): string {
    return `${this.marketId} ${this.timeframe.value} ${this.series.value}`
  }

  /** Requests the period that one answer can cover. Returns whether the search is over. */
  private async lookBack(): Promise<boolean> {
    const { held, part, turn } = this
    const until = this.knownSinceEpochMs ?? held?.candles[0]?.openTimeEpochMs ?? 0
    if (held === undefined || until === 0 || held.candles.length > most - page) return true
    const timeframe = this.timeframe.value
    const since = Math.max(0, until - page * lengthsMs[timeframe])
    const { candles } = await this.client.candles(this.marketId, { timeframe, series: this.series.value, since })
    if (turn !== this.turn || part !== this.part) return true
    this.knownSinceEpochMs = since
    const before = candles.filter(({ openTimeEpochMs }) => openTimeEpochMs < until)
    if (before.length === 0) return false
    this.held = { name: this.name, candles: before.concat(this.held?.candles ?? []) }
    this.frames.ask(this.show)
    return true
  }

  private async load(turn: number): Promise<void> {
    try {
      const { candles } = await this.client.candles(this.marketId, { timeframe: this.timeframe.value, series: this.series.value })
      if (turn !== this.turn) return
      this.failure.value = undefined
      this.take(candles)
    } catch (cause) {
      if (!(cause instanceof Refusal || cause instanceof Unanswered)) throw cause
      if (turn === this.turn) this.failure.value = cause instanceof Refusal ? Failure.ofEnvelope(cause.envelope) : Failure.unanswered
    }
  }

  private follow(timeframe: Timeframe): void {
    this.following = this.client.follow({ channel: "market.candles", marketId: this.marketId, timeframe }, {
      snapshot: ({ data }) => this.told(data),
      update: ({ data }) => this.told(data),
      interrupted: () => this.isPolled = true,
      // A venue whose stream has no candles refuses: they are polled instead.
      ended: () => this.isPolled = true
    })
  }

  private told(candles: ReadonlyArray<Contract.Candle>): void {
    this.isPolled = false
    this.take(candles)
  }

  private take(candles: ReadonlyArray<Contract.Candle>): void {
    const { held, name } = this
    const known = held?.name === name ? held.candles : []
    const both = joined(known, candles)
    if (known.length > 0 && both === candles) {
      this.part++
      this.knownSinceEpochMs = undefined
    }
    this.held = { name, candles: both }
    this.frames.ask(this.show)
  }

  private readonly show = (): void => {
    this.shown.value = this.held
  }
}
