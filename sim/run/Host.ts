/**
 * The machine that the venue's process runs on, and its supervisor: starts the process, ends it when a crash is due, and restarts it
 * however it ended.
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
import { usualBounds } from "../../src/streams/Replay.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { versions } from "../../src/sequencer/Versions.js"
import type * as Venue from "../../src/Venue.js"
import { type Bounds, type Options, roomy, segmentBytesOf, unlimited } from "../faults/Options.js"
import type { Conversing, Limits, Observation, Settings, ToldAgain } from "../properties/Observation.js"
import * as Tokens from "../reading/Tokens.js"
import type * as SimDisk from "../world/SimDisk.js"
import * as JournalTap from "../world/JournalTap.js"
import * as SimBank from "../world/SimBank.js"
import * as SimExposition from "../world/SimExposition.js"
import type * as SimFollower from "../world/SimFollower.js"
import * as SimProcess from "../world/SimProcess.js"
import type { FeedReader } from "./FeedReader.js"
import type { CrashMark } from "./Script.js"
import type { Follower } from "./Follower.js"
import type { Witness } from "./Witness.js"
import { operatorToken, site, type World } from "./World.js"

/** The capacities of a run's venue. */
export const boundsOf = ({ bounds }: Options): Bounds => bounds ?? roomy

/** Its request limits. */
const limitsOf = ({ limits }: Options): Limits => limits ?? unlimited

/** Which optional capabilities it has. */
const settingsOf = ({ funds, origins, standings }: Options): Settings => ({
  affiliates: standings?.affiliates ?? false,
  workloads: standings?.workloads ?? false,
  ledger: funds !== undefined,
  origins: origins !== undefined
})

/** The sizes of its tables, how many fills can be read, and how much work one record does. */
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
    markets,
    mostInLine = 8,
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
    mostInLine,
    // Kept runs from before that option have no limit for an account's tickets.
    identity: { familyParts: 0, ...identity },
    noticeMs,
    settledAtOnce,
    liquidatedAtOnce: liquidated,
    triggeredAtOnce,
    ...(brackets === undefined ? {} : { brackets }),
    ...(markets === undefined ? {} : { markets }),
    ...(growth === undefined ? {} : { growth }),
    ...(kept === undefined ? {} : { funds: kept }),
    ...fills
  }
}

/**
 * How many rows of liquidations and of the insurance fund, changes of balances, and funding payments are kept: as few as fills, where
 * these are few.
 */
const rowsOf = ({ edges }: Options): { readonly rows?: number; readonly balanceChanges?: number; readonly fundingPayments?: number } =>
  edges !== undefined && edges.fillsKept < fewFills
    ? { rows: edges.fillsKept, balanceChanges: edges.fillsKept, fundingPayments: edges.fillsKept }
    : {}
const fewFills = 1_000

/** How much of each kind is kept, in the model's terms. */
export const keptOf = (options: Options): Kept => {
  const { rows } = rowsOf(options)
  const { fundingsKept: fundings = venueKept.fundings, marksKept: marks = venueKept.marks } = boundsOf(options)
  const kept = { ...venueKept, fundings, marks }
  return rows === undefined ? kept : { ...kept, steps: rows, movements: rows, payments: rows, changes: rows }
}

/** Interval at which a venue with a ledger reconciles, ms. */
export const reconcileMs = 4_000

/** How far back accounts' streams can be resumed by default: what the contract promises. */
const promised: ToldAgain = { records: 1_000_000, ms: 7 * 24 * 60 * 60 * 1000 }

/** Bytes kept of all accounts' streams together, per update kept of one: some streams use the room of others, whose updates are dropped. */
const keptBytesEach = 2_048

