/** A trader's sequences of calls, each depending on earlier answers. */
import type { Intent } from "../faults/Options.js"
import type { Answer } from "../properties/Observation.js"
import { amendOrder } from "./Amending.js"
import { asking } from "./Asking.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import { cancelling } from "./Cancelling.js"
import { compatPlacing } from "./CompatPlacing.js"
import { makeOrder, placing, takeOrder } from "./Placing.js"
import type { Drafting, Seat } from "./Seat.js"

export type Journey = Extract<
  Intent,
  "twenty duplicates" | "lost reply" | "fence race" | "walk a listing" | "cancel twice" | "change, then repeat"
>

/** Makes one journey; calls `next` when it has ended. */
type Going = (seat: Seat, intent: Journey, next: () => void) => void

/** Commands whose answer may be lost on the way. */
const risky: ReadonlyArray<Drafting> = [
  makeOrder,
  takeOrder,
  takeOrder,
  placing["place batch"],
  compatPlacing["v2 order"],
  amendOrder,
  cancelling["cancel own"]
]

/** Most pages of a listing that are read in sequence. */
const maxPages = 12

const textAt = (answer: Answer | undefined, name: string): string | undefined => {
  const json = answer?.json
  const value = typeof json === "object" && json !== null ? (json as { readonly [name: string]: unknown })[name] : undefined
  return typeof value === "string" ? value : undefined
}

/** A command whose answer may be lost, under a key of its own. */
const original = (seat: Seat, intent: Journey): Draft => {
  const draft = seat.random.pick(risky)(seat, intent)
  seat.remember(draft)
  return { ...draft, intent, persistent: false }
}

/** The clientOrderId of a draft's only order, if it has one. */
const clientOrderIdOf = (draft: Draft): string | undefined =>
  draft.endpoint === "placeOrder" ? (JSON.parse(draft.body) as { readonly clientOrderId: string }).clientOrderId : undefined

/** Calls `then` after the last of `count` calls has ended. */
const lastOf = (count: number, then: () => void): () => void => {
  let outstanding = count
  return () => {
    outstanding--
    if (outstanding === 0) then()
  }
}

const twentyDuplicates: Going = (seat, intent, next) => {
  const draft = makeOrder(seat, intent)
  seat.remember(draft)
  const ended = lastOf(20, next)
  for (let index = 0; index < 20; index++) seat.desk.issue(draft, ended)
}

/** Sends a command once, looks up its result, fences it if it was never seen, and sends the original late. */
const lostReply: Going = (seat, intent, next) => {
  const { desk, random, who } = seat
  const draft = original(seat, intent)
  const key = draft.idempotencyKey ?? ""
  const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
  const lookUp = clientOrderId === undefined
    ? Calls.lookUp(who, "idempotencyKey", key)
    : Calls.lookUp(who, "clientOrderId", clientOrderId)
  desk.issue(draft, (first) => {
    if (first?.status === 200 && random.chance(0.7)) return next()
    desk.issue(lookUp, (found) => {
      if (textAt(found, "outcome") !== "never_seen" || random.chance(0.2)) return next()
      const identity = clientOrderId === undefined ? { idempotencyKey: key } : { clientOrderId }
      desk.issue(seat.fence(intent, identity), () => {
        desk.issue(draft, () => desk.issue(lookUp, next))
      })
    })
  })
}

/** Sends a fence while the original is in transit: one of the two wins, and the result must stay. */
const fenceRace: Going = (seat, intent, next) => {
  const { desk, random, time } = seat
  const draft = original(seat, intent)
  const clientOrderId = random.chance(0.3) ? clientOrderIdOf(draft) : undefined
  const identity = clientOrderId === undefined ? { idempotencyKey: draft.idempotencyKey ?? "" } : { clientOrderId }
  const ended = lastOf(2, () => void desk.issue({ ...draft, persistent: true }, next))
  const fence = (): void => {
    desk.issue(seat.fence(intent, identity), ended)
  }
  const send = (): void => {
    desk.issue(draft, ended)
  }
  time.after(random.next() * 10, fence)
  time.after(random.next() * 10, send)
}

const walkAListing: Going = ({ desk, model, random, who }, _, next) => {
  const market = random.pick(model.markets).parameters
  const limit = random.pick([1, 2, 3, 10, 40])
  const [endpoint, target, credential] = random.pick([
    ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}`, "trader"],
    ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&status=open`, "trader"],
    ["listOrders", `/v1/accounts/${who.accountId}/orders?limit=${limit}&marketId=${market.marketId}`, "trader"],
    ["listFills", `/v1/accounts/${who.accountId}/fills?limit=${limit}`, "trader"],
    ["listLedger", `/v1/accounts/${who.accountId}/ledger?limit=${limit}`, "trader"],
    ["listFundingPayments", `/v1/accounts/${who.accountId}/funding-payments?limit=${limit}`, "trader"],
    ["listTrades", `/v1/markets/${market.marketId}/trades?limit=${limit}`, "none"]
  ] as const)
  const turn = (pages: number, cursor: string | undefined): void => {
    if (pages === maxPages || !desk.isOpen()) return next()
    const at = cursor === undefined ? target : `${target}&cursor=${encodeURIComponent(cursor)}`
    const page = { ...Calls.read(who, endpoint, at, credential), intent: "walk a listing", persistent: true }
    desk.issue(page, (answer) => {
      const following = textAt(answer, "nextCursor")
      if (following === undefined) return next()
      turn(pages + 1, following)
    })
  }
  turn(0, undefined)
}

/** Cancels all orders, and those of one market while the last of them may still be leaving. */
const cancelTwice: Going = ({ desk, model, nextKey, random, time, who }, intent, next) => {
  const ended = lastOf(2, next)
  desk.issue(Calls.cancelAll(who, intent, nextKey(), undefined), ended)
  const market = random.pick(model.markets).parameters.marketId
  time.after(random.next() * 10, () => void desk.issue(Calls.cancelAll(who, intent, nextKey(), market), ended))
}

/** Amends an order, or the triggers of a position, in two ways, and repeats the first: the answer must be the original one. */
const changeThenRepeat: Going = (seat, intent, next) => {
  const { desk, random } = seat
  const change = random.chance(0.7) ? amendOrder : asking["set auto-close"]
  const [first, second] = [change(seat, intent), change(seat, intent)]
  desk.issue({ ...first, intent }, () => desk.issue({ ...second, intent }, () => void desk.issue({ ...first, intent }, next)))
}

export const journeys: Readonly<Record<Journey, Going>> = {
  "twenty duplicates": twentyDuplicates,
  "lost reply": lostReply,
  "fence race": fenceRace,
  "walk a listing": walkAListing,
  "cancel twice": cancelTwice,
  "change, then repeat": changeThenRepeat
}
