/**
 * Order bodies for load: one price, with alternating sides on every connection, so that about half of them trade. A single order has 250
 * bytes; a batch holds orders of one side, so that none of them trades with another.
 */
import type { DemoAccount } from "./VenueProcess.js"

/** The size of a body in bytes. */
const bodyBytes = 250

/** The first fixture market, by its two names. */
export const marketId = "BTC-USDC-PERP"
export const symbol = "BTC/USDC:USDC"

/** The price of every order here; within the market's band with the synthetic index. */
export const touch = 60_000

/** A body for one of an account's orders; `serial` is unique to it. */
export const body = (account: DemoAccount, serial: number): string => {
  const side = (serial ^ (serial >>> 6)) % 2 === 0 ? "buy" : "sell"
  const text = (clientOrderId: string) =>
    `{"accountId":"${account.accountId}","marketId":"${marketId}","clientOrderId":"${clientOrderId}","side":"${side}",`
    + `"orderType":"limit","timeInForce":"GTC","price":"${touch}.0","quantity":"0.001","postOnly":false,"reduceOnly":false}`
  const serialText = `${account.accountId}-${serial}`
  return text(serialText.padEnd(Math.min(64, bodyBytes - text("").length), "."))
}

/** A batch of orders for `POST /v2/orders`, with numbers as exchange libraries send them. */
export const batch = (serial: number, entries: number): string => {
  const side = (serial ^ (serial >>> 6)) % 2 === 0 ? "buy" : "sell"
  const one = `{"symbol":"${symbol}","type":"limit","side":"${side}","amount":0.001,"price":${touch}}`
  return `[${new Array<string>(entries).fill(one).join(",")}]`
}
