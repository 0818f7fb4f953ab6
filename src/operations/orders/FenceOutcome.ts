/**
 * Makes sure that a key or a clientOrderId which was never seen does not act for as long as keys are remembered, so that a late
 * original cannot land.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Until when the fence holds; a late original would act after that. Rules 1 and 2 reported no time: `Done`. */
export const FenceSet = Outcome.declare("FenceSet", 7, { holdsUntilEpochMs: Field.whole("epoch_ms") })
export type FenceSet = Outcome.OutcomeOf<"FenceSet", typeof FenceSet.fields>

export const FenceOutcome = declare({
  kind: "FenceOutcome",
  code: 13,
  label: "fence",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  // A fence only prevents actions.
  underHalt: "taken",
  keyScope: "account",
  whose: "sender",
  requests: { fenceV1: { code: 12, lookup: null } },
  fields: {
    /** The key to fence, or empty. */
    fencedKey: Field.text("as_sent"),
    /** The clientOrderId to fence, or empty. */
    fencedClientOrderId: Field.text("as_sent")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: FenceSet
})
export type FenceOutcome = CommandOf<typeof FenceOutcome>
