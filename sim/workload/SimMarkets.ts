/**
 * The markets of a simulation, as its markets file lists them: two ordinary ones, and one with so coarse a tick that its whole book is a
 * few prices. Their costs and limits on moves are drawn; of a further market everything is.
 */
import type { ListedMarket } from "../../src/Bootstrap.js"
import { fault as faultOfCalendar } from "../../src/sessions/Calendar.js"
import type { Sessions, Traps } from "../faults/Options.js"
import * as Week from "./Week.js"
import { fault, notionalFactor, type Parameters, riskDefaults } from "../../src/domain/Market.js"
import type { SimRandom } from "../world/SimRandom.js"

/**
 * The funding interval where funding is to be paid often, which is the shortest allowed, and the least funding cap there, 10^-9 per hour.
 */
const leastIntervalMs = 10_000
const leastCapE9 = 1_000_000

/** The initial content of the markets file, and the market added while the venue trades. */
export interface SimMarkets {
  readonly first: ReadonlyArray<ListedMarket>
  readonly later: ListedMarket
}

const common = {
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  marketType: "crypto",
  logoUrl: ""
} as const

type Ordinary = Omit<ListedMarket, "parameters"> & { readonly parameters: Omit<Parameters, keyof ReturnType<typeof riskDefaults>> }

/** A market whose index stays fresh for long and may make any step, without funding: for runs about something else. */
const patient = ({ developmentIndexPriceAtoms, parameters }: Ordinary): ListedMarket => ({
  developmentIndexPriceAtoms,
  parameters: {
    ...parameters,
    ...riskDefaults(parameters),
    indexStaleMs: 366 * 86_400_000,
    indexStepMaxBps: 1_000_000,
    fundingCapE9: 0,
    fundingIntervalMs: 86_400_000
  }
})

/** The three ordinary markets, without anything drawn. */
const ordinary: ReadonlyArray<Ordinary> = [
  {
    developmentIndexPriceAtoms: 600_000,
    parameters: {
      ...common,
      marketId: "BTC-USDC-PERP",
      baseAsset: "BTC",
      underlyingSymbol: "BTC",
      priceScale: 1,
      quantityScale: 4,
      minPriceAtoms: 10,
      maxPriceAtoms: 20_000_000,
      minQuantityAtoms: 1,
      maxQuantityAtoms: 1_000_000,
      maxPositionQuantityAtoms: 3_000_000,
      initialMarginBps: 200,
      maintenanceMarginTiers: [
        { notionalThresholdAtoms: 0, maintenanceMarginBps: 50 },
        { notionalThresholdAtoms: 1_000_000_000_000, maintenanceMarginBps: 100 },
        { notionalThresholdAtoms: 5_000_000_000_000, maintenanceMarginBps: 250 }
      ],
      maxLeverageX: 50,
      makerFeeBps: 1,
      takerFeeBps: 5,
      priceBandBps: 1000
    }
  },
  {
    developmentIndexPriceAtoms: 300_000,
    parameters: {
      ...common,
      marketId: "ETH-USDC-PERP",
      baseAsset: "ETH",
      underlyingSymbol: "ETH",
      priceScale: 2,
      quantityScale: 3,
      minPriceAtoms: 100,
      maxPriceAtoms: 10_000_000,
      minQuantityAtoms: 25,
      maxQuantityAtoms: 2_000_000,
      maxPositionQuantityAtoms: 4_000_000,
      initialMarginBps: 500,
      maintenanceMarginTiers: [
        { notionalThresholdAtoms: 0, maintenanceMarginBps: 100 },
        { notionalThresholdAtoms: 20_000_000_000, maintenanceMarginBps: 300 },
        { notionalThresholdAtoms: 200_000_000_000, maintenanceMarginBps: 600 }
      ],
      maxLeverageX: 20,
      makerFeeBps: 0,
      takerFeeBps: 7,
      priceBandBps: 300
    }
  },
  {
    developmentIndexPriceAtoms: 20,
    parameters: {
      ...common,
      marketId: "TINY-USDC-PERP",
      baseAsset: "TINY",
      underlyingSymbol: "TINY",
      priceScale: 2,
      quantityScale: 0,
      minPriceAtoms: 1,
      maxPriceAtoms: 1_000,
      minQuantityAtoms: 1,
      maxQuantityAtoms: 50_000,
      maxPositionQuantityAtoms: 100_000,
      initialMarginBps: 1000,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 300 }],
      maxLeverageX: 10,
      makerFeeBps: 3,
      takerFeeBps: 11,
      priceBandBps: 1500
    }
  }
]

export const simMarkets: ReadonlyArray<ListedMarket> = ordinary.map(patient)

/**
 * A market with drawn index, mark and funding: how long its index is fresh, which steps are held, how far the mark may move, how deep a
 * book has to be, and intervals so short that some end within a run.
 */
