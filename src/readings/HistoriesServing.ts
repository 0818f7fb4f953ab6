/**
 * Makes a venue's histories beside it, for `HistoriesBeside`: it receives what the venue's memory has, reads older blocks from the journal
 * itself, and answers reads.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { assert } from "../domain/Assert.js"
import type { Capacity } from "../engine/State.js"
import { Disk } from "../journal/Disk.js"
import * as JournalReading from "../journal/Reading.js"
import * as LastStep from "../journal/LastStep.js"
import { SnapshotStore } from "../journal/SnapshotStore.js"
import * as Histories from "../readmodel/Histories.js"
import { HistoriesDatabase } from "../readmodel/HistoriesDatabase.js"
import * as Feed from "../sequencer/Feed.js"
import { readRun } from "../sequencer/Recent.js"
import { Turns } from "../sequencer/Turns.js"
import { pauseOf } from "../sequencer/Writer.js"
import { type Asked, type Begun, isGivenUp, type Said } from "./HistoriesProtocol.js"

/** Blocks read from the journal before memory is asked again for what follows. */
const askedEvery = 64

/** Requests blocks from the venue's memory, one request at a time. */
class Memory {
  private asked: { readonly sequence: number; readonly answer: Deferred.Deferred<Feed.Run | undefined> } | undefined

  constructor(private readonly say: (said: Said) => void) {}

  /** The blocks from the one that contains a sequence on, once there are any; undefined where memory does not have them. */
  from(sequence: number): Effect.Effect<Feed.Run | undefined> {
    return Effect.flatMap(Deferred.make<Feed.Run | undefined>(), (answer) => {
      this.asked = { sequence, answer }
      this.say({ _tag: "Wanted", sequence })
      return Deferred.await(answer)
    })
  }

  given(sequence: number, run: Feed.Run | undefined): void {
    // An answer to a request that is no longer open is ignored: if it is repeated, the same blocks are given then.
    if (this.asked?.sequence === sequence) Deferred.unsafeDone(this.asked.answer, Exit.succeed(run))
  }
}

/** Reads on from a sequence: from memory where it has the blocks, otherwise from the journal. */
class Reader implements Feed.Reading<Feed.Committed> {
  private blocks: ReadonlyArray<Feed.Committed> = []
  private index = 0
  private far: Feed.Reading<Feed.Committed> | undefined
  private sinceAsked = 0

  constructor(private readonly memory: Memory, private readonly source: Feed.Source, private nextSequence: number) {}

  readonly next: Effect.Effect<Feed.Committed, Feed.ReadError> = Effect.suspend(() => {
    const { far, nextSequence, source: { head } } = this
    const block = this.blocks[this.index++]
    if (block !== undefined) return Effect.succeed(this.move(block))
    if (far !== undefined && nextSequence <= head.durableSequence() && ++this.sinceAsked % askedEvery !== 0) return this.fromJournal(far)
    return Effect.flatMap(this.memory.from(nextSequence), (run) => {
      if (run === undefined) return this.fromJournal(this.far ??= Feed.reading(this.source, this.nextSequence))
      this.blocks = readRun(run)
      this.index = 0
      return Effect.zipRight(this.close, this.next)
    })
  })

  /** Stops reading from the journal. */
  get close(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { far } = this
      this.far = undefined
      return far === undefined ? Effect.void : far.close
    })
  }

  private fromJournal(far: Feed.Reading<Feed.Committed>): Effect.Effect<Feed.Committed, Feed.ReadError> {
    return Effect.map(far.next, (committed) => this.move(committed))
  }

  private move(committed: Feed.Committed): Feed.Committed {
    const { firstSequence, lastSequence } = committed.block
    assert(firstSequence <= this.nextSequence && this.nextSequence <= lastSequence, "blocks follow each other")
    this.nextSequence = lastSequence + 1
    return committed
  }
}

/** Begins to serve; `ended` is called once everything is closed after an `End`. */
export const serve = (
  { durable, environment, givenUp, hasBegun, options }: Begun,
  capacity: Capacity,
  say: (said: Said) => void,
  ended: () => void
): Effect.Effect<(asked: Asked) => void, never, Disk | SnapshotStore | HistoriesDatabase | Turns> =>
  Effect.gen(function*() {
    const durableAt = new BigInt64Array(durable)
    const durableSequence = (): number => Number(Atomics.load(durableAt, 0))
    const snapshots = yield* SnapshotStore
    const journal = JournalReading.reading(yield* Disk, () => [], durableSequence)
    // This reader never waits for records to become durable: memory supplies those.
    const head: Feed.Head = { durableSequence, at: () => undefined, read: () => undefined, reached: () => Effect.yieldNow() }
    const source: Feed.Source = { journal, snapshots, capacity, head, pause: pauseOf(yield* Turns) }
    const memory = new Memory(say)
    const scope = yield* Scope.make()
    const histories = yield* Scope.extend(
      Histories.make({
        database: yield* HistoriesDatabase,
        feed: {
          ...Feed.make(source),
          from: (sequence) => Feed.stream(Effect.sync(() => new Reader(memory, source, sequence)))
        },
        durableSequence,
        digestAt: (sequence) => JournalReading.digestAt(journal.links, sequence),
        stepSequence: LastStep.lastSequence(journal, snapshots),
        firstStepSequence: LastStep.firstSequence(journal, snapshots),
        environment,
        hasBegun,
        reached: (reached) => say({ _tag: "Reached", reached })
      }, options),
      scope
    )
    const fork = Runtime.runFork(yield* Effect.runtime<never>())
    return (asked) => {
      switch (asked._tag) {
        case "Given":
          return memory.given(asked.sequence, asked.run)
        case "End":
          fork(Effect.ensuring(Scope.close(scope, Exit.void), Effect.sync(ended)))
          return
        case "Read": {
          const { id, parameters, question } = asked
          // It takes no time from those that somebody waits for.
          if (isGivenUp(givenUp, id)) return say({ _tag: "Found", id, read: undefined })
          const read: (...parameters: ReadonlyArray<never>) => Effect.Effect<Histories.Read<unknown>, Histories.Unavailable> =
            histories[question]
          const nothing = (): void => say({ _tag: "Found", id, read: undefined })
          const asks = Effect.map(Effect.suspend(() => read(...parameters as ReadonlyArray<never>)),
            (found) => say({ _tag: "Found", id, read: found }))
          // A bug is logged, and only this read gets no answer.
          const told = Effect.catchAllDefect(asks,
            (defect) => Effect.zipRight(Effect.logError("the histories could not answer", defect), Effect.sync(nothing)))
          fork(Effect.catchTag(told, "HistoriesUnavailable", () => Effect.sync(nothing)))
        }
      }
    }
  })
