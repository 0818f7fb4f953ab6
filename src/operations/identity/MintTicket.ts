/** Begins a family of realtime tickets for the account of the sending key. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TicketIssued } from "./Credentials.js"

export const MintTicket = declare({
  kind: "MintTicket",
  code: 36,
  label: "ticket",
  principals: [Principal.key],
  permission: "read",
  underHalt: "taken",
  keyScope: "none",
  whose: "sender",
  requests: { mintTicket: { code: 50, lookup: null } },
  fields: {
    /** The ticket's scopes, among those of the key. */
    scopes: Field.whole("bits")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: TicketIssued
})
export type MintTicket = CommandOf<typeof MintTicket>
