/** Changed parameters for a market that trades, whatever is open in it: costs, bands, bounds and margins, looser and tighter. */
import type { Parameters } from "../../src/domain/Market.js"
import type { SimRandom } from "../world/SimRandom.js"

type Tier = Parameters["maintenanceMarginTiers"][number]

/** Tiers with every threshold and rate moved; the first tier always begins at 0. */
const moved = (tiers: ReadonlyArray<Tier>, thresholds: number, bps: number): ReadonlyArray<Tier> =>
  tiers.map((tier) => ({
    notionalThresholdAtoms: Math.floor(tier.notionalThresholdAtoms * thresholds),
    maintenanceMarginBps: Math.max(1, tier.maintenanceMarginBps + bps)
  }))

/** Values at a limit of what a market may have, or just beyond. */
const atEdges = (now: Parameters, random: SimRandom): ReadonlyArray<Partial<Parameters>> => [
  { takerFeeBps: random.pick([1_000, 1_001]) },
  { makerFeeBps: random.pick([1_000, 1_001]) },
  { priceBandBps: random.pick([0, 9_999, 10_000]) },
  { maxLeverageX: random.pick([0, 1, 1_000, 1_001]) },
  { priceScale: now.priceScale + random.pick([-1, 1]) },
  { quantityScale: now.quantityScale + random.pick([-1, 1]) },
  { underlyingSymbol: random.pick(["", "X".repeat(32), "X".repeat(33)]) },
  { logoUrl: random.pick(["", "l".repeat(512), "l".repeat(513)]) },
  { minQuantityAtoms: random.pick([0, now.maxQuantityAtoms, now.maxQuantityAtoms + 1]) },
  { maxPositionQuantityAtoms: now.maxQuantityAtoms - 1 },
  { initialMarginBps: random.pick([0, 10_000, 10_001]) },
  {
    maintenanceMarginTiers: Array.from({ length: random.pick([16, 17]) }, (_, index) => ({
      notionalThresholdAtoms: index * 1_000_000_000,
      maintenanceMarginBps: now.maintenanceMarginTiers[0]!.maintenanceMarginBps + index
    }))
  }
]

/** A single tier from the first atom on. */
const flat = (maintenanceMarginBps: number): ReadonlyArray<Tier> => [{ notionalThresholdAtoms: 0, maintenanceMarginBps }]

/** The largest position whose notional is still below 2^53 money atoms at the highest price, plus `above`. */
const atExact = (maxPriceAtoms: number, scales: number, above: number): number =>
  Number((2n ** 53n - 1n) / (BigInt(maxPriceAtoms) * 10n ** BigInt(6 - scales))) + above

/** Quantity bounds that just allow a position of this size. */
const upTo = (now: Parameters, maxPositionQuantityAtoms: number): Partial<Parameters> => ({
  minQuantityAtoms: Math.min(now.minQuantityAtoms, maxPositionQuantityAtoms),
  maxQuantityAtoms: Math.min(now.maxQuantityAtoms, maxPositionQuantityAtoms),
  maxPositionQuantityAtoms
})

/** Sizes and prices at the limit of a rule between parameters, just inside or just outside. */
const boundsAtRules = (now: Parameters, random: SimRandom): ReadonlyArray<() => Partial<Parameters>> => {
  const { maxPositionQuantityAtoms, maxPriceAtoms, priceScale, quantityScale } = now
  const scales = priceScale + quantityScale
  return [
    () => upTo(now, atExact(maxPriceAtoms, scales, random.pick([0, 1]))),
    // On the finest grid the product may be exactly 2^53.
    () => ({
      quantityScale: 6 - priceScale,
      minPriceAtoms: 1,
      maxPriceAtoms: 2 ** 24,
      minQuantityAtoms: 1,
      maxQuantityAtoms: 1,
      maxPositionQuantityAtoms: 2 ** 29 - random.pick([0, 1])
    }),
    () => {
      const highest = 2 ** 31 - random.pick([0, 1])
      return { maxPriceAtoms: highest, ...upTo(now, Math.min(maxPositionQuantityAtoms, atExact(highest, scales, 0))) }
    },
    () => ({ minPriceAtoms: random.pick([0, 1, maxPriceAtoms, maxPriceAtoms + 1]) }),
    () => ({ quantityScale: random.pick([6, 7]) - priceScale, ...upTo(now, 1) }),
    () => ({ impactNotionalAtoms: random.pick([0, 1]) })
  ]
}

