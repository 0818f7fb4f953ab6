/**
 * Fills from two sources: the venue's latest from the engine, older ones from the histories. Every fill has an ordinal, and the
 * engine forgets fills in that order, so that a list switches from one source to the other at one ordinal. Where the histories have
 * not reached it yet, there is no answer at all, since a list that ends there would look complete.
 */
import * as Effect from "effect/Effect"
import { anyMarket } from "../../domain/None.js"
import type { Fill, Reads } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

/** The selection: fills of an account in one or all markets, or all fills of a market. */
interface Listed {
  readonly account: number | undefined
  /** `anyMarket` for all; never of a market alone. */
  readonly market: number
}

type Reading = Pick<Services, "histories" | "state">

type Found = Effect.Effect<ReadonlyArray<Fill>, Errors.Failure>

const asked = ({ account, market }: Listed, limit: number) => ({ account, market: market === anyMarket ? undefined : market, limit })

/** The fills that the engine has forgotten by now, from the histories. */
const forgotten = (state: Reads, { found, standing }: Read<ReadonlyArray<Fill>>): Found => {
  const { ordinal: oldest } = state.oldestFill()
  return standing.fills < oldest ? fail(Errors.historiesUnavailable) : Effect.succeed(found.filter(({ ordinal }) => ordinal < oldest))
}

/** The newest `limit` fills below an ordinal (`Infinity`: from the newest), newest first. */
export const fillsBefore = ({ histories, state }: Reading, listed: Listed, before: number, limit: number): Found => {
  const retained = (): ReadonlyArray<Fill> =>
    listed.account === undefined
      ? state.trades(listed.market, before, limit)
      : state.fills(listed.account, listed.market, before, limit)
  const now = retained()
  if (now.length === limit || state.oldestFill().ordinal === 0) return Effect.succeed(now)
  return histories.fillsBefore({ ...asked(listed, limit), before }).pipe(
    Effect.mapError(() => Errors.historiesUnavailable),
    Effect.flatMap((read) => Effect.map(forgotten(state, read), (behind) => [...retained(), ...behind].slice(0, limit)))
  )
}

/** The first `limit` fills at or after a time, oldest first. */
const fillsSince = ({ histories, state }: Reading, listed: Listed, sinceEpochMs: number, limit: number): Found => {
  const retained = (): ReadonlyArray<Fill> =>
    listed.account === undefined
      ? state.tradesSince(listed.market, sinceEpochMs, limit)
      : state.fillsSince(listed.account, listed.market, sinceEpochMs, limit)
  const oldest = state.oldestFill()
  if (oldest.ordinal === 0 || sinceEpochMs > oldest.atEpochMs) return Effect.succeed(retained())
  return histories.fillsSince({ ...asked(listed, limit), sinceEpochMs }).pipe(
    Effect.mapError(() => Errors.historiesUnavailable),
    Effect.flatMap((read) => Effect.map(forgotten(state, read), (before) => [...before, ...retained()].slice(0, limit)))
  )
}

/** The first `limit` fills at or after a time, or without one the latest; oldest first. `since` as a query has it. */
export const fillsOldestFirst = (reading: Reading, listed: Listed, since: string | undefined, limit: number): Found =>
  since === undefined
    ? Effect.map(fillsBefore(reading, listed, Number.POSITIVE_INFINITY, limit), (fills) => fills.toReversed())
    : fillsSince(reading, listed, Number(since), limit)
