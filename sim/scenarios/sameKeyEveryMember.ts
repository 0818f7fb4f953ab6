/**
 * A client's library has a fault: it takes the same key for two requests that differ in one thing. A venue compares what was sent under a
 * key; if its comparison leaves out one member, takes yes for no, or looks at half of a number, it answers the second request as if it had
 * done it.
 *
 * What has to hold: whatever differs, and by whatever little, the second request is refused because its key stands for another one, and
 * creates no record; and a key of two requests to different routes stands for both. Every member of every body comes by itself here, as
 * the contract has them: another value, one that differs in the upper half of a number alone, the opposite of a flag, left out, and added.
 * Whether two requests are the same is said by `sim/reading`; and a second one that only writes its decimals with more zeros is the same.
 *
 * The requests are held against the contract: one that has a key and a body, and is neither made here nor named among those that cannot
 * be, fails the scenario, and so does a member that is never varied.
 */
import type { Parameters } from "../../src/domain/Market.js"
import * as Contract from "../../src/edge/Contract.js"
import * as MarketRules from "../reading/MarketRules.js"
import * as Requests from "../reading/Requests.js"
import { operatorToken } from "../run/World.js"
import * as Calls from "../workload/Calls.js"
import * as Variations from "../workload/Variations.js"
import type { Scenario } from "./Scenario.js"
import type { Somebody, Stage } from "./Stage.js"

const hour = 3_600_000

/** What these have under their keys is compared by the unit tests alone: venues of scenarios have no ledger, and no platform of bots. */
const elsewhere: ReadonlySet<string> = new Set(["createDeposit", "createWithdrawal", "issueBotKey"])

/** Members that cannot be varied by themselves: with another value the request is refused before its key is looked at. */
const fixed: ReadonlySet<string> = new Set([
  // A trader has one account.
  "placeOrder accountId",
  "placeOrderBatch orders.[].accountId",
  "amendOrder accountId",
  "cancelOrder accountId",
  "cancelOrderBatch orders.[].accountId",
  "cancelAllOrders accountId",
  // Batches of this family have limit orders alone.
  "createOrders [].type",
  // The first tier begins at nothing.
  "putMarket maintenanceMarginTiers.[].notionalThresholdAtoms"
])

/** The requests of the contract that have a key and a body. */
const keyed = Contract.endpoints.filter(({ headersSchema, payloadSchema }) => headersSchema !== undefined && payloadSchema !== undefined)
  .map(({ name }) => name)

const nameOf = (endpoint: string, { place }: Variations.Member): string => `${endpoint} ${place.join(".")}`

/** What a request asks for; undefined where it is malformed, by its form or by the rules of markets. */
const canonicalOf = (draft: Calls.Draft): string | undefined => {
  const reading = Requests.read(draft)
  if (reading._tag !== "asked") return undefined
  const { canonical, wanted } = reading.asked
  return wanted.kind === "PutMarket" && !MarketRules.isSound(wanted.parameters) ? undefined : canonical
}

/** For an account or a market the only other one that the venue has. */
type Pairs = ReadonlyMap<unknown, string>

/** The requests under the same key that differ in one member of their body, and are sound in themselves; with the member's name. */
const othersOf = (draft: Calls.Draft, pairs: Pairs): ReadonlyArray<readonly [member: string, other: Calls.Draft]> => {
  const asked = canonicalOf(draft)
  const body: unknown = JSON.parse(draft.body)
  const saying = (varied: unknown): Calls.Draft => ({ ...draft, body: JSON.stringify(varied), persistent: false })
  const isAnother = (varied: unknown): boolean => ![undefined, asked].includes(canonicalOf(saying(varied)))
  return Variations.members(draft.endpoint).flatMap((member) => {
    const others = (value: unknown): ReadonlyArray<unknown> => pairs.has(value) ? [pairs.get(value)] : member.others(value)
    const name = nameOf(draft.endpoint, member)
    return Variations.each(body, { ...member, others }, isAnother).map((varied) => [name, saying(varied)] as const)
  })
}

/** A request with one more zero in each of its decimals; undefined where it has none, or another scale makes it another request. */
const respelled = (draft: Calls.Draft): Calls.Draft | undefined => {
  const body = draft.body.replaceAll(/"(\d+)(\.\d+)?"/g, (_, whole: string, rest = ".") => `"${whole}${String(rest)}0"`)
  const other = { ...draft, body, persistent: false }
  return body !== draft.body && canonicalOf(other) === canonicalOf(draft) ? other : undefined
}

/** Orders in all their members, and in as few as may be, alone and in batches, in both families. */
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
  // What an order is, and for how long, can only be varied where nothing else depends on that.
  const plain = (clientOrderId: string): Calls.Wish => ({
    market,
    side: "buy",
    type: "limit",
    priceAtoms: 900,
    quantityAtoms: 3,
    reduceOnly: false,
    clientOrderId
  })
  return [
    Calls.place(who, "place", "plain", plain("plain")),
    Calls.placeBatch(who, "batch", "plain-batch", [plain("fifth"), plain("sixth")]),
    Calls.createOrder(who, "compat", "plain-compat", Calls.compatBody(plain("plain-compat"))),
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
    Calls.setAutoClose(who, "auto close", "auto-close", marketId, {
      takeProfit: { triggerPrice: "1200", triggerBy: "index", limitPrice: "1190" },
      stopLoss: { triggerPrice: "800", triggerBy: "last", limitPrice: "790" }
    }),
    Calls.cancelAllAfter(who, "switch", "switch", 60_000),
    Calls.setProfile(who, "profile", "profile", "somebody"),
    Calls.fence(who, "fence", "fence", { idempotencyKey: "never" }),
    Calls.fence(who, "fence", "fence-order", { clientOrderId: "never" }),
    Calls.cancelAll(who, "cancel all", "cancelled-all", marketId),
    Calls.cancelAllCompat(who, "compat cancel all", "compat-cancelled-all", market)
  ]
}

