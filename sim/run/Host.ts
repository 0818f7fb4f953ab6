/**
 * The machine that the venue's process runs on, and its supervisor: starts the process, ends it when a crash is
 * due, and starts it again whatever it ended by.
 */
import * as Absent from "../../src/funds/Absent.js"
import type { ListedMarket } from "../../src/Bootstrap.js"
import { accountId } from "../../src/domain/Ids.js"
import { Engine } from "../../src/engine/Engine.js"
import type { Reads } from "../../src/engine/Reads.js"
import { lockPath } from "../../src/journal/SegmentJournal.js"
import type { Command } from "../../src/operations/Operations.js"
import type { Capacity } from "../../src/engine/State.js"
import * as AutoCloses from "../model/NaiveAutoClose.js"
import * as Identities from "../model/NaiveIdentity.js"
import * as Liquidations from "../model/NaiveLiquidation.js"
import { type Kept, venueKept } from "../model/NaivePublished.js"
import { sessionBy } from "../model/NaiveRisk.js"
import type { Histories } from "../../src/readmodel/Histories.js"
import * as Sequencer from "../../src/sequencer/Sequencer.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { versions } from "../../src/sequencer/Versions.js"
import type * as Venue from "../../src/Venue.js"
import { type Bounds, type Options, roomy, unlimited } from "../faults/Options.js"
import type { Conversing, Limits, Observation, Settings, ToldAgain } from "../properties/Observation.js"
import * as Tokens from "../reading/Tokens.js"
import type * as SimDisk from "../world/SimDisk.js"
import * as JournalTap from "../world/JournalTap.js"
import * as SimBank from "../world/SimBank.js"
import * as SimExposition from "../world/SimExposition.js"
import * as SimProcess from "../world/SimProcess.js"
import type { FeedReader } from "./FeedReader.js"
import type { CrashMark } from "./Script.js"
import type { Follower } from "./Follower.js"
import type { Witness } from "./Witness.js"
import { operatorToken, site, type World } from "./World.js"

/** The bounds that the venue of a run is under. */
export const boundsOf = ({ bounds }: Options): Bounds => bounds ?? roomy

/** How many requests it lets in. */
const limitsOf = ({ limits }: Options): Limits => limits ?? unlimited

/** What there is in it, and what not. */
const settingsOf = ({ funds, standings }: Options): Settings => ({
  affiliates: standings?.affiliates ?? false,
  workloads: standings?.workloads ?? false,
  ledger: funds !== undefined
})

/** The tables that it has, how many fills of it can be read, and how much one record does. */
export const capacityOf = (options: Options): Capacity & { readonly liquidatedAtOnce: Liquidations.Bounds } => {
  const {
    accountParts = 0,
    brackets,
    clearedAtOnce = 64,
    countedAtOnce = 256,
    endedAtOnce = 128,
    examinedAtOnce = 256,
    finalMinutes = 30,
    forgottenAtOnce = 64,
    fundingsKept = 720,
    growth,
    idempotencyKeys,
    identity = Identities.venueBounds,
    liquidatedAtOnce,
    marketsInOne = 8,
    marksKept = 600,
    metAtOnce = 384,
    noticeMs = 86_400_000,
    orders,
    settledAtOnce = 256,
    triggeredAtOnce = AutoCloses.venueBounds
  } = boundsOf(options)
  const fills = options.edges === undefined ? {} : { fills: options.edges.fillsKept, ...rowsOf(options) }
  const kept = options.funds?.kept
  const liquidated = { ...Liquidations.venueBounds, ...liquidatedAtOnce }
  return {
    orders,
    idempotencyKeys,
    accountParts,
    clearedAtOnce,
    countedAtOnce,
    endedAtOnce,
    examinedAtOnce,
    finalMinutes,
    forgottenAtOnce,
    fundingsKept,
    marketsInOne,
    marksKept,
    metAtOnce,
    // Of what was kept before it was drawn, no account's tickets are held to a part.
    identity: { familyParts: 0, ...identity },
    noticeMs,
    settledAtOnce,
    liquidatedAtOnce: liquidated,
    triggeredAtOnce,
    ...(brackets === undefined ? {} : { brackets }),
    ...(growth === undefined ? {} : { growth }),
    ...(kept === undefined ? {} : { funds: kept }),
    ...fills
  }
}

