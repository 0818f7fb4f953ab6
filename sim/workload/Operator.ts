/**
 * The operator: gives the markets their first prices and opens the accounts before the run (and puts the markets,
 * where no markets file does), then moves index prices, now and then beyond the band, moves markets between
 * statuses, and halts the venue and lifts the halt again. Now and then it repeats itself under an old key, with the
 * same body or another.
 */
import type { ListedMarket } from "../../src/Bootstrap.js"
import type { Parameters, Status } from "../../src/domain/Market.js"
import type { Options } from "../faults/Options.js"
import type { NaiveMarket } from "../model/NaiveState.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import { decimal } from "./Calls.js"
import type { Desk } from "./Desk.js"
import { simMarkets, type SimMarkets } from "./SimMarkets.js"
import * as Twist from "./Twist.js"

export interface Operator {
  /** What must be answered before anybody trades, one after the other. */
  readonly opening: ReadonlyArray<Calls.Draft>
  readonly start: () => void
  /** What brings the venue back to ordinary trading once faults have stopped. */
  readonly restore: () => void
}

/** An index price under a key that no other command of an operator has. */
export const setIndexPrice = (token: string, key: string, { marketId, priceScale }: Parameters, priceAtoms: number): Calls.Draft =>
  Calls.operate(token, "index price", "setIndexPrice", "SetIndexPrice", key, "PUT", `/v1/operator/markets/${marketId}/index-price`, {
    price: decimal(priceAtoms, priceScale)
  })

/** How long a market stays in another status, or the venue halted, at most. */
const maxDisturbanceMs = 1_500
/** How often it repeats itself. */
const againShare = 0.05
/** How many of its past commands it remembers, to repeat them. */
const memorySize = 20

export const make = (
  desk: Desk,
  token: string,
  random: SimRandom,
  options: Options["workload"],
  markets: SimMarkets | undefined
): Operator => {
  const past: Array<Calls.Draft> = []
  let keys = 0
  const nextKey = (): string => `operator-${keys++}`
  const remembered = (draft: Calls.Draft): Calls.Draft => {
    past.push(draft)
    if (past.length > memorySize) past.shift()
    return draft
  }
  const path = (marketId: string): string => `/v1/operator/markets/${marketId}`

  const setStatus = (marketId: string, status: Status): Calls.Draft =>
    Calls.operate(token, `status ${status}`, "setMarketStatus", "SetMarketStatus", nextKey(), "PUT", `${path(marketId)}/status`, { status })
  const setIndex = (market: Pick<NaiveMarket, "parameters">, priceAtoms: number): Calls.Draft =>
    setIndexPrice(token, nextKey(), market.parameters, priceAtoms)
  const halt = (): Calls.Draft =>
    Calls.operate(token, "halt", "haltEngine", "HaltEngine", nextKey(), "PUT", "/v1/operator/engine/halt", undefined)
  const resume = (): Calls.Draft =>
    Calls.operate(token, "resume", "resumeEngine", "ResumeEngine", nextKey(), "DELETE", "/v1/operator/engine/halt", undefined)

  const put = ({ parameters }: ListedMarket): ReadonlyArray<Calls.Draft> => [
    Calls.operate(token, "put market", "putMarket", "PutMarket", nextKey(), "PUT", path(parameters.marketId), Calls.marketBody(parameters)),
    setStatus(parameters.marketId, "backfilling"),
    setStatus(parameters.marketId, "open")
  ]

  const opening = [
    ...(markets?.first ?? simMarkets).flatMap((market) => [
      ...(markets === undefined ? put(market) : []),
      setIndex(market, market.developmentIndexPriceAtoms)
    ]),
    Calls.operate(token, "open accounts", "openDemoAccounts", "OpenDemoAccounts", nextKey(), "POST", "/v1/operator/demo/accounts", {
      accounts: options.traders,
      collateral: String(options.collateral)
    })
  ]

  const later = (draft: Calls.Draft): void => {
    desk.time.after(random.next() * maxDisturbanceMs, () => desk.issue(draft, () => {}))
  }

  const moveIndex = (): void => {
    const market = random.pick(desk.model.markets)
    const { parameters } = market
    const wayUp = random.chance(0.5) ? 1 : -1
    const bps = random.chance(options.indexJumpShare)
      ? parameters.priceBandBps * (0.8 + random.next())
      : options.indexMoveBps * random.next()
    const step = Math.max(1, Math.round((market.mark * bps) / 10_000))
    const price = market.mark + wayUp * step
    desk.issue(remembered(setIndex(market, Math.min(parameters.maxPriceAtoms, Math.max(parameters.minPriceAtoms, price)))), () => {})
  }

  const act = (): void => {
    if (!desk.isOpen()) return
    const next = (): void => {
      desk.time.after(-Math.log(1 - random.next()) * options.meanOperatorMs, act)
    }
    if (past.length > 0 && random.chance(againShare)) {
      const draft = random.pick(past)
      desk.issue(random.chance(0.5) ? draft : Twist.twisted(draft, random), next)
    } else if (random.chance(options.haltShare)) {
      desk.issue(halt(), next)
      later(resume())
    } else if (random.chance(options.statusShare)) {
      const { marketId } = random.pick(desk.model.markets).parameters
      desk.issue(remembered(setStatus(marketId, random.pick(["paused", "cancel_only", "reduce_only", "reduce_only", "halted"]))), next)
      later(setStatus(marketId, "open"))
    } else {
      moveIndex()
      next()
    }
  }

  return {
    opening,
    start: () => {
      if (options.meanOperatorMs > 0) desk.time.after(options.meanOperatorMs, act)
    },
    restore: () => {
      desk.issue(resume(), () => {})
      for (const market of desk.model.markets) desk.issue(setStatus(market.parameters.marketId, "open"), () => {})
    }
  }
}
