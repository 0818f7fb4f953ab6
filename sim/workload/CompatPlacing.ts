/** Orders placed through the compatibility layer, where numbers may be spelled in many ways. */
import type { Intent } from "../faults/Options.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import type { Drafting, Seat } from "./Seat.js"
import * as Spelling from "./Spelling.js"

/** A draft of /v2 whose numbers, now and then, are spelled as no library would, or have odd values. */
const oddlySpelled = ({ random }: Seat, draft: Draft): Draft =>
  random.chance(0.6)
    ? draft
    : Calls.spelled(draft, (number) => random.chance(0.25) ? random.pick(Spelling.oddNumbers) : random.pick(Spelling.spellings)(number))

export const compatPlacing = {
  "v2 order": (seat, intent) => {
    const { nextKey, random, who, wishes } = seat
    const market = wishes.tradable()
    const way = wishes.side()
    const type = random.pick(["limit", "limit", "market"] as const)
    return oddlySpelled(seat, Calls.createOrder(who, intent, nextKey(), Calls.compatBody(wishes.wish(market, {
      side: way,
      type,
      ...(random.chance(0.15) ? { reduceOnly: random.chance(0.7) } : {}),
      ...(random.chance(0.15) ? { postOnly: type === "limit" && random.chance(0.7) } : {}),
      ...(type === "market" && random.chance(0.3)
        ? { priceAtoms: 0 }
        : random.chance(0.5)
        ? { priceAtoms: wishes.crossing(market, way) }
        : {})
    }))))
  },
  "v2 batch": (seat, intent) => {
    const { nextKey, who, wishes } = seat
    return oddlySpelled(seat, Calls.createOrders(who, intent, nextKey(), wishes.compatWishes().map(Calls.compatBody)))
  },
  "v2 with timeInForce": ({ nextKey, random, who, wishes }, intent) => {
    const body = Calls.compatBody(wishes.wish(wishes.tradable(), {}))
    const top = { ...body, timeInForce: "GTC" }
    const inner = { ...body, params: { ...body.params, timeInForce: "IOC" } }
    return random.chance(0.5)
      ? Calls.createOrder(who, intent, nextKey(), random.pick([top, inner]))
      : Calls.createOrders(who, intent, nextKey(), [body, random.pick([top, inner])])
  }
} satisfies Partial<Record<Intent, Drafting>>
