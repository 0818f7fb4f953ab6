/** The first record of a journal: the environment it belongs to, and the versions it starts under. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"
import * as Versions from "../Versions.js"

export const OpenVenue = declare({
  kind: "OpenVenue",
  code: 3,
  label: "opening of the venue",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    environment: Field.text("plain"),
    ...Versions.fields
  },
  share: () => "venue",
  keeps: "every decision",
  outcome: Done
})
export type OpenVenue = CommandOf<typeof OpenVenue>
