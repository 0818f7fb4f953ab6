/**
 * What a trader may wish for. It knows the market as a good trader does (from the reference model, which follows
 * the journal), so that what it asks for is interesting: near the mark, across the book, just out of bounds.
 */
import type { Options } from "../faults/Options.js"
import type { NaiveAccount, NaiveMarket, NaiveOrder } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Identity, Wish } from "./Calls.js"

/** What one trader wishes for next, drawn from its generator. */
export const make = (
  model: NaiveVenue,
  who: Identity,
  random: SimRandom,
  options: Options["workload"],
  nextClientOrderId: () => string
) => {
  const me = (): NaiveAccount => model.accounts[who.account]!
  const tradable = (): NaiveMarket => {
    const markets = model.markets.filter((market) => market.mark > 0)
    return random.pick(markets.length === 0 ? model.markets : markets)
  }
  const held = (market: NaiveMarket): number => me().positions.get(market.index)?.quantity ?? 0
  const unit = (market: NaiveMarket): number => Math.max(1, Math.round(market.mark / 2_000))
  const clampPrice = (market: NaiveMarket, price: number): number =>
    Math.min(market.parameters.maxPriceAtoms, Math.max(market.parameters.minPriceAtoms, Math.round(price)))
  const clampQuantity = (market: NaiveMarket, quantity: number): number =>
    Math.min(market.parameters.maxQuantityAtoms, Math.max(market.parameters.minQuantityAtoms, Math.floor(quantity)))

  /** A size whose notional is a share of what the account could carry. */
  const ordinaryQuantity = (market: NaiveMarket): number => {
    const perAtom = Math.max(1, market.mark) * Number(market.factor)
    const carry = (options.collateral * 1e6 * 10_000) / market.parameters.initialMarginBps
    return clampQuantity(market, (carry * (0.002 + 0.06 * random.next() ** 2)) / perAtom)
  }

  const side = (): "buy" | "sell" => (random.next() < 0.5 ? "buy" : "sell")
  const away = (of: "buy" | "sell", by: number): number => (of === "buy" ? -by : by)

  const wish = (market: NaiveMarket, change: Partial<Wish>): Wish => {
    const way = change.side ?? side()
    const steps = Math.floor(12 * random.next() ** 2)
    return {
      market: market.parameters,
      side: way,
      type: "limit",
      priceAtoms: clampPrice(market, market.mark + away(way, unit(market) * steps)),
      quantityAtoms: ordinaryQuantity(market),
      clientOrderId: nextClientOrderId(),
      ...(random.chance(0.3)
        ? { selfTradePrevention: random.pick(["cancel_resting", "cancel_incoming", "cancel_both"] as const) }
        : {}),
      ...change
    }
  }

  const crossing = (market: NaiveMarket, way: "buy" | "sell"): number =>
    clampPrice(market, market.mark - away(way, unit(market) * random.between(0, 10)))

  const ofMine = (filter: (order: NaiveOrder) => boolean): NaiveOrder | undefined => {
    const found = me().placed.slice(-80).filter(filter)
    return found.length === 0 ? undefined : random.pick(found)
  }
  const myOpen = (): NaiveOrder | undefined => {
    const { open } = me()
    return open.length === 0 ? undefined : random.pick(open)
  }
  const marketIdOf = (order: NaiveOrder): string => model.markets[order.market]!.parameters.marketId

  /** A reduce-only or closing side for what is held; undefined when flat. */
  const closing = (): { readonly market: NaiveMarket; readonly side: "buy" | "sell"; readonly size: number } | undefined => {
    const positions = [...me().positions.keys()]
    if (positions.length === 0) return undefined
    const market = model.markets[random.pick(positions)]!
    const quantity = held(market)
    return { market, side: quantity > 0 ? "sell" : "buy", size: Math.abs(quantity) }
  }

  const badWish = (): Wish => {
    const market = tradable()
    const { parameters } = market
    const odd: ReadonlyArray<Partial<Wish>> = [
      { priceAtoms: parameters.maxPriceAtoms + random.between(1, 5) },
      { priceAtoms: Math.max(1, parameters.minPriceAtoms - 1) },
      { quantityAtoms: parameters.maxQuantityAtoms + 1 },
      { quantityAtoms: parameters.maxQuantityAtoms },
      { priceText: `1.${"0".repeat(parameters.priceScale)}1` },
      { quantityText: `1.${"0".repeat(parameters.quantityScale)}5` },
      { quantityText: "0" },
      { market: { ...parameters, marketId: "NONE-USDC-PERP" } },
      { priceAtoms: clampPrice(market, (market.mark * (10_000 + parameters.priceBandBps)) / 10_000 + random.between(-1, 1)), side: "buy" },
      { priceAtoms: clampPrice(market, (market.mark * (10_000 - parameters.priceBandBps)) / 10_000 + random.between(-1, 1)), side: "sell" },
      { quantityText: "99999999999999999999" }
    ]
    return wish(market, random.pick(odd))
  }

  const mixedWishes = (): ReadonlyArray<Wish> => {
    const count = random.chance(0.1) ? 32 : random.between(1, 6)
    const wishes: Array<Wish> = []
    for (let index = 0; index < count; index++) {
      const kind = random.next()
      const market = tradable()
      const way = side()
      wishes.push(
        kind < 0.15
          ? badWish()
          : kind < 0.3
          ? wish(market, { side: way, priceAtoms: crossing(market, way) })
          : kind < 0.4 && wishes.length > 0
          ? wish(market, { clientOrderId: random.pick(wishes).clientOrderId })
          : wish(market, {})
      )
    }
    return wishes
  }

  /** The endpoint layer of /v2 takes limit orders on the grid only: what has no number form is left out. */
  const compatWishes = (): ReadonlyArray<Wish> => {
    const wishes = mixedWishes().filter((each) => each.type === "limit" && each.priceText === undefined && each.quantityText === undefined)
    return wishes.length === 0 ? [wish(tradable(), {})] : wishes
  }

  return {
    me, tradable, held, unit, clampPrice, clampQuantity,
    side, away, wish, crossing, ofMine, myOpen,
    marketIdOf, closing, badWish, mixedWishes, compatWishes
  }
}
