/**
 * One run: a seed, a world made from it, and every property watching. At first faults strike and safety is checked; then all faults
 * stop, and everything that must happen has to happen within a budget of simulated time.
 *
 * Nothing is random except by the seed, and nothing waits for anything real: two runs of one seed see the same things in the same
 * order, which the digest over everything that was seen proves.
 */
import { examinedAtOnce as venuesExaminedAtOnce } from "../src/engine/accounts/Watch.js"
import type { Reads } from "../src/engine/Reads.js"
import { isTight } from "./faults/Options.js"
import * as AutoCloses from "./model/NaiveAutoClose.js"
import { statusOf } from "./model/NaiveFunds.js"
import { NaiveVenue } from "./model/NaiveVenue.js"
import type { Answer, Call, Observation } from "./properties/Observation.js"
import { Clients } from "./run/Clients.js"
import { examining } from "./run/Examining.js"
import { Faults } from "./run/Faults.js"
import { FeedReader } from "./run/FeedReader.js"
import { Follower } from "./run/Follower.js"
import { boundsOf, capacityOf, Host, keptOf, reconcileMs } from "./run/Host.js"
import * as Playback from "./run/Playback.js"
import { Proofs } from "./run/Proofs.js"
import { StreamClients } from "./run/StreamClients.js"
import type { Report, Request } from "./run/Request.js"
import type * as Script from "./run/Script.js"
import * as Search from "./run/Search.js"
import { Witness } from "./run/Witness.js"
import * as World from "./run/World.js"
import type { Draft, Identity } from "./workload/Calls.js"
import type { OperatorsDesk } from "./workload/Desk.js"
import * as Agents from "./workload/Agents.js"
import * as Favorites from "./workload/Favorites.js"
import type { KeyHolder } from "./workload/OwnerCalls.js"
import * as Depositors from "./workload/Depositors.js"
import * as Owners from "./workload/Owners.js"
import * as Standings from "./workload/Standings.js"
import * as Tickets from "./workload/Tickets.js"
import * as Operator from "./workload/Operator.js"
import * as Misfits from "./workload/Misfits.js"
import * as Oversight from "./workload/Oversight.js"
import * as Probe from "./workload/Probe.js"
import * as Rushes from "./workload/Rushes.js"
import { everythingPast, nextPage, readTwice } from "./workload/LookingBack.js"
import { everythingPublished } from "./workload/Reading.js"
import * as Publisher from "./workload/Publisher.js"
import * as Trader from "./workload/Trader.js"
import {
  firstOfAgents,
  firstOfFavorites,
  firstOfFunds,
  firstOfMisfits,
  firstOfOversight,
  firstOfProbes,
  firstOfPublishers,
  firstOfRushes,
  firstOfStandings,
  firstOfTickets
} from "./workload/Wallet.js"
import * as Determinism from "./world/Determinism.js"
import * as RootFibers from "./world/RootFibers.js"
import type { SimRandom } from "./world/SimRandom.js"
import * as JournalTap from "./world/JournalTap.js"
import type * as SimDisk from "./world/SimDisk.js"
import * as EndTap from "./world/EndTap.js"
import * as SnapshotTap from "./world/SnapshotTap.js"

export type { Failure, Report, Request } from "./run/Request.js"
export { optionsOf, startEpochMs } from "./run/World.js"

/**
 * Simulated milliseconds allowed for each call of the workload: without a limit a run might never end, since activity beside the
 * clients never does.
 */
const callBudgetMs = 10_000

/** Simulated milliseconds in which everything must be answered once faults have stopped. */
const healingBudgetMs = 120_000

const hourMs = 3_600_000

/** How much longer than all others owners with a ledger may make calls, in simulated milliseconds. */
const mostMovingMs = 15_000

/**
 * While owners with a ledger are waited for, traders go on, up to so many times the calls that the run was to have: where they are in
 * a hurry and the ledger is slow they would make a hundred times as many.
 */
const mostTimesCalls = 10

/** The interval of the checks whether transfers have ended, their number, and how far the ledger's clock is set forward between two. */
const settlingMs = 4_000
/**
 * How long the venue, even one that has just started, may take to notice what strangers took: a comparison begins, finds a difference,
 * and checks it once more.
 */
