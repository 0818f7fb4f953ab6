/**
 * The first record after a start: the program that continues from here, its rules, and the state it starts from. Where the versions
 * change, this is the step from one to the other: earlier blocks are verified by their chain, and replayed by the version that
 * wrote them.
 */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"
import * as Versions from "../Versions.js"

export const StartVenue = declare({
  kind: "StartVenue",
  code: 15,
  label: "start of the venue",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    ...Versions.fields,
    /** At a step to other rules: SHA-256 of the snapshot that the state was read from, lowercase hex. Otherwise empty. */
    stateBefore: Field.text("plain"),
    /** At a step: SHA-256 of the migrated state's canonical form, before this record. Otherwise empty. */
    stateAfter: Field.text("plain")
  },
  share: () => "start",
  keeps: "every decision",
  outcome: Done
})
export type StartVenue = CommandOf<typeof StartVenue>
