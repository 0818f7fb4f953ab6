/**
 * A client's library has a fault: it takes the same key for two requests that differ in one thing. A venue compares what was sent under a
 * key; if its comparison leaves out one member, takes yes for no, or looks at half of a number, it answers the second request as if it had
 * done it.
 *
 * What has to hold: whatever differs, and by whatever little, the second request is refused and creates no record. Every member of every
 * body comes by itself here, as the contract has them: another value, one that differs in the upper half of a number alone, the opposite
 * of a flag, left out, and added. Whether two requests are the same is said by `sim/reading`.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Requests from "../reading/Requests.js"
import { operatorToken } from "../run/World.js"
import * as Calls from "../workload/Calls.js"
import * as Variations from "../workload/Variations.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000

/** What a request asks for; undefined where it is malformed. */
const canonicalOf = (draft: Calls.Draft): string | undefined => {
  const reading = Requests.read(draft)
  return reading._tag === "asked" ? reading.asked.canonical : undefined
}

/** The requests under the same key that differ in one member of their body, and are sound in themselves. */
const othersOf = (draft: Calls.Draft): ReadonlyArray<Calls.Draft> => {
  const asked = canonicalOf(draft)
  const body: unknown = JSON.parse(draft.body)
  const drafts = Variations.members(draft.endpoint).flatMap((member) =>
    Variations.each(body, member).map((varied): Calls.Draft => ({ ...draft, body: JSON.stringify(varied), persistent: false }))
  )
  return drafts.filter((each) => ![undefined, asked].includes(canonicalOf(each)))
}

/** Orders in all their members, alone and in batches, in both families. */
const placements = (who: Somebody, market: Parameters, expiresAtEpochMs: number): ReadonlyArray<Calls.Draft> => {
  const trigger = (triggerPrice: string, limitPrice: string) => ({ triggerPrice, triggerBy: "index", limitPrice }) as const
  const wish = (clientOrderId: string): Calls.Wish => ({
    market,
    side: "buy",
    type: "limit",
    timeInForce: "GTC",
    priceAtoms: 900,
    quantityAtoms: 3,
    postOnly: true,
    reduceOnly: false,
    selfTradePrevention: "cancel_incoming",
    clientOrderId,
    expiresAtEpochMs,
    autoClose: { takeProfit: trigger("1100", "1090"), stopLoss: trigger("800", "790") }
  })
  return [
    Calls.place(who, "place", "placed", wish("placed")),
    Calls.placeBatch(who, "batch", "batch", [wish("first"), wish("second")]),
    Calls.createOrder(who, "compat", "compat", Calls.compatBody(wish("compat"))),
    Calls.createOrders(who, "compat batch", "compat-batch", [Calls.compatBody(wish("third")), Calls.compatBody(wish("fourth"))])
  ]
}

/** What a trader does to his orders and his account. */
const commands = (who: Somebody, market: Parameters, [one, two, three, four]: ReadonlyArray<string>): ReadonlyArray<Calls.Draft> => {
  const { marketId } = market
  return [
    Calls.amend(who, "amend", "amended", market, one!, { priceAtoms: 901, quantityAtoms: 2 }),
    Calls.cancelOrder(who, "cancel", "cancelled", marketId, two!),
    Calls.cancelBatch(who, "cancel batch", "cancelled-batch", [{ marketId, orderId: three! }, { marketId, orderId: two! }]),
    Calls.cancelCompat(who, "compat cancel", "compat-cancelled", market, four!),
    Calls.setLeverage(who, "leverage", "leverage", marketId, 4),
    Calls.cancelAllAfter(who, "switch", "switch", 60_000),
    Calls.setProfile(who, "profile", "profile", "somebody"),
    Calls.fence(who, "fence", "fence", { idempotencyKey: "never" }),
    Calls.cancelAll(who, "cancel all", "cancelled-all", marketId),
    Calls.cancelAllCompat(who, "compat cancel all", "compat-cancelled-all", market)
  ]
}

/** What an operator does. */
const operations = (stage: Stage, { accountId }: Somebody, market: Parameters): ReadonlyArray<Calls.Draft> => {
  const operate = (endpoint: string, kind: string, method: "PUT" | "POST", target: string, body: object): Calls.Draft =>
    Calls.operate(operatorToken, endpoint, endpoint, kind, `operated-${endpoint}`, method, `/v1/operator/${target}`, body)
  const name = `markets/${market.marketId}`
  const effectiveAtEpochMs = stage.now + 48 * hour
  return [
    operate("putMarket", "PutMarket", "PUT", name, { ...Calls.marketBody({ ...market, takerFeeBps: 3 }), effectiveAtEpochMs }),
    operate("setIndexPrice", "SetIndexPrice", "PUT", `${name}/index-price`, { price: "1000", sourceEpochMs: stage.now }),
    operate("setAccountFlags", "SetAccountFlags", "PUT", `accounts/${accountId}/flags`, {
      bot: true,
      load_harness: false,
      disabled: false
    }),
    operate("setLimits", "SetLimits", "PUT", "limits", { idempotencyRetentionMs: 24 * hour }),
    operate("addToFund", "AddToFund", "POST", "insurance-fund", { amount: "5" }),
    operate("openDemoAccounts", "OpenDemoAccounts", "POST", "demo/accounts", { accounts: 1, collateral: "5" }),
    operate("setMarketStatus", "SetMarketStatus", "PUT", `${name}/status`, { status: "reduce_only" }),
    operate("cancelByOperator", "CancelByOperator", "POST", "orders/cancel", { accountId, marketId: market.marketId }),
    operate("delistMarket", "DelistMarket", "PUT", `${name}/delisting`, { effectiveAtEpochMs })
  ]
}

export const sameKeyEveryMember: Scenario = {
  name: "same-key-every-member",
  what: "every request again under its key, with each member of its body changed by itself",
  play: (stage) => {
    const [who, other] = stage.open(["who", "other"], 100_000)
    const market = stage.market("ABC", 1_000, { indexStaleMs: 24 * hour })
    const second = stage.market("XYZ", 1_000, { indexStaleMs: 24 * hour, takerFeeBps: 5 })
    // The operator moves what it has cost into the fund.
    stage.deal(other!, who!, second, 10, 1_000)
    const refused = (draft: Calls.Draft): void => {
      stage.is(`the answer to ${draft.endpoint}`, stage.say(draft).status, 200)
      const others = othersOf(draft)
      stage.holds(`${draft.endpoint} can be varied`, others.length > 0)
      stage.answersTogether(others).forEach(({ status, text }, at) => {
        stage.holds(`${draft.endpoint} with ${others[at]!.body} is refused: ${text}`, status !== 200)
      })
    }
    for (const draft of placements(who!, market, stage.now + hour)) refused(draft)
    const orders = Array.from({ length: 4 }, (_, at) => String(stage.buy(other!, second, { size: 3, price: 900 + at })["orderId"]))
    for (const draft of commands(other!, second, orders)) refused(draft)
    for (const draft of operations(stage, other!, second)) refused(draft)
    stage.auditEngine()
  }
}
