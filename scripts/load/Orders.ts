/**
 * Order bodies for load: one price, both sides by turns on every connection, so that about half of them trade.
 * A single order has 250 bytes; a batch holds orders of one side, so that none of them meets its own.
 */
import type { DemoAccount } from "./VenueProcess.js"

/** The size of a body in bytes. */
export const bodyBytes = 250

/** The price of every order, in the first fixture market; within its band by the synthetic index. */
const price = "60000.0"

/** A body for one of an account's orders; `serial` is its own. */
export const body = (account: DemoAccount, serial: number): string => {
  const side = (serial ^ (serial >>> 6)) % 2 === 0 ? "buy" : "sell"
  const text = (clientOrderId: string) =>
    `{"accountId":"${account.accountId}","marketId":"BTC-USDC-PERP","clientOrderId":"${clientOrderId}","side":"${side}",`
    + `"orderType":"limit","timeInForce":"GTC","price":"${price}","quantity":"0.001","postOnly":false,"reduceOnly":false}`
  const serialText = `${account.accountId}-${serial}`
  return text(serialText.padEnd(Math.min(64, bodyBytes - text("").length), "."))
}

/** A batch of orders for `POST /v2/orders`, in numbers as exchange libraries send them. */
export const batch = (serial: number, entries: number): string => {
  const side = (serial ^ (serial >>> 6)) % 2 === 0 ? "buy" : "sell"
  const one = `{"symbol":"BTC/USDC:USDC","type":"limit","side":"${side}","amount":0.001,"price":60000}`
  return `[${new Array<string>(entries).fill(one).join(",")}]`
}
