/**
 * One run: a seed, a world made from it, and every property watching. First faults and safety, then all
 * faults stop and what must come must come within a budget of simulated time.
 *
 * Nothing here is random but by the seed, and nothing waits on anything real: two runs of one seed see the
 * same things in the same order, which the digest over all that was seen shows.
 */
import * as crypto from "node:crypto"
import { Effect, Exit, Layer, Stream } from "effect"
import { Engine } from "../src/engine/Engine.js"
import type { Reads } from "../src/engine/Reads.js"
import * as Snapshot from "../src/engine/Snapshot.js"
import { Journal } from "../src/journal/Journal.js"
import * as SegmentJournal from "../src/journal/SegmentJournal.js"
import { applyBlock } from "../src/sequencer/Recovery.js"
import * as Sequencer from "../src/sequencer/Sequencer.js"
import * as Venue from "../src/Venue.js"
import * as Writer from "../src/sequencer/Writer.js"
import * as Options from "./faults/Options.js"
import type { NaiveDecision, NaiveOrder } from "./model/NaiveVenue.js"
import { isKept, NaiveVenue } from "./model/NaiveVenue.js"
import { watchers } from "./properties/All.js"
import { Glance } from "./properties/Glance.js"
import type { Answer, Call, Observation } from "./properties/Observation.js"
import type { Watcher } from "./properties/Property.js"
import * as Script from "./shrink/Script.js"
import type * as Calls from "./workload/Calls.js"
import * as Operator from "./workload/Operator.js"
import { simMarkets } from "./workload/SimMarkets.js"
import * as Trader from "./workload/Trader.js"
import * as Determinism from "./world/Determinism.js"
import * as JournalTap from "./world/JournalTap.js"
import * as SimClock from "./world/SimClock.js"
import * as SimDisk from "./world/SimDisk.js"
import * as SimNetwork from "./world/SimNetwork.js"
import * as SimProcess from "./world/SimProcess.js"
import * as SimRandom from "./world/SimRandom.js"
import * as SimScheduler from "./world/SimScheduler.js"
import * as SimTime from "./world/SimTime.js"

export interface Request {
  readonly seed: string
  readonly profile: Options.Profile
  /** Calls that clients begin before faults stop. */
  readonly steps: number
  /** Takes the place of the options that the seed draws. */
  readonly options?: Options.Options
  /** Takes the place of everything that workload and faults would draw. */
  readonly script?: Script.Script
  /** Whether the report tells the run's script and keeps its journal. */
  readonly record?: boolean
  /** Whether the run ends once the venue has healed, without the restarts that prove replay and detection of damage. */
  readonly unproven?: boolean
  /** Called with every observation as a line, for traces. */
  readonly trace?: (step: number, atEpochMs: number, line: string) => void
  /** Called with every observation; `call` of those about a call is numbered as in the script. */
  readonly listen?: (atEpochMs: number, seen: Observation) => void
  /** Called with what the network is about to do to each attempt of a call. */
  readonly dealt?: (call: Call, fate: SimNetwork.Fate) => void
}

/** What went wrong. `crash` is a failure of the program itself: a throw, or a run that cannot go on. */
export interface Failure {
  readonly kind: "safety" | "liveness" | "crash"
  /** Names of all properties that broke at the same observation, the first one asked first. */
  readonly properties: ReadonlyArray<string>
  readonly invariant: string
  readonly what: string
  readonly step: number
  /** Simulated milliseconds since the run began. */
  readonly atMs: number
  /** Whether it was seen before the restarts that prove replay and detection of damage. */
  readonly unproven: boolean
}

export interface Report {
  readonly seed: string
  readonly options: Options.Options
  readonly failure: Failure | undefined
  /** SHA-256 over everything that was seen, and the journal's last digest. */
  readonly digest: string
  readonly commands: number
  readonly records: number
  readonly fills: number
  readonly crashes: number
  readonly simulatedMs: number
  /** What clients did and which faults struck, if that was to be recorded. */
  readonly script: Script.Script | undefined
  /** The journal's durable blocks, as they were written, if the run was to be recorded. */
  readonly blocks: ReadonlyArray<Uint8Array>
  /** How often each status was answered, and each observation made. */
  readonly counts: Readonly<Record<string, number>>
}

/** Where the time of every run begins. */
export const startEpochMs = 1_760_000_000_000
const operatorToken = "operator-token-of-the-simulation"

/** Simulated milliseconds in which everything must be answered once faults have stopped. */
const healingBudgetMs = 120_000

/** Simulated milliseconds for which nobody sends anything after that. */
const quietMs = 5_000

/** Simulated milliseconds after which a supervisor kills a process whose disk hangs. */
const hungMs = 1_500

const isSnapshot = (path: string): boolean => path.startsWith("snapshots/")

/** The engine is compared as a whole after this many records. */
const wholeEvery = 251

/** How many characters of what was seen are hashed at a time. */
const hashedAtOnce = 1 << 16

