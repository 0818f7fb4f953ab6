/** Notes when API keys were last used, for many keys at once and rarely, so that no request has to be journaled for it. */
import * as Field from "../Field.js"
import { Principal } from "../Header.js"
import { type CommandOf, declare } from "../Operation.js"
import { Done } from "../Outcome.js"

/** Most keys of one note. */
export const mostNotedUses = 64

export const NoteKeyUses = declare({
  kind: "NoteKeyUses",
  code: 40,
  label: "note of key uses",
  principals: [Principal.venue],
  permission: "internal",
  underHalt: "taken",
  keyScope: "none",
  whose: "nobody",
  requests: {},
  fields: {
    uses: Field.list({ apiKey: Field.numberOf("api_key"), usedAtEpochMs: Field.whole("epoch_ms") }, mostNotedUses, "sender")
  },
  share: () => "placement",
  keeps: "every decision",
  outcome: Done
})
export type NoteKeyUses = CommandOf<typeof NoteKeyUses>
