/**
 * The faults of a run: drawn from the seed and written down, or taken from a script; either way they strike the
 * same. What the network does to a call is drawn with the call, not here.
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

/** Most faults that strike before the venue has been ready once: it must get there. */
const mostInOpening = 8
/** Tasks within which a start that is to be crashed dies; and a first one, where nothing else is drawn. */
const tasksOfStart = 400
const tasksOfFirstStart = 140

/** Tasks within which a file that was renamed has its name durably and is written to. */
const tasksOfRename = 10

/** How long a process that may crash goes on, on average, until it is to do so with the next segment that gets its name. */
const meanUntilSegmentMs = 700

/** How far from a moment the clock is set, and how long it then stands there. */
const besideMs = [-1_000, -1, 0, 0, 1, 1_000]
const standingMs = [5, 60, 400]

/** Starts in a row that come to nothing; behind them no further crash strikes until the venue is ready. */
const mostVainStarts = 3

/** For how long the keys of those who trade go on behind the farthest of these steps: longer than all other ones of a run come to. */
const outlivedMs = 60 * 24 * 3_600_000

const isBlock = (path: string): boolean => path.endsWith(".seg")

/** Among how many of the first writes of a start to the journal, and of those since a process was to stop, one fails. */
const writesOfStart = 8
const writesOfStop = 3

/** Most steps of the clock to where something of the owners' ends, and how far one goes at most. */
const ownersSteps = 4
const farthestMs = 13 * 3_600_000