const comparedMs = 3 * reconcileMs
const mostSettlings = 30
const ledgerLeapMs = 20 * 60_000
/**
 * After this many checks the venue's clock is set forward until no waiting transfer can be approved any more; and again after so many
 * more, since a step that became void during that day is to be approved anew.
 */
const settlingsUntilExpiry = 4
const settlingsBetweenExpiries = 10

/** How long after the first request for a leaderboard it is requested again. */
const boardAgesMs = 8_000

/** Simulated milliseconds after that in which nobody sends anything. */
const quietMs = 5_000
/** Simulated milliseconds in which nobody sends anything, where the venue has to find out that a client is gone. */
const silenceMs = 30_000
/** The interval, in simulated milliseconds, of the checks whether clients of the stream have everything that they missed. */
const lookedAfterMs = 500
/** How long each record of the journal may delay histories that are being rebuilt, and so the candles made from them. */
const madeAnewMs = 100

/** The interval at which the world is observed, in simulated milliseconds. */
const watchedAfterMs = 500

/** Stops a run from within. */
class Stop extends Error {
  override readonly name = "Stop"
}

/** The means of a scenario, which tells a run what is to happen in place of workload and faults. */
export interface Acting {
  readonly world: World.World
  readonly model: NaiveVenue
  readonly clients: Clients
  readonly follower: Follower
  readonly host: Host
  readonly witness: Witness
  /** Continues until `done`; fails if that takes longer than a budget of simulated time. */
  readonly until: (what: string, done: () => boolean, budgetMs: number) => void
  /** Ends the run, because something is not as the scenario expects. */
  readonly broke: (what: string) => never
}

/** Runs one seed to its end or its first failure. */
export const run = (request: Request): Report => runOf(() => new Run(request, undefined))

/** Plays a scenario in place of what a seed would draw. `name`: whose a broken expectation is. */
export const act = (name: string, request: Request, play: (acting: Acting) => void): Report => runOf(() => new Run(request, { name, play }))

interface Told {
  readonly name: string
  readonly play: (acting: Acting) => void
}

const runOf = (make: () => Run): Report =>
  RootFibers.releasing(() => {
    const made = make()
    const { root, time } = made.world
    return Determinism.isolated(() => Math.floor(time.nowEpochMs()), root.split("foreign").next, () => made.toEnd())
  })

class Run {
  readonly world: World.World
  readonly model: NaiveVenue
  readonly witness: Witness
  readonly follower: Follower
  readonly host: Host
  readonly clients: Clients
  readonly faults: Faults
  readonly proofs: Proofs
  readonly streams: StreamClients
  /** The snapshots that the process begins to write. */
  private readonly snapshots = SnapshotTap.make(() => {
    this.follower.drain()
    return this.model.sequence
  })
  private readonly end = EndTap.make(() => this.world.disk)
  /** When faults stopped. */
  endMs = 0
  /** When the world is observed next. */
  private watchedNextMs = 0
  /** Whether the operator has begun to restore the venue. */
  hasRestored = false

