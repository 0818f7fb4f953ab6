/**
 * An operator's hunt where traders are to be ruined: prices a market again and again at a price at which one of its holders falls under
 * the maintenance margin, so that a held step of the index is confirmed; and after the fall, now and then halts the market during the
 * liquidation, which then waits.
 */
import { isDelisted, type NaiveAccount, type NaiveMarket } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Brink from "./Brink.js"

/** Share of an operator's acts that belong to a hunt, where there are any. */
const huntShare = 0.35
/** How often the market is halted during a liquidation that the hunt caused. */
const haltShare = 0.7
/** How often a price is sent before another holder is chosen. */
const mostShots = 8
/** How far beyond the brink the price lies, bps. */
const beyondBps = 30

interface Prey {
  readonly account: NaiveAccount
  readonly market: NaiveMarket
  readonly priceAtoms: number
  shots: number
}

/** An act of the hunt: a price, or a halt of a market. */
export type Act =
  | { readonly _tag: "price"; readonly market: NaiveMarket; readonly priceAtoms: number }
  | { readonly _tag: "halt"; readonly market: NaiveMarket }

export class Hunt {
  #prey: Prey | undefined

  constructor(readonly model: NaiveVenue, readonly random: SimRandom) {}

  /** The next act; undefined where there is no hunt now or no holder to hunt. */
  next(): Act | undefined {
    if (!this.random.chance(huntShare)) return undefined
    const prey = this.#prey
    if (prey?.account.liquidation !== undefined) {
      this.#prey = undefined
      return this.random.chance(haltShare) && prey.market.status === "open" ? { _tag: "halt", market: prey.market } : undefined
    }
    const isOpen = prey !== undefined && prey.account.positions.has(prey.market.index) && prey.shots++ < mostShots
    if (isOpen) return { _tag: "price", ...prey }
    this.#prey = this.#find()
    return this.#prey === undefined ? undefined : { _tag: "price", ...this.#prey }
  }

  #find(): Prey | undefined {
    const holding = this.model.accounts.filter(({ positions }) => positions.size > 0)
    if (holding.length === 0) return undefined
    const account = this.random.pick(holding)
    const market = this.model.markets[this.random.pick([...account.positions.keys()])]!
    if (isDelisted(market) || market.mark === 0) return undefined
    const brink = Brink.of(this.model, account, market)
    if (brink === undefined) return undefined
    const { maxPriceAtoms, minPriceAtoms } = market.parameters
    const further = Math.ceil((brink.bad * beyondBps) / 10_000) * Math.sign(brink.bad - brink.good)
    return { account, market, priceAtoms: Math.min(maxPriceAtoms, Math.max(minPriceAtoms, brink.bad + further)), shots: 0 }
  }
}