/** Margins and dependent parameters at the limit of a rule between parameters, just inside or just outside. */
const marginsAtRules = (now: Parameters, random: SimRandom): ReadonlyArray<() => Partial<Parameters>> => {
  const { initialMarginBps: initial, maintenanceMarginTiers: [tier], maxLeverageX } = now
  const first = tier!.maintenanceMarginBps
  const feeBps = Math.max(1, Math.floor(first / 4))
  const second = (notionalThresholdAtoms: number, maintenanceMarginBps: number): Partial<Parameters> => ({
    maintenanceMarginTiers: [...flat(first), { notionalThresholdAtoms, maintenanceMarginBps }]
  })
  return [
    () => second(1_000_000_000, first + random.pick([0, 1])),
    () => second(random.pick([0, 1]), first + 1),
    () => second(1_000_000_000, random.pick([10_000, 10_001])),
    () => ({ maintenanceMarginTiers: [{ notionalThresholdAtoms: random.pick([0, 1]), maintenanceMarginBps: first }] }),
    () => ({ maintenanceMarginTiers: flat(initial - random.pick([0, 1])), markBandBps: 0, liquidationFeeBps: 0 }),
    () => ({ maintenanceMarginTiers: flat(random.pick([0, 1])), markBandBps: 0, liquidationFeeBps: 0 }),
    () => ({ maintenanceMarginTiers: flat(4 * feeBps - random.pick([0, 1, 1])), markBandBps: 0, liquidationFeeBps: feeBps }),
    () => ({ markBandBps: initial - first + random.pick([-1, 0, 1]) }),
    () => ({ maxLeverageX: Math.floor(10_000 / initial) + random.pick([0, 1]) }),
    () => ({ initialMarginBps: Math.floor(10_000 / maxLeverageX) + random.pick([0, 1]) })
  ]
}

/** A market at the limit of one of the rules between parameters, or just outside. */
export const atRules = (now: Parameters, random: SimRandom): Parameters => {
  const ways: ReadonlyArray<() => Partial<Parameters>> = [
    ...boundsAtRules(now, random),
    ...marginsAtRules(now, random),
    () => ({ indexStaleMs: random.pick([999, 1_000]) }),
    () => ({ fundingIntervalMs: random.pick([7_000, 9_600, 9_999, 10_000, 11_000, 86_400_000, 86_400_001]) })
  ]
  return { ...now, ...random.pick(ways)() }
}

/** Share of changes to a limit. */
const edgeShare = 0.2

/** A market that requires more margin, or allows smaller positions, as an operator announces it. Invalid values are refused. */
export const tighter = (now: Parameters, random: SimRandom): Parameters => {
  const { initialMarginBps, maintenanceMarginTiers: tiers, maxLeverageX, maxPositionQuantityAtoms, maxQuantityAtoms } = now
  const asked = Math.min(10_000, initialMarginBps * random.pick([2, 3, 5]) + random.below(10))
  const leverage = Math.min(maxLeverageX, Math.floor(10_000 / asked))
  const needed = Math.max(0, Math.floor(asked * random.pick([0.4, 0.7, 0.95])) - tiers[0]!.maintenanceMarginBps)
  const held = Math.max(now.minQuantityAtoms, Math.floor(maxPositionQuantityAtoms * random.pick([0.9, 0.3, 0.01])))
  const ways: ReadonlyArray<() => Partial<Parameters>> = [
    () => ({ initialMarginBps: asked, maxLeverageX: leverage }),
    () => ({
      initialMarginBps: asked,
      maxLeverageX: leverage,
      maintenanceMarginTiers: moved(tiers, 1, needed),
      markBandBps: Math.min(now.markBandBps, 1)
    }),
    () => ({
      initialMarginBps: asked,
      maxLeverageX: leverage,
      maintenanceMarginTiers: moved(tiers, 1, needed),
      markBandBps: 0,
      priceBandBps: random.pick([150, 700])
    }),
    () => ({
      initialMarginBps: 10_000,
      maxLeverageX: 1,
      maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: random.pick([2_500, 9_000]) }]
    }),
    () => ({ maxLeverageX: Math.max(1, Math.floor(maxLeverageX * random.pick([0.2, 0.5]))) }),
    // An order's maximum cannot be lowered with notice: that is refused.
    () =>
      random.chance(0.5) ? { maxPositionQuantityAtoms: Math.max(maxQuantityAtoms, held) } : {
        maxPositionQuantityAtoms: held,
        maxQuantityAtoms: Math.min(maxQuantityAtoms, held)
      },
    () => changed(now, random)
  ]
  return { ...now, ...random.pick(ways)() }
}

/** A market with slightly more maintenance margin than an equity of so many bps of the notional held there. */
export const justTighter = (now: Parameters, equityBps: number): Parameters => {
  const maintenanceMarginBps = Math.floor(equityBps) + 1
  const initialMarginBps = Math.max(now.initialMarginBps, maintenanceMarginBps + 1)
  return {
    ...now,
    initialMarginBps,
    maxLeverageX: Math.min(now.maxLeverageX, Math.floor(10_000 / initialMarginBps)),
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps }],
    markBandBps: 0
  }
}

