/**
 * An account sells what it holds to a friend far below the mark: the friend takes the profit out, and the account is left with a debt
 * that it will never pay, so that everybody else does.
 *
 * What has to hold: whoever trades beside the mark trades away his own money and no more. A fill that would leave less than nothing, or
 * less margin for what is left than before, does not happen, for who takes as for who rests; buying dear counts its loss at once; and
 * neither friend nor fund ever has what the account did not own.
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
    // Below zero by 3,000: nothing fills.
    stage.buy(friend!, market, { size: 10, price: 600 })
    const far = stage.sell(long!, market, { size: 10, price: 600, now: true, reduceOnly: true })
    stage.is("a sale far below", [far["status"], far["cancelReason"], far["filledQuantity"]], ["canceled", "margin_unbacked", "0.0"])
    // Half of it at 800 would leave nothing for the margin of the other half, where there was twice as much as needed.
    stage.cancelAll(friend!)
    stage.buy(friend!, market, { size: 5, price: 800 })
    const half = stage.sell(long!, market, { size: 5, price: 800, now: true, reduceOnly: true })
    stage.is("half of it below", [half["cancelReason"], half["filledQuantity"]], ["margin_unbacked", "0.0"])
    // All of it at 901 is his own 990.
    stage.cancelAll(friend!)
    stage.buy(friend!, market, { size: 10, price: 901 })
    stage.is("all of it at a loss of his own", stage.sell(long!, market, { size: 10, price: 901, now: true })["status"], "closed")
    stage.is("what the long has left", [stage.held(long!, market), stage.usdc(long!, "equity")], [0, 10])
    // The same from the other side: an offer that rests far below is never met, since it could not be backed.
    const offer = stage.sell(resting!, market, { size: 10, price: 850, reduceOnly: true })
    stage.is("an offer far below", offer["status"], "open")
    const met = stage.buy(friend!, market, { size: 10, price: 850, now: true })
    stage.is("what the friend buys of it", met["filledQuantity"], "0.0")
    stage.is("what becomes of the offer", stage.own(resting!, "listOrders", "orders?status=open")["orders"], [])
    stage.is("what the resting one has", [stage.held(resting!, market), stage.usdc(resting!, "equity")], [10, 1_000])
    // Buying dear: two at 1,400 cost 800 at once, and what is left is just their margin. A third is not backed.
    stage.sell(friend!, market, { size: 3, price: 1_400 })
    stage.refused("three bought dear", stage.buy(buyer!, market, { size: 3, price: 1_400 }), "margin_insufficient")
    stage.is("two bought dear", stage.buy(buyer!, market, { size: 2, price: 1_400, now: true })["status"], "closed")
    stage.is("what the buyer has left", stage.usdc(buyer!, "equity"), 200)
    stage.tick()
    stage.is("steps of liquidations", stage.steps(market), [])
    stage.is("what happened to the fund", stage.fund()["movements"], [])
    // The friend: bought 10 at 901, sold 2 at 1,400, all at a mark of 1,000. He has what they lost.
    stage.is("what the friend has", stage.usdc(friend!, "equity"), 100_000 + 990 + 800)
    stage.audit()
  }
}
