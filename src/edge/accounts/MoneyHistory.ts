/**
 * An account's money history from two sources: the latest rows from the engine, older ones from the histories. Both list newest
 * first by the same places, and the engine forgets the oldest first. Where the histories have not reached what the engine has
 * forgotten, there is no answer at all, since a list that ends there would look complete.
 */
import * as Effect from "effect/Effect"
import { anyMarket } from "../../domain/None.js"
import { balanceCause, type BalanceChangeView, type BalancePlace, type PlacedPayment } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

type Reading = Pick<Services, "histories" | "state">

/** A list whose newest part is in the engine. */
interface Parts<Row> {
  /** The rows that the engine has at the time of the call. */
  readonly retained: () => ReadonlyArray<Row>
  /** The record of the oldest row that the engine has of any account; 0 while none of these has been forgotten. */
  readonly oldestSequence: () => number
  readonly histories: Effect.Effect<Read<ReadonlyArray<Row>>, unknown>
}

const isOlder = (row: BalancePlace, than: BalancePlace): boolean =>
  row.sequence < than.sequence || (row.sequence === than.sequence && row.place > than.place)

/** The first `limit` rows, passed on while the engine stands at the state in which they were read. */
const listed = <Row extends BalancePlace, A>(
  { histories, oldestSequence, retained }: Parts<Row>,
  limit: number,
  then: (rows: ReadonlyArray<Row>) => A
): Effect.Effect<A, Errors.Failure> => {
  const now = retained()
  if (now.length === limit || oldestSequence() === 0) return Effect.succeed(then(now))
  return histories.pipe(
    Effect.mapError(() => Errors.historiesUnavailable),
    Effect.flatMap(({ found, standing }) => {
      if (standing.sequence < oldestSequence()) return fail(Errors.historiesUnavailable)
      const young = retained()
      const last = young.at(-1)
      const old = last === undefined ? found : found.filter((row) => isOlder(row, last))
      return Effect.succeed(then([...young, ...old].slice(0, limit)))
    })
  )
}

/** The rows of an account, before a place if one is given. */
interface Asked {
  readonly account: number
  readonly before: BalancePlace | undefined
  readonly limit: number
}

/** Changes of an account's balance, newest first, in one market unless `anyMarket`. */
export const changesBefore = <A>(
  { histories, state }: Reading,
  { account, before, limit, market }: Asked & { readonly market: number },
  then: (rows: ReadonlyArray<BalanceChangeView>) => A
): Effect.Effect<A, Errors.Failure> =>
  listed(
    {
      retained: () => state.balanceChanges(account, market, before, limit),
      oldestSequence: () => state.oldestMoney().changeSequence,
      histories: Effect.map(
        histories.changesBefore({ account, market: market === anyMarket ? undefined : market, before, limit }),
        ({ found, standing }) => ({ standing, found: found.map((row) => ({ ...row, cause: balanceCause(row.cause) })) })
      )
    },
    limit,
    then
  )

/** An account's payments of funding since a time, newest first. */
export const paymentsBefore = <A>(
  { histories, state }: Reading,
  { account, before, limit, sinceEpochMs }: Asked & { readonly sinceEpochMs: number },
  then: (rows: ReadonlyArray<PlacedPayment>) => A
): Effect.Effect<A, Errors.Failure> =>
  listed(
    {
      retained: () => state.fundingPayments(account, sinceEpochMs, limit, before),
      oldestSequence: () => {
        const { paymentAtEpochMs, paymentSequence } = state.oldestMoney()
        return paymentAtEpochMs < sinceEpochMs ? 0 : paymentSequence
      },
      histories: histories.paymentsBefore({ account, before, limit })
    },
    limit,
    // Record times never decrease, so everything before the requested time follows everything after it.
    (rows) => then(rows.filter(({ atEpochMs }) => atEpochMs >= sinceEpochMs))
  )
