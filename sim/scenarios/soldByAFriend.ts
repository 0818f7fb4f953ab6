/**
 * An account sells its position to a friend far below the mark: the friend withdraws the profit, and the account is left with a debt that
 * it will never pay, so that everybody else does.
 *
 * What has to hold: a trade away from the mark costs only its own party's money. A fill that would leave negative equity, or less margin
 * for the remaining position than before, does not happen, neither for the taker nor for the maker; the loss of buying above the mark
 * counts at once; and neither the friend nor the fund ever receives what the account did not own.
 */
import type { Scenario } from "./Scenario.js"

export const soldByAFriend: Scenario = {
  name: "sold-by-a-friend",
  what: "accounts trade themselves towards zero into a friend's orders far from the mark, and not below it",
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [long, resting, buyer] = stage.open(["long", "resting", "buyer"], 1_000)
    const [other, friend] = stage.open(["other", "friend"], 100_000)
    stage.deal(long!, other!, market, 10, 1_000)
    stage.deal(resting!, other!, market, 10, 1_000)
    // Equity would be -3,000: nothing fills.
    stage.buy(friend!, market, { size: 10, price: 600 })
    const far = stage.sell(long!, market, { size: 10, price: 600, now: true, reduceOnly: true })
    stage.is("a sale far below", [far["status"], far["cancelReason"], far["filledQuantity"]], ["canceled", "margin_unbacked", "0.0"])
    // Half of it at 800 would leave no margin for the other half, which had twice what it required.
    stage.cancelAll(friend!)
    stage.buy(friend!, market, { size: 5, price: 800 })
    const half = stage.sell(long!, market, { size: 5, price: 800, now: true, reduceOnly: true })
    stage.is("half of it below", [half["cancelReason"], half["filledQuantity"]], ["margin_unbacked", "0.0"])
    // All of it at 901 costs exactly the account's own 990.
    stage.cancelAll(friend!)
    stage.buy(friend!, market, { size: 10, price: 901 })
    stage.is("all of it at a loss of his own", stage.sell(long!, market, { size: 10, price: 901, now: true })["status"], "closed")
    stage.is("what the long has left", [stage.held(long!, market), stage.usdc(long!, "equity")], [0, 10])
    // The account is asked from the other side, too: an offer resting far below is never met, since it could not be backed.
    const offer = stage.sell(resting!, market, { size: 10, price: 850, reduceOnly: true })
    stage.is("an offer far below", offer["status"], "open")
    const met = stage.buy(friend!, market, { size: 10, price: 850, now: true })
    stage.is("what the friend buys of it", met["filledQuantity"], "0.0")
    stage.is("what becomes of the offer", stage.own(resting!, "listOrders", "orders?status=open")["orders"], [])
    stage.is("what the resting one has", [stage.held(resting!, market), stage.usdc(resting!, "equity")], [10, 1_000])
    // Buying above the mark: two at 1,400 cost 800 at once, and the rest is exactly their margin. A third is not backed.
    stage.sell(friend!, market, { size: 3, price: 1_400 })
    stage.refused("three bought dear", stage.buy(buyer!, market, { size: 3, price: 1_400 }), "margin_insufficient")
    stage.is("two bought dear", stage.buy(buyer!, market, { size: 2, price: 1_400, now: true })["status"], "closed")
    stage.is("what the buyer has left", stage.usdc(buyer!, "equity"), 200)
    stage.tick()
    stage.is("steps of liquidations", stage.steps(market), [])
    stage.is("what happened to the fund", stage.fund()["movements"], [])
    // The friend bought 10 at 901 and sold 2 at 1,400, all at a mark of 1,000, and has what the others lost.
    stage.is("what the friend has", stage.usdc(friend!, "equity"), 100_000 + 990 + 800)
    stage.audit()
  }
}
