/**
 * Safety (contract). A market is a favorite of exactly the accounts that have asked for it: every record of a favorite was requested at
 * its account's own route, and clients that read markets see their own favorites; without a credential, or by a key that may not read,
 * they see none.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface State {
  /** The requests: account, market, and whether it is to be a favorite. */
  readonly wished: Set<string>
  /** The last record about an account's favorites. */
  readonly changedAt: Map<number, number>
  /** The last such record when each attempt to read was sent. */
  readonly asked: Map<string, number>
}

const wishOf = (accountId: string, marketId: string, favorite: boolean): string => `${accountId} ${marketId} ${favorite}`

const committed = (
  state: State,
  { model: { accounts, markets }, record: { command, sequence } }: Observation & { readonly _tag: "Committed" }
): Verdict => {
  if (command.kind !== "SetFavorite") return holds
  const { account, isFavorite, market } = command
  state.changedAt.set(account, sequence)
  const wish = wishOf(idOf(accounts[account]!.born), markets[market]?.parameters.marketId ?? "", isFavorite)
  return state.wished.has(wish) ? holds : broken(`record ${sequence} sets a favorite that nobody asked for: ${wish}`)
}

const inspected = ({ model, reads }: Observation & { readonly _tag: "Inspected" }): Verdict => {
  for (const { index } of model.accounts) {
    const expected = model.favoritesOf(index)
    for (const market of model.markets) {
      const found = reads.isFavorite(index, market.index)
      if (found !== expected.includes(market.index))
        return broken(`market ${market.index} is ${found ? "a" : "no"} favorite of account ${index} in the engine`)
    }
  }
  return holds
}

const scopeRead = 1

/** Whether a token is that of a key without the scope to read, which is shown what the public sees. */
const mayNotRead = ({ identity: { keys } }: NaiveVenue, token: string): boolean => {
  const digest = Identity.sha256(token, "hex")
  const key = keys.find(({ secretSha256 }) => secretSha256 === digest)
  return key !== undefined && (key.scopes & scopeRead) === 0
}

/** The values that a market may have in an answer to this call. */
const mayBe = (model: NaiveVenue, { account, credential, token }: Call, marketId: unknown): ReadonlyArray<boolean> => {
  const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)
  const isOwn = market !== undefined && account >= 0 && model.favoritesOf(account).includes(market.index)
  if (credential === "trader") return [isOwn]
  // An issued credential may have ended by now.
  return credential === "issued" && !(isOwn && mayNotRead(model, token)) ? [isOwn, false] : [false]
}

const snapshots = ({ endpoint }: Call, json: unknown): ReadonlyArray<Json> => {
  if (!isObject(json)) return []
  if (endpoint === "getMarket") return [json]
  return endpoint === "listMarkets" && Array.isArray(json["markets"]) ? json["markets"] as ReadonlyArray<Json> : []
}

const answered = (
  state: State,
  { answer: { json, status, text }, attempt, call, model }: Observation & { readonly _tag: "Answered" }
): Verdict => {
  const askedAt = state.asked.get(`${call.id}/${attempt}`)
  state.asked.delete(`${call.id}/${attempt}`)
  if (status !== 200) return holds
  const wish = Identity.read(call.method, call.target, call.body)?.wish
  if (wish?.kind === "setFavorite") {
    const { accountId, favorite, marketId } = json as Json
    const isSaid = accountId === call.accountId && favorite === wish.favorite && marketId === wish.marketId
    return isSaid ? holds : broken(`${call.method} ${call.target} is answered ${text}`)
  }
  if (askedAt !== (state.changedAt.get(call.account) ?? 0)) return holds
  for (const { market, marketId } of snapshots(call, json)) {
    const { favorite } = market as Json
    if (!mayBe(model, call, marketId).includes(favorite as boolean))
      return broken(
        `${String(marketId)} is told ${call.client} to be ${favorite === true ? "a" : "no"} favorite of account ${call.account}`
      )
  }
  return holds
}

export const favoritesAreTheirAccounts: Property<State> = {
  name: "favorites-are-their-accounts",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ wished: new Set(), changedAt: new Map(), asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked": {
        const { attempt, call } = seen
        const reading = Identity.read(call.method, call.target, call.body)
        if (reading?.wish?.kind === "setFavorite" && reading.accountId === call.accountId)
          state.wished.add(wishOf(call.accountId, reading.wish.marketId, reading.wish.favorite))
        if (call.endpoint === "getMarket" || call.endpoint === "listMarkets")
          state.asked.set(`${call.id}/${attempt}`, state.changedAt.get(call.account) ?? 0)
        return holds
      }
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Inspected":
        return inspected(seen)
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
