/** Requests that are none: broken in their body, their key, their credential or their address. */
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import { makeOrder } from "./Placing.js"
import type { Seat } from "./Seat.js"
import * as Spelling from "./Spelling.js"

/** An order of /v2 with something that is no amount where one should be. */
const misspelled = ({ nextKey, random, who, wishes }: Seat): Draft =>
  Calls.spelled(
    Calls.createOrder(who, "malformed", nextKey(), Calls.compatBody(wishes.wish(wishes.tradable(), {}))),
    () => random.pick(Spelling.noAmounts)
  )

/** A good order with one thing in it broken. */
export const malformed = (seat: Seat): Draft => {
  const { random, who } = seat
  if (random.chance(0.2)) return { ...misspelled(seat), scope: undefined, persistent: false }
  const good = makeOrder(seat, "malformed")
  const body = JSON.parse(good.body) as { [name: string]: unknown }
  const odd: ReadonlyArray<Partial<Draft>> = [
    { body: good.body.slice(0, random.below(good.body.length)) },
    { body: "[]" },
    { body: "null" },
    { body: "" },
    { body: JSON.stringify({ ...body, colour: "blue" }) },
    { body: JSON.stringify({ ...body, quantity: 5 }) },
    { body: JSON.stringify({ ...body, side: "hold" }) },
    { body: JSON.stringify({ ...body, price: "1e5" }) },
    { body: JSON.stringify({ ...body, clientOrderId: "no spaces allowed" }) },
    { body: JSON.stringify({ ...body, timeInForce: "IOC", postOnly: true }) },
    { body: `{"a":${"[".repeat(100)}${"]".repeat(100)}}` },
    { idempotencyKey: undefined },
    { idempotencyKey: "not visible \u00e9" },
    { credential: "wrong", token: `${who.apiKey.slice(0, -1)}${who.apiKey.endsWith("A") ? "B" : "A"}` },
    { credential: "wrong", token: "pk_nonsense" },
    { credential: "none", token: "" },
    { target: "/v1/nowhere", endpoint: "" },
    { target: "/v2/nowhere", endpoint: "" },
    { method: "PATCH", endpoint: "" }
  ]
  return { ...good, scope: undefined, persistent: false, ...random.pick(odd) }
}