/**
 * How many rows of liquidations and of the insurance fund are kept, changes of balances, and payments of funding: as few as fills,
 * where these are few.
 */
const rowsOf = ({ edges }: Options): { readonly rows?: number; readonly balanceChanges?: number; readonly fundingPayments?: number } =>
  edges !== undefined && edges.fillsKept < fewFills
    ? { rows: edges.fillsKept, balanceChanges: edges.fillsKept, fundingPayments: edges.fillsKept }
    : {}
const fewFills = 1_000

/** The same as the model has it. */
export const keptOf = (options: Options): Kept => {
  const { rows } = rowsOf(options)
  const { fundingsKept: fundings = venueKept.fundings, marksKept: marks = venueKept.marks } = boundsOf(options)
  const kept = { ...venueKept, fundings, marks }
  return rows === undefined ? kept : { ...kept, steps: rows, movements: rows, payments: rows, changes: rows }
}

/** How often a venue that has a ledger compares its books with it. */
export const reconcileMs = 4_000

/** How far back a venue tells accounts again, unless it is set otherwise: what the contract promises. */
const promised: ToldAgain = { records: 1_000_000, ms: 7 * 24 * 60 * 60 * 1000 }

/** Bytes that are kept of all accounts' streams for each update that is kept of one: some hold what others would, and are let go of. */
const keptBytesEach = 2_048

/** What its stream has room for. */
const roomOf = ({ behindBytes, bufferedBytes, keptUpdates, missed, odd, silenceMs, toldAgain }: NonNullable<Options["streams"]>) => ({
  behindBytes,
  bufferedBytes,
  keptUpdates,
  keptBytesOfAccounts: keptUpdates * keptBytesEach,
  // All of its clients come from one address.
  messagesTogether: Number.MAX_SAFE_INTEGER,
  ...(silenceMs === undefined ? {} : { silenceMs }),
  ...(toldAgain === undefined ? {} : { toldAgain }),
  ...(missed === undefined ? {} : { missed }),
  ...(odd === undefined ? {} : conversing(odd))
})

/** What a connection of the stream may have, and for how long nothing may be heard of it. */
const conversing = ({ messagesPerSecond, orders, subscriptions }: Conversing): Conversing => ({ messagesPerSecond, orders, subscriptions })

/** What the contract has a connection have. */
const usualConversing: Conversing = { messagesPerSecond: 100, orders: 64, subscriptions: 128 }
const usualSilenceMs = 60_000
/** What is kept of a market's stream. */
const usualKept = { updates: 1_024, bytes: 1024 * 1024 }

/** How long its histories rest, near the end of the journal and behind it. */
const pausesOf = ({ histories }: Options): { readonly pauseMs?: number; readonly pauseBehindMs?: number } =>
  histories?.pauseMs === undefined ? {} : { pauseMs: histories.pauseMs, pauseBehindMs: histories.pauseMs }

/** How the venue of a run is set up, but for its markets file. */
const venueOptions = ({ options, options: { listing } }: World, rules: number): Venue.Options => ({
  environment: "development",
  operatorToken,
  signerSecret: "signer-secret-of-the-simulation",
  acceptsIndexPrices: true,
  acceptsIndexStream: true,
  rateLimits: { signInsPerAddress: limitsOf(options).perAddress, ...limitsOf(options) },
  site,
  ...(boundsOf(options).ofAddress === undefined ? {} : { ofAddress: boundsOf(options).ofAddress! }),
  affiliateEnabled: settingsOf(options).affiliates,
  markets: [],
  capacity: capacityOf(options),
  sequencer: {
    ...Sequencer.defaultOptions,
    inbox: boundsOf(options).inbox,
    fullBytes: boundsOf(options).fullBytes,
    ...(listing === undefined ? {} : { maxRecords: listing.blockRecords })
  },
  snapshotEveryRecords: options.follower?.isThere === true ? options.follower.snapshotEveryRecords : snapshotEveryOf(options),
  ...(boundsOf(options).snapshotReadBytes === undefined ? {} : { snapshotReadBytes: boundsOf(options).snapshotReadBytes! }),
  followers: { sampleEveryRecords: 16, firstAfterMs: 0, pauseMs: 50, longestPauseMs: 1_000 },
  versions: { ...versions, rules },
  expose: SimExposition.expose,
  feed: { blocks: 24, bytes: boundsOf(options).recentBytes ?? 12 * 1024 },
  journal: { segmentBytes: boundsOf(options).segmentBytes, maxBlockBytes: boundsOf(options).maxBlockBytes },
  ledger: options.funds === undefined ? Absent.setting : SimBank.custody,
  ...(options.funds === undefined ? {} : { funds: { reconcileMs } }),
  // Its time may leap: the database is in memory, and closed at once.
  histories: { endingMs: Number.POSITIVE_INFINITY, ...pausesOf(options) },
  ...(options.streams === undefined ? {} : { stream: roomOf(options.streams) })
})

