/** Pages of fills that begin in the engine's memory and continue in the histories, compared with all fills there were. */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { anyMarket } from "../../../src/domain/None.js"
import { fillsBefore, fillsOldestFirst, sliceFills, startFills } from "../../../src/edge/markets/FillHistory.js"
import { Fills } from "../../../src/engine/Fills.js"
import { Slices } from "../../../src/edge/http/Slices.js"
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

/** What is asked of the engine, over a ring of fills. */
const readsOf = (memory: Fills): Reads => {
  const reads: Partial<Reads> = {
    oldestFill: () => memory.oldest(),
    fillsAmong: (asked, most, from) => memory.amongOfAccount(asked, most, from),
    fillsSince: (of, inMarket, sinceEpochMs, limit, most) => memory.ofAccountSince(of, inMarket, sinceEpochMs, limit, most),
    trades: (inMarket, before, most) => memory.ofMarket(inMarket, before, most),
    tradesSince: (inMarket, sinceEpochMs, most) => memory.ofMarketSince(inMarket, sinceEpochMs, most)
  }
  return reads as Reads
}

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
      const state = readsOf(memory)
      const wanted = rows.filter((row) =>
        (account === undefined || row.makerAccount === account || row.takerAccount === account)
        && (market === anyMarket || row.market === market)
      )
      const known = Math.max(0, rows.length - behind)
      withRows((sql, at) => {
        written(sql, FillTables.write(sql, rows.slice(0, known)))
        const services = { histories: at({ fills: known }), slices: new Slices((turn) => turn()), state }
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

test("an account's many fills are looked at by turns, also where others are added and forgotten between two of them", () => {
  const capacity = 3 * startFills
  const rowOf = (ordinal: number): FillRow => ({
    ordinal,
    sequence: ordinal + 1,
    atEpochMs: 1_000 + ordinal,
    // The account has traded in this market a little, early and late, and where the oldest one moves while others are looked at.
    market: ordinal % startFills === startFills - 2 || ordinal === 9_900 ? 1 : 0,
    priceAtoms: 10,
    sizeAtoms: 1,
    makerOrder: 7,
    takerOrder: 8,
    makerAccount: 1,
    takerAccount: 2,
    takerSide: 1,
    makerFeeAtoms: 2,
    takerFeeAtoms: 3
  })
  for (const addedATurn of [0, 7, 2_000]) {
    const memory = new Fills(capacity)
    const rows: Array<FillRow> = []
    const add = (): void => {
      const row = rowOf(rows.length)
      rows.push(row)
      memory.add(row.sequence, row.atEpochMs, row.market, 10, 1, 7, 8, 1, 2, 1, 2, 3)
    }
    for (let ordinal = 0; ordinal < capacity + 50; ordinal++) add()
    withRows((sql, at) => {
      let turns = 0
      const slices = new Slices((turn) => {
        turns++
        for (let added = 0; added < addedATurn; added++) add()
        turn()
      })
      let wrote = 0
      const write = (): void => {
        written(sql, FillTables.write(sql, rows.slice(wrote)))
        wrote = rows.length
      }
      const { fillsBefore: before, fillsSince: since, ...others } = at({ fills: Number.MAX_SAFE_INTEGER })
      const histories: ReturnType<typeof at> = {
        ...others,
        fillsBefore: (asked) => Effect.zipRight(Effect.sync(write), before(asked)),
        fillsSince: (asked) => Effect.zipRight(Effect.sync(write), since(asked))
      }
      const services = { histories, slices, state: readsOf(memory) }
      const own = { account: 1, market: 1 }
      for (const sinceEpochMs of [0, 1_000 + 2 * startFills, undefined]) {
        turns = 0
        const known = rows.filter(({ atEpochMs, market }) => market === 1 && atEpochMs >= (sinceEpochMs ?? 0))
        const found = Effect.runSync(fillsOldestFirst(services, own, sinceEpochMs?.toString(), 100))
        expect(found.map(({ ordinal }) => ordinal).filter((ordinal) => ordinal <= known.at(-1)!.ordinal))
          .toEqual(known.map(({ ordinal }) => ordinal))
        expect(turns).toBeLessThanOrEqual(Math.ceil(capacity / sliceFills))
        if (addedATurn === 0 && sinceEpochMs !== 0) expect(turns).toBeGreaterThanOrEqual(Math.floor(startFills / sliceFills))
      }
      turns = 0
      // What the account has traded most is found at once, on every page, and so is what the venue traded in a market.
      for (const listed of [{ account: 1, market: 0 }, { account: undefined, market: 1 }]) {
        expect(Effect.runSync(fillsBefore(services, listed, Number.POSITIVE_INFINITY, 2))).toHaveLength(2)
        expect(Effect.runSync(fillsOldestFirst(services, listed, "20", 2))).toHaveLength(2)
      }
      expect(turns).toBe(0)
    })
  }
})
