/**
 * Proofs about the journal that a run leaves: it replays to the same state, from its beginning and from the snapshot, and a venue that
 * starts over it after damage refuses. Nothing can follow the last proof.
 */
import * as crypto from "node:crypto"
import { Effect, Exit, Layer, Stream } from "effect"
import { none } from "../../src/domain/None.js"
import { minuteMs } from "../../src/domain/Durations.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import type { Reads } from "../../src/engine/Reads.js"
import type { State } from "../../src/engine/State.js"
import type { Disk } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import type { Committed, Feed } from "../../src/sequencer/Feed.js"
import { applyBlock } from "../../src/sequencer/Recovery.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import type * as Venue from "../../src/Venue.js"
import * as Drills from "../drills/Drills.js"
import type { Observation } from "../properties/Observation.js"
import * as Operator from "../workload/Operator.js"
import * as Forgery from "../world/Forgery.js"
import * as SimClock from "../world/SimClock.js"
import type { SimDisk } from "../world/SimDisk.js"
import type * as SimFollower from "../world/SimFollower.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as SimScheduler from "../world/SimScheduler.js"
import type { Clients } from "./Clients.js"
import { Copies } from "./Copies.js"
import type { Follower } from "./Follower.js"
import { isTight } from "../faults/Options.js"
import { isDelisted } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { boundsOf, capacityOf, type Host, newestSnapshot, snapshotEveryOf } from "./Host.js"
import * as Plants from "./Plants.js"
import * as Probes from "./Probes.js"
import { Rebuilding } from "./Rebuilding.js"
import { unwatched } from "./Watched.js"
import type { Witness } from "./Witness.js"
import { operatorToken, type World } from "./World.js"

/** How long a follower may take to reach the journal's end, in all and for each record: it may have to begin anew. */
const followedMs = 120_000
const followedMsEach = 100

/** How long a follower that has caught up may take to be compared, ms. */
const comparedMs = 2_000

/** One of so many runs does each of the probes that start a venue. */
const probeDraws = 6

/** Records of the journal over which a run drills. */
const drilledRecords = 40

/** How long a venue may take to find that its follower's state differs. */
const lyingMs = 10_000

/** Runs the simulation until `done`, or fails after the budget. */
export type Until = (what: string, done: () => boolean, budgetMs: number) => void