/** Stops a run from the inside. */
class Stop extends Error {
  override readonly name = "Stop"
}

/** The options that a seed draws. */
export const optionsOf = (request: Pick<Request, "seed" | "profile">): Options.Options =>
  Options.draw(request.profile, SimRandom.make(request.seed, "options"))

/** Runs one seed to its end or its first failure. */
export const run = (request: Request): Report => {
  const root = SimRandom.make(request.seed)
  const schedule = root.split("schedule")
  const time = SimTime.make(startEpochMs, schedule)
  const foreign = root.split("foreign")
  return Determinism.isolated(() => Math.floor(time.nowEpochMs()), foreign.next, () => new Run(request, root, schedule, time).toEnd())
}

class Run {
  readonly options: Options.Options
  readonly model = new NaiveVenue()
  readonly watching = watchers()
  readonly disk: SimDisk.SimDisk
  readonly network: SimNetwork.SimNetwork
  readonly tap: JournalTap.JournalTap
  /** Draws the faults of a run that has no script. */
  readonly faults: SimRandom.SimRandom
  readonly clockFaults: SimRandom.SimRandom
  readonly diskChoices: SimRandom.SimRandom
  readonly secure: SimRandom.SimRandom
  readonly pending = new Set<Call>()
  readonly counts: { [name: string]: number } = {}
  readonly hash = crypto.createHash("sha256")
  readonly desk: Trader.Desk
  /** Lines seen and not yet in the digest. */
  unhashed = ""

  /** The time through which clients and faults plan: their ties are their own. */
  readonly plans: SimTime.SimTime
  readonly recorded: Array<Script.Step> = []
  identities: ReadonlyArray<Calls.Identity> = []
  /** When faults stopped. */
  endMs = 0
  /** The call whose client is being told. */
  settling: number | undefined
  /** Disk errors of the script that have not struck. */
  diskErrors: Array<Script.FaultStep & { readonly do: "disk error" }> = []
  /** The same of crashes at starts. */
  crashesAtStart: Array<Script.FaultStep & { readonly do: "crash at start" }> = []
  proving = false
  /** The operator brings the venue back: its keys are told from those of the run. */
  restoring = false
  /** It has begun to. */
  hasRestored = false
  restored = 0
  failure: Failure | undefined
  process: SimProcess.SimProcess | undefined
  reads: Reads | undefined
  incarnation = 0
  crashes = 0
  calls = 0
  records = 0
  fills = 0
  steps = 0
  lastDiskCalls = -1
  /** Tasks until the crash that was planned strikes; Infinity for none. */
  crashIn = Number.POSITIVE_INFINITY
  crashLoss: SimDisk.Crash = "power"
  /** The crash that was planned strikes so many tasks after the next journal write has begun: that is where most can go wrong. */
  crashAtWrite: { readonly tasks: number; readonly loss: SimDisk.Crash } | undefined
  /** Whether the next write of the journal goes astray, or the path of the one that did. */
  astray = ""
  faulty = false
  open = false
  /** The process has been asked to stop. */
  stopping = false
  /** Nobody starts it again. */
  over = false
  uncompared: { orders: Set<NaiveOrder>; accounts: Set<number>; last: NaiveDecision | undefined } = {
    orders: new Set(),
    accounts: new Set(),
    last: undefined
  }
  lastWhole = 0

  constructor(
    readonly request: Request,
    readonly root: SimRandom.SimRandom,
    readonly schedule: SimRandom.SimRandom,
    readonly time: SimTime.SimTime
  ) {
    this.options = request.options ?? optionsOf(request)
    this.plans = time.withTies(root.split("plans"))
    this.faults = root.split("faults")
    this.clockFaults = root.split("clock")
    this.diskChoices = root.split("disk errors")
    this.secure = root.split("secure")
    const { disk } = this.options
    this.disk = SimDisk.make({
      random: root.split("disk").next,
      faults: { whole: 1 - disk.tornRate },
      latencyMs: { min: 0, max: disk.maxCallMs },
      inject: ({ operation, path }) => {
        if (this.crashAtWrite !== undefined && operation === "writeAt" && path.startsWith("journal/")) {
          this.crashIn = this.crashAtWrite.tasks
          this.crashLoss = this.crashAtWrite.loss
          this.crashAtWrite = undefined
        }
        if (this.astray === "armed" && operation === "writeAt" && path.startsWith("journal/")) {
          this.astray = path
          return "misdirect"
        }
        return this.faulty ? this.diskError(operation, path) : undefined
      }
    })
    this.network = SimNetwork.make(time, root.split("network"), SimNetwork.noFaults)
    this.tap = JournalTap.make(this.disk)
    this.desk = { time: this.plans, model: this.model, issue: this.issue, isOpen: () => this.open }
  }

