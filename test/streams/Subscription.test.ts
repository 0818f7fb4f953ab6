/** Updates that a client takes too slowly: merged by key, within a limit, and each checksum sent with its own book. */
import { beforeEach, describe, expect, test } from "vitest"
import type { Channel } from "../../src/streams/Channels.js"
import { Log, type Update } from "../../src/streams/Log.js"
import { Subscription } from "../../src/streams/Subscription.js"

const checksum = (of: string): string => `,"checksum":"${of}"`

/** An update that sets levels, named by letters, to a size. */
const update = (sequence: number, keys: ReadonlyArray<string>, more = ""): Update => ({
  sequence,
  entries: keys.map((key) => ({ key, text: `"${key}${sequence}"` })),
  more
})

/** A client that takes nothing, or everything. */
class Slow {
  isBehind = true
  isOver = false
  held = 0
  closed = 0
  readonly frames: Array<any> = []
  readonly subscription: Subscription

  constructor(channel: Channel = "market.book") {
    const log = new Log({ channel, marketId: "AAA" }, 0, 10, 0, { updates: 100, bytes: 100_000 })
    this.subscription = new Subscription(log, {
      send: ({ text }) => void this.frames.push(JSON.parse(text)),
      sendWhole: () => {},
      isBehind: () => this.isBehind,
      isOver: () => this.isOver,
      held: () => void this.held++,
      tooSlow: () => void this.closed++,
      failed: () => {}
    })
    this.subscription.begin(10)
  }

  take(...updates: ReadonlyArray<Update>): void {
    for (const each of updates) this.subscription.take(each)
  }

  /** What it receives once it takes data again. */
  drain(): ReadonlyArray<any> {
    this.frames.length = 0
    this.subscription.drained()
    return this.frames.map(({ checksum: proof, data, previousSequence, sequence }) => [previousSequence, sequence, data, proof])
  }
}

describe("a book that a client takes slowly", () => {
  let client: Slow
  beforeEach(() => {
    client = new Slow()
  })

  test("goes on behind a snapshot from before what was too much to be put together", () => {
    client.take(update(20, Array.from({ length: 4_097 }, (_, at) => `level ${at}`)))
    expect(client.subscription.isStale).toBe(true)
    client.subscription.begin(15)
    client.isBehind = false
    client.take(update(16, ["a"]), update(20, ["b"]))
    expect(client.frames.map(({ previousSequence, sequence }) => [previousSequence, sequence])).toEqual([[15, 16], [16, 20]])
  })

  test("is one update, each level as it was last", () => {
    client.take(update(11, ["a", "b"]), update(12, ["a"]), update(13, ["c"]))
    expect([client.frames, client.held]).toEqual([[], 1])
    expect(client.drain()).toEqual([[10, 13, ["a12", "b11", "c13"], undefined]])
    expect(client.drain()).toEqual([])
    expect(client.subscription.last).toBe(13)
  })

  test("is put together however much is on its way, and ends no connection", () => {
    client.isOver = true
    client.take(update(11, ["a"]), update(12, ["a"]))
    expect([client.subscription.isStale, client.closed]).toEqual([false, 0])
    expect(client.drain()).toEqual([[10, 12, ["a12"], undefined]])
  })

  test("comes with a checksum at the update that had it, and with what came behind in an update of its own", () => {
    client.take(update(11, ["a", "b"]), update(12, ["b"], checksum("at 12")), update(13, ["a"]), update(14, ["c"]))
    expect(client.drain()).toEqual([[10, 12, ["a11", "b12"], "at 12"], [12, 14, ["a13", "c14"], undefined]])
  })

  test("comes with the latest checksum where there were several, in one update where nothing came behind", () => {
    client.take(update(11, ["a", "b"], checksum("at 11")), update(12, ["b"]), update(13, ["c"], checksum("at 13")))
    expect(client.drain()).toEqual([[10, 13, ["a11", "b12", "c13"], "at 13"]])
  })

  test("comes with every checksum that was due last, however often the client is behind again", () => {
    for (let last = 10; last < 40; last += 3) {
      client.take(update(last + 1, ["a"]), update(last + 2, ["b"], checksum(`at ${last + 2}`)), update(last + 3, ["c"]))
      expect(client.drain().map(([before, sequence, , proof]) => [before, sequence, proof])).toEqual([
        [last, last + 2, `at ${last + 2}`],
        [last + 2, last + 3, undefined]
      ])
    }
  })

  const levels = (from: number, count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, at) => `${from + at} `)

  test.each([["without a checksum", ""], ["with one on the way", checksum("at 11")]])(
    "is put together of 4,096 levels, and of one more no longer: a snapshot is to follow: %s",
    (_, more) => {
      client.take(update(11, levels(0, 4_000), more), update(12, levels(4_000, 96)))
      expect(client.subscription.isStale).toBe(false)
      expect(client.drain().flatMap(([, , data]) => data)).toHaveLength(4_096)
      client.take(update(13, levels(0, 4_000), more), update(14, levels(4_000, 97)))
      expect([client.subscription.isStale, client.held]).toEqual([true, 2])
      // The merged updates are dropped, and nothing more is merged.
      expect(client.drain()).toEqual([])
      client.take(update(15, ["a"]))
      expect(client.drain()).toEqual([])
      client.subscription.begin(20)
      client.isBehind = false
      client.take(update(20, ["a"]), update(21, ["a"]))
      expect(client.frames).toMatchObject([{ previousSequence: 20, sequence: 21 }])
    }
  )
})

describe("what may not be put together", () => {
  test("is sent while less is on its way than the connection may hold, though the client is behind", () => {
    for (const channel of ["account.orders", "market.trades"] as const) {
      const client = new Slow(channel)
      client.take(update(11, ["a"]), update(12, ["a"]))
      expect(client.frames.map(({ sequence }) => sequence), channel).toEqual([11, 12])
      expect([client.held, client.closed]).toEqual([0, 0])
    }
  })

  test("ends the connection beyond that where nothing may be lost, and otherwise waits for a snapshot", () => {
    const [orders, trades] = [new Slow("account.orders"), new Slow("market.trades")]
    for (const client of [orders, trades]) {
      client.isOver = true
      client.take(update(11, ["a"]))
      expect(client.frames).toEqual([])
    }
    expect([orders.closed, orders.subscription.isStale]).toEqual([1, false])
    expect([trades.closed, trades.subscription.isStale, trades.held]).toEqual([0, true, 1])
  })
})
