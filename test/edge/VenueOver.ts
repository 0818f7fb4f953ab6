/** The whole venue over a disk that the test controls, on a clock that only the test moves. */
import { createHash } from "node:crypto"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import * as fs from "node:fs"
import { Clock, type Context, Duration, Effect, Exit, FiberId, Layer, Logger, Scope } from "effect"
import * as Bootstrap from "../../src/Bootstrap.js"
import { type Application, Listener } from "../../src/edge/http/Listener.js"
import * as RateLimits from "../../src/identity/RateLimits.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import type { Disk } from "../../src/journal/Disk.js"
import * as Absent from "../../src/funds/Absent.js"
import * as IndexFeed from "../../src/oracle/IndexFeed.js"
import type { Ledger } from "../../src/ledger/Ledger.js"
import type { PartySigner } from "../../src/signer/PartySigner.js"
import * as HistoriesDatabase from "../../src/readmodel/HistoriesDatabase.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import * as Sequencer from "../../src/sequencer/Sequencer.js"
import { Proofs } from "../identity/Proofs.js"
import * as Fake from "./FakeVenue.js"
import { nextTurn } from "../Turn.js"
import * as Venue from "../../src/Venue.js"

const operatorToken = "operator-token-of-the-tests"

interface Said {
  /** The bearer credential; by default the operator's token, and none if empty. */
  readonly key?: string
  readonly idempotencyKey?: string
  readonly body?: unknown
}

interface Answer {
  readonly status: number
  /** The body as it was received. */
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every route, whose shape is the test's matter
  readonly json: any
}

/** Event loop turns in which everything that need not wait gets done. */
const settlingTurns = 50

interface Outside {
  readonly money?: Layer.Layer<Ledger | PartySigner>
  readonly random?: Context.Tag.Service<SecureRandom>
  readonly histories?: Layer.Layer<HistoriesDatabase.HistoriesDatabase>
  /** Where prices come from besides the operator's routes; from nowhere by default. */
  readonly feed?: Layer.Layer<IndexFeed.IndexFeed>
  /** Called with each line of the log. */
  readonly logged?: (line: string) => void
  /** Verifies the proofs of the venue's passkeys, and of its signer's if it has one. */
  readonly proofs?: Proofs
}

/** Random bytes that are the same in every run, and never repeat. */
const counted = (): Context.Tag.Service<SecureRandom> => {
  const drawn = { count: 0 }
  return {
    bytes: (count) => new Uint8Array(createHash("shake256", { outputLength: count }).update(`${drawn.count++}`).digest())
  }
}

export class VenueOver {
  /** How often all connections were cut. */
  cuts = 0
  /** Resolves once the venue takes requests, or has failed to start. */
  readonly started: Promise<Exit.Exit<Venue.Venue["Type"], unknown>>
  private readonly sleepers = new Set<{ untilMs: number; readonly wake: () => void }>()
  private readonly served: Array<Application> = []
  private readonly scope = Effect.runSync(Scope.make())
  private readonly proofs: Proofs
  private keys = 0

