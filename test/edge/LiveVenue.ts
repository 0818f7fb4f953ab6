/**
 * The real engine behind the edge, with a sequencer that decides at once and a journal that is durable at once, or when a test says so.
 * No ledger is connected. Fault model: none. Two demo accounts, Alice and Bob, and a market at 100.0; time moves when a test says so.
 */
import { createHash } from "node:crypto"
import * as Funds from "../../src/funds/Funds.js"
import * as KeyUses from "../../src/identity/KeyUses.js"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import { Clock, type Context, Duration, Effect, Layer, Logger, Runtime } from "effect"
import type { Environment } from "../../src/domain/Environment.js"
import type * as Market from "../../src/domain/Market.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import * as Edge from "../../src/edge/Edge.js"
import type { Room } from "../../src/edge/socket/Setting.js"
import type { Response } from "../../src/edge/http/Listener.js"
import * as Metrics from "../../src/edge/http/Metrics.js"
import * as Readiness from "../../src/edge/http/Readiness.js"
import { Engine } from "../../src/engine/Engine.js"
import type { ShownTicket } from "../../src/engine/Reads.js"
import type { Capacity } from "../../src/engine/State.js"
import { versions } from "../../src/sequencer/Versions.js"
import * as Histories from "../../src/readmodel/Histories.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import { Turns } from "../../src/sequencer/Turns.js"
import * as IndexWatch from "../../src/oracle/IndexWatch.js"
import * as RateLimits from "../../src/identity/RateLimits.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import * as Feed from "../../src/sequencer/Feed.js"
import { Listeners, Live, type Start } from "../../src/sequencer/Live.js"
import { Barrier, Submit } from "../../src/sequencer/Submit.js"
import type { Replaying } from "../../src/streams/Replay.js"
import { ReplayHost } from "../../src/streams/ReplayHost.js"
import { type AnyGiven, completeAny } from "../engine/commands.js"
import { parameters } from "../engine/drive.js"
import { nextTurn } from "../Turn.js"
import * as Fake from "./FakeVenue.js"

/** The sender of a request: an account and its key. */
export interface Trader {
  readonly account: number
  readonly accountId: string
  readonly key: string
}

/** What a test sets differently from the defaults. */
interface LiveOptions {
  readonly affiliateEnabled?: boolean
  readonly environment?: Environment
  readonly workloads?: Context.Tag.Service<WorkloadIdentity.WorkloadIdentity>
  readonly histories?: Histories.Histories["Type"]
  /** The number of proxies in front of the venue; none by default. */
  readonly trustedProxies?: number
  /** The stream's room, as far as it differs from the default. */
  readonly room?: Partial<Room>
  /** Accounts that may be opened without a credential in an hour, and requests of a key in a minute; unlimited by default. */
  readonly openingsPerHour?: number
  readonly perKey?: number
  /** Requests of an address without a credential in a minute; unlimited by default. */
  readonly perAddress?: number
  /** Reads the journal for clients, if that is not done beside the writer. */
  readonly elsewhere?: Replaying
  /** Whether sleeping fibers wake only while the test lets time pass, with `pass`. */
  readonly holdsTime?: boolean
  /** How work that takes long gives way to other work; the next turn of the event loop unless told. */
  readonly turns?: Context.Tag.Service<typeof Turns>
}

const unbound: Context.Tag.Service<WorkloadIdentity.WorkloadIdentity> = {
  verify: () => Effect.fail(new WorkloadIdentity.NotConfigured())
}

/** Event loop turns in which everything that is ready gets done. */
const settlingTurns = 10

/** The longest single step of the clock, in milliseconds. */
const stepMs = 1_000

/** Records that are run again in one go, like those of a block. */
const rerunAtOnce = 5

export const marketId = "AAA-USDC-PERP"
export const symbol = "AAA/USDC:USDC"