/** The capacities of its stream. */
const roomOf = (
  { behindBytes, bufferedBytes, changeWaits, connections, keptUpdates, missed, odd, provedEvery, silenceMs, toldAgain, unusedStreams }:
    NonNullable<
      Options["streams"]
    >
) => ({
  behindBytes,
  bufferedBytes,
  keptUpdates,
  keptBytesOfAccounts: keptUpdates * keptBytesEach,
  // All of the stream's clients share one address.
  messagesTogether: Number.MAX_SAFE_INTEGER,
  ...(changeWaits === undefined ? {} : { changeWaits }),
  ...(connections === undefined ? {} : { connections }),
  ...(provedEvery === undefined ? {} : { provedEvery }),
  ...(silenceMs === undefined ? {} : { silenceMs }),
  ...(toldAgain === undefined ? {} : { toldAgain }),
  ...(missed === undefined ? {} : { missed: { ...usualBounds, ...missed } }),
  ...(unusedStreams === undefined ? {} : { unusedStreams }),
  ...(odd === undefined ? {} : conversing(odd))
})

/** Limits of a connection of the stream, and how long it may be silent. */
const conversing = ({ messagesPerSecond, orders, subscriptions }: Conversing): Conversing => ({ messagesPerSecond, orders, subscriptions })

/** The contract's limits of a connection. */
const usualConversing: Conversing = { messagesPerSecond: 100, orders: 64, subscriptions: 128 }
const usualSilenceMs = 60_000
const usualConnections = 10_000
const usualChangeWaits = 1_024
/** Updates and bytes kept of a market's stream. */
const usualKept = { updates: 1_024, bytes: 1024 * 1024 }

/** How long its histories pause near the end of the journal, and further behind. */
const pausesOf = ({ histories }: Options): { readonly pauseMs?: number; readonly pauseBehindMs?: number } =>
  histories?.pauseMs === undefined ? {} : { pauseMs: histories.pauseMs, pauseBehindMs: histories.pauseMs }

/** The settings of a run's venue, without its markets file. */
const venueOptions = ({ options, options: { listing } }: World, rules: number, segmentBytes: number): Venue.Options => ({
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
  journal: { segmentBytes, maxBlockBytes: boundsOf(options).maxBlockBytes },
  ledger: options.funds === undefined ? Absent.setting : SimBank.custody,
  // What the signer is asked now and then decides nothing, and would come between everything else.
  funds: { signerMs: 0, ...(options.funds === undefined ? {} : { reconcileMs }) },
  // Simulated time may leap: the database is in memory, and closes at once.
  histories: { endingMs: Number.POSITIVE_INFINITY, ...pausesOf(options) },
  ...(options.origins === undefined ? {} : { corsOrigins: options.origins }),
  ...(options.proxies === undefined ? {} : { trustedProxies: options.proxies.count }),
  ...(options.streams === undefined ? {} : { stream: roomOf(options.streams) })
})

/** Records between two snapshots of a writer that takes them itself. */
export const snapshotEveryOf = (options: Options): number => boundsOf(options).snapshotEveryRecords ?? 400

/** An account to which a workload is bound, and that never exists. */
const neverOpened = "acc_zzzzzz"

/** Longest wait of the supervisor, however many starts have failed, ms. */
const longestRestartMs = 2_000

/** Simulated milliseconds after which the supervisor kills a process whose disk hangs. */
const patienceMs = 1_500

/** Within this time before it hangs, a block was begun, ms. */
const blockMs = 1_000

/** A crash that strikes after a number of the process's tasks. */
export interface Countdown {
  readonly tasks: number
  readonly loss: SimDisk.Crash
}

/** The record of the newest snapshot on a disk; 0 for none. */
export const newestSnapshot = (disk: Pick<World["disk"], "files">): number =>
  disk.files().reduce((most, path) => Math.max(most, Number(/^snapshots\/([0-9]{20})\.snap$/.exec(path)?.[1] ?? 0)), 0)