  /** `nowMs` is the clock's first time: by default the first of January 2026. */
  constructor(
    disk: Layer.Layer<Disk>,
    options: Partial<Venue.Options> = {},
    private nowMs = 1_767_225_600_000,
    workloads: Layer.Layer<WorkloadIdentity.WorkloadIdentity> = WorkloadIdentity.layerNone,
    /** The ledger and the signer, absent by default; and the venue's source of randomness. */
    {
      feed = IndexFeed.layerPush,
      histories = HistoriesDatabase.layerMemory,
      logged = () => {},
      money = Absent.layer,
      proofs = new Proofs(),
      random = counted()
    }: Outside = {}
  ) {
    this.proofs = proofs
    const leaves = Layer.mergeAll(
      disk,
      Layer.succeed(Listener, {
        serve: (application) =>
          Effect.sync(() => {
            this.served.push(application)
            return {
              address: "test",
              port: 0,
              cut: () => void this.cuts++,
              connections: () => ({ open: 1, accepted: 6, closedForRoom: 2, turnedAway: 3 }),
              unread: () => ({ bytes: 4, closed: 5 })
            }
          })
      }),
      NodeTurns.layer,
      proofs.layer,
      workloads,
      Layer.succeed(SecureRandom, random),
      money,
      histories,
      feed
    )
    const markets = Effect.runSync(Bootstrap.parseMarkets(fs.readFileSync("fixtures/markets.json", "utf8")))
    const venue = Venue.layer({
      environment: "development",
      operatorToken,
      signerSecret: "signer-secret-of-the-tests",
      acceptsIndexPrices: true,
      acceptsIndexStream: true,
      rateLimits: RateLimits.unlimited,
      site: { publicOrigin: "http://localhost:8080", rpId: "localhost" },
      affiliateEnabled: false,
      markets,
      capacity: { orders: 10_000, idempotencyKeys: 10_000 },
      sequencer: Sequencer.defaultOptions,
      snapshotEveryRecords: 0,
      journal: { segmentBytes: 64 * 1024, maxBlockBytes: 8 * 1024 },
      // The default 16 MiB, allocated at each of a suite's starts, would be most of the garbage.
      feed: { bytes: 1 << 20 },
      ledger: Absent.setting,
      ...options
    })
    this.started = Effect.runPromiseExit(
      Layer.buildWithScope(Layer.provide(venue, leaves), this.scope).pipe(
        Effect.map((context) => context.unsafeMap.get(Venue.Venue.key) as Venue.Venue["Type"]),
        Effect.withClock(this.clock),
        Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => logged(String(message)))))
      )
    )
  }

  /** What the venue serves, once it has started. */
  get application(): Application {
    return this.served[0]!
  }

  get epochMs(): number {
    return this.nowMs
  }

  /** Lets time pass: each sleeping fiber wakes at its moment. */
  async pass(millis: number): Promise<void> {
    for (const end = this.nowMs + millis; this.nowMs < end;) {
      this.nowMs = Math.min(end, this.nowMs + 100)
      for (const sleeper of [...this.sleepers]) {
        if (sleeper.untilMs > this.nowMs || !this.sleepers.delete(sleeper)) continue
        sleeper.wake()
      }
      for (let turn = 0; turn < settlingTurns; turn++) await nextTurn()
    }
  }

  /** Sets the clock back; sleeping fibers wake no later for that. */
  setBack(millis: number): void {
    this.nowMs -= millis
    for (const sleeper of this.sleepers) sleeper.untilMs -= millis
  }

  /**
   * Lets time pass in leaps from one sleeping fiber's moment to the next, for long times. No leap is shorter than `atLeastMs`, as on a
   * machine that wakes everybody late: something in a venue wakes every half second and has nothing to do.
   */
  async leap(millis: number, atLeastMs = 0): Promise<void> {
    const end = this.nowMs + millis
    while (this.nowMs < end) {
      const next = Math.max(this.nowMs + atLeastMs, Math.min(...[...this.sleepers].map(({ untilMs }) => untilMs)))
      this.nowMs = Math.max(this.nowMs, Math.min(end, next))
      for (const sleeper of [...this.sleepers]) {
        if (sleeper.untilMs <= this.nowMs && this.sleepers.delete(sleeper)) sleeper.wake()
      }
      await this.settle(10)
    }
  }

  /** Lets time pass in one leap, as if the machine had been suspended: each sleeping fiber wakes late, and once. */
  async oversleep(millis: number): Promise<void> {
    this.nowMs += millis
    await this.leap(1)
  }

  /**
   * Lets time pass until the condition holds, for some minutes of the venue's clock at most. Work of the system's threads gets its turns
   * before each second.
   */
  async wait(isSo: () => boolean): Promise<void> {
    for (let waited = 0; !isSo() && waited < 4_000; waited++) {
      await this.settle(10)
      if (waited % 20 === 19 && !isSo()) await this.leap(1_000)
    }
  }

  /** Lets everything be done that need not wait, including work of the system's threads, which verify the proofs of passkeys. */
  async settle(count = settlingTurns): Promise<void> {
    for (let turn = 0; turn < count; turn++) {
      await nextTurn()
      await this.proofs.ended()
    }
  }

  /** Sends a request and returns its answer, which must be one that the contract declares. */
  ask(method: string, target: string, { body, idempotencyKey, key = operatorToken }: Said = {}): Promise<Answer> {
    const headers = {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
      ...(method === "GET" ? {} : { "idempotency-key": idempotencyKey ?? `test-${++this.keys}` })
    }
    const bytes = body === undefined ? new Uint8Array(0) : new TextEncoder().encode(JSON.stringify(body))
    const request = { method, target, headers, body: bytes, remoteAddress: "192.0.2.1" }
    return new Promise((resolve, reject) =>
      this.application.handle(request, (response) => {
        try {
          Fake.conform(request, response)
          const { body: text, headers: { "content-type": type }, status } = response
          const json: unknown = type === "application/json" ? JSON.parse(text) : text
          resolve({ status, text, json })
        } catch (cause) {
          reject(cause)
        }
      })
    )
  }

  /** Runs an effect beside the venue, on its clock. */
  run<A, E>(effect: Effect.Effect<A, E>): Promise<A> {
    return Effect.runPromise(Effect.withClock(effect, this.clock))
  }

  /** Stops the venue as SIGTERM does; returns how it ended. */
  stop(): Promise<Exit.Exit<void>> {
    return Effect.runPromiseExit(Effect.withClock(Scope.close(this.scope, Exit.void), this.clock))
  }

  /** Stops the venue, and asks once more after some time. */
  async stopAskedTwice(againAfterMs: number): Promise<void> {
    const stopping = Effect.runFork(Effect.withClock(Effect.uninterruptible(Scope.close(this.scope, Exit.void)), this.clock))
    await this.pass(againAfterMs)
    stopping.unsafeInterruptAsFork(FiberId.none)
  }

  private readonly clock: Clock.Clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => this.nowMs,
    unsafeCurrentTimeNanos: () => BigInt(this.nowMs) * 1_000_000n,
    currentTimeMillis: Effect.sync(() => this.nowMs),
    currentTimeNanos: Effect.sync(() => BigInt(this.nowMs) * 1_000_000n),
    sleep: (duration: Duration.Duration) =>
      Effect.async<void>((resume) => {
        const sleeper = { untilMs: this.nowMs + Duration.toMillis(duration), wake: () => resume(Effect.void) }
        this.sleepers.add(sleeper)
        return Effect.sync(() => void this.sleepers.delete(sleeper))
      })
  })
}

/** A venue that takes requests, with an index price and a funded account. */
export const ready = async (disk: Layer.Layer<Disk>, options: Partial<Venue.Options> = {}, outside: Outside = {}) => {
  const venue = new VenueOver(disk, options, undefined, undefined, outside)
  const exit = await venue.started
  if (Exit.isFailure(exit)) throw new Error(`the venue did not start: ${String(exit.cause)}`)
  await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
  const made = await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 1, collateral: "1000000" } })
  const [account] = made.json.accounts as ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }>
  return { venue, ...account! }
}

/** The body of an order far from the market. */
export const resting = (accountId: string, clientOrderId: string) => ({
  accountId,
  clientOrderId,
  marketId: "BTC-USDC-PERP",
  side: "buy",
  orderType: "limit",
  price: "59000.0",
  quantity: "0.010"
})
