/** Builds whole journals in the real writer's format without waiting for the disk, for benchmarks that read them. */
import { Effect, Layer } from "effect"
import { assert } from "../../src/domain/Assert.js"
import type { Command } from "../../src/operations/Operations.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import * as Block from "../../src/journal/Block.js"
import { Disk, type Mode } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { atEpochMs, capacityFor, commandsPerBlock, type Shape } from "./EngineCommands.js"

const notDurably = (mode: Mode): Mode => mode === "write durably" ? "write" : mode === "create durably" ? "create" : mode

/** The real disk without syncs: nothing here needs to survive a power failure. */
const unsynced = (directory: string) =>
  Layer.map(NodeDisk.layer(directory), (context) => context).pipe(
    (layer) =>
      Layer.effect(
        Disk,
        Effect.map(Disk, (disk) =>
          Disk.of({
            ...disk,
            open: (path, mode) => Effect.map(disk.open(path, notDurably(mode)), (file) => ({ ...file, dataSync: Effect.void }))
          }))
      ).pipe(Layer.provide(layer))
  )

/**
 * Journals commands in blocks of 64 as a venue would, with a snapshot at the first block that ends at `snapshotAt` or later (0: none); by
 * default at the stream's own times. Returns the engine that decided them.
 */
export const build = (
  directory: string,
  shape: Shape,
  commands: ReadonlyArray<Command>,
  snapshotAt: number,
  timeOf: (sequence: number) => number = (sequence) => atEpochMs(shape, sequence)
): Promise<Engine> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const snapshots = yield* SnapshotStore.SnapshotStore
    const engine = Engine.make(capacityFor(shape))
    const builder = new Block.Builder()
    const { events } = engine.state
    let previousDigest: Uint8Array = Block.genesisDigest
    let saved = snapshotAt === 0
    for (let from = 0; from < commands.length; from += commandsPerBlock) {
      builder.begin({ epoch: journal.opened.epoch, firstSequence: from + 1, previousDigest })
      for (let at = from; at < Math.min(commands.length, from + commandsPerBlock); at++) {
        builder.add(at + 1, timeOf(at + 1), commands[at]!)
        engine.apply(commands[at]!, at + 1, timeOf(at + 1))
      }
      const block = builder.finish(Block.sha256(events.bytes()))
      events.clear()
      yield* journal.append(block, { epoch: block.epoch, previousDigest })
      previousDigest = block.digest
      if (saved || block.lastSequence < snapshotAt) continue
      yield* snapshots.save({
        sequence: block.lastSequence,
        blockDigest: block.digest,
        schema: Snapshot.schema,
        sections: Snapshot.encode(engine.state)
      })
      saved = true
    }
    assert(saved, "the journal reaches the snapshot")
    return engine
  }).pipe(
    Effect.provide(Layer.merge(SegmentJournal.layer(), SnapshotStore.layer).pipe(Layer.provide(unsynced(directory)))),
    Effect.runPromise
  )
