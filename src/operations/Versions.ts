/** The versions that a stretch of the journal is written under. */
import * as Field from "./Field.js"

/** As fields of the commands that journal them, in this order. */
export const fields = {
  /** Of what is decided: another decides otherwise, and cannot replay this one's records. */
  rules: Field.whole("version"),
  /** Of how blocks and records are written. */
  codec: Field.whole("version"),
  /** Of the program, as its package says. */
  program: Field.text("plain")
}

export interface Versions {
  readonly rules: number
  readonly codec: number
  readonly program: string
}
