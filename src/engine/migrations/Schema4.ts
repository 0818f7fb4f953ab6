/**
 * Converts sections of schema 4, written under rules 4, to schema 5, which adds liquidations, take-profit and stop-loss, parameters
 * with notice, and readable funding payments. Under those rules nobody was liquidated, so every account is checked against its
 * maintenance margin from the first record on; and nothing was announced.
 */
import { Brackets } from "../accounts/Brackets.js"
import { Rankings } from "../accounts/Rankings.js"
import * as FundingPayments from "../FundingPayments.js"
import * as LiquidationLog from "../LiquidationLog.js"
import { type MarketDump, MarketRisk } from "../Markets.js"
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

/** Bytes in an account's row. */
const accountBytes = 128

export const toSchema5 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  const changed = new Set(["venue.values", "markets.values"])
  for (const { bytes, name } of sections) if (!changed.has(name)) into.bytes(name, bytes)
  into.json("markets.values", (from.json("markets.values") as ReadonlyArray<MarketDump>).map(({ risk, ...market }): MarketDump => ({
    ...market,
    risk: { ...new MarketRisk(), ...risk }
  })))
  const examining = from.bytes("accounts.rows").length / accountBytes
  into.json("venue.values", { ...from.json("venue.values") as object, examining, unwindFrom: 0 })
  into.json("accounts.liquidations", [])
  into.column("accounts.liquidationLog", LiquidationLog.make().dump())
  into.column("accounts.fundLog", LiquidationLog.makeFundLog().dump())
  into.column("accounts.rankings", new Rankings().dump())
  into.column("accounts.brackets", new Brackets().dump())
  into.json("accounts.bracketsReached", [])
  into.column("accounts.fundingPayments", FundingPayments.make().dump())
  return into.sections
}