export class LiveVenue {
  readonly engine: Engine
  /** The clock, and the time of the next record unless the last one is later. */
  atEpochMs = 1_700_000_000_000
  private drawn = 0
  /** Records applied since the venue was made. */
  records = 0
  application: Edge.Streaming
  private keys = 0
  private listeners = new Listeners()
  /** Callbacks that wait for a sequence to be durable. */
  private waiting: Array<{ readonly sequence: number; readonly callback: () => void }> = []
  /** The last durable sequence, while a test holds the disk. */
  private heldAt: number | undefined
  /** Every record, for readers of the journal. */
  private readonly journal: Array<{ readonly command: Command; readonly atEpochMs: number }> = []

  /** What a connection is told of the venue's starts. */
  starts: ReadonlyArray<Start> = [{ id: "0123456789abcdef", firstSequence: 1 }]

  /** Sleeping fibers, where the test controls the time. */
  private readonly sleepers = new Set<{ readonly untilMs: number; readonly wake: () => void }>()

  /** The uses of keys that the process knows. */
  keyUses: Context.Tag.Service<KeyUses.KeyUses>

  private constructor(private readonly capacity: Capacity, private readonly options: LiveOptions) {
    this.engine = Engine.make(capacity)
    this.keyUses = KeyUses.make(this.engine, { submit: () => {} })
    this.application = this.started()
  }

  /** The edge over the engine, with no memory of its own yet: as in a process that has just started. */
  private started(): Edge.Streaming {
    const {
      affiliateEnabled = false,
      elsewhere,
      environment = "development",
      histories = Histories.none,
      holdsTime = false,
      openingsPerHour,
      perAddress = RateLimits.unlimited.perAddress,
      perKey = RateLimits.unlimited.perKey,
      room,
      trustedProxies = 0,
      turns,
      workloads = unbound
    } = this.options
    const readiness = Readiness.make()
    readiness.set("ready")
    this.listeners = new Listeners()
    const indexWatch = IndexWatch.make()
    const whenDurable = (sequence: number, callback: () => void): void => {
      if (sequence <= this.durableSequence) callback()
      else this.waiting.push({ sequence, callback })
    }
    const way = indexWatch.over({
      submit: (command, answer, shown) => {
        const outcome = this.run(command, shown)
        whenDurable(outcome.sequence, () => answer(outcome))
      }
    })
    this.keyUses = KeyUses.make(this.engine, way)
    const random = {
      bytes: (count: number) => new Uint8Array(createHash("shake256", { outputLength: count }).update(`${this.drawn++}`).digest())
    }
    const layer = Layer.mergeAll(
      Layer.succeed(EngineReads, this.engine),
      Layer.succeed(Submit, way),
      Layer.succeed(Barrier, { whenDurable, durableSequence: () => this.durableSequence }),
      Layer.succeed(Live, { listen: (listening) => this.listeners.listen(listening), starts: () => this.starts }),
      Layer.succeed(Feed.Feed, {
        ...Feed.none,
        rerun: (sequence, standing) => this.rerun(sequence, standing),
        before: (atEpochMs) => this.before(atEpochMs)
      }),
      NodePasskeyVerifier.layer,
      Layer.succeed(WorkloadIdentity.WorkloadIdentity, workloads),
      Layer.succeed(KeyUses.KeyUses, this.keyUses),
      Layer.succeed(SecureRandom, random),
      Layer.succeed(Histories.Histories, histories),
      Layer.succeed(ReplayHost, elsewhere),
      Layer.succeed(Funds.Funds, Funds.none(random)),
      Layer.succeed(Readiness.Readiness, readiness),
      Metrics.layer,
      Layer.succeed(IndexWatch.IndexWatch, indexWatch),
      turns === undefined ? NodeTurns.layer : Layer.succeed(Turns, turns),
      Logger.remove(Logger.defaultLogger),
      Layer.succeed(Edge.Settings, {
        environment,
        operatorToken: Fake.operatorToken,
        signerSecret: Fake.signerSecret,
        acceptsIndexPrices: true,
        acceptsIndexStream: true,
        rateLimits: { ...RateLimits.unlimited, perAddress, perKey, ...(openingsPerHour === undefined ? {} : { openingsPerHour }) },
        trustedProxies,
        corsOrigins: [],
        site: { publicOrigin: "http://localhost:8080", rpId: "localhost" },
        affiliateEnabled,
        ...(room === undefined ? undefined : { stream: room })
      })
    )
    const clock = Object.assign(Clock.make(), {
      unsafeCurrentTimeMillis: () => this.atEpochMs,
      ...(holdsTime ? { sleep: (duration: Duration.Duration) => this.sleep(Duration.toMillis(duration)) } : undefined)
    })
    return Runtime.runSync(Runtime.defaultRuntime)(Edge.makeApplication.pipe(Effect.provide(layer), Effect.withClock(clock)))
  }

