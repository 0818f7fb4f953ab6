/** The leaderboard when there is no recent board, and who is ranked in which environment. */
import { Effect, Stream } from "effect"
import { describe, expect, test } from "vitest"
import type { Sums } from "../../src/readmodel/Scores.js"
import * as BoardTables from "../../src/readmodel/BoardTables.js"
import { hadBotKey, venuesOwn } from "../../src/readmodel/Projection.js"
import * as Histories from "../../src/readmodel/Histories.js"
import { openAt } from "../../src/readmodel/HistoriesDatabase.js"
import { inOne } from "../../src/readmodel/Sql.js"
import * as Tables from "../../src/readmodel/Tables.js"
import { windowKinds } from "../../src/readmodel/Windows.js"
import { flagBit } from "../../src/operations/accounts/SetAccountFlags.js"
import * as Feed from "../../src/sequencer/Feed.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue } from "./LiveVenue.js"

const sums = (realizedPnlAtoms: bigint): Sums => ({
  realizedPnlAtoms,
  feesPaidAtoms: 0n,
  fundingPaidAtoms: 0n,
  closedNotionalAtoms: 1_000n,
  fillCount: 1
})

describe("a board", () => {
  const tenMinutes = 600_000

  /** A venue whose latest daily board has two entries and was made at `markEpochMs`. */
  const served = async (markEpochMs: number | undefined) => {
    const standing = { sequence: 9, atEpochMs: 0, fills: 0, lagMs: 0, isReplaying: false, isRebuilding: false }
    const board: Histories.Histories["Type"]["board"] = ({ behindRank, limit }) =>
      Effect.sync(() => ({
        standing,
        found: markEpochMs === undefined ? undefined : {
          head: {
            window: "daily",
            version: 5,
            markEpochMs,
            throughSequence: 9,
            periodStartEpochMs: 0,
            periodEndEpochMs: 86_400_000,
            histogram: []
          },
          entries: [1, 2].map((rank) => ({ rank, account: rank - 1, isBot: false, scoreAtoms: 5n, ...sums(5n) }))
            .slice(behindRank, behindRank + limit)
        }
      }))
    const venue = LiveVenue.make(undefined, { histories: { ...Histories.none, board } })
    await venue.traders(2)
    const ask = async (query: string): Promise<any> => {
      const response = await venue.ask({ target: `/v1/leaderboard?window=daily&limit=1${query}` })
      return { status: response.status, ...Fake.json(response) }
    }
    return { venue, ask }
  }
  const noneOfLate = { status: 503, code: "snapshot_unavailable", retryable: true }

  test("is told until it is ten minutes old, and no longer: somebody who pages through it goes on", async () => {
    const begun = 1_700_000_000_000
    const { ask, venue } = await served(begun)
    expect(await ask("")).toMatchObject({ status: 200, boardVersion: "5" })
    venue.atEpochMs = begun + tenMinutes
    const { entries, nextCursor, status } = await ask("")
    expect([status, entries.map(({ rank }: any) => rank)]).toEqual([200, [1]])
    venue.atEpochMs++
    expect(await ask("")).toMatchObject(noneOfLate)
    expect(await ask(`&cursor=${nextCursor}`)).toMatchObject({ status: 200, boardVersion: "5", entries: [{ rank: 2 }] })
    // A clock that was set back by more than ten minutes makes no board recent.
    venue.atEpochMs = begun - tenMinutes
    expect((await ask("")).status).toBe(200)
    venue.atEpochMs--
    expect(await ask("")).toMatchObject(noneOfLate)
  })

  test("that was never made, or cannot be read, is none", async () => {
    const { ask } = await served(undefined)
    expect(await ask("")).toMatchObject(noneOfLate)
    const venue = LiveVenue.make()
    const response = await venue.ask({ target: "/v1/leaderboard" })
    expect({ status: response.status, ...Fake.json(response) }).toMatchObject(noneOfLate)
  })
})

describe("bots are ranked", () => {
  const [person, bot, loadHarness, fund, keyed] = [1, 2, 3, 4, 5]
  const loader = flagBit("load_harness")

  /** Who is on the all-time board made from the tables: each account, and whether it is shown as a bot. */
  const ranked = (environment: string): Promise<ReadonlyArray<readonly [number, boolean]>> =>
    Effect.gen(function*() {
      const sql = yield* openAt(":memory:")
      yield* Tables.begin(sql, environment)
      const allTime = windowKinds.indexOf("all_time")
      const rows = [person, bot, loadHarness, fund, keyed].map((account) => ({
        window: allTime,
        account,
        periodStartEpochMs: 0,
        ...sums(BigInt(account))
      }))
      const flags = [[bot, flagBit("bot")], [loadHarness, loader | flagBit("bot")], [fund, venuesOwn], [keyed, hadBotKey]] as const
      yield* inOne(sql, BoardTables.write(sql, rows, flags))
      const histories = yield* Histories.make({
        database: { name: "a database", open: Effect.succeed(sql), setAside: Effect.void, discard: Effect.void },
        feed: { ...Feed.none, from: () => Stream.never },
        durableSequence: () => 0,
        digestAt: () => Effect.succeed(undefined),
        stepSequence: Effect.succeed(undefined),
        environment
      }, { ...Histories.defaultOptions, pauseMs: 0 })
      for (;;) {
        yield* Effect.yieldNow()
        const asked = { window: "all_time", version: undefined, behindRank: 0, limit: 9 } as const
        const read = yield* Effect.option(histories.board(asked))
        const found = read._tag === "Some" ? read.value.found : undefined
        if (found === undefined) continue
        const { entries, head: { histogram } } = found
        expect(histogram.reduce((sum, { accountCount }) => sum + accountCount, 0)).toBe(entries.length)
        return entries.map(({ account, isBot }) => [account, isBot] as const)
      }
    }).pipe(Effect.scoped, Effect.runPromise)

  test.each(["development", "testnet"])("and told as such in %s, beside people", async (environment) => {
    expect(await ranked(environment)).toEqual([[keyed, true], [bot, true], [person, false]])
  })

  test.each(["staging", "production"])("nowhere in %s, nor counted among those who are", async (environment) => {
    expect(await ranked(environment)).toEqual([[person, false]])
  })
})

test("a board that cannot be made is tried again, and no other one is made anew before its time for that", () =>
  Effect.gen(function*() {
    const sql = yield* openAt(":memory:")
    yield* Tables.begin(sql, "development")
    yield* sql`CREATE TRIGGER spoiled BEFORE INSERT ON board WHEN NEW.window = 3 BEGIN SELECT RAISE(ABORT, 'spoiled'); END`
    yield* Histories.make({
      database: { name: "a database", open: Effect.succeed(sql), setAside: Effect.void, discard: Effect.void },
      feed: { ...Feed.none, from: () => Stream.never },
      durableSequence: () => 0,
      digestAt: () => Effect.succeed(undefined),
      stepSequence: Effect.succeed(undefined),
      environment: "development"
    }, { ...Histories.defaultOptions, pauseMs: 0 })
    const made = Effect.gen(function*() {
      for (let turn = 0; turn < 500; turn++) yield* Effect.yieldNow()
      const boards = yield* sql`SELECT window FROM board ORDER BY window`
      return boards.map(({ window }) => window)
    })
    expect(yield* made).toEqual([0, 1, 2])
    yield* sql`DROP TRIGGER spoiled`
    expect(yield* made).toEqual([0, 1, 2, 3])
  }).pipe(Effect.scoped, Effect.runPromise))
