/**
 * Old state remains and affects the present. An order is amended again after a restart, and the restarted venue no longer knows which
 * amendment was the last: it keeps every key for as long as the order rests, and its state differs from its own journal's. A market
 * without positions starts anew at other prices, while a step of its index is held back, and is delisted soon after: its final price is an
 * average over both, and the step is still told. An account has as many orders as its part of the table may be, and the restarted venue has
 * counted them anew.
 *
 * What has to hold: a venue that is restarted between two amendments reaches the state of its journal; and a market is settled at a price
 * made of its present index alone, and says no more of the one before. An account has no further part behind a restart.
 */
import type { Parameters } from "../../src/domain/Market.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000
/** Orders that the venue can remember, of whose free room an account takes a part. */
const orders = 40
const accountParts = 4

/** An account places orders until it has its part of them. Returns how many it placed. */
const taken = (stage: Stage, who: Somebody, market: Parameters): number => {
  for (let count = 0;; count++) {
    const { status, text } = stage.say(stage.anOrder(who, market, "buy", { size: 1, price: 900 }))
    if (status === 200) continue
    stage.is("what refuses an order beyond an account's part", [status, text.includes("\"account_share\"")], [429, true])
    return count
  }
}

export const leftFromBefore: Scenario = {
  name: "left-from-before",
  what:
    "an order that is changed before and behind a restart; a market that starts anew at other prices, and is delisted; an account that has its part of the orders",
  bounds: { orders, accountParts },
  play: (stage) => {
    const terms = { indexStaleMs: 24 * hour }
    const market = stage.market("ABC", 1_000, terms)
    const [one, other, greedy] = stage.open(["one", "other", "greedy"], 10_000)
    const order = stage.buy(one!, market, { size: 1, price: 900 })
    stage.amend(one!, market, order, 901)
    taken(stage, greedy!, market)
    stage.restart()
    stage.is("what else finds room in a part that was taken before", taken(stage, greedy!, market), 0)
    stage.amend(one!, market, order, 902)
    stage.is("prices of what is open", stage.openOrders(one!).map(({ price }) => price), ["902.0"])

    // Two minutes at 100, and two at 1,000, with parameters that do not allow 100.
    const early = stage.market("NEW", 100, { ...terms, maxPriceAtoms: 500, indexStepMaxBps: 1_000 })
    stage.pass(125_000)
    stage.is("a step of the prices of before", stage.index(early, 120).status, 400)
    const bounds = { minPriceAtoms: 600, maxPriceAtoms: 10_000 }
    stage.put({ ...early, ...bounds })
    stage.stats(early)
    const late = stage.change(early, bounds, 1_000)
    stage.tick()
    stage.deal(one!, other!, late, 2, 1_000)
    stage.pass(125_000)
    stage.delist(late)
    stage.pass(2_000)
    stage.is("what both hold", [stage.held(one!, late), stage.held(other!, late)], [0, 0])
    stage.is("what both have", [stage.usdc(one!, "equity"), stage.usdc(other!, "equity")], [10_000, 10_000])
    stage.audit()
  }
}
