/**
 * Verifies a journal and its snapshots: replaying every block yields the decisions in its digest, every snapshot is the state at its
 * sequence and leads to the same decisions from there on, and the invariants hold.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import { AssertionFailed } from "../../domain/Assert.js"
import { Engine } from "../../engine/Engine.js"
import { decode } from "../../engine/EventLog.js"
import * as Invariants from "../../engine/Invariants.js"
import * as Snapshot from "../../engine/Snapshot.js"
import type { Capacity } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { DiskError } from "../../journal/Disk.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { SnapshotStore } from "../../journal/SnapshotStore.js"
import type { Outcome } from "../../operations/Operations.js"
import { divergence, runBlock } from "../../sequencer/Recovery.js"
import { stateDigest } from "../../sequencer/StateDigest.js"
import { begin, type Source } from "./Follow.js"
import { allLinesOf } from "./Lines.js"

/** Something differs from the journal's record of it, or violates an invariant. */
export class Differs extends Schema.TaggedError<Differs>()("ReplayDiffers", {
  /** The first sequence that may be affected. */
  sequence: Schema.Number,
  reason: Schema.String,
  /** What replay decided there, one line each. */
  decided: Schema.Array(Schema.String)
}) {
  override get message() {
    return `at sequence ${this.sequence}: ${this.reason}`
  }
}

/** The result for a snapshot. Only a proven one may start a venue; the venue skips others when it starts. */
export interface SnapshotFinding {
  readonly sequence: number
  /** `gone`: a running venue has removed it meanwhile. */
  readonly found: "proven" | "damaged" | "foreign" | "gone"
  readonly detail: string
}

export interface Report {
  readonly records: number
  readonly blocks: number
  readonly firstEpoch: number
  readonly lastEpoch: number
  /** How many epochs wrote blocks. */
  readonly epochs: number
  readonly firstAtEpochMs: number
  readonly lastAtEpochMs: number
  /** SHA-256 of the final state, hex. */
  readonly stateDigest: string
  readonly snapshots: ReadonlyArray<SnapshotFinding>
  /** How often the invariants were checked. */
  readonly invariantChecks: number
}

export interface Options {
  readonly capacity: Capacity
  /** The invariants are checked after every so many blocks, and at the end. */
  readonly invariantsEveryBlocks: number
  /** The digest that the final state must have, hex, where it is known. */
  readonly expectedStateDigest?: string
  /** Called after each block. */
  readonly progress: (block: Block.Block) => void
}

type SnapshotsService = Context.Tag.Service<typeof SnapshotStore>

/** One engine being replayed, and where it started. */
interface Run {
  readonly from: string
  readonly engine: Engine
}

/**
 * Replays everything. `sequences` are those of the snapshots to verify. They must be listed before the journal is opened, so that a running
 * venue cannot have written one that is beyond the part of the journal read here.
 */
export const verify = (
  journal: Source,
  snapshots: SnapshotsService,
  sequences: ReadonlyArray<number>,
  options: Options
): Effect.Effect<Report, Unreadable | Unknown | DiskError | Differs> =>
  Effect.gen(function*() {
    const main: Run = { from: "the start", engine: yield* begin(journal, options.capacity) }
    const fromSequence = main.engine.sequence
    const runs: Array<Run> = [main]
    const findings: Array<SnapshotFinding> = []
    const pending = [...sequences]
    const tally = { blocks: 0, epochs: 0, firstEpoch: 0, lastEpoch: 0, firstAtEpochMs: 0, invariantChecks: 0 }

    const checkInvariants = Effect.suspend(() => {
      tally.invariantChecks++
      const broken = Invariants.firstBroken(main.engine.state)
      return broken === undefined
        ? Effect.void
        : Effect.fail(new Differs({ sequence: main.engine.sequence, reason: broken, decided: [] }))
    })

    const onBlock = Effect.fnUntraced(function*(block: Block.Block) {
      for (const run of runs) {
        const differs = apply(run, block)
        if (differs !== undefined) return yield* differs
      }
      if (block.epoch !== tally.lastEpoch) tally.epochs++
      if (tally.blocks === 0) {
        tally.firstEpoch = block.epoch
        tally.firstAtEpochMs = block.records[0]!.atEpochMs
      }
      tally.lastEpoch = block.epoch
      tally.blocks++
      while (pending.length > 0 && pending[0]! <= block.lastSequence) {
        const sequence = pending.shift()!
        const proof = sequence === block.lastSequence
          ? yield* prove(snapshots, sequence, block, main.engine, options.capacity)
          : { finding: foreign(sequence, "no block ends there"), engine: undefined }
        findings.push(proof.finding)
        if (proof.engine !== undefined) runs.push({ from: `the snapshot at ${sequence}`, engine: proof.engine })
      }
      if (tally.blocks % options.invariantsEveryBlocks === 0) yield* checkInvariants
      options.progress(block)
    })

    if (journal.opened.nextSequence > 1) yield* Stream.runForEach(journal.replay(fromSequence + 1), onBlock)
    yield* checkInvariants
    for (const sequence of pending) findings.push(foreign(sequence, "the journal ends before it"))
    const stateDigest = digestOf(main.engine)
    for (const { engine, from } of runs) {
      const other = digestOf(engine)
      if (other !== stateDigest) {
        const reason = `the state replayed from ${from} is ${other}, and from the start ${stateDigest}`
        return yield* new Differs({ sequence: engine.sequence, reason, decided: [] })
      }
    }
    if (options.expectedStateDigest !== undefined && stateDigest !== options.expectedStateDigest) {
      const reason = `the state is ${stateDigest} where ${options.expectedStateDigest} was expected`
      return yield* new Differs({ sequence: main.engine.sequence, reason, decided: [] })
    }
    const records = main.engine.sequence - fromSequence
    return { ...tally, records, lastAtEpochMs: main.engine.atEpochMs, stateDigest, snapshots: findings }
  })

