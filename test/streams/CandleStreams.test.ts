/** Streams of candles over histories that are lost and return, with readings that complete at any moment. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { Event } from "../../src/engine/EventLog.js"
import { CandleStreams } from "../../src/streams/CandleStreams.js"
import type { Log } from "../../src/streams/Log.js"

const openTimeEpochMs = 1_699_999_200_000

/** Readings of the histories, each completed by the test as of a record; and the trades up to each. */
const begin = () => {
  const reads = { sequence: 0, atEpochMs: 1_700_000_000_000, market: () => ({ parameters: { marketId: "A" } }) }
  const payloads = {
    candle: (_: unknown, __: unknown, candle: { readonly openTimeEpochMs: number; readonly volumeAtoms: bigint }) => ({
      key: String(candle.openTimeEpochMs),
      text: String(candle.volumeAtoms)
    })
  }
  const volumes = [0n]
  const readings: Array<(sequence: number) => void> = []
  let hasPast = true
  /** The next reading for this market throws. */
  const defect: { atMarket: number | undefined } = { atMarket: undefined }
  const around = {
    kept: { updates: 10, bytes: 1e9 },
    now: () => 0,
    hasPast: () => hasPast,
    past: ({ market }: { readonly market: number }) => {
      if (market === defect.atMarket) {
        defect.atMarket = undefined
        throw new Error("a defect")
      }
      return Effect.async<unknown>((resume) => {
        readings.push((sequence) => {
          const candle = { openTimeEpochMs, openAtoms: 1, highAtoms: 1, lowAtoms: 1, closeAtoms: 1, volumeAtoms: volumes[sequence] }
          resume(Effect.succeed({ sequence, candles: [candle] }))
        })
      })
    },
    fork: (effect: Effect.Effect<void>) => void Effect.runFork(effect),
    add: (log: Log, update: never) => log.append(update)
  }
  const streams = new CandleStreams(reads as never, payloads as never, around as never)
  const trade = (count: number): void => {
    reads.sequence++
    const words = new Float64Array(count * 12)
    for (let at = 0; at < count; at++) words.set([Event.Traded, 10, 0, 1, 1], at * 12)
    volumes.push(volumes.at(-1)! + BigInt(count))
    streams.note(words, 0, words.length)
  }
  const lose = (): void => {
    hasPast = false
    streams.watch()
  }
  const find = (): void => {
    hasPast = true
    streams.watch()
  }
  const loseAndFind = (): void => {
    lose()
    find()
  }
  return { defect, find, lose, loseAndFind, readings, streams, trade, volumes }
}

const settled = (): Promise<void> => Effect.runPromise(Effect.yieldNow())

test("a reading that was given up for want of room is not taken for the one that came after it", async () => {
  const { loseAndFind, readings, streams, trade, volumes } = begin()
  let log: Log | undefined
  streams.open({ market: 0, timeframe: "1h", series: "trade" } as never, 1, (begun) => {
    log = begun
  })
  readings.shift()!(0)
  await settled()
  trade(1)
  loseAndFind()
  const first = readings.shift()!
  // More records than may wait for a reading: it is given up, and the next record begins another.
  trade(20_001)
  trade(5)
  const second = readings.shift()!
  trade(7)
  first(1)
  await settled()
  expect(log?.contents?.()).toBe(`[${volumes.at(-1)}]`)
  trade(1)
  second(4)
  await settled()
  expect(log?.contents?.()).toBe(`[${volumes.at(-1)}]`)
})

test("a stream that was asked for while histories were being opened begins with them once", async () => {
  const { find, lose, readings, streams, trade, volumes } = begin()
  let log: Log | undefined
  streams.open({ market: 0, timeframe: "1h", series: "trade" } as never, 1, (begun) => {
    log = begun
  })
  lose()
  readings.shift()!(0)
  await settled()
  find()
  trade(1)
  expect([readings.length, log?.contents?.()]).toEqual([0, `[${volumes.at(-1)}]`])
})

test("a defect as streams begin anew leaves none of them with what it had before", async () => {
  const { defect, find, lose, readings, streams } = begin()
  for (const market of [0, 1, 2]) streams.open({ market, timeframe: "1h", series: "trade" } as never, 1, () => {})
  for (const reading of readings.splice(0)) reading(0)
  await settled()
  lose()
  defect.atMarket = 1
  expect(find).toThrow("a defect")
  expect(readings).toHaveLength(1)
  find()
  expect(readings).toHaveLength(3)
  find()
  expect(readings).toHaveLength(3)
})

/** Streams of many markets, each with its listener. */
const shares = () => {
  const { readings, streams } = begin()
  const logs: Array<Log> = []
  const which = (market: number) => ({ market, timeframe: "1h", series: "trade" }) as never
  return {
    logs,
    open: (market: number, owner: number | string) =>
      streams.open(which(market), owner, (log) => {
        if (log === undefined) return
        log.askers.add(log as never)
        logs.push(log)
      }),
    claim: (market: number, account: number) => streams.claim(which(market), account),
    read: async (): Promise<void> => {
      for (const reading of readings.splice(0)) reading(0)
      await settled()
    },
    size: () => streams.size
  }
}

test.each<[string, number | string, number | string]>([
  ["network without a ticket", "192.0.2.1", "192.0.2.2"],
  ["account", 1, 2]
])("one %s begins at most a quarter of the streams, and whoever leaves some may have others", async (_, one, other) => {
  const { open, logs, read, size } = shares()
  for (let market = 0; market < 250; market++) expect(open(market, one)).toBe("opened")
  await read()
  expect([open(250, one), size()]).toEqual(["share", 250])
  // What is there is for everybody, and the others have the rest.
  expect([open(7, one), open(250, other), open(251, 3)]).toEqual(["opened", "opened", "opened"])
  await read()
  expect(open(250, one)).toBe("opened")
  logs[3]!.askers.clear()
  expect([open(252, one), open(253, one)]).toEqual(["opened", "share"])
  for (let market = 300; size() < 1_000; market++) expect(open(market, `198.51.100.${market % 250}`)).toBe("opened")
  await read()
  expect([open(9_999, 4), open(9_999, "192.0.2.3")]).toEqual(["full", "full"])
})

test("what an account listens to goes from a network's share to its own, while that has room", async () => {
  const { claim, open, read } = shares()
  for (let market = 0; market < 250; market++) open(market, "192.0.2.1")
  await read()
  expect(open(250, "192.0.2.1")).toBe("share")
  // By asking for one that is there, and for one that it had asked for without a ticket.
  expect([open(0, 1), open(250, "192.0.2.1"), open(251, "192.0.2.1")]).toEqual(["opened", "opened", "share"])
  claim(1, 1)
  expect([open(251, "192.0.2.1"), open(252, "192.0.2.1")]).toEqual(["opened", "share"])
  await read()
  // From another account nothing is taken, and one that has its share takes no more.
  expect([open(0, 2), open(252, "192.0.2.1")]).toEqual(["opened", "share"])
  for (let market = 300; market < 548; market++) expect(open(market, 1)).toBe("opened")
  await read()
  expect([open(600, 1), open(2, 1), open(252, "192.0.2.1")]).toEqual(["share", "opened", "share"])
  claim(3, 1)
  claim(9_999, 1)
  expect(open(252, "192.0.2.1")).toBe("share")
})
