/**
 * The engine's state as named byte sections, to bound start-up time, and its canonical form, to compare two
 * states however they are stored. A snapshot is never trusted over the journal: replay proves it.
 */
import { assert } from "../domain/Assert.js"
import { toSchema4 } from "./migrations/Schema3.js"
import { toSchema5 } from "./migrations/Schema4.js"
import { toSchema3 } from "./migrations/Schema2.js"
import { toSchema6 } from "./migrations/Schema5.js"
import { Room } from "./Columns.js"
import { parts } from "./Parts.js"
import { type Section, SectionReader, SectionWriter, type Streamed } from "./Sections.js"
import { type Capacity, State } from "./State.js"

export type { Section }

/** The version of what the sections hold: raised with every change of them, together with a migration from the one before. */
export const schema = 6

const migrations: ReadonlyMap<number, (sections: ReadonlyArray<Section>) => ReadonlyArray<Section>> = new Map([
  [2, toSchema3],
  [3, toSchema4],
  [4, toSchema5],
  [5, toSchema6]
])

/** Whether this program can bring sections of a schema to its own. */
export const isKnown = (from: number): boolean => from === schema || migrations.has(from)

/** Sections of an older schema as those of this one. */
export const migrate = (sections: ReadonlyArray<Section>, from: number): ReadonlyArray<Section> => {
  let migrated = sections
  for (let at = from; at < schema; at++) {
    const step = migrations.get(at)
    assert(step !== undefined, `there is a migration from schema ${at}`)
    migrated = step(migrated)
  }
  return migrated
}

const written = (state: State, pieceBytes?: number): SectionWriter => {
  const into = new SectionWriter(pieceBytes)
  for (const part of parts) part.encode(state, into)
  return into
}

/** The state as sections. The bytes are copies: the engine may go on at once. */
export const encode = (state: State): ReadonlyArray<Section> => written(state).sections

/** The same of an engine that stands still until all of them are read: what it has in rows is never there twice, but for a piece. */
export const stream = (state: State, pieceBytes?: number): ReadonlyArray<Section | Streamed> => written(state, pieceBytes).streamed

/**
 * The memory that sections are read to, from which a state of this capacity is decoded once: rows of a table to where the table may
 * lie.
 */
export const memoryFor = (capacity: Capacity): (name: string, bytes: number) => Omit<Section, "name"> => {
  const lengths = new Map(parts.flatMap(({ tables }) => [...tables?.(capacity) ?? []]))
  return (name, bytes) => {
    const length = lengths.get(name)
    // Of one that this capacity cannot hold nothing is decoded.
    if (length === undefined || bytes > length * Float64Array.BYTES_PER_ELEMENT) return { bytes: new Uint8Array(bytes) }
    const room = new Room(length)
    return { bytes: room.bytes(bytes), room }
  }
}

/** The state that was encoded. Throws where the sections are not a state's, and `OutOfRoom` where the capacity cannot hold it. */
export const unsafeDecode = (sections: ReadonlyArray<Section>, capacity: Capacity): State => {
  const state = new State(capacity)
  const from = new SectionReader(sections)
  for (const part of parts) part.restore(state, from)
  return state
}

/**
 * Feeds the state's content in an order that does not depend on how it is stored: two states are the same
 * exactly when what they feed is. Numbers and texts come one line each.
 */
export const canonical = (state: State, feed: (line: string) => void): void => {
  for (const part of parts) part.canonical(state, feed)
}
