/**
 * What a capability owns of the state: how it is kept in a snapshot, how it is told however it is stored, and what must
 * hold of it. The engine only composes the parts.
 */
import type { SectionReader, SectionWriter } from "./Sections.js"
import type { Capacity, State } from "./State.js"

export interface Part {
  /** Writes the part's sections. What is given as bytes, as a column or as JSON is a copy; all else is read when it is written. */
  readonly encode: (state: State, into: SectionWriter) => void
  /**
   * Brings a new state to what the sections say. Parts are restored in their order. Throws where the sections are not a
   * state's, and `OutOfRoom` where the capacity cannot hold them.
   */
  readonly restore: (state: State, from: SectionReader) => void
  /**
   * How long the tables are that begin with a section's rows, numbers of 8 bytes by the section's name: read to memory of that length, they
   * are not copied. Left out where no table has its length from the start.
   */
  readonly tables?: (capacity: Capacity) => ReadonlyMap<string, number>
  /** Feeds the part's content in an order that does not depend on how it is stored, a line a thing. */
  readonly canonical: (state: State, feed: (line: string) => void) => void
  /** The first thing found wrong, by adding everything up anew; undefined when all holds. For tools, tests and the simulator. */
  readonly firstBroken: (state: State) => string | undefined
}

/** A part of which nothing can be added up. */
export const holds = (): undefined => undefined
