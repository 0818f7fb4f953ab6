/**
 * Replaces a ticket by its successor; a ticket that was replaced before ends its family when it is presented again. Only the
 * ticket's place in its family is journaled: its text is created and verified at the edge, with a secret that is in no journal.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { TicketIssued, ticketFields } from "./Credentials.js"

export const RotateTicket = declare({
  kind: "RotateTicket",
  code: 37,
  label: "ticket rotation",
  principals: [Principal.ticket],
  permission: "proof",
  underHalt: "taken",
  keyScope: "none",
  whose: { field: "family", names: "ticket_family" },
  requests: { rotateTicket: { code: 51, lookup: null } },
  fields: {
    ...ticketFields,
    /** Where the ticket was presented from, as the venue saw it; empty in records of earlier programs. */
    remoteAddress: Field.addedText("as_sent", "")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: TicketIssued
})
export type RotateTicket = CommandOf<typeof RotateTicket>
