/**
 * Recognises markets under other names than a route expects: the symbol in place of the id, the id in place of the symbol, or the
 * usual names of other venues. The suggestion depends only on the name that was sent, never on existing markets, so that a repeated
 * request gets the same answer, and nothing is revealed about unlisted markets.
 */
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "./Errors.js"
import type { Family } from "./Envelopes.js"

/** The quote and settlement asset of all markets. */
const settlement = "USDC"
/** What is repeated of an underlying: a few letters and digits, nothing that could be a secret. */
const underlying = /^[A-Z0-9]{2,10}$/
/** The longest name examined. */
const maxLength = 40
/** Quote assets of other venues that mean the same market, longest first. */
const quotes = ["USDC", "USDT", "USD"]
const endings = /^(?:PERP|PERPETUAL|SWAP)$/

/** The underlying in a name; undefined where the name does not look like a market's. */
const underlyingOf = (sent: string): string | undefined => {
  if (sent.length > maxLength) return undefined
  const parts = sent.toUpperCase().split(/[-/:_. ]/).filter((part) => part !== "" && !endings.test(part))
  const [first, ...rest] = parts
  if (first === undefined || rest.some((part) => !quotes.includes(part))) return undefined
  const bare = first.replace(/PERP$/, "")
  const quote = rest.length > 0 ? undefined : quotes.find((one) => bare.length > one.length + 1 && bare.endsWith(one))
  const name = quote === undefined ? bare : bare.slice(0, -quote.length)
  return underlying.test(name) && !/^[0-9]+$/.test(name) ? name : undefined
}

/** The market's name in the given family; undefined where that is what was sent, or the name is not recognised. */
const meantMarket = (sent: string, family: Family): string | undefined => {
  const name = underlyingOf(sent)
  if (name === undefined) return undefined
  const meant = family === "compat" ? `${name}/${settlement}:${settlement}` : `${name}-${settlement}-PERP`
  return meant === sent ? undefined : meant
}

/** The failure for an unknown market name, with the name of the one that may be meant. */
export const marketNotFound = (sent: string, family: Family): Errors.Failure => {
  const failure = Errors.refused(Refusal.marketNotFound)
  const meant = meantMarket(sent, family)
  if (meant === undefined) return failure
  const [member, list] = family === "compat" ? ["symbol", "/v2/markets"] : ["marketId", "/v1/markets"]
  return {
    ...failure,
    message: `${failure.description.safeMessage} A ${member} is like ${meant}, which may be meant; GET ${list} lists all.`
  }
}