const withRisk = ({ developmentIndexPriceAtoms, parameters }: ListedMarket, random: SimRandom): ListedMarket => {
  const [first] = parameters.maintenanceMarginTiers
  const room = parameters.initialMarginBps - first!.maintenanceMarginBps
  return {
    developmentIndexPriceAtoms,
    parameters: {
      ...parameters,
      indexStaleMs: random.pick([5_000, 60_000, 600_000, 3_600_000]),
      indexStepMaxBps: random.pick([10, 100, 500, 500, 1_000_000]),
      markBandBps: random.pick([0, Math.min(20, room), Math.min(100, room), room]),
      impactNotionalAtoms: random.pick([1, 1_000_000, 100_000_000, 10_000_000_000, 1_000_000_000_000]),
      fundingIntervalMs: random.pick([10_000, 10_000, 10_000, 20_000, 3_600_000]),
      fundingCapE9: random.pick([0, 1_000, 40_000_000, 40_000_000, 1_000_000_000])
    }
  }
}

/** A market with drawn costs and bounds: its grid and its sizes stay. */
const drawnFrom = ({ developmentIndexPriceAtoms, parameters }: ListedMarket, random: SimRandom): ListedMarket => {
  const initialMarginBps = parameters.initialMarginBps * random.pick([1, 1, 2])
  const maxPositionQuantityAtoms = Math.max(parameters.minQuantityAtoms,
    Math.floor(parameters.maxPositionQuantityAtoms * random.pick([1, 1, 0.3, 0.02])))
  return {
    developmentIndexPriceAtoms: Math.round(developmentIndexPriceAtoms * (0.7 + 0.6 * random.next())),
    parameters: {
      ...parameters,
      minQuantityAtoms: parameters.minQuantityAtoms * random.pick([1, 1, 60]),
      maxPositionQuantityAtoms,
      maxQuantityAtoms: Math.min(parameters.maxQuantityAtoms, maxPositionQuantityAtoms),
      initialMarginBps,
      maxLeverageX: Math.floor(10_000 / (initialMarginBps * random.pick([1, 2]))),
      makerFeeBps: random.pick([0, 1, parameters.makerFeeBps]),
      takerFeeBps: random.pick([0, 30, parameters.takerFeeBps, parameters.takerFeeBps]),
      priceBandBps: random.pick([100, parameters.priceBandBps, parameters.priceBandBps, 5_000])
    }
  }
}

/** Notionals, in money atoms, of a small and a large order of a trader with so much collateral (USDC). */
const amongHoldings = (collateral: number, initialMarginBps: number, random: SimRandom): readonly [number, number] => {
  const carried = Math.min(Number.MAX_SAFE_INTEGER, (collateral * 1e6 * 10_000) / initialMarginBps)
  const near = (share: number): number => Math.max(2, Math.round(carried * share * (0.5 + random.next())))
  const low = near(0.005)
  return [low, low + near(0.05)]
}

/** A market with tiers whose thresholds lie among the sizes held, at uneven amounts. */
const withTiers = ({ parameters, ...rest }: ListedMarket, collateral: number, random: SimRandom): ListedMarket => {
  const { initialMarginBps } = parameters
  const [low, high] = amongHoldings(collateral, initialMarginBps, random)
  const first = random.between(1, Math.max(1, Math.floor(initialMarginBps / 3)))
  const second = first + random.between(1, 77)
  const { liquidationFeeBps, markBandBps } = riskDefaults({
    initialMarginBps,
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: first }]
  })
  return {
    ...rest,
    parameters: {
      ...parameters,
      liquidationFeeBps,
      markBandBps,
      maintenanceMarginTiers: [
        { notionalThresholdAtoms: 0, maintenanceMarginBps: first },
        { notionalThresholdAtoms: low, maintenanceMarginBps: second },
        { notionalThresholdAtoms: high, maintenanceMarginBps: Math.min(10_000, second + random.between(1, 333)) }
      ]
    }
  }
}

/** A market with the largest notional that is still exact, not far above its index price. */
const withLargestNotional = ({ developmentIndexPriceAtoms, parameters }: ListedMarket, random: SimRandom): ListedMarket => {
  const maxPriceAtoms = Math.ceil(developmentIndexPriceAtoms * (1.3 + random.next()))
  const maxPositionQuantityAtoms = Math.floor(Number.MAX_SAFE_INTEGER / (maxPriceAtoms * notionalFactor(parameters)))
  return {
    developmentIndexPriceAtoms,
    parameters: { ...parameters, maxPriceAtoms, maxPositionQuantityAtoms, maxQuantityAtoms: maxPositionQuantityAtoms }
  }
}

/** A market on so fine a grid that one size atom at its index price needs an atom or two of margin. */
const finest = ({ developmentIndexPriceAtoms, parameters }: ListedMarket): ListedMarket => ({
  developmentIndexPriceAtoms,
  parameters: {
    ...parameters,
    quantityScale: 6 - parameters.priceScale,
    maxQuantityAtoms: 500_000_000,
    maxPositionQuantityAtoms: 1_000_000_000
  }
})

/** A market for the drawn scale of amounts. */
const atEdge = (market: ListedMarket, index: number, { collateral, money }: Means, random: SimRandom): ListedMarket => {
  if (money === "ordinary") return market
  const grown = money === "large" ? withLargestNotional(market, random) : index === 2 ? finest(market) : market
  return withTiers(grown, collateral, random)
}

