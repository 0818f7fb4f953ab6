/**
 * A venue behind the edge that decides by script: orders rest without matching, unless a test says what the
 * next command comes to. Fault model: durability may be held back; nothing is ever lost. Not for judging
 * the engine: for judging what the edge asks of it and says about it.
 */
import { Context, Effect, Layer, Logger, Runtime, Schema } from "effect"
import type { Command, PlaceEntry } from "../../src/operations/Operations.js"
import * as Ids from "../../src/domain/Ids.js"
import type * as Market from "../../src/domain/Market.js"
import type { EntryOutcome, Outcome } from "../../src/operations/Operations.js"
import { doneEntry, refuse, refusedEntry } from "../../src/operations/Operations.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as Refusals from "../../src/domain/Refusal.js"
import type { ApiKeyView, MarketView, OrderView, Reads } from "../../src/engine/Reads.js"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import { Barrier, State, Submit } from "../../src/sequencer/Submit.js"
import * as Contract from "../../src/edge/Contract.js"
import * as Endpoint from "../../src/edge/http/Endpoint.js"
import * as Edge from "../../src/edge/Edge.js"
import type { Application, Request, Response } from "../../src/edge/http/Listener.js"
import * as Metrics from "../../src/edge/http/Metrics.js"
import * as Readiness from "../../src/edge/http/Readiness.js"
import * as Envelopes from "../../src/edge/http/Envelopes.js"
import * as Failures from "../../src/edge/http/Failures.js"

export const operatorToken = "operator-token-of-the-tests"
export const signerSecret = "signer-secret-of-the-tests"

export const btc: Market.Parameters = {
  marketId: "BTC-USDC-PERP",
  baseAsset: "BTC",
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  underlyingSymbol: "BTC",
  marketType: "crypto",
  logoUrl: "",
  priceScale: 1,
  quantityScale: 4,
  minPriceAtoms: 10,
  maxPriceAtoms: 10_000_000,
  minQuantityAtoms: 1,
  maxQuantityAtoms: 1_000_000,
  maxPositionQuantityAtoms: 10_000_000,
  initialMarginBps: 500,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 250 }],
  maxLeverageX: 20,
  makerFeeBps: 1,
  takerFeeBps: 5,
  priceBandBps: 1000
}

const draft: Market.Parameters = { ...btc, marketId: "ETH-USDC-PERP", baseAsset: "ETH", underlyingSymbol: "ETH" }

export interface FakeVenue {
  readonly state: Reads
  /** Every command submitted. */
  readonly commands: Array<Command>
  /** What the next command comes to, instead of the script. */
  next: ((command: Command) => Outcome) | undefined
  /** Holds durability back until `release`. */
  hold: boolean
  readonly release: () => void
  readonly readiness: Context.Tag.Service<Readiness.Readiness>
  readonly application: Application
  readonly levels: { bids: ReadonlyArray<readonly [number, number]>; asks: ReadonlyArray<readonly [number, number]> }
  readonly bumpBook: () => void
  /** Keys of account 0 (read and trade), account 1 (likewise), and account 0 with read alone; revoked, expired and scopeless ones. */
  readonly keys: Readonly<Record<"alice" | "bob" | "reader" | "revoked" | "expired" | "scopeless", string>>
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
}

const at = 1_700_000_000_000
const text = new TextEncoder()

/** A demo key as the operator's route would issue it. */
export const issue = (name: string, scopes: number): ApiKeys.Issued =>
  ApiKeys.deriveDemoKey(signerSecret, "development", name, 0, scopes)

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
  remoteAddress: "127.0.0.1"
})

/** `hidden`: without an operator token. */
interface Options {
  readonly environment?: "development" | "production"
  readonly hidden?: boolean
}

