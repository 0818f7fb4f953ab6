/**
 * A trader's wishes. It knows the market as a good trader does (from the reference model, which follows the journal), so that its wishes
 * are interesting: near the mark, across the book, just out of bounds.
 */
import type { Options } from "../faults/Options.js"
import { isDelisted, type NaiveAccount, type NaiveMarket, type NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import { decimal, type Identity, type Wish, type WishedAutoClose, type WishedTrigger } from "./Calls.js"
import * as Spelling from "./Spelling.js"

/** How often one of a trigger's prices is zero, in one of several spellings. */
const noPriceShare = 0.03

/** One trader's next wish, drawn from its generator. */
export class Wishes {
  /** Invalid trigger prices are drawn separately. */
  readonly #noPrices: SimRandom

  constructor(
    readonly model: NaiveVenue,
    readonly who: Identity,
    readonly random: SimRandom,
    readonly options: Options["workload"],
    readonly nextClientOrderId: () => string
  ) {
    this.#noPrices = random.split("no prices")
  }

  me(): NaiveAccount {
    return this.model.accounts[this.who.account]!
  }

  /** A market with a price, if there is one. */
  tradable(): NaiveMarket {
    const priced = this.model.markets.filter((market) => market.mark > 0)
    const left = priced.filter((market) => !isDelisted(market))
    const markets = left.length === 0 || left.length < priced.length && this.random.chance(0.05) ? priced : left
    return this.random.pick(markets.length === 0 ? this.model.markets : markets)
  }

  /** Its position in a market, signed size atoms. */
  held(market: NaiveMarket): number {
    return this.me().positions.get(market.index)?.quantity ?? 0
  }

  /** A typical price step of a market, price atoms. */
  unit(market: NaiveMarket): number {
    return Math.max(1, Math.round(market.mark / 2_000))
  }

  clampPrice(market: NaiveMarket, price: number): number {
    return Math.min(market.parameters.maxPriceAtoms, Math.max(market.parameters.minPriceAtoms, Math.round(price)))
  }

  clampQuantity(market: NaiveMarket, quantity: number): number {
    return Math.min(market.parameters.maxQuantityAtoms, Math.max(market.parameters.minQuantityAtoms, Math.floor(quantity)))
  }

  /** A size whose notional is a share of what the account could carry. */
  #ordinaryQuantity(market: NaiveMarket): number {
    const perAtom = Math.max(1, market.mark) * Number(market.factor)
    const carry = (this.options.collateral * 1e6 * 10_000) / market.parameters.initialMarginBps
    const share = this.random.chance(this.options.ruin?.leverageShare ?? 0)
      ? 0.05 + 0.4 * this.random.next()
      : 0.002 + 0.06 * this.random.next() ** 2
    return this.clampQuantity(market, (carry * share) / perAtom)
  }

  side(): "buy" | "sell" {
    return this.random.next() < 0.5 ? "buy" : "sell"
  }

  /** A signed distance away from the other side of the book. */
  away(of: "buy" | "sell", by: number): number {
    return of === "buy" ? -by : by
  }

  /** An ordinary limit order near the mark, with the given changes. */
  wish(market: NaiveMarket, change: Partial<Wish>): Wish {
    const way = change.side ?? this.side()
    const steps = Math.floor(12 * this.random.next() ** 2)
    return this.#closing(market, {
      market: market.parameters,
      side: way,
      type: "limit",
      priceAtoms: this.clampPrice(market, market.mark + this.away(way, this.unit(market) * steps)),
      quantityAtoms: this.#ordinaryQuantity(market),
      clientOrderId: this.nextClientOrderId(),
      ...(this.random.chance(0.3)
        ? { selfTradePrevention: this.random.pick(["cancel_resting", "cancel_incoming", "cancel_both"] as const) }
        : {}),
      ...change
    })
  }

  /** A trigger some steps from a price, on the valid side, or now and then on the other. */
  #trigger(market: NaiveMarket, from: number, isAbove: boolean): WishedTrigger {
    const { priceScale } = market.parameters
    const steps = this.random.pick([0, 1, 1, 2, 3, 5, 8])
    const price = this.clampPrice(market, from + (isAbove === this.random.chance(0.97) ? 1 : -1) * this.unit(market) * steps)
    const limit = this.clampPrice(market, price + this.unit(market) * this.random.between(-4, 4))
    const wished: WishedTrigger = {
      triggerPrice: this.random.chance(0.02) ? this.random.pick(Spelling.edgesOf(priceScale)) : decimal(price, priceScale),
      ...(this.random.chance(0.7) ? { triggerBy: this.random.pick(["mark", "last", "index"] as const) } : {}),
      ...(this.random.chance(0.3)
        ? { limitPrice: this.random.chance(0.05) ? this.random.pick(["0", ...Spelling.edgesOf(priceScale)]) : decimal(limit, priceScale) }
        : {})
    }
    if (!this.#noPrices.chance(noPriceShare)) return wished
    const none = this.#noPrices.pick(["0", "0.0", decimal(0, priceScale)])
    return this.#noPrices.chance(0.7) ? { ...wished, limitPrice: none } : { ...wished, triggerPrice: none }
  }

  /** Triggers around a price for a position of a direction. */
  autoClose(market: NaiveMarket, isLong: boolean, from: number): WishedAutoClose {
    const takeProfit = { takeProfit: this.#trigger(market, from, isLong) }
    const stopLoss = { stopLoss: this.#trigger(market, from, !isLong) }
    return this.random.pick([takeProfit, stopLoss, { ...takeProfit, ...stopLoss }])
  }

  /** The wish, now and then with triggers for the position that it opens. */
  #closing(market: NaiveMarket, wish: Wish): Wish {
    const { autoCloseShare = 0 } = this.options
    if (autoCloseShare === 0 || wish.reduceOnly === true || !this.random.chance(autoCloseShare)) return wish
    const from = wish.type === "market" || wish.priceAtoms === 0 ? market.mark : wish.priceAtoms
    return { ...wish, autoClose: this.autoClose(market, wish.side === "buy", from) }
  }

  /** A price at the mark or beyond it, on the other side of the book. */
  crossing(market: NaiveMarket, way: "buy" | "sell"): number {
    return this.clampPrice(market, market.mark - this.away(way, this.unit(market) * this.random.between(0, 10)))
  }

  /** One of its latest orders that passes a filter. */
  ofMine(filter: (order: NaiveOrder) => boolean): NaiveOrder | undefined {
    const found = this.me().placed.slice(-80).filter(filter)
    return found.length === 0 ? undefined : this.random.pick(found)
  }

  myOpen(): NaiveOrder | undefined {
    const { open } = this.me()
    return open.length === 0 ? undefined : this.random.pick(open)
  }

  marketIdOf(order: NaiveOrder): string {
    return this.model.markets[order.market]!.parameters.marketId
  }

  /** The position to reduce and the side that does; undefined when flat. */
  closing(): { readonly market: NaiveMarket; readonly side: "buy" | "sell"; readonly size: number } | undefined {
    const positions = [...this.me().positions.keys()]
    if (positions.length === 0) return undefined
    const market = this.model.markets[this.random.pick(positions)]!
    const quantity = this.held(market)
    return { market, side: quantity > 0 ? "sell" : "buy", size: Math.abs(quantity) }
  }

  /** An order with one thing out of bounds or off the grid. */
  badWish(): Wish {
    const market = this.tradable()
    const { parameters } = market
    const odd: ReadonlyArray<Partial<Wish>> = [
      { priceAtoms: parameters.maxPriceAtoms + this.random.between(1, 5) },
      { priceAtoms: Math.max(1, parameters.minPriceAtoms - 1) },
      { quantityAtoms: parameters.maxQuantityAtoms + 1 },
      { quantityAtoms: parameters.maxQuantityAtoms },
      { priceText: this.random.pick(Spelling.edgesOf(parameters.priceScale)) },
      { priceText: this.random.pick(Spelling.edgesOf(parameters.priceScale)), type: "market" },
      { quantityText: this.random.pick(Spelling.edgesOf(parameters.quantityScale)) },
      { quantityText: this.random.pick(Spelling.edgesOf(parameters.quantityScale)) },
      { market: { ...parameters, marketId: "NONE-USDC-PERP" } },
      {
        priceAtoms: this.clampPrice(market, (market.mark * (10_000 + parameters.priceBandBps)) / 10_000 + this.random.between(-1, 1)),
        side: "buy"
      },
      {
        priceAtoms: this.clampPrice(market, (market.mark * (10_000 - parameters.priceBandBps)) / 10_000 + this.random.between(-1, 1)),
        side: "sell"
      }
    ]
    return this.wish(market, this.random.pick(odd))
  }

  /** Good, bad and crossing orders for a batch, some under one clientOrderId. */
  mixedWishes(): ReadonlyArray<Wish> {
    const count = this.random.chance(this.options.bulkShare ?? 0.1) ? 32 : this.random.between(1, 6)
    const wishes: Array<Wish> = []
    for (let index = 0; index < count; index++) {
      const kind = this.random.next()
      const market = this.tradable()
      const way = this.side()
      wishes.push(
        kind < 0.15
          ? this.badWish()
          : kind < 0.3
          ? this.wish(market, { side: way, priceAtoms: this.crossing(market, way) })
          : kind < 0.4 && wishes.length > 0
          ? this.wish(market, { clientOrderId: this.random.pick(wishes).clientOrderId })
          : kind < 0.5
          ? this.wish(market, { side: this.held(market) > 0 ? "sell" : "buy", reduceOnly: true })
          : this.wish(market, {})
      )
    }
    return wishes
  }

  /** /v2 takes only limit orders on the grid in batches: wishes without a number form are left out. */
  compatWishes(): ReadonlyArray<Wish> {
    const wishes = this.mixedWishes().filter((each) =>
      each.type === "limit" && each.priceText === undefined && each.quantityText === undefined
    )
    return wishes.length === 0 ? [this.wish(this.tradable(), {})] : wishes
  }
}
