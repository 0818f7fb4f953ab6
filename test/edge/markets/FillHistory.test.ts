/** Pages of fills that begin in the engine's memory and continue in the histories, compared with all fills there were. */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { fillsBefore, fillsOldestFirst } from "../../../src/edge/markets/FillHistory.js"
import { Fills } from "../../../src/engine/Fills.js"
import type { Reads } from "../../../src/engine/Reads.js"
import type { FillRow } from "../../../src/readmodel/Fills.js"
import * as FillTables from "../../../src/readmodel/FillTables.js"
import { withRows, written } from "../HistoriesOfRows.js"

const fill = fc.record({
  market: fc.nat(1),
  maker: fc.nat(1),
  taker: fc.integer({ min: 2, max: 3 }),
  /** Milliseconds since the previous fill. */
  millis: fc.nat(2)
})

const run = fc.record({
  all: fc.array(fill, { maxLength: 40 }),
  capacity: fc.integer({ min: 1, max: 12 }),
  /** Fills that the histories have not taken in yet. */
  behind: fc.nat(15),
  account: fc.constantFrom(0, 1, 2, 3, undefined),
  market: fc.constantFrom(0, 1, anyMarket),
  limit: fc.integer({ min: 1, max: 7 }),
  since: fc.nat(60)
})

test("each fill is shown once and in its place, or nothing is, while the histories lag behind what the engine has forgotten", () => {
  let refused = 0
  fc.assert(
    fc.property(run, ({ account, all, behind, capacity, limit, market: anyOne, since }) => {
      const market = account === undefined && anyOne === anyMarket ? 0 : anyOne
      const memory = new Fills(capacity)
      let atEpochMs = 1_000
      const rows = all.map(({ maker, market, millis, taker }, ordinal): FillRow => {
        atEpochMs += millis
        memory.add(ordinal + 1, atEpochMs, market, 10 + ordinal, 1, 7, 8, maker, taker, 1, 2, 3)
        return {
          ordinal,
          sequence: ordinal + 1,
          atEpochMs,
          market,
          priceAtoms: 10 + ordinal,
          sizeAtoms: 1,
          makerOrder: 7,
          takerOrder: 8,
          makerAccount: maker,
          takerAccount: taker,
          takerSide: 1,
          makerFeeAtoms: 2,
          takerFeeAtoms: 3
        }
      })
      const state: Partial<Reads> = {
        oldestFill: () => memory.oldest(),
        fills: (of, inMarket, before, most) => memory.ofAccount(of, inMarket, before, most),
        fillsSince: (of, inMarket, sinceEpochMs, most) => memory.since(inMarket, of, sinceEpochMs, most),
        trades: (inMarket, before, most) => memory.ofMarket(inMarket, before, most),
        tradesSince: (inMarket, sinceEpochMs, most) => memory.since(inMarket, -1, sinceEpochMs, most)
      }
      const wanted = rows.filter((row) =>
        (account === undefined || row.makerAccount === account || row.takerAccount === account)
        && (market === anyMarket || row.market === market)
      )
      const known = Math.max(0, rows.length - behind)
      withRows((sql, at) => {
        written(sql, FillTables.write(sql, rows.slice(0, known)))
        const services = { histories: at({ fills: known }), state: state as Reads }
        const lags = known < memory.oldest().ordinal
        const shown = (found: ReturnType<typeof fillsBefore>, expected: ReadonlyArray<FillRow>): void => {
          const said = Effect.runSync(Effect.either(found))
          if (Either.isRight(said)) return expect(said.right).toEqual(expected)
          refused++
          expect([lags, said.left.description.name]).toEqual([true, "HistoriesUnavailable"])
        }
        for (let before = Number.POSITIVE_INFINITY, left = wanted.toReversed(); before >= 0; left = left.slice(limit)) {
          shown(fillsBefore(services, { account, market }, before, limit), left.slice(0, limit))
          before = left[limit - 1]?.ordinal ?? -1
        }
        shown(fillsOldestFirst(services, { account, market }, undefined, limit), wanted.slice(-limit))
        const sinceEpochMs = 1_000 + since
        shown(fillsOldestFirst(services, { account, market }, String(sinceEpochMs), limit),
          wanted.filter((row) => row.atEpochMs >= sinceEpochMs).slice(0, limit))
      })
    }),
    { numRuns: 60, seed: 7 }
  )
  expect(refused).toBeGreaterThan(10)
})