/** Records between two snapshots of a writer that takes them itself. */
export const snapshotEveryOf = (options: Options): number => boundsOf(options).snapshotEveryRecords ?? 400

/** An account that a workload is bound to, and that nobody ever opened. */
const neverOpened = "acc_zzzzzz"

/** The supervisor waits no longer than that, however often starts have come to nothing. */
const longestRestartMs = 2_000

/** Simulated milliseconds after which the supervisor kills a process whose disk hangs. */
const hungMs = 1_500

/** A crash so many of the process's tasks ahead. */
export interface Countdown {
  readonly tasks: number
  readonly loss: SimDisk.Crash
}

/** The record of the newest snapshot on a disk; 0 for none. */
export const newestSnapshot = (disk: Pick<World["disk"], "files">): number =>
  disk.files().reduce((most, path) => Math.max(most, Number(/^snapshots\/([0-9]{20})\.snap$/.exec(path)?.[1] ?? 0)), 0)

export class Host {
  process: SimProcess.SimProcess | undefined
  /** What the markets file lists by now. */
  #listed: ReadonlyArray<ListedMarket>
  /** The engine, while the process is ready. */
  reads: Reads | undefined
  /** How far its histories are, likewise. */
  histories: Histories["Type"]["standing"] | undefined
  /** Those that follow its writer, while it is ready and keeps one. */
  followers: Venue.Venue["Type"]["followers"]
  /** An operation of the disk failed under the process that was started last; a disk that is full is no such fault. */
  diskFailed = false
  /** How many crashes struck. */
  crashes = 0
  /** Whether the lock was taken away from the process that runs. */
  hasLostLock = false
  /** Whether faults have stopped: whoever works beside the process dies no more alone either. */
  isCalm = false
  /** Whether what a follower says of its state is another's, and whether one has said so. */
  followerLies = false
  hasLied = false
  /** Has the stranger who holds the lock let go of it. */
  #letGo: (() => void) | undefined
  #incarnation = 0
  /** The rules of the version that was ready last. */
  #rules = versions.rules
  /** Those of the process that was started last. */
  #running = versions.rules
  /** Processes that ended one after the other before they were ready. */
  #vain = 0
  /** The last process ended in good order. */
  #stopped = false
  /** Another version was refused: the one before is started next. */
  #refused = false
  /** The process has been asked to stop. */
  #stopping = false
  /** Nobody starts it again. */
  #over = false
  /** How far ahead of the true time every process reads the clock from now on, ms. */
  #agedMs = 0
  /** Tasks until the crash that was planned strikes; Infinity for none. */
  #crashIn = Number.POSITIVE_INFINITY
  #crashLoss: SimDisk.Crash = "power"
  /** Crashes that strike so long after the disk is next asked for something: that is where most can go wrong. */
  readonly #crashAt = new Map<CrashMark, Countdown>()
  /** What is to happen just as the next block begins to be written. */
  #beforeBlock: (() => void) | undefined

