/**
 * Pages of ledgers and funding payments that begin in the engine's memory and continue in the histories, compared with everything there
 * was.
 */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { changesBefore, paymentsBefore } from "../../../src/edge/accounts/MoneyHistory.js"
import type * as Errors from "../../../src/edge/http/Errors.js"
import { Engine } from "../../../src/engine/Engine.js"
import { decodeTold } from "../../../src/engine/EventLog.js"
import type { BalancePlace } from "../../../src/engine/Reads.js"
import { Money } from "../../../src/readmodel/Money.js"
import * as MoneyTables from "../../../src/readmodel/MoneyTables.js"
import type { Committed } from "../../../src/sequencer/Feed.js"
import { withRows, written } from "../HistoriesOfRows.js"

/** A record's effect: it changes balances of an account or pays it funding, possibly several times. */
const record = fc.array(fc.record({ account: fc.nat(2), market: fc.nat(1), isPayment: fc.boolean() }), { minLength: 1, maxLength: 6 })

const run = fc.record({
  records: fc.array(record, { maxLength: 14 }),
  kept: fc.integer({ min: 1, max: 12 }),
  /** Records that the histories have not taken in yet. */
  behind: fc.nat(5),
  account: fc.nat(3),
  market: fc.constantFrom(0, 1, anyMarket),
  limit: fc.integer({ min: 1, max: 5 }),
  since: fc.nat(16)
})

const timeOf = (sequence: number): number => 1_000 + sequence

/** An engine with a limited memory, everything that its records told, and what the first of them did. */
const made = (records: ReadonlyArray<typeof record extends fc.Arbitrary<infer A> ? A : never>, kept: number, known: number) => {
  const engine = Engine.make({ orders: 10, idempotencyKeys: 10, balanceChanges: kept, fundingPayments: kept })
  const { state, state: { events: { told } } } = engine
  const [all, first] = [new Money(), new Money()]
  for (const [index, rows] of records.entries()) {
    const sequence = index + 1
    Object.assign(state, { sequence, atEpochMs: timeOf(sequence) })
    for (const { account, isPayment, market } of rows) {
      const paidAtoms = sequence * 100 + told.length
      const of = {
        sequence,
        account,
        market,
        endedAtEpochMs: 5,
        quantityAtoms: -3,
        indexPriceAtoms: 2,
        rate8hE9: -1,
        intervalMs: 60,
        paidAtoms
      }
      if (isPayment) {
        state.fundingPayments.add({ ...of, atEpochMs: timeOf(sequence) })
        told.payment(of)
      } else state.noteBalance(account, 4, market, paidAtoms, 7)
    }
    const block = {
      firstSequence: sequence,
      lastSequence: sequence,
      records: [{ sequence, atEpochMs: timeOf(sequence) }]
    } as unknown as Committed["block"]
    const decoded = decodeTold(told.copied())
    state.events.clear()
    all.add(block, decoded)
    if (sequence <= known) first.add(block, decoded)
  }
  return { engine, all: all.take(), first: first.take() }
}

/** Every page from the newest on, each after the last row of the previous one. */
const walked = <Row extends BalancePlace>(
  pageBehind: (before: BalancePlace | undefined) => Effect.Effect<ReadonlyArray<Row>, Errors.Failure>,
  limit: number
): Either.Either<ReadonlyArray<Row>, Errors.Failure> => {
  const all: Array<Row> = []
  for (;;) {
    const page = Effect.runSync(Effect.either(pageBehind(all.at(-1))))
    if (Either.isLeft(page)) return Either.left(page.left)
    all.push(...page.right)
    if (page.right.length < limit) return Either.right(all)
  }
}

const newestFirst = <Row extends BalancePlace>(rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows.toSorted((one, other) => other.sequence - one.sequence || one.place - other.place)

test("each row is shown once and in its place, or nothing is, while the histories lag behind what the engine has forgotten", () => {
  let refused = 0
  fc.assert(
    fc.property(run, ({ account, behind, kept, limit, market, records, since }) => {
      const known = Math.max(0, records.length - behind)
      const { all: { changes, payments }, engine, first } = made(records, kept, known)
      const { changeSequence, paymentSequence } = engine.oldestMoney()
      withRows((sql, at) => {
        written(sql, MoneyTables.write(sql, first))
        const services = { histories: at({ sequence: known }), state: engine }
        const shown = <Row>(
          found: Either.Either<ReadonlyArray<Row>, Errors.Failure>,
          expected: ReadonlyArray<Row>,
          oldestSequence: number
        ): void => {
          if (Either.isRight(found)) return expect(found.right).toEqual(expected)
          refused++
          expect([known < oldestSequence, found.left.description.name]).toEqual([true, "HistoriesUnavailable"])
        }
        shown(
          walked((before) => changesBefore(services, { account, market, before, limit }, (rows) => rows), limit),
          newestFirst(changes.filter((row) => row.account === account && (market === anyMarket || row.market === market)))
            .map((row) => ({ ...row, cause: "funding" as const })),
          changeSequence
        )
        const sinceEpochMs = timeOf(since)
        shown(
          walked((before) => paymentsBefore(services, { account, before, limit, sinceEpochMs }, (rows) => rows), limit),
          newestFirst(payments.filter((row) => row.account === account && row.atEpochMs >= sinceEpochMs)),
          paymentSequence
        )
      })
    }),
    { numRuns: 60, seed: 11 }
  )
  expect(refused).toBeGreaterThan(10)
})
