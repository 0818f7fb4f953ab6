/** Sums of windows, and the boards made from them. */
import { expect, test } from "vitest"
import { rank } from "../../src/readmodel/Boards.js"
import { type ScoreRow, Scores } from "../../src/readmodel/Scores.js"
import { windowKinds } from "../../src/readmodel/Windows.js"

const at = (text: string): number => Date.parse(text)
const named = (rows: ReadonlyArray<ScoreRow>): ReadonlyArray<readonly [string, number, bigint]> =>
  rows.map(({ periodStartEpochMs, realizedPnlAtoms, window }) => [windowKinds[window]!, periodStartEpochMs, realizedPnlAtoms])

test("a sum begins anew with its period, wherever it is gone on from", () => {
  const first = new Scores()
  first.add(7, at("2026-03-01T23:59:59.999Z"), { realizedPnlAtoms: 5n })
  const stored = first.take()
  expect(named(stored)).toEqual([
    ["daily", at("2026-03-01"), 5n],
    ["weekly", at("2026-02-23"), 5n],
    ["monthly", at("2026-03-01"), 5n],
    ["all_time", 0, 5n]
  ])
  for (const scores of [first, new Scores(stored)]) {
    scores.add(7, at("2026-03-02"), { realizedPnlAtoms: -2n })
    expect(named(scores.take())).toEqual(expect.arrayContaining([
      ["daily", at("2026-03-02"), -2n],
      ["weekly", at("2026-03-02"), -2n],
      ["monthly", at("2026-03-01"), 3n],
      ["all_time", 0, 3n]
    ]))
    expect(scores.take()).toEqual([])
  }
})

const row = (account: number, realizedPnlAtoms: bigint, more: Partial<ScoreRow> = {}): ScoreRow => ({
  window: 0,
  account,
  periodStartEpochMs: 0,
  realizedPnlAtoms,
  feesPaidAtoms: 0n,
  fundingPaidAtoms: 0n,
  closedNotionalAtoms: 0n,
  fillCount: 1,
  ...more
})

test("the best first, of equals who was there first; nobody without volume", () => {
  const { entries, histogram } = rank([
    row(1, 10n),
    row(2, 2n ** 60n, { feesPaidAtoms: 2n ** 60n - 11n }),
    row(3, 10n, { fundingPaidAtoms: -1n }),
    row(4, 10n),
    row(5, 1_000n, { fillCount: 0 }),
    row(6, -5n, { fillCount: 0, closedNotionalAtoms: 1n })
  ], (account) => account === 4)
  expect(entries.map(({ account, isBot, rank: place, scoreAtoms }) => [place, account, scoreAtoms, isBot])).toEqual([
    [1, 2, 11n, false],
    [2, 3, 11n, false],
    [3, 1, 10n, false],
    [4, 4, 10n, true],
    [5, 6, -5n, false]
  ])
  // Five accounts in ten tenths: every other one is empty, and shows the score from which its accounts would begin.
  expect(histogram.map(({ accountCount }) => accountCount)).toEqual([0, 1, 0, 1, 0, 1, 0, 1, 0, 1])
  expect(histogram[1]).toEqual({ percentileUpperBoundBps: 2_000, minimumScoreAtoms: -5n, maximumScoreAtoms: -5n, accountCount: 1 })
  expect(histogram[9]).toEqual({ percentileUpperBoundBps: 10_000, minimumScoreAtoms: 11n, maximumScoreAtoms: 11n, accountCount: 1 })
})

test("who was closed by a deleveraging at a price below zero is ranked, without a fill and with a negative notional", () => {
  const { entries } = rank([row(1, -7n, { fillCount: 0, closedNotionalAtoms: -3n }), row(2, 9n, { fillCount: 0 })], () => false)
  expect(entries.map(({ account, closedNotionalAtoms, scoreAtoms }) => [account, scoreAtoms, closedNotionalAtoms])).toEqual([[1, -7n, -3n]])
})

test("tenths of a hundred have ten each; a board tells a thousand, and its histogram all", () => {
  const hundred = rank(Array.from({ length: 100 }, (_, account) => row(account, BigInt(account))), () => false).histogram
  expect(hundred.map(({ maximumScoreAtoms, minimumScoreAtoms }) => [Number(minimumScoreAtoms), Number(maximumScoreAtoms)]))
    .toEqual(Array.from({ length: 10 }, (_, tenth) => [tenth * 10, tenth * 10 + 9]))
  const many = rank(Array.from({ length: 1_500 }, (_, account) => row(account, 1n)), () => false)
  expect(many.entries).toHaveLength(1_000)
  expect(many.histogram.reduce((sum, { accountCount }) => sum + accountCount, 0)).toBe(1_500)
  expect(rank([], () => false)).toEqual({ entries: [], histogram: [] })
})