  constructor(readonly request: Request, readonly told: Told | undefined) {
    const engine = (): Reads | undefined => this.host.reads
    const world = World.make(request, (call) => {
      const { operation, path } = call
      this.seeSnapshot(call)
      const ofEnd = this.end(call)
      if (ofEnd !== undefined) this.witness.see(ofEnd)
      const ofJournal = operation === "writeAt" && path.startsWith("journal/")
      if (ofJournal) this.host.begins("journal write")
      if (ofJournal && path.endsWith(".seg")) this.host.beginsBlock()
      if (operation === "rename") this.host.begins("rename")
      if (operation === "rename" && path.startsWith("journal/")) this.host.begins("segment")
      if (ofJournal && path.endsWith(".seg") && this.host.hangs()) return "hang"
      return ofJournal && this.proofs.takesAstray(path) ? "misdirect" : this.faults.ofDisk(operation, path)
    })
    this.world = world
    const {
      brackets,
      clearedAtOnce,
      countedAtOnce,
      endedAtOnce,
      forgottenAtOnce,
      identity,
      liquidatedAtOnce,
      marketsInOne,
      metAtOnce,
      mostInLine,
      noticeMs,
      settledAtOnce,
      triggeredAtOnce
    } = capacityOf(world.options)
    this.model = new NaiveVenue(
      world.options.edges?.fillsKept,
      endedAtOnce,
      metAtOnce,
      liquidatedAtOnce,
      { ...AutoCloses.venueBounds, ...triggeredAtOnce, ...brackets === undefined ? {} : { brackets } },
      noticeMs,
      keptOf(world.options),
      forgottenAtOnce,
      countedAtOnce,
      identity,
      marketsInOne,
      settledAtOnce,
      world.options.funds?.kept,
      boundsOf(world.options).finalMinutes,
      clearedAtOnce,
      mostInLine
    )
    const { examinedAtOnce = venuesExaminedAtOnce } = boundsOf(world.options)
    if (examinedAtOnce < venuesExaminedAtOnce) this.model.examine = examining(capacityOf(world.options), this.model)
    this.witness = new Witness(world, this.model, engine, () => this.clients.calls)
    world.feed?.tell((sample) => this.witness.see({ _tag: "Quoted", ...sample }))
    this.follower = new Follower(world, this.model, engine, (seen) => {
      this.witness.see(seen)
      if (seen._tag === "Committed") world.bank?.overhear(seen.record.command)
    })
    const reader = new FeedReader(world.root.split("feed-reader"), this.witness, this.follower, () => this.clients.open)
    this.host = new Host(world, this.witness, this.follower, () => this.faults.atStart(), reader)
    this.clients = new Clients(world, this.witness, this.follower, () => this.host.process?.clock, () => this.host.hasLostLock,
      () => this.host.hungMs)
    this.faults = new Faults(world, this.host)
    this.streams = new StreamClients(world, this.witness, this.follower, this.clients,
      () => this.host.process?.clock.unsafeCurrentTimeMillis() ?? 0)
    this.clients.whenTicket((...told) => this.streams.told(...told))
    this.proofs = new Proofs(world, this.witness, this.follower, this.host, this.clients, this.until)
  }

  toEnd(): Report {
    const { clients, follower, host, request, witness, world } = this
    try {
      this.phases()
    } catch (error) {
      if (!(error instanceof Stop)) witness.threw(error)
    }
    const recorded = request.record === true
    return {
      seed: request.seed,
      options: world.options,
      failure: witness.failure,
      digest: witness.digest(follower.digest()),
      commands: clients.calls,
      records: follower.records,
      fills: follower.fills,
      crashes: host.crashes,
      simulatedMs: world.elapsedMs(),
      script: recorded ? this.script() : undefined,
      blocks: recorded ? JournalTap.sealed(world.disk) : [],
      counts: witness.counts,
      marks: witness.marks,
      callsUntil: witness.callsUntil
    }
  }

  /**
   * Reports each snapshot that the process begins to write, and each that it removes. Snapshots on the disk while faults are being
   * planted are not part of this run's history.
   */
  private seeSnapshot(call: SimDisk.Call): void {
    if (this.follower.paused || this.proofs.isAstray) return
    const begun = this.snapshots(call)
    if (begun !== undefined) this.witness.see({ _tag: "SnapshotBegun", ...begun })
    const removed = SnapshotTap.removed(call, this.world.disk.files)
    if (removed !== undefined) this.witness.see({ _tag: "SnapshotRemoved", ...removed })
  }

  /**
   * The script of a run that broke under faults lasts a little longer than the run, so that the last observation comes before faults
   * stop.
   */
  private script(): Script.Script {
    const { elapsedMs, recorded } = this.world
    return { steps: recorded, endMs: this.endMs === 0 ? elapsedMs() + 1_000 : this.endMs }
  }

  private phases(): void {
    const { clients, faults, host, model, world } = this
    const desk: OperatorsDesk = {
      time: world.plans,
      venueEpochMs: () => host.process?.clock.unsafeCurrentTimeMillis() ?? Math.floor(world.plans.nowEpochMs()),
      model,
      issue: clients.issue,
      isOpen: () => clients.open,
      traders: () => clients.identities
    }
    const operator = Operator.make(desk, World.operatorToken, world.root.split("operator"), world.options.workload, world.markets,
      world.options.edges, world.options)
    faults.beginOpening()
    host.start()
    this.until("the first start", () => host.reads !== undefined, 60_000)
    faults.endOpening()
    if (this.told === undefined) {
      clients.identities = this.prepare(operator)
      this.workload(desk, operator)
    } else this.act(this.told)
    this.heal(operator)
    this.until("healing", () => this.hasRestored && clients.pending.size === 0 && host.reads !== undefined, healingBudgetMs)
    this.settleMoney()
    this.letTimePass()
    this.finish()
    if (this.request.unproven !== true) {
      this.witness.proving = true
      this.proofs.replay()
      this.proofs.damageDetected()
    }
    if (this.witness.failure !== undefined) throw new Stop()
  }

