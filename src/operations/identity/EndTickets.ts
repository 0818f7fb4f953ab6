/** Ends the family of a current or previous ticket; any other ticket has no effect. */
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"
import { ticketFields } from "./Credentials.js"

export const EndTickets = declare({
  kind: "EndTickets",
  code: 38,
  label: "end of tickets",
  principals: [Principal.ticket],
  permission: "proof",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "family", names: "ticket_family" },
  requests: { endTickets: { code: 52, lookup: null } },
  fields: ticketFields,
  share: () => "revocation",
  keeps: "every decision",
  outcome: Done
})
export type EndTickets = CommandOf<typeof EndTickets>