export class Proofs {
  /** "armed" if the next write of a block is to go astray; then the path of the one that did; otherwise empty. */
  #astray = ""
  /** The engine of the last process that was started over damage and served. */
  #reads: Reads | undefined

  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly host: Host,
    readonly clients: Clients,
    readonly until: Until
  ) {}

  /** Whether a write of the journal went astray, so that what the process calls durable need not be. */
  get isAstray(): boolean {
    return this.#astray !== ""
  }

  /** Whether the write of the journal that begins now is the one that goes astray: that of a block, not of a segment's zeros. */
  takesAstray(path: string): boolean {
    if (this.#astray !== "armed" || !path.endsWith(".seg")) return false
    this.#astray = path
    return true
  }

  /** Stops as SIGTERM does, replays from the beginning, starts again (from the snapshot) and compares. */
  replay(): void {
    const { follower, host, witness } = this
    const { model } = follower
    this.until("the histories' catching up", () => {
      follower.drain()
      return host.histories?.()?.sequence === model.sequence
    }, 30_000)
    this.until("the follower's catching up", () => {
      follower.drain()
      return host.followers === undefined || host.followers.standing.sequence >= model.sequence
    }, followedMs + follower.records * followedMsEach)
    this.#countSnapshots()
    this.#restFollower()
    host.stop(true)
    this.until("the graceful stop", () => host.process === undefined, 10_000)
    const replayed = this.#replayFromStart()
    this.#guardsHold(replayed.state)
    host.start()
    this.until("the last start", () => host.reads !== undefined, 60_000)
    // A mark may be made as soon as the venue is ready: the engine is compared between two records.
    if (host.reads?.sequence !== model.sequence) {
      this.until("a moment with nothing under way", () => {
        follower.drain()
        return host.reads?.sequence === model.sequence
      }, 10_000)
    }
    const { reads } = host
    if (!(reads instanceof Engine)) throw new Error("the venue reads from something that is no engine")
    witness.see({
      _tag: "Replayed",
      from: "the snapshot",
      sequence: reads.sequence,
      digest: stateDigest(reads.state),
      fault: reads.sequence === model.sequence ? undefined : `it stands at ${reads.sequence}, the journal ends at ${model.sequence}`,
      unsound: soundness(reads.state, reads.sequence)
    })
    this.#goOn(replayed)
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
    const lost = Forgery.sequenceAt(disk, path, byte)
    disk.flip(path, byte, bit)
    witness.see({ _tag: "Flipped", path, byte, bit, lost, refusal: this.#startOverDamage() })
  }

  /**
   * Makes one write of the journal go astray while the venue acknowledges it. False if none did, because the command had been journaled
   * before, or if nothing of it is left.
   */
  #misdirectionDetected(): boolean {
    const { markets } = this.follower.model
    // A delisted market takes no price: where there is no other market, its refusal is journaled instead.
    const priced = markets.find((each) => each.risk.index !== 0 && !isDelisted(each))
    const market = priced ?? markets[0]!
    let told: number | undefined
    this.#astray = "armed"
    this.clients.sendUnheard(Operator.setIndexPrice(operatorToken, "misdirected", market.parameters, market.risk.index), (status) => {
      told = status
    })
    this.until("the misdirected write", () => told !== undefined, 60_000)
    // A small table of keys may be full for the operator, too: then nothing was journaled.
    const isFull = told === 503 && isTight(boundsOf(this.world.options))
    const isTaken = told === (priced === undefined ? 400 : 200)
    if (!isTaken && !isFull) throw new Error(`a write that went astray was answered ${told}`)
    if (this.#astray === "armed") {
      // A later write of a start must not be taken for that block.
      this.#astray = ""
      return false
    }
    // Where the next block went to the same place, the disk looks as after a power failure in between, which is indistinguishable.
    if (!this.world.disk.astrayStands()) return false
    this.host.process?.crash("kill")
    const refusal = this.#startOverDamage()
    this.witness.see({ _tag: "Misdirected", path: this.#astray, refusal })
    return true
  }

  /** Starts the process over a damaged journal. Returns why it refused, or undefined if it serves. */
  #startOverDamage(set: Partial<Venue.Options> = {}, beside?: (feed: Feed["Type"]) => Effect.Effect<void>): string | undefined {
    let refusal: string | undefined
    let served = false
    this.host.startTelling({
      ...(beside === undefined ? {} : { beside }),
      ready: (reads) => {
        served = true
        this.#reads = reads
      },
      ended: (failure) => {
        refusal = failure ?? "it ended without a word"
      }
    }, set)
    this.until("the start over a damaged journal", () => served || refusal !== undefined, 60_000)
    return served ? undefined : refusal
  }

  /** Plants faults that one guard of the start detects, each on the disk as the venue left it, which is restored afterwards. */
  #guardsHold(state: State): void {
    const { follower, world: { disk, root } } = this
    follower.paused = true
    // Each fault is planted in the same journal, which is read for all of them at once.
    const blocks = Forgery.blocksOf(disk)
    const random = root.split("plants")
    for (const plant of Plants.draw(random)) this.#plant(plant, blocks, random)
    const further = root.split("further plants")
    Plants.drawFurther(further).some((plant) => this.#plant(plant, blocks, further))
    this.#probe(blocks, root.split("probes"))
    this.#drill(blocks, root.split("drills"), state)
    follower.paused = false
  }

  /** Works on the disk as the venue left it, which is restored afterwards. */
  #onGround<A>(blocks: Plants.Ground["blocks"], random: SimRandom, work: (ground: Plants.Ground) => A): A {
    const { world: { disk, options } } = this
    const putBack = disk.checkpoint()
    const newest = this.#onSnapshots(Effect.flatMap(SnapshotStore.SnapshotStore, (store) => store.latest))
    if (newest === undefined) throw new Error("a venue that stopped in good order left no snapshot")
    const done = work({ disk, random, capacity: capacityOf(options), blocks, newest, onSnapshots: this.#onSnapshots })
    this.host.process?.crash("kill")
    this.host.process = undefined
    disk.crash("kill")
    putBack()
    return done
  }

  /** Plants one fault and starts over it. Returns whether the journal has a place for it. */
  #plant({ plant, what }: Plants.Plant, blocks: Plants.Ground["blocks"], random: SimRandom): boolean {
    return this.#onGround(blocks, random, (ground) => {
      const planted = plant(ground)
      if (planted !== undefined) this.#startOver(what, planted)
      return planted !== undefined
    })
  }

  /** Probes one part of the venue that a start alone does not test: most often the one that needs no start of its own. */
  #probe(blocks: Plants.Ground["blocks"], random: SimRandom): void {
    const hasFollower = this.world.options.follower?.isThere === true
    const starts = [
      (ground: Plants.Ground): void => this.#readOverForged(ground),
      ...hasFollower ? (["sample", "replay"] as const).map((lie) => (): void => this.#followerLies(lie)) : []
    ]
    this.#onGround(blocks, random, starts[random.below(probeDraws)] ?? ((ground): void => this.#offerBlocks(ground)))
  }

  /** Drills over records of this journal, on disks of their own. */
  #drill(blocks: Plants.Ground["blocks"], random: SimRandom, state: State): void {
    const samples = Array.from({ length: drilledRecords }, () => random.pick(random.pick(blocks).block.records))
    samples.push(blocks[0]!.block.records[0]!)
    for (const drilled of Drills.run(random, samples, state, this.witness.reached)) this.witness.see({ _tag: "Drilled", ...drilled })
  }

  /** Offers the journal blocks that do not follow it. */
  #offerBlocks({ blocks, random }: Plants.Ground): void {
    const { segmentBytes, maxBlockBytes } = boundsOf(this.world.options)
    const exit = this.#runOnDisk(Probes.fences({ segmentBytes, maxBlockBytes }, blocks.at(-1)!.block, random))
    if (Exit.isFailure(exit)) throw new Error(`the journal could not be offered anything: ${String(exit.cause)}`)
    for (const probed of exit.value) this.witness.see({ _tag: "Probed", ...probed })
  }

  /** Reads a venue's feed over a forged block that the start did not replay because of its snapshot. */
  #readOverForged(ground: Plants.Ground): void {
    const block = Probes.forgeBehindSnapshot(ground)
    if (block === undefined) return
    let probed: Probes.Probed | undefined
    const refusal = this.#startOverDamage({}, Probes.readOver(ground.random, block, (told) => {
      probed = told
    }))
    if (refusal !== undefined) throw new Error(`a start behind what was forged was refused: ${refusal}`)
    this.until("the reading over what was forged", () => probed !== undefined, 60_000)
    this.witness.see({ _tag: "Probed", ...probed! })
  }

  /** Makes a venue's follower reach another state than its writer. */
  #followerLies(lie: SimFollower.Lie): void {
    const { clients, follower: { model: { markets: [market] } }, host, world: { time } } = this
    let ended: string | undefined
    let followers: typeof host.followers
    host.followerLies = lie
    const tell = {
      ready: (_reads: Reads, _histories: unknown, those: typeof host.followers): void => {
        followers = those
      },
      ended: (failure: string | undefined): void => {
        ended = failure ?? "it stopped"
      }
    }
    host.startTelling(tell, { followers: { sampleEveryRecords: 1, firstAfterMs: 0, pauseMs: 50, longestPauseMs: 1_000 } })
    this.until("a follower that lies", () => followers?.standing.isRunning === true || ended !== undefined, 60_000)
    const draft = Operator.setIndexPrice(operatorToken, "compared", market!.parameters, market!.risk.index)
    clients.sendUnheard(draft, () => {})
    const endEpochMs = time.nowEpochMs() + lyingMs
    // The next event may lie far ahead while tasks that end the venue are ready now.
    const isOver = (): boolean => host.process?.readyTasks() === 0 && time.nextEpochMs() > endEpochMs
    this.until("the end of who is lied to", () => ended !== undefined || isOver(), 2 * lyingMs)
    if (host.hasLied || ended !== undefined) {
      const what = "the venue whose follower comes to another state"
      this.witness.see({ _tag: "Probed", what, must: "FollowerDiffers", came: ended ?? "it served on" })
    }
    host.followerLies = undefined
  }

  /** Starts over a planted fault, and once more where the first start's own writes must not stop the next one. */
  #startOver(what: string, { again, lost, must, set }: Plants.Planted): void {
    const { host, witness, world: { disk } } = this
    const before = must === "serve" ? new Map<string, string>() : fingerprints(disk)
    for (const last of again === true ? [false, true] : [true]) {
      const refusal = this.#startOverDamage(set)
      const served = refusal === undefined && host.process !== undefined && this.#reads instanceof Engine ? this.#reads : undefined
      const digest = served === undefined ? "" : stateDigest(served.state)
      const proper = served === undefined ? "" : this.#digestAt(served.sequence)
      witness.see({
        _tag: "Planted",
        what,
        must,
        came: refusal ?? "serve",
        digest,
        proper,
        changed: refusal === undefined || must === "serve" ? undefined : differing(before, fingerprints(disk)),
        lost
      })
      host.process?.crash("kill")
      host.process = undefined
      if (served === undefined || last || witness.failure !== undefined) return
    }
  }

  /** The journal's state digest at a sequence that the process has decided: its last record may still be on its way to the disk. */
  #digestAt(sequence: number): string {
    let found: string | undefined
    this.until("what was decided is written", () => {
      const { fault } = this.#replayed(() => {}, (engine) => {
        if (engine.sequence === sequence) found = stateDigest(engine.state)
      })
      found ??= fault
      return found !== undefined
    }, 10_000)
    return found!
  }

  /** Looks for the newest snapshot of a writer that takes them itself. */
  #countSnapshots(): void {
    const { follower: { model }, host, witness, world: { disk } } = this
    // A snapshot that could not be saved is made up for by the next.
    if (host.followers !== undefined || witness.logged.some((line) => line.includes("was not saved"))) return
    witness.see({
      _tag: "SnapshotsCounted",
      newest: newestSnapshot(disk),
      sequence: model.sequence,
      every: snapshotEveryOf(this.world.options)
    })
  }

  /** Tells how far the follower was compared, once nothing is to be said against it, or it has had time enough for that. */
  #restFollower(): void {
    const { host, witness, world: { time } } = this
    const rests = (): Extract<Observation, { readonly _tag: "FollowerRests" }> | undefined => {
      const standing = host.followers?.standing
      return standing?.isRunning === true
        ? { _tag: "FollowerRests", agreed: standing.agreedSequence, sequence: standing.sequence }
        : undefined
    }
    const untilEpochMs = time.nowEpochMs() + comparedMs
    this.until("the follower's comparison", () => {
      const seen = rests()
      return seen === undefined || time.nowEpochMs() >= untilEpochMs || witness.wouldHold(seen)
    }, 2 * comparedMs)
    const seen = rests()
    if (seen !== undefined) witness.see(seen)
  }

  /** Runs work on snapshots as a process of its own. */
  readonly #onSnapshots: Plants.Ground["onSnapshots"] = (work) => {
    const exit = this.#runOnDisk(Effect.scoped(Effect.provide(work, SnapshotStore.layer)))
    if (Exit.isFailure(exit)) throw new Error(`work on snapshots failed: ${String(exit.cause)}`)
    return exit.value
  }

  /**
   * A start journals a record of its own: the engine replayed from the beginning applies the later records, to be compared with the
   * started one.
   */
  #goOn(engine: Engine): void {
    const from = engine.sequence + 1
    let fault: string | undefined
    const exit = this.#runOnDisk(
      Effect.flatMap(Journal, (journal) =>
        Stream.runForEach(journal.replay(from), (block) =>
          Effect.sync(() => {
            fault ??= applyBlock(engine, block)?.message
          }))).pipe(Effect.provide(SegmentJournal.layerReadOnly))
    )
    if (Exit.isFailure(exit)) fault = `it failed: ${String(exit.cause)}`
    const { sequence, state } = engine
    this.witness.see({ _tag: "Replayed", from: "the start and on", sequence, digest: stateDigest(state), fault, unsound: undefined })
  }

  /** Replays the journal from its beginning. Returns the engine. */
  #replayFromStart(): Engine {
    const left = this.world.histories.left()
    if (left === undefined) throw new Error("a venue that stopped in good order left no histories")
    const rebuilding = new Rebuilding(left, this.world.root.split("histories begun anew"))
    let unsound: string | undefined
    const capacity = capacityOf(this.world.options)
    const copies = new Copies(capacity, this.world.root.split("copies").below(1_000))
    const addUp = (engine: Engine, from: number): void => {
      const { sequence, state } = engine
      copies.note(engine, from)
      if (unsound === undefined && sequence % watchedEvery === 0) unsound = worded(unwatched(state), sequence)
      if (unsound === undefined && sequence % addedUpEvery === 0) unsound = soundness(state, sequence)
    }
    const { engine, fault: diverged } = this.#replayed((committed, engine) => {
      rebuilding.take(committed, engine)
      copies.take(committed, engine)
    }, addUp)
    const fault = diverged ?? copies.fault
    unsound ??= soundness(engine.state, engine.sequence) ?? (fault === undefined ? retained(engine.state, this.follower.model) : undefined)
    this.witness.see({ _tag: "Replayed", from: "the start", sequence: engine.sequence, digest: stateDigest(engine.state), fault, unsound })
    const untrue = fault === undefined ? rebuilding.untrue(this.follower.model) : undefined
    this.witness.see({ _tag: "Rebuilt", sequence: rebuilding.sequence, fault: rebuilding.fault, untrue })
    return engine
  }

  /** Replays the journal on the disk from its first record; `each` is called after each record. */
  #replayed(
    take: (committed: Committed, engine: Engine) => void,
    each?: (engine: Engine, from: number) => void
  ): { readonly engine: Engine; readonly fault: string | undefined } {
    const engine = Engine.make(capacityOf(this.world.options))
    let fault: string | undefined
    const exit = this.#runOnDisk(
      Effect.flatMap(Journal, (journal) =>
        Stream.runForEach(journal.replay(1), (block) =>
          Effect.sync(() => {
            const diverged = fault === undefined ? applyBlock(engine, block, each) : undefined
            if (diverged !== undefined) fault = diverged.message
            const { events } = engine.state
            if (fault === undefined) take({ block, events: events.words.slice(0, events.length), told: events.told.copied() }, engine)
          }))).pipe(Effect.provide(SegmentJournal.layerReadOnly))
    )
    if (Exit.isFailure(exit)) fault = `it failed: ${String(exit.cause)}`
    return { engine, fault }
  }

  /** Runs an effect on the disk to its end, beside or instead of the process. */
  #runOnDisk<A, E>(work: Effect.Effect<A, E, Disk>): Exit.Exit<A, E> {
    const { disk, schedule, time } = this.world
    const scheduler = SimScheduler.make(schedule, 0)
    const fiber = Effect.runFork(
      work.pipe(Effect.provide(disk.mount()), Effect.provide(Layer.setClock(SimClock.make(time, scheduler.ready)))),
      { scheduler }
    )
    let exit: Exit.Exit<A, E> | undefined
    fiber.addObserver((result) => {
      exit = result
    })
    while (exit === undefined && (scheduler.runOne() || time.advance()));
    if (exit === undefined) throw new Error("work on the disk never ended")
    return exit
  }
}

