/**
 * What a capability owns of the state: how it is stored in a snapshot, how its content is digested independently of storage, and
 * its invariants. The engine only composes the parts.
 */
import type { SectionReader, SectionWriter } from "./Sections.js"
import type { Capacity, State } from "./State.js"

export interface Part {
  /**
   * Writes the part's sections. Bytes, columns and JSON are given as copies; all other sections are read only when they are
   * written.
   */
  readonly encode: (state: State, into: SectionWriter) => void
  /**
   * Fills a new state from the sections. Parts are restored in their order. Throws where the sections are not those of a state, and
   * `OutOfRoom` where the capacity cannot hold them.
   */
  readonly restore: (state: State, from: SectionReader) => void
  /**
   * Lengths of the tables that are allocated at full size, by the name of the section they begin with, in numbers of 8 bytes. A
   * section read into memory of that length is used as the table without copying. Left out where no table has a fixed length.
   */
  readonly tables?: (capacity: Capacity) => ReadonlyMap<string, number>
  /** Feeds the part's content line by line, in an order that does not depend on how it is stored. */
  readonly canonical: (state: State, feed: (line: string) => void) => void
  /** The first broken invariant, found by recomputing everything; undefined when all hold. For tools, tests and the simulator. */
  readonly firstBroken: (state: State) => string | undefined
}

/** For a part without invariants. */
export const holds = (): undefined => undefined