export class Faults {
  /** Whether faults strike at all. */
  active = false
  /** Whether the venue has yet to be ready for the first time. */
  #opening = false
  /** How many faults struck before it was. */
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
  /** Writes of the journal until the one that is to fail; Infinity for none. */
  #failsIn = Number.POSITIVE_INFINITY
  /** How it does. */
  #failsAs: "EIO" | "stall" | "stall, then EIO" = "EIO"
  /** Operations of the disk that began at one moment. */
  readonly #counted = new Map<SimDisk.Operation, number>()
  #countedAtMs = -1
  #nth = 0
  /** Disk errors of the script that have not struck. */
  readonly #diskErrors: Array<DiskError>
  /** The same of crashes at starts. */
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
    const steps = world.request.script?.steps ?? []
    this.#diskErrors = steps.filter((step) => step.do === "disk error")
    this.#crashesAtStart = steps.filter((step) => step.do === "crash at start")
  }

  /** The venue starts for the first time: its process and its disk may fail until it is ready. */
  beginOpening(): void {
    this.#opening = this.world.options.listing !== undefined
    this.active = this.#opening
  }

  /** It is ready, and nothing fails until the workload begins. */
  endOpening(): void {
    this.#opening = false
    this.active = false
    this.host.dropPlannedCrash()
  }

  /** Faults begin: those that are drawn are planned; those of a script strike at their times. */
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
  }

  /** No fault strikes any more, and what lasts is mended. */
  end(): void {
    this.active = false
    this.host.isCalm = true
    this.host.fillDisk(false)
    this.host.giveLockBack()
    this.world.network.setFaults(SimNetwork.noFaults)
    this.host.process?.clock.heal()
    this.host.dropPlannedCrash()
  }

  /** The crash in the moment in which faults stop, if one is to be. */
  atEnd(script: Script.Script | undefined): CrashAtEnd | undefined {
    if (script !== undefined) return script.steps.find((step) => step.do === "crash at the end")
    if (this.host.process === undefined || !this.#random.chance(0.5)) return undefined
    return this.#struck({ do: "crash at the end", atMs: this.world.elapsedMs(), loss: this.#drawLoss() })
  }

  /** The crash of the process that starts now, if one is to be. */
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

  /** Does what a fault says. Those bound to a start, to the end or to a disk operation strike there. */
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

  /** How an operation of the disk that is about to begin fails, if it does. */
  ofDisk(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    if (!this.active) return undefined
    this.#nth = this.#countNow(operation)
    const code = this.world.request.script === undefined ? this.#drawDiskError(operation, path) : this.#scriptedDiskError(operation, path)
    if (code !== undefined && code !== "stall") this.host.diskFailed = true
    if (code === "hang") this.host.killHung()
    return code
  }

  /** How many such operations began at this very moment before the one that does now. */
  #countNow(operation: SimDisk.Operation): number {
    const atMs = this.world.elapsedMs()
    if (atMs !== this.#countedAtMs) this.#counted.clear()
    this.#countedAtMs = atMs
    const before = this.#counted.get(operation) ?? 0
    this.#counted.set(operation, before + 1)
    return before
  }

  /** A fault was drawn: it is written down, and strikes. */
  #struck<S extends Script.FaultStep>(step: S): S {
    if (this.#opening && ++this.#struckInOpening >= mostInOpening) this.active = false
    this.world.record(step)
    this.strike(step)
    return step
  }

  #drawLoss(): SimDisk.Crash {
    return this.#random.chance(0.7) ? "power" : "kill"
  }

  /** Has something strike again and again, a mean time apart and as long as there are faults; with a mean of 0, never. */
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
      // Where crashes come faster than a start takes, the venue would never be ready again, and nobody's work be done.
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

  /** Plans a crash while a segment of the journal gets its name: what a start finds then is named, and need not be so for good. */
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

  /** Plans graceful stops, most of them just as a block is written: then a process has something to wait for. */
  #planStop(): void {
    const { elapsedMs, options: { process: { meanStopMs = 0 } } } = this.world
    const random = this.#stops
    this.#every(random, meanStopMs, () => {
      if (this.host.reads === undefined) return
      const from = random.chance(0.7) ? { from: "block" as const } : {}
      this.#struck({ do: "stop", atMs: elapsedMs(), ...from })
      if (random.chance(0.3)) return this.#planFailure(writesOfStop)
      // What else has to end before the journal's blocks are waited for has ended by then.
      const mayFail = (this.world.options.disk.failsAtEndsShare ?? 0) > 0
      this.#failsIn = 0
      this.#failsAs = mayFail ? random.pick(["stall", "stall, then EIO", "stall, then EIO"]) : "stall"
    })
  }

  /** Has one of the next writes of the journal fail, as a process starts or stops. */
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

  /** Plans a crash before the disk has room again: the start behind it finds none. */
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
    // In half of the runs each time just as a block is written.
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

  /** Plans the next step of the clock to a moment at which something ends or falls due, where it then stands for a while. */
  #planClockStep(): void {
    const { edges } = this.world.options
    const random = this.#steps
    if (edges === undefined) return
    this.#every(random, edges.meanStepMs, () => {
      const { model } = this.host.follower
      // With a full table there is room behind an ended order's time, and whoever comes first finds it.
      const isFull = model.keptOrders(model.atEpochMs) >= boundsOf(this.world.options).orders / 2
      const moments = isFull && random.chance(0.5) ? Moments.orderEnds : random.pick(Moments.kinds)
      const ahead = this.#msAhead(moments(model))
      if (ahead.length === 0) return
      const atMs = this.world.elapsedMs()
      this.#struck({ do: "jump", atMs, byMs: random.pick(ahead) + random.pick(besideMs) })
      this.#struck({ do: "freeze", atMs, forMs: random.pick(standingMs) })
    })
  }

  /**
   * Plans steps of the clock to where something of the owners' ends, `moments`, or the model's sessions, keys and grants do: few in
   * a run, and none of days.
   */
  beginOwners(moments: () => ReadonlyArray<number>): void {
    const { options: { owners }, root } = this.world
    const ends = (): ReadonlyArray<number> => [...moments(), ...Moments.authorityEnds(this.host.follower.model)]
    this.#planSteps(root.split("owners' clock steps"), owners?.meanStepMs ?? 0, ends)
  }

  /** The same to where a realtime ticket is over, or the one before it may not come again. */
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

  /** Sets the clock of the process that starts now to when the first thing is due, before it has read its journal. */
  #planDueAtStart(): void {
    const random = this.#steps
    if (this.#opening || !random.chance(this.world.options.edges?.dueAtStart ?? 0)) return
    // A moment later: the start comes first, also where it is played from a script.
    this.world.plans.after(0.01, () => {
      const ahead = this.#msAhead(Moments.dues(this.host.follower.model))
      if (!this.active || ahead.length === 0) return
      this.#struck({ do: "jump", atMs: this.world.elapsedMs(), byMs: Math.min(...ahead) + random.pick(besideMs) })
    })
  }

  /**
   * How far the process's clock is from those of some moments that it has before it, and that the keys of those who trade outlive: the
   * first keys that there are.
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
    // A version that takes over needs the state that it began with: with none intact nobody could go on.
    const misdirectRate = this.host.hasOtherVersion ? 0 : this.world.options.disk.misdirectRate
    const draw = (): Script.DiskCode | undefined => {
      switch (operation) {
        case "writeAt":
          if (isBlock(path) && this.#failsIn-- === 0) return this.#failsAs
          // Whether a segment that is being prepared finds room is the disk's own to say: its header is written where zeros are.
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
