/**
 * A market as the public sees it. The registry's digest is cached until a record changes the registry, as each trade does; each
 * market's part of it until a record changes that market, since most markets stand still meanwhile.
 */
import canonicalize from "canonicalize"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import * as Market from "../../domain/Market.js"
import * as Session from "../../domain/Session.js"
import * as Units from "../../domain/Units.js"
import type { MarketView, Reads } from "../../engine/Reads.js"
import { inBoth } from "../accounts/Money.js"
import * as Fields from "../http/Fields.js"
import { sha256 } from "./Digest.js"
import { listedMarkets } from "./Listed.js"

export const MarketStatus = Schema.Literal(...Market.statuses)

/** Maintenance margin tiers: from a notional on, in money atoms, the margin rate of what exceeds it. */
export const MarginTiers = Schema.Array(Schema.Struct({
  notionalThresholdAtoms: Fields.Atoms,
  maintenanceMarginBps: Fields.Count
}))

/**
 * The parameters of mark, funding and liquidations, with which readers can recompute what is published of each. They have the same
 * names as where a market is put, so that they can be put as they were read.
 */
const riskTerms = {
  indexStaleMs: Fields.Count,
  indexStepMaxBps: Fields.Count,
  markBandBps: Fields.Count,
  impactNotional: Fields.Decimal,
  fundingIntervalMs: Fields.Count,
  fundingCapE9: Fields.Count,
  liquidationFeeBps: Fields.Count
}

/**
 * Announced parameters with their effective time: all that can be announced. Those that affect no margin or order are there only where
 * they change.
 */
export const AnnouncedTerms = Schema.Struct({
  effectiveAtEpochMs: Fields.EpochMs,
  underlyingSymbol: Fields.optional(Schema.String).annotations({
    description: "The underlying whose index the market follows from then on; absent where it stays the same."
  }),
  logoUrl: Fields.optional(Schema.String).annotations({ description: "Absent where it stays the same." }),
  minQuantity: Fields.Decimal,
  maxQuantity: Fields.Decimal,
  maxPositionQuantity: Fields.Decimal,
  initialMarginBps: Fields.Count,
  maintenanceMarginTiers: MarginTiers,
  maxLeverageX: Fields.Count,
  makerFeeBps: Fields.Count,
  takerFeeBps: Fields.Count,
  priceBandBps: Fields.Count,
  ...riskTerms
}).annotations({ identifier: "AnnouncedTerms" })

/** The delisting of a market. */
export const Delisting = Schema.Struct({
  state: Schema.Literal("announced", "settling", "settled"),
  effectiveAtEpochMs: Fields.EpochMs.annotations({ description: "When it takes effect, or took effect." }),
  finalPrice: Fields.optional(Fields.Decimal).annotations({
    description: "What all positions are closed at, from when it has taken effect; absent where the market never had an index."
  }),
  finalPriceAtoms: Fields.optional(Fields.Atoms),
  settledAtEpochMs: Fields.optional(Fields.EpochMs).annotations({ description: "When the last position was closed." })
}).annotations({
  identifier: "Delisting",
  description: "From `settling` on the market is `halted` for good, its orders are cancelled (`market_delisted`), and its positions "
    + "are closed without fees at the final price, the average of its index over the last half hour; of a market without a mark in that "
    + "time, over the half hour up to its last mark."
})

const MarketDetails = Schema.Struct({
  marketId: Fields.Text,
  underlyingSymbol: Schema.String,
  marketType: Schema.Literal(...Market.types),
  logoUrl: Schema.String,
  logoUnavailable: Schema.Boolean,
  status: MarketStatus,
  priceScale: Fields.Count,
  quantityScale: Fields.Count,
  minPrice: Fields.Decimal,
  maxPrice: Fields.Decimal,
  minQuantity: Fields.Decimal,
  maxQuantity: Fields.Decimal,
  maxPositionQuantity: Fields.Decimal,
  initialMarginBps: Fields.Count,
  maintenanceMarginTiers: MarginTiers,
  maxLeverageX: Fields.Count,
  makerFeeBps: Fields.Count,
  takerFeeBps: Fields.Count,
  priceBandBps: Fields.Count,
  ...riskTerms,
  announced: Fields.optional(AnnouncedTerms).annotations({
    description: "What the market changes to at a time that is to come; absent where nothing is announced."
  }),
  delisting: Fields.optional(Delisting).annotations({ description: "Absent while the market is neither delisted nor to be." }),
  settlementAsset: Fields.Text,
  symbol: Fields.Text.annotations({ description: "The market's name in the compatibility layer." }),
  lastPriceAtoms: Fields.Atoms,
  lastPrice: Fields.Decimal,
  change24hBps: Fields.Bps,
  favorite: Schema.Boolean.annotations({
    description: "Whether the account that asks has it among its favorites; false without a good credential, and in the digest."
  })
}).annotations({ identifier: "MarketDetails" })

