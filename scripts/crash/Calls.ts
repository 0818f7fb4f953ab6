/**
 * The requests that clients of the crash run send: one lane is one account, with one request at a time, so that decisions for an account
 * have a definite order. Placements dominate; the rest of the trading operations is mixed in. Most orders meet at one price; some rest away
 * from it, to be cancelled and amended.
 */
import { type LookupName, lookupNames } from "../../src/operations/Operations.js"
import { post } from "../load/Connection.js"
import { body, marketId, symbol, touch } from "../load/Orders.js"
import type { DemoAccount } from "../load/VenueProcess.js"

/** All trading operations, by their names in outcome lookups. */
type Settings =
  | "set_cancel_all_after"
  | "set_display_handle"
  | "set_leverage"
  | "set_auto_close"
  | "cancel_auto_close"
  | "cancel_triggers"
  | "request_deposit"
  | "request_withdrawal"
  | "request_party_change"
export type Operation = Exclude<LookupName, Settings>
const settings: ReadonlyArray<LookupName> = [
  "set_cancel_all_after",
  "set_display_handle",
  "set_leverage",
  "set_auto_close",
  "cancel_auto_close",
  "cancel_triggers",
  "request_deposit",
  "request_withdrawal",
  "request_party_change"
] satisfies ReadonlyArray<Settings>
export const operations = lookupNames.filter((name): name is Operation => !settings.includes(name))

/** A request with the identity under which it can be repeated. */
export interface Call {
  /** The request's number within the lane. */
  readonly serial: number
  readonly operation: Operation
  readonly account: DemoAccount
  readonly path: string
  readonly key: string
  readonly body: string
  /** The order in the path; empty where there is none. */
  readonly orderId: string
}

/** The request as it is sent without the reference client: the same bytes every time. */
export const text = (call: Call): string => post(call.path, call.account.apiKey, call.key, call.body)

/** The key of one of a lane's requests, unique to it. */
const keyOf = (accountId: string, serial: number): string => `${accountId}-${serial}`

/** The account and number of a key's request; undefined for a key that no lane has made. */
export const ownerOf = (key: string): { readonly accountId: string; readonly serial: number } | undefined => {
  const [, accountId, serial] = /^(acc_[0-9a-z]+)-(\d+)$/.exec(key) ?? []
  return accountId === undefined ? undefined : { accountId, serial: Number(serial) }
}

/** A resting order in a native answer: its id and the integer part of its price. */
const restingPattern = /"orderId":"(ord_[0-9a-z]+)"[^{}]*"status":"open"[^{}]*"price":"(\d+)\.\d+"/g

/** Most resting orders that a lane remembers for cancelling or amending. */
const mostResting = 48

/** Entries of a batch, and most entries of a batch cancel. */
const batchEntries = 4

export class Lane {
  private serial: number
  private resting: Array<string> = []
  /** An order that was cancelled already: a batch cancel names it again, so that a part of it is refused. */
  private gone = ""

  /**
   * `begins`: where the lane starts in the cycle of operations. With different starts, all operations are sent even if the run ends early.
   */
  constructor(readonly account: DemoAccount, begins: number) {
    this.serial = begins
  }

  /** The next request. Its key and clientOrderIds are unique. */
  next(): Call {
    const serial = this.serial++
    switch (serial % 40) {
      case 0:
        return this.placeBatch(serial)
      case 10:
        return this.createBatch(serial)
      case 20:
        return this.create(serial)
      case 5:
      case 25:
        return this.cancel(serial)
      case 15:
        return this.cancelCompat(serial)
      case 30:
        return this.cancelBatch(serial)
      case 12:
      case 35:
        return this.amend(serial)
      case 39:
        if (serial % 160 === 79) return this.cancelAll(serial)
        return serial % 160 === 39 ? this.cancelAllCompat(serial) : this.rest(serial)
      default:
        return serial % 8 === 3 ? this.rest(serial) : this.meet(serial)
    }
  }

  /** Notes from an answer which orders rest. */
  learn(call: Call, answer: string): void {
    if (call.operation === "cancel_all_orders" || call.operation === "cancel_all_compat_orders") this.resting = []
    if (call.operation !== "place_order" && call.operation !== "place_order_batch") return
    for (const [, orderId, at] of answer.matchAll(restingPattern)) {
      if (Number(at) !== touch) this.resting.push(orderId!)
    }
    if (this.resting.length > mostResting) this.resting = this.resting.slice(-mostResting)
  }

