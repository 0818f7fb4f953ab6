/** The exchange class of an account over a scripted venue, with its one market loaded. It asks once, and is told of every failure. */
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { answered, market, type ScriptedVenue } from "./ScriptedVenue.js"

export const loadedOver = async (venue: ScriptedVenue): Promise<Perpetuum> => {
  const exchange = new Perpetuum({
    hostname: `127.0.0.1:${venue.port}`,
    apiKey: "pk_development_k_s",
    accountId: "acc_1",
    enableRateLimit: false,
    options: { maxAttempts: 1 }
  })
  venue.script(answered([market]))
  await exchange.loadMarkets()
  return exchange
}