  toEnd(): Report {
    try {
      this.phases()
    } catch (error) {
      if (!(error instanceof Stop)) {
        this.failure = {
          kind: "crash",
          properties: ["no-crash"],
          invariant: "",
          what: error instanceof Error ? error.stack ?? error.message : String(error),
          step: this.steps,
          atMs: this.elapsedMs(),
          unproven: !this.proving
        }
      }
    }
    this.hashSeen()
    this.hash.update(this.tap.digest())
    return {
      seed: this.request.seed,
      options: this.options,
      failure: this.failure,
      digest: this.hash.digest("hex"),
      commands: this.calls,
      records: this.records,
      fills: this.fills,
      crashes: this.crashes,
      simulatedMs: this.elapsedMs(),
      script: this.request.record === true ? this.script() : undefined,
      blocks: this.request.record === true ? JournalTap.sealed(this.disk) : [],
      counts: this.counts
    }
  }

  /** A run that broke under faults goes on a little in its script: what it saw last is seen before faults stop. */
  private script(): Script.Script {
    return { steps: this.recorded, endMs: this.endMs === 0 ? this.elapsedMs() + 1_000 : this.endMs }
  }

  private elapsedMs(): number {
    return this.time.nowEpochMs() - startEpochMs
  }

  // --- the phases of a run -------------------------------------------------------------------------------

  private phases(): void {
    const { workload } = this.options
    this.start()
    this.until("the first start", () => this.reads !== undefined, 60_000)
    const operator = Operator.make(this.desk, operatorToken, this.root.split("operator"), workload, simMarkets)
    this.identities = this.prepare(operator)

    this.open = true
    this.faulty = true
    this.network.setFaults(this.options.network)
    const { script } = this.request
    if (script === undefined) {
      this.planCrash()
      this.planClockFault()
      operator.start()
      this.identities.forEach((who, index) => Trader.make(this.desk, who, this.root.split(`trader-${index}`), workload).start())
      this.until("the workload", () => this.calls >= this.request.steps, Number.POSITIVE_INFINITY)
    } else {
      const finished = this.follow(script)
      this.until("the script", finished, Number.POSITIVE_INFINITY)
    }

    this.endMs = this.elapsedMs()
    this.heal(operator)
    this.until("healing", () => this.hasRestored && this.pending.size === 0 && this.reads !== undefined, healingBudgetMs)
    this.letTimePass()
    this.drain()
    this.finish()
    if (this.request.unproven === true) {
      if (this.failure !== undefined) throw new Stop()
      return
    }
    this.proving = true
    this.proveReplay()
    this.proveDamageDetected()
    if (this.failure !== undefined) throw new Stop()
  }