export const make = (options: Options = {}): FakeVenue => {
  let sequence = 1
  let bookSequence = 1
  const held: Array<() => void> = []
  const markets: Array<{ parameters: Market.Parameters; status: Market.Status }> = [
    { parameters: btc, status: "open" },
    { parameters: draft, status: "draft" }
  ]
  const accounts: Array<string> = [Ids.accountId(64), Ids.accountId(65)]
  const keyViews: Array<ApiKeyView> = []
  const addKey = (account: number, scopes: number, name: string, more: Partial<ApiKeyView> = {}): string => {
    const issued = issue(name, scopes)
    keyViews.push({
      index: keyViews.length,
      account,
      createdAtEpochMs: at,
      revokedAtEpochMs: 0,
      ...issued.grant,
      ...more
    })
    return issued.text
  }
  const keys = {
    alice: addKey(0, 3, "alice"),
    bob: addKey(1, 3, "bob"),
    reader: addKey(0, 1, "reader"),
    revoked: addKey(0, 3, "revoked", { revokedAtEpochMs: at }),
    expired: addKey(0, 3, "expired", { expiresAtEpochMs: 1 }),
    scopeless: addKey(0, 0, "scopeless")
  }
  const orders = new Map<number, OrderView>()
  const remembered = new Map<string, { readonly fingerprint: string; readonly outcome: Outcome }>()
  const levels: FakeVenue["levels"] = { bids: [[99, 5], [98, 7]], asks: [[101, 3]] }

  const marketView = (index: number): MarketView => ({
    index,
    ...markets[index]!,
    lastPriceAtoms: 0,
    indexPriceAtoms: 1000,
    indexSourceEpochMs: at,
    change24hBps: -12,
    bookSequence,
    marketSequence: 1
  })

  const state: Reads = {
    get sequence() {
      return sequence
    },
    atEpochMs: at,
    halted: false,
    environment: "development",
    rules: 1,
    findAccount: (id) => accounts.indexOf(id),
    accountId: (account) => accounts[account]!,
    findMarket: (id) => markets.findIndex((market) => market.parameters.marketId === id),
    findSymbol: (symbol) => markets.findIndex(({ parameters }) => `${parameters.baseAsset}/USDC:USDC` === symbol),
    get marketCount() {
      return markets.length
    },
    market: marketView,
    registrySequence: 1,
    findOrder: (account, orderNumber) => {
      const order = orders.get(orderNumber)
      return order?.account === account ? order : undefined
    },
    orders: (account, filter, before, limit) => {
      const matching = [...orders.values()]
        .filter((order) => order.account === account && order.orderNumber < before)
        .filter((order) => filter.market < 0 || order.market === filter.market)
        .filter((order) => filter.status === undefined || order.status === filter.status)
        .sort((one, other) => other.orderNumber - one.orderNumber)
      const page = matching.slice(0, limit)
      return { orders: page, nextBefore: matching.length > limit ? page.at(-1)!.orderNumber : undefined }
    },
    findClientOrder: (account, clientOrderId) =>
      [...orders.values()].find((order) => order.account === account && order.clientOrderId === clientOrderId),
    findOutcomes: () => [],
    isFenced: () => false,
    hasForgotten: () => false,
    cancelAllAtEpochMs: () => 0,
    fills: () => [],
    trades: () => [],
    tradesSince: () => [],
    fillsSince: () => [],
    ordersSince: (account, filter, since, limit) => {
      const matching = [...orders.values()]
        .filter((order) => order.account === account && order.createdAtEpochMs >= (since ?? 0))
        .filter((order) => filter.market < 0 || order.market === filter.market)
        .filter((order) => filter.status === undefined || order.status === filter.status)
      return since === undefined ? matching.slice(-limit) : matching.slice(0, limit)
    },
    stats: () => ({
      volumeQuoteAtoms: 0n,
      volumeBaseAtoms: 0,
      highAtoms: 0,
      lowAtoms: 0,
      openAtoms: 0,
      lastPriceAtoms: 0,
      indexPriceAtoms: 1000,
      indexSourceEpochMs: at,
      markPriceAtoms: 1000,
      openInterestBaseAtoms: 30,
      openInterestQuoteAtoms: 300_000n,
      change24hBps: -12
    }),
    openOrders: (account, market) =>
      [...orders.values()]
        .filter((order) => order.account === account && order.status === 0)
        .filter((order) => market < 0 || order.market === market),
    positions: (account) => [{
      born: 128,
      account,
      market: 0,
      quantityAtoms: -30,
      entryNotionalAtoms: 30 * 1005 * 10,
      markPriceAtoms: 1000,
      unrealizedPnlAtoms: 1500,
      notionalAtoms: 300_000,
      initialMarginAtoms: 15_000,
      maintenanceMarginAtoms: 7_500,
      realizedPnlAtoms: -7,
      feesPaidAtoms: 12,
      openedAtEpochMs: at,
      lastSequence: 1
    }],
    balance: (account) => ({
      account,
      accountId: accounts[account]!,
      collateralAtoms: -5,
      equityAtoms: 1_000_000_000_000,
      marginEquityAtoms: 1,
      unrealizedPnlAtoms: -1,
      initialMarginAtoms: 0,
      maintenanceMarginAtoms: 0,
      orderLossAtoms: 0,
      availableAtoms: 0,
      lastSequence: 1
    }),
    book: (_market, depth) => ({ bids: levels.bids.slice(0, depth), asks: levels.asks.slice(0, depth) }),
    findApiKey: (keyId) => keyViews.find((key) => key.keyId === keyId),
    occupancy: {
      orders: 0,
      orderCapacity: 10,
      openOrders: 0,
      idempotencyEntries: 0,
      idempotencyCapacity: 10,
      accounts: 2,
      apiKeys: 5
    }
  }

  const placeOne = (
    command: { readonly account: number; readonly idempotencyKey: string },
    entry: PlaceEntry,
    index: number
  ): EntryOutcome => {
    const orderNumber = Ids.ordinal(sequence, index)
    if (entry.fault !== 0) return refusedEntry(entry.fault, orderNumber)
    if (markets[entry.market]?.status !== "open") return refusedEntry(Refusal.marketNotFound, orderNumber)
    const { maxPriceAtoms, minPriceAtoms } = markets[entry.market]!.parameters
    if (entry.type === 0 && (entry.priceAtoms < minPriceAtoms || entry.priceAtoms > maxPriceAtoms)) {
      const bound = entry.priceAtoms < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
      return refusedEntry(Refusal.priceOutOfBounds, orderNumber, bound, entry.priceAtoms, bound)
    }
    const outcome: EntryOutcome = { ...doneEntry(orderNumber) }
    orders.set(orderNumber, {
      ...entry,
      orderNumber,
      account: command.account,
      status: 0,
      cancelReason: 0,
      filledAtoms: 0,
      filledNotionalAtoms: 0,
      canceledAtoms: 0,
      idempotencyKey: command.idempotencyKey,
      createdAtEpochMs: at,
      updatedAtEpochMs: at,
      lastSequence: sequence
    })
    return outcome
  }

  const decide = (command: Command): ReadonlyArray<EntryOutcome> => {
    switch (command.kind) {
      case "PlaceOrders":
        return command.entries.map((entry, index) => placeOne(command, entry, index))
      case "CancelOrders":
        return command.entries.map((entry) => {
          const order = orders.get(entry.orderNumber)
          if (order === undefined || order.account !== command.account || order.status !== 0 || order.market !== entry.market) {
            return refusedEntry(Refusal.orderNotFound, entry.orderNumber)
          }
          orders.set(
            entry.orderNumber,
            { ...order, status: 2, cancelReason: 1, canceledAtoms: order.quantityAtoms, lastSequence: sequence }
          )
          return { ...doneEntry(entry.orderNumber), status: 2, cancelReason: 1, canceledAtoms: order.quantityAtoms }
        })
      case "CancelAllOrders":
        return [{ ...doneEntry(), canceledAtoms: 2 }]
      case "OpenDemoAccounts":
        return command.keys.map((grant) => {
          const account = accounts.push(Ids.accountId(Ids.ordinal(sequence, accounts.length))) - 1
          keyViews.push({ index: keyViews.length, account, createdAtEpochMs: at, revokedAtEpochMs: 0, ...grant })
          return doneEntry(account)
        })
      case "SetMarketStatus":
        markets[command.market]!.status = command.status
        return [doneEntry()]
      default:
        return [doneEntry()]
    }
  }

  const settle = (callback: () => void): void => {
    if (fake.hold) held.push(callback)
    else callback()
  }

  const submit = (command: Command, answer: (outcome: Outcome) => void): void => {
    fake.commands.push(command)
    const { next } = fake
    if (next !== undefined) {
      fake.next = undefined
      const outcome = next(command)
      return settle(() => answer(outcome))
    }
    const key = "idempotencyKey" in command ? command.idempotencyKey : ""
    const scope = "operation" in command ? `${command.account}/${command.operation}/${key}` : `${command.kind}/${key}`
    const fingerprint = JSON.stringify(command)
    const known = remembered.get(scope)
    if (known !== undefined) {
      const outcome = known.fingerprint === fingerprint
        ? { ...known.outcome, replayed: true }
        : refuse(Refusal.idempotencyConflict, sequence, at)
      return settle(() => answer(outcome))
    }
    sequence++
    const outcome: Outcome = { sequence, atEpochMs: at, refusal: 0, replayed: false, entries: decide(command) }
    remembered.set(scope, { fingerprint, outcome })
    settle(() => answer(outcome))
  }

  const readiness = Readiness.make()
  readiness.set("ready")
  let counter = 0
  const layer = Layer.mergeAll(
    Layer.succeed(State, state),
    Layer.succeed(Submit, { submit }),
    Layer.succeed(Barrier, { whenDurable: (_sequence, callback) => settle(callback), durableSequence: () => sequence }),
    Layer.succeed(
      SecureRandom,
      { bytes: (count) => Uint8Array.from({ length: count }, () => (counter = (counter * 31 + 7) % 251)) }
    ),
    Layer.succeed(Readiness.Readiness, readiness),
    Metrics.layer,
    Logger.remove(Logger.defaultLogger),
    Layer.succeed(Edge.Settings, {
      environment: options.environment ?? "development",
      operatorToken: options.hidden === true ? undefined : operatorToken,
      signerSecret,
      acceptsIndexPrices: options.environment !== "production"
    })
  )
  const application = Runtime.runSync(Runtime.defaultRuntime)(Effect.provide(Edge.makeApplication, layer))
  const fake: FakeVenue = {
    state,
    commands: [],
    next: undefined,
    hold: false,
    release: () => {
      fake.hold = false
      for (const callback of held.splice(0)) callback()
    },
    readiness,
    application,
    levels,
    bumpBook: () => {
      bookSequence++
    },
    keys,
    accounts,
    ask: (ask) => {
      const framed = request(ask)
      return new Promise((resolve) =>
        application.handle(framed, (response) => {
          conform(framed, response)
          resolve(response)
        })
      )
    }
  }
  return fake
}

