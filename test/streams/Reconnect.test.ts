/**
 * Reference clients that are disconnected at random, again and again, while others trade and the venue restarts now and then; ten thousand
 * times with `DISCONNECTS=10000`. Each client has every event of its account exactly once and in order, compared with what the venue itself
 * did, and a book that equals the venue's after each update, including those with a checksum. So few updates of a stream are kept that some
 * of what was missed is read from the journal.
 */
import { expect, test } from "vitest"
import { accountChannels } from "../../src/streams/Channels.js"
import { LiveVenue, marketId, type Trader } from "../edge/LiveVenue.js"
import { nextTurn } from "../Turn.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import { Depositor } from "./Depositor.js"
import { Followed } from "./Followed.js"
import { Recorded } from "./Recorded.js"

const disconnects = Number(process.env["DISCONNECTS"] ?? 1_400)
const restarts = 8
/** Only ends what hangs, even on a machine that is busy otherwise. */
const timeout = 60_000 + 60 * disconnects
const keptUpdates = 8
const usdc = 1_000_000

/** Both accounts trade at random around 100.0, with about forty open orders. */
const trading = (venue: LiveVenue, traders: ReadonlyArray<Trader>, random: SimRandom.SimRandom) => {
  const open: Array<readonly [Trader, string]> = []
  return (): void => {
    const [owner, orderId] = open.length > 40 ? open.splice(random.below(open.length), 1)[0]! : []
    if (owner !== undefined) {
      void venue.post(owner, `/v1/orders/${orderId}/cancel`, { accountId: owner.accountId, marketId })
      return
    }
    const trader = random.pick(traders)
    const side = random.chance(0.5) ? "buy" : "sell"
    const price = (95 + random.below(100) / 10).toFixed(1)
    // Some orders match several others at once.
    const quantity = (random.pick([1, 1, 1, 4]) / 10).toFixed(3)
    void venue.place(trader, { side, price, quantity, timeInForce: random.chance(0.1) ? "IOC" : "GTC" }).then((placed) => {
      if (placed.status === "open") open.push([trader, placed.orderId])
    })
  }
}

test("miss nothing and are told nothing twice, and each checksum is that of the venue's book", { timeout }, async () => {
  const random = SimRandom.make("7", "reconnects")
  const room = 4 * disconnects + 1_000
  const venue = LiveVenue.make({ orders: room, idempotencyKeys: room }, { room: { keptUpdates } })
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const depositor = new Depositor(venue, 1_000_000 * usdc)
  const owner = depositor.trader
  const recorded = new Recorded(venue, [alice.account, owner.account], venue.engine.findMarket(marketId))
  const followed = [alice, alice, owner].map((trader) => new Followed(venue, trader, recorded))
  for (const one of followed) await one.begun()

  const trade = trading(venue, [alice, bob, owner], random)
  const { records } = venue.reruns
  let cuts = 0
  while (cuts < disconnects) {
    const startsAnew = Math.floor(cuts * (restarts + 1) / disconnects)
    for (let count = random.below(3); count > 0; count--) trade()
    if (random.chance(0.05)) depositor.act(usdc)
    const one = random.pick(followed)
    // Some of what is under way is lost with the connection.
    await one.platform.arrive(random.chance(0.7) ? Number.POSITIVE_INFINITY : random.below(20))
    const struck = [one]
    one.platform.cut()
    cuts++
    for (let count = random.below(2); count > 0; count--) trade()
    if (Math.floor(cuts * (restarts + 1) / disconnects) > startsAnew && cuts < disconnects) {
      venue.restart()
      for (const other of followed) {
        if (other === one) continue
        other.platform.cut()
        struck.push(other)
        cuts++
      }
    }
    for (const each of struck) await each.platform.connected()
    // The test runner must get a turn even if this takes a minute.
    if (cuts % 100 === 0) await nextTurn()
  }
  for (const one of followed) {
    await one.caughtUp()
    expect(one.wrongBooks).toEqual([])
    for (const channel of accountChannels) expect([channel, one.heard(channel)]).toEqual([channel, one.happened(channel)])
    await one.expectListed(one === followed.at(-1) ? depositor.session : undefined)
    expect([one.snapshots, one.unexpected]).toEqual([accountChannels.length, []])
    expect(one.bookSnapshots).toBeGreaterThan(restarts)
  }
  const [first, , last] = followed as [Followed, Followed, Followed]
  expect(first.heard("account.orders").length).toBeGreaterThan(disconnects / 8)
  expect(first.heard("account.fills").length).toBeGreaterThan(disconnects / 20)
  expect(last.heard("account.deposits").length).toBeGreaterThan(disconnects / 100)
  expect(followed.reduce((sum, { provedUpdates }) => sum + provedUpdates, 0)).toBeGreaterThan(disconnects / 400)
  expect(venue.reruns.records - records).toBeGreaterThan(disconnects)
})
