/**
 * Markets by other names than the route takes: the symbol where the id is wanted, the id where the symbol is, and what other venues
 * call them. What is meant is made of the name that was sent alone, never of the markets that there are, so that a repeated request is
 * told the same, and nothing of a market that is not listed yet.
 */
import { Refusal } from "../../domain/Refusal.js"
import * as Errors from "./Errors.js"
import type { Family } from "./Envelopes.js"

/** What everything is quoted in and settled with. */
const settlement = "USDC"
/** What is told of an underlying: a few letters and digits, and nothing that could be a secret. */
const underlying = /^[A-Z0-9]{2,10}$/
/** The longest name that is looked at. */
const maxLength = 40
/** What other venues quote in, longest first: the same market is meant. */
const quotes = ["USDC", "USDT", "USD"]
const endings = /^(?:PERP|PERPETUAL|SWAP)$/

/** The underlying that a name is of; undefined where it reads like no market's. */
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

/** The name that a family calls the market by that was meant; undefined where that is what was sent, or nothing reads like it. */
const meantMarket = (sent: string, family: Family): string | undefined => {
  const name = underlyingOf(sent)
  if (name === undefined) return undefined
  const meant = family === "compat" ? `${name}/${settlement}:${settlement}` : `${name}-${settlement}-PERP`
  return meant === sent ? undefined : meant
}

/** There is no market of this name: how the one that was meant is named. */
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
