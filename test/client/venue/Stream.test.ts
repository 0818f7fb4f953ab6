/** The stream's client with a scripted venue, in time of the test's own: resuming, gaps, silence, tickets, and slow consumers. */
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { Client, type Options } from "../../../src/client/venue/Client.js"
import type { StreamEvent } from "../../../src/client/venue/Channels.js"
import type { Notice } from "../../../src/client/venue/Stream.js"
import { sha256 } from "../../../src/client/venue/Sha256.js"
import { type Given, VirtualPlatform } from "./VirtualPlatform.js"

const hello = { type: "hello", version: "stream/v1", connectionId: "con_1", heartbeatMs: 5_000, limits: { messagesPerSecond: 100 } }
const refusal = (code: string, more: object = {}): object => ({
  version: "external-rest-error/v1",
  code,
  safeMessage: "No.",
  retryable: false,
  ...more
})

const made = (more: Partial<Options> = {}, answer: (path: string) => Given = () => "silence") => {
  const notices: Array<Notice> = []
  const platform = new VirtualPlatform(({ method, url }) => answer(`${method} ${url.slice("http://venue".length)}`))
  const client = new Client(platform, { url: "http://venue", onNotice: (notice) => notices.push(notice), ...more })
  return { client, notices, platform, kinds: () => notices.map(({ kind }) => kind) }
}

/** Confirms the latest subscription. */
const confirm = (platform: VirtualPlatform, resumed = false): void => {
  const { id } = platform.line.last("subscribe")
  platform.line.say({ type: "subscribed", id, resumed })
}

const level = (price: number, size: number) => ({
  price: `${price}.0`,
  priceAtoms: String(price),
  size: `${size}.0`,
  sizeAtoms: String(size)
})
const checksum = (lines: ReadonlyArray<string>): string => `sha256:${createHash("sha256").update(lines.join("\n")).digest("hex")}`

const trades = { channel: "market.trades", marketId: "M" }
const book = { channel: "market.book", marketId: "M" }
const snapshot = (sequence: number, name: object = trades, data: unknown = []) => ({ type: "snapshot", ...name, sequence, data })
const update = (
  previousSequence: number,
  sequence: number,
  name: object = trades,
  data: unknown = [{ tradeId: `trd_${sequence}` }],
  more = {}
) => ({
  type: "update",
  ...name,
  previousSequence,
  sequence,
  ...more,
  data
})

/** Takes the events that have arrived, up to `count`. */
const taken = async (events: AsyncIterator<StreamEvent>, count: number): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (let left = count; left > 0; left--) {
    const { value } = await events.next()
    found.push(
      value === undefined ? "end" : value.type === "snapshot" ? `snapshot ${value.sequence} (${value.reason})` : `update ${value.sequence}`
    )
  }
  return found
}

test("a text's SHA-256 is what Node makes of it", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1_000]) {
    const text = "b|100|é€".repeat(length).slice(0, length)
    expect(sha256(text)).toBe(createHash("sha256").update(text).digest("hex"))
  }
})

test("a stream is told in order, and goes on behind its last event on another connection", async () => {
  const { client, kinds, platform } = made()
  const events = client.events("market.trades", "M")
  expect(platform.line.url).toBe("ws://venue/streams/v1/ws")
  expect(platform.line.sent).toEqual([])
  platform.line.say(hello)
  expect(platform.line.sent).toEqual([{ op: "subscribe", id: "c1", ...trades }])
  confirm(platform)
  platform.line.say(snapshot(5), update(5, 7), update(7, 8))
  expect(events.isCurrent).toBe(false)
  expect(await taken(events, 3)).toEqual(["snapshot 5 (first)", "update 7", "update 8"])
  expect(events.isCurrent).toBe(true)
  platform.line.end()
  expect(events.isCurrent).toBe(false)
  await platform.pass(187)
  expect(platform.lines).toHaveLength(1)
  await platform.pass(1)
  platform.line.say(hello)
  expect(platform.line.last("subscribe")).toMatchObject({ fromSequence: 8 })
  confirm(platform, true)
  platform.line.say(update(8, 9))
  expect(await taken(events, 1)).toEqual(["update 9"])
  expect(kinds()).toEqual(["connected", "disconnected", "connected"])
})

const start = (id: string, firstSequence: number): object => ({ id, firstSequence })

test.each<[string, ReadonlyArray<object> | undefined, ReadonlyArray<object> | undefined, boolean]>([
  ["the same process", [start("b", 6), start("a", 1)], [start("b", 6), start("a", 1)], true],
  ["the next start", [start("b", 6)], [start("c", 9), start("b", 6)], true],
  ["a later start, of several", [start("b", 6)], [start("d", 12), start("c", 9), start("b", 6), start("a", 1)], true],
  ["a start that begins with a record that the client has", [start("b", 6)], [start("c", 8), start("b", 6)], false],
  ["a start behind one that did", [start("b", 6)], [start("d", 12), start("c", 8), start("b", 6)], false],
  ["a start that has the number of the client's, and is another", [start("b", 6)], [start("x", 6), start("a", 1)], false],
  ["a venue whose latest starts do not name the client's", [start("b", 6)], [start("z", 900), start("y", 800)], false],
  ["a venue that names starts after one that did not", undefined, [start("b", 6)], false],
  ["a venue that names none after one that named some", [start("b", 6)], undefined, false],
  ["a venue that names none, as before", undefined, undefined, true]
])("on another connection to %s, what the client has is kept only if the journal has it", async (_, before, after, isKept) => {
  const { client, notices, platform } = made()
  const events = client.events("market.trades", "M")
  const other = client.events("market.trades", "N")
  platform.line.say({ ...hello, starts: before })
  for (const { id } of platform.line.sent) platform.line.say({ type: "subscribed", id, resumed: false })
  platform.line.say(snapshot(5), update(5, 8), snapshot(2, { ...trades, marketId: "N" }))
  expect(await taken(events, 2)).toEqual(["snapshot 5 (first)", "update 8"])
  expect(await taken(other, 1)).toEqual(["snapshot 2 (first)"])
  platform.line.end()
  await platform.pass(188)
  platform.line.say({ ...hello, starts: after })
  expect(platform.line.sent.map(({ fromSequence }) => fromSequence)).toEqual(isKept ? [8, 2] : [undefined, undefined])
  const gaps = ["M", "N"].map((market) => ({ kind: "gap", stream: `market.trades:${market}`, noticedBy: "hello" }))
  expect(notices.slice(3)).toEqual(isKept ? [] : gaps)
  if (isKept) return
  expect(events.isCurrent).toBe(false)
  for (const { id } of platform.line.sent) platform.line.say({ type: "subscribed", id, resumed: false })
  platform.line.say(snapshot(7))
  expect(await taken(events, 1)).toEqual(["snapshot 7 (gap)"])
  // From then on the positions are of that journal, where it is known which one that is.
  platform.line.end()
  await platform.pass(1_000)
  platform.line.say({ ...hello, starts: [start("later", 99), ...after ?? []] })
  expect(platform.line.sent.map(({ fromSequence }) => fromSequence)).toEqual([after === undefined ? undefined : 7, undefined])
})

