/** Order bodies for load: 250 bytes, one price, both sides by turns on every connection, so that about half of them trade. */
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
