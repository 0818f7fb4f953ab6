/**
 * The faults of a run: drawn from the seed and recorded, or taken from a script; either way they strike alike. What the network does to a
 * call is drawn with the call, not here.
 */
import * as Moments from "../model/Moments.js"
import * as SimNetwork from "../world/SimNetwork.js"
import type * as Script from "./Script.js"
import type * as SimDisk from "../world/SimDisk.js"
import type * as SimRandom from "../world/SimRandom.js"
import { unfinishedPath } from "../../src/journal/Segment.js"
import { isSnapshot } from "../world/SnapshotTap.js"
import { boundsOf, type Host } from "./Host.js"
import type { World } from "./World.js"

type CrashAtStart = Extract<Script.FaultStep, { readonly do: "crash at start" }>
type CrashAtEnd = Extract<Script.FaultStep, { readonly do: "crash at the end" }>
type DiskError = Extract<Script.FaultStep, { readonly do: "disk error" }>

/** Most faults before the venue has been ready once: it must get there. */
const mostInOpening = 8
/** Tasks within which a start that is to be crashed crashes; and the same for the first start, where nothing else is drawn. */
const tasksOfStart = 400
const tasksOfFirstStart = 140

/** Tasks within which a renamed file has its name durably and is written to. */
const tasksOfRename = 10

/** Mean time until a process is set to crash at the next segment that gets its name, ms. */
const meanUntilSegmentMs = 700

/** Offset of the clock from the moment to which it is set, and how long it then stands still, ms. */
const besideMs = [-1_000, -1, 0, 0, 1, 1_000]
const standingMs = [5, 60, 400]

/** After so many failed starts in a row, no further crash strikes until the venue is ready. */
const mostVainStarts = 3

/** Lifetime that traders' keys must have left after any such step: more than all other steps of a run together. */
const outlivedMs = 60 * 24 * 3_600_000

const isBlock = (path: string): boolean => path.endsWith(".seg")

/** Number of the first writes to the journal after a start, and after a request to stop, among which one fails. */
const writesOfStart = 8
const writesOfStop = 3

/** Most steps of the clock to the end of something of the owners', and the longest of them. */
const ownersSteps = 4
const farthestMs = 13 * 3_600_000

/**
 * The longest funding interval by which a clock is set forward, how long an index must be valid for that, and the time between two such
 * jumps, in which there is a tick, ms; and the fewest holders of which a few ticks do not settle all.
 */
const shortIntervalMs = 10_000
const freshMs = 60_000
const intervalsApartMs: ReadonlyArray<number> = [4, 10, 40, 150]
const fewHolders = 3

export class Faults {
  /** Whether faults strike. */
  active = false
  /** Whether the venue has not been ready yet. */
  #opening = false
  /** How many faults struck before it was first ready. */
  #struckInOpening = 0
  readonly #random: SimRandom.SimRandom
  readonly #clock: SimRandom.SimRandom
  readonly #steps: SimRandom.SimRandom
  readonly #disk: SimRandom.SimRandom
  readonly #room: SimRandom.SimRandom
  readonly #histories: SimRandom.SimRandom
  readonly #lock: SimRandom.SimRandom
  readonly #segments: SimRandom.SimRandom
  readonly #whileFull: SimRandom.SimRandom
  readonly #failing: SimRandom.SimRandom
  readonly #stops: SimRandom.SimRandom
  readonly #intervals: SimRandom.SimRandom
  /** Writes of the journal until the one that is to fail; Infinity for none. */
  #failsIn = Number.POSITIVE_INFINITY
  /** How that write fails. */
  #failsAs: "EIO" | "stall" | "stall, then EIO" = "EIO"
  /** How many operations of each kind began at the present moment. */
  readonly #counted = new Map<SimDisk.Operation, number>()
  #countedAtMs = -1
  #nth = 0
  /** Disk errors of the script that have not struck yet. */
  readonly #diskErrors: Array<DiskError>
  /** Crashes at starts of the script that have not struck yet. */
  readonly #crashesAtStart: Array<CrashAtStart>

  constructor(readonly world: World, readonly host: Host) {
    this.#random = world.root.split("faults")
    this.#clock = world.root.split("clock")
    this.#steps = world.root.split("clock steps")
    this.#disk = world.root.split("disk errors")
    this.#room = world.root.split("room")
    this.#histories = world.root.split("damaged histories")
    this.#lock = world.root.split("taken lock")
    this.#whileFull = world.root.split("crashes on a full disk")
    this.#segments = world.root.split("crashes at segments")
    this.#failing = world.root.split("failing writes")
    this.#stops = world.root.split("stops")
    this.#intervals = world.root.split("funding intervals")
    const steps = world.request.script?.steps ?? []
    this.#diskErrors = steps.filter((step) => step.do === "disk error")
    this.#crashesAtStart = steps.filter((step) => step.do === "crash at start")
  }

