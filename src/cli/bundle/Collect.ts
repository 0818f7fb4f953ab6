/** Builds a bundle from a data directory, with the results of running it under this program. Only reads, and may run beside a venue. */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { AssertionFailed } from "../../domain/Assert.js"
import { Engine } from "../../engine/Engine.js"
import * as EngineSnapshot from "../../engine/Snapshot.js"
import * as Block from "../../journal/Block.js"
import type { Capacity } from "../../engine/State.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { OlderFormat, type Unreadable } from "../../journal/Journal.js"
import { keptBefore, type Snapshot, SnapshotStore } from "../../journal/SnapshotStore.js"
import { applyBlock } from "../../sequencer/Recovery.js"
import { stateDigest } from "../../sequencer/StateDigest.js"
import { versions } from "../../sequencer/Versions.js"
import { programVersion } from "../../domain/Version.js"
import * as Bundle from "./Bundle.js"
import * as RawBlocks from "./RawBlocks.js"

/** The range holds more than a bundle may. */
export class TooLarge extends Data.TaggedError("TooLarge")<{ readonly sequence: number }> {
  override get message() {
    return `by sequence ${this.sequence} the blocks have more than ${Bundle.maxBytes} bytes: ask for fewer (--from, --to)`
  }
}

/** Sequences, inclusive: from 1, and not beyond what is durable. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** The versions of the program and of Node that make bundles here. */
export const maker = { program: programVersion, node: process.version } as const

/**
 * The blocks that hold `range`, from the newest intact snapshot before it that belongs to this journal. Without such a snapshot, or where
 * `range` begins at 1, they begin with the journal's first.
 */
export const collect = (
  range: Range,
  capacity: Capacity,
  notes: Readonly<Record<string, string>> = {}
): Effect.Effect<Bundle.Contents, Unreadable | DiskError | TooLarge, Disk | SnapshotStore> =>
  Effect.gen(function*() {
    const base = yield* snapshotBefore(range, capacity)
    const blocks: Array<Bundle.Sealed> = []
    let bytes = base === undefined ? 0 : base.sections.reduce((sum, section) => sum + section.bytes.length, 0)
    yield* RawBlocks.each(base === undefined ? 1 : base.sequence + 1, range.to, (block): Effect.Effect<void, OlderFormat | TooLarge> => {
      const { codec, firstSequence } = block.header
      if (codec !== Block.codecVersion) return new OlderFormat({ sequence: firstSequence, codec })
      bytes += block.bytes.length
      if (bytes > Bundle.maxBytes) return new TooLarge({ sequence: block.header.firstSequence })
      blocks.push(block)
      return Effect.void
    })
    return describe({ base, blocks, capacity, asked: range, notes })
  })

/** The newest state that ends before a range and that the journal confirms. */
const snapshotBefore = Effect.fnUntraced(function*({ from }: Range, capacity: Capacity) {
  for (const { load } of yield* keptBefore(yield* SnapshotStore, from)) {
    const loaded = yield* load
    if (typeof loaded !== "string" && isLoadable(loaded, capacity) && (yield* isVouched(loaded))) return loaded
  }
  return undefined
})

const isLoadable = (snapshot: Snapshot, capacity: Capacity): boolean => {
  try {
    engineOf(snapshot, capacity)
    return true
  } catch {
    // As when a venue starts, the journal can always be replayed without a snapshot.
    return false
  }
}

const isVouched = (snapshot: Snapshot): Effect.Effect<boolean, Unreadable | DiskError, Disk> => {
  let vouched = false
  return RawBlocks.each(snapshot.sequence, snapshot.sequence, ({ digest, header }) =>
    Effect.sync(() => {
      vouched = header.lastSequence === snapshot.sequence && digest.equals(snapshot.blockDigest)
    })).pipe(Effect.map(() => vouched))
}

/** The collected state and blocks, before they are run. */
export interface Found {
  /** As in `Bundle.Contents`. */
  readonly base: Snapshot | undefined
  readonly blocks: ReadonlyArray<Bundle.Sealed>
  readonly capacity: Capacity
  readonly asked: Range
  readonly notes: Readonly<Record<string, string>>
}

/** Runs the blocks and adds the results: the final state, or the first block that is decided differently. */
export const describe = ({ asked, base, blocks, capacity, notes }: Found): Bundle.Contents => {
  const { divergedAt, engine } = run(base, blocks, capacity)
  return {
    ...maker,
    environment: engine.environment,
    rules: versions.rules,
    capacity,
    asked,
    base,
    blocks: blocks.map(({ bytes }) => bytes),
    finalStateDigest: divergedAt === undefined ? stateDigest(engine.state) : undefined,
    divergedAt,
    redactedFor: undefined,
    notes
  }
}

/** The engine of a snapshot, whichever schema it was written in. */
const engineOf = ({ schema, sections }: Snapshot, capacity: Capacity): Engine =>
  new Engine(EngineSnapshot.unsafeDecode(EngineSnapshot.migrate(sections, schema), capacity))

/** A divergence does not prevent the bundle: it may be the very subject of it. */
const run = (base: Snapshot | undefined, blocks: ReadonlyArray<Bundle.Sealed>, capacity: Capacity) => {
  const engine = base === undefined ? Engine.make(capacity) : engineOf(base, capacity)
  for (const block of blocks) {
    try {
      if (applyBlock(engine, Bundle.decode(block)) !== undefined) return { engine, divergedAt: block.header.firstSequence }
    } catch (error) {
      if (!(error instanceof AssertionFailed)) throw error
      return { engine, divergedAt: block.header.firstSequence }
    }
  }
  return { engine, divergedAt: undefined }
}
