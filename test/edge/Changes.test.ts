/** Changes of an account over REST: the events of its channels, in whole records, with nothing skipped or shown early. */
import { Clock, Effect, Fiber, TestClock, TestContext } from "effect"
import { beforeAll, describe, expect, test } from "vitest"
import type { Response } from "../../src/edge/http/Listener.js"
import type { Reads } from "../../src/engine/Reads.js"
import { Changes, type Wait } from "../../src/streams/Changes.js"
import { accountChannels } from "../../src/streams/Channels.js"
import { Hub, type Outside } from "../../src/streams/Hub.js"
import { Histogram } from "../../src/domain/Histogram.js"
import { Replays } from "../../src/streams/Replay.js"
import { Retention } from "../../src/streams/Retention.js"
import type * as Feed from "../../src/sequencer/Feed.js"
import { toldAgain } from "../../src/domain/Retention.js"
import * as Fake from "./FakeVenue.js"
import { ask, must, Owner } from "./identity/Owner.js"
import { LiveVenue, marketId, type Trader } from "./LiveVenue.js"
import { Client } from "./socket/Client.js"

const targetOf = ({ accountId }: { readonly accountId: string }, query: string): string => `/v1/accounts/${accountId}/changes?${query}`

describe("the changes of an account", () => {
  let venue: LiveVenue
  let alice: Trader
  let bob: Trader
  /** What the stream told Alice, by channel and record. */
  const streamed: Array<readonly [sequence: number, channel: string, data: unknown]> = []
  let begun = 0

  beforeAll(async () => {
    venue = LiveVenue.make()
    ;[alice, bob] = await venue.traders(2) as [Trader, Trader]
    const client = new Client(venue)
    await client.authenticate(alice)
    for (const channel of accountChannels) client.say({ op: "subscribe", channel })
    begun = venue.engine.sequence
    client.fresh()
    const { orderId } = await venue.place(alice, { price: "99.0" })
    await venue.place(bob, { side: "sell", price: "99.0", quantity: "0.400" })
    await venue.place(bob, { price: "90.0" })
    await venue.post(alice, `/v1/orders/${orderId}/cancel`, { accountId: alice.accountId, marketId })
    await venue.place(alice, { side: "sell", price: "90.0", quantity: "0.400" })
    for (const { channel, data, sequence, type } of client.fresh()) if (type === "update") streamed.push([sequence, channel, data])
    client.leave()
  })

  const read = (query: string): Promise<any> => venue.read(alice, targetOf(alice, query))
  const eventsOf = ({ events }: any): ReadonlyArray<unknown> => events.map(({ channel, data, sequence }: any) => [sequence, channel, data])
  const waits = async (): Promise<number> => {
    venue.atEpochMs += 1_000
    return Number(/^venue_change_waits (\d+)$/m.exec((await venue.ask({ target: "/metrics" })).body)?.[1])
  }

  test("are the events of the stream, in its order, from memory and from the journal", async () => {
    expect(new Set(streamed.map(([, channel]) => channel))).toEqual(new Set(accountChannels.filter((name) => name !== "account.deposits")))
    const kept = await read(`fromSequence=${begun}&limit=500`)
    expect(eventsOf(kept)).toEqual(streamed)
    expect(kept).toMatchObject({ accountId: alice.accountId, fromSequence: begun, hasMore: false })
    venue.restart()
    expect(await read(`fromSequence=${begun}&limit=500`)).toEqual({ ...kept, throughSequence: venue.engine.sequence })
  })

  test.each([1, 2, 3])("are the same %d records at a time, and end with the last record", async (limit) => {
    const told: Array<unknown> = []
    let from = begun
    for (let pages = 0, more = true; more && pages < 20; pages++) {
      const page = await read(`fromSequence=${from}&limit=${limit}`)
      expect(new Set(page.events.map(({ sequence }: any) => sequence)).size).toBeLessThanOrEqual(limit)
      told.push(...eventsOf(page))
      from = page.throughSequence
      more = page.hasMore
    }
    expect(told).toEqual(streamed)
    expect(from).toBe(venue.engine.sequence)
    expect(eventsOf(await read(`fromSequence=${from}`))).toEqual([])
  })

  test("go on in the journal where the page before ended: each record is run again once", async () => {
    venue.restart()
    const { engines, records } = venue.reruns
    const told: Array<unknown> = []
    let from = begun
    // The latest changes come from the streams' memory, not from another run of the journal.
    while (told.length < streamed.length) {
      const page = await read(`fromSequence=${from}&limit=1`)
      told.push(...eventsOf(page))
      from = page.throughSequence
    }
    expect(told).toEqual(streamed)
    expect([venue.reruns.engines - engines, venue.reruns.records - records <= venue.engine.sequence]).toEqual([1, true])
  })

  test("are durable", async () => {
    const from = venue.engine.sequence
    venue.holdDisk()
    void venue.place(alice, { price: "91.0" })
    let answer: any
    const asked = read(`fromSequence=${from}`).then((page) => {
      answer = page
    })
    await Promise.resolve()
    expect(answer).toBeUndefined()
    venue.releaseDisk()
    await asked
    expect(answer.events.every(({ sequence }: any) => sequence <= answer.throughSequence)).toBe(true)
    expect((await read(`fromSequence=${from}`)).events.length).toBeGreaterThan(0)
  })

  test("are waited for, and told as soon as there are any; nothing of others is", async () => {
    const from = venue.engine.sequence
    const waiting = read(`fromSequence=${from}&waitMs=30000`)
    while (await waits() < 1) await Promise.resolve()
    await venue.place(bob, { price: "80.0" })
    const { sequence } = await venue.place(alice, { price: "92.0" }).then(({ lastSequence }) => ({ sequence: lastSequence }))
    const page = await waiting
    expect(page.events.map((event: any) => event.sequence)).toEqual([sequence, sequence])
    expect(await waits()).toBe(0)
  })

  test("are waited for by so many requests of an account, and by no client that has gone", async () => {
    const gone: Array<() => void> = []
    const framed = Fake.request({ target: targetOf(alice, `fromSequence=${venue.engine.sequence}&waitMs=30000`), key: alice.key })
    const answers = Array.from({ length: 4 }, () =>
      new Promise<Response>((resolve) => {
        venue.application.handle({
          ...framed,
          whenGone: (then) => {
            gone.push(then)
            return () => {}
          }
        }, resolve)
      }))
    while (await waits() < 4) await Promise.resolve()
    const crowded = await venue.ask({ target: targetOf(alice, `fromSequence=${venue.engine.sequence}&waitMs=1`), key: alice.key })
    expect([crowded.status, Fake.json(crowded).rejectionGuard, crowded.headers["retry-after"]]).toEqual([429, "waits_per_account", "1"])
    expect((await read(`fromSequence=${venue.engine.sequence}`)).events).toEqual([])
    for (const leave of gone) leave()
    expect((await Promise.all(answers)).map(({ body }) => JSON.parse(body).events)).toEqual([[], [], [], []])
    expect(await waits()).toBe(0)
  })

  test.each(["a key that may trade", "its owner's session"])("leave a place to %s, unless it waits already", async (who) => {
    const owner = await Owner.open(venue)
    const trading = who === "a key that may trade"
      ? bob
      : { accountId: owner.accountId, account: venue.engine.findAccount(owner.accountId), key: owner.token }
    const issued = Fake.issue(`reader-${trading.account}`, 1)
    venue.engine.state.apiKeys.issue({ ...issued.grant, account: trading.account, createdAtEpochMs: venue.atEpochMs, revokedAtEpochMs: 0 })
    const target = targetOf(trading, `fromSequence=${venue.engine.sequence}&waitMs=30000`)
    const gone: Array<() => void> = []
    const wait = (key: string): Promise<Response> =>
      new Promise((resolve) => {
        const whenGone = (then: () => void) => {
          gone.push(then)
          return () => {}
        }
        venue.application.handle({ ...Fake.request({ target, key }), whenGone }, resolve)
      })
    const all = async (...keys: ReadonlyArray<string>): Promise<ReadonlyArray<number>> => {
      const asked: Array<Promise<Response>> = []
      for (const [at, key] of keys.entries()) {
        asked.push(wait(key))
        while (await waits() < at + 1) await Promise.resolve()
        if (at < 2) continue
        const crowded = await wait(issued.text)
        expect([crowded.status, Fake.json(crowded).rejectionGuard]).toEqual([429, "waits_per_account"])
      }
      for (const leave of gone.splice(0)) leave()
      return (await Promise.all(asked)).map(({ status }) => status)
    }
    const [reader, trader] = [issued.text, trading.key]
    expect(await all(reader, reader, reader, trader)).toEqual([200, 200, 200, 200])
    const behind = [wait(trader), wait(reader), wait(reader), wait(reader)]
    while (await waits() < 4) await Promise.resolve()
    for (const leave of gone.splice(0)) leave()
    expect((await Promise.all(behind)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  })

  test("are no longer waited for once the credential has ended", async () => {
    const owner = await Owner.open(venue)
    const waiting = ask(venue, { target: targetOf(owner, `fromSequence=${venue.engine.sequence}&waitMs=30000`), key: owner.token })
    while (await waits() < 1) await Promise.resolve()
    await must(owner.ask("/v1/auth/sessions/current", { method: "DELETE" }))
    expect(await waiting).toMatchObject({ status: 401, body: { code: "unauthorized" } })
    expect(await waits()).toBe(0)
  })

  test("are none ahead of the last record", async () => {
    const answer = await venue.ask({ target: targetOf(alice, `fromSequence=${venue.engine.sequence + 1}`), key: alice.key })
    expect([answer.status, Fake.json(answer)]).toMatchObject([400, {
      code: "invalid_request",
      rejectionGuard: "sequence_ahead",
      recoveryActions: ["refresh_state"],
      limit: String(venue.engine.sequence),
      actual: String(venue.engine.sequence + 1)
    }])
  })
})

describe("whoever asks for changes", () => {
  const quiet: Wait = {
    forMs: 0,
    address: "192.0.2.1",
    endsAtEpochMs: Number.MAX_SAFE_INTEGER,
    mayTrade: true,
    isOver: () => false,
    whenGone: () => () => {}
  }
  /** A rerun of the journal in which no account is touched. */
  const empty = (begins: number): Feed.Rerun => {
    let stands = begins
    const next = Effect.sync(() => void (stands += 10_000))
    return { sequence: () => stands, begunFor: 0, next: () => next, close: Effect.void }
  }
  /** `weekSince`: the record after which everything is less than a week old. */
  const at = (sequence: number, clock: Clock.Clock = Clock.make(), changedAt = sequence, weekSince = sequence): Changes => {
    const reads = { sequence, atEpochMs: 0 } as Reads
    const payloads = { changedAt: () => changedAt } as never
    const outside: Outside = {
      kept: { updates: 1, bytes: 10_000 },
      now: () => 0,
      monotonicNanos: () => 0,
      delays: new Histogram(),
      delivered: () => {},
      past: () => Effect.never,
      hasPast: () => false,
      fork: () => {},
      failed: () => {}
    }
    return new Changes({
      reads,
      hub: new Hub(reads, payloads, outside),
      replays: new Replays({ rerun: (after) => Effect.succeed(empty(after)) }, payloads, () => sequence),
      retention: new Retention(reads, { before: () => Effect.succeed(weekSince) }, toldAgain),
      durableSequence: () => sequence,
      now: () => clock.unsafeCurrentTimeMillis(),
      monotonicNanos: () => Number(clock.unsafeCurrentTimeNanos())
    }, { waitsOfAccount: 2, waits: 3, pageText: 1 << 20 })
  }
  const asked = (after: number, account = 0) => ({ account, after, mostRecords: 50 })

  test("is told of a million records, and from where on beyond that", () => {
    expect(Effect.runSync(at(1_000_006).read(asked(5), quiet))).toEqual({ without: "retention", oldestSequence: 6 })
    expect(Effect.runSync(at(1_000_006).read(asked(1_000_006), quiet))).toEqual({ told: [], throughSequence: 1_000_006, hasMore: false })
    // An account that has not changed since is answered, however long ago that is.
    const untouched = at(9_000_000, Clock.make(), 4)
    expect(Effect.runSync(untouched.read(asked(5), quiet))).toEqual({ told: [], throughSequence: 9_000_000, hasMore: false })
    expect(Effect.runSync(untouched.read(asked(3), quiet))).toEqual({ without: "retention", oldestSequence: 8_000_000 })
  })

  test("is told of a week, of however many records that is", async () => {
    const busy = at(9_000_000, Clock.make(), 9_000_000, 2_000_000)
    expect(await Effect.runPromise(busy.read(asked(1_999_999), quiet))).toEqual({ without: "retention", oldestSequence: 2_000_000 })
    expect(await Effect.runPromise(busy.read(asked(2_000_000), quiet))).toEqual({ told: [], throughSequence: 2_100_000, hasMore: true })
  })

  test("waits no longer than asked, nor beside more of the account, nor than the credential is good", () =>
    Effect.gen(function*() {
      const clock = yield* Effect.clock
      const changes = at(7, clock)
      let isGood = true
      const wait = { ...quiet, forMs: 2_500, endsAtEpochMs: 2_100, isOver: () => !isGood }
      const begin = (account: number, mayTrade = true) => Effect.fork(changes.read(asked(7, account), { ...wait, mayTrade }))
      const fibers = [yield* begin(0), yield* begin(0), yield* begin(1)]
      yield* TestClock.adjust(2_000)
      expect(changes.waiting).toBe(3)
      isGood = false
      yield* TestClock.adjust(100)
      expect(changes.waiting).toBe(0)
      isGood = true
      const first = yield* begin(0, false)
      yield* Effect.yieldNow()
      // One place is for who may trade.
      expect(yield* changes.read(asked(7), { ...wait, mayTrade: false })).toEqual({ without: "room", of: "account" })
      const second = yield* begin(0)
      yield* Effect.yieldNow()
      expect(yield* changes.read(asked(7), wait)).toEqual({ without: "room", of: "account" })
      yield* TestClock.adjust(2_500)
      expect(changes.waiting).toBe(0)
      for (const fiber of [...fibers, first, second]) {
        expect(yield* Fiber.join(fiber)).toEqual({ told: [], throughSequence: 7, hasMore: false })
      }
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise))

  test("waits beside however many accounts of other networks: the oldest wait of one that has many more ends, and comes back only when one is over", () =>
    Effect.gen(function*() {
      const changes = at(7, yield* Effect.clock)
      const ended: Array<string> = []
      const begin = (name: string, account: number, address: string) =>
        Effect.fork(Effect.map(changes.read(asked(7, account), { ...quiet, forMs: 2_500, address }), (page) => {
          if ("without" in page) expect(page).toEqual({ without: "room", of: "venue" })
          else expect(page).toEqual({ told: [], throughSequence: 7, hasMore: false })
          ended.push("without" in page ? `${name} is refused` : name)
        }))
      // Each account has its own address, and all of them are of one customer.
      const many = (account: number) => begin(`of many ${account}`, account, `2001:db8:1:${account}::/64`)
      for (const account of [0, 1, 2]) yield* many(account)
      yield* Effect.yieldNow()
      expect([changes.waiting, ended]).toEqual([3, []])
      // One more of the network that has all of them would only take another's place.
      yield* many(3)
      yield* TestClock.adjust(1)
      expect([changes.waiting, ended.splice(0)]).toEqual([3, ["of many 3 is refused"]])
      yield* begin("a newcomer", 8, "192.0.2.2")
      yield* TestClock.adjust(1)
      expect([changes.waiting, ended.splice(0)]).toEqual([3, ["of many 0"]])
      // Who has ended for the newcomer asks again at once; and a third network would have no more than it takes.
      yield* many(0)
      yield* begin("another newcomer", 9, "192.0.2.3")
      yield* TestClock.adjust(1)
      expect([changes.waiting, ended.splice(0)]).toEqual([3, ["of many 0 is refused", "of many 1"]])
      yield* begin("a third newcomer", 7, "192.0.2.4")
      yield* TestClock.adjust(1)
      expect([changes.waiting, ended.splice(0)]).toEqual([3, ["a third newcomer is refused"]])
      yield* TestClock.adjust(2_500)
      expect([changes.waiting, ended.splice(0).length]).toEqual([0, 3])
      // What has ended holds no place.
      for (const account of [0, 1, 2]) yield* many(account)
      yield* TestClock.adjust(1)
      expect([changes.waiting, ended]).toEqual([3, []])
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise))
})
