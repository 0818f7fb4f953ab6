/**
 * A venue behind the edge that decides by script: orders rest without matching, unless a test sets the outcome of the next command. Fault
 * model: durability may be held back; nothing is ever lost. It tests what the edge asks of the engine and answers to clients, not the
 * engine.
 */
import { isDeepStrictEqual } from "node:util"
import { Principal } from "../../src/operations/Header.js"
import * as Funds from "../../src/funds/Funds.js"
import * as KeyUses from "../../src/identity/KeyUses.js"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import { Clock, Context, Effect, Layer, Logger, Runtime, Schema } from "effect"
import * as Refusals from "../../src/domain/Refusal.js"
import type { ApiKeyView, Reads } from "../../src/engine/Reads.js"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import type { KeyGrant } from "../../src/operations/identity/KeyGrant.js"
import * as RateLimits from "../../src/identity/RateLimits.js"
import * as SessionTokens from "../../src/identity/SessionTokens.js"
import * as NodeLog from "../../src/observe/NodeLog.js"
import * as IndexWatch from "../../src/oracle/IndexWatch.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import * as Fingerprint from "../../src/operations/Fingerprint.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import * as Feed from "../../src/sequencer/Feed.js"
import * as Live from "../../src/sequencer/Live.js"
import { EngineReads } from "../../src/sequencer/EngineReads.js"
import * as Histories from "../../src/readmodel/Histories.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import { Barrier, Submit } from "../../src/sequencer/Submit.js"
import { Assets, type Built } from "../../src/edge/console/Assets.js"
import * as RouteTable from "../../src/edge/RouteTable.js"
import * as Endpoint from "../../src/edge/http/Endpoint.js"
import * as Edge from "../../src/edge/Edge.js"
import type { Application, Request, Response } from "../../src/edge/http/Listener.js"
import * as Metrics from "../../src/edge/http/Metrics.js"
import * as Readiness from "../../src/edge/http/Readiness.js"
import * as Envelopes from "../../src/edge/http/Envelopes.js"
import * as Failures from "../../src/edge/http/Failures.js"
import { at, FakeEngine } from "./FakeEngine.js"

export { btc } from "./FakeEngine.js"

export const operatorToken = "operator-token-of-the-tests"
export const signerSecret = "signer-secret-of-the-tests"

export interface FakeVenue {
  readonly state: Reads
  /** Every command submitted. */
  readonly commands: Array<Command>
  /** The outcome of the next command, in place of the script's. */
  next: ((command: Command) => Outcome) | undefined
  /** Holds durability back until `release`. */
  hold: boolean
  readonly release: () => void
  readonly readiness: Context.Tag.Service<Readiness.Readiness>
  readonly application: Application
  readonly levels: FakeEngine["levels"]
  readonly bumpBook: () => void
  /** Keys of accounts 0 and 1 (read and trade), and of account 0 with read alone; revoked, expired and scopeless ones. */
  readonly keys: Readonly<Record<"alice" | "bob" | "reader" | "revoked" | "expired" | "scopeless", string>>
  /** The session token of account 0's owner. */
  readonly session: string
  readonly accounts: ReadonlyArray<string>
  readonly ask: (request: Ask) => Promise<Response>
}

export interface Ask {
  readonly method?: string
  readonly target: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly bytes?: Uint8Array
  readonly key?: string
  readonly idempotencyKey?: string
  /** The address of the connection; 127.0.0.1 by default. */
  readonly remoteAddress?: string
}

const text = new TextEncoder()

/** The end of the year 9999, later than any test. */
const neverEpochMs = 253_402_300_799_000

/** A key as the operator's route would issue it to a demo account, except that it never expires. */
export const issue = (name: string, scopes: number): { readonly text: string; readonly grant: KeyGrant } => {
  const keyId = `key_${ApiKeys.digest(name).slice(0, 20)}`
  const { fields, text } = ApiKeys.deriveDemoKey(signerSecret, "development", keyId)
  return { text, grant: { ...fields, scopes, expiresAtEpochMs: neverEpochMs } }
}

/** A request as a listener would frame it. */
export const request = (ask: Ask): Request => ({
  method: ask.method ?? (ask.body === undefined && ask.bytes === undefined ? "GET" : "POST"),
  target: ask.target,
  headers: {
    ...(ask.body === undefined && ask.bytes === undefined ? undefined : { "content-type": "application/json" }),
    ...(ask.key === undefined ? undefined : { authorization: `Bearer ${ask.key}` }),
    ...(ask.idempotencyKey === undefined ? undefined : { "idempotency-key": ask.idempotencyKey }),
    ...ask.headers
  },
  body: ask.bytes ?? (ask.body === undefined ? new Uint8Array(0) : text.encode(JSON.stringify(ask.body))),
  remoteAddress: ask.remoteAddress ?? "127.0.0.1"
})