test("a listener is told from where on what it received may be lost, also where it waits for a snapshot", async () => {
  const { client, platform } = made()
  const lost: Array<number> = []
  const listener = { snapshot: () => {}, update: () => {}, lost: (from: number) => void lost.push(from), ended: () => {} }
  const follow = (market: string) => client.follow({ channel: "market.trades", marketId: market }, listener)
  const connected = async (...starts: ReadonlyArray<object>): Promise<void> => {
    platform.line.say({ ...hello, starts })
    for (const { id } of platform.line.sent) platform.line.say({ type: "subscribed", id, resumed: false })
    platform.line.say({ type: "heartbeat" })
  }
  const cut = async (): Promise<void> => {
    platform.line.end()
    await platform.pass(1_000)
  }
  follow("M")
  await connected(start("b", 6))
  platform.line.say(snapshot(8), { type: "resync", stream: "market.trades", marketId: "M", fromSequence: 8, reason: "retention" })
  await cut()
  await connected(start("c", 9), start("b", 6))
  expect(lost).toEqual([])
  await cut()
  await connected(start("d", 7), start("b", 6))
  expect(lost).toEqual([0])
  platform.line.say(snapshot(20))
  await cut()
  await connected(start("e", 15), start("d", 7))
  expect(lost).toEqual([0, 15])
  // An older copy still, before any snapshot has come: what was left may be lost, too, and then nothing more can be.
  await cut()
  await connected(start("f", 10), start("d", 7))
  expect(lost).toEqual([0, 15, 0])
  await cut()
  await connected()
  expect(lost).toEqual([0, 15, 0])
})

test("connections that fail are tried again less and less often, until one lasts", async () => {
  const { client, notices, platform } = made()
  client.events("market.trades", "M")
  for (let count = 0; count < 10; count++) {
    platform.line.end()
    await platform.pass(30_000)
  }
  const waits = notices.map((notice) => notice.kind === "disconnected" ? notice.retryInMs : 0)
  expect(waits.slice(0, 3)).toEqual([187.5, 375, 750])
  expect(waits.slice(-2)).toEqual([22_500, 22_500])
  platform.line.say(hello, { type: "heartbeat", heads: {} })
  platform.line.end()
  expect(notices.at(-1)).toMatchObject({ retryInMs: 187.5 })
})

test("what is missing is noticed at the next update, and asked for again", async () => {
  const { client, notices, platform } = made()
  const events = client.events("market.trades", "M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(5), update(6, 7))
  expect(platform.line.sent.slice(1)).toEqual([
    { op: "unsubscribe", id: "u2", ...trades },
    { op: "subscribe", id: "c3", ...trades, fromSequence: 5 }
  ])
  // What was under way before does not answer that.
  platform.line.say(update(7, 8))
  confirm(platform, true)
  platform.line.say(update(5, 6), update(6, 7), update(7, 8))
  expect(await taken(events, 4)).toEqual(["snapshot 5 (first)", "update 6", "update 7", "update 8"])
  expect(notices.slice(1)).toEqual([{ kind: "gap", stream: "market.trades:M", noticedBy: "update" }])
})

test.each(["close", "hold"] as const)("who answers an interruption with %s is asked for no more", async (how) => {
  const { client, platform } = made()
  const told: Array<string> = []
  const following = client.follow({ channel: "market.trades", marketId: "M" }, {
    snapshot: ({ sequence }) => told.push(`snapshot ${sequence}`),
    update: ({ sequence }) => told.push(`update ${sequence}`),
    interrupted: () => {
      told.push("interrupted")
      following[how]()
    },
    ended: () => told.push("ended")
  })
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(5), update(7, 8))
  expect(told).toEqual(["snapshot 5", "interrupted", ...(how === "close" ? ["ended"] : [])])
  expect(following.state).toBe(how === "close" ? "ended" : "held")
  expect(platform.line.sent.map(({ op }) => op)).toEqual(["subscribe", "unsubscribe"])
  // The stream may be followed again: by another follower, or from where it was held.
  if (how === "close") client.events("market.trades", "M")
  else following.release()
  expect(platform.line.last("subscribe")).toEqual({
    op: "subscribe",
    id: expect.any(String),
    ...trades,
    ...(how === "close" ? undefined : { fromSequence: 5 })
  })
})

