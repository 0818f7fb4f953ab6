/** Decisions about credentials, sign-in and accounts' display settings, as lines of text. */
import type { DecodedEvent } from "../../engine/EventLog.js"
import { kinds } from "../../engine/identity/SecurityLog.js"
import type { State } from "../../engine/State.js"
import { flagBit, flagNames } from "../../operations/accounts/SetAccountFlags.js"
import { namesOf } from "../../operations/identity/KeyGrant.js"
import * as Format from "./Format.js"
import { concerns, marketName, type Who } from "./Names.js"

const names = [
  "SessionOpened",
  "SessionEnded",
  "PasskeysChanged",
  "AgentApproved",
  "ApiKeyRevoked",
  "SecurityNoted",
  "TicketIssued",
  "TicketsEnded",
  "KeyUsed",
  "FavoriteSet",
  "AffiliateRegistered",
  "AccountFlagged"
] as const
type IdentityEvent = Extract<DecodedEvent, { event: (typeof names)[number] }>

export const isIdentityEvent = (event: DecodedEvent): event is IdentityEvent => (names as ReadonlyArray<string>).includes(event.event)

/** The account that an event concerns. */
const accountOf = ({ apiKeys }: State, event: IdentityEvent): number => "account" in event ? event.account : apiKeys.account(event.apiKey)

export const identityLines = (state: State, event: IdentityEvent, who: Who): ReadonlyArray<string> =>
  concerns(who, { accounts: [accountOf(state, event)], ...(event.event === "FavoriteSet" ? { markets: [event.market] } : undefined) })
    ? [identityChange(state, event)]
    : []

const flagsText = (flags: number): string => {
  const set = flagNames.filter((name) => (flags & flagBit(name)) !== 0)
  return set.length === 0 ? "no flags" : `the flags ${set.join(", ")}`
}

const identityChange = (state: State, event: IdentityEvent): string => {
  switch (event.event) {
    case "SessionOpened":
      return `session ${event.session} opened, until ${Format.time(event.expiresAtEpochMs)} at most`
    case "SessionEnded":
      return `session ${event.session} ended`
    case "PasskeysChanged":
      return `the account has ${event.passkeys} ${event.passkeys === 1 ? "passkey" : "passkeys"}`
    case "AgentApproved":
      return `an agent may fetch a key until ${Format.time(event.expiresAtEpochMs)}: ${
        namesOf(event.scopes).join(" and ")
      }, for ${event.keyLifetimeSeconds} s`
    case "ApiKeyRevoked":
      return `${state.apiKeys.keyId(event.apiKey)} is revoked`
    case "SecurityNoted":
      return `noted for the owner: ${kinds[event.kind]!.replaceAll("_", " ")}`
    case "TicketIssued":
      return `ticket ${event.generation + 1} of family ${event.family} of ${state.apiKeys.keyId(event.apiKey)} is good until ${
        Format.time(event.expiresAtEpochMs)
      }`
    case "TicketsEnded":
      return `no ticket of family ${event.family} of ${state.apiKeys.keyId(event.apiKey)} is good any more`
    case "KeyUsed":
      return `${state.apiKeys.keyId(event.apiKey)} was last used at ${Format.time(event.usedAtEpochMs)}`
    case "FavoriteSet":
      return `${marketName(state, event.market)} is ${event.isFavorite === 1 ? "a" : "no"} favorite`
    case "AffiliateRegistered":
      return "the account is an affiliate"
    case "AccountFlagged":
      return `the account has ${flagsText(event.flags)} and ${event.mayTrade === 1 ? "may" : "may not"} trade`
  }
}
