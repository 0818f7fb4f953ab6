/**
 * What is proven of the journal that a run leaves: it replays to the same state, from its beginning and behind
 * the snapshot, and a venue that starts over it refuses when it was damaged. Nothing can follow the last proof.
 */
import { Effect, Exit, Layer, Stream } from "effect"
import { Engine } from "../../src/engine/Engine.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { applyBlock } from "../../src/sequencer/Recovery.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import * as Operator from "../workload/Operator.js"
import * as SimClock from "../world/SimClock.js"
import * as SimScheduler from "../world/SimScheduler.js"
import type { Clients } from "./Clients.js"
import type { Follower } from "./Follower.js"
import { capacityOf, type Host } from "./Host.js"
import type { Witness } from "./Witness.js"
import { operatorToken, type World } from "./World.js"

/** Lives on until `done`. */
export type Until = (what: string, done: () => boolean, budgetMs: number) => void

export class Proofs {
  /** Whether the next write of the journal goes astray, or the path of the one that did. */
  #astray = ""

  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly host: Host,
    readonly clients: Clients,
    readonly until: Until
  ) {}

  /** Whether the write of the journal that begins now is the one that goes astray: one of a block, not of a segment's zeros. */
  takesAstray(path: string): boolean {
    if (this.#astray !== "armed" || !path.endsWith(".seg")) return false
    this.#astray = path
    return true
  }

  /** Stops as SIGTERM does, replays from the beginning, starts again (from the snapshot) and compares. */
  replay(): void {
    const { follower, host, witness } = this
    const { model } = follower
    host.stop(true)
    this.until("the graceful stop", () => host.process === undefined, 10_000)
    this.#replayFromStart()
    host.start()
    this.until("the last start", () => host.reads !== undefined, 60_000)
    const { reads } = host
    if (!(reads instanceof Engine)) throw new Error("the venue reads from something that is no engine")
    witness.see({
      _tag: "Replayed",
      from: "the snapshot",
      sequence: reads.sequence,
      digest: stateDigest(reads.state),
      fault: reads.sequence === model.sequence ? undefined : `it stands at ${reads.sequence}, the journal ends at ${model.sequence}`
    })
    follower.inspect(true)
  }

  /** Damages the journal in one of two ways: the next start must refuse it. */
  damageDetected(): void {
    const random = this.world.root.split("flip")
    if (random.chance(0.5) && this.#misdirectionDetected()) return
    const { host, witness, world: { disk } } = this
    host.stop()
    this.until("the last stop", () => host.process === undefined, 10_000)
    const path = random.pick(disk.files().filter((name) => name.endsWith(".seg")))
    const byte = random.below(disk.bytes(path).length)
    const bit = random.below(8)
    disk.flip(path, byte, bit)
    witness.see({ _tag: "Flipped", path, byte, bit, refusal: this.#startOverDamage() })
  }

  /**
   * One write of the journal goes astray while the venue acknowledges it. False if none did: the block went into a segment
   * that the venue still writes under the name which it was made under, as it does with a segment's zeros.
   */
  #misdirectionDetected(): boolean {
    const [market] = this.follower.model.markets
    let told: number | undefined
    this.#astray = "armed"
    this.clients.sendUnheard(Operator.setIndexPrice(operatorToken, "misdirected", market!.parameters, market!.mark), (status) => {
      told = status
    })
    this.until("the misdirected write", () => told !== undefined, 60_000)
    if (told !== 200) throw new Error(`a write that went astray was answered ${told}`)
    if (this.#astray === "armed") {
      // What a start writes again as it already stands must not be taken for that block.
      this.#astray = ""
      return false
    }
    this.host.process?.crash("kill")
    const refusal = this.#startOverDamage()
    this.witness.see({ _tag: "Misdirected", path: this.#astray, refusal })
    return true
  }

  /** Starts the process over a damaged journal: why it refused, or undefined if it serves. */
  #startOverDamage(): string | undefined {
    let refusal: string | undefined
    let served = false
    this.host.startTelling({
      ready: () => {
        served = true
      },
      ended: (failure) => {
        refusal = failure ?? "it ended without a word"
      }
    })
    this.until("the start over a damaged journal", () => served || refusal !== undefined, 60_000)
    return served ? undefined : refusal
  }

  #replayFromStart(): void {
    const { disk, options, schedule, time } = this.world
    const engine = Engine.make(capacityOf(options))
    const scheduler = SimScheduler.make(schedule, 0)
    let fault: string | undefined
    const replayed = Effect.flatMap(Journal, (journal) =>
      Stream.runForEach(journal.replay(1), (block) =>
        Effect.sync(() => {
          const diverged = fault === undefined ? applyBlock(engine, block) : undefined
          if (diverged !== undefined) fault = diverged.message
        }))).pipe(
        Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, disk.mount())),
        Effect.provide(Layer.setClock(SimClock.make(time, scheduler.ready)))
      )
    const fiber = Effect.runFork(replayed, { scheduler })
    let exit: Exit.Exit<void, unknown> | undefined
    fiber.addObserver((result) => {
      exit = result
    })
    while (exit === undefined && (scheduler.runOne() || time.advance()));
    if (exit === undefined || Exit.isFailure(exit)) fault = `it failed: ${exit === undefined ? "it never ended" : String(exit.cause)}`
    this.witness.see({ _tag: "Replayed", from: "the start", sequence: engine.sequence, digest: stateDigest(engine.state), fault })
  }
}