/** A market's trading session. */
export const MarketSession = Schema.Struct({
  state: Schema.Literal(...Session.states).annotations({
    description: "`reduce_only`, from the cutoff to the close: only what reduces a position is taken. `closed`: cancels only. "
      + "A market of the type `crypto` is always open, and has 0 in the three moments that follow."
  }),
  asOfEpochMs: Fields.EpochMs.annotations({ description: "When it became so; of a market that is always open the latest record." }),
  nextOpenEpochMs: Fields.EpochMs.annotations({ description: "When the next session opens; 0 while that is not known." }),
  nextCloseEpochMs: Fields.EpochMs.annotations({ description: "When this session closes, or the next one; 0 while that is not known." }),
  riskIncreasingOrderCutoffEpochMs: Fields.EpochMs.annotations({
    description: "From when until that close nothing is taken that increases risk; 0 while that is not known."
  })
}).annotations({ identifier: "MarketSession" })

/** The session of a market without sessions, as it is sent. */
export const alwaysOpen = ({ atEpochMs }: Pick<Reads, "atEpochMs">): typeof MarketSession.Type => ({
  state: "open",
  asOfEpochMs: atEpochMs,
  nextOpenEpochMs: 0,
  nextCloseEpochMs: 0,
  riskIncreasingOrderCutoffEpochMs: 0
})

/** The session as it is sent. */
export const sessionOf = (state: Reads, { session }: MarketView): typeof MarketSession.Type =>
  session === undefined ? alwaysOpen(state) : {
    state: session.state,
    asOfEpochMs: session.asOfEpochMs,
    nextOpenEpochMs: session.nextOpenEpochMs,
    nextCloseEpochMs: session.nextCloseEpochMs,
    riskIncreasingOrderCutoffEpochMs: session.riskIncreasingOrderCutoffEpochMs
  }

export const MarketSnapshot = Schema.Struct({
  version: Schema.Literal("external-market-snapshot/v1"),
  marketId: Fields.Text,
  status: MarketStatus,
  market: MarketDetails,
  marketSession: MarketSession,
  snapshotSequence: Fields.Sequence,
  readModelDigest: Fields.Digest,
  resync: Fields.resync("market.status")
}).annotations({ identifier: "MarketSnapshot" })
export type MarketSnapshot = typeof MarketSnapshot.Type

/** Parameters that may be announced and that matter to traders. */
const terms = ({ quantityScale, ...parameters }: Market.Parameters) => ({
  minQuantity: Units.formatDecimal(parameters.minQuantityAtoms, quantityScale),
  maxQuantity: Units.formatDecimal(parameters.maxQuantityAtoms, quantityScale),
  maxPositionQuantity: Units.formatDecimal(parameters.maxPositionQuantityAtoms, quantityScale),
  initialMarginBps: parameters.initialMarginBps,
  maintenanceMarginTiers: parameters.maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: String(tier.notionalThresholdAtoms),
    maintenanceMarginBps: tier.maintenanceMarginBps
  })),
  maxLeverageX: parameters.maxLeverageX,
  makerFeeBps: parameters.makerFeeBps,
  takerFeeBps: parameters.takerFeeBps,
  priceBandBps: parameters.priceBandBps,
  indexStaleMs: parameters.indexStaleMs,
  indexStepMaxBps: parameters.indexStepMaxBps,
  markBandBps: parameters.markBandBps,
  impactNotional: Units.formatDecimal(parameters.impactNotionalAtoms, Units.moneyScale),
  fundingIntervalMs: parameters.fundingIntervalMs,
  fundingCapE9: parameters.fundingCapE9,
  liquidationFeeBps: parameters.liquidationFeeBps
})

/** Announced parameters of a market; undefined where there are none. */
export const announcedTerms = ({ announced, parameters: now }: MarketView): typeof AnnouncedTerms.Type | undefined => {
  if (announced === undefined) return undefined
  const { effectiveAtEpochMs, parameters: { logoUrl, underlyingSymbol } } = announced
  return {
    effectiveAtEpochMs,
    ...(underlyingSymbol === now.underlyingSymbol ? undefined : { underlyingSymbol }),
    ...(logoUrl === now.logoUrl ? undefined : { logoUrl }),
    ...terms(announced.parameters)
  }
}

