/** The first record of a journal: the environment it belongs to, and the versions it starts under. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

export const OpenVenue = declare({
  kind: "OpenVenue",
  code: 3,
  label: "opening of the venue",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  requests: {},
  fields: {
    environment: Field.text("plain"),
    /** The version of the engine's rules that this journal starts under. */
    rules: Field.whole("version"),
    /** The version of how records and blocks are written. */
    codec: Field.whole("version"),
    /** The program's version, as its package says. */
    program: Field.text("plain")
  },
  share: () => "venue",
  outcome: Done
})
export type OpenVenue = CommandOf<typeof OpenVenue>