  /** Faults may strike while the venue starts for the first time, until it is ready. */
  beginOpening(): void {
    this.#opening = this.world.options.listing !== undefined
    this.active = this.#opening
  }

  /** The venue is ready: no faults until the workload begins. */
  endOpening(): void {
    this.#opening = false
    this.active = false
    this.host.dropPlannedCrash()
  }

  /** Starts the faults: drawn ones are planned; those of a script strike at their times. */
  begin(): void {
    this.active = true
    this.world.network.setFaults(this.world.options.network)
    if (this.world.request.script !== undefined) return
    this.#planCrash()
    this.#planCrashAtSegment()
    this.#planStop()
    this.#planClockFault()
    this.#planFullDisk()
    this.#planDamagedHistories()
    this.#planTakenLock()
    this.#planClockStep()
    this.#planIntervals()
  }

  /** Stops the faults and repairs lasting ones. */
  end(): void {
    this.active = false
    this.host.isCalm = true
    this.host.fillDisk(false)
    this.host.giveLockBack()
    this.world.network.setFaults(SimNetwork.noFaults)
    this.host.process?.clock.heal()
    this.host.dropPlannedCrash()
  }

  /** The crash at the moment at which faults stop, if there is one. */
  atEnd(script: Script.Script | undefined): CrashAtEnd | undefined {
    if (script !== undefined) return script.steps.find((step) => step.do === "crash at the end")
    if (this.host.process === undefined || !this.#random.chance(0.5)) return undefined
    return this.#struck({ do: "crash at the end", atMs: this.world.elapsedMs(), loss: this.#drawLoss() })
  }

  /** The crash of the process that starts now, if there is one. */
  atStart(): CrashAtStart | undefined {
    const { elapsedMs, options, request } = this.world
    if (!this.active) return undefined
    if (request.script !== undefined) {
      const index = this.#crashesAtStart.findIndex((step) => step.atMs <= elapsedMs())
      return index < 0 ? undefined : this.#crashesAtStart.splice(index, 1)[0]
    }
    this.#planFailure(writesOfStart)
    this.#planDueAtStart()
    const share = this.#opening ? options.listing?.crashShare ?? 0 : options.process.crashInRecovery
    if (!this.#random.chance(share)) return undefined
    const tasks = this.#random.between(1, this.#opening ? options.listing?.crashTasks ?? tasksOfFirstStart : tasksOfStart)
    return this.#struck({ do: "crash at start", atMs: elapsedMs(), tasks, loss: this.#drawLoss() })
  }

  /** Carries out a fault. Those bound to a start, to the end or to a disk operation strike there. */
  strike(step: Script.FaultStep): void {
    const { host, host: { process }, world } = this
    switch (step.do) {
      case "stop": {
        const stop = (): void => host.reads === undefined ? undefined : host.stop()
        return step.from === undefined ? stop() : host.beforeBlock(stop)
      }
      case "crash":
        if (process === undefined) return
        return step.from === "now" ? host.planCrash(step) : host.planCrashAt(step.from, step)
      case "jump":
        return process?.clock.jump(step.byMs)
      case "freeze": {
        const clock = process?.clock
        clock?.freeze()
        world.plans.after(step.forMs, () => clock?.thaw())
        return
      }
      case "full disk":
        host.fillDisk(true)
        world.plans.after(step.forMs, () => host.fillDisk(false))
        return
      case "lock taken": {
        const take = (): void => {
          if (host.reads === undefined) return
          host.takeLock(step.heldMs > 0)
          if (step.heldMs > 0) world.plans.after(step.heldMs, () => host.giveLockBack())
        }
        return step.from === undefined ? take() : host.beforeBlock(take)
      }
      case "histories damaged":
        return world.histories.spoil()
      case "disk error":
      case "crash at start":
      case "crash at the end":
        return
    }
  }

  /** The failure of a disk operation that is about to begin, if it fails. */
  ofDisk(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    if (!this.active) return undefined
    this.#nth = this.#countNow(operation)
    const code = this.world.request.script === undefined ? this.#drawDiskError(operation, path) : this.#scriptedDiskError(operation, path)
    if (code !== undefined && code !== "stall") this.host.diskFailed = true
    if (code === "hang") this.host.killHung(isBlock(path))
    return code
  }

  /** How many such operations began at this moment before the present one. */
  #countNow(operation: SimDisk.Operation): number {
    const atMs = this.world.elapsedMs()
    if (atMs !== this.#countedAtMs) this.#counted.clear()
    this.#countedAtMs = atMs
    const before = this.#counted.get(operation) ?? 0
    this.#counted.set(operation, before + 1)
    return before
  }

  /** Records a drawn fault and carries it out. */
  #struck<S extends Script.FaultStep>(step: S): S {
    if (this.#opening && ++this.#struckInOpening >= mostInOpening) this.active = false
    this.world.record(step)
    this.strike(step)
    return step
  }

  #drawLoss(): SimDisk.Crash {
    return this.#random.chance(0.7) ? "power" : "kill"
  }

  /** Strikes repeatedly, a mean time apart, as long as there are faults; never for a mean of 0. */
  #every(random: SimRandom.SimRandom, meanMs: number, strike: () => void): void {
    if (meanMs === 0) return
    this.world.plans.after(random.until(meanMs), () => {
      if (!this.active) return
      this.#every(random, meanMs, strike)
      strike()
    })
  }