const maintenanceMarginTiers: Parameters["maintenanceMarginTiers"] = [
  { notionalThresholdAtoms: 0, maintenanceMarginBps: 500 },
  { notionalThresholdAtoms: 1_000_000, maintenanceMarginBps: 600 }
]

/** A key stands for two requests, of which one was done and the other one refused: who asks for it is told that something was done. */
const ofTwo = (stage: Stage, who: Somebody, market: Parameters): void => {
  stage.done(stage.say(Calls.cancelAll(who, "cancel all", "of-two", undefined)))
  const wish: Calls.Wish = { market, side: "buy", type: "limit", priceAtoms: 1_000, quantityAtoms: 90_000, clientOrderId: "of-two" }
  stage.is("an order beyond what he has", stage.say(Calls.place(who, "place", "of-two", wish)).status, 422)
  stage.is("what the key stands for", stage.done(stage.say(Calls.lookUp(who, "idempotencyKey", "of-two")))["outcome"], "accepted")
}

/** What an operator does. */
const operations = (stage: Stage, somebody: Somebody, market: Parameters, orderId: string): ReadonlyArray<Calls.Draft> => {
  const { accountId } = somebody
  let keys = 0
  const operate = (endpoint: string, kind: string, method: "PUT" | "POST", target: string, body: object): Calls.Draft =>
    Calls.operate(operatorToken, endpoint, endpoint, kind, `operated-${keys++}`, method, `/v1/operator/${target}`, body)
  const name = `markets/${market.marketId}`
  const effectiveAtEpochMs = stage.now + 48 * hour
  return [
    operate("putMarket", "PutMarket", "PUT", name, {
      ...Calls.marketBody({ ...market, maintenanceMarginTiers, takerFeeBps: 3 }),
      effectiveAtEpochMs
    }),
    operate("setIndexPrice", "SetIndexPrice", "PUT", `${name}/index-price`, { price: "1000", sourceEpochMs: stage.now }),
    operate("setAccountFlags", "SetAccountFlags", "PUT", `accounts/${accountId}/flags`, {
      bot: true,
      load_harness: false,
      disabled: false
    }),
    operate("setLimits", "SetLimits", "PUT", "limits", { idempotencyRetentionMs: 24 * hour }),
    operate("addToFund", "AddToFund", "POST", "insurance-fund", { amount: "5" }),
    stage.aCredit(somebody, 5),
    operate("openDemoAccounts", "OpenDemoAccounts", "POST", "demo/accounts", { accounts: 1, collateral: "5" }),
    operate("setMarketStatus", "SetMarketStatus", "PUT", `${name}/status`, { status: "reduce_only" }),
    operate("cancelByOperator", "CancelByOperator", "POST", "orders/cancel", { orderId }),
    operate("cancelByOperator", "CancelByOperator", "POST", "orders/cancel", { accountId, marketId: market.marketId }),
    operate("delistMarket", "DelistMarket", "PUT", `${name}/delisting`, { effectiveAtEpochMs })
  ]
}

export const sameKeyEveryMember: Scenario = {
  name: "same-key-every-member",
  what: "every request with a key again under it, with each member of its body changed by itself",
  play: (stage) => {
    const [who, other] = stage.open(["who", "other"], 100_000)
    const market = stage.market("ABC", 1_000, { indexStaleMs: 24 * hour })
    const second = stage.market("XYZ", 1_000, { indexStaleMs: 24 * hour, takerFeeBps: 5 })
    // The operator moves what it has cost into the fund.
    stage.deal(other!, who!, second, 10, 1_000)
    const pairs: Pairs = new Map([[other!.accountId, who!.accountId], [second.marketId, market.marketId]])
    const made = new Set<string>()
    const varied = new Set<string>()
    const refused = (draft: Calls.Draft): void => {
      const first = stage.say(draft)
      stage.is(`the answer to ${draft.endpoint}: ${first.text}`, first.status, 200)
      made.add(draft.endpoint)
      const spelled = respelled(draft)
      if (spelled !== undefined) {
        const { status, text } = stage.say(spelled)
        stage.is(`the answer to ${draft.endpoint} with ${spelled.body}`, [status, text], [200, first.text])
      }
      const others = othersOf(draft, pairs)
      stage.answersTogether(others.map(([, each]) => each)).forEach(({ status, text }, at) => {
        const [member, { body }] = others[at]!
        varied.add(member)
        const isRefused = status === 409 && text.includes("idempotency_key_conflict")
        stage.holds(`${draft.endpoint} with ${body} is refused for its key: ${status} ${text}`, isRefused)
      })
    }
    for (const draft of placements(who!, market, stage.now + hour)) refused(draft)
    const ordered = (price: number): string => String(stage.buy(other!, second, { size: 3, price })["orderId"])
    const orders = [900, 901, 902, 903].map(ordered)
    for (const draft of commands(other!, second, orders)) refused(draft)
    ofTwo(stage, who!, market)
    for (const draft of operations(stage, other!, second, ordered(900))) refused(draft)
    stage.is("keyed requests with a body that are not made", keyed.filter((each) => !made.has(each) && !elsewhere.has(each)).join(), "")
    const members = [...made].flatMap((endpoint) => Variations.members(endpoint).map((member) => nameOf(endpoint, member)))
    stage.is("members that are not varied", members.filter((each) => !varied.has(each) && !fixed.has(each)).join(), "")
    stage.auditEngine()
  }
}