export class Host {
  process: SimProcess.SimProcess | undefined
  /** The present content of the markets file. */
  #listed: ReadonlyArray<ListedMarket>
  /** The engine, while the process is ready. */
  reads: Reads | undefined
  /** The state of its histories, likewise. */
  histories: Histories["Type"]["standing"] | undefined
  /** The followers of its writer, while it is ready and keeps one. */
  followers: Venue.Venue["Type"]["followers"]
  /** Whether a disk operation failed under the present process; a full disk is not counted. */
  diskFailed = false
  /** How many crashes struck. */
  crashes = 0
  /** Whether the present process has lost its lock. */
  hasLostLock = false
  /** Whether faults have stopped: then no reader or follower beside the process dies either. */
  isCalm = false
  /** How a follower misreports its state, and whether one has done so. */
  followerLies: SimFollower.Lie | undefined
  hasLied = false
  /** Since when a block of the present process has been hanging on the disk, by true time; undefined where none has. */
  #hungSinceEpochMs: number | undefined
  /** Makes the stranger release the lock. */
  #letGo: (() => void) | undefined
  #incarnation = 0
  /** The rules of the version that was ready last. */
  #rules = versions.rules
  /** The rules of the latest started process. */
  #running = versions.rules
  /** The size of its new segments. */
  #segmentBytes: number
  /** Consecutive starts that ended before they were ready. */
  #vain = 0
  /** Whether the last process stopped gracefully. */
  #stopped = false
  /** Whether another version was refused, so that the version before it starts next. */
  #refused = false
  /** Whether the process has been asked to stop. */
  #stopping = false
  /** Whether the supervisor no longer restarts it. */
  #over = false
  /** How far ahead of true time every process reads the clock from now on, ms. */
  #agedMs = 0
  /** Tasks until the planned crash strikes; Infinity for none. */
  #crashIn = Number.POSITIVE_INFINITY
  #crashLoss: SimDisk.Crash = "power"
  /** Crashes a number of tasks after the next disk operation of a kind, where most can go wrong. */
  readonly #crashAt = new Map<CrashMark, Countdown>()
  /** Whether the write of the next block never ends. */
  #hangsNext = false
  /** Called just as the next block begins to be written. */
  #beforeBlock: (() => void) | undefined

