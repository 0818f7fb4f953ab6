/** The updates kept for all accounts' streams share one limit, and streams make room for others whatever the clock is set to. */
import { describe, expect, test } from "vitest"
import { Event } from "../../src/engine/EventLog.js"
import type { Reads } from "../../src/engine/Reads.js"
import { type AccountChannel, accountChannels } from "../../src/streams/Channels.js"
import { Frame } from "../../src/streams/Frame.js"
import { Hub } from "../../src/streams/Hub.js"
import type { Log } from "../../src/streams/Log.js"
import type { Payloads } from "../../src/streams/Payloads.js"
import { outside } from "./Outside.js"

/** Account streams to which each record adds one text, durable at once. */
class Told {
  sequence = 0
  atEpochMs = 1_800_000_000_000
  text = "\"\""
  readonly hub: Hub
  private readonly words = new Float64Array(4)

  constructor(keptOfAccounts?: number, of: ReadonlyArray<AccountChannel> = ["account.orders", "account.balance"], mostUnused?: number) {
    const reads = {
      market: () => ({ parameters: { marketId: "AAA" } }),
      watchLevels: () => {},
      hasSampledAny: () => false
    } as unknown as Reads
    const payloads = {
      changedAt: () => this.sequence,
      ofAccount: (_: Reads, channel: AccountChannel) =>
        of.includes(channel) ? [1, 2].map((key) => ({ key: String(key), text: this.text })) : []
    } as unknown as Payloads
    this.hub = new Hub(reads, payloads, outside({
      kept: { updates: 1_024, bytes: 1 << 20 },
      keptOfAccounts,
      mostUnused,
      now: () => this.atEpochMs
    }))
  }

  open(account: number): ReadonlyArray<Log> {
    return accountChannels.map((channel) => this.hub.open(channel, account))
  }

  tell(account: number, text = JSON.stringify("x".repeat(500))): void {
    this.text = text
    this.sequence++
    this.words.set([Event.CollateralChanged, 2, account, 1])
    this.hub.decided(this.sequence, this.words, 0, 4)
    this.hub.committed(this.sequence)
  }
}

/** Characters of a stream's kept updates, as they were sent. */
const lengthOf = (log: Log): number => {
  const updates = log.between(0, Infinity)
  return updates.reduce((sum, update, at) => sum + log.frame(update, updates[at - 1]?.sequence ?? log.since).text.length, 0)
}

const sum = (lengths: ReadonlyArray<number>): number => lengths.reduce((all, each) => all + each, 0)

describe("of all accounts' streams together", () => {
  test("no more is kept than there is room for, exactly that is counted, and those that keep most let go", () => {
    const told = new Told(200_000)
    const quiet = told.open(0)
    for (let count = 0; count < 3; count++) told.tell(0)
    const busy = Array.from({ length: 20 }, (_, at) => told.open(1 + at))
    for (let count = 0; count < 2_000; count++) {
      told.tell(1 + count % 20)
      expect(told.hub.keptBytes).toBeLessThanOrEqual(200_000)
    }
    expect(told.hub.keptBytes).toBeGreaterThan(195_000)
    expect(told.hub.keptBytes).toBe(sum([quiet, ...busy].flat().map(lengthOf)))
    // Streams with few updates keep all of them. Where the others now begin tells a client that returns from further back that it missed
    // some.
    expect(quiet.map(({ since }) => since)).toEqual(accountChannels.map(() => 0))
    for (const log of busy.flat().filter(({ count }) => count > 0)) {
      expect(log.between(log.since, Infinity)[0]!.sequence).toBe(log.since + 20)
      expect(log.lastSequence).toBeGreaterThan(told.sequence - 20)
    }
  })

  test("a quarter of a gibibyte is kept, whatever one update is, and none of what is larger than the room", () => {
    const told = new Told(undefined, ["account.orders"])
    const text = JSON.stringify("x".repeat(250_000))
    const logs = Array.from({ length: 700 }, (_, account) => told.open(account))
    for (let account = 0; account < 700; account++) told.tell(account, text)
    expect(told.hub.keptBytes).toBeLessThanOrEqual(256 * 1024 * 1024)
    expect(told.hub.keptBytes).toBeGreaterThan(255 * 1024 * 1024)
    expect(logs.flat().filter(({ count, since, lastSequence }) => count > 0 && since === lastSequence).length).toBeGreaterThan(100)
    const small = new Told(1_000)
    const [log] = small.open(7)
    small.tell(7)
    expect([small.hub.keptBytes, log!.since, log!.between(0, Infinity)]).toEqual([0, 1, []])
  })

  test("nothing is counted of streams that nobody has asked for of late", () => {
    const told = new Told()
    told.open(1)
    told.tell(1)
    expect(told.hub.keptBytes).toBeGreaterThan(2_000)
    told.atEpochMs += 11 * 60_000
    told.tell(2)
    expect([told.hub.size, told.hub.keptBytes]).toEqual([0, 0])
  })

  test("a snapshot counts as text and encoded, goes before any update, and with the next one, which makes it old", () => {
    const told = new Told(200_000)
    const [log] = told.open(1)
    told.tell(1)
    const kept = told.hub.keptBytes
    const whole = (characters: number): void => void log!.made(log!, new Frame("x".repeat(characters)))
    whole(1_000)
    expect(told.hub.keptBytes).toBe(kept + 2_000)
    expect([log!.present(log!)?.frame.text.length, log!.present({})]).toEqual([1_000, undefined])
    whole(50_000)
    expect(told.hub.keptBytes).toBe(kept + 100_000)
    told.tell(1)
    expect([told.hub.keptBytes, log!.present(log!)]).toEqual([2 * kept, undefined])
    whole(100_000)
    expect([told.hub.keptBytes, log!.present(log!), log!.since]).toEqual([2 * kept, undefined, 0])
    whole(50_000)
    told.open(2)
    for (let count = 0; count < 100; count++) told.tell(2)
    expect([log!.present(log!), log!.since]).toEqual([undefined, 0])
    whole(10)
    log!.forget()
    expect(log!.present(log!)).toBeUndefined()
  })

  test("an update is made once for all who are given it, and not kept as it was sent", () => {
    const told = new Told()
    const [log] = told.open(1)
    told.tell(1)
    told.tell(1)
    const [first, second] = log!.between(0, Infinity)
    const frame = log!.frame(first!, 0)
    expect(log!.frame(first!, 0)).toBe(frame)
    log!.frame(second!, 1)
    const again = log!.frame(first!, 0)
    expect(again).not.toBe(frame)
    expect(again.text).toBe(frame.text)
  })
})

