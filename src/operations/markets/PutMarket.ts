/** Creates a market (in `draft`), updates one within the rules, or announces an update. */
import * as Market from "../../domain/Market.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { MarketChanged } from "./MarketChanged.js"

const parameters = {
  marketId: Field.text("plain"),
  baseAsset: Field.text("plain"),
  quoteAsset: Field.text("plain"),
  settlementAsset: Field.choice(["USDC"]),
  underlyingSymbol: Field.text("plain"),
  marketType: Field.choice(Market.types),
  logoUrl: Field.text("plain"),
  priceScale: Field.whole("scale"),
  quantityScale: Field.whole("scale"),
  minPriceAtoms: Field.whole("price_atoms"),
  maxPriceAtoms: Field.whole("price_atoms"),
  minQuantityAtoms: Field.whole("size_atoms"),
  maxQuantityAtoms: Field.whole("size_atoms"),
  maxPositionQuantityAtoms: Field.whole("size_atoms"),
  initialMarginBps: Field.whole("bps"),
  maintenanceMarginTiers: Field.list({
    notionalThresholdAtoms: Field.whole("money_atoms"),
    maintenanceMarginBps: Field.whole("bps")
  }, 16, "sender"),
  maxLeverageX: Field.whole("leverage"),
  makerFeeBps: Field.whole("bps"),
  takerFeeBps: Field.whole("bps"),
  priceBandBps: Field.whole("bps"),
  // Defaults for records of rules 3 or older. Such records are decided by the version that wrote them; here they are only
  // displayed.
  indexStaleMs: Field.added("duration_ms", 10_000),
  indexStepMaxBps: Field.added("bps", 500),
  markBandBps: Field.added("bps", 0),
  impactNotionalAtoms: Field.added("money_atoms", 10_000_000_000),
  fundingIntervalMs: Field.added("duration_ms", 3_600_000),
  fundingCapE9: Field.added("e9", 0),
  liquidationFeeBps: Field.added("bps", 0)
}

export const PutMarket = declare({
  kind: "PutMarket",
  code: 4,
  label: "market parameters",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: "nobody",
  requests: { putMarket: { code: 20, lookup: null } },
  fields: {
    parameters: Field.record(parameters),
    /** The effective time; 0: at once, as for all records older than the field. */
    effectiveAtEpochMs: Field.added("epoch_ms", 0)
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: MarketChanged
})
export type PutMarket = CommandOf<typeof PutMarket>
