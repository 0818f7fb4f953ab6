/**
 * For how long histories that stand at a record may say that they are behind: since the next record was made, by the process's clock and
 * the record's time, or since anybody saw it, by true time, whichever is longer: a clock that is behind its journal counts no time.
 */
import type { Record } from "../../src/journal/Record.js"
import { broken, holds, type Verdict } from "./Property.js"

/** A durable record's time, and the last true time that had been seen before it. */
interface Seen {
  readonly atEpochMs: number
  readonly seenEpochMs: number
}

export class LagTold {
  private readonly records = new Map<number, Seen>()

  committed({ atEpochMs, sequence }: Record, seenEpochMs: number): void {
    this.records.set(sequence, { atEpochMs, seenEpochMs })
  }

  /** The time of a record; 0 where there is none. */
  timeOf(sequence: number): number {
    return this.records.get(sequence)?.atEpochMs ?? 0
  }

  /** Checks what is told at a time, by the process's clock and truly, of histories that stand at a record. */
  verdict(lagMs: number, sequence: number, clockEpochMs: number, atEpochMs: number): Verdict {
    const next = this.records.get(sequence + 1)
    const most = next === undefined ? 0 : Math.max(0, clockEpochMs - next.atEpochMs, Math.ceil(atEpochMs - next.seenEpochMs))
    return lagMs <= most
      ? holds
      : broken(`says that it is ${lagMs} ms behind at record ${sequence}, and the next one is there for ${most} ms`)
  }
}
