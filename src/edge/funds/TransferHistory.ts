/**
 * Deposits, withdrawals and changes of party from two sources: the engine while it keeps them, then the histories.
 *
 * The engine keeps every transfer that may still change, and forgets those that ended first. The histories have the last published
 * form of each finished one. For a transfer that the engine does not know they are therefore complete, once they have reached the
 * record that last forgot one; until then nothing may be reported as absent.
 */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import type { Reads, TransferView } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { TransferRow } from "../../readmodel/TransferTables.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import type { Shown } from "./TransferRecord.js"

type Reading = Pick<Services, "histories" | "state">
type Kind = TransferView["kind"]

/** A transfer that the engine keeps, or a finished one that only the histories have. */
export type Found = { readonly kept: TransferView } | { readonly over: Shown }

export const shownOf = (found: Found): Shown => "kept" in found ? found.kept : found.over

const ids: Readonly<Record<Kind, (number: number) => string>> = {
  deposit: Ids.depositId,
  withdrawal: Ids.withdrawalId,
  party_change: Ids.partyChangeId
}

const shown = (row: TransferRow): Shown => ({
  number: row.number,
  kind: row.kind,
  account: row.account,
  id: ids[row.kind](row.number),
  partyId: row.partyId,
  amountAtoms: row.amountAtoms,
  failure: row.failedAt === null ? null : { stage: row.failedAt },
  status: row.status,
  ledgerOutcome: row.ledgerOutcome ?? undefined,
  requestedAtEpochMs: row.requestedAtEpochMs,
  updatedAtEpochMs: row.updatedAtEpochMs,
  steps: row.steps.map((name) => ({ name }))
})

const unavailable = () => Errors.historiesUnavailable

/** An account's transfers of a kind, below a number (`Infinity`: from the newest). */
interface Asked {
  readonly account: number
  readonly kind: Kind
  readonly before: number
  readonly limit: number
}

/** The engine's page, if no forgotten transfer can belong between or after its rows. */
const keptPage = (state: Reads, { account, before, kind, limit }: Asked): ReadonlyArray<TransferView> | undefined => {
  const { knownFrom } = state.forgottenTransfers(account)
  const kept = state.transfersOf(account, kind, before, limit)
  const isWhole = kept.length === limit && kept.at(-1)!.number >= knownFrom
  return knownFrom === 0 || isWhole ? kept : undefined
}

/** The page from both sources; undefined where the histories may be missing part of it. */
const joined = (state: Reads, { account, before, kind, limit }: Asked, { found, standing }: Read<ReadonlyArray<TransferRow>>) => {
  if (standing.sequence < state.forgottenTransfers(account).bySequence) return undefined
  const kept: ReadonlyArray<Found> = state.transfersOf(account, kind, before, limit).map((view) => ({ kept: view }))
  const forgotten: ReadonlyArray<Found> = found
    .filter(({ number }) => state.transfer(number) === undefined)
    .map((row) => ({ over: shown(row) }))
  return [...kept, ...forgotten].sort((one, other) => shownOf(other).number - shownOf(one).number).slice(0, limit)
}

/** The first `limit` transfers of an account and a kind, newest first, passed on in the state in which they were read. */
export const transfersBefore = <A>(
  { histories, state }: Reading,
  asked: Asked,
  then: (found: ReadonlyArray<Found>) => A
): Effect.Effect<A, Errors.Failure> =>
  Effect.suspend(() => {
    const kept = keptPage(state, asked)
    if (kept !== undefined) return Effect.succeed(then(kept.map((view) => ({ kept: view }))))
    return histories.transfersBefore(asked).pipe(
      Effect.mapError(unavailable),
      Effect.flatMap((read) => {
        const rows = joined(state, asked, read)
        return rows === undefined ? fail(Errors.historiesUnavailable) : Effect.succeed(then(rows))
      })
    )
  })

/** An account's transfer of a kind by its number; undefined where it never had one. */
export const findTransfer = (
  { histories, state }: Reading,
  account: number,
  kind: Kind,
  number: number
): Effect.Effect<Found | undefined, Errors.Failure> =>
  Effect.suspend((): Effect.Effect<Found | undefined, Errors.Failure> => {
    const view = state.transfer(number)
    if (view?.account === account && view.kind === kind) return Effect.succeed({ kept: view })
    const { bySequence, knownFrom } = state.forgottenTransfers(account)
    if (number >= knownFrom) return Effect.succeed(undefined)
    return histories.transfersBefore({ account, kind, before: number + 1, limit: 1 }).pipe(
      Effect.mapError(unavailable),
      Effect.flatMap(({ found: [row], standing }) => {
        if (row?.number === number) return Effect.succeed({ over: shown(row) })
        return standing.sequence < bySequence ? fail(Errors.historiesUnavailable) : Effect.succeed(undefined)
      })
    )
  })