test("streams that nobody asks for make room for others, also where the clock was set back meanwhile", () => {
  const told = new Told()
  for (let account = 0; account < 4_000; account++) told.open(account)
  expect(told.hub.size).toBe(20_000)
  told.atEpochMs -= 3_600_000
  const asked = told.open(0)
  // A quarter of the streams is dropped, those requested longest ago: a client that returns every second keeps its own.
  expect(told.hub.open("market.book", 0)).toBeDefined()
  expect(told.hub.size).toBe(15_001)
  expect(told.open(0)).toEqual(asked)
  expect(told.hub.size).toBe(15_001)
  told.open(1)
  expect(told.hub.size).toBe(15_006)
})

test("streams in use take none of the room of others: all connections may listen to their accounts' streams, and markets' begin", () => {
  const told = new Told(undefined, [], 200)
  const asker = { madeAnew: () => {} }
  const used = Array.from({ length: 45 }, (_, account) => {
    const logs = told.open(account)
    for (const log of logs) told.hub.used(log, asker)
    return logs
  })
  expect(told.hub.size).toBe(225)
  // Whoever needs no room looks at nothing that others have.
  let looked = 0
  for (const log of used.flat()) {
    const { askers } = log
    const get = (): typeof askers => {
      looked++
      return askers
    }
    Object.defineProperty(log, "askers", { get })
  }
  const market = told.hub.open("market.book", 0)
  for (let account = 50; account < 90; account++) told.open(account)
  expect(looked).toBe(0)
  // The market's book was asked for before the others, and nobody has used it since.
  expect(told.hub.size).toBe(225 + 151)
  expect(told.hub.open("market.book", 0)).not.toBe(market)
  expect(used.flat().every((log) => told.hub.open(log.name.channel as AccountChannel, log.subject) === log)).toBe(true)
  // They make room once they are not used any more.
  for (const log of used.flat()) told.hub.quieted(log, asker)
  expect(told.hub.size).toBeLessThanOrEqual(200)
  expect(told.open(44).every((log, at) => log === used[44]![at])).toBe(true)
  expect(told.open(0).some((log, at) => log === used[0]![at])).toBe(false)
})

test("a stream that was let go while somebody had it in hand is not let go again", () => {
  const told = new Told()
  const asker = { madeAnew: () => {} }
  const logs = told.open(1)
  told.atEpochMs += 11 * 60_000
  told.hub.decided(1, new Float64Array(4), 0, 0)
  expect(told.hub.size).toBe(0)
  for (const log of logs) told.hub.used(log, asker)
  const others = told.open(1)
  for (const log of logs) told.hub.quieted(log, asker)
  told.atEpochMs += 9 * 60_000
  told.hub.decided(2, new Float64Array(4), 0, 0)
  expect(told.open(1).every((log, at) => log === others[at])).toBe(true)
})

test("streams of whoever asks again and again, and never waits, are kept up as long as he does", () => {
  const told = new Told()
  const logs = told.open(1)
  for (let minute = 0; minute < 45; minute++) {
    told.atEpochMs += 60_000
    told.tell(1)
    told.open(1)
  }
  expect(logs.map(({ since }) => since)).toEqual(accountChannels.map(() => 0))
  expect(told.open(1).every((log, at) => log === logs[at])).toBe(true)
})
