/** The versions under which a stretch of the journal is written. */
import * as Field from "./Field.js"

/** As fields of the commands that journal them, in this order. */
export const fields = {
  /** The version of the rules: another one decides otherwise and cannot replay these records. */
  rules: Field.whole("version"),
  /** The format version of blocks and records. */
  codec: Field.whole("version"),
  /** The program version, from its package. */
  program: Field.text("plain")
}

export interface Versions {
  readonly rules: number
  readonly codec: number
  readonly program: string
}

/** The version that decided records. */
export type DecidingVersion = Pick<Versions, "program" | "rules">

/** Says which version decided what this one does not decide again. */
export const decidedBy = (lastSequence: number, { program, rules }: DecidingVersion): string =>
  `the records up to ${lastSequence} were decided by version ${program} (rules ${rules}), which alone runs them`
