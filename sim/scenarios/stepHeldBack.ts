/**
 * The price of the underlying falls by a fifth within a second. The venue holds such a step back until other samples agree with it, and
 * says so, and everybody knows the price to come. Somebody opens both sides at the old mark with two of his accounts: one will have lost
 * twice its margin, which the insurance fund or those who are deleveraged pay, to the other. The same works with a smaller step that is
 * taken at once, until the next second has its mark.
 *
 * What has to hold: nothing is placed, changed or armed in that market until the mark has followed, whatever its owner would do with it.
 * Cancels go on, other markets do, and a step that no further sample agrees with keeps nobody waiting. A price beyond the market's bounds
 * that a source saw is such a step, though it never becomes the index; one that an operator mistyped is none.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const isHeld = { code: "overloaded", retryable: true, rejectionGuard: "mark_behind", recoveryActions: ["wait_and_retry_same_identity"] }

/** Whatever would trade in a market, or could, is turned away. */
const turnedAway = (stage: Stage, who: Somebody, market: Parameters, resting: string): void => {
  const wish = { market, side: "buy", type: "limit", priceAtoms: 1_000, quantityAtoms: 10, clientOrderId: "asked" } as const
  const drafts = [
    stage.anOrder(who, market, "buy", { size: 10, price: 1_000 }),
    stage.anOrder(who, market, "sell", { size: 1, price: 700, now: true, reduceOnly: true }),
    Calls.amend(who, "amend", `amend-${stage.now}`, market, resting, { priceAtoms: 1_000 }),
    Calls.setAutoClose(who, "stop loss", `stop-${stage.now}`, market.marketId, { stopLoss: { triggerPrice: "900", triggerBy: "index" } })
  ]
  const answers = stage.answersTogether(drafts.map((draft) => ({ ...draft, persistent: false })))
  for (const { json, status } of answers) {
    const { code, recoveryActions, rejectionGuard, retryable } = json as unknown as typeof isHeld
    stage.is("what is turned away", [status, { code, retryable, rejectionGuard, recoveryActions }], [503, isHeld])
  }
  const { accepted, refusal } = stage.done(stage.say(Calls.preview(who, wish))) as unknown as {
    readonly accepted: boolean
    readonly refusal: typeof isHeld
  }
  stage.is("what a preview says", [accepted, refusal.rejectionGuard], [false, "mark_behind"])
}

/** A batch is turned away whole for the last of its markets, which alone is named. */
const batchTurnedAway = (stage: Stage, who: Somebody, markets: ReadonlyArray<Parameters>): void => {
  const wishes = markets.map((market) =>
    ({ market, side: "buy", type: "limit", priceAtoms: 900, quantityAtoms: 1, clientOrderId: `of-${market.baseAsset}` }) as const
  )
  const [answer] = stage.answersTogether([{ ...Calls.placeBatch(who, "both", "both", wishes), persistent: false }])
  const { rejectionGuard, safeMessage } = answer!.json as { readonly [name: string]: string }
  stage.is("the batch", [answer!.status, rejectionGuard], [503, isHeld.rejectionGuard])
  const named = markets.map(({ marketId }) => safeMessage!.includes(marketId))
  stage.is("which markets its refusal names", named, markets.map((market) => market === markets.at(-1)))
}

export const stepHeldBack: Scenario = {
  name: "step-held-back",
  what: "a step of the index waits for confirmation, and two accounts of one owner would trade at the mark of before",
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStepMaxBps: 1_000 })
    const other = stage.market("XYZ", 1_000, { indexStepMaxBps: 1_000 })
    const [shell, friend] = stage.open(["shell", "friend"], 1_000)
    const maker = stage.one("maker", 100_000)
    stage.deal(shell!, maker, market, 2, 1_000)
    stage.tick()
    const [first, second] = [800, 799].map((price) => stage.buy(maker, market, { size: 10, price }))
    const own = stage.buy(shell!, market, { size: 1, price: 700 })
    stage.is("a step of a fifth", stage.index(market, 800).status, 400)
    turnedAway(stage, shell!, market, String(own["orderId"]))
    batchTurnedAway(stage, friend!, [other, market])
    stage.cancel(maker, market, first!)
    stage.deal(friend!, maker, other, 1, 1_000)
    // A sample near the index ends the wait.
    stage.done(stage.index(market, 1_000))
    stage.is("an order after that", stage.buy(friend!, market, { size: 1, price: 900 })["status"], "open")
    stage.cancelAll(friend!)
    // Two further samples agree, and the mark follows with the next second: not before.
    for (const [status, ms] of [[400, 0], [400, 20], [200, 40]] as const) {
      stage.tick()
      stage.wait(ms)
      stage.is("a sample of the step", stage.index(market, 800).status, status)
      turnedAway(stage, shell!, market, String(own["orderId"]))
    }
    stage.cancel(maker, market, second!)
    stage.tick()
    stage.is("the mark", stage.mark(market), 800)
    stage.deal(friend!, maker, market, 1, 800)
    // A step that is taken at once: six per cent, where the margins have five between them.
    stage.done(stage.index(market, 752))
    stage.is("what still rests of the maker's", stage.openOrders(maker), [])
    const late = stage.answersTogether([{ ...stage.anOrder(friend!, market, "sell", { size: 1, price: 752 }), persistent: false }])
    stage.is("an order before the next mark", late[0]!.status, 503)
    stage.tick()
    stage.is("an order after it", stage.sell(friend!, market, { size: 1, price: 752 })["status"], "open")
    // A step of just as much as the index may move at once is not held back, up or down.
    for (const price of [1_100, 990]) stage.is("a step of just a tenth", stage.index(other, price).status, 200)
    // Prices end at 10,000: beyond, a source's price is refused, and known.
    const mistyped = { ...stage.anOrder(friend!, other, "buy", { size: 1, price: 900 }), persistent: false }
    stage.is("a price beyond the bounds", stage.index(other, 10_001).status, 400)
    stage.is("an order after what was mistyped", stage.answersTogether([mistyped])[0]!.status, 200)
    stage.is("one that a source saw", stage.index(other, 10_001, stage.venueNow).status, 400)
    const known = { ...stage.anOrder(friend!, other, "buy", { size: 1, price: 900 }), persistent: false }
    stage.is("an order after that one", stage.answersTogether([known])[0]!.status, 503)
    stage.done(stage.index(other, 990))
    stage.is("an order once a source sees the index again", stage.buy(friend!, other, { size: 1, price: 900 })["status"], "open")
    stage.is("what happened to the fund", stage.fund()["movements"], [])
    stage.audit()
  }
}
