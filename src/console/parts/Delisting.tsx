/** The delisting of a market: when it takes effect, or took effect, and its final price; nothing where there is none. */
import type * as Contract from "../state/Contract.js"
import { decimal } from "../state/Words.js"
import { Moment } from "./Moment.js"

export const Delisting = ({ market: { delisting } }: { readonly market: Pick<Contract.Market["market"], "delisting"> }) =>
  delisting === undefined ? null : (
    <span class="fine">
      {` ${delisting.state === "announced" ? "delisting" : "delisted"} at `}
      <Moment atEpochMs={delisting.effectiveAtEpochMs} />
      {delisting.finalPrice !== undefined && `, final price ${decimal(delisting.finalPrice)}`}
    </span>
  )
