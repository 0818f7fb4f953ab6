/** How much of a stream is kept: a number of updates or a number of bytes, whichever is less. */
import { queryObjects } from "node:v8"
import { describe, expect, test } from "vitest"
import { retentionOf, usualRoom } from "../../src/edge/socket/Setting.js"
import { Frame } from "../../src/streams/Frame.js"
import { Log, mostBehindWhole, mostFramed } from "../../src/streams/Log.js"

const { keptBytes: bytes, keptUpdates: updates } = usualRoom
const figures = "x".repeat(900)

/** A stream with `times` updates of `entries` entries each. */
const told = (times: number, entries: number): Log => {
  const log = new Log({ channel: "market.ticker", marketId: "BTC-USDC-PERP" }, 0, 0, 0, { updates, bytes })
  const text = JSON.stringify(figures)
  for (let sequence = 1; sequence <= times; sequence++) {
    log.append({ sequence, entries: Array.from({ length: entries }, () => ({ key: "ticker", text })), more: "" })
  }
  return log
}

const sizeOf = (log: Log): number =>
  log.between(0, Infinity).reduce((sum, update) => sum + log.frame(update, update.sequence - 1).text.length, 0)

describe("of a market's stream", () => {
  test("as many updates are kept as is promised, of figures as of whatever is short", () => {
    expect(retentionOf(usualRoom)["market.ticker"]).toEqual({ updates, bytes })
    expect(told(2_000, 1).since).toBe(2_000 - updates)
  })

  test("of longer updates as many are kept as have so many bytes, and no fewer", () => {
    const log = told(2_000, 2)
    const size = sizeOf(log)
    expect(size).toBeLessThanOrEqual(bytes)
    expect(size).toBeGreaterThan(bytes - 2_000)
    // An update larger than the limit is kept alone.
    const text = "x".repeat(bytes + 1)
    log.append({ sequence: 2_001, entries: [{ key: "ticker", text }], more: "" })
    expect(log.since).toBe(2_000)
  })
})

test("frames are made once for all recipients of the newest updates, and kept with no others", () => {
  const log = told(1_000, 1)
  const kept = log.between(0, Infinity)
  const isShared = (of: number): boolean => {
    const made = log.frame(kept[of]!, of)
    return log.frame(kept[of]!, of) === made
  }
  const shared = (): number => kept.filter((_, of) => isShared(of)).length
  expect([999, 1_000 - mostFramed, 999 - mostFramed, 0].map(isShared)).toEqual([true, true, false, false])
  expect(shared()).toBe(mostFramed)
  // Those that are no longer among the newest let go of theirs.
  const oldest = kept[1_000 - mostFramed]!
  const { text } = log.frame(oldest, 1_000 - mostFramed)
  log.append({ sequence: 1_001, entries: [{ key: "ticker", text: "1" }], more: "" })
  expect(shared()).toBe(mostFramed - 1)
  expect(log.frame(oldest, 1_000 - mostFramed).text).toBe(text)
})

describe("the whole of a stream", () => {
  const terms = {}
  /** A stream with a limited number of updates, and a request for its whole: of which record, with which updates, and whether made anew. */
  const stream = (most: number) => {
    const log = new Log({ channel: "market.book", marketId: "BTC-USDC-PERP" }, 0, 0, 0, { updates: most, bytes })
    const change = (entries = 1): void =>
      log.append({ sequence: log.lastSequence + 1, entries: Array.from({ length: entries }, () => ({ key: "b1", text: "1" })), more: "" })
    const whole = (of: object = terms, notBefore = 0): readonly [number, ReadonlyArray<number>, boolean] => {
      let isMade = false
      const { sequence, updates } = log.snapshot(of, notBefore, () => {
        isMade = true
        return new Frame("{}")
      })
      return [sequence, updates.map((update) => update.sequence), isMade]
    }
    return { change, whole }
  }

  test("is made once for all who ask until so much has changed, and is given with that", () => {
    const { change, whole } = stream(updates)
    expect(whole()).toEqual([0, [], true])
    const behind: Array<number> = []
    for (let sequence = 1; sequence <= mostBehindWhole.updates; sequence++) {
      change()
      behind.push(sequence)
      expect(whole()).toEqual([0, behind, false])
    }
    change()
    expect(whole()).toEqual([mostBehindWhole.updates + 1, [], true])
    change(mostBehindWhole.entries)
    expect(whole()).toEqual([mostBehindWhole.updates + 1, [mostBehindWhole.updates + 2], false])
    change()
    expect(whole()).toEqual([mostBehindWhole.updates + 3, [], true])
  })

  test("is made anew where not all that has changed since is kept", () => {
    const { change, whole } = stream(2)
    whole()
    change()
    change()
    expect(whole()).toEqual([0, [1, 2], false])
    change()
    expect(whole()).toEqual([3, [], true])
  })

  test("in its present state is given as long as it is that, and for the same terms", () => {
    const log = told(3, 1)
    const frame = new Frame("{}")
    expect(log.present(terms)).toBeUndefined()
    log.made(terms, frame)
    expect(log.present(terms)).toEqual({ sequence: 3, frame, updates: [] })
    expect(log.present({})).toBeUndefined()
    log.append({ sequence: 4, entries: [{ key: "ticker", text: "1" }], more: "" })
    expect(log.present(terms)).toBeUndefined()
    log.made(terms, frame)
    log.makeAnew()
    expect(log.present(terms)).toBeUndefined()
  })

  test("is let go of with the next update, where it could be given to nobody any more", () => {
    const log = told(3, 1)
    const frames = (): number => queryObjects(Frame, { format: "count" })
    const make = (): void => void log.made(terms, new Frame("{}"))
    const before = frames()
    make()
    expect(frames() - before).toBe(1)
    log.append({ sequence: 4, entries: [{ key: "ticker", text: "1" }], more: "" })
    expect(frames() - before).toBe(0)
  })

  test("is made anew for other terms, and for whoever has been given more already", () => {
    const { change, whole } = stream(updates)
    whole()
    change()
    change()
    expect(whole(terms, 1)).toEqual([2, [], true])
    change()
    expect(whole(terms, 2)).toEqual([2, [3], false])
    expect(whole({})).toEqual([3, [], true])
  })
})