  private sleep(millis: number): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const sleeper = { untilMs: this.atEpochMs + millis, wake: () => resume(Effect.void) }
      this.sleepers.add(sleeper)
      return Effect.sync(() => void this.sleepers.delete(sleeper))
    })
  }

  /** Lets time pass, a second at a time. Each sleeping fiber wakes at its moment, and finishes its work before the next second. */
  async pass(millis: number): Promise<void> {
    for (const end = this.atEpochMs + millis; this.atEpochMs < end;) {
      this.atEpochMs = Math.min(end, this.atEpochMs + stepMs)
      for (const sleeper of [...this.sleepers]) {
        if (sleeper.untilMs <= this.atEpochMs && this.sleepers.delete(sleeper)) sleeper.wake()
      }
      for (let turn = 0; turn < settlingTurns; turn++) await nextTurn()
    }
  }

  /** Restarts the process: what is not in the journal is gone. */
  restart(): void {
    this.application = this.started()
  }

  ask(ask: Fake.Ask): Promise<Response> {
    const framed = Fake.request(ask)
    return new Promise((resolve, reject) =>
      this.application.handle(framed, (response) => {
        try {
          Fake.conform(framed, response)
          resolve(response)
        } catch (cause) {
          reject(cause)
        }
      })
    )
  }

  static make(capacity: Capacity = { orders: 10_000, idempotencyKeys: 10_000 }, options: LiveOptions = {}): LiveVenue {
    const venue = new LiveVenue(capacity, options)
    venue.send({ kind: "OpenVenue", environment: "development", ...versions })
    // The largest step that an operator may set.
    venue.market(parameters("AAA", { indexStepMaxBps: 1_000_000 }))
    return venue
  }

  /** Whether a command is refused because the inbox is full. */
  isTurnedAway: (command: Command) => boolean = () => false

  /** Admits and applies a command as the sequencer would. */
  run(command: Command, shown?: ShownTicket): Outcome {
    const atEpochMs = Math.max(this.engine.atEpochMs, this.atEpochMs)
    if (this.isTurnedAway(command)) return refuse(Refusal.inboxFull, this.engine.sequence, atEpochMs)
    const admitted = this.engine.admit(command, atEpochMs, shown)
    if (admitted !== undefined) return admitted
    this.records++
    const { events } = this.engine.state
    events.clear()
    this.journal.push({ command, atEpochMs })
    const outcome = this.engine.apply(command, this.engine.sequence + 1, atEpochMs)
    this.listeners.decided(outcome.sequence, events.words, 0, events.length)
    if (this.heldAt === undefined) this.listeners.committed(outcome.sequence)
    return outcome
  }

  get durableSequence(): number {
    return this.heldAt ?? this.engine.sequence
  }

  /** From now on, decisions do not become durable. */
  holdDisk(): void {
    this.heldAt = this.engine.sequence
  }

  /** What was decided up to a record becomes durable. */
  releaseThrough(sequence: number): void {
    this.heldAt = sequence
    this.release()
  }

  /** Everything that was decided becomes durable. */
  releaseDisk(): void {
    this.heldAt = undefined
    this.release()
  }

  /** Answers what waited for what is durable now. */
  private release(): void {
    const { durableSequence } = this
    const ready = this.waiting.filter(({ sequence }) => sequence <= durableSequence)
    this.waiting = this.waiting.filter(({ sequence }) => sequence > durableSequence)
    for (const { callback } of ready) callback()
    this.listeners.committed(this.durableSequence)
  }

  /** The last sequence before a time. */
  private before(atEpochMs: number): Effect.Effect<number> {
    return Effect.sync(() => this.journal.findLastIndex((record) => record.atEpochMs < atEpochMs) + 1)
  }

  /** Engines that were made to run the journal again, and records that they have run. */
  readonly reruns = { engines: 0, records: 0 }

  /** A rerun of the journal, some records at a time: by one of `standing` that is not past the sequence, or from the beginning. */
  private rerun(sequence: number, standing: ReadonlyArray<Feed.Rerun>): Effect.Effect<Feed.Rerun> {
    return Effect.sync(() => {
      const stands = standing.find((one) => one.sequence() <= sequence)
      if (stands !== undefined) return stands
      const engine = Engine.make(this.capacity)
      this.reruns.engines++
      return {
        sequence: () => engine.sequence,
        begunFor: 0,
        next: (each) =>
          Effect.sync(() => {
            for (const { atEpochMs, command } of this.journal.slice(engine.sequence, engine.sequence + rerunAtOnce)) {
              engine.state.events.clear()
              this.reruns.records++
              engine.apply(command, engine.sequence + 1, atEpochMs)
              each(engine, 0)
            }
          }),
        close: Effect.void
      }
    })
  }

  /** Runs a command given in short form. */
  send(given: AnyGiven): Outcome {
    return this.run(completeAny(given))
  }

  nextKey(): string {
    return `key-${++this.keys}`
  }

  /** Adds an open market at 1000 price atoms. */
  market(market: Market.Parameters): number {
    this.send({ kind: "PutMarket", idempotencyKey: this.nextKey(), parameters: market })
    const index = this.engine.findMarket(market.marketId)
    for (const status of ["backfilling", "open"] as const) {
      this.send({ kind: "SetMarketStatus", idempotencyKey: this.nextKey(), market: index, status })
    }
    this.send({ kind: "SetIndexPrice", idempotencyKey: "", market: index, priceAtoms: 1000, sourceEpochMs: this.atEpochMs })
    return index
  }

  /** Opens accounts through the operator's route, one for each trader. */
  async traders(count: number, collateral = "1000000"): Promise<ReadonlyArray<Trader>> {
    const { accounts } = Fake.json(await this.ask({
      target: "/v1/operator/demo/accounts",
      body: { accounts: count, collateral },
      key: Fake.operatorToken,
      idempotencyKey: this.nextKey()
    }))
    return accounts.map(({ accountId, apiKey }: { readonly accountId: string; readonly apiKey: string }) => ({
      account: this.engine.findAccount(accountId),
      accountId,
      key: apiKey
    }))
  }

  /** Sends a trader's POST request, under a fresh key by default. */
  post(trader: Trader, target: string, body: unknown, idempotencyKey = this.nextKey()): Promise<Response> {
    return this.ask({ target, body, key: trader.key, idempotencyKey })
  }

  /** Sends a trader's GET request and returns the parsed answer; the status must be 200. */
  async read(trader: Trader | undefined, target: string): Promise<any> {
    const response = await this.ask({ target, ...(trader === undefined ? undefined : { key: trader.key }) })
    if (response.status !== 200) throw new Error(`${target}: ${response.status} ${response.body}`)
    return JSON.parse(response.body)
  }

  /** Places a native order: by default a limit buy of 1.000 at 100.0. */
  async place(trader: Trader, more: Readonly<Record<string, unknown>> = {}, idempotencyKey = this.nextKey()): Promise<any> {
    const response = await this.post(trader, "/v1/orders", order(trader, { clientOrderId: idempotencyKey, ...more }), idempotencyKey)
    return { ...JSON.parse(response.body), httpStatus: response.status }
  }
}

/** A native order: by default a limit buy of 1.000 at 100.0. */
export const order = (trader: Trader, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  accountId: trader.accountId,
  marketId,
  clientOrderId: "c",
  side: "buy",
  orderType: "limit",
  price: "100.0",
  quantity: "1.000",
  ...more
})