/**
 * The traders' means: the initial collateral of each account, in USDC; whether traders are to be ruined, and which traps are laid for
 * them.
 */
export interface Means {
  readonly collateral: number
  readonly money: "ordinary" | "large" | "small"
  readonly ruins: boolean
  readonly traps: Traps | undefined
  /** Whether a clock is to jump from one funding interval's end to the next. */
  readonly hurries: boolean
}

/**
 * A market whose index makes any step at once, so that a trap's price determines the next mark; with frequent funding, where the trap
 * needs it, or a clock that jumps over intervals, during which the index has to stay fresh.
 */
const trapped = ({ parameters, ...market }: ListedMarket, { hurries, traps }: Means): ListedMarket => {
  const pays = hurries || traps !== undefined && traps.fundingShare > 0
  return {
    ...market,
    parameters: {
      ...parameters,
      ...(traps === undefined ? {} : { indexStepMaxBps: 1_000_000 }),
      ...(hurries ? { indexStaleMs: 3_600_000 } : {}),
      ...(pays ? { fundingIntervalMs: leastIntervalMs, fundingCapE9: Math.max(leastCapE9, parameters.fundingCapE9) } : {})
    }
  }
}

/** A market with drawn liquidation costs, and often with tiers that traders of so much collateral reach. */
const withLiquidation = (market: ListedMarket, { collateral, ruins }: Means, random: SimRandom): ListedMarket => {
  if (!ruins) return market
  const tiered = random.chance(0.4) ? withTiers(market, collateral, random) : market
  const { parameters } = tiered
  const most = Math.floor(parameters.maintenanceMarginTiers[0]!.maintenanceMarginBps / 4)
  return { ...tiered, parameters: { ...parameters, liquidationFeeBps: random.pick([0, Math.min(1, most), most, most]) } }
}

/** A market on a drawn grid. */
const further = (random: SimRandom): ListedMarket => {
  const priceScale = random.between(0, 4)
  const quantityScale = random.between(0, 6 - priceScale)
  const maxPriceAtoms = 2_000_000
  const largest = Math.floor(5e15 / (maxPriceAtoms * notionalFactor({ priceScale, quantityScale })))
  const maxPositionQuantityAtoms = Math.min(1_000_000, largest)
  return patient({
    developmentIndexPriceAtoms: Math.round(50 * 10 ** (3 * random.next())),
    parameters: {
      ...common,
      marketId: "LATE-USDC-PERP",
      baseAsset: "LATE",
      underlyingSymbol: "LATE",
      priceScale,
      quantityScale,
      minPriceAtoms: 1,
      maxPriceAtoms,
      minQuantityAtoms: 1,
      maxQuantityAtoms: Math.ceil(maxPositionQuantityAtoms / 2),
      maxPositionQuantityAtoms,
      initialMarginBps: 400,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 150 }],
      maxLeverageX: 25,
      makerFeeBps: random.between(0, 10),
      takerFeeBps: random.between(0, 20),
      priceBandBps: random.pick([200, 1_000])
    }
  })
}

/** Types of markets that trade in sessions. */
const sessionTypes = ["equity", "commodity", "forex", "index"] as const

/** A market with a week of its own, in which it opens and closes during a run. */
const withSessions = (market: ListedMarket, sessions: Sessions, startEpochMs: number, random: SimRandom): ListedMarket => ({
  ...market,
  parameters: { ...market.parameters, marketType: random.pick(sessionTypes) },
  calendar: Week.draw(sessions, startEpochMs, random)
})

/** The markets of one run that begins at a given time; `random` is the generator named `markets`. */
export const draw = (random: SimRandom, means: Means, sessions?: Sessions, startEpochMs = 0): SimMarkets => {
  const risks = random.split("risks")
  // Half of the runs have moving marks and funding; the others are about what does not depend on them.
  const moves = risks.chance(0.5)
  const drawn = (market: ListedMarket): ListedMarket => trapped(moves ? withRisk(market, risks) : market, means)
  const inSessions = (market: ListedMarket, isOne: boolean): ListedMarket =>
    sessions === undefined || !isOne
      ? market
      : withSessions(market, sessions, startEpochMs, random.split(`sessions/${market.parameters.marketId}`))
  const firstInSessions = simMarkets.length - (sessions?.markets ?? 0)
  const markets = {
    first: simMarkets.map((market, index) =>
      inSessions(
        withLiquidation(
          drawn(atEdge(drawnFrom(market, random), index, means, random.split(`edge/${index}`))),
          means,
          random.split(`liquidation/${index}`)
        ),
        index >= firstInSessions
      )
    ),
    later: inSessions(withLiquidation(drawn(further(random)), means, random.split("liquidation/later")), sessions?.later === true)
  }
  for (const { calendar, parameters } of [...markets.first, markets.later]) {
    const wrong = fault(parameters) ?? (calendar === undefined ? undefined : faultOfCalendar(calendar))
    if (wrong !== undefined) throw new Error(`the simulator drew the market ${parameters.marketId}, and ${wrong}`)
  }
  return markets
}