  private call(operation: Operation, serial: number, path: string, sent: string, orderId = ""): Call {
    return { serial, operation, account: this.account, path, key: keyOf(this.account.accountId, serial), body: sent, orderId }
  }

  private meet(serial: number): Call {
    return this.call("place_order", serial, "/v1/orders", body(this.account, serial))
  }

  /** An order that rests away from the common price. */
  private rest(serial: number): Call {
    return this.call("place_order", serial, "/v1/orders", this.away(serial, `${this.account.accountId}-${serial}`))
  }

  private away(serial: number, clientOrderId: string): string {
    const isBuy = serial % 2 === 0
    return JSON.stringify({
      accountId: this.account.accountId,
      marketId,
      clientOrderId,
      side: isBuy ? "buy" : "sell",
      orderType: "limit",
      price: `${isBuy ? touch - 1000 : touch + 1000}.0`,
      quantity: "0.003"
    })
  }

  /** The last entry repeats the first one's clientOrderId, and is refused for that. */
  private placeBatch(serial: number): Call {
    const clientOrderId = (index: number) => `${this.account.accountId}-${serial}-${index % (batchEntries - 1)}`
    const orders = Array.from({ length: batchEntries }, (_, index) => this.away(serial + index, clientOrderId(index)))
    return this.call("place_order_batch", serial, "/v1/orders/batch", `{"orders":[${orders.join(",")}]}`)
  }

  private compat(serial: number, clientOrderId: string): object {
    return {
      symbol,
      type: "limit",
      side: serial % 2 === 0 ? "buy" : "sell",
      amount: 0.001,
      price: touch,
      params: { clientOrderId }
    }
  }

  private create(serial: number): Call {
    const sent = JSON.stringify(this.compat(serial >> 3, `${this.account.accountId}-${serial}`))
    return this.call("create_order", serial, "/v2/order", sent)
  }

  private createBatch(serial: number): Call {
    const orders = Array.from(
      { length: batchEntries },
      (_, index) => this.compat(serial >> 3, `${this.account.accountId}-${serial}-${index % (batchEntries - 1)}`)
    )
    return this.call("create_orders", serial, "/v2/orders", JSON.stringify(orders))
  }

  private cancel(serial: number): Call {
    const orderId = this.resting.shift()
    if (orderId === undefined) return this.rest(serial)
    this.gone = orderId
    const { accountId } = this.account
    return this.call("cancel_order", serial, `/v1/orders/${orderId}/cancel`, JSON.stringify({ accountId, marketId }), orderId)
  }

  private cancelCompat(serial: number): Call {
    const orderId = this.resting.shift()
    if (orderId === undefined) return this.rest(serial)
    this.gone = orderId
    return this.call("cancel_compat_order", serial, `/v2/orders/${orderId}/cancel`, JSON.stringify({ symbol }), orderId)
  }

  private cancelBatch(serial: number): Call {
    const named = this.resting.splice(0, batchEntries - 1)
    if (this.gone !== "") named.push(this.gone)
    if (named.length === 0) return this.rest(serial)
    const orders = named.map((orderId) => ({ accountId: this.account.accountId, marketId, orderId }))
    return this.call("cancel_order_batch", serial, "/v1/orders/batch/cancel", JSON.stringify({ orders }))
  }

  /** Alternates between a smaller size at the same price, another price further away, and the common price. */
  private amend(serial: number): Call {
    const orderId = this.resting.at(-1)
    if (orderId === undefined) return this.rest(serial)
    const { accountId } = this.account
    const changes = [{ quantity: "0.002" }, { price: `${touch - 2000}.0`, quantity: "0.004" }, { price: `${touch}.0` }]
    const sent = JSON.stringify({ accountId, marketId, ...changes[(serial >> 3) % changes.length] })
    return this.call("amend_order", serial, `/v1/orders/${orderId}/amend`, sent, orderId)
  }

  private cancelAll(serial: number): Call {
    return this.call("cancel_all_orders", serial, "/v1/orders/cancel-all", JSON.stringify({ accountId: this.account.accountId }))
  }

  private cancelAllCompat(serial: number): Call {
    return this.call("cancel_all_compat_orders", serial, "/v2/orders/cancel-all", JSON.stringify({ symbol }))
  }
}
