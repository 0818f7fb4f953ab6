/** What is announced of a market: the terms that are to change, beside the present ones. */
import type * as Contract from "../../../client/venue/Contract.js"
import { changesOf } from "../../state/market/Announced.js"
import { Moment } from "../Moment.js"
import { Section } from "../Section.js"

export const Announced = ({ market }: { readonly market: Contract.MarketSnapshot["market"] }) => {
  const changes = changesOf(market)
  if (market.announced === undefined || changes.length === 0) return null
  return (
    <Section title="Announced terms">
      <p>
        From <Moment atEpochMs={market.announced.effectiveAtEpochMs} /> on:
      </p>
      <dl class="facts">
        {changes.map(({ next, now, term }) => [<dt key={term}>{term}</dt>, <dd>{next}, now {now}</dd>])}
      </dl>
    </Section>
  )
}