/**
 * `hidden`: without an operator token. `streams`: whether index prices may be streamed, by default they may. There are no rate limits
 * unless `rateLimits` sets some; `now` is the clock, by default the real one.
 */
interface Options {
  readonly environment?: "development" | "production"
  readonly hidden?: boolean
  /** Whether an answer may have any code of its status: where a test lets the engine refuse what it never would. */
  readonly anyCode?: boolean
  readonly streams?: boolean
  /** The owner's pages; none by default. */
  readonly assets?: Built
  readonly rateLimits?: Partial<RateLimits.Options>
  readonly trustedProxies?: number
  readonly corsOrigins?: ReadonlyArray<string>
  readonly now?: () => number
  /** Called with each line of the log. */
  readonly logged?: (line: string) => void
}

/** Adds keys of account 0, of account 1, and some that are not valid, to the engine. */
const issueKeys = (engine: FakeEngine): FakeVenue["keys"] => {
  const add = (account: number, scopes: number, name: string, more: Partial<ApiKeyView> = {}): string => {
    const issued = issue(name, scopes)
    engine.keys.push({
      principal: Principal.key,
      credential: engine.keys.length,
      account,
      createdAtEpochMs: at,
      revokedAtEpochMs: 0,
      ...issued.grant,
      ...more
    })
    return issued.text
  }
  return {
    alice: add(0, 3, "alice"),
    bob: add(1, 3, "bob"),
    reader: add(0, 1, "reader"),
    revoked: add(0, 3, "revoked", { revokedAtEpochMs: at }),
    expired: add(0, 3, "expired", { expiresAtEpochMs: 1 }),
    scopeless: add(0, 0, "scopeless")
  }
}

/** Bytes that are the same in every run, in place of random ones. */
const bytes = (): { readonly bytes: (count: number) => Uint8Array } => {
  let counter = 0
  return { bytes: (count) => Uint8Array.from({ length: count }, () => (counter = (counter * 31 + 7) % 251)) }
}

/** Adds a session of account 0's owner to the engine. */
const openSession = (engine: FakeEngine): string => {
  const { sha256: tokenSha256, text } = SessionTokens.issue((count) => new Uint8Array(count).fill(5))
  engine.sessions.push({
    principal: Principal.session,
    credential: 0,
    number: 0,
    account: 0,
    tokenSha256,
    credentialId: "AAAA",
    createdAtEpochMs: at,
    expiresAtEpochMs: Number.MAX_SAFE_INTEGER
  })
  return text
}

/** The edge over a venue's leaves. */
const applicationOf = (
  options: Options,
  state: Reads,
  submit: Context.Tag.Service<Submit>["submit"],
  barrier: Context.Tag.Service<typeof Barrier>,
  readiness: FakeVenue["readiness"]
): Application => {
  const layer = Layer.mergeAll(
    Layer.succeed(EngineReads, state),
    Layer.succeed(Submit, { submit }),
    Layer.succeed(Barrier, barrier),
    NodePasskeyVerifier.layer,
    WorkloadIdentity.layerNone,
    Layer.succeed(KeyUses.KeyUses, KeyUses.make(state, { submit })),
    Layer.succeed(Histories.Histories, Histories.none),
    Layer.succeed(Funds.Funds, Funds.none(bytes())),
    Layer.succeed(SecureRandom, bytes()),
    Layer.succeed(Assets, options.assets),
    NodeTurns.layer,
    Layer.succeed(Live.Live, Live.none),
    Layer.succeed(Feed.Feed, Feed.none),
    Layer.succeed(Readiness.Readiness, readiness),
    Metrics.layer,
    IndexWatch.layer,
    Logger.replace(Logger.defaultLogger, Logger.map(NodeLog.json, (line) => options.logged?.(line))),
    Layer.succeed(Edge.Settings, {
      environment: options.environment ?? "development",
      operatorToken: options.hidden === true ? undefined : operatorToken,
      signerSecret,
      acceptsIndexPrices: options.environment !== "production",
      acceptsIndexStream: options.streams ?? true,
      rateLimits: { ...RateLimits.unlimited, ...options.rateLimits },
      trustedProxies: options.trustedProxies ?? 0,
      corsOrigins: options.corsOrigins ?? [],
      site: { publicOrigin: "http://localhost:8080", rpId: "localhost" },
      affiliateEnabled: true
    })
  )
  const clock = Object.assign(Clock.make(), options.now === undefined ? {} : { unsafeCurrentTimeMillis: options.now })
  return Runtime.runSync(Runtime.defaultRuntime)(Edge.makeApplication.pipe(Effect.provide(layer), Effect.withClock(clock)))
}