  /** `crashAtStart`: the crash that is to strike the process which starts now, if one is. */
  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly crashAtStart: () => Countdown | undefined,
    readonly reader: FeedReader
  ) {
    this.#listed = world.markets?.first ?? []
  }

  start(): void {
    const { follower, witness, world: { disk, options, time } } = this
    this.#incarnation++
    this.diskFailed = false
    this.hasLostLock = false
    const incarnation = this.#incarnation
    const rules = this.#drawRules()
    this.#running = rules
    this.#growFile()
    const markets = this.#listed.map(({ parameters }) => parameters.marketId)
    const calendars = this.#listed.flatMap(({ calendar, parameters: { marketId } }) =>
      calendar === undefined ? [] : [{ marketId, calendar }]
    )
    const bounds = { ...boundsOf(options), maxRecords: options.listing?.blockRecords ?? Sequencer.defaultOptions.maxRecords }
    const limits = limitsOf(options)
    witness.see({
      _tag: "Started",
      incarnation,
      atEpochMs: time.nowEpochMs(),
      markets,
      calendars,
      rules,
      bounds,
      limits,
      set: settingsOf(options),
      toldAgain: options.streams?.toldAgain ?? promised,
      keptOfMarkets: { updates: options.streams?.keptUpdates ?? usualKept.updates, bytes: usualKept.bytes },
      conversing: options.streams?.odd ?? usualConversing,
      behindBytes: options.streams?.behindBytes ?? Number.POSITIVE_INFINITY,
      bufferedBytes: options.streams?.bufferedBytes ?? Number.POSITIVE_INFINITY,
      silenceMs: options.streams?.silenceMs ?? usualSilenceMs
    })
    const crash = this.crashAtStart()
    this.#crashIn = crash?.tasks ?? Number.POSITIVE_INFINITY
    this.#crashLoss = crash?.loss ?? "power"
    this.startTelling({
      beside: (feed) => this.reader.read(feed),
      ready: (reads, { standing }, followers) => {
        this.reads = reads
        this.histories = standing
        this.followers = followers
        this.#rules = rules
        this.#vain = 0
        follower.drain()
        witness.see({ _tag: "Ready", incarnation, sequence: reads.sequence, atEpochMs: time.nowEpochMs() })
        follower.inspect(true)
      },
      ended: (failure) => {
        const left = failure === undefined ? this.#left() : undefined
        const writing = disk.writing()
        const newest = newestSnapshot(disk)
        this.#gone()
        disk.crash("kill")
        const by = this.#refusedBy(failure)
        if (by === undefined) {
          const { diskFailed } = this
          const asked = this.#stopping
          witness.see({ _tag: "Ended", incarnation, asked, failure, diskFailed, writing, left, newest, atEpochMs: time.nowEpochMs() })
        } else {
          witness.see({ _tag: "StartRefused", incarnation, rules, by, why: failure! })
          this.#refused = true
          // A version that was cut off before it was ready had taken over all the same.
          if (by === "NewerRules") this.#rules = rules + 1
        }
        this.#stopped = failure === undefined
        this.#stopping = false
        if (!this.#over) this.#restartLater()
      }
    }, { watch: this.#watch(incarnation) })
  }

  /** Shows what comes to the writer of this process and what its turns take. */
  #watch(incarnation: number): Sequencer.Watch {
    const { follower: { model }, witness } = this
    return {
      offered: (command, taken) => {
        if (incarnation === this.#incarnation) witness.see({ _tag: "Offered", command, taken })
      },
      taken: (command, sequence, atEpochMs, answered) => {
        if (incarnation !== this.#incarnation) return
        const preview = answered === undefined ? this.#previewed(command, atEpochMs) : undefined
        witness.see({ _tag: "Taken", command, sequence, atEpochMs, answered, preview, model })
      }
    }
  }

  /**
   * What a preview says of a command that is decided next; undefined where it is no placement of one order, or something is due beside a
   * session of its market.
   */
  #previewed(command: Command, atEpochMs: number): Extract<Observation, { readonly _tag: "Taken" }>["preview"] {
    const { follower: { model }, reads } = this
    if (!(reads instanceof Engine) || command.kind !== "PlaceOrders" || command.entries.length !== 1) return undefined
    const entry = command.entries[0]!
    const isDue = reads.nextDueEpochMs <= atEpochMs
    const session = model.markets[entry.market]?.session
    if (isDue && (session === undefined || sessionBy(session, atEpochMs) === session)) return undefined
    return { view: reads.preview(command.account, entry, atEpochMs), isDue }
  }

  /** The rules of the process that starts now: those of the last, or of the version after it. */
  #drawRules(): number {
    const { options: { takeover }, root } = this.world
    const share = this.#stopped ? takeover?.afterStop ?? 0 : takeover?.afterCrash ?? 0
    const mayDiffer = !this.#refused && !this.witness.proving && this.#incarnation > 1
    const after = mayDiffer && root.split(`rules/${this.#incarnation}`).chance(share)
    this.#refused = false
    this.#stopped = false
    return after ? this.#rules + 1 : this.#rules
  }

  /** Processes that ended one after the other before they were ready, with the one that is about to start, or starts. */
  get vainStarts(): number {
    return this.#vain
  }

  /** Whether another version than the first has been started. */
  get hasOtherVersion(): boolean {
    return this.#running !== versions.rules || this.#rules !== versions.rules
  }

  /** How another version's journal refused a start, where versions change at all. */
  #refusedBy(failure: string | undefined): "UndecidedByOther" | "NewerRules" | undefined {
    if (failure === undefined || this.world.options.takeover === undefined) return undefined
    if (this.#running > this.#rules && failure.startsWith("UndecidedByOther")) return "UndecidedByOther"
    return this.#running === this.#rules && failure.startsWith("NewerRules") ? "NewerRules" : undefined
  }

  /** What a process leaves that stops in good order. */
  #left(): { readonly sequence: number; readonly digest: string } | undefined {
    const { reads, world: { options } } = this
    if (options.takeover === undefined || !(reads instanceof Engine)) return undefined
    return { sequence: reads.sequence, digest: stateDigest(reads.state) }
  }

  /** Starts a process that tells of itself to somebody else; `set`: what it is set otherwise than the venue of the run. */
  startTelling(told: Pick<SimProcess.Parts, "ready" | "ended" | "beside">, set: Partial<Venue.Options> = {}): void {
    const { bank, disk, feed, histories, markets, network, options, schedule, secure, time } = this.world
    this.process = SimProcess.start({
      time,
      disk,
      network,
      schedule,
      secure,
      preemption: options.process.preemption,
      venue: { ...venueOptions(this.world, this.#running), ...set },
      workloads: settingsOf(options).workloads ? { get: this.#bound } : undefined,
      marketsFile: markets === undefined ? undefined : JSON.stringify(this.#listed),
      feed,
      bank,
      histories,
      follower: this.#follower(),
      readings: this.#readings(),
      log: (line) => this.witness.log(line),
      reached: this.witness.reached,
      ...told
    })
    this.process.clock.jump(this.#agedMs)
  }

  /** How the follower of the process that starts now fails, and who sees what becomes of it. */
  #follower(): SimProcess.Parts["follower"] {
    const { options: { follower: behaviour }, root } = this.world
    const incarnation = this.#incarnation
    const isOfNow = (): boolean => incarnation === this.#incarnation && this.process !== undefined
    return behaviour === undefined || !behaviour.isThere ? undefined : {
      behaviour,
      isCalm: () => this.isCalm,
      random: root.split(`follower/${incarnation}`),
      lies: () => {
        this.hasLied ||= this.followerLies
        return this.followerLies
      },
      said: ({ _tag }) => this.witness.count(`follower ${_tag}`),
      ended: ({ reason }) => {
        // What is damaged on purpose is for the venue's own start to find.
        if (isOfNow() && !this.witness.proving) this.witness.see({ _tag: "FollowerEnded", reason, diskFailed: this.diskFailed })
      }
    }
  }

  /** How whoever reads the journal for the process that starts now fails. */
  #readings(): SimProcess.Parts["readings"] {
    const { options: { readings }, root } = this.world
    return readings === undefined || !readings.isThere ? undefined : {
      meanCrashMs: readings.meanCrashMs,
      isCalm: () => this.isCalm,
      random: root.split(`readings/${this.#incarnation}`),
      seen: (what) => this.witness.count(what)
    }
  }

  /** The account that a workload's subject is bound to, once there is one. */
  readonly #bound = (subject: string): string | undefined => {
    const account = Tokens.accountOf(subject)
    if (account === -1) return neverOpened
    const found = account === undefined ? undefined : this.follower.model.accounts[account]
    return found === undefined ? undefined : accountId(found.born)
  }

  /** Lets so much time pass for this process and all after it, as after a while in which nobody called. */
  age(byMs: number): void {
    this.#agedMs += byMs
    this.process?.clock.jump(byMs)
  }

  /** Runs one task of the process, and the crash that is due after it. False if none is ready. */
  runOne(): boolean {
    if (this.process === undefined || this.process.readyTasks() === 0) return false
    this.process.runOne()
    this.#crashIn--
    if (this.#crashIn <= 0) this.crash(this.#crashLoss)
    return true
  }

  /** Asks the process to stop, as SIGTERM does; `over`: for good. */
  stop(over = false): void {
    this.#stopping = true
    if (over) this.#over = true
    this.process?.stop()
  }

  /** The lock's file is removed under the process, which runs on; `byStranger`: who holds the lock of another file from then on. */
  takeLock(byStranger: boolean): void {
    const { witness, world: { disk } } = this
    this.giveLockBack()
    const sequence = JournalTap.lastReadable(disk)
    if (byStranger) this.#letGo = disk.replaceLock(lockPath)
    else disk.removeLock(lockPath)
    this.hasLostLock = true
    witness.see({ _tag: "LockTaken", incarnation: this.#incarnation, sequence, byStranger })
  }

  /** Whoever else holds the lock lets go of it. */
  giveLockBack(): void {
    if (this.#letGo === undefined) return
    this.#letGo()
    this.#letGo = undefined
    this.witness.see({ _tag: "LockLeft" })
  }

  /** Has the disk be full, or have room again. */
  fillDisk(isFull: boolean): void {
    const { disk, time } = this.world
    disk.setOutOfRoom(isFull)
    this.witness.see({ _tag: "DiskFull", isFull, atEpochMs: time.nowEpochMs() })
  }

  /** Nothing of the process is there any more. */
  #gone(): void {
    this.process = undefined
    this.reads = undefined
    this.histories = undefined
    this.followers = undefined
  }

  crash(loss: SimDisk.Crash): void {
    const ready = this.reads !== undefined
    this.dropPlannedCrash()
    this.process?.crash(loss)
    this.#gone()
    this.crashes++
    this.#stopping = false
    this.witness.see({ _tag: "Crashed", incarnation: this.#incarnation, ready, atEpochMs: this.world.time.nowEpochMs() })
    this.#restartLater()
  }

  planCrash({ loss, tasks }: Countdown): void {
    this.#crashIn = tasks
    this.#crashLoss = loss
  }

  /** The same, counted from the next such operation of the disk. */
  planCrashAt(mark: CrashMark, crash: Countdown): void {
    this.#crashAt.set(mark, crash)
  }

  /** Whether a crash is to strike after the next such operation. */
  isPlannedAt(mark: CrashMark): boolean {
    return this.#crashAt.has(mark)
  }

  /** What the clock of a process reads that is ready and was not asked to stop; undefined while there is none. */
  get servingEpochMs(): number | undefined {
    return this.reads === undefined || this.#stopping ? undefined : this.process?.clock.seen()
  }

  /** Has something happen just as the next block begins to be written. */
  beforeBlock(happens: () => void): void {
    this.#beforeBlock = happens
  }

  /** A block begins to be written. */
  beginsBlock(): void {
    const happens = this.#beforeBlock
    this.#beforeBlock = undefined
    happens?.()
  }

  dropPlannedCrash(): void {
    this.#crashIn = Number.POSITIVE_INFINITY
    this.#crashAt.clear()
    this.#beforeBlock = undefined
  }

  /** Such an operation begins. */
  begins(mark: CrashMark): void {
    const crash = this.#crashAt.get(mark)
    if (crash === undefined) return
    this.#crashAt.delete(mark)
    this.planCrash(crash)
  }

  /** The supervisor: a process whose disk does not answer is killed, as nothing else would ever end it. */
  killHung(): void {
    const incarnation = this.#incarnation
    this.world.time.after(hungMs, () => {
      if (this.process !== undefined && this.#incarnation === incarnation) this.crash("kill")
    })
  }

  /** Adds the further market once its time has come, though never to the restarts that prove replay: those compare. */
  #growFile(): void {
    const { elapsedMs, markets, options: { listing } } = this.world
    if (markets === undefined || listing === undefined || listing.growsAtMs === 0 || this.witness.proving) return
    if (elapsedMs() >= listing.growsAtMs) this.#listed = [...markets.first, markets.later]
  }

  #restartLater(): void {
    const { options, root, time } = this.world
    const restarts = root.split(`restart/${this.#incarnation}`)
    // As supervisors do, it waits twice as long after each start that came to nothing.
    const waits = Math.min(options.process.maxRestartMs * 2 ** this.#vain, longestRestartMs)
    this.#vain++
    time.after(restarts.next() * waits, () => {
      if (this.process === undefined) this.start()
    })
  }
}