  /** Opens markets and accounts, one thing after the other and without faults. */
  private prepare(operator: Operator.Operator): ReadonlyArray<Calls.Identity> {
    let made: Answer | undefined
    for (const draft of operator.opening) {
      let answer: Answer | undefined
      this.issue(draft, (last) => {
        answer = last
      })
      this.until("opening", () => answer !== undefined, 60_000)
      made = answer
      if (answer?.status !== 200) throw new Error(`the opening ${draft.intent} was answered ${answer?.status}: ${answer?.text}`)
    }
    const { accounts } = made?.json as { readonly accounts: ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }> }
    return accounts.map(({ accountId, apiKey }, account) => ({ client: `trader-${account}`, account, accountId, apiKey }))
  }

  private heal(operator: Operator.Operator): void {
    this.open = false
    this.faulty = false
    this.network.setFaults(SimNetwork.noFaults)
    this.diskErrors = []
    this.process?.clock.heal()
    this.crashIn = Number.POSITIVE_INFINITY
    this.crashAtWrite = undefined
    this.see({ _tag: "Healed", atEpochMs: this.time.nowEpochMs() })
    const crash = this.request.script === undefined ? this.drawCrashAtEnd() : this.request.script.steps.find((step) => step.do === "crash at the end")
    if (crash !== undefined && this.process !== undefined) this.crash(crash.loss)
    // A halt that is still being retried must not land behind the restoring: first all of the operator's own is settled.
    const restore = (): void => {
      if ([...this.pending].some((call) => call.credential === "operator")) this.time.after(500, restore)
      else {
        this.restoring = true
        operator.restore()
        this.restoring = false
        this.hasRestored = true
      }
    }
    this.time.after(2_000, restore)
  }

  /** Nobody sends anything for a while: what falls due must be done all the same. */
  private letTimePass(): void {
    let passed = false
    this.time.after(quietMs, () => {
      passed = true
    })
    this.until("a quiet while", () => passed, 2 * quietMs)
  }

  private finish(): void {
    this.see({
      _tag: "Finished",
      atEpochMs: this.time.nowEpochMs(),
      unsettled: [...this.pending],
      ready: this.reads !== undefined
    })
    if (this.reads !== undefined) this.inspect(true)
  }

  /** Stops as SIGTERM does, replays from the beginning, starts again (from the snapshot) and compares. */
  private proveReplay(): void {
    this.stopping = true
    this.over = true
    this.process?.stop()
    this.until("the graceful stop", () => this.process === undefined, 10_000)
    this.replayFromStart()
    this.start()
    this.until("the last start", () => this.reads !== undefined, 60_000)
    const { reads } = this
    if (!(reads instanceof Engine)) throw new Error("the venue reads from something that is no engine")
    this.see({
      _tag: "Replayed",
      from: "the snapshot",
      sequence: reads.sequence,
      digest: stateDigest(reads),
      fault: reads.sequence === this.model.sequence ? undefined : `it stands at ${reads.sequence}, the journal ends at ${this.model.sequence}`
    })
    this.inspect(true)
  }

  /** Flips one bit of the journal at rest: the next start must refuse it. Nothing can follow this. */
  private proveDamageDetected(): void {
    const random = this.root.split("flip")
    if (random.chance(0.5)) return this.proveMisdirectionDetected()
    this.stopping = true
    this.process?.stop()
    this.until("the last stop", () => this.process === undefined, 10_000)
    const path = random.pick(this.disk.files().filter((name) => name.endsWith(".seg")))
    const byte = random.below(this.disk.bytes(path).length)
    const bit = random.below(8)
    this.disk.flip(path, byte, bit)
    const refusal = this.startOverDamage()
    this.see({ _tag: "Flipped", path, byte, bit, refusal })
  }

  /** One write of the journal goes astray while the venue acknowledges it: the next start must refuse. Nothing can follow this. */
  private proveMisdirectionDetected(): void {
    const [market] = this.model.markets
    const draft = Operator.setIndexPrice(operatorToken, "misdirected", market!.parameters, market!.mark)
    let told: number | undefined
    this.astray = "armed"
    this.network.send(requestOf({ ...draft, id: this.calls++ }), this.options.workload.timeoutMs, (result) => {
      told = result._tag === "Replied" ? result.response.status : 0
    })
    this.until("the misdirected write", () => told !== undefined, 60_000)
    if (told !== 200) throw new Error(`a write that went astray was answered ${told}`)
    this.process?.crash("kill")
    const refusal = this.startOverDamage()
    this.see({ _tag: "Misdirected", path: this.astray, refusal })
  }

  /** Starts the process over a damaged journal: why it refused, or undefined if it serves. */
  private startOverDamage(): string | undefined {
    let refusal: string | undefined
    let served = false
    this.process = this.startProcess({
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

  private startProcess(told: Pick<SimProcess.Parts, "ready" | "ended">): SimProcess.SimProcess {
    return SimProcess.start({
      time: this.time,
      disk: this.disk,
      network: this.network,
      schedule: this.schedule,
      secure: this.secure,
      preemption: this.options.process.preemption,
      venue: venueOptions,
      log: (line) => this.request.trace?.(this.steps, this.time.nowEpochMs(), `log ${line}`),
      ...told
    })
  }

  private replayFromStart(): void {
    const engine = Engine.make(capacity)
    const scheduler = SimScheduler.make(this.schedule, 0)
    let fault: string | undefined
    const replayed = Effect.flatMap(Journal, (journal) =>
      Stream.runForEach(journal.replay(1), (block) =>
        Effect.sync(() => {
          const diverged = fault === undefined ? applyBlock(engine, block) : undefined
          if (diverged !== undefined) fault = diverged.message
        }))).pipe(
      Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, this.disk.mount())),
      Effect.provide(Layer.setClock(SimClock.make(this.time, scheduler.ready)))
    )
    const fiber = Effect.runFork(replayed, { scheduler })
    let exit: Exit.Exit<void, unknown> | undefined
    fiber.addObserver((result) => {
      exit = result
    })
    while (exit === undefined && (scheduler.runOne() || this.time.advance()));
    if (exit === undefined || Exit.isFailure(exit)) fault = `it failed: ${exit === undefined ? "it never ended" : String(exit.cause)}`
    this.see({ _tag: "Replayed", from: "the start", sequence: engine.sequence, digest: stateDigest(engine), fault })
  }

  // --- the loop ------------------------------------------------------------------------------------------

  /** Lives on until `done`; a failure if that takes longer than the budget of simulated time. */
  private until(what: string, done: () => boolean, budgetMs: number): void {
    const endEpochMs = this.time.nowEpochMs() + budgetMs
    while (!done()) {
      if (this.failure !== undefined) throw new Stop()
      if (this.process !== undefined && this.process.readyTasks() > 0) {
        this.process.runOne()
        this.crashIn--
        if (this.crashIn <= 0) this.crash(this.crashLoss)
        continue
      }
      this.drainIfWritten()
      if (this.time.nextEpochMs() > endEpochMs) return this.tooLate(what)
      if (!this.time.advance()) return this.tooLate(what)
    }
    if (this.failure !== undefined) throw new Stop()
  }

  /** What did not come in time is for the liveness properties to name. */
  private tooLate(what: string): void {
    if (what === "healing") return
    this.see({ _tag: "Finished", atEpochMs: this.time.nowEpochMs(), unsettled: [...this.pending], ready: this.reads !== undefined })
    if (this.failure === undefined) throw new Error(`${what} did not end; ${this.network.underWay()} requests are under way`)
    throw new Stop()
  }

  private hashSeen(): void {
    this.hash.update(this.unhashed)
    this.unhashed = ""
  }

  private see(seen: Observation): void {
    this.steps++
    this.counts[seen._tag] = (this.counts[seen._tag] ?? 0) + 1
    const line = describe(seen)
    this.unhashed += line
    if (this.unhashed.length > hashedAtOnce) this.hashSeen()
    this.request.trace?.(this.steps, this.time.nowEpochMs(), line)
    this.request.listen?.(this.time.nowEpochMs(), seen)
    const brokenNow: Array<{ readonly watcher: Watcher; readonly verdict: string }> = []
    for (const watcher of this.watching) {
      const verdict = watcher.observe(seen)
      if (verdict !== undefined) brokenNow.push({ watcher, verdict })
    }
    const [first] = brokenNow
    if (first === undefined || this.failure !== undefined) return
    this.failure = {
      kind: first.watcher.kind,
      properties: brokenNow.map(({ watcher }) => watcher.name),
      invariant: first.watcher.invariant,
      what: brokenNow.map(({ verdict, watcher }) => `${watcher.name}: ${verdict}`).join("\n"),
      step: this.steps,
      atMs: this.elapsedMs(),
      unproven: !this.proving
    }
    this.traceState()
  }

  /** What engine and model hold where a run broke, for its trace. */
  private traceState(): void {
    const { model, reads, request, time } = this
    const trace = (line: string): void => request.trace?.(this.steps, time.nowEpochMs(), line)
    for (const market of model.markets) {
      const [bids, asks] = [JSON.stringify(model.levels(market.index, 0)), JSON.stringify(model.levels(market.index, 1))]
      trace(`market ${market.index} ${market.status} mark ${market.mark}, model's bids ${bids}, asks ${asks}`)
    }
    for (const account of model.accounts) {
      const positions = [...account.positions].map(([market, position]) => [market, position.quantity, Number(position.entryNotional)])
      const open = account.open.map((order) => [
        order.number,
        order.market,
        order.side,
        order.price,
        order.quantity - order.filled - order.canceled,
        order.reduceOnly
      ])
      trace(
        `account ${account.index} model: collateral ${account.collateral}, positions ${JSON.stringify(positions)}, `
          + `open ${JSON.stringify(open)}`
      )
      if (reads === undefined) continue
      const held = reads.positions(account.index).map((position) => [position.market, position.quantityAtoms, position.entryNotionalAtoms])
      const resting = reads.openOrders(account.index, -1).map((order) => [
        order.orderNumber,
        order.market,
        order.side,
        order.priceAtoms,
        order.quantityAtoms - order.filledAtoms - order.canceledAtoms,
        order.reduceOnly
      ])
      trace(
        `account ${account.index} engine: collateral ${reads.balance(account.index).collateralAtoms}, `
          + `positions ${JSON.stringify(held)}, open ${JSON.stringify(resting)}`
      )
    }
  }

  // --- the process ---------------------------------------------------------------------------------------

  private start(): void {
    this.incarnation++
    const { incarnation } = this
    this.see({ _tag: "Started", incarnation, atEpochMs: this.time.nowEpochMs() })
    const crash = this.request.script === undefined
      ? this.drawCrashAtStart()
      : this.crashAtStart()
    this.crashIn = crash?.tasks ?? Number.POSITIVE_INFINITY
    this.crashLoss = crash?.loss ?? "power"
    this.process = this.startProcess({
      ready: (reads) => {
        this.reads = reads
        this.drain()
        this.see({ _tag: "Ready", incarnation, sequence: reads.sequence, atEpochMs: this.time.nowEpochMs() })
        this.inspect(true)
      },
      ended: (failure) => {
        this.process = undefined
        this.reads = undefined
        this.disk.crash("kill")
        this.see({ _tag: "Ended", incarnation, asked: this.stopping, failure, atEpochMs: this.time.nowEpochMs() })
        this.stopping = false
        if (!this.over) this.restartLater()
      }
    })
  }

  private restartLater(): void {
    const restarts = this.root.split(`restart/${this.incarnation}`)
    this.time.after(restarts.next() * this.options.process.maxRestartMs, () => {
      if (this.process === undefined) this.start()
    })
  }

  private crash(loss: SimDisk.Crash): void {
    const ready = this.reads !== undefined
    this.crashIn = Number.POSITIVE_INFINITY
    this.crashAtWrite = undefined
    this.process?.crash(loss)
    this.process = undefined
    this.reads = undefined
    this.crashes++
    this.stopping = false
    this.see({ _tag: "Crashed", incarnation: this.incarnation, ready, atEpochMs: this.time.nowEpochMs() })
    this.restartLater()
  }

  // --- faults: drawn and recorded, or taken from the script ------------------------------------------------

  private record(step: Script.Step): void {
    if (this.request.record === true) this.recorded.push(step)
  }

  /** A fault was drawn: it is recorded, and strikes. */
  private struck<S extends Script.FaultStep>(step: S): S {
    this.record(step)
    this.strike(step)
    return step
  }

  /** The crash at this start, if the script has one that is due. */
  private crashAtStart(): (Script.FaultStep & { readonly do: "crash at start" }) | undefined {
    if (!this.faulty) return undefined
    const index = this.crashesAtStart.findIndex((step) => step.atMs <= this.elapsedMs())
    return index < 0 ? undefined : this.crashesAtStart.splice(index, 1)[0]
  }

  /** Does what a fault says. Those bound to a start, to the end or to a disk operation strike there. */
  private strike(step: Script.FaultStep): void {
    switch (step.do) {
      case "stop":
        if (this.process === undefined || this.reads === undefined) return
        this.stopping = true
        return this.process.stop()
      case "crash":
        if (this.process === undefined) return
        if (step.from === "journal write") {
          this.crashAtWrite = step
        } else {
          this.crashIn = step.tasks
          this.crashLoss = step.loss
        }
        return
      case "jump":
        return this.process?.clock.jump(step.byMs)
      case "freeze": {
        const clock = this.process?.clock
        clock?.freeze()
        this.plans.after(step.forMs, () => clock?.thaw())
        return
      }
      case "disk error":
      case "crash at start":
      case "crash at the end":
        return
    }
  }

  private drawLoss(): SimDisk.Crash {
    return this.faults.chance(0.7) ? "power" : "kill"
  }

  private drawCrashAtStart(): Extract<Script.FaultStep, { readonly do: "crash at start" }> | undefined {
    if (!this.faulty || !this.faults.chance(this.options.process.crashInRecovery)) return undefined
    return this.struck({ do: "crash at start", atMs: this.elapsedMs(), tasks: this.faults.between(1, 400), loss: this.drawLoss() })
  }

  private drawCrashAtEnd(): Extract<Script.FaultStep, { readonly do: "crash at the end" }> | undefined {
    if (this.process === undefined || !this.faults.chance(0.5)) return undefined
    return this.struck({ do: "crash at the end", atMs: this.elapsedMs(), loss: this.drawLoss() })
  }

  /** Plans the next crash or, now and then, a graceful stop. */
  private planCrash(): void {
    const { gracefulShare, meanCrashMs } = this.options.process
    if (meanCrashMs === 0) return
    this.plans.after(-Math.log(1 - this.faults.next()) * meanCrashMs, () => {
      if (!this.faulty) return
      this.planCrash()
      if (this.process === undefined) return
      const atMs = this.elapsedMs()
      if (this.reads !== undefined && this.faults.chance(gracefulShare)) this.struck({ do: "stop", atMs })
      else if (this.faults.chance(0.6)) {
        this.struck({ do: "crash", atMs, from: "journal write", tasks: this.faults.between(1, 4), loss: this.drawLoss() })
      } else this.struck({ do: "crash", atMs, from: "now", tasks: this.faults.between(1, 60), loss: this.drawLoss() })
    })
  }

  private planClockFault(): void {
    const { freezeShare, maxJumpMs, meanFaultMs } = this.options.clock
    if (meanFaultMs === 0) return
    const random = this.clockFaults
    this.plans.after(-Math.log(1 - random.next()) * meanFaultMs, () => {
      if (!this.faulty) return
      this.planClockFault()
      if (this.process === undefined) return
      const atMs = this.elapsedMs()
      if (random.chance(freezeShare)) this.struck({ do: "freeze", atMs, forMs: random.next() * meanFaultMs })
      else this.struck({ do: "jump", atMs, byMs: (random.next() * 2 - 1) * maxJumpMs })
    })
  }

  /** How an operation of the disk that is about to begin fails, if it does. */
  private diskError(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    const code = this.request.script === undefined ? this.drawDiskError(operation, path) : this.scriptedDiskError(operation, path)
    if (code === "hang") this.killHung()
    return code
  }

  private scriptedDiskError(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    const atMs = this.elapsedMs()
    const index = this.diskErrors.findIndex((each) =>
      each.operation === operation && each.atMs <= atMs && (each.code !== "misdirect" || isSnapshot(path))
    )
    return index < 0 ? undefined : this.diskErrors.splice(index, 1)[0]!.code
  }

  private drawDiskError(operation: SimDisk.Operation, path: string): Script.DiskCode | undefined {
    const random = this.diskChoices
    const { errorRate, hangRate, misdirectRate, nameErrorRate, noSpaceShare, readErrorRate } = this.options.disk
    const draw = (): Script.DiskCode | undefined => {
      switch (operation) {
        case "writeAt":
          if (random.chance(errorRate)) return random.chance(noSpaceShare) ? "ENOSPC" : "EIO"
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
    return code === undefined ? undefined : this.struck({ do: "disk error", atMs: this.elapsedMs(), operation, code }).code
  }

  /** The supervisor: a process whose disk does not answer is killed, as nothing else would ever end it. */
  private killHung(): void {
    const { incarnation } = this
    this.time.after(hungMs, () => {
      if (this.process !== undefined && this.incarnation === incarnation) this.crash("kill")
    })
  }

  /** Begins the script's steps at their times; tells whether all that is to happen under faults has begun. */
  private follow(script: Script.Script): () => boolean {
    const { endMs } = script
    this.diskErrors = script.steps.filter((step) => step.do === "disk error")
    this.crashesAtStart = script.steps.filter((step) => step.do === "crash at start")
    const calls = new Set(script.steps.flatMap((step) => Script.isCall(step) ? [step.id] : []))
    const bound = new Map<number, Array<Script.CallStep>>()
    const steps: Array<Script.Step> = []
    for (const step of script.steps) {
      if (!Script.isCall(step) || step.after === undefined || !calls.has(step.after)) steps.push(step)
      else if (bound.has(step.after)) bound.get(step.after)!.push(step)
      else bound.set(step.after, [step])
    }
    // The last call of a run ends its faults, also where an answer that comes at the same moment begins it.
    const last = script.steps.findLast((step) => Script.isCall(step) && step.atMs === endMs)
    let lastBegan = last === undefined
    const call = (step: Script.CallStep): void => {
      if (step === last) lastBegan = true
      this.begin(Script.draftOf(step, this.model, this.identities), step.id, () => {
        for (const each of bound.get(step.id) ?? []) call(each)
      })
    }
    let next = 0
    let ended = false
    const begin = (): void => {
      while (next < steps.length && steps[next]!.atMs <= this.elapsedMs()) {
        const step = steps[next++]!
        if (Script.isCall(step)) call(step)
        else if (this.faulty) this.strike(step)
      }
      if (next < steps.length) this.plans.at(startEpochMs + steps[next]!.atMs, begin)
    }
    begin()
    this.plans.at(startEpochMs + endMs, () => {
      begin()
      ended = true
    })
    this.plans.at(startEpochMs + endMs + 1, () => {
      lastBegan = true
    })
    return () => ended && lastBegan
  }

  // --- what became durable, and how the engine looks -----------------------------------------------------

  private drainIfWritten(): void {
    const calls = this.disk.calls()
    if (calls === this.lastDiskCalls) return
    this.lastDiskCalls = calls
    this.drain()
  }

  /** Feeds the model with what is durable by now, and compares the engine where it stands at the same record. */
  private drain(): void {
    for (const block of this.tap.next()) {
      for (const record of block.records) {
        const decision = this.model.apply(record)
        this.records++
        this.fills += decision.fills.length
        for (const order of decision.touchedOrders) this.uncompared.orders.add(order)
        for (const account of decision.touchedAccounts) this.uncompared.accounts.add(account)
        this.uncompared.last = decision
        this.see({
          _tag: "Committed",
          record,
          decision,
          model: this.model,
          block: { epoch: block.epoch, firstSequence: block.firstSequence, count: block.records.length }
        })
      }
    }
    if (this.uncompared.last !== undefined) this.inspect(this.records - this.lastWhole >= wholeEvery)
  }

  private inspect(whole: boolean): void {
    const { reads, uncompared } = this
    if (reads === undefined || reads.sequence !== this.model.sequence) return
    const { last } = uncompared
    // Records of a day apart may be looked at together: what ended in the first is forgotten by the last.
    const touchedOrders = new Set([...uncompared.orders].filter((order) => isKept(order, this.model.atEpochMs)))
    const decision = last === undefined ? undefined : { ...last, touchedOrders, touchedAccounts: uncompared.accounts }
    this.uncompared = { orders: new Set(), accounts: new Set(), last: undefined }
    const glance = new Glance(reads)
    this.see({ _tag: "Inspected", reads: glance, model: this.model, decision, whole: false })
    if (!whole) return
    this.lastWhole = this.records
    this.see({ _tag: "Inspected", reads: glance, model: this.model, decision: undefined, whole: true })
  }

  // --- clients -------------------------------------------------------------------------------------------

  readonly issue = (draft: Calls.Draft, settled: (answer: Answer | undefined) => void): Call =>
    this.begin(this.restoring ? renamed(draft, this.restored++) : draft, this.calls, settled)

  /** Begins a call. Its number draws what the network does to it. */
  private begin(draft: Calls.Draft, id: number, settled: (answer: Answer | undefined) => void): Call {
    this.calls = Math.max(this.calls, id + 1)
    if (this.request.record === true && this.identities.length > 0 && !this.restoring) {
      this.record(Script.record(draft, id, this.elapsedMs(), this.settling, this.model, this.identities))
    }
    const call: Call = { ...draft, id }
    if (call.persistent) this.pending.add(call)
    this.attempt(call, 1, settled)
    return call
  }

  private attempt(call: Call, attempt: number, settled: (answer: Answer | undefined) => void): void {
    this.see({ _tag: "Asked", call, attempt })
    const fate = this.root.split(`call/${call.id}/${attempt}`)
    const again = (): void => {
      this.time.after(Math.min(2_000, 20 * attempt) * (0.5 + fate.next()), () => this.attempt(call, attempt + 1, settled))
    }
    const settle = (answer: Answer | undefined): void => {
      this.pending.delete(call)
      this.see({ _tag: "Settled", call })
      this.settling = call.id
      settled(answer)
      this.settling = undefined
    }
    const dealt = this.network.send(requestOf(call), this.options.workload.timeoutMs, (result) => {
      if (result._tag !== "Replied") {
        this.see({ _tag: "Unanswered", call, attempt, refused: result._tag === "Refused" })
        if (call.persistent) again()
        else settle(undefined)
        return
      }
      const { response } = result
      const answer: Answer = { status: response.status, headers: response.headers, text: response.body, json: parsed(response.body) }
      this.counts[`answered ${answer.status}`] = (this.counts[`answered ${answer.status}`] ?? 0) + 1
      this.drain()
      this.see({
        _tag: "Answered",
        call,
        attempt,
        answer,
        memory: call.scope === undefined ? undefined : this.model.recall(call.scope, answer.text),
        sequence: this.model.sequence,
        atEpochMs: this.time.nowEpochMs(),
        model: this.model
      })
      if (call.persistent && answer.status === 503) again()
      else settle(answer)
    }, fate)
    this.request.dealt?.(call, dealt)
  }
}

/** The bounds that simulated venues run under. */
export const capacity = { orders: 20_000, idempotencyKeys: 40_000 }

const venueOptions: Venue.Options = {
  environment: "development",
  operatorToken,
  signerSecret: "signer-secret-of-the-simulation",
  acceptsIndexPrices: true,
  markets: [],
  capacity,
  sequencer: { ...Sequencer.defaultOptions, fullBytes: 24 * 1024 },
  snapshotEveryRecords: 400,
  journal: { segmentBytes: 256 * 1024, maxBlockBytes: 64 * 1024 }
}

const encoder = new TextEncoder()

/** What the operator does to restore the venue has keys of its own, whatever it did before. */
const renamed = (draft: Calls.Draft, index: number): Calls.Draft => ({
  ...draft,
  idempotencyKey: `restore-${index}`,
  scope: draft.scope?.replace(/[^/]*$/, `restore-${index}`)
})

const requestOf = (call: Call) => ({
  method: call.method,
  target: call.target,
  headers: {
    ...(call.token === "" ? {} : { authorization: `Bearer ${call.token}` }),
    ...(call.body === "" ? {} : { "content-type": "application/json" }),
    ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey })
  },
  body: encoder.encode(call.body),
  remoteAddress: "10.0.0.1"
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const stateDigest = (engine: Engine): string => Buffer.from(Writer.sectionsDigest(Snapshot.encode(engine.state))).toString("hex")

/** A failure without the lines of its stack: where the source lies, and how long its files are, is not the run's. */
const withoutPlaces = (failure: string): string => failure.replace(/\n\s+at .*/g, "")

/** An observation as a line: what the run's digest is over, and what a trace shows. */
const describe = (seen: Observation): string => {
  switch (seen._tag) {
    case "Asked":
      return `asked ${seen.call.id}.${seen.attempt} ${seen.call.client} ${seen.call.intent} ${seen.call.method} ${seen.call.target} ${seen.call.idempotencyKey} ${seen.call.body}`
    case "Answered":
      return `answered ${seen.call.id}.${seen.attempt} ${seen.answer.status} ${seen.answer.text}`
    case "Unanswered":
      return `unanswered ${seen.call.id}.${seen.attempt} ${seen.refused ? "refused" : "lost"}`
    case "Settled":
      return `settled ${seen.call.id}`
    case "Committed":
      return `committed ${seen.record.sequence} at ${seen.record.atEpochMs} ${JSON.stringify(seen.record.command)}`
    case "Inspected":
      return `inspected ${seen.model.sequence}${seen.whole ? " whole" : ""}`
    case "Started":
      return `started ${seen.incarnation} at ${seen.atEpochMs}`
    case "Ready":
      return `ready ${seen.incarnation} at record ${seen.sequence}`
    case "Crashed":
      return `crashed ${seen.incarnation} at ${seen.atEpochMs}`
    case "Ended":
      return `ended ${seen.incarnation} ${seen.asked ? "asked" : "by itself"} ${withoutPlaces(seen.failure ?? "")}`
    case "Replayed":
      return `replayed from ${seen.from} to ${seen.sequence} ${seen.digest} ${seen.fault ?? ""}`
    case "Flipped":
      return `flipped bit ${seen.bit} of byte ${seen.byte} of ${seen.path}: ${withoutPlaces(seen.refusal ?? "served")}`
    case "Misdirected":
      return `a write to ${seen.path} went astray: ${withoutPlaces(seen.refusal ?? "served")}`
    case "Healed":
      return "healed"
    case "Finished":
      return `finished with ${seen.unsettled.length} unanswered`
  }
}