/** The state of a market's delisting; undefined where there is none. */
export const delistingOf = ({ delisting, parameters: { priceScale } }: MarketView): typeof Delisting.Type | undefined => {
  if (delisting === undefined) return undefined
  const { effectiveAtEpochMs, finalPriceAtoms, settledAtEpochMs, state } = delisting
  return {
    state,
    effectiveAtEpochMs,
    ...(finalPriceAtoms === 0 ? undefined : inBoth("finalPrice", finalPriceAtoms, priceScale)),
    ...(settledAtEpochMs === 0 ? undefined : { settledAtEpochMs })
  }
}

const details = (view: MarketView): MarketSnapshot["market"] => {
  const { parameters } = view
  const { priceScale, quantityScale } = parameters
  const announced = announcedTerms(view)
  const delisting = delistingOf(view)
  return {
    marketId: parameters.marketId,
    underlyingSymbol: parameters.underlyingSymbol,
    marketType: parameters.marketType,
    logoUrl: parameters.logoUrl,
    logoUnavailable: parameters.logoUrl === "",
    status: view.status,
    priceScale,
    quantityScale,
    minPrice: Units.formatDecimal(parameters.minPriceAtoms, priceScale),
    maxPrice: Units.formatDecimal(parameters.maxPriceAtoms, priceScale),
    ...terms(parameters),
    ...(announced === undefined ? undefined : { announced }),
    ...(delisting === undefined ? undefined : { delisting }),
    settlementAsset: parameters.settlementAsset,
    symbol: Market.symbol(parameters),
    lastPriceAtoms: String(view.lastPriceAtoms),
    lastPrice: Units.formatDecimal(view.lastPriceAtoms, priceScale),
    change24hBps: String(view.change24hBps),
    favorite: false
  }
}

type Registered = MarketSnapshot["market"] & { readonly session?: typeof MarketSession.Type }

interface Registry {
  readonly sequence: number
  readonly markets: ReadonlyArray<Registered>
}

/** A market as the digest covers it: values that change with time alone are excluded, since the digest belongs to a sequence. */
const registered = (state: Reads, view: MarketView): Registered => ({
  ...details(view),
  change24hBps: "0",
  ...(view.session === undefined ? undefined : { session: sessionOf(state, view) })
})

/** `{sequence, markets}` of the registry as the public sees it: what its digest covers. */
export const registry = (state: Reads): Registry => ({
  sequence: state.registrySequence,
  markets: listedMarkets(state).map((view) => registered(state, view))
})

/** The digest of one venue's registry. Callers that need it often should create this once. */
export const digestOf = (state: Reads): () => string => {
  let digest = { sequence: -1, text: "" }
  /** By market index: the canonical text as of the last record that changed the market. */
  const texts: Array<{ readonly sequence: number; readonly text: string } | undefined> = []

  const textOf = (view: MarketView): string => {
    const known = texts[view.index]
    if (known?.sequence === view.marketSequence) return known.text
    const text = canonicalize(registered(state, view))
    assert(text !== undefined, "a market is JSON")
    texts[view.index] = { sequence: view.marketSequence, text }
    return text
  }

  return () => {
    const { registrySequence } = state
    if (digest.sequence !== registrySequence) {
      // Equal to the canonical form of `registry`, since the names are in order.
      const text = `{"markets":[${listedMarkets(state).map(textOf).join(",")}],"sequence":${registrySequence}}`
      digest = { sequence: registrySequence, text: sha256(text) }
    }
    return digest.text
  }
}

/** A market's snapshot under the registry's digest, as whoever has no favorites sees it. */
export const of = (state: Reads, view: MarketView, readModelDigest: string): MarketSnapshot => ({
  version: "external-market-snapshot/v1",
  marketId: view.parameters.marketId,
  status: view.status,
  market: details(view),
  marketSession: sessionOf(state, view),
  snapshotSequence: view.marketSequence,
  readModelDigest,
  resync: { stream: "market.status", fromSequence: view.marketSequence }
})

/** Snapshots of one venue's markets. Callers that need many should create it once. */
export const make = (state: Reads): (view: MarketView) => MarketSnapshot => {
  const digest = digestOf(state)
  return (view) => of(state, view, digest())
}
