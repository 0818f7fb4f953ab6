/** The exchange class as tests of it begin: over a scripted venue, or over the real edge and engine in this process. */
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { serve } from "../edge/http/NodeServed.js"
import { LiveVenue } from "../edge/LiveVenue.js"
import { answered, market, type ScriptedVenue } from "./ScriptedVenue.js"

/** That of an account over a scripted venue, with its markets loaded, one if no others are given. It asks once, and is told of every failure. */
export const loadedOver = async (venue: ScriptedVenue, markets: ReadonlyArray<object> = [market]): Promise<Perpetuum> => {
  const exchange = new Perpetuum({
    hostname: `127.0.0.1:${venue.port}`,
    apiKey: "pk_development_k_s",
    accountId: "acc_1",
    enableRateLimit: false,
    options: { maxAttempts: 1 }
  })
  venue.script(answered(markets))
  await exchange.loadMarkets()
  return exchange
}

/** A venue with an account that trades and another as its counterparty, each with the class; `same` is another program of the first. */
export const twoAccounts = async () => {
  const venue = LiveVenue.make()
  const traders = await venue.traders(2)
  const baseURL = `http://127.0.0.1:${(await serve(venue.application)).port}`
  const made = (at: number) => new Perpetuum({ apiKey: traders[at]!.key, baseURL, enableRateLimit: false, options: { retryDelayMs: 1 } })
  return { venue, exchange: made(0), other: made(1), same: made(0) }
}
