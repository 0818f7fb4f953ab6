/**
 * Security events of an account from two sources: the engine while it keeps them, then the histories. The events are numbered, and
 * the engine may forget one between others, so a gap in the numbers shows what is missing, and the histories are searched for it.
 * Where they have not reached the record that it may belong to, there is no answer, rather than an incomplete one.
 */
import * as Effect from "effect/Effect"
import type { Reads, SecurityEventView } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

type Reading = Pick<Services, "histories" | "state">

/** An account's events, below an ordinal (`Infinity`: from the newest). */
interface Asked {
  readonly account: number
  readonly before: number
  readonly limit: number
}

/** The engine's page, if no forgotten event belongs between or after its rows. */
const keptPage = (state: Reads, { account, before, limit }: Asked): ReadonlyArray<SecurityEventView> | undefined => {
  const kept = state.securityEvents(account, before, limit)
  const newest = Math.min(before, state.securityStanding(account).count) - 1
  return kept.length === Math.min(limit, newest + 1) && kept.every(({ ordinal }, at) => ordinal === newest - at) ? kept : undefined
}

/** The page from both sources; undefined where the histories may be missing part of it. */
const joined = (
  state: Reads,
  { account, before, limit }: Asked,
  { found, standing }: Read<ReadonlyArray<SecurityEventView>>
): ReadonlyArray<SecurityEventView> | undefined => {
  const { count, oldestSequence } = state.securityStanding(account)
  const known = new Map([...found, ...state.securityEvents(account, before, limit)].map((each) => [each.ordinal, each]))
  const rows = [...known.values()].sort((one, other) => other.ordinal - one.ordinal).slice(0, limit)
  // A missing event belongs to the record of the next newer event or an earlier one; without a newer one, to a record no later than
  // the oldest event kept of any account.
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

/** The first `limit` security events of an account, newest first, passed on in the state in which they were read. */
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