/** One of the ways in which an operator may change a market. Values that are invalid, or not allowed now, are refused. */
export const changed = (now: Parameters, random: SimRandom): Parameters => {
  const { initialMarginBps, maintenanceMarginTiers: tiers, maxPriceAtoms, maxPositionQuantityAtoms, maxQuantityAtoms } = now
  const lowerMargin = Math.max(tiers[0]!.maintenanceMarginBps + 1, Math.floor(initialMarginBps * 0.8))
  const ways: ReadonlyArray<() => Partial<Parameters>> = [
    () => ({ makerFeeBps: random.between(0, 12), takerFeeBps: random.between(0, 40) }),
    () => ({ priceBandBps: random.pick([50, 150, 700, 2_000, 6_000]) }),
    () => ({ initialMarginBps: lowerMargin }),
    () => ({ initialMarginBps: lowerMargin, maxLeverageX: Math.floor(10_000 / lowerMargin) }),
    () => ({ initialMarginBps: Math.min(Math.floor(10_000 / now.maxLeverageX), initialMarginBps + random.between(1, 50)) }),
    () => ({ maxLeverageX: Math.max(1, now.maxLeverageX - 1) }),
    () => ({ maintenanceMarginTiers: moved(tiers, random.pick([1, 1.5, 3]), random.pick([0, -1, -1])) }),
    () => ({ maintenanceMarginTiers: moved(tiers, random.pick([0.5, 1, 2]), random.pick([0, 1])) }),
    () => ({ maintenanceMarginTiers: tiers.slice(0, 1) }),
    // Less margin at the thresholds of some tiers, and more between them.
    () => ({
      maintenanceMarginTiers: [{
        notionalThresholdAtoms: 0,
        maintenanceMarginBps: random.between(tiers[0]!.maintenanceMarginBps, tiers.at(-1)!.maintenanceMarginBps)
      }]
    }),
    () => ({ maxPriceAtoms: maxPriceAtoms + random.between(-1, 3) }),
    () => ({ minPriceAtoms: Math.max(1, now.minPriceAtoms + random.between(-2, 1)) }),
    () => ({ maxPositionQuantityAtoms: Math.max(maxQuantityAtoms, maxPositionQuantityAtoms + random.pick([-1, -1, 1, 1_000])) }),
    () => ({ maxQuantityAtoms: Math.max(now.minQuantityAtoms, Math.floor(maxQuantityAtoms * random.pick([0.5, 0.9, 1.1]))) }),
    () => ({ logoUrl: `https://example.com/${random.below(1_000)}.svg` })
  ]
  return { ...now, ...(random.chance(edgeShare) ? random.pick(atEdges(now, random)) : random.pick(ways)()) }
}

/** Funding intervals: the shortest ones, one that hardly ends within a run, and one that does not divide a day. */
export const fundingIntervalsMs: ReadonlyArray<number> = [10_000, 20_000, 30_000, 3_600_000, 7_000_000]

/**
 * A market with another index, mark, funding or liquidation, looser or tighter: it takes effect at the next tick, and between two
 * payments.
 */
export const ofRisk = (now: Parameters, random: SimRandom): Parameters => {
  const { fundingCapE9, impactNotionalAtoms, initialMarginBps, liquidationFeeBps, maintenanceMarginTiers: [first] } = now
  const room = initialMarginBps - first!.maintenanceMarginBps
  const most = Math.floor(first!.maintenanceMarginBps / 4)
  const ways: ReadonlyArray<() => Partial<Parameters>> = [
    () => ({ indexStaleMs: random.pick([31_622_400_001, 1_000, 5_000, 60_000, 3_600_000]) }),
    () => ({ indexStepMaxBps: random.pick([10, 100, 500, 1_000_000]) }),
    () => ({ markBandBps: random.pick([0, Math.floor(room / 2), room, room + 1]) }),
    () => ({ impactNotionalAtoms: Math.max(1, Math.floor(impactNotionalAtoms * random.pick([0.01, 0.5, 2, 100]))) }),
    () => ({ fundingIntervalMs: random.pick(fundingIntervalsMs) }),
    () => ({ fundingCapE9: Math.max(0, random.pick([0, 1_000, fundingCapE9 - 1, fundingCapE9 + 1, 40_000_000])) }),
    () => ({ liquidationFeeBps: Math.max(0, random.pick([0, liquidationFeeBps - 1, liquidationFeeBps + 1, most, most + 1])) })
  ]
  return { ...now, ...random.pick(ways)() }
}
