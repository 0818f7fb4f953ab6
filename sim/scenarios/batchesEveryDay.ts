/**
 * A client sends batches under keys, day after day, to a venue that can remember just those of one day. The first outcome of a key and the
 * further ones of its batch have tables of their own: a venue that gives back only the room of the first works for a day or two, and then
 * refuses every batch, until it is started again. Then many of its reads are with the process that has the histories, which dies; and at last
 * API keys end that were there before a restart.
 *
 * What has to hold: what has been forgotten takes no room, whichever part of it had been where, so that each day's batches are decided as
 * those of the first day were; and a batch beyond them is refused on every day alike. Who has read while that process died, reads again when
 * the next one is there. Where the time for which outcomes are remembered is shortened, those of before hold up none of those behind them. An
 * API key that has ended is forgotten when that is due, also by a process that did not issue it.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000

/** What there is room for; one of them is the operator's alone. */
const idempotencyKeys = 64
/** Batches, of orders that only reduce, whose further outcomes fill the rest but for two; and one that does not fit any more. */
const sizes = [32, 31, 4]
const days = 4
/** Reads at once: far more than are sent to the histories of one account. */
const reads = 200
/** Each process of the venue has its histories die once, and not always while as many reads are with them as may be. */
const deaths = 3
/** Within this time the histories are open again, ms. */
const openedMs = 10_000
/** Within this time a read is answered that nothing is in the way of, ms. */
const answeredMs = 1_000

/** An account reads its orders of old, with as many reads as it takes until one of them is the death of the process that has them. */
const readToDeath = (stage: Stage, who: Somebody): void => {
  const read = Calls.read(who, "listOrders", `/v1/accounts/${who.accountId}/orders?limit=1`, "trader")
  const statuses = stage.answersTogether(Array.from({ length: reads }, () => ({ ...read, persistent: false }))).map(({ status }) => status)
  stage.holds("the histories died while they were read", statuses.includes(503))
  stage.wait(openedMs)
  stage.is("the status of a read when they are back", stage.statusWithin(read, answeredMs), 200)
}

/** How long outcomes are remembered at first, and then; and when records come behind that: the last one when what was of before is over. */
const retentionsMs = [24 * hour, hour]
const laterMs = [2 * hour, 21.5 * hour, hour * 2 / 3]

/**
 * An order of before ends, and one of after its outcomes are remembered for less long. The first ones are held for as long as they were
 * promised; they hold up nothing behind them, and do not wait at the end of the line once they are over.
 */
const rememberedForLess = (stage: Stage, who: Somebody, market: Parameters): void => {
  for (const idempotencyRetentionMs of retentionsMs) {
    stage.done(stage.operate("setLimits", "SetLimits", "PUT", "/v1/operator/limits", { idempotencyRetentionMs }))
    stage.cancel(who, market, stage.buy(who, market, { size: 1, price: 900 }))
  }
  for (const ms of laterMs) {
    stage.setForward(ms)
    stage.done(stage.index(market, 1_000))
  }
}

/** Longer than an API key of a demo account lasts and is remembered. */
const longMs = 150 * 24 * hour

export const batchesEveryDay: Scenario = {
  name: "batches-every-day",
  what: "as many batches as can be remembered, on each of several days, and many reads of one account while the histories die",
  bounds: { idempotencyKeys },
  // The process with the histories dies by what it is asked, long before it would otherwise.
  set: { readings: { isThere: true, meanCrashMs: 1_000 * hour } },
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: 60 * hour })
    const who = stage.one("who", 10_000)
    const wish: Calls.Wish = {
      market,
      side: "sell",
      type: "limit",
      priceAtoms: 1_000,
      quantityAtoms: 1,
      clientOrderId: "",
      reduceOnly: true
    }
    for (let day = 0; day < days; day++) {
      const answered = sizes.map((size, batch) => {
        const key = `${day}-${batch}`
        const wishes = Array.from({ length: size }, (_, at) => ({ ...wish, clientOrderId: `${key}-${at}` }))
        return stage.say(Calls.placeBatch(who, "batch", key, wishes)).status
      })
      stage.is(`what batches are answered on day ${day}`, answered, [200, 200, 503])
      stage.setForward(25 * hour)
      stage.pass(2_000)
    }
    // Behind them there is room as on a first day.
    stage.deal(who, stage.one("another", 10_000), market, 1, 1_000)
    stage.setForward(25 * hour)
    stage.pass(2_000)
    rememberedForLess(stage, who, market)
    for (let death = 0; death < deaths; death++) {
      readToDeath(stage, who)
      stage.restart()
    }
    for (const name of ["a later one", "the latest"]) {
      stage.setForward(longMs)
      stage.one(name, 10_000)
    }
    stage.tick()
    stage.auditEngine()
  }
}
