/**
 * Converts sections of schema 3, written under rules 2 and 3, to schema 4, which adds marks, funding and their parameters. Under
 * those rules the mark was the index and no funding was paid.
 */
import * as Market from "../../domain/Market.js"
import * as FundingLog from "../FundingLog.js"
import { type MarketDump, MarketRisk } from "../Markets.js"
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

type Parameters3 = Omit<Market.Parameters, keyof Market.RiskParameters>
type MarketDump3 = Omit<MarketDump, "parameters" | "risk"> & { readonly parameters: Parameters3 }

export const toSchema4 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  const markets = from.json("markets.values") as ReadonlyArray<MarketDump3>
  const changed = new Set(["markets.values", "venue.values", "accounts.totals"])
  for (const { bytes, name } of sections) if (!changed.has(name)) into.bytes(name, bytes)
  into.json("venue.values", { ...from.json("venue.values") as object, settling: 0 })
  into.json("accounts.totals", { ...from.json("accounts.totals") as object, fundingPoolLow: 0, fundingPoolHigh: 0 })
  into.json("markets.values", markets.map((market): MarketDump => ({
    ...market,
    parameters: { ...market.parameters, ...Market.riskDefaults(market.parameters) },
    risk: { ...new MarketRisk(), mark: market.indexPrice }
  })))
  const none = FundingLog.make().dump()
  markets.forEach((_, index) => into.column(`markets.fundings.${index}`, none))
  return into.sections
}
