/**
 * Sets the take-profit and the stop-loss of a whole position, replacing everything armed for it, or, with neither, cancels all
 * brackets in one market or all, including those that open orders have yet to arm.
 */
import { Refusal } from "../../domain/Refusal.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"
import { fields } from "./AutoClose.js"

/** The bracket set for a position, or what was cancelled. */
export const AutoCloseSet = Outcome.declare("AutoCloseSet", 9, {
  /** The new bracket; -1 where brackets were only cancelled. */
  bracketNumber: Field.whole(undefined),
  /** The quantity to close; negative for a short position. */
  quantityAtoms: Field.whole("size_atoms"),
  /** Brackets cancelled or replaced. */
  canceled: Field.whole("count")
})
export type AutoCloseSet = Outcome.OutcomeOf<"AutoCloseSet", typeof AutoCloseSet.fields>

export const SetAutoClose = declare({
  kind: "SetAutoClose",
  code: 20,
  label: "take-profit and stop-loss",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "refused",
  keyScope: "account",
  whose: "sender",
  requests: {
    setAutoCloseV1: { code: 15, lookup: "set_auto_close" },
    cancelAutoCloseV1: { code: 16, lookup: "cancel_auto_close" },
    cancelTriggersV1: { code: 17, lookup: "cancel_triggers" }
  },
  fields: {
    /** `anyMarket` for all, only when cancelling; -1 where the requested one does not exist. */
    market: Field.numberOf("market"),
    ...fields,
    /** A refusal the edge already knows; the engine decides nothing else then. */
    fault: Field.code<Refusal>(Object.values(Refusal)),
    /** With a fault: what the client sent in the offending fields. Otherwise empty. */
    raw: Field.text("as_sent")
  },
  share: () => "reduction",
  keeps: "every decision",
  outcome: AutoCloseSet
})
export type SetAutoClose = CommandOf<typeof SetAutoClose>
