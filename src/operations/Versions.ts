/** The versions that a stretch of the journal is written under. */
export interface Versions {
  /** Of what is decided: another decides otherwise, and cannot replay this one's records. */
  readonly rules: number
  /** Of how blocks and records are written. */
  readonly codec: number
  /** Of the program, as its package says. */
  readonly program: string
}
