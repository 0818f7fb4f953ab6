/**
 * Sets the take-profit and the stop-loss of a whole position in the place of all that is armed for it, or, without either, cancels
 * what would close positions by itself: of one market or of all, and what open orders have yet to arm with it.
 */
import { Refusal } from "../../domain/Refusal.js"
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"
import { fields } from "./AutoClose.js"

/** What an account has set for a position, or cancelled. */
export const AutoCloseSet = Outcome.declare("AutoCloseSet", 9, {
  /** What was set; -1 where it was only cancelled. */
  bracketNumber: Field.whole(undefined),
  /** For how much of a long position; below zero for a short one. */
  quantityAtoms: Field.whole("size_atoms"),
  /** How many were cancelled or replaced. */
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
    /** `anyMarket` for all, which is only cancelled; -1 where the request named none that there is. */
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
