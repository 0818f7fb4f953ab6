/**
 * Safety (bounds). No block holds more records than it may, or takes another record once it is full or has as many entries as keep a turn
 * short, and blocks exist not only in memory: each lies on the disk in the journal's published layout.
 */
import * as Block from "../../src/journal/Block.js"
import type { Record } from "../../src/journal/Record.js"
import type { Bounds } from "./Observation.js"
import { broken, holds, type Property } from "./Property.js"

/** Orders to place or cancel of one block, from which on it takes no other command; whatever has none counts as one. */
const mostEntries = 256

interface State {
  bounds: Pick<Bounds, "fullBytes" | "maxRecords">
  /** Records of the current block, except its last. */
  records: Array<Record>
}

const entriesOf = ({ command }: Record): number => "entries" in command ? command.entries.length : 1

/** The size of a block with these records, bytes. */
const sizeOf = (records: ReadonlyArray<Record>): number => {
  const builder = new Block.Builder()
  builder.begin({ epoch: 1, firstSequence: records[0]!.sequence, previousDigest: Block.genesisDigest })
  for (const { atEpochMs, command, sequence } of records) builder.add(sequence, atEpochMs, command)
  return builder.byteLength
}

export const blocks: Property<State> = {
  name: "blocks-keep-to-their-bounds",
  invariant: "bounds",
  kind: "safety",
  initial: () => ({ bounds: { fullBytes: Number.POSITIVE_INFINITY, maxRecords: Number.POSITIVE_INFINITY }, records: [] }),
  observe: (state, seen) => {
    if (seen._tag === "Started") state.bounds = seen.bounds
    if (seen._tag !== "Committed") return holds
    const { block: { bytes, count, firstSequence, misread }, record } = seen
    const { fullBytes, maxRecords } = state.bounds
    if (record.sequence === firstSequence) state.records = []
    if (misread !== undefined) return broken(`block ${firstSequence} ${misread}`)
    if (count > maxRecords) return broken(`block ${firstSequence} holds ${count} records, and ${maxRecords} are the most`)
    if (record.sequence < firstSequence + count - 1) {
      state.records.push(record)
      return holds
    }
    const entries = state.records.reduce((sum, each) => sum + entriesOf(each), 0)
    if (entries >= mostEntries) return broken(`block ${firstSequence} took record ${record.sequence} behind ${entries} entries`)
    if (bytes < fullBytes || state.records.length === 0) return holds
    const before = sizeOf(state.records)
    return before < fullBytes
      ? holds
      : broken(`block ${firstSequence} took record ${record.sequence} at ${before} bytes, and is full at ${fullBytes}`)
  }
}