/** Records of a replay between two full recomputations of the state's sums. */
const addedUpEvery = 25
/** Records of a replay between two of the cheaper checks of accounts that the engine does not examine. */
const watchedEvery = 3

/** The first inconsistency of an engine's state after a record. */
const soundness = (state: State, sequence: number): string | undefined =>
  worded(Invariants.firstBroken(state) ?? unwatched(state), sequence)

const worded = (broken: string | undefined, sequence: number): string | undefined =>
  broken === undefined ? undefined : `behind record ${sequence}: ${broken}`

/** The first order whose retention differs from the model's; it would show only after days. */
const retained = ({ orders, sequence }: State, model: NaiveVenue): string | undefined => {
  if (sequence !== model.sequence) return undefined
  for (const { number, retentionMs } of model.orders.values()) {
    const order = orders.find(number)
    const minutes = Math.ceil(retentionMs / minuteMs)
    if (order === none || orders.retentionMinutes(order) === minutes) continue
    return `behind record ${sequence}: order ${number} is remembered for ${orders.retentionMinutes(order)} minutes, not for ${minutes}`
  }
  return undefined
}

/** The content of each file by path. Files in preparation are left out: any start may remove them. */
const fingerprints = (disk: SimDisk): ReadonlyMap<string, string> =>
  new Map(disk.files().filter((path) => !path.endsWith(".tmp")).map((path) => [path, crypto.hash("sha256", disk.bytes(path))]))

/** The first path whose content differs. */
const differing = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string | undefined =>
  [...new Set([...before.keys(), ...after.keys()])].find((path) => before.get(path) !== after.get(path))
