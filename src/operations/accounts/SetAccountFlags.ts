/** Sets and clears flags of an account; all others stay as they are. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import * as Outcome from "../Outcome.js"

/** Flags by name, in the order of their bits, which are journaled: names are added at the end. */
export const flagNames = ["bot", "load_harness", "disabled"] as const
export type FlagName = (typeof flagNames)[number]

/** The bit of a flag. */
export const flagBit = (name: FlagName): number => 1 << flagNames.indexOf(name)

/** An account's flags after the command. */
export const AccountFlagged = Outcome.declare("AccountFlagged", 13, {
  account: Field.numberOf("account"),
  flags: Field.whole("bits"),
  /** 1 where it may trade: enabled and not disabled by a flag. */
  mayTrade: Field.whole("count")
})
export type AccountFlagged = Outcome.OutcomeOf<"AccountFlagged", typeof AccountFlagged.fields>

export const SetAccountFlags = declare({
  kind: "SetAccountFlags",
  code: 43,
  label: "account flags",
  principals: [Principal.operator],
  permission: "operator",
  underHalt: "taken",
  keyScope: "venue",
  whose: { field: "ofAccount", names: "account" },
  requests: { setAccountFlags: { code: 57, lookup: null } },
  fields: {
    ofAccount: Field.numberOf("account"),
    /** Bits that become set, and bits that become clear. */
    set: Field.whole("bits"),
    clear: Field.whole("bits"),
    /** Whether the owner is notified: not in records of earlier versions. */
    tellsOwner: Field.addedFlag
  },
  share: () => "operator",
  keeps: "every decision",
  outcome: AccountFlagged
})
export type SetAccountFlags = CommandOf<typeof SetAccountFlags>