export const make = (options: Options = {}): FakeVenue => {
  const engine = new FakeEngine()
  const held: Array<() => void> = []
  const remembered = new Map<string, { readonly fingerprint: Fingerprint.Fingerprint; readonly outcome: Outcome }>()

  const settle = (callback: () => void): void => {
    if (fake.hold) held.push(callback)
    else callback()
  }

  /** The outcome of a command: the one that the test set, the remembered one, or the engine's. */
  const outcomeOf = (command: Command): Outcome => {
    const { next } = fake
    fake.next = undefined
    if (next !== undefined) return next(command)
    const { account, fingerprint, idempotencyKey, operation } = command
    const scope = `${account}/${operation}/${idempotencyKey}`
    const known = remembered.get(scope)
    if (known !== undefined) {
      return isDeepStrictEqual(known.fingerprint, fingerprint)
        ? { ...known.outcome, replayed: true }
        : refuse(Refusals.Refusal.idempotencyConflict, engine.sequence, at)
    }
    const entries = engine.decide(command)
    const outcome: Outcome = { sequence: engine.sequence, atEpochMs: at, refusal: 0, replayed: false, entries }
    remembered.set(scope, { fingerprint, outcome })
    return outcome
  }

  const submit = (command: Command, answer: (outcome: Outcome) => void): void => {
    fake.commands.push(command)
    const outcome = outcomeOf(command)
    settle(() => answer(outcome))
  }

  const readiness = Readiness.make()
  readiness.set("ready")
  const application = applicationOf(options, engine, submit, {
    whenDurable: (_sequence, callback) => settle(callback),
    durableSequence: () => engine.sequence
  }, readiness)
  const fake: FakeVenue = {
    state: engine,
    commands: [],
    next: undefined,
    hold: false,
    release: () => {
      fake.hold = false
      for (const callback of held.splice(0)) callback()
    },
    readiness,
    application,
    levels: engine.levels,
    bumpBook: () => {
      engine.bookSequence++
    },
    keys: issueKeys(engine),
    session: openSession(engine),
    accounts: engine.accounts,
    ask: (ask) => {
      const framed = request(ask)
      return new Promise((resolve) =>
        application.handle(framed, (response) => {
          conform(framed, response, options.anyCode)
          resolve(response)
        })
      )
    }
  }
  return fake
}

/** A path's segments, as the router reads them. */
const segments = (path: string): ReadonlyArray<string> =>
  path.split("/").map((segment) => segment.replaceAll(/%(?:[46][1-9a-f]|[57][0-9a]|3[0-9])/gi, decodeURI))

/** The endpoint for a path and method. */
const endpointOf = (method: string, path: string): Endpoint.Described | undefined =>
  RouteTable.endpoints
    .filter((endpoint) => endpoint.method === (method === "HEAD" ? "GET" : method))
    .filter((endpoint) => {
      const expected = segments(endpoint.path)
      const actual = segments(path)
      return expected.length === actual.length
        && expected.every((part, index) => part.startsWith(":") ? actual[index] !== "" : part === actual[index])
    })
    .sort((left, right) => left.path.split(":").length - right.path.split(":").length)[0]

/** Throws unless the contract declares the response for its request; with `anyCode` all codes of a declared status are. */
export const conform = (framed: Request, response: Response, anyCode = false): void => {
  const path = framed.target.split("?")[0]!
  const endpoint = endpointOf(framed.method, path)
  const id = response.headers["x-request-id"]
  if (id === undefined || !id.startsWith("req_")) throw new Error("a response has no x-request-id")
  if (endpoint?.isEmpty === true && response.status === 204 && response.body === "") return
  const answer = endpoint?.answers.get(response.status)
  const status = response.status as Envelopes.Status
  if (endpoint === undefined ? !Failures.unrouted.includes(status) : answer === undefined) {
    throw new Error(`${endpoint?.name ?? "what meets no endpoint"} does not declare ${status}`)
  }
  const family = Endpoint.familyOf(path)
  const declared = anyCode && status >= 400 ? undefined : answer?.schema
  const schema = declared ?? (family === "compat" ? Envelopes.compatError(status) : Envelopes.nativeError(status))
  const value: unknown = answer?.kind === "text" ? response.body : JSON.parse(response.body)
  Schema.decodeUnknownSync(schema as Schema.Schema<unknown>, { onExcessProperty: "error" })(value)
}

/** The refusals of the domain's table. */
export const refusals = Refusals.all

/** A valid order of Alice's. */
export const order = (fake: FakeVenue, more: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  accountId: fake.accounts[0],
  marketId: "BTC-USDC-PERP",
  clientOrderId: "c-1",
  side: "buy",
  orderType: "limit",
  price: "100.5",
  quantity: "0.25",
  ...more
})

export const json = (response: Response): any => JSON.parse(response.body)