  /** Gives markets a price and opens accounts, one after the other and without faults. */
  private prepare(operator: Operator.Operator): ReadonlyArray<Identity> {
    let made: Answer | undefined
    for (const draft of operator.opening) {
      let answer: Answer | undefined
      this.clients.issue(draft, (last) => {
        answer = last
      })
      this.until("opening", () => answer !== undefined, 60_000)
      made = answer
      // The feed may have given the market another price by then, and a step from that one is held back.
      const stands = draft.intent === "index price"
        && (answer?.json as { readonly rejectionGuard?: string })?.rejectionGuard === "index_held"
      if (answer?.status !== 200 && !stands) throw new Error(`the opening ${draft.intent} was answered ${answer?.status}: ${answer?.text}`)
    }
    const { accounts } = made!.json as { readonly accounts: ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }> }
    return accounts.map(({ accountId, apiKey }, account) => ({ client: `trader-${account}`, account, accountId, apiKey }))
  }

  /** Clients, operator and faults act, as drawn or by the script, until all calls have begun. */
  private workload(desk: OperatorsDesk, operator: Operator.Operator): void {
    const { clients, faults, request: { script, steps }, world: { options, root } } = this
    clients.open = true
    faults.begin()
    this.streams.begin()
    this.world.bank?.begin()
    this.planDays()
    if (script === undefined) {
      operator.start()
      const trading = { ...desk, isOpen: () => clients.open && clients.calls < mostTimesCalls * steps }
      clients.identities.forEach((who, index) =>
        Trader.make(trading, who, root.split(`trader-${index}`), options.workload, options.edges?.againUnderHalt ?? 0).start()
      )
      const owners = options.owners !== undefined && options.owners.owners > 0 ? this.beginOwners(options.owners) : []
      if (options.tickets !== undefined && options.tickets.calls > 0) this.beginTickets(options.tickets, owners)
      if (options.favorites !== undefined && options.favorites.calls > 0) this.beginFavorites(options.favorites, owners)
      if (options.publisher !== undefined && options.publisher.calls > 0) this.beginPublisher(desk, options.publisher)
      const haveMoved = options.funds === undefined ? () => true : this.beginFunds(options.funds)
      const holders = options.standings === undefined ? () => owners : this.beginStandings(options.standings, owners)
      if (options.oversight !== undefined) this.beginOversight(options.oversight, holders)
      if (options.misfits !== undefined && options.misfits.calls > 0) this.beginMisfits(options.misfits)
      this.beginBeside(owners)
      this.until("the workload", () => clients.calls >= steps, steps * callBudgetMs)
      // Owners with a ledger have to wait for it, so they are given more time.
      const endMs = this.world.elapsedMs() + mostMovingMs
      this.until("owners with a ledger", () => haveMoved() || this.world.elapsedMs() >= endMs, 2 * mostMovingMs)
      if (options.funds !== undefined) this.endApart()
    } else {
      const finished = Playback.play(script, this.world, clients, faults)
      this.until("the script", finished, script.endMs + healingBudgetMs)
    }
    this.endMs = this.world.elapsedMs()
  }

  private beginFunds(options: NonNullable<World.World["options"]["funds"]>): () => boolean {
    const { clients, model, world: { plans, root } } = this
    const told = (call: number, path: string): string | undefined => clients.wallet.told(call, path)
    const desk = { time: plans, model, told, issue: clients.issueFrom(firstOfFunds), isOpen: () => clients.open }
    return Depositors.start(desk, root.split("depositors"), options)
  }

  /** Lets days pass, so that what is new becomes old enough, and a full table forgets what it remembers. */
  private planDays(): void {
    const { clients, host, world: { options: { edges, funds }, plans, root } } = this
    const pass = (days: number, random: SimRandom): void => {
      for (let day = 0; day < days; day++) {
        plans.after(random.between(2_000, 20_000), () => {
          if (clients.open) host.age(25 * hourMs)
        })
      }
    }
    pass(funds?.days ?? 0, root.split("days"))
    pass(edges?.days ?? 0, root.split("days of tables"))
  }

  /**
   * Ends the workload at a moment at which nothing else happens, so that a replay from this run's script ends at the same point and not
   * in the middle of an answer.
   */
  private endApart(): void {
    let isOver = false
    this.world.plans.after(1, () => {
      isOver = true
    })
    this.until("the end of the workload", () => isOver, callBudgetMs)
  }

  private beginOwners(options: NonNullable<World.World["options"]["owners"]>): ReadonlyArray<KeyHolder> {
    const { clients, faults, model, world: { plans, root } } = this
    const desk = { time: plans, model, issue: clients.issueApart, isOpen: () => clients.open, demo: clients.identities }
    const owners = Owners.start(desk, root.split("owners"), options)
    faults.beginOwners(() => clients.wallet.moments)
    return owners
  }

  private beginTickets(options: NonNullable<World.World["options"]["tickets"]>, owners: ReadonlyArray<KeyHolder>): void {
    const { clients, faults, model, world: { plans, root } } = this
    const desk = {
      time: plans,
      model,
      issue: clients.issueFrom(firstOfTickets),
      isOpen: () => clients.open,
      demo: clients.identities
    }
    Tickets.start(desk, root.split("tickets"), options, owners)
    faults.beginTickets()
  }

  private beginFavorites(options: NonNullable<World.World["options"]["favorites"]>, owners: ReadonlyArray<KeyHolder>): void {
    const { clients, model, world: { plans, root } } = this
    const issue = clients.issueFrom(firstOfFavorites)
    const desk = { time: plans, model, issue, isOpen: () => clients.open, demo: clients.identities }
    Favorites.start(desk, root.split("favorites"), options, owners)
  }

  private beginPublisher(desk: OperatorsDesk, options: NonNullable<World.World["options"]["publisher"]>): void {
    const { clients, world: { root } } = this
    Publisher.start({ ...desk, issue: clients.issueFrom(firstOfPublishers) }, World.operatorToken, root.split("publisher"), options)
  }

  private beginMisfits(options: NonNullable<World.World["options"]["misfits"]>): void {
    const { clients, model, world: { plans, root } } = this
    const issue = clients.issueFrom(firstOfMisfits)
    const resolved = (draft: Draft): Draft => clients.wallet.resolved(draft)
    const desk = { time: plans, model, issue, isOpen: () => clients.open, demo: clients.identities, resolved, said: clients.said }
    Misfits.start(desk, root.split("misfits"), options)
  }

  /** Starts the client that asks whether the venue takes requests, and impatient clients where requests are limited. */
  private beginBeside(owners: ReadonlyArray<KeyHolder>): void {
    const { clients, model, world: { options: { limits, probe, rushes }, plans, root } } = this
    const desk = { time: plans, model, isOpen: () => clients.open, demo: clients.identities }
    if (probe !== undefined) Probe.start({ ...desk, issue: clients.issueFrom(firstOfProbes) }, root.split("probe"), probe)
    if (limits === undefined || rushes === undefined) return
    Rushes.start({ ...desk, issue: clients.issueFrom(firstOfRushes) }, root.split("rushes"), rushes, limits, owners)
  }

  private beginOversight(options: NonNullable<World.World["options"]["oversight"]>, holders: () => ReadonlyArray<KeyHolder>): void {
    const { clients, model, world: { bank, plans, root } } = this
    const issue = clients.issueFrom(firstOfOversight)
    const desk = { time: plans, model, issue, isOpen: () => clients.open, demo: clients.identities }
    const ledgerCalls = bank === undefined ? 0 : options.ledgerCalls
    Oversight.start(desk, root.split("oversight"), { ...options, ledgerCalls, token: World.operatorToken }, holders)
  }

  /** Returns who has keys at a moment: agents and bots that trade are among them. */
  private beginStandings(
    options: NonNullable<World.World["options"]["standings"]>,
    owners: ReadonlyArray<KeyHolder>
  ): () => ReadonlyArray<KeyHolder> {
    const { clients, model, world: { options: { workload }, plans, root } } = this
    const desk = { time: plans, model, isOpen: () => clients.open, demo: clients.identities }
    const told = (call: number, path: string): string | undefined => clients.wallet.told(call, path)
    const bots = Standings.start({ ...desk, issue: clients.issueFrom(firstOfStandings) }, root.split("standings"), {
      ...options,
      token: World.operatorToken,
      collateral: workload.collateral
    }, owners)
    const set = { ...options, workload }
    const issue = clients.issueFrom(firstOfAgents)
    const agents = Agents.start({ ...desk, told, issue }, root.split("agents"), set, [...owners, bots])
    return () => [...owners, bots, ...agents]
  }

  /** Plays the scenario, one thing after the other. */
  private act({ name, play }: Told): void {
    const { clients, faults, follower, host, model, until, witness, world } = this
    clients.open = true
    faults.begin()
    const broke = (what: string): never => {
      witness.found(name, what)
      throw new Stop()
    }
    play({ world, model, clients, follower, host, witness, until, broke })
    this.endMs = world.elapsedMs()
  }

  /** All faults stop, the last of them perhaps a crash, and the operator restores the venue. */
  private heal(operator: Operator.Operator): void {
    const { clients, faults, host, request, witness, world, world: { time } } = this
    clients.open = false
    faults.end()
    this.streams.calm()
    this.world.bank?.heal()
    witness.see({ _tag: "Healed", atEpochMs: time.nowEpochMs() })
    const crash = faults.atEnd(request.script)
    if (crash !== undefined && host.process !== undefined) host.crash(crash.loss)
    // A full table stays full for the retention, and the operator's next commands need room.
    if (isTight(boundsOf(world.options))) host.age(this.model.mostRetentionMs + hourMs)
    // A halt that is still being retried must not arrive after the restoration: all of the operator's own commands are settled first.
    const restore = (): void => {
      if ([...clients.pending].some((call) => call.credential === "operator")) time.after(500, restore)
      else {
        clients.restore(operator.restore)
        this.hasRestored = true
      }
    }
    time.after(2_000, restore)
  }

  /** Transfers under way on the ledger come to their end, and the books are compared. */
  private settleMoney(): void {
    const { host, model, world: { bank, time } } = this
    if (bank === undefined) return
    for (let settlings = 0; settlings < mostSettlings && this.moneyMoves(bank.book().prunedThrough); settlings++) {
      if (settlings % settlingsBetweenExpiries === settlingsUntilExpiry) {
        const clock = host.process?.clock.unsafeCurrentTimeMillis() ?? time.nowEpochMs()
        host.age(Math.max(0, model.atEpochMs - clock) + 25 * hourMs)
      }
      bank.leap(ledgerLeapMs)
      this.pass(settlingMs)
    }
    // The venue learns of all of it.
    this.pass(bank.book().byStrangers.size > 0 ? comparedMs : settlingMs)
    this.until("a start", () => host.reads !== undefined, healingBudgetMs)
    for (const transfer of model.funds.transfers) this.witness.count(`${transfer.kind} came to be ${statusOf(transfer)}`)
    this.witness.see({ _tag: "Reconciled", book: bank.book(), reads: host.reads! })
  }

  /** Whether any transfer is under way that the venue can still complete. */
  private moneyMoves(prunedThrough: number): boolean {
    const { host: { reads } } = this
    return reads === undefined
      || [...reads.openTransfers(), ...reads.transfersToDrive()].some(({ kind, stepAtHand: step }) =>
        (step?.binding?.ledgerEndOffset ?? prunedThrough) >= prunedThrough && (kind !== "withdrawal" || reads.funds.stop === undefined)
      )
  }

  private pass(millis: number): void {
    let passed = false
    this.world.time.after(millis, () => {
      passed = true
    })
    this.until("a while", () => passed, 2 * millis)
  }

  /** Nobody sends anything for a while, not even the index feed: what falls due must be done all the same. */
  private letTimePass(): void {
    this.world.feed?.silence()
    let passed = false
    const whileMs = Math.max(quietMs, this.streams.silentSinceMs + silenceMs - this.world.elapsedMs())
    this.world.time.after(whileMs, () => {
      passed = true
    })
    this.until("a quiet while", () => passed, 2 * whileMs)
    this.letAllCome()
    this.lookAround()
  }

  /**
   * Waits for what clients of the stream missed, which may come in many pieces, each read from a slow disk; and for candles, which come
   * once the histories have them and may have to be rebuilt from the journal's first record.
   */
  private letAllCome(): void {
    const { follower, streams, world } = this
    const whileMs = healingBudgetMs + follower.records * madeAnewMs
    const endMs = world.elapsedMs() + whileMs
    let isOver = false
    // Checked at moments of its own: between other events, a run and its replay from a script would check at different times.
    const look = (): void => {
      // After this time they are reported as missing something.
      isOver = streams.haveAll || world.elapsedMs() >= endMs
      if (!isOver) world.time.after(lookedAfterMs, look)
    }
    look()
    this.until("what clients of the stream missed", () => isOver, 2 * whileMs)
  }

  /** Everybody reads everything that is published now, and everything past: changes that only time has made are checked, too. */
  private lookAround(): void {
    const { clients, model, world: { root, time } } = this
    let unanswered = 0
    const look = (draft: Draft): void => {
      unanswered++
      // Each request for a page of changes reads the journal, which on a slow disk takes longer than some clients wait.
      clients.issue({ ...draft, persistent: draft.endpoint !== "listChanges" }, (answer) => {
        unanswered--
        const next = nextPage(draft, answer)
        if (next !== undefined) clients.restore(() => look(next))
      })
    }
    const published = everythingPublished(model, clients.identities)
    const past = everythingPast(model, clients.identities, root.split("look around"))
    clients.restore(() => [...published, ...past].forEach(look))
    // A recent leaderboard is served for a while, so it is requested again when it has had time to grow old; a report takes time.
    for (const draft of readTwice(model)) {
      unanswered++
      clients.restore(() =>
        clients.issue({ ...draft, persistent: false }, () => {
          time.after(boardAgesMs, () => clients.restore(() => clients.issue({ ...draft, persistent: false }, () => void unanswered--)))
        })
      )
    }
    this.until("a look around", () => unanswered === 0, healingBudgetMs)
  }

  private finish(): void {
    this.follower.drain()
    this.streams.compare()
    this.streams.end()
    const { disk, histories } = this.world
    const found = Search.search(disk, histories.left(), this.witness.logged, this.clients.wallet.secrets)
    this.witness.see({ _tag: "Searched", ...found })
    this.witness.see(this.finished())
    if (this.host.reads !== undefined) this.follower.inspect(true)
  }

  private finished(): Observation {
    const { clients, host, world } = this
    const unsettled: ReadonlyArray<Call> = [...clients.pending]
    const atEpochMs = world.time.nowEpochMs()
    return {
      _tag: "Finished",
      atEpochMs,
      clockEpochMs: host.process?.clock.unsafeCurrentTimeMillis() ?? atEpochMs,
      unsettled,
      ready: host.reads !== undefined
    }
  }

  /** Continues until `done`; fails if that takes longer than the budget of simulated time. */
  private readonly until = (what: string, done: () => boolean, budgetMs: number): void => {
    const { follower, host, witness, world: { time } } = this
    const endEpochMs = time.nowEpochMs() + budgetMs
    while (!done()) {
      if (witness.failure !== undefined) throw new Stop()
      if (host.runOne()) continue
      follower.drainIfWritten()
      this.watch()
      if (time.nextEpochMs() > endEpochMs) return this.tooLate(what)
      if (!time.advance()) return this.tooLate(what)
    }
    if (witness.failure !== undefined) throw new Stop()
  }

  /** Observes the world, if it has not been observed for a while. This schedules nothing, so that it shifts nothing. */
  private watch(): void {
    const { host, witness, world: { disk, elapsedMs, time } } = this
    if (elapsedMs() < this.watchedNextMs || witness.proving) return
    this.watchedNextMs = elapsedMs() + watchedAfterMs
    const isWriting = disk.writing() > 0 || host.diskFailed
    witness.look({ _tag: "Watched", atEpochMs: time.nowEpochMs(), clockEpochMs: host.servingEpochMs, isWriting })
  }

  /** The liveness properties report what did not happen in time. */
  private tooLate(what: string): void {
    if (what === "healing") return
    this.witness.see(this.finished())
    if (this.witness.failure === undefined) {
      throw new Error(`${what} did not end; ${this.world.network.underWay()} requests are under way`)
    }
    throw new Stop()
  }
}
