/**
 * Fills from two sources: the venue's latest from the engine, older ones from the histories. Every fill has an ordinal, and the
 * engine forgets fills in that order, so that a list switches from one source to the other at one ordinal. Where the histories have
 * not reached it yet, there is no answer at all, since a list that ends there would look complete.
 *
 * A market's fills are found at once, wherever they are. For an account's all of its fills may have to be looked at, of which the engine
 * retains a hundred thousand: that is done in slices, between which the venue does other work.
 */
import * as Effect from "effect/Effect"
import { anyMarket, none } from "../../domain/None.js"
import type { Fill } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import type { NextSlice } from "../http/Slices.js"
import * as Underway from "../http/Underway.js"

/** Most fills of an account that are looked at between two polls of the network. */
export const sliceFills = 500

/** Most fills of the venue among which an account's first ones since a time are looked for at once. */
export const startFills = 4_096

/** The selection: fills of an account in one or all markets, or all fills of a market. */
interface Listed {
  readonly account: number | undefined
  /** `anyMarket` for all; never of a market alone. */
  readonly market: number
}

type Reading = Pick<Services, "histories" | "slices" | "state">
type Slicing = Pick<Reading, "state"> & { readonly nextSlice: NextSlice }

type Found = Effect.Effect<ReadonlyArray<Fill>, Errors.Failure>

/** What the engine has: all that match from the ordinal `oldest` on, which is that of the oldest fill that it retained in the end. */
interface Retained {
  readonly fills: ReadonlyArray<Fill>
  readonly oldest: number
}

/**
 * What is retained at this moment of the fills that were found. What was forgotten while others were looked at is in the histories, which
 * are asked for all below the oldest one.
 */
const retained = ({ state }: Pick<Reading, "state">, found: ReadonlyArray<Fill>): Retained => {
  const oldest = state.oldestFill().ordinal
  return { fills: found.filter(({ ordinal }) => ordinal >= oldest), oldest }
}

const asked = ({ account, market }: Listed, limit: number) => ({ account, market: market === anyMarket ? undefined : market, limit })

/** The fills below an ordinal, which the engine has forgotten, from the histories. */
const forgotten = (oldest: number, { found, standing }: Read<ReadonlyArray<Fill>>): Found =>
  standing.fills < oldest ? fail(Errors.historiesUnavailable) : Effect.succeed(found.filter(({ ordinal }) => ordinal < oldest))

/**
 * An account's retained fills that are asked for, newest first: the first `limit`, or the last ones (`isOldest`).
 */
const ofAccount = (
  { nextSlice, state }: Slicing,
  account: number,
  { before, isOldest, limit, market, sinceEpochMs }: {
    readonly market: number
    readonly before: number
    readonly sinceEpochMs: number
    readonly limit: number
    readonly isOldest: boolean
  }
): Effect.Effect<Retained, Errors.Failure> =>
  Effect.gen(function*() {
    let fills: ReadonlyArray<Fill> = []
    let from: number | undefined
    do {
      if (from !== undefined) yield* nextSlice
      const most = isOldest ? Number.POSITIVE_INFINITY : limit - fills.length
      const { found, next } = state.fillsAmong({ account, market, before, sinceEpochMs, limit: most }, sliceFills, from)
      // No more are held than are shown, however many there are.
      if (found.length > 0) fills = isOldest ? [...fills, ...found].slice(-limit) : [...fills, ...found]
      from = next
    } while (from !== none)
    return retained({ state }, fills)
  })

/** The newest retained `limit` fills below an ordinal, newest first. */
const retainedBefore = (slicing: Slicing, { account, market }: Listed, before: number, limit: number) =>
  account === undefined
    ? Effect.sync(() => retained(slicing, slicing.state.trades(market, before, limit)))
    : ofAccount(slicing, account, { market, before, sinceEpochMs: 0, limit, isOldest: false })

/**
 * The first `limit` retained fills at or after a time, oldest first. Where an account has traded much, they are among the first of the
 * venue's from then on; otherwise the account's own are looked at, newest first.
 */
const retainedSince = (slicing: Slicing, { account, market }: Listed, sinceEpochMs: number, limit: number) =>
  Effect.suspend((): Effect.Effect<Retained, Errors.Failure> => {
    const { state } = slicing
    if (account === undefined) return Effect.succeed(retained(slicing, state.tradesSince(market, sinceEpochMs, limit)))
    const first = state.fillsSince(account, market, sinceEpochMs, limit, startFills)
    if (first !== undefined) return Effect.succeed(retained(slicing, first))
    const own = ofAccount(slicing, account, { market, before: Number.POSITIVE_INFINITY, sinceEpochMs, limit, isOldest: true })
    return Effect.map(own, ({ fills, oldest }) => ({ fills: fills.toReversed(), oldest }))
  })

/** A list that may take turns: those of an account with its other long reads. That of a market needs none. */
const inTurns = ({ slices }: Reading, { account }: Listed, body: (nextSlice: NextSlice) => Found): Found =>
  account === undefined
    ? body(Effect.void)
    : Underway.inTurns(slices, account, body)

/** The newest `limit` fills below an ordinal (`Infinity`: from the newest), newest first. */
export const fillsBefore = (reading: Reading, listed: Listed, before: number, limit: number): Found =>
  inTurns(reading, listed, (nextSlice) =>
    Effect.gen(function*() {
      const { histories, state } = reading
      const { fills, oldest } = yield* retainedBefore({ nextSlice, state }, listed, before, limit)
      if (fills.length === limit || oldest === 0) return fills
      const read = yield* histories.fillsBefore({ ...asked(listed, limit - fills.length), before: Math.min(before, oldest) }).pipe(
        Effect.mapError(() => Errors.historiesUnavailable)
      )
      return [...fills, ...(yield* forgotten(oldest, read))]
    }))

/** The first `limit` fills at or after a time, oldest first. */
const fillsSince = (reading: Reading, listed: Listed, sinceEpochMs: number, limit: number): Found =>
  inTurns(reading, listed, (nextSlice) =>
    Effect.gen(function*() {
      const { histories, state } = reading
      const reachesBack = (): boolean => {
        const { atEpochMs, ordinal } = state.oldestFill()
        return ordinal > 0 && sinceEpochMs <= atEpochMs
      }
      const older = Effect.mapError(
        histories.fillsSince({ ...asked(listed, limit), sinceEpochMs }),
        () => Errors.historiesUnavailable
      )
      const read = reachesBack() ? yield* older : undefined
      // The histories have all fills up to some: where they fill the page, none is missing on it.
      if (read !== undefined && read.found.length === limit) return read.found
      const { fills, oldest } = yield* retainedSince({ nextSlice, state }, listed, sinceEpochMs, limit)
      // The engine may have forgotten some of them while others were looked at.
      if (read === undefined && !reachesBack()) return fills
      return [...(yield* forgotten(oldest, read ?? (yield* older))), ...fills].slice(0, limit)
    }))

/** The first `limit` fills at or after a time, or without one the latest; oldest first. `since` as a query has it. */
export const fillsOldestFirst = (reading: Reading, listed: Listed, since: string | undefined, limit: number): Found =>
  since === undefined
    ? Effect.map(fillsBefore(reading, listed, Number.POSITIVE_INFINITY, limit), (fills) => fills.toReversed())
    : fillsSince(reading, listed, Number(since), limit)