test("what is missing is noticed by a heartbeat where nothing comes behind it", async () => {
  const { client, notices, platform } = made()
  const events = client.events("market.trades", "M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(5), { type: "heartbeat", heads: { "market.trades:M": 5 } })
  expect(platform.line.sent).toHaveLength(1)
  platform.line.say({ type: "heartbeat", heads: { "market.trades:M": 6 } })
  expect(platform.line.last("subscribe")).toMatchObject({ fromSequence: 5 })
  confirm(platform, true)
  platform.line.say(update(5, 6))
  expect(await taken(events, 2)).toEqual(["snapshot 5 (first)", "update 6"])
  expect(notices.slice(1)).toEqual([{ kind: "gap", stream: "market.trades:M", noticedBy: "heartbeat" }])
})

test.each(["slow_consumer", "projector_reset"])("a resync for %s is told with the snapshot that follows it, and nothing in between",
  async (reason) => {
    const { client, kinds, platform } = made()
    const events = client.events("market.trades", "M")
    platform.line.say(hello)
    confirm(platform)
    platform.line.say(snapshot(5), { type: "resync", stream: "market.trades", marketId: "M", fromSequence: 9, reason })
    platform.line.say(update(8, 9), snapshot(9), update(9, 10))
    expect(await taken(events, 3)).toEqual(["snapshot 5 (first)", `snapshot 9 (${reason})`, "update 10"])
    expect(kinds()).toEqual(["connected", "resync"])
  })

test.each([
  ["does not open", false, 10_000],
  ["says nothing any more", true, 15_000]
])("a connection that %s is given up", async (_, opens, afterMs) => {
  const { client, notices, platform } = made()
  client.events("market.trades", "M")
  if (opens) platform.line.say(hello)
  await platform.pass(afterMs - 1)
  expect(platform.line.isClosed).toBe(false)
  await platform.pass(1)
  expect(platform.line.isClosed).toBe(true)
  expect(notices.at(-1)).toMatchObject({ kind: "disconnected", code: 1006 })
  await platform.pass(200)
  expect(platform.lines).toHaveLength(2)
})

test("a snapshot may take a minute on a slow line, behind which heartbeats wait", async () => {
  const { client, platform } = made()
  const events = client.events("market.book", "M")
  platform.line.say(hello)
  confirm(platform)
  await platform.pass(59_999)
  expect(platform.lines).toHaveLength(1)
  platform.line.say(snapshot(5, book, { bids: [], asks: [], checksum: checksum([]) }))
  expect(await taken(events, 1)).toEqual(["snapshot 5 (first)"])
  // Behind it the usual silence counts again.
  await platform.pass(14_999)
  expect(platform.line.isClosed).toBe(false)
  await platform.pass(1)
  expect(platform.line.isClosed).toBe(true)
})

test.each([
  ["has just begun", []],
  ["has become invalid", [snapshot(5), {
    type: "resync",
    stream: "market.trades",
    marketId: "M",
    fromSequence: 9,
    reason: "slow_consumer"
  }]]
])("a snapshot of a stream that %s is not waited for longer than the venue does", async (_, frames) => {
  const { client, notices, platform } = made()
  client.events("market.trades", "M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(...frames)
  await platform.pass(59_999)
  expect(platform.line.isClosed).toBe(false)
  await platform.pass(1)
  expect(platform.line.isClosed).toBe(true)
  expect(notices.at(-1)).toMatchObject({ kind: "disconnected", reason: "nothing came for 60000 ms" })
})

test("a connection that says nothing any more is given up where the clock is set back meanwhile", async () => {
  const { client, notices, platform } = made()
  client.events("market.trades", "M")
  platform.line.say(hello)
  await platform.pass(1_000)
  platform.setBack(3_600_000)
  // The silence is measured from the moment at which the clock is noticed to be set back.
  await platform.pass(14_000 + 14_999)
  expect(platform.line.isClosed).toBe(false)
  await platform.pass(1)
  expect(platform.line.isClosed).toBe(true)
  expect(notices.at(-1)).toMatchObject({ kind: "disconnected", reason: "nothing came for 15000 ms" })
})

test.each([
  ["is opening", false, 10_000],
  ["is open", true, 15_000]
])("a connection that %s outlasts a busy program, which has not read yet what came, and a silent one ends soon after",
  async (_, opens, limitMs) => {
    const busy = () => {
      const all = made()
      all.client.events("market.trades", "M")
      if (opens) all.platform.line.say(hello)
      all.platform.now += limitMs + 1_000
      return all
    }
    const healthy = busy()
    await healthy.platform.pass(999)
    expect(healthy.platform.line.isClosed).toBe(false)
    healthy.platform.line.say(opens ? { type: "heartbeat", heads: {} } : hello)
    await healthy.platform.pass(14_999)
    expect(healthy.platform.lines).toHaveLength(1)
    expect(healthy.platform.line.isClosed).toBe(false)
    const silent = busy()
    await silent.platform.pass(999)
    expect(silent.platform.line.isClosed).toBe(false)
    // That the program is busy again delays it no further.
    silent.platform.now += 20_000
    await silent.platform.pass(0)
    expect(silent.platform.line.isClosed).toBe(true)
    expect(silent.notices.at(-1)).toMatchObject({ kind: "disconnected", code: 1006 })
  })

test.each(["{", "null", "7", "[]"])("a connection lasts while anything comes on it, and ends with what is no frame: %s", async (text) => {
  const { client, platform } = made()
  client.events("market.trades", "M")
  platform.line.say(hello)
  for (let count = 0; count < 10; count++) {
    await platform.pass(5_000)
    platform.line.say({ type: "heartbeat", heads: {} })
  }
  expect(platform.lines).toHaveLength(1)
  platform.line.sayText(text)
  expect(platform.line.isClosed).toBe(true)
})

test("no more is said in a second than half of what the venue takes", async () => {
  const { client, platform } = made()
  for (let count = 0; count < 120; count++) client.events("market.trades", `M${count}`)
  platform.line.say(hello)
  expect(platform.line.sent).toHaveLength(50)
  await platform.pass(999)
  expect(platform.line.sent).toHaveLength(50)
  await platform.pass(1)
  expect(platform.line.sent).toHaveLength(100)
  await platform.pass(1_000)
  expect(platform.line.sent.map(({ marketId }) => marketId)).toEqual(Array.from({ length: 120 }, (_, count) => `M${count}`))
})

test("a stream whose events nobody takes is held, and goes on where it stood", async () => {
  const { client, kinds, platform } = made({ mostQueued: 3 })
  const events = client.events("market.trades", "M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(1), update(1, 2), update(2, 3), update(3, 4), update(4, 5))
  expect(platform.line.sent.map(({ op }) => op)).toEqual(["subscribe", "unsubscribe"])
  expect(kinds()).toEqual(["connected", "queue_full"])
  platform.line.end()
  await platform.pass(200)
  platform.line.say(hello)
  expect(platform.line.sent).toEqual([])
  expect(await taken(events, 3)).toEqual(["snapshot 1 (first)", "update 2", "update 3"])
  expect(platform.line.last("subscribe")).toMatchObject({ fromSequence: 3 })
  confirm(platform, true)
  platform.line.say(update(3, 4))
  expect(await taken(events, 1)).toEqual(["update 4"])
})

test("a queue that is never empty holds no more than about twice what waits in it", async () => {
  const { client, platform } = made({ mostQueued: 10 })
  const events = client.events("market.trades", "M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(1), ...[1, 2, 3, 4].map((last) => update(last, last + 1)))
  expect(await taken(events, 1)).toEqual(["snapshot 1 (first)"])
  for (let last = 5; last < 2_000; last++) {
    platform.line.say(update(last, last + 1))
    expect((await events.next()).value?.sequence).toBe(last - 3)
    expect(events["queue"].length).toBeLessThanOrEqual(10)
  }
  expect(events.isCurrent).toBe(false)
  expect(await taken(events, 4)).toEqual([1_997, 1_998, 1_999, 2_000].map((sequence) => `update ${sequence}`))
  expect(events.isCurrent).toBe(true)
})

test("a loop that is left closes its stream, which may be followed again then", async () => {
  const { client, platform } = made()
  const events = client.events("market.trades", "M")
  expect(() => client.events("market.trades", "M")).toThrow("market.trades:M is followed already")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(1), update(1, 2))
  for await (const { sequence } of events) if (sequence === 2) break
  expect(platform.line.last("unsubscribe")).toMatchObject(trades)
  expect(await taken(events, 1)).toEqual(["end"])
  client.events("market.trades", "M")
  expect(platform.line.last("subscribe")).toEqual({ op: "subscribe", id: "c3", ...trades })
})

test("a stream that the venue refuses ends with why, one that it cannot have now is asked for again", async () => {
  const { client, kinds, platform } = made()
  const events = client.events("market.trades", "M")
  const next = events.next()
  platform.line.say(hello, { type: "error", id: "c1", error: refusal("overloaded", { retryable: true }) })
  await platform.pass(200)
  const { id } = platform.line.last("subscribe")
  expect(id).toBe("c2")
  platform.line.say({ type: "error", id, error: refusal("market_not_found") })
  await expect(next).rejects.toMatchObject({ name: "Refusal", code: "market_not_found" })
  expect(await taken(events, 1)).toEqual(["end"])
  expect(kinds()).toEqual(["connected", "refused"])
})

test("a stream that is refused again and again is asked for after twice as long each time, until it is told", async () => {
  const { client, platform } = made()
  client.follow({ channel: "market.trades", marketId: "M" }, { snapshot: () => {}, update: () => {}, ended: () => {} })
  platform.line.say(hello)
  const waits = async (): Promise<number> => {
    const asked = platform.line.last("subscribe").id
    platform.line.say({ type: "error", id: asked, error: refusal("dependency_unavailable", { retryable: true }) })
    let waitedMs = 0
    for (; platform.line.last("subscribe").id === asked; waitedMs += 50) await platform.pass(50)
    return waitedMs
  }
  expect([await waits(), await waits(), await waits(), await waits()]).toEqual([200, 400, 750, 1_500])
  confirm(platform)
  platform.line.say(snapshot(1), { type: "resync", ...trades, reason: "gap" })
  platform.line.end()
  await platform.pass(1_000)
  platform.line.say(hello)
  expect(await waits()).toBe(200)
})

test("a stream that is left before it has begun is refused to nobody, and no more is said of it", async () => {
  const { client, kinds, platform } = made()
  const events = client.events("market.trades", "M")
  platform.line.say(hello)
  expect(platform.line.last("subscribe")).toMatchObject({ id: "c1" })
  await events.return()
  platform.line.say({ type: "error", id: "c1", error: refusal("invalid_request") }, { type: "unsubscribed", id: "u2", ...trades })
  expect(kinds()).toEqual(["connected"])
})

test("a book follows its levels, and is thrown away where its checksum is another's", async () => {
  const { client, notices, platform } = made()
  const feed = client.book("M")
  expect(client.book("M")).toBe(feed)
  const whole = { bids: [level(10, 1), level(9, 2)], asks: [level(12, 3)], checksum: checksum(["b|10|1", "b|9|2", "a|12|3"]) }
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(5, book, whole))
  const local = await feed.ready()
  const changes = feed.changes()
  expect((await changes.next()).value).toBe(local)
  platform.line.say(
    update(5, 6, book, [{ side: "bid", ...level(11, 4) }, { side: "ask", ...level(12, 0) }, { side: "ask", ...level(13, 5) }])
  )
  platform.line.say(update(6, 7, book, [{ side: "bid", ...level(9, 7) }, { side: "bid", ...level(8, 0) }], {
    checksum: checksum(["b|11|4", "b|10|1", "b|9|7", "a|13|5"])
  }))
  expect((await changes.next()).value?.bids.map(({ priceAtoms, sizeAtoms }) => `${priceAtoms}@${sizeAtoms}`)).toEqual(["11@4", "10@1",
    "9@7"])
  expect([local.sequence, local.asks, feed.isCurrent]).toEqual([7, [level(13, 5)], true])
  platform.line.say(update(7, 8, book, [{ side: "bid", ...level(11, 5) }], { checksum: checksum(["b|11|4"]) }))
  expect(feed.isCurrent).toBe(false)
  expect(notices.at(-1)).toEqual({ kind: "checksum_mismatch", stream: "market.book:M", sequence: 8 })
  expect(platform.line.last("subscribe")).not.toHaveProperty("fromSequence")
  const again = feed.ready()
  confirm(platform)
  // A book that is never right is requested less and less often.
  platform.line.say(snapshot(8, book, { ...whole, checksum: "another's" }))
  confirm(platform)
  const { length } = platform.line.sent
  platform.line.say(snapshot(8, book, { ...whole, checksum: "another's" }))
  expect(platform.line.sent.slice(length)).toMatchObject([{ op: "unsubscribe" }])
  await platform.pass(374)
  expect(platform.line.sent).toHaveLength(length + 1)
  await platform.pass(1)
  expect(platform.line.last("subscribe")).not.toHaveProperty("fromSequence")
  confirm(platform)
  platform.line.say(snapshot(8, book, whole))
  expect((await again).bids).toHaveLength(2)
  feed.close()
  await expect(feed.ready()).rejects.toThrow("closed")
  expect(await changes.next()).toMatchObject({ done: true })
  expect(client.book("M")).not.toBe(feed)
})

test("a book that missed nothing is current again once it is told on, and whoever waits for it hears", async () => {
  const { client, platform } = made()
  const feed = client.book("M")
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(5, book, { bids: [level(10, 1)], asks: [], checksum: checksum(["b|10|1"]) }))
  const changes = feed.changes()
  await changes.next()
  platform.line.end(1006)
  const ready = feed.ready()
  const next = changes.next()
  await platform.pass(250)
  platform.line.say(hello)
  expect(platform.line.last("subscribe")).toMatchObject({ fromSequence: 5 })
  expect(feed.isCurrent).toBe(false)
  confirm(platform, true)
  expect(await ready).toBe(feed.book)
  expect((await next).value).toBe(feed.book)
  expect(feed.isCurrent).toBe(true)
})

const ticket = (name: string, minutes = 5): Given => ({
  body: { ticket: name, accountId: "acc_1", expiresAt: 1_700_000_000_000 + minutes * 60_000 }
})
const orders = { channel: "account.orders" }

/** A client that has presented a ticket, and the answers to its further requests for tickets. */
const authenticated = async (answers: ReadonlyArray<Given>, more: Partial<Options> = {}) => {
  const left = [...answers]
  const asked: Array<string> = []
  const all = made({ apiKey: "key", accountId: "acc_1", ...more }, (path) => {
    asked.push(path)
    return left.shift() ?? "silence"
  })
  const { client, platform } = all
  const events = client.events("account.orders")
  platform.line.say(hello)
  await platform.settle()
  return { ...all, asked, events }
}

test("an account's streams are asked for behind a ticket, which is rotated before it ends", async () => {
  const { asked, client, events, platform } = await authenticated([ticket("one"), ticket("two", 10)])
  const { line } = platform
  expect(line.sent).toEqual([{ op: "auth", id: "c1", ticket: "one" }])
  line.say({ type: "auth_ok", id: "c1", accountId: "acc_1" })
  expect(line.last("subscribe")).toEqual({ op: "subscribe", id: "c2", ...orders })
  confirm(platform)
  line.say(snapshot(1, orders), { type: "ticket_expiring" }, { type: "ticket_expiring" })
  await platform.settle()
  expect(asked).toEqual(["POST /v1/realtime/ticket", "PUT /v1/realtime/ticket"])
  expect(platform.requests[1]).toMatchObject({ body: "{\"ticket\":\"one\"}" })
  expect(platform.requests[1]!.headers["authorization"]).toBeUndefined()
  expect(line.last("auth")).toMatchObject({ ticket: "two" })
  line.say({ type: "auth_ok", id: line.last("auth").id }, update(1, 2, orders))
  expect(await taken(events, 2)).toEqual(["snapshot 1 (first)", "update 2"])
  expect(line.sent.filter(({ op }) => op === "subscribe")).toHaveLength(1)
  // Another connection uses the same ticket while it is valid.
  line.end()
  await platform.pass(200)
  platform.line.say(hello)
  await platform.settle()
  expect(platform.line.sent).toMatchObject([{ op: "auth", ticket: "two" }])
  const closing = client.close()
  await platform.pass(10_000)
  await closing
  expect(asked.slice(2)).toEqual(["DELETE /v1/realtime/ticket"])
})

test("where an older venue says each second that the last ticket of a key expires, another is asked for once on each connection", async () => {
  const { asked, kinds, platform } = await authenticated(["one", "two", "three", "four", "five"].map((name) => ticket(name, 2)))
  const shown = (): string => platform.line.last("auth").ticket
  const isToldThrice = async (): Promise<void> => {
    for (let left = 3; left > 0; left--) {
      platform.line.say({ type: "auth_ok", id: platform.line.last("auth").id }, { type: "ticket_expiring", expiresAt: 1_700_000_120_000 })
      await platform.pass(1_000)
    }
  }
  await isToldThrice()
  expect(shown()).toBe("three")
  platform.line.end()
  await platform.pass(500)
  platform.line.say(hello)
  await platform.settle()
  expect(shown()).toBe("three")
  await isToldThrice()
  expect(shown()).toBe("five")
  expect(asked.map((path) => path.split(" ")[0])).toEqual(["POST", "PUT", "POST", "PUT", "POST"])
  expect(kinds()).toEqual(["connected", "disconnected", "connected"])
})

test("where the authority has ended, another ticket is shown and the account's streams go on", async () => {
  const { asked, events, platform } = await authenticated([ticket("one"), { status: 401, body: refusal("realtime_ticket_rejected") },
    ticket("two")])
  const { line } = platform
  line.say({ type: "auth_ok", id: "c1" })
  confirm(platform)
  line.say(snapshot(1, orders))
  expect(await taken(events, 1)).toEqual(["snapshot 1 (first)"])
  expect(events.isCurrent).toBe(true)
  line.say({ type: "error", error: refusal("realtime_ticket_rejected") })
  expect(events.isCurrent).toBe(false)
  await platform.settle()
  expect(asked).toEqual(["POST /v1/realtime/ticket", "PUT /v1/realtime/ticket", "POST /v1/realtime/ticket"])
  line.say({ type: "auth_ok", id: line.last("auth").id }, update(1, 2, orders))
  expect(await taken(events, 1)).toEqual(["update 2"])
})

test("a ticket that is not taken, or not to be had, is asked for again", async () => {
  const { notices, platform } = await authenticated([{ status: 503, body: "" }, ticket("one"), "broken", ticket("two")], { maxAttempts: 1 })
  expect(notices.at(-1)).toMatchObject({ kind: "ticket_failed" })
  await platform.pass(200)
  const { line } = platform
  expect(line.last("auth")).toMatchObject({ ticket: "one" })
  line.say({ type: "auth_error", id: line.last("auth").id, error: refusal("realtime_ticket_rejected") })
  await platform.pass(400)
  expect(line.last("auth")).toMatchObject({ ticket: "two" })
})

test("a ticket refused for a limit of requests is shown again when the venue said, and not before", async () => {
  const { notices, platform } = await authenticated([ticket("one", 60)])
  const { line } = platform
  const refuse = (more: object): void =>
    line.say({ type: "auth_error", id: line.last("auth").id, error: refusal("rate_limited", { retryable: true }), ...more })
  refuse({ retryAfterSeconds: 10 })
  expect(notices.at(-1)).toMatchObject({ kind: "ticket_failed", cause: { retryAfterMs: 10_000 }, retryInMs: 10_000 })
  const { id } = line.last("auth")
  await platform.pass(9_999)
  expect(line.last("auth").id).toBe(id)
  await platform.pass(1)
  expect(line.last("auth").id).not.toBe(id)
  // A wait that is none, or longer than the venue ever asks for, is not believed.
  refuse({ retryAfterSeconds: "soon" })
  expect(notices.at(-1)).toMatchObject({ cause: { retryAfterMs: undefined } })
  await platform.pass(1_000)
  refuse({ retryAfterSeconds: 1e9 })
  expect(notices.at(-1)).toMatchObject({ retryInMs: 60_000 })
})

/** Lets time pass over a connection that lives. */
const passLive = async (platform: VirtualPlatform, durationMs: number): Promise<void> => {
  for (let leftMs = durationMs; leftMs > 0; leftMs -= 4_000) {
    await platform.pass(Math.min(leftMs, 4_000))
    platform.line.say({ type: "heartbeat", heads: {} })
  }
}

test.each<readonly [what: string, act: (all: Awaited<ReturnType<typeof authenticated>>) => Promise<void> | void]>([
  ["another stream of the account is followed", ({ client }) => void client.events("account.fills")],
  ["another connection is opened", async ({ platform }) => {
    platform.line.end()
    await platform.pass(500)
    platform.line.say(hello)
  }],
  ["the clock is set back", ({ platform }) => platform.setBack(3_600_000)],
  ["the venue says that the ticket expires", ({ platform }) => platform.line.say({ type: "ticket_expiring" })]
])("no ticket is shown before the venue's time for it, also where %s", async (_, act) => {
  const all = await authenticated([ticket("one", 200), ticket("two", 205)])
  const { platform } = all
  const shown = (): number => platform.lines.flatMap(({ sent }) => sent).filter(({ op }) => op === "auth").length
  const error = refusal("rate_limited", { retryable: true })
  platform.line.say({ type: "auth_error", id: platform.line.last("auth").id, error, retryAfterSeconds: 60 })
  await act(all)
  await passLive(platform, 59_000)
  expect(shown()).toBe(1)
  await platform.pass(1_000)
  expect(shown()).toBe(2)
})

test("a stream that was refused for a limit is asked for again when the venue said, whatever connection there is by then", async () => {
  const { client, platform } = made()
  client.events("market.trades", "mkt")
  platform.line.say(hello)
  const error = refusal("rate_limited", { retryable: true })
  platform.line.say({ type: "error", id: platform.line.last("subscribe").id, error, retryAfterSeconds: 20 })
  platform.line.end()
  await platform.pass(500)
  platform.line.say(hello)
  await passLive(platform, 19_000)
  expect(platform.line.last("subscribe")).toBeUndefined()
  await platform.pass(500)
  expect(platform.line.last("subscribe")).toMatchObject({ channel: "market.trades" })
})

test.each(["", "null", "{}", "[]", "{\"ticket\":7}"])("an answer without a ticket (%j) is lost, when it is minted and when it is rotated",
  async (body) => {
    const { asked, notices, platform } = await authenticated([{ body }, { body }, ticket("one"), { body }, { body }, ticket("two")], {
      maxAttempts: 1
    })
    expect(notices.at(-1)).toMatchObject({ kind: "ticket_failed", cause: { name: "Unanswered" } })
    await platform.pass(1_000)
    const { line } = platform
    expect(line.last("auth")).toMatchObject({ ticket: "one" })
    line.say({ type: "auth_ok", id: line.last("auth").id }, { type: "ticket_expiring" })
    await platform.pass(1_000)
    expect(line.last("auth")).toMatchObject({ ticket: "two" })
    expect(asked.map((path) => path.split(" ")[0])).toEqual(["POST", "POST", "POST", "PUT", "POST", "POST"])
  })

test.each<readonly [what: string, give: () => unknown]>([
  ["gives nothing", () => Promise.resolve(undefined)],
  ["gives something else", () => Promise.resolve({ ticket: null })],
  ["throws", () => {
    throw new Error("no")
  }]
])("a source of tickets of the user's own that %s is asked again", async (_, give) => {
  let asked = 0
  const tickets = (() => ++asked === 1 ? give() : Promise.resolve({ ticket: "one" })) as NonNullable<Options["tickets"]>
  const { client, notices, platform } = made({ tickets })
  client.events("account.orders")
  platform.line.say(hello)
  await platform.settle()
  expect(notices.at(-1)).toMatchObject({ kind: "ticket_failed" })
  await platform.pass(200)
  expect(platform.line.last("auth")).toMatchObject({ ticket: "one" })
})

test("where the key may not act, the account's streams end, and the market's go on", async () => {
  const { client, events, platform } = await authenticated([])
  platform.answer = () => ({ status: 403, body: refusal("scope_missing") })
  const market = client.events("market.trades", "M")
  await platform.pass(50_000)
  await expect(events.next()).rejects.toMatchObject({ code: "scope_missing" })
  platform.line.say(hello)
  confirm(platform)
  platform.line.say(snapshot(1))
  expect(await taken(market, 1)).toEqual(["snapshot 1 (first)"])
})

test("without a key there is nothing of an account to follow", () => {
  expect(() => made().client.events("account.orders")).toThrow("account.orders needs an API key, or tickets")
})

const order = { marketId: "M", side: "buy", orderType: "limit", price: "1.0", quantity: "1.0" } as const

/** A client that sends commands over the socket. */
const trading = async (answers: ReadonlyArray<Given>, more: Partial<Options> = {}) => {
  const all = await authenticated([ticket("one"), ...answers], { orders: "socket", maxAttempts: 2, ...more })
  const { line } = all.platform
  expect(JSON.parse(all.platform.requests[0]!.body!)).toEqual({ scopes: ["read", "trade"] })
  expect(line.sent).toEqual([{ op: "auth", id: "c1", ticket: "one", ...("cancelOnDisconnect" in more ? more : undefined) }])
  const connected = all.client.connected()
  line.say({ type: "auth_ok", id: "c1" })
  await connected
  return { ...all, line }
}

/** The lookup's answer before an order is sent under a key that was not made for that call. */
const neverSeen: Given = { body: { outcome: "never_seen", decisions: [] } }

test("a command over the socket is answered there", async () => {
  const { client, line, platform } = await trading([])
  const placing = client.place(order, { idempotencyKey: "one", isNew: true })
  await platform.settle()
  const frame = line.last("place")
  expect(frame).toMatchObject({ idempotencyKey: "one", body: { accountId: "acc_1", ...order } })
  line.say({ type: "result", id: frame.id, body: { orderId: "ord_1" } })
  expect(await placing).toEqual({ kind: "accepted", idempotencyKey: "one", value: { orderId: "ord_1" } })
  const canceling = client.cancel({ orderId: "ord_1", marketId: "M" })
  await platform.settle()
  line.say({ type: "error", id: line.last("cancel").id, error: refusal("not_found") })
  expect(await canceling).toMatchObject({ kind: "refused", refusal: { code: "not_found", isDecision: true } })
  expect(platform.requests).toHaveLength(1)
})

test.each<
  readonly [what: string, answers: ReadonlyArray<Given>, happens: (platform: VirtualPlatform) => void, kind: string, asked: number]
>([
  ["the connection ends", [{ body: { orderId: "ord_1" } }], ({ line }) => line.end(), "accepted", 2],
  ["no answer comes", [{ body: { orderId: "ord_1" } }], () => {}, "accepted", 2],
  [
    "the connection ends, and nothing had arrived",
    ["broken", "broken", { body: { outcome: "never_seen", decisions: [] } }, { body: {} }],
    ({ line }) => line.end(),
    "never_arrived",
    5
  ],
  [
    "it is refused for a time",
    [{ body: { orderId: "ord_1" } }],
    ({ line }) => line.say({ type: "error", id: line.last("place").id, error: refusal("overloaded", { retryable: true }) }),
    "accepted",
    2
  ],
  [
    "the venue has a defect there, and takes nothing then",
    [
      { status: 503, body: refusal("overloaded", { retryable: true }) },
      { status: 503, body: refusal("overloaded", { retryable: true }) },
      { body: { outcome: "unknown_expired", decisions: [] } }
    ],
    ({ line }) => line.say({ type: "error", id: line.last("place").id, error: refusal("internal_error") }),
    "unknown",
    4
  ]
])("where %s, the same command goes by REST, and its outcome is told", async (_, answers, happens, kind, asked) => {
  const { client, platform } = await trading([neverSeen, ...answers])
  const placing = client.place(order, { idempotencyKey: "one" })
  await platform.settle()
  const { body } = platform.line.last("place")
  happens(platform)
  expect(await platform.finish(placing)).toMatchObject({ kind })
  const sent = platform.requests.filter(({ url }) => url.endsWith("/v1/orders"))
  expect(platform.requests).toHaveLength(asked + 1)
  for (const request of sent) {
    expect(JSON.parse(request.body!)).toEqual(body)
    expect(request.headers["idempotency-key"]).toBe("one")
  }
})

test.each<readonly [what: string, kind: string, answers: ReadonlyArray<Given>, isNew: boolean, asked: ReadonlyArray<string>]>([
  ["is unknown where the venue has forgotten it", "unknown", [{ body: { outcome: "unknown_expired", decisions: [] } }], true, ["GET"]],
  ["is unknown under a key of the caller's, too", "unknown", [neverSeen, { body: { outcome: "unknown_expired", decisions: [] } }], false, [
    "GET",
    "GET"
  ]],
  ["is barred where it had not arrived", "never_arrived", [neverSeen, { body: {} }], true, ["GET", "POST"]],
  ["is told of where the venue remembers it", "accepted", [{ body: { outcome: "accepted", decisions: [] } }, {
    body: { orderId: "ord_1" }
  }], true, ["GET", "POST"]]
])("a command over the socket that a machine slept over is looked up before it is sent by REST, and %s",
  async (_, kind, answers, isNew, asked) => {
    const { client, line, platform } = await trading(answers)
    const placing = client.place(order, { idempotencyKey: "one", isNew })
    await platform.settle()
    expect(line.last("place")).toMatchObject({ idempotencyKey: "one" })
    platform.now += 600_000
    line.end()
    await platform.settle()
    expect(await placing).toMatchObject({ kind, idempotencyKey: "one" })
    expect(platform.requests.slice(1).map(({ method }) => method)).toEqual(asked)
    const [lookUp] = platform.requests.slice(1)
    expect(lookUp!.url).toBe("http://venue/v1/accounts/acc_1/outcomes?idempotencyKey=one")
  })

test("what the venue remembered is not sent for its answer once a machine has slept over the look-up", async () => {
  const { client, line, platform } = await trading([])
  platform.answer = () => {
    platform.now += 600_000
    return { body: { outcome: "accepted", decisions: [] } }
  }
  const placing = client.place(order, { idempotencyKey: "one", isNew: true })
  await platform.settle()
  platform.now += 600_000
  line.end()
  await platform.settle()
  expect(await placing).toMatchObject({ kind: "unknown", idempotencyKey: "one", seen: { outcome: "accepted" } })
  expect(platform.requests.slice(1).map(({ method }) => method)).toEqual(["GET"])
})

test("what a machine slept over on the socket is sent by REST only while the venue cannot have forgotten the frame", async () => {
  const { client, line, platform } = await trading([], { maxAttempts: 5 })
  const starting: Given = { status: 503, body: refusal("starting", { retryable: true }), headers: { "retry-after": "60" } }
  platform.answer = ({ url }) => url.includes("/outcomes") ? { body: { outcome: "unknown_expired", decisions: [] } } : starting
  const placing = client.place(order, { idempotencyKey: "one", isNew: true })
  await platform.settle()
  platform.now += 570_000
  line.end()
  expect(await platform.finish(placing)).toMatchObject({ kind: "unknown", idempotencyKey: "one" })
  expect(platform.requests.filter(({ url }) => url.endsWith("/v1/orders"))).toHaveLength(1)
})

test("a command that the socket cannot take goes by REST at once", async () => {
  const { client, line, platform } = await trading([{ body: {} }, { body: {} }])
  const many = Array.from({ length: 48 }, () => client.place(order))
  await platform.settle()
  expect(line.sent.filter(({ op }) => op === "place")).toHaveLength(48)
  expect(await client.place(order)).toMatchObject({ kind: "accepted" })
  line.sent.filter(({ op }) => op === "place").forEach(({ id }) => line.say({ type: "result", id, body: {} }))
  await Promise.all(many)
  await platform.pass(1_000)
  const wide = { ...order, clientOrderId: "x".repeat(17_000) }
  expect(await client.place(wide)).toMatchObject({ kind: "accepted" })
  expect(platform.requests).toHaveLength(3)
})

test.each([true, undefined])("a key that stands for another body is said to be unknown there, too (cancelOnDisconnect %s)",
  async (cancels) => {
    const told: Given = { body: { outcome: "accepted", decisions: [{ entries: [{ orderId: "ord_7" }] }] } }
    const { client, line, platform } = await trading([told], cancels === undefined ? {} : { cancelOnDisconnect: cancels })
    const placing = client.place(order, { idempotencyKey: "one", isNew: true })
    await platform.settle()
    line.say({ type: "error", id: line.last("place").id, error: refusal("idempotency_key_conflict") })
    expect(await placing).toMatchObject({
      kind: "unknown",
      cause: { code: "idempotency_key_conflict", isConflict: true },
      seen: { decisions: [{ entries: [{ orderId: "ord_7" }] }] }
    })
    expect(platform.requests.slice(1).map(({ url }) => url)).toEqual(["http://venue/v1/accounts/acc_1/outcomes?idempotencyKey=one"])
  })

test("what is to end with its connection is placed over that alone", async () => {
  const unseen: Given = { body: { outcome: "never_seen", decisions: [] } }
  const { client, line, platform } = await trading([unseen, { body: {} }, unseen, { body: {} }, { body: {} }], { cancelOnDisconnect: true })
  const paths = () => platform.requests.slice(1).map(({ method, url }) => `${method} ${url.slice("http://venue/v1".length)}`)
  const placing = client.place(order, { idempotencyKey: "one", isNew: true })
  await platform.settle()
  expect(line.last("place")).toMatchObject({ idempotencyKey: "one" })
  line.end()
  expect(await placing).toMatchObject({ kind: "never_arrived" })
  expect(await client.placeBatch([order], { idempotencyKey: "two", isNew: true })).toMatchObject({
    kind: "never_arrived",
    cause: { message: "the stream could not take it: it is not connected" }
  })
  const asked = (key: string) => [`GET /accounts/acc_1/outcomes?idempotencyKey=${key}`, "POST /accounts/acc_1/outcomes/fence"]
  expect(paths()).toEqual([...asked("one"), ...asked("two")])
  // A command that ends orders uses whatever transport is available.
  expect(await client.cancelAll()).toMatchObject({ kind: "accepted" })
  expect(paths().at(-1)).toBe("POST /orders/cancel-all")
})

test.each([
  ["as many bytes as it may", "x", 16_384, true],
  ["one byte more", "x", 16_385, false],
  ["as many bytes as it may, of characters of three", "€", 16_384, true],
  ["one byte more, of characters of three", "€", 16_385, false]
])("a frame with %s is sent by its bytes, or said to be too large", async (_, character, bytes, fits) => {
  const unseen: Given = { body: { outcome: "never_seen", decisions: [] } }
  const { client, line, platform } = await trading(fits ? [] : [unseen, { body: { holdsUntilEpochMs: 9 } }], { cancelOnDisconnect: true })
  const sizeOf = (frame: object): number => Buffer.byteLength(JSON.stringify(frame))
  const named = (clientOrderId: string) => client.placeBatch([{ ...order, clientOrderId }], { idempotencyKey: "k", isNew: true })
  void named("")
  await platform.settle()
  const empty = line.last("place_batch")
  const left = bytes - sizeOf(empty)
  const wide = character.repeat(Math.floor(left / Buffer.byteLength(character)))
  const placing = named(wide.padEnd(wide.length + left - Buffer.byteLength(wide), "x"))
  await platform.settle()
  const frame = line.last("place_batch")
  if (fits) {
    expect(sizeOf(frame)).toBe(bytes)
    line.say({ type: "result", id: frame.id, body: {} })
    expect(await placing).toMatchObject({ kind: "accepted" })
  } else {
    expect(frame).toBe(empty)
    expect(await placing).toMatchObject({ kind: "never_arrived", fencedUntilEpochMs: 9 })
    expect(await placing).toHaveProperty("cause.message", expect.stringContaining("16384 bytes at most"))
  }
})

test("a refusal that decides nothing says nothing there of an earlier call under the key", async () => {
  const accepted: Given = { body: { outcome: "accepted", decisions: [] } }
  const { client, line, platform } = await trading([neverSeen, accepted, { body: { orderId: "ord_1" } }], { cancelOnDisconnect: true })
  const refuse = (): void => line.say({ type: "error", id: line.last("place").id, error: refusal("scope_missing") })
  const again = client.place(order, { idempotencyKey: "one" })
  await platform.settle()
  refuse()
  expect(await platform.finish(again)).toMatchObject({ kind: "accepted", value: { orderId: "ord_1" } })
  const first = client.place(order)
  await platform.settle()
  refuse()
  expect(await first).toMatchObject({ kind: "refused", refusal: { code: "scope_missing" } })
})

test("whoever waits to trade over the stream is told where that will never be", async () => {
  const forbidden: Given = { status: 403, body: refusal("scope_missing") }
  const { client, platform } = await authenticated([forbidden, forbidden], { orders: "socket" })
  await expect(client.connected()).rejects.toMatchObject({ code: "scope_missing" })
  const waiting = client.connected()
  const closing = client.close()
  await expect(waiting).rejects.toThrow("closed")
  await platform.pass(10_000)
  await closing
  await expect(made({ apiKey: "key" }).client.connected()).rejects.toThrow("no commands go over the stream")
  await expect(made({ orders: "socket" }).client.connected()).rejects.toThrow("need an API key, or tickets")
})

test.each([true, undefined])("closing sends no command any more that waits for its answer on the stream (cancelOnDisconnect %s)",
  async (ends) => {
    const { asked, client, line, platform } = await trading([], ends === undefined ? {} : { cancelOnDisconnect: ends })
    const placing = client.place(order, { idempotencyKey: "one", isNew: true })
    await platform.settle()
    expect(line.last("place")).toMatchObject({ idempotencyKey: "one" })
    asked.length = 0
    const closing = client.close()
    await platform.settle()
    expect(asked).toEqual(["DELETE /v1/realtime/ticket"])
    expect(await placing).toMatchObject({ kind: "unknown", idempotencyKey: "one" })
    await platform.finish(closing)
    expect(platform.waits).toBe(0)
  })

test("closing gives up a ticket that is asked for again", async () => {
  const { asked, client, platform } = await authenticated([{ body: "{}" }, { body: "{}" }], { maxAttempts: 5 })
  expect(asked).toEqual(["POST /v1/realtime/ticket"])
  expect(platform.waits).toBeGreaterThan(0)
  await platform.finish(client.close())
  await platform.pass(10_000)
  expect(asked).toEqual(["POST /v1/realtime/ticket"])
  expect(platform.waits).toBe(0)
})

test("closing ends every stream, and leaves nothing to happen", async () => {
  const { client, platform } = made()
  const events = client.events("market.trades", "M")
  const next = events.next()
  platform.line.say(hello)
  await client.close()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(platform.line.isClosed).toBe(true)
  expect(platform.waits).toBe(0)
  expect(() => client.events("market.trades", "M")).toThrow("closed")
})
