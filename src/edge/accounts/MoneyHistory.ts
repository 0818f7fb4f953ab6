/**
 * What an account is told of its money, wherever that is: the latest from the engine, what is behind it from the histories. Both go
 * newest first by the same places, and the engine forgets the oldest first. Histories that have not come to what it has forgotten
 * are no reason to end the list: then there is no answer at all.
 */
import * as Effect from "effect/Effect"
import { anyMarket } from "../../domain/None.js"
import { balanceCause, type BalanceChangeView, type BalancePlace, type PlacedPayment } from "../../engine/Reads.js"
import type { Read } from "../../readmodel/Histories.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"

type Reading = Pick<Services, "histories" | "state">

/** A list of which the engine has the newest part. */
interface Parts<Row> {
  /** What the engine has of it by now. */
  readonly retained: () => ReadonlyArray<Row>
  /** The record of the oldest row that the engine has of anybody; 0 while none that is asked for is forgotten. */
  readonly oldestSequence: () => number
  readonly histories: Effect.Effect<Read<ReadonlyArray<Row>>, unknown>
}

const isOlder = (row: BalancePlace, than: BalancePlace): boolean =>
  row.sequence < than.sequence || (row.sequence === than.sequence && row.place > than.place)

/** The first `limit` rows, and what is made of them while the engine stands where they were read. */
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

/** Which of an account's: older than a place if one is given. */
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
    // Times never go back: what is before the one that is asked for is behind all that is not.
    (rows) => then(rows.filter(({ atEpochMs }) => atEpochMs >= sinceEpochMs))
  )