  /** Plans the next crash or, now and then, a graceful stop. */
  #planCrash(): void {
    const { elapsedMs, options } = this.world
    const { gracefulShare, meanCrashMs } = options.process
    const random = this.#random
    this.#every(random, meanCrashMs, () => {
      // Where crashes came faster than a start takes, the venue would never be ready again.
      if (this.host.process === undefined || this.host.vainStarts > mostVainStarts) return
      const atMs = elapsedMs()
      if (this.host.reads !== undefined && random.chance(gracefulShare)) {
        this.#struck({ do: "stop", atMs })
        this.#planFailure(writesOfStop)
      } else if (random.chance(0.6)) {
        this.#struck({ do: "crash", atMs, from: "journal write", tasks: random.between(1, 4), loss: this.#drawLoss() })
      } else if (random.chance(0.5)) {
        this.#struck({
          do: "crash",
          atMs,
          from: "rename",
          tasks: random.between(1, tasksOfRename),
          loss: random.chance(0.5) ? "power" : "kill"
        })
      } else this.#struck({ do: "crash", atMs, from: "now", tasks: random.between(1, 60), loss: this.#drawLoss() })
    })
  }

  /** Plans a crash while a segment of the journal gets its name: the next start finds a name that need not be durable. */
  #planCrashAtSegment(): void {
    const { elapsedMs, options: { process: { meanCrashMs } } } = this.world
    const random = this.#segments
    if (meanCrashMs === 0) return
    this.#every(random, meanUntilSegmentMs, () => {
      if (this.host.reads === undefined || this.host.isPlannedAt("segment")) return
      const [tasks, loss] = [random.between(1, tasksOfRename), random.chance(0.8) ? "kill" as const : "power" as const]
      this.#struck({ do: "crash", atMs: elapsedMs(), from: "segment", tasks, loss })
    })
  }

  /** Plans graceful stops, most of them just as a block is written, so that the process has something to wait for. */
  #planStop(): void {
    const { elapsedMs, options: { process: { meanStopMs = 0 } } } = this.world
    const random = this.#stops
    this.#every(random, meanStopMs, () => {
      if (this.host.reads === undefined) return
      const from = random.chance(0.7) ? { from: "block" as const } : {}
      this.#struck({ do: "stop", atMs: elapsedMs(), ...from })
      if (random.chance(0.3)) return this.#planFailure(writesOfStop)
      // Everything else that has to end before the journal's blocks are awaited has ended by then.
      const mayFail = (this.world.options.disk.failsAtEndsShare ?? 0) > 0
      this.#failsIn = 0
      this.#failsAs = mayFail ? random.pick(["stall", "stall, then EIO", "stall, then EIO"]) : "stall"
    })
  }

  /** Makes one of the next writes of the journal fail, as a process starts or stops. */
  #planFailure(writes: number): void {
    this.#failsAs = "EIO"
    this.#failsIn = this.#failing.chance(this.world.options.disk.failsAtEndsShare ?? 0)
      ? this.#failing.below(writes)
      : Number.POSITIVE_INFINITY
  }

  #planClockFault(): void {
    const { elapsedMs, options } = this.world
    const { freezeShare, maxJumpMs, meanFaultMs } = options.clock
    const random = this.#clock
    this.#every(random, meanFaultMs, () => {
      if (this.host.process === undefined) return
      const atMs = elapsedMs()
      if (random.chance(freezeShare)) this.#struck({ do: "freeze", atMs, forMs: random.next() * meanFaultMs })
      else this.#struck({ do: "jump", atMs, byMs: (random.next() * 2 - 1) * maxJumpMs })
    })
  }

  #planFullDisk(): void {
    const { elapsedMs, options: { room } } = this.world
    const random = this.#room
    if (room === undefined) return
    this.#every(random, room.meanFullMs, () => {
      const { forMs } = this.#struck({ do: "full disk", atMs: elapsedMs(), forMs: random.next() * room.maxFullMs })
      this.#planCrashWhileFull(forMs)
    })
  }

  /** Plans a crash before the disk has room again, so that the next start finds none. */
  #planCrashWhileFull(forMs: number): void {
    const { elapsedMs, options: { process: { meanCrashMs } }, plans } = this.world
    const random = this.#whileFull
    if (meanCrashMs === 0 || !random.chance(0.5)) return
    plans.after(random.next() * forMs, () => {
      if (!this.active || this.host.reads === undefined) return
      this.#struck({ do: "crash", atMs: elapsedMs(), from: "now", tasks: random.between(1, 60), loss: random.pick(["kill", "power"]) })
    })
  }

  #planTakenLock(): void {
    const { elapsedMs, options: { lock } } = this.world
    const random = this.#lock
    if (lock === undefined) return
    // In half of the runs it is always taken just as a block is written.
    const from = random.split("at a write").chance(0.5) ? { from: "block" as const } : {}
    this.#every(random, lock.meanTakenMs, () => {
      const heldMs = random.chance(lock.strangerShare) ? random.next() * lock.maxHeldMs : 0
      if (this.host.reads === undefined) return
      this.#struck({ do: "lock taken", atMs: elapsedMs(), heldMs, ...from })
    })
  }

  #planDamagedHistories(): void {
    const { elapsedMs, options: { histories } } = this.world
    if (histories === undefined) return
    this.#every(this.#histories, histories.meanDamagedMs, () => {
      if (this.host.process === undefined) return
      this.#struck({ do: "histories damaged", atMs: elapsedMs() })
    })
  }

  /** Plans the next jump of the clock to a moment at which something ends or falls due, where it then stands still for a while. */
  #planClockStep(): void {
    const { edges } = this.world.options
    const random = this.#steps
    if (edges === undefined) return
    this.#every(random, edges.meanStepMs, () => {
      const { model } = this.host.follower
      // With a full table, room appears when an ended order's retention is over, and the next client finds it.
      const isFull = model.keptOrders(model.atEpochMs) >= boundsOf(this.world.options).orders / 2
      const moments = isFull && random.chance(0.5) ? Moments.orderEnds : random.pick(Moments.kinds)
      const ahead = this.#msAhead(moments(model))
      if (ahead.length === 0) return
      const atMs = this.world.elapsedMs()
      this.#struck({ do: "jump", atMs, byMs: random.pick(ahead) + random.pick(besideMs) })
      this.#struck({ do: "freeze", atMs, forMs: random.pick(standingMs) })
    })
  }

  /** Plans jumps of the clock to the end of a funding interval, and interval by interval on, faster than positions are settled. */
  #planIntervals(): void {
    const { options: { intervals }, plans } = this.world
    const random = this.#intervals
    if (intervals === undefined) return
    this.#every(random, intervals.meanPauseMs, () => {
      const { accounts, markets: all } = this.host.follower.model
      // Each jump is one tick, which is enough for the shortest intervals only, and where the index is not stale by then.
      const markets = all.filter(({ index, parameters: { fundingIntervalMs, indexStaleMs }, risk }) =>
        risk.interval !== 0 && fundingIntervalMs <= shortIntervalMs && indexStaleMs >= freshMs
        && accounts.filter(({ positions }) => positions.has(index)).length >= fewHolders
      )
      if (markets.length === 0) return
      const { parameters: { fundingIntervalMs }, risk } = random.pick(markets)
      const [aheadMs] = this.#msAhead([(risk.interval + 1) * fundingIntervalMs])
      if (aheadMs === undefined) return
      this.#struck({ do: "jump", atMs: this.world.elapsedMs(), byMs: aheadMs + 1 })
      const apartMs = random.pick(intervalsApartMs)
      for (let on = random.between(2, 4); on > 0; on--) {
        plans.after(on * apartMs, () => {
          if (this.active && this.host.process !== undefined)
            this.#struck({ do: "jump", atMs: this.world.elapsedMs(), byMs: fundingIntervalMs })
        })
      }
    })
  }

  /**
   * Plans jumps of the clock to one of `moments`, or to the end of one of the model's sessions, keys and grants: few in a run, and none of
   * days.
   */
  beginOwners(moments: () => ReadonlyArray<number>): void {
    const { options: { owners }, root } = this.world
    const ends = (): ReadonlyArray<number> => [...moments(), ...Moments.authorityEnds(this.host.follower.model)]
    this.#planSteps(root.split("owners' clock steps"), owners?.meanStepMs ?? 0, ends)
  }

  /** Plans jumps of the clock to where a realtime ticket expires, or the previous one can no longer be presented. */
  beginTickets(): void {
    const { options: { tickets }, root } = this.world
    this.#planSteps(root.split("tickets' clock steps"), tickets?.meanStepMs ?? 0, () => this.host.follower.model.identity.tickets.moments)
  }

  #planSteps(random: SimRandom.SimRandom, meanStepMs: number, moments: () => ReadonlyArray<number>): void {
    const { elapsedMs, plans } = this.world
    let left = ownersSteps
    const plan = (): void => {
      if (meanStepMs === 0 || left-- === 0) return
      plans.after(random.until(meanStepMs), () => {
        if (!this.active) return
        plan()
        const ahead = this.#msAhead(moments()).filter((ms) => ms <= farthestMs)
        if (ahead.length === 0) return
        const atMs = elapsedMs()
        this.#struck({ do: "jump", atMs, byMs: random.pick(ahead) + random.pick(besideMs) })
        this.#struck({ do: "freeze", atMs, forMs: random.pick(standingMs) })
      })
    }
    plan()
  }

  /** Sets the clock of the process that starts now to the first moment at which something is due, before it has read its journal. */
  #planDueAtStart(): void {
    const random = this.#steps
    if (this.#opening || !random.chance(this.world.options.edges?.dueAtStart ?? 0)) return
    // A moment later, so that the start comes first, also when a script is played back.
    this.world.plans.after(0.01, () => {
      const ahead = this.#msAhead(Moments.dues(this.host.follower.model))
      if (!this.active || ahead.length === 0) return
      this.#struck({ do: "jump", atMs: this.world.elapsedMs(), byMs: Math.min(...ahead) + random.pick(besideMs) })
    })
  }

  /**
   * How far some future moments are from the process's clock, ms. Moments too near the expiry of the traders' keys are left out; the first
   * key stands for them.
   */
  #msAhead(moments: ReadonlyArray<number>): ReadonlyArray<number> {
    const now = this.host.process?.clock.unsafeCurrentTimeMillis()
    const [first] = this.host.follower.model.identity.keys
    const before = (first?.expiresAtEpochMs ?? Number.POSITIVE_INFINITY) - outlivedMs
    return now === undefined ? [] : moments.filter((moment) => now < moment && moment < before).map((moment) => moment - now)
  }

  #scriptedDiskError(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    const atMs = this.world.elapsedMs()
    const index = this.#diskErrors.findIndex((each) =>
      each.operation === operation && (each.atMs < atMs || each.atMs === atMs && (each.nth ?? 0) <= this.#nth)
      && (each.code !== "misdirect" || isSnapshot(path))
    )
    return index < 0 ? undefined : this.#diskErrors.splice(index, 1)[0]!.code
  }

  #drawDiskError(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    const random = this.#disk
    const { errorRate, hangRate, nameErrorRate, noSpaceShare, readErrorRate } = this.world.options.disk
    // A version that takes over needs the state that it began with: without an intact one no version could continue.
    const misdirectRate = this.host.hasOtherVersion ? 0 : this.world.options.disk.misdirectRate
    const draw = (): Script.DiskCode | undefined => {
      switch (operation) {
        case "writeAt":
          if (isBlock(path) && this.#failsIn-- === 0) return this.#failsAs
          // Whether a segment in preparation finds room is the disk's own decision: its header is written over zeros.
          if (random.chance(errorRate)) return random.chance(noSpaceShare) && path !== unfinishedPath ? "ENOSPC" : "EIO"
          if (random.chance(hangRate)) return "hang"
          return isSnapshot(path) && random.chance(misdirectRate) ? "misdirect" : undefined
        case "dataSync":
          if (random.chance(errorRate)) return "EIO"
          return random.chance(hangRate) ? "hang" : undefined
        case "open":
          return random.chance(errorRate) && random.chance(noSpaceShare) ? "ENOSPC" : undefined
        case "readAt":
        case "size":
          return random.chance(readErrorRate) ? "EIO" : undefined
        case "list":
        case "rename":
        case "remove":
        case "makeDirectory":
        case "syncDirectory":
          return random.chance(nameErrorRate) ? "EIO" : undefined
        case "lock":
          return undefined
      }
    }
    const code = draw()
    if (code === undefined) return undefined
    return this.#struck({ do: "disk error", atMs: this.world.elapsedMs(), operation, code, nth: this.#nth }).code
  }
}
