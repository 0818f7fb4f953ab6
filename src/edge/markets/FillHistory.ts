/**
 * Fills wherever they are: the venue's latest from the engine, those behind them from the histories. Every fill has an ordinal, and
 * the engine forgets them in the order of these, so that a list goes over from the one to the other at one ordinal. Histories that
 * have not come to it yet are no reason to end the list: then there is no answer at all.
 */
import * as Effect from "effect/Effect"
import { anyMarket } from "../../domain/None.js"
import type { Fill, Reads } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

/** Whose fills, and in which market: of an account in any or one market, or of a market alone. */
interface Listed {
  readonly account: number | undefined
  /** `anyMarket` for all; never of a market alone. */
  readonly market: number
}

type Reading = Pick<Services, "histories" | "state">

type Found = Effect.Effect<ReadonlyArray<Fill>, Errors.Failure>

const asked = ({ account, market }: Listed, limit: number) => ({ account, market: market === anyMarket ? undefined : market, limit })

/** What the histories have of what the engine has forgotten by now. */
const forgotten = (state: Reads, { found, standing }: Read<ReadonlyArray<Fill>>): Found => {
  const { ordinal: oldest } = state.oldestFill()
  return standing.fills < oldest ? fail(Errors.historiesUnavailable) : Effect.succeed(found.filter(({ ordinal }) => ordinal < oldest))
}

/** The newest `limit` fills older than an ordinal (`Infinity`: from the newest), newest first. */
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
