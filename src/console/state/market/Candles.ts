/**
 * A market's candles of one length: the latest, then as they change. Those of trades come by the stream where the venue tells candles
 * there; all others are asked for every few seconds.
 */
import { signal } from "@preact/signals-core"
import type { Client, OrderName } from "../../../client/venue/Client.js"
import type * as Contract from "../../../client/venue/Contract.js"
import type { Following } from "../../../client/venue/Following.js"
import { Refusal } from "../../../client/venue/Refusal.js"
import * as Failure from "../Failure.js"
import type { Frames } from "./Frames.js"

export const timeframes = ["1m", "5m", "15m", "1h", "4h", "1d"] as const satisfies ReadonlyArray<Contract.Timeframe>
export type Timeframe = (typeof timeframes)[number]

export const serieses = ["trade", "index"] as const
export type Series = (typeof serieses)[number]

/** What is shown: candles under a name that changes where they are others altogether. */
export interface Shown {
  readonly name: string
  /** Oldest first. */
  readonly candles: ReadonlyArray<Contract.Candle>
}

/** Candles that are kept; the venue tells a hundred at once. */
const most = 1_000

/** What is known with what is newer: each candle as it was told last. */
export const joined = (known: ReadonlyArray<Contract.Candle>, told: ReadonlyArray<Contract.Candle>): ReadonlyArray<Contract.Candle> => {
  const first = told[0]
  if (first === undefined) return known
  return known.filter(({ openTimeEpochMs }) => openTimeEpochMs < first.openTimeEpochMs).concat(told).slice(-most)
}

export class Candles {
  readonly timeframe = signal<Timeframe>("1m")
  readonly series = signal<Series>("trade")
  readonly shown = signal<Shown | undefined>(undefined)
  readonly failure = signal<Failure.Failure | undefined>(undefined)
  private held: Shown | undefined
  private following: Following<"market.candles"> | undefined
  /** Whether they have to be asked for again and again. */
  private isPolled = true
  private turn = 0

  constructor(
    private readonly marketId: OrderName["marketId"],
    private readonly client: Client,
    private readonly frames: Frames
  ) {}

  /** Shows candles of a length and a kind. */
  async choose(timeframe: Timeframe, series: Series): Promise<void> {
    this.timeframe.value = timeframe
    this.series.value = series
    const turn = ++this.turn
    this.following?.close()
    this.following = undefined
    this.isPolled = true
    this.failure.value = undefined
    await this.load(turn)
    if (turn === this.turn && series === "trade") this.follow(timeframe)
  }

  /** Asks for what has changed, where nobody tells. */
  async refresh(): Promise<void> {
    if (this.isPolled) await this.load(this.turn)
  }

  private get name(): string {
    return `${this.marketId} ${this.timeframe.value} ${this.series.value}`
  }

  private async load(turn: number): Promise<void> {
    try {
      const { candles } = await this.client.candles(this.marketId, { timeframe: this.timeframe.value, series: this.series.value })
      if (turn !== this.turn) return
      this.failure.value = undefined
      this.take(candles)
    } catch (cause) {
      if (turn === this.turn) this.failure.value = cause instanceof Refusal ? Failure.ofEnvelope(cause.envelope) : Failure.unanswered
    }
  }

  private follow(timeframe: Timeframe): void {
    this.following = this.client.follow({ channel: "market.candles", marketId: this.marketId, timeframe }, {
      snapshot: ({ data }) => this.told(data),
      update: ({ data }) => this.told(data),
      interrupted: () => this.isPolled = true,
      // A venue whose stream has no candles refuses: they are asked for.
      ended: () => this.isPolled = true
    })
  }

  private told(candles: ReadonlyArray<Contract.Candle>): void {
    this.isPolled = false
    this.take(candles)
  }

  private take(candles: ReadonlyArray<Contract.Candle>): void {
    const { held, name } = this
    this.held = { name, candles: joined(held?.name === name ? held.candles : [], candles) }
    this.frames.ask(this.show)
  }

  private readonly show = (): void => {
    this.shown.value = this.held
  }
}
