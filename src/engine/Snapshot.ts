/**
 * The engine's state as named byte sections, to bound the start-up time, and its canonical form, to compare two states
 * independently of storage. A snapshot is never trusted over the journal: replay verifies it.
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

/** The version of the sections' content: incremented with every change, together with a migration from the previous version. */
export const schema = 6

const migrations: ReadonlyMap<number, (sections: ReadonlyArray<Section>) => ReadonlyArray<Section>> = new Map([
  [2, toSchema3],
  [3, toSchema4],
  [4, toSchema5],
  [5, toSchema6]
])

/** Whether sections of a schema can be migrated to the present one. */
export const isKnown = (from: number): boolean => from === schema || migrations.has(from)

/** Migrates sections of an older schema to the present one. */
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

/** The state as sections. The bytes are copies, so the engine may continue at once. */
export const encode = (state: State): ReadonlyArray<Section> => written(state).sections

/** The state of an engine that stands still until all sections are read: rows are not copied as a whole, only piece by piece. */
export const stream = (state: State, pieceBytes?: number): ReadonlyArray<Section | Streamed> => written(state, pieceBytes).streamed

/**
 * Allocates the memory into which sections are read, for one decoding by a state of this capacity: rows of a table are read to
 * where the table will keep them.
 */
export const memoryFor = (capacity: Capacity): (name: string, bytes: number) => Omit<Section, "name"> => {
  const lengths = new Map(parts.flatMap(({ tables }) => [...tables?.(capacity) ?? []]))
  return (name, bytes) => {
    const length = lengths.get(name)
    // A section beyond the capacity will not be decoded.
    if (length === undefined || bytes > length * Float64Array.BYTES_PER_ELEMENT) return { bytes: new Uint8Array(bytes) }
    const room = new Room(length)
    return { bytes: room.bytes(bytes), room }
  }
}

/** Decodes a state. Throws where the sections are not those of a state, and `OutOfRoom` where the capacity cannot hold it. */
export const unsafeDecode = (sections: ReadonlyArray<Section>, capacity: Capacity): State => {
  const state = new State(capacity)
  const from = new SectionReader(sections)
  for (const part of parts) part.restore(state, from)
  return state
}

/**
 * Feeds the state's content in an order that does not depend on storage: two states are equal exactly when they feed the same.
 * Numbers and strings come one line each.
 */
export const canonical = (state: State, feed: (line: string) => void): void => {
  for (const part of parts) part.canonical(state, feed)
}
