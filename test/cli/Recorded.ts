/** A journal in a folder of its own, written through the real journal and disk from what an engine was driven to do. */
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll } from "vitest"
import * as Follow from "../../src/cli/replay/Follow.js"
import { Engine } from "../../src/engine/Engine.js"
import { type DecodedEvent, decode } from "../../src/engine/EventLog.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { type Capacity, State } from "../../src/engine/State.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import type { Record } from "../../src/journal/Record.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"

export const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

/** An engine that remembers each record with the bytes of its events. */
export class RecordingEngine extends Engine {
  readonly taken: Array<{ readonly record: Record; readonly decided: Buffer }> = []
  readonly events: Array<DecodedEvent> = []

  constructor() {
    super(new State(capacity))
  }

  override apply(command: Command, sequence: number, atEpochMs: number): Outcome {
    const { events } = this.state
    events.clear()
    const outcome = super.apply(command, sequence, atEpochMs)
    this.events.push(...decode(events.words, 0, events.length))
    this.taken.push({ record: { sequence, atEpochMs, command }, decided: Buffer.from(events.bytes()) })
    return outcome
  }
}

/** What is written differently from the recording. */
export interface Lie {
  /** The block with this sequence claims another outcome. */
  readonly outcomeAt?: number
}

export interface Written {
  readonly folder: string
  readonly blocks: ReadonlyArray<Block.Encoded>
}

/** A new folder, to be removed by the caller. */
export const newFolder = (): string => fs.mkdtempSync(path.join(os.tmpdir(), "replay-"))

/** Makes folders that are removed when the suite ends. */
export const folders = (): () => string => {
  const made: Array<string> = []
  afterAll(() => {
    for (const each of made) fs.rmSync(each, { recursive: true })
  })
  return () => {
    const folder = newFolder()
    made.push(folder)
    return folder
  }
}

/** Segments that a few dozen blocks fill. */
const options = { segmentBytes: 64 * 1024, maxBlockBytes: 32 * 1024 }

/** Writes a recording as blocks of 1, 2, 3, 4, 5, 1, 2 ... records. */
export const write = (recording: RecordingEngine, folder: string, lie: Lie = {}): Promise<Written> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const builder = new Block.Builder()
    const blocks: Array<Block.Encoded> = []
    let previousDigest = journal.opened.digest
    for (let at = 0; at < recording.taken.length;) {
      const turn = recording.taken.slice(at, at + 1 + (blocks.length % 5))
      const { epoch } = journal.opened
      const firstSequence = turn[0]!.record.sequence
      builder.begin({ epoch, firstSequence, previousDigest })
      for (const { record } of turn) builder.add(record.sequence, record.atEpochMs, record.command)
      const decided = Buffer.concat(turn.map((taken) => taken.decided))
      const lies = lie.outcomeAt !== undefined && turn.some(({ record }) => record.sequence === lie.outcomeAt)
      const block = builder.finish(Block.sha256(lies ? Buffer.concat([decided, Buffer.from("otherwise")]) : decided))
      yield* journal.append(block, { epoch, previousDigest })
      previousDigest = block.digest
      blocks.push(block)
      at += turn.length
    }
    return { folder, blocks }
  }).pipe(
    Effect.provide(Layer.provide(SegmentJournal.layer(options), NodeDisk.layer(folder))),
    Effect.runPromise
  )

/** The state of a recording at a sequence. */
export const stateAt = (recording: RecordingEngine, sequence: number): State => {
  const engine = Engine.make(capacity)
  for (const { record } of recording.taken.slice(0, sequence)) engine.apply(record.command, record.sequence, record.atEpochMs)
  return engine.state
}

/** Saves a state as the snapshot at the end of a block. */
export const saveSnapshot = (
  folder: string,
  block: Pick<Block.Encoded, "lastSequence" | "digest">,
  state: State
): Promise<void> =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    yield* snapshots.save({
      sequence: block.lastSequence,
      blockDigest: block.digest,
      schema: Snapshot.schema,
      sections: Snapshot.encode(state)
    })
  }).pipe(
    Effect.provide(Layer.provide(SnapshotStore.layer, NodeDisk.layer(folder))),
    Effect.runPromise
  )

/** Layers for reading a data directory without writing to it. */
export const reading = (folder: string) =>
  Layer.provideMerge(
    Layer.merge(SegmentJournal.layerReadOnly, SnapshotStore.layerReadOnly),
    NodeDisk.layer(folder)
  )

/** The state in its canonical form. */
export const canonical = (state: State): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines
}

/** The engine behind the last record of a journal. */
export const followed = (journal: Follow.Source, within: Capacity) => Follow.follow(journal, within, Follow.passive, (engine) => engine)
