/** Registers the account as an affiliate; repeating keeps the first time. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const RegisterAffiliate = declare({
  kind: "RegisterAffiliate",
  code: 42,
  label: "affiliate registration",
  principals: [Principal.key, Principal.session],
  permission: "trade",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { registerAffiliate: { code: 56, lookup: null } },
  fields: {},
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type RegisterAffiliate = CommandOf<typeof RegisterAffiliate>
