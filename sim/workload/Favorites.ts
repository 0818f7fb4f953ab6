/**
 * Accounts that choose favorite markets, with keys of demo accounts and of owners' agents, and with sessions: they add and remove, repeat
 * requests, name other accounts and non-existent markets, and read the markets, with a credential and without.
 */
import type { Favorites as Options } from "../faults/Options.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import * as Calls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"

const client = "collector"
const weights = { add: 10, remove: 6, look: 10, "look as nobody": 3, elsewhere: 2, "no market": 1 } as const

/** A client with a credential: there are few, so that they meet their earlier choices again. */
const somebody = ({ demo }: Desk, random: SimRandom, owners: ReadonlyArray<Calls.KeyHolder>): Calls.Bearer => {
  const agents = owners.flatMap(({ agent, keys }) => keys.slice(-1).map((call) => Calls.agent(agent, call)))
  const signedIn = owners.flatMap(({ agent, sessions }) => sessions.slice(-1).map((call) => Calls.holder(agent, call)))
  const issued = [...agents, ...signedIn]
  return issued.length > 0 && random.chance(0.4) ? random.pick(issued) : Calls.demoKey(client, random.pick(demo.slice(0, 3)))
}

/** The account of a credential, in a draft's form: for issued credentials it is derived from the token. */
const ownAccount = ({ accountId, credential }: Calls.Bearer): { readonly accountId: string } => ({
  accountId: credential === "trader" ? accountId : ""
})

const drafted = (desk: Desk, random: SimRandom, owners: ReadonlyArray<Calls.KeyHolder>): Draft => {
  const who = somebody(desk, random, owners)
  const { marketId } = random.pick(desk.model.markets).parameters
  const looks = (by: Calls.Bearer): Draft => random.chance(0.5) ? Calls.readMarkets(by) : Calls.readMarket(by, marketId)
  switch (random.weighted(weights)) {
    case "add":
      return Calls.setFavorite(who, marketId, true)
    case "remove":
      return Calls.setFavorite(who, marketId, false)
    case "look":
      return looks(who)
    case "look as nobody":
      return looks(Calls.stranger(client))
    case "elsewhere":
      return { ...Calls.setFavorite({ ...who, accountId: random.pick(desk.demo).accountId }, marketId, true), ...ownAccount(who) }
    case "no market":
      return Calls.setFavorite(who, "NONE-USDC-PERP", random.chance(0.5))
  }
}

/** Starts the accounts of a run that choose favorites. */
export const start = (desk: Desk, random: SimRandom, { calls, meanPauseMs }: Options, owners: ReadonlyArray<Calls.KeyHolder>): void => {
  let left = calls
  const next = (): void => {
    desk.time.after(random.until(meanPauseMs), () => {
      if (!desk.isOpen() || left-- <= 0 || desk.model.markets.length === 0) return
      desk.issue({ ...drafted(desk, random, owners), persistent: random.chance(0.3) }, next)
    })
  }
  next()
}