/** SHA-256 of an engine's state, hex, by which snapshots and reports identify it. */
export const digestOf = (engine: Engine): string => stateDigest(engine.state)

const foreign = (sequence: number, detail: string): SnapshotFinding => ({ sequence, found: "foreign", detail })

const apply = ({ engine, from }: Run, block: Block.Block): Differs | undefined => {
  try {
    const outcomes = runBlock(engine, block)
    const diverged = divergence(engine, block)
    if (diverged === undefined) return undefined
    const reason = `from ${from}, ${diverged.message}`
    return new Differs({ sequence: block.firstSequence, reason, decided: retell(engine, block, outcomes) })
  } catch (error) {
    if (!(error instanceof AssertionFailed)) throw error
    const reason = `from ${from}, sequence ${engine.sequence} cannot be decided again: ${error.message}`
    return new Differs({ sequence: engine.sequence, reason, decided: [] })
  }
}

/** What replay decided in the block just applied, as lines by sequence. */
const retell = (engine: Engine, block: Block.Block, outcomes: ReadonlyArray<Outcome>): ReadonlyArray<string> => {
  const { events } = engine.state
  const decoded = decode(events.words, 0, events.length)
  return block.records.flatMap((record, index) => {
    // A record's events end with `RecordDecided`.
    const end = decoded.findIndex((event) => event.event === "RecordDecided")
    const own = decoded.splice(0, end + 1)
    return [
      `${record.sequence} ${record.command.kind}`,
      ...allLinesOf(engine.state, record, outcomes[index]!, own).map((line) => `${record.sequence}   ${line}`)
    ]
  })
}

/** Compares a snapshot with the state of an engine that has applied the journal from its start up to the snapshot's block. */
const prove = Effect.fnUntraced(function*(
  snapshots: SnapshotsService,
  sequence: number,
  block: Block.Block,
  engine: Engine,
  capacity: Capacity
) {
  const stored = yield* snapshots.load(sequence).pipe(
    Effect.catchIf((error) => error.code === "ENOENT", () => Effect.succeed(undefined))
  )
  const without = (found: SnapshotFinding["found"], detail: string) => ({
    finding: { sequence, found, detail },
    engine: undefined
  })
  if (stored === undefined) return without("gone", "it was removed meanwhile")
  if (typeof stored === "string") return without("damaged", stored)
  if (Buffer.compare(stored.blockDigest, block.digest) !== 0) return without("foreign", "it names another block")
  if (!Snapshot.isKnown(stored.schema)) return without("damaged", `it is of schema ${stored.schema}, which this version cannot read`)
  const restored = yield* Effect.try({
    try: () => new Engine(Snapshot.unsafeDecode(Snapshot.migrate(stored.sections, stored.schema), capacity)),
    catch: (error) => new Differs({ sequence, reason: `the snapshot cannot be loaded: ${String(error)}`, decided: [] })
  })
  const expected = digestOf(engine)
  const held = digestOf(restored)
  if (held !== expected) {
    const reason = `the snapshot holds the state ${held}, where the journal makes it ${expected}`
    return yield* new Differs({ sequence, reason, decided: [] })
  }
  return { finding: { sequence, found: "proven" as const, detail: expected }, engine: restored }
})
