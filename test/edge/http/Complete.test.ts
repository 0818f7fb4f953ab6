/** Every list that the histories continue says from when on it is complete, if they do not begin with the journal. */
import { Effect } from "effect"
import { describe, expect, test, vi } from "vitest"
import * as Histories from "../../../src/readmodel/Histories.js"
import * as Fake from "../FakeVenue.js"
import { ask, must, Owner } from "../identity/Owner.js"
import { LiveVenue, marketId } from "../LiveVenue.js"

/** When the histories begin, and from when on all orders are in them: at different times, so that it shows which is told. */
const atEpochMs = 1_699_000_000_000
const ordersSinceEpochMs = atEpochMs - 5

/** Whether the engine has forgotten any of what there ever was. */
interface Forgotten {
  readonly fills: boolean
  readonly transfers: boolean
  readonly orders: boolean
}

const all: Forgotten = { fills: true, transfers: true, orders: true }
const nothing: Forgotten = { fills: false, transfers: false, orders: false }

/** A board without entries, of a window that begins at a time. */
const board = (periodStartEpochMs: number) => ({
  head: {
    window: "daily" as const,
    version: 5,
    markEpochMs: 1_700_000_000_000,
    throughSequence: 9,
    periodStartEpochMs,
    periodEndEpochMs: 1_700_000_000_000,
    histogram: []
  },
  entries: []
})

/**
 * A venue with one account and histories in which there is nothing. `endsAfterRead`: they end between a read and the answer made of it, as
 * the thread that makes them may.
 */
const served = async (beginsAtStep: boolean, forgotten: Forgotten, periodStartEpochMs = 0, endsAfterRead = false) => {
  const standing: Histories.Standing = {
    sequence: 1_000,
    atEpochMs: 1_700_000_000_000,
    fills: 1_000,
    lagMs: 0,
    isReplaying: false,
    isRebuilding: false,
    beginning: beginsAtStep
      ? { sequence: 3, atEpochMs, ordersSinceEpochMs: forgotten.orders ? ordersSinceEpochMs : 0 }
      : undefined
  }
  let isOver = false
  const read = <A>(found: A) => () =>
    Effect.sync(() => {
      isOver = endsAfterRead
      return { found, standing }
    })
  const venue = LiveVenue.make(undefined, {
    histories: {
      ...Histories.none,
      standing: () => isOver ? undefined : standing,
      beginning: () => standing.beginning,
      candles: read([]),
      episodes: read([]),
      board: read(board(periodStartEpochMs)),
      clientOrder: read(undefined),
      ordersBefore: read({ orders: [], goesOn: undefined, oldest: undefined }),
      fillsBefore: read([]),
      changesBefore: read([]),
      paymentsBefore: read([]),
      transfersBefore: read([]),
      notesBefore: read([])
    }
  })
  const { engine } = venue
  if (forgotten.fills) vi.spyOn(engine, "oldestFill").mockReturnValue({ ...engine.oldestFill(), ordinal: 7 })
  if (forgotten.transfers) vi.spyOn(engine, "forgottenTransfers").mockReturnValue({ knownFrom: 7, bySequence: 1 })
  const { accountId, token } = await Owner.open(venue)
  return async (path: string): Promise<number | undefined> => {
    const target = path.replace("{accountId}", accountId).replace("{marketId}", marketId)
    return (await must(ask(venue, { target, key: token }))).completeSinceEpochMs
  }
}

/** What each list says where everything has been forgotten, and where nothing has. */
const lists: ReadonlyArray<readonly [path: string, told: number, whereNothingIsForgotten: number | undefined]> = [
  ["/v1/accounts/{accountId}/deposits", atEpochMs, undefined],
  ["/v1/accounts/{accountId}/fills", atEpochMs, undefined],
  ["/v1/accounts/{accountId}/funding-payments", atEpochMs, atEpochMs],
  ["/v1/accounts/{accountId}/ledger", atEpochMs, atEpochMs],
  ["/v1/accounts/{accountId}/orders", ordersSinceEpochMs, undefined],
  ["/v1/accounts/{accountId}/outcomes?clientOrderId=none", ordersSinceEpochMs, undefined],
  ["/v1/accounts/{accountId}/positions/history", atEpochMs, atEpochMs],
  ["/v1/accounts/{accountId}/security-events", atEpochMs, atEpochMs],
  ["/v1/accounts/{accountId}/withdrawals", atEpochMs, undefined],
  ["/v1/leaderboard", atEpochMs, atEpochMs],
  ["/v1/markets/{marketId}/candles", atEpochMs, atEpochMs],
  ["/v1/markets/{marketId}/trades", atEpochMs, undefined]
]

describe("where the histories begin in the midst of the journal", () => {
  test.each(lists)("%s says from when on it is complete, unless it lacks nothing", async (path, told, whereNothingIsForgotten) => {
    expect(await (await served(true, all))(path)).toBe(told)
    expect(await (await served(true, nothing))(path)).toBe(whereNothingIsForgotten)
    expect(await (await served(false, all))(path)).toBeUndefined()
  })

  test.each(lists)("%s says so also where they end between the read and the answer", async (path, told) => {
    expect(await (await served(true, all, 0, true))(path)).toBe(told)
  })

  test("a leaderboard of a window that began later lacks nothing", async () => {
    expect(await (await served(true, all, atEpochMs - 1))("/v1/leaderboard")).toBe(atEpochMs)
    expect(await (await served(true, all, atEpochMs))("/v1/leaderboard")).toBeUndefined()
  })

  test("these are all lists that may say so", async () => {
    const { components: { schemas }, paths } = Fake.json(await Fake.make().ask({ target: "/openapi.json" }))
    const mayTell = (schema: unknown): boolean => {
      const text = JSON.stringify(schema)
      const named = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => schemas[name!])
      return text.includes("completeSinceEpochMs") || named.some(({ properties }) => properties?.completeSinceEpochMs !== undefined)
    }
    const telling = Object.entries<any>(paths).filter(([, { get }]) => mayTell(get?.responses["200"] ?? {})).map(([path]) => path)
    expect(telling.sort()).toEqual(lists.map(([path]) => path.split("?")[0]))
  })
})
