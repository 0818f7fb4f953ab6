/** One command in the journal. */
import type { Command } from "../operations/Operations.js"

export interface Record {
  /** Gapless, from 1. */
  readonly sequence: number
  /** Never going back. */
  readonly atEpochMs: number
  readonly command: Command
}
