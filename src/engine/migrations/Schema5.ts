/** Sections of schema 5, which rules 5 wrote, as those of schema 6: marks that can be read with what they were made of. */
import { BalanceLog } from "../BalanceLog.js"
import type { MarketDump } from "../Markets.js"
import * as MarkLog from "../MarkLog.js"
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

export const toSchema6 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  for (const { name } of sections) into.bytes(name, from.bytes(name))
  const none = MarkLog.make().dump()
  const markets = from.json("markets.values") as ReadonlyArray<MarketDump>
  markets.forEach((_, index) => into.column(`markets.marks.${index}`, none))
  into.column("accounts.balances", new BalanceLog().dump())
  return into.sections
}