/** A path's segments as the router reads them. */
const segments = (path: string): ReadonlyArray<string> =>
  path.split("/").map((segment) => segment.replaceAll(/%(?:[46][1-9a-f]|[57][0-9a]|3[0-9])/gi, decodeURI))

/** The endpoint that a path and method belong to. */
const endpointOf = (method: string, path: string): Endpoint.Described | undefined =>
  Contract.endpoints
    .filter((endpoint) => endpoint.method === method)
    .filter((endpoint) => {
      const expected = segments(endpoint.path)
      const actual = segments(path)
      return expected.length === actual.length
        && expected.every((part, index) => part.startsWith(":") ? actual[index] !== "" : part === actual[index])
    })
    .sort((left, right) => left.path.split(":").length - right.path.split(":").length)[0]

/** Throws unless a response is one that the contract declares for its request. */
export const conform = (framed: Request, response: Response): void => {
  const path = framed.target.split("?")[0]!
  const endpoint = endpointOf(framed.method, path)
  const id = response.headers["x-request-id"]
  if (id === undefined || !id.startsWith("req_")) throw new Error("a response has no x-request-id")
  const answer = endpoint?.answers.get(response.status)
  const status = response.status as Envelopes.Status
  if (endpoint === undefined ? !Failures.unrouted.includes(status) : answer === undefined) {
    throw new Error(`${endpoint?.name ?? "what meets no endpoint"} does not declare ${status}`)
  }
  const family = Endpoint.familyOf(path)
  const schema = answer?.schema ?? (family === "compat" ? Envelopes.compatError(status) : Envelopes.nativeError(status))
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
