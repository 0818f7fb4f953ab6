/**
 * A member of an order that is sound by itself may not stand beside another: a market order rests nowhere and cannot expire, what is to rest
 * cannot be immediate, and a reduce-only order opens nothing that could be closed. A venue that overlooks one such pair does something else
 * than was asked for.
 *
 * What has to hold: orders with each member beside each other one are placed or refused as `sim/reading` has it, alone and in batches, in
 * both families.
 */
import * as Requests from "../reading/Requests.js"
import * as Calls from "../workload/Calls.js"
import type { Scenario } from "./Scenario.js"

/** Members with a value, by turns added to an order and put in place of its own; undefined leaves its own out. */
type Members = Readonly<Record<string, unknown>>

/** Each of the changes, and each two of them. */
const inPairs = (changes: ReadonlyArray<Members>): ReadonlyArray<Members> =>
  changes.flatMap((one, at) => changes.slice(at).map((other) => ({ ...one, ...other })))

export const membersInPairs: Scenario = {
  name: "members-in-pairs",
  what: "orders of each member beside each other one, alone and in batches: those that cannot be are refused, and all others placed",
  play: (stage) => {
    const market = stage.market("ABC", 1_000)
    const [buyer, seller] = stage.open(["buyer", "seller"], 10_000_000)
    stage.deal(buyer!, seller!, market, 10, 1_000)
    let names = 0
    const name = (): string => `pair-${names++}`
    const wish = (type: "limit" | "market"): Calls.Wish => ({
      market,
      side: "sell",
      type,
      priceAtoms: type === "limit" ? 1_100 : 0,
      quantityAtoms: 1,
      clientOrderId: name()
    })
    const autoClose = { stopLoss: { triggerPrice: "1500", triggerBy: "index" } }
    const changes: ReadonlyArray<Members> = [
      { timeInForce: "GTC" },
      { timeInForce: "IOC" },
      { price: undefined },
      { price: "1001" },
      { postOnly: true },
      { postOnly: false },
      { reduceOnly: true },
      { expiresAtEpochMs: stage.now + 3_600_000 },
      { selfTradePrevention: "cancel_both" },
      { autoClose }
    ]
    const counted = { asked: 0, malformed: 0 }
    const send = (draft: Calls.Draft, body: unknown): void => {
      const sent = { ...draft, body: JSON.stringify(body), persistent: false }
      const isAsked = Requests.read(sent)._tag === "asked"
      counted[isAsked ? "asked" : "malformed"]++
      const [answer] = stage.answersTogether([isAsked ? sent : { ...sent, scope: undefined }])
      stage.is(`whether ${sent.body} is well formed`, answer!.status !== 400, isAsked)
    }
    const bodyOf = ({ body }: Calls.Draft): Members => JSON.parse(body) as Members
    const place = (type: "limit" | "market"): Calls.Draft => Calls.place(buyer!, "pair", name(), wish(type))
    for (const type of ["limit", "market"] as const) {
      for (const change of inPairs(changes)) {
        const draft = place(type)
        send(draft, { ...bodyOf(draft), ...change })
      }
    }
    for (const change of changes) {
      const orders = [bodyOf(place("limit")), { ...bodyOf(place("market")), ...change }]
      send(Calls.placeBatch(buyer!, "pair", name(), []), { orders })
    }
    const params = [{ postOnly: true }, { postOnly: false }, { reduceOnly: true }, { clientOrderId: "of-pairs" }]
    for (const base of [{ type: "limit", price: 1_100 }, { type: "limit" }, { type: "market" }, { type: "market", price: 1_001 }]) {
      for (const change of inPairs(params)) {
        const draft = Calls.createOrder(buyer!, "pair", name(), Calls.compatBody(wish("limit")))
        send(draft, { ...bodyOf(draft), price: undefined, ...base, params: change })
      }
    }
    stage.holds("both are many", counted.asked > 50 && counted.malformed > 50)
    stage.cancelAll(buyer!)
    stage.audit()
  }
}
