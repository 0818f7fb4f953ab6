/**
 * Candles of trades and of the index in all timeframes at once: each price updates the latest candle of every timeframe. A price
 * has the time of its record, which never decreases, so only the latest candle of each series changes.
 */
import { assert } from "../domain/Assert.js"
import { type Bucket, bucketOf, timeframes } from "./Timeframes.js"

/** What candles are made of; stored by their place in this list. `index` has no volume. */
export const seriesNames = ["trade", "index"] as const
export type Series = (typeof seriesNames)[number]

/** Prices in price atoms, volume in size atoms. */
export interface Candle {
  readonly openTimeEpochMs: number
  readonly openAtoms: number
  readonly highAtoms: number
  readonly lowAtoms: number
  readonly closeAtoms: number
  readonly volumeAtoms: bigint
}

/** Identifies candles by the indexes of series and timeframe in their lists. */
interface Key {
  readonly series: number
  readonly market: number
  readonly timeframe: number
}

/** A candle to be stored. */
export type CandleRow = Key & Candle

/** A candle that is still changing. */
export type Growing = { -readonly [member in keyof Candle]: Candle[member] }

type Latest = Growing & { readonly key: Key; readonly bucket: Bucket; isStored: boolean }

/** The candle of a bucket with the first price in it. */
export const beginCandle = (openTimeEpochMs: number, priceAtoms: number, sizeAtoms: number): Growing => ({
  openTimeEpochMs,
  openAtoms: priceAtoms,
  highAtoms: priceAtoms,
  lowAtoms: priceAtoms,
  closeAtoms: priceAtoms,
  volumeAtoms: BigInt(sizeAtoms)
})

/** Takes the next price of a candle's bucket. */
export const grow = (candle: Growing, priceAtoms: number, sizeAtoms: number): void => {
  if (priceAtoms > candle.highAtoms) candle.highAtoms = priceAtoms
  if (priceAtoms < candle.lowAtoms) candle.lowAtoms = priceAtoms
  candle.closeAtoms = priceAtoms
  candle.volumeAtoms += BigInt(sizeAtoms)
}

export class Candles {
  /** The latest candles by series and market, and in these by timeframe. */
  private readonly latest = new Map<string, Array<Latest | undefined>>()
  /** Completed candles that are not stored yet. */
  private over: Array<CandleRow> = []

  /** Goes on from stored candles: the latest of every series, market and timeframe. */
  constructor(stored: ReadonlyArray<CandleRow> = []) {
    for (const row of stored) {
      const { market, series, timeframe, ...candle } = row
      const bucket = bucketOf(timeframes[timeframe]!, candle.openTimeEpochMs)
      this.of(series, market)[timeframe] = { ...candle, key: { series, market, timeframe }, bucket, isStored: true }
    }
  }

  /** Adds a trade, or an accepted index sample with size 0. */
  add(name: Series, market: number, priceAtoms: number, sizeAtoms: number, atEpochMs: number): void {
    const series = seriesNames.indexOf(name)
    const latest = this.of(series, market)
    for (let timeframe = 0; timeframe < timeframes.length; timeframe++) {
      const candle = latest[timeframe]
      if (candle === undefined || atEpochMs >= candle.bucket.toEpochMs) {
        if (candle !== undefined && !candle.isStored) this.over.push(rowOf(candle))
        latest[timeframe] = begun({ series, market, timeframe }, priceAtoms, sizeAtoms, atEpochMs)
        continue
      }
      assert(atEpochMs >= candle.bucket.fromEpochMs, "the time of records never goes back")
      grow(candle, priceAtoms, sizeAtoms)
      candle.isStored = false
    }
  }

  /** Drops a market's candles, because its prices are in other atoms from now on. */
  forget(market: number): void {
    for (const series of seriesNames.keys()) this.latest.delete(placeOf(series, market))
    this.over = this.over.filter((row) => row.market !== market)
  }

  /** Completed candles waiting to be stored. */
  get waiting(): number {
    return this.over.length
  }

  /** Returns the rows to be stored, which then count as stored. */
  take(): ReadonlyArray<CandleRow> {
    const rows = this.over
    this.over = []
    for (const candles of this.latest.values()) {
      for (const candle of candles) {
        if (candle === undefined || candle.isStored) continue
        rows.push(rowOf(candle))
        candle.isStored = true
      }
    }
    return rows
  }

  private of(series: number, market: number): Array<Latest | undefined> {
    const place = placeOf(series, market)
    let found = this.latest.get(place)
    if (found === undefined) {
      found = []
      this.latest.set(place, found)
    }
    return found
  }
}

const placeOf = (series: number, market: number): string => `${series}/${market}`

const begun = (key: Key, priceAtoms: number, sizeAtoms: number, atEpochMs: number): Latest => {
  const bucket = bucketOf(timeframes[key.timeframe]!, atEpochMs)
  return { ...beginCandle(bucket.fromEpochMs, priceAtoms, sizeAtoms), key, bucket, isStored: false }
}

const rowOf = ({ key, openTimeEpochMs, openAtoms, highAtoms, lowAtoms, closeAtoms, volumeAtoms }: Latest): CandleRow => ({
  ...key,
  openTimeEpochMs,
  openAtoms,
  highAtoms,
  lowAtoms,
  closeAtoms,
  volumeAtoms
})
