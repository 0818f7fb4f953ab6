/**
 * What concerned the security of an account, wherever that is: in the engine while it keeps it, in the histories behind that. An
 * account's events are counted, and the engine forgets one here and one there, so what is missing shows by its number. It is looked for
 * in the histories; where these have not come to the record that it may be of, there is no answer, rather than one that lacks it.
 */
import * as Effect from "effect/Effect"
import type { Reads, SecurityEventView } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

type Reading = Pick<Services, "histories" | "state">

/** Which of an account's events: older than an ordinal (`Infinity`: from the newest). */
interface Asked {
  readonly account: number
  readonly before: number
  readonly limit: number
}

/** The engine's page, if none that it has forgotten stands between its rows or behind them. */
const keptPage = (state: Reads, { account, before, limit }: Asked): ReadonlyArray<SecurityEventView> | undefined => {
  const kept = state.securityEvents(account, before, limit)
  const newest = Math.min(before, state.securityStanding(account).count) - 1
  return kept.length === Math.min(limit, newest + 1) && kept.every(({ ordinal }, at) => ordinal === newest - at) ? kept : undefined
}

/** The page of what either has by now; undefined where the histories may lack something of it. */
const joined = (
  state: Reads,
  { account, before, limit }: Asked,
  { found, standing }: Read<ReadonlyArray<SecurityEventView>>
): ReadonlyArray<SecurityEventView> | undefined => {
  const { count, oldestSequence } = state.securityStanding(account)
  const known = new Map([...found, ...state.securityEvents(account, before, limit)].map((each) => [each.ordinal, each]))
  const rows = [...known.values()].sort((one, other) => other.ordinal - one.ordinal).slice(0, limit)
  // What is missing is of the record of the next newer event, or of an earlier one; behind what is kept of anybody it is if there is none.
  const newer = state.securityEvents(account, Infinity, Infinity).findLast(({ ordinal }) => ordinal >= before)
  let bySequence = newer?.sequence ?? oldestSequence
  let next = Math.min(before, count) - 1
  for (const { ordinal, sequence } of rows) {
    if (ordinal < next && standing.sequence < bySequence) return undefined
    next = ordinal - 1
    bySequence = sequence
  }
  return rows.length < limit && next >= 0 && standing.sequence < bySequence ? undefined : rows
}

/** The first `limit` events of an account's security, newest first, and what is made of them where they were read. */
export const securityEventsBefore = <A>(
  { histories, state }: Reading,
  asked: Asked,
  then: (rows: ReadonlyArray<SecurityEventView>) => A
): Effect.Effect<A, Errors.Failure> =>
  Effect.suspend(() => {
    const kept = keptPage(state, asked)
    if (kept !== undefined) return Effect.succeed(then(kept))
    return histories.notesBefore(asked).pipe(
      Effect.mapError(() => Errors.historiesUnavailable),
      Effect.flatMap((read) => {
        const rows = joined(state, asked, read)
        return rows === undefined ? fail(Errors.historiesUnavailable) : Effect.succeed(then(rows))
      })
    )
  })
