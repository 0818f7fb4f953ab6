/** How much of a stream is kept: so many updates, and no more than so many bytes of them, whichever is less. */
import { describe, expect, test } from "vitest"
import { retentionOf, usualRoom } from "../../src/edge/socket/Setting.js"
import { Log } from "../../src/streams/Log.js"

const { keptBytes: bytes, keptUpdates: updates } = usualRoom
const figures = "x".repeat(900)

/** A stream that was told of so many times, so much each. */
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
    // One that is larger than all of that is kept alone.
    const text = "x".repeat(bytes + 1)
    log.append({ sequence: 2_001, entries: [{ key: "ticker", text }], more: "" })
    expect(log.since).toBe(2_000)
  })
})