  /** `crashAtStart`: returns the crash of the process that starts now, if there is one. */
  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly crashAtStart: () => Countdown | undefined,
    readonly reader: FeedReader
  ) {
    this.#listed = world.markets?.first ?? []
    this.#segmentBytes = boundsOf(world.options).segmentBytes
  }

  start(): void {
    const { follower, witness, world: { disk, options, time } } = this
    this.#incarnation++
    this.diskFailed = false
    this.hasLostLock = false
    this.#hungSinceEpochMs = undefined
    const incarnation = this.#incarnation
    const rules = this.#drawRules()
    this.#running = rules
    this.#resizeSegments()
    this.#growFile()
    const markets = this.#listed.map(({ parameters }) => parameters.marketId)
    const calendars = this.#listed.flatMap(({ calendar, parameters: { marketId } }) =>
      calendar === undefined ? [] : [{ marketId, calendar }]
    )
    const maxRecords = options.listing?.blockRecords ?? Sequencer.defaultOptions.maxRecords
    const bounds = { ...boundsOf(options), segmentBytes: this.#segmentBytes, maxRecords }
    const limits = limitsOf(options)
    witness.see({
      _tag: "Started",
      incarnation,
      atEpochMs: time.nowEpochMs(),
      markets,
      calendars,
      rules,
      bounds,
      snapshotEvery: options.follower?.isThere === true ? 0 : snapshotEveryOf(options),
      limits,
      set: settingsOf(options),
      toldAgain: options.streams?.toldAgain ?? promised,
      keptOfMarkets: { updates: options.streams?.keptUpdates ?? usualKept.updates, bytes: usualKept.bytes },
      conversing: options.streams?.odd ?? usualConversing,
      behindBytes: options.streams?.behindBytes ?? Number.POSITIVE_INFINITY,
      bufferedBytes: options.streams?.bufferedBytes ?? Number.POSITIVE_INFINITY,
      silenceMs: options.streams?.silenceMs ?? usualSilenceMs,
      connections: options.streams?.connections ?? usualConnections,
      changeWaits: options.streams?.changeWaits ?? usualChangeWaits,
      pageText: options.streams?.missed?.pageText ?? usualBounds.pageText
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
          // A version that was cut off before it was ready had nevertheless taken over.
          if (by === "NewerRules") this.#rules = rules + 1
        }
        this.#stopped = failure === undefined
        this.#stopping = false
        if (!this.#over) this.#restartLater()
      }
    }, { watch: this.#watch(incarnation) })
  }

  /** Reports the arrivals at this process's writer and the durations of its turns. */
  #watch(incarnation: number): Sequencer.Watch {
    const { follower: { model }, witness } = this
    return {
      offered: (command, taken) => {
        if (incarnation === this.#incarnation) witness.see({ _tag: "Offered", command, taken })
      },
      taken: (command, sequence, atEpochMs, answered) => {
        if (incarnation !== this.#incarnation) return
        const preview = answered === undefined ? this.#previewed(command, atEpochMs) : undefined
        witness.see({ _tag: "Taken", command, waited: true, sequence, atEpochMs, answered, preview, model })
      },
      made: (command, sequence, atEpochMs) => {
        if (incarnation !== this.#incarnation) return
        witness.see({ _tag: "Taken", command, waited: false, sequence, atEpochMs, answered: undefined, preview: undefined, model })
      }
    }
  }

  /**
   * The preview of a command that is decided next; undefined where it does not place exactly one order, or something other than a session
   * of its market is due.
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

  /** The rules of the process that starts now: those of the last, or of the next version. */
  #drawRules(): number {
    const { options: { takeover }, root } = this.world
    const share = this.#stopped ? takeover?.afterStop ?? 0 : takeover?.afterCrash ?? 0
    const mayDiffer = !this.#refused && !this.witness.proving && this.#incarnation > 1
    const after = mayDiffer && root.split(`rules/${this.#incarnation}`).chance(share)
    this.#refused = false
    this.#stopped = false
    return after ? this.#rules + 1 : this.#rules
  }

  /** The operator may change the size of new segments before any start. */
  #resizeSegments(): void {
    const { options, root } = this.world
    const { maxBlockBytes, resizedShare = 0 } = boundsOf(options)
    const random = root.split(`segment size/${this.#incarnation}`)
    if (this.#incarnation > 1 && random.chance(resizedShare)) this.#segmentBytes = segmentBytesOf(random, maxBlockBytes)
  }

  /** Consecutive starts that ended before they were ready. */
  get vainStarts(): number {
    return this.#vain
  }

  /** Whether any other than the first version has been started. */
  get hasOtherVersion(): boolean {
    return this.#running !== versions.rules || this.#rules !== versions.rules
  }

  /** How another version's journal refused a start, where versions change at all. */
  #refusedBy(failure: string | undefined): "UndecidedByOther" | "NewerRules" | undefined {
    if (failure === undefined || this.world.options.takeover === undefined) return undefined
    if (this.#running > this.#rules && failure.startsWith("UndecidedByOther")) return "UndecidedByOther"
    return this.#running === this.#rules && failure.startsWith("NewerRules") ? "NewerRules" : undefined
  }

  /** The state that a graceful stop leaves. */
  #left(): { readonly sequence: number; readonly digest: string } | undefined {
    const { reads, world: { options } } = this
    if (options.takeover === undefined || !(reads instanceof Engine)) return undefined
    return { sequence: reads.sequence, digest: stateDigest(reads.state) }
  }

  /** Starts a process that reports to `told`; `set`: settings that differ from those of the run's venue. */
  startTelling(told: Pick<SimProcess.Parts, "ready" | "ended" | "beside">, set: Partial<Venue.Options> = {}): void {
    const { bank, disk, feed, histories, markets, network, options, schedule, secure, time } = this.world
    this.process = SimProcess.start({
      time,
      disk,
      network,
      schedule,
      secure,
      preemption: options.process.preemption,
      venue: { ...venueOptions(this.world, this.#running, this.#segmentBytes), ...set },
      workloads: settingsOf(options).workloads ? { get: this.#bound } : undefined,
      marketsFile: markets === undefined ? undefined : JSON.stringify(this.#listed),
      feed,
      bank,
      askedOfBank: this.#askedOfBank(),
      histories,
      follower: this.#follower(),
      readings: this.#readings(),
      log: (line, defect) => this.witness.log(line, defect),
      reached: this.witness.reached,
      ...told
    })
    this.process.clock.jump(this.#agedMs)
  }

  /** Has what the process that starts now asks of the ledger and the signer observed. */
  #askedOfBank(): SimProcess.Parts["askedOfBank"] {
    const { follower, witness, world: { time } } = this
    /** When each transaction was looked for, by true time. */
    const lookedAt = new Map<string, number>()
    return ({ of, what }) => {
      const clock = this.process?.clock
      if (clock === undefined || follower.paused || witness.proving) return
      follower.drain()
      if (what === "execute") return witness.see({ _tag: "Executing", submissionId: of, atEpochMs: clock.seen() })
      if (what !== "look") return witness.see({ _tag: "AskedOfBank", what, of })
      const before = lookedAt.get(of)
      lookedAt.set(of, time.nowEpochMs())
      const isSteady = before !== undefined && clock.isUntouchedSince(before)
      witness.see({ _tag: "LookedFor", hash: of, sinceMs: isSteady ? time.nowEpochMs() - before : undefined })
    }
  }

  /** The faults of the follower of the process that starts now, and the receiver of its reports. */
  #follower(): SimProcess.Parts["follower"] {
    const { options: { follower: behaviour }, root } = this.world
    const incarnation = this.#incarnation
    const isOfNow = (): boolean => incarnation === this.#incarnation && this.process !== undefined
    return behaviour === undefined || !behaviour.isThere ? undefined : {
      behaviour,
      isCalm: () => this.isCalm,
      random: root.split(`follower/${incarnation}`),
      lies: () => {
        this.hasLied ||= this.followerLies !== undefined
        return this.followerLies
      },
      started: () => {
        if (isOfNow()) this.witness.see({ _tag: "FollowerStarted" })
      },
      said: ({ _tag }) => this.witness.count(`follower ${_tag}`),
      ended: ({ reason }) => {
        // Deliberate damage is for the venue's own start to find.
        if (isOfNow() && !this.witness.proving) this.witness.see({ _tag: "FollowerEnded", reason, diskFailed: this.diskFailed })
      }
    }
  }

  /** The faults of the journal reader of the process that starts now. */
  #readings(): SimProcess.Parts["readings"] {
    const { options: { readings }, root } = this.world
    return readings === undefined || !readings.isThere ? undefined : {
      meanCrashMs: readings.meanCrashMs,
      isCalm: () => this.isCalm,
      random: root.split(`readings/${this.#incarnation}`),
      seen: (what) => this.witness.count(what)
    }
  }

  /** The account to which a workload's subject is bound, once there is one. */
  readonly #bound = (subject: string): string | undefined => {
    const account = Tokens.accountOf(subject)
    if (account === -1) return neverOpened
    const found = account === undefined ? undefined : this.follower.model.accounts[account]
    return found === undefined ? undefined : accountId(found.born)
  }

  /** Advances the clock of this process and all later ones, as if nobody had called for a while. */
  age(byMs: number): void {
    this.#agedMs += byMs
    this.process?.clock.jump(byMs)
  }

  /** Runs one task of the process, and the crash that is due after it. Returns false if no task is ready. */
  runOne(): boolean {
    if (this.process === undefined || this.process.readyTasks() === 0) return false
    this.process.runOne()
    this.#crashIn--
    if (this.#crashIn <= 0) this.crash(this.#crashLoss)
    return true
  }

  /** Asks the process to stop, as SIGTERM does; `over`: without a restart. */
  stop(over = false): void {
    this.#stopping = true
    if (over) this.#over = true
    this.process?.stop()
  }

  /** Removes the lock's file under the process, which runs on; `byStranger`: another process then locks a new file in its place. */
  takeLock(byStranger: boolean): void {
    const { witness, world: { disk } } = this
    this.giveLockBack()
    const sequence = JournalTap.lastReadable(disk)
    if (byStranger) this.#letGo = disk.replaceLock(lockPath)
    else disk.removeLock(lockPath)
    this.hasLostLock = true
    witness.see({ _tag: "LockTaken", incarnation: this.#incarnation, sequence, byStranger })
  }

  /** Makes the stranger release the lock. */
  giveLockBack(): void {
    if (this.#letGo === undefined) return
    this.#letGo()
    this.#letGo = undefined
    this.witness.see({ _tag: "LockLeft" })
  }

  /** Makes the disk full, or gives it room again. */
  fillDisk(isFull: boolean): void {
    const { disk, time } = this.world
    disk.setOutOfRoom(isFull)
    this.witness.see({ _tag: "DiskFull", isFull, atEpochMs: time.nowEpochMs() })
  }

  /** Clears everything that belonged to the process. */
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

  /** Plans a crash counted from the next disk operation of a kind. */
  planCrashAt(mark: CrashMark, crash: Countdown): void {
    this.#crashAt.set(mark, crash)
  }

  /** Whether a crash is planned after the next such operation. */
  isPlannedAt(mark: CrashMark): boolean {
    return this.#crashAt.has(mark)
  }

  /** The clock reading of a process that is ready and was not asked to stop; undefined where there is none. */
  get servingEpochMs(): number | undefined {
    return this.reads === undefined || this.#stopping ? undefined : this.process?.clock.seen()
  }

  /** Calls `happens` just as the next block begins to be written. */
  beforeBlock(happens: () => void): void {
    this.#beforeBlock = happens
  }

  /** Makes the write of the next block one that never ends. */
  hangNextBlock(): void {
    this.#hangsNext = true
  }

  /** Whether the write of a block that begins now never ends. */
  hangs(): boolean {
    if (!this.#hangsNext) return false
    this.#hangsNext = false
    this.diskFailed = true
    this.killHung(true)
    return true
  }

  /** Notes that a block begins to be written. */
  beginsBlock(): void {
    const happens = this.#beforeBlock
    this.#beforeBlock = undefined
    happens?.()
  }

  dropPlannedCrash(): void {
    this.#crashIn = Number.POSITIVE_INFINITY
    this.#crashAt.clear()
    this.#beforeBlock = undefined
    this.#hangsNext = false
  }

  /** Notes that a disk operation of a kind begins. */
  begins(mark: CrashMark): void {
    const crash = this.#crashAt.get(mark)
    if (crash === undefined) return
    this.#crashAt.delete(mark)
    this.planCrash(crash)
  }

  /** The supervisor kills a process whose disk hangs, since nothing else would end it. */
  killHung(isOfBlock: boolean): void {
    const incarnation = this.#incarnation
    if (isOfBlock) this.#hungSinceEpochMs ??= this.world.time.nowEpochMs()
    this.world.time.after(patienceMs, () => {
      if (this.process !== undefined && this.#incarnation === incarnation) this.crash("kill")
    })
  }

  /** For how long a block has been hanging on the disk; 0 also where the process's clock was set meanwhile or just before. */
  get hungMs(): number {
    const since = this.#hungSinceEpochMs
    if (since === undefined || this.process?.clock.isUntouchedSince(since - blockMs) !== true) return 0
    return this.world.time.nowEpochMs() - since
  }

  /** Adds the later market once its time has come, but not for the restarts that prove replay, which compare states. */
  #growFile(): void {
    const { elapsedMs, markets, options: { listing } } = this.world
    if (markets === undefined || listing === undefined || listing.growsAtMs === 0 || this.witness.proving) return
    if (elapsedMs() >= listing.growsAtMs) this.#listed = [...markets.first, markets.later]
  }

  #restartLater(): void {
    const { options, root, time } = this.world
    const restarts = root.split(`restart/${this.#incarnation}`)
    // Like real supervisors, it doubles its wait after each failed start.
    const waits = Math.min(options.process.maxRestartMs * 2 ** this.#vain, longestRestartMs)
    this.#vain++
    time.after(restarts.next() * waits, () => {
      if (this.process === undefined) this.start()
    })
  }
}
