/** A watched book: it is returned while it agrees with the venue's, and waited for while it does not. */
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { Client } from "../../src/client/venue/Client.js"
import { market } from "./ScriptedVenue.js"
import { VirtualPlatform } from "./venue/VirtualPlatform.js"

const name = { channel: "market.book", marketId: market.id }
const checksum = (...lines: ReadonlyArray<string>): string => `sha256:${createHash("sha256").update(lines.join("\n")).digest("hex")}`
const level = (price: number, size: number) => ({
  price: `${price}.0`,
  priceAtoms: String(price),
  size: `${size}.0`,
  sizeAtoms: String(size)
})
const bid = (price: number, size: number) => ({ side: "bid", ...level(price, size) })

/** An exchange whose book has one bid that was returned, and an update of another that was not requested yet. */
const setUp = async () => {
  const platform = new VirtualPlatform()
  const client = new Client(platform, { url: "http://venue" })
  const exchange = new Perpetuum()
  exchange.setMarkets([exchange.parseMarket(market)!])
  Object.assign(exchange, { stream: () => client })
  const say = (...frames: ReadonlyArray<object>): void => platform.line.say(...frames)
  const open = (resumed: boolean): void => {
    say({ type: "hello", heartbeatMs: 5_000, limits: { messagesPerSecond: 100 } })
    say({ type: "subscribed", id: platform.line.last("subscribe").id, resumed })
  }
  const bids = async () => (await exchange.watchOrderBook(market.symbol)).bids
  const first = bids()
  await platform.settle()
  open(false)
  say({ type: "snapshot", ...name, sequence: 1, data: { bids: [level(99, 1)], asks: [], checksum: checksum("b|99|1") } })
  expect(await first).toEqual([[99, 1]])
  say({ type: "update", ...name, previousSequence: 1, sequence: 2, data: [bid(98, 5)] })
  await platform.settle()
  /** Requests the book, which is not available now. */
  const asked = async () => {
    let isTold = false
    const asking = bids().finally(() => {
      isTold = true
    })
    await platform.settle()
    expect(isTold).toBe(false)
    return { asking }
  }
  return { asked, bids, open, platform, say }
}

test("a book that has changed is told as it is", async () => {
  const { bids } = await setUp()
  expect(await bids()).toEqual([[99, 1], [98, 5]])
})

test("a book that has failed its checksum is told to nobody, and the one in its place to all who wait", async () => {
  const { asked, platform, say } = await setUp()
  say({ type: "update", ...name, previousSequence: 2, sequence: 3, data: [bid(100, 7)], checksum: checksum("another's") })
  await platform.settle()
  const one = await asked()
  const other = await asked()
  say({ type: "subscribed", id: platform.line.last("subscribe").id, resumed: false })
  say({ type: "snapshot", ...name, sequence: 3, data: { bids: [level(97, 2)], asks: [], checksum: checksum("b|97|2") } })
  expect(await Promise.all([one.asking, other.asking])).toEqual([[[97, 2]], [[97, 2]]])
})

test("a book whose connection is lost is told once it goes on", async () => {
  const { asked, open, platform, say } = await setUp()
  platform.line.end()
  await platform.settle()
  const { asking } = await asked()
  await platform.pass(250)
  open(true)
  say({ type: "update", ...name, previousSequence: 2, sequence: 3, data: [bid(99, 0)] })
  expect(await asking).toEqual([[98, 5]])
})
