/**
 * The stage of the scenarios: a small market in round numbers, accounts by name, and one action after the other, each answered before
 * the next begins. Everything happens over HTTP, in the venue's own time.
 *
 * Unless a scenario says otherwise, a market of the stage has prices of whole USDC and sizes of whole units, ten times leverage
 * (initial margin 10 %, maintenance margin 5 %), no trading fees, a liquidation fee of 1 %, a mark equal to its index, and an index
 * that is fresh for ten seconds and may move by any step.
 */
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import * as Ids from "../../src/domain/Ids.js"
import type { Parameters, Status } from "../../src/domain/Market.js"
import type { Fault } from "../../src/ledger/development/Faults.js"
import { difference } from "../properties/Difference.js"
import type { Answer, Call } from "../properties/Observation.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Exposition from "../reading/Exposition.js"
import { operatorToken } from "../run/World.js"
import type { Acting } from "../Simulation.js"
import * as Calls from "../workload/Calls.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import type { Proof } from "../workload/SoftwarePasskey.js"
import * as SoftwareWorkload from "../workload/SoftwareWorkload.js"
import { of } from "../workload/Wallet.js"
import type { Crash } from "../world/SimDisk.js"
import { Listener } from "./Listener.js"

/** The holder of an account. */
export type Somebody = Calls.Identity

/** The parameters of a market that a scenario may set. */
export type Terms = Partial<Omit<Parameters, "marketId" | "baseAsset" | "quoteAsset" | "settlementAsset">>

/** An order in whole units and USDC; without a price, a market order. */
export interface Wanted {
  readonly size: number
  readonly price?: number
  /** Immediate or cancel. */
  readonly now?: boolean
  readonly reduceOnly?: boolean
  readonly expiresAtEpochMs?: number
}

/** An answer, and the number of the call that it is to. */
interface Numbered {
  readonly answer: Answer
  readonly call: number
}

/** An agent's request for a key: the call that began it, and the number of its verifier. */
export interface AskedKey {
  readonly agent: OwnerCalls.Bearer
  readonly call: number
  readonly request: number
  readonly scopes: ReadonlyArray<string>
}

const second = 1_000
/** How long after the beginning of a second its marks are made and everything that depends on them is done. */
const settledMs = 40
/** The interval at which an index is sent again, where it is kept fresh. */
const freshMs = 4_000
/** Atoms of a USDC. */
const money = 1_000_000
/** How often an owner looks whether the ledger has a transfer. */
const mostLooks = 60
/** Longer than a request is on its way. */
const gatheredMs = 5
/** Simulated milliseconds in which any request is answered. */
const answerMs = 20_000

const terms = (base: string): Parameters => ({
  marketId: `${base}-USDC-PERP`,
  baseAsset: base,
  quoteAsset: "USDC",
  settlementAsset: "USDC",
  underlyingSymbol: base,
  marketType: "crypto",
  logoUrl: "",
  priceScale: 0,
  quantityScale: 0,
  minPriceAtoms: 1,
  maxPriceAtoms: 10_000,
  minQuantityAtoms: 1,
  maxQuantityAtoms: 100_000,
  maxPositionQuantityAtoms: 100_000,
  initialMarginBps: 1_000,
  maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: 500 }],
  maxLeverageX: 10,
  makerFeeBps: 0,
  takerFeeBps: 0,
  priceBandBps: 5_000,
  indexStaleMs: 10_000,
  indexStepMaxBps: 1_000_000,
  markBandBps: 0,
  impactNotionalAtoms: 10_000_000_000,
  fundingIntervalMs: 3_600_000,
  fundingCapE9: 0,
  liquidationFeeBps: 100
})

const wish = (market: Parameters, side: "buy" | "sell", wanted: Wanted, clientOrderId: string): Calls.Wish => {
  const { expiresAtEpochMs, now = false, price = 0, reduceOnly = false, size } = wanted
  return {
    market,
    side,
    type: price === 0 ? "market" : "limit",
    priceAtoms: price,
    quantityAtoms: size,
    clientOrderId,
    ...(now ? { timeInForce: "IOC" as const } : {}),
    ...(reduceOnly ? { reduceOnly } : {}),
    ...(expiresAtEpochMs === undefined ? {} : { expiresAtEpochMs })
  }
}

export class Stage {
  readonly #acting: Acting
  #keys = 0
  /** USDC with which accounts were opened. */
  #credited = 0
  readonly #everybody: Array<Somebody> = []
  /** The markets, with the last index given to each. */
  readonly #markets = new Map<Parameters, number>()

  constructor(acting: Acting) {
    this.#acting = acting
  }

  // --- time ----------------------------------------------------------------------------------------------

  /** Milliseconds since the Unix epoch. */
  get now(): number {
    return Math.floor(this.#acting.world.time.nowEpochMs())
  }

  /** Lets time pass in which nobody does anything. */
  wait(ms: number): void {
    const { until, world: { time } } = this.#acting
    let passed = false
    time.after(ms, () => {
      passed = true
    })
    until("a while", () => passed, ms + answerMs)
  }

  /** Lets seconds pass one by one, in which nobody does anything. */
  waitAlone(seconds: number): void {
    for (let left = seconds; left > 0; left--) this.wait(second)
  }

  /** Sets the process's clock forward, which its sleeps do not notice. */
  setForward(ms: number): void {
    this.#acting.host.process?.clock.jump(ms)
  }

  /** Sets the process's clock to a moment, at which it stands still until it is let go. */
  stopClockAt(atEpochMs: number): void {
    const { clock } = this.#acting.host.process ?? this.broke("there is no process whose clock could be stopped")
    clock.freeze()
    clock.jump(atEpochMs - clock.seen())
  }

  /** Lets the process's clock go on from where it stands. */
  letClockGo(): void {
    this.#acting.host.process?.clock.thaw()
  }

  /** The time of the process's clock. */
  get venueNow(): number {
    return this.#acting.host.process?.clock.seen() ?? this.now
  }

  /** Lets time pass until the next second's marks are made and everything that depends on them is done. */
  tick(): void {
    this.wait(second - (this.now % second) + settledMs)
  }

  /** Lets time pass until a moment, and keeps all indices fresh at their present values. */
  passUntil(atEpochMs: number): void {
    while (this.now < atEpochMs) {
      for (const [market, price] of this.#markets) this.index(market, price)
      this.wait(Math.min(freshMs, atEpochMs - this.now))
    }
  }

  pass(ms: number): void {
    this.passUntil(this.now + ms)
  }

  // --- the operator --------------------------------------------------------------------------------------

  /** Creates a market, opens it and gives it its first price, so that it has a mark. */
  market(base: string, index: number, change: Terms = {}): Parameters {
    const market = { ...terms(base), ...change }
    this.put(market)
    this.status(market, "backfilling")
    this.status(market, "open")
    this.#markets.set(market, index)
    this.done(this.index(market, index))
    return market
  }

  /** The markets of the file, where there is one. */
  get listed(): ReadonlyArray<Parameters> {
    return (this.#acting.world.markets?.first ?? []).map(({ parameters }) => parameters)
  }

  /** Creates a market, or changes its parameters: at once, or at a moment. */
  put(market: Parameters, effectiveAtEpochMs?: number): void {
    this.done(this.say(this.aPut(market, effectiveAtEpochMs)))
  }

  /** The request for that, to be sent together with others. */
  aPut(market: Parameters, effectiveAtEpochMs?: number): Calls.Draft {
    const body = { ...Calls.marketBody(market), ...(effectiveAtEpochMs === undefined ? {} : { effectiveAtEpochMs }) }
    return this.#operation("putMarket", "PutMarket", "PUT", `/v1/operator/markets/${market.marketId}`, body)
  }

  /** Changes a market's parameters, and sends an index under them. */
  change(market: Parameters, change: Terms, index: number): Parameters {
    const changed = { ...market, ...change }
    this.put(changed)
    this.#markets.delete(market)
    this.#markets.set(changed, index)
    this.done(this.index(changed, index))
    return changed
  }

  /** Delists a market at once, which settles all positions in it. */
  delist(market: Parameters): void {
    this.done(this.#delisting(market, "PUT", {}))
    this.#markets.delete(market)
  }

  /** Announces the delisting of a market at a moment. */
  announceEnd(market: Parameters, effectiveAtEpochMs: number): void {
    this.done(this.announcesEnd(market, effectiveAtEpochMs))
  }

  /** Tries to announce it, and returns the answer. */
  announcesEnd(market: Parameters, effectiveAtEpochMs: number): Answer {
    return this.#delisting(market, "PUT", { effectiveAtEpochMs })
  }

  /** Withdraws what was announced. */
  withdrawEnd(market: Parameters): void {
    this.done(this.#delisting(market, "DELETE", undefined))
  }

  #delisting(market: Parameters, method: "PUT" | "DELETE", body: object | undefined): Answer {
    const endpoint = method === "PUT" ? "delistMarket" : "withdrawDelisting"
    return this.operate(endpoint, "DelistMarket", method, `/v1/operator/markets/${market.marketId}/delisting`, body)
  }

  status(market: Parameters, status: Status): void {
    this.done(this.say(this.aStatus(market, status)))
  }

  /** The request that sets a market's status, to be sent together with others. */
  aStatus(market: Parameters, status: Status): Calls.Draft {
    const target = `/v1/operator/markets/${market.marketId}/status`
    return this.#operation("setMarketStatus", "SetMarketStatus", "PUT", target, { status })
  }

  /** The request that sets a market's index, likewise. */
  anIndex(market: Parameters, price: number | string, sourceEpochMs?: number): Calls.Draft {
    return this.#operation("setIndexPrice", "SetIndexPrice", "PUT", `/v1/operator/markets/${market.marketId}/index-price`, {
      price: String(price),
      ...(sourceEpochMs === undefined ? {} : { sourceEpochMs })
    })
  }

  /** The request that credits an account with USDC, likewise; it is counted as sent. */
  aCredit(who: Somebody, amount: number): Calls.Draft {
    this.#credited += amount
    const body = { accountId: who.accountId, amount: String(amount) }
    return this.#operation("creditAccount", "CreditAccount", "POST", "/v1/operator/demo/credits", body)
  }

  /** Sends an index price as the operator writes it, and returns the answer. */
  index(market: Parameters, price: number | string, sourceEpochMs?: number): Answer {
    const answer = this.say(this.anIndex(market, price, sourceEpochMs))
    if (answer.status === 200) this.#markets.set(market, Number(price))
    return answer
  }

  /** Moves an index, and waits until the mark has followed and its immediate consequences are done. */
  move(market: Parameters, price: number): void {
    this.done(this.index(market, price))
    this.tick()
  }

  /** The request that lets a halted engine go on, to be sent together with others. */
  aResume(): Calls.Draft {
    return this.#operation("resumeEngine", "ResumeEngine", "DELETE", "/v1/operator/engine/halt", undefined)
  }

  halt(): void {
    this.done(this.operate("haltEngine", "HaltEngine", "PUT", "/v1/operator/engine/halt", undefined))
  }

  resume(): void {
    this.done(this.say(this.aResume()))
  }

  /** Opens accounts with this many USDC each. */
  open(names: ReadonlyArray<string>, collateral: number): ReadonlyArray<Somebody> {
    const body = { accounts: names.length, collateral: String(collateral) }
    const json = this.done(this.operate("openDemoAccounts", "OpenDemoAccounts", "POST", "/v1/operator/demo/accounts", body))
    const opened = (json["accounts"] as ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }>).map((each, at) => ({
      client: names[at]!,
      account: this.#acting.model.accounts.findIndex(({ born }) => Ids.accountId(born) === each.accountId),
      ...each
    }))
    this.#credited += names.length * collateral
    this.#everybody.push(...opened)
    return opened
  }

  one(name: string, collateral: number): Somebody {
    return this.open([name], collateral)[0]!
  }

  operate(endpoint: string, kind: string, method: "PUT" | "DELETE" | "POST", target: string, body: unknown): Answer {
    return this.say(this.#operation(endpoint, kind, method, target, body))
  }

  #operation(endpoint: string, kind: string, method: "PUT" | "DELETE" | "POST", target: string, body: unknown): Calls.Draft {
    return Calls.operate(operatorToken, endpoint, endpoint, kind, this.#nextKey("operator"), method, target, body)
  }

  // --- traders -------------------------------------------------------------------------------------------

  buy(who: Somebody, market: Parameters, wanted: Wanted): Json {
    return this.#order(who, market, "buy", wanted)
  }

  sell(who: Somebody, market: Parameters, wanted: Wanted): Json {
    return this.#order(who, market, "sell", wanted)
  }

  /** Trades between two accounts at a price: both orders are filled completely. */
  deal(buyer: Somebody, seller: Somebody, market: Parameters, size: number, price: number): void {
    this.is(`what ${seller.client} offered ${buyer.client}`, this.sell(seller, market, { size, price })["status"], "open")
    const bought = this.buy(buyer, market, { size, price })
    this.is(`what ${buyer.client} bought of ${seller.client}`, bought["status"], "closed")
  }

  /** Sets an account's dead-man switch. */
  cancelAllAfter(who: Somebody, timeoutMs: number): Json {
    return this.done(this.say(Calls.cancelAllAfter(who, "switch", this.#nextKey(who.client), timeoutMs)))
  }

  /** An account's open orders, in a market or in all. */
  openOrders(who: Somebody): ReadonlyArray<Json> {
    return this.own(who, "listOrders", "orders?limit=100&status=open")["orders"] as ReadonlyArray<Json>
  }

  cancel(who: Somebody, market: Parameters, order: Json): void {
    this.done(this.say(Calls.cancelOrder(who, "cancel", this.#nextKey(who.client), market.marketId, String(order["orderId"]))))
  }

  /** Changes the price of an open order. */
  amend(who: Somebody, market: Parameters, order: Json, priceAtoms: number): Json {
    const id = String(order["orderId"])
    return this.done(this.say(Calls.amend(who, "amend", this.#nextKey(who.client), market, id, { priceAtoms })))
  }

  /** Sets a stop-loss: the account's position in a market is closed when the index falls below this price. */
  stopLoss(who: Somebody, market: Parameters, below: number): void {
    const stopLoss = { triggerPrice: String(below), triggerBy: "index" as const }
    this.done(this.say(Calls.setAutoClose(who, "stop loss", this.#nextKey(who.client), market.marketId, { stopLoss })))
  }

  /** Sets an account's leverage in a market. */
  lever(who: Somebody, market: Parameters, leverageX: number): void {
    this.done(this.say(Calls.setLeverage(who, "leverage", this.#nextKey(who.client), market.marketId, leverageX)))
  }

  /** Cancels all of an account's orders, in a market or in all. */
  cancelAll(who: Somebody, market?: Parameters): Json {
    return this.done(this.say(Calls.cancelAll(who, "cancel all", this.#nextKey(who.client), market?.marketId)))
  }

  #order(who: Somebody, market: Parameters, side: "buy" | "sell", wanted: Wanted): Json {
    const { json } = this.say(this.anOrder(who, market, side, wanted))
    return isObject(json) ? json : this.broke(`an order of ${who.client} is answered with no object`)
  }

  /** The request that places an order, to be sent together with others. */
  anOrder(who: Somebody, market: Parameters, side: "buy" | "sell", wanted: Wanted): Calls.Draft {
    const key = this.#nextKey(who.client)
    return Calls.place(who, side, key, wish(market, side, wanted, key))
  }

  /** Asks what an order would come to. */
  preview(who: Somebody, market: Parameters, side: "buy" | "sell", wanted: Wanted): Json {
    return this.done(this.say(Calls.preview(who, wish(market, side, wanted, this.#nextKey(who.client)))))
  }

  // --- readers -------------------------------------------------------------------------------------------

  /** Reads something public. */
  public(endpoint: string, target: string): Json {
    return this.done(this.say(Calls.read(nobody, endpoint, target, "none")))
  }

  /** Reads something of an account as its owner. */
  own(who: Somebody, endpoint: string, rest: string): Json {
    return this.done(this.say(Calls.read(who, endpoint, `/v1/accounts/${who.accountId}/${rest}`, "trader")))
  }

  /** Reads the metrics, which properties compare with what they tell of. Returns the text. */
  metrics(): string {
    return this.say(Calls.read(nobody, "getMetrics", "/metrics", "none")).text
  }

  /** The value of a metric without labels; undefined where there is none. */
  figure(name: string): number | undefined {
    const families = Exposition.read(this.metrics())
    if (typeof families === "string") return this.broke(`the metrics are no such text: ${families}`)
    return families.get(name)?.samples.get(name)?.[0]?.value
  }

  balance(who: Somebody): Json {
    return this.own(who, "getBalance", "balance")
  }

  /** The request that waits for changes of an account, to be sent together with others. */
  aWait(who: Somebody, waitMs: number): Calls.Draft {
    const target = `/v1/accounts/${who.accountId}/changes?fromSequence=${this.#acting.model.sequence}&waitMs=${waitMs}`
    return Calls.read(who, "listChanges", target, "trader")
  }

  /** Opens a connection of the stream. */
  listener(name: string): Listener {
    return new Listener(name, this.#acting)
  }

  /** How many connections are armed to cancel their orders. */
  get armed(): number {
    return this.#acting.model.armed
  }

  /** A ticket with which its bearer may read and trade for an account. */
  ticket(who: Somebody): string {
    const draft = OwnerCalls.mintTicket(OwnerCalls.demoKey(who.client, who), { scopes: ["read", "trade"] })
    return String(this.done(this.say(draft))["ticket"])
  }

  /** Makes a passkey without a credential, which opens an account. Returns the answer, and the number of the call. */
  register(passkey: number, change: Partial<Proof> = {}): Numbered {
    const who = OwnerCalls.stranger(`owner-${passkey}`)
    const { call: asked } = this.apart(OwnerCalls.beginRegistration(who, undefined, undefined))
    return this.apart(OwnerCalls.finishRegistration(who, { kind: "create", passkey, asked, signCount: 0, ...change }))
  }

  /** The owner that a call has let in makes another passkey for the account, by the one that it has. */
  addPasskey(owner: number, passkey: number, another: number): Numbered {
    const who = OwnerCalls.holder(`owner-${passkey}`, owner)
    const { call: proved } = this.apart(OwnerCalls.beginAuthentication(OwnerCalls.stranger(who.client), who.accountId, "add_passkey"))
    const proof = { kind: "get", passkey, asked: proved, signCount: 0 } as const
    const { call: asked } = this.apart(OwnerCalls.beginRegistration(who, "another", proof))
    return this.apart(OwnerCalls.finishRegistration(who, { kind: "create", passkey: another, asked, signCount: 0 }))
  }

  /** The owner that a call has let in signs in once more, by a passkey. */
  signIn(owner: number, passkey: number, signCount = 0): Numbered {
    const who = OwnerCalls.stranger(`owner-${passkey}`)
    const { accountId } = OwnerCalls.holder(who.client, owner)
    const { call: asked } = this.apart(OwnerCalls.beginAuthentication(who, accountId, undefined))
    return this.apart(OwnerCalls.finishAuthentication(who, { kind: "get", passkey, asked, signCount }))
  }

  /** An agent asks for a key with these scopes. */
  agentAsks(scopes: ReadonlyArray<string>): AskedKey {
    const agent = OwnerCalls.stranger(`agent-${scopes.join("-")}`)
    const request = this.#keys++
    const { answer, call } = this.apart(OwnerCalls.beginAgentConnect(agent, "an agent", scopes, 3_600, request))
    this.done(answer)
    return { agent, call, request, scopes }
  }

  /** The owner that a call has let in approves what an agent asks for. */
  approveAgent(owner: number, { agent, call, scopes }: AskedKey): Answer {
    const who = OwnerCalls.holder(`owner of ${agent.client}`, owner)
    return this.apart(OwnerCalls.approveAgentConnect(who, of(call, "userCode"), scopes)).answer
  }

  /** An agent tries to fetch its key. */
  fetchKey({ agent, call, request }: AskedKey): Numbered {
    return this.apart(OwnerCalls.exchangeAgentConnect(agent, of(call, "deviceCode"), OwnerCalls.verifierOf(request)))
  }

  /** Issues a key for a bot of an account, by the token of its workload. Returns the key's id. */
  botKey(accountId: string): string {
    const { model } = this.#acting
    const now = Math.floor(this.venueNow / second)
    const token = SoftwareWorkload.tokenOf({
      account: model.accounts.findIndex(({ born }) => Ids.accountId(born) === accountId),
      key: "one",
      number: this.#keys++,
      from: now - 60,
      until: now + 60,
      fault: undefined
    })
    const issued = this.done(this.operate("issueBotKey", "IssueBotKey", "POST", "/v1/operator/bot-keys", { token }))
    return String(issued["keyId"])
  }

  /** Connects an agent, whose key has these scopes, to the account of the owner that a call has let in. */
  connect(owner: number, scopes: ReadonlyArray<string>): OwnerCalls.Bearer {
    const asked = this.agentAsks(scopes)
    this.done(this.approveAgent(owner, asked))
    const { answer, call } = this.fetchKey(asked)
    this.done(answer)
    return OwnerCalls.agent(asked.agent.client, call)
  }

  /** Sends a request of an owner or an agent once, and waits for the answer. Their calls are numbered apart from those of traders. */
  apart(draft: Calls.Draft): Numbered {
    return this.#answered(draft, this.#acting.clients.issueApart)
  }

  /** Lets strangers act on the ledger from now on, as its behaviour says. */
  openLedger(): void {
    this.#acting.world.bank?.begin()
  }

  /** Makes the ledger one that nobody reaches, or one that is there again. */
  loseLedger(isLost: boolean): void {
    this.#acting.world.bank?.lose(isLost)
  }

  /** Has events of the ledger's participant happen that are its own, or restores it from a backup, with which those are gone. */
  ledgerGoesOn(ownEvents: number): void {
    this.#acting.world.bank?.goOn(ownEvents)
  }

  restoreLedger(): void {
    this.#acting.world.bank?.goOn(0)
  }

  /** Lets the next executions meet these faults of the ledger, one each. */
  befallExecutions(faults: ReadonlyArray<Fault>): void {
    this.#acting.world.bank?.befall(faults)
  }

  /** Sets the ledger's clock ahead. */
  setLedgerForward(ms: number): void {
    this.#acting.world.bank?.leap(ms)
  }

  /** Requests a deposit of whole USDC. */
  requestDeposit(who: OwnerCalls.Bearer, amount: number): FundsCalls.Asked {
    const atoms = String(amount * money)
    const { answer, call } = this.apart(FundsCalls.createDeposit(who, this.#nextKey(who.client), "USDC", atoms))
    this.done(answer)
    return { kind: "deposit", call }
  }

  /** Requests a deposit of whole USDC by the owner of a passkey, and approves its steps until the ledger has it. */
  deposit(who: OwnerCalls.Bearer, passkey: number, amount: number): void {
    this.approveUntil(who, passkey, this.requestDeposit(who, amount), "ledger_confirmed")
  }

  /** Requests a withdrawal of whole USDC to the owner's own party, and waits until it is to be approved. */
  withdrawal(who: OwnerCalls.Bearer, amount: number): FundsCalls.Asked {
    const { answer: party, call: at } = this.apart(FundsCalls.getParty(who))
    this.done(party)
    const atoms = String(amount * money)
    const { answer, call } = this.apart(FundsCalls.createWithdrawal(who, this.#nextKey(who.client), atoms, of(at, "partyId")))
    this.done(answer)
    return { kind: "withdrawal", call }
  }

  /** Approves what is to be approved of a transfer until it has a status. */
  approveUntil(who: OwnerCalls.Bearer, passkey: number, transfer: FundsCalls.Asked, status: string): void {
    for (let looks = 0; looks < mostLooks; looks++) {
      const { answer, call: asked } = this.apart(FundsCalls.initiate(who, transfer))
      const stands = this.done(answer)["status"]
      if (stands === status) return
      if (stands !== "approval_required") this.wait(second)
      else this.done(this.apart(FundsCalls.complete(who, transfer, { kind: "get", passkey, asked, signCount: 0 })).answer)
    }
    this.broke(`a ${transfer.kind} does not come to be ${status}`)
  }

  /** The comparison of the venue's books with the ledger, as the operator is told. */
  reconciliation(): Json {
    const target = "/v1/operator/reconciliation"
    return this.done(this.apart(Calls.ask(operatorToken, "reconcile", "reconcile", "POST", target, undefined)).answer)
  }

  /** One of an account's sums of money, in USDC. */
  usdc(who: Somebody, name: "collateral" | "equity" | "marginEquity" | "maintenanceMargin" | "available"): number {
    return Number(this.balance(who)[name])
  }

  /** An account's position in a market, if there is one. */
  position(who: Somebody, market: Parameters): Json | undefined {
    const positions = this.own(who, "listPositions", "positions")["positions"] as ReadonlyArray<Json>
    return positions.find(({ marketId }) => marketId === market.marketId)
  }

  /** The size of an account's position in a market, long positive. */
  held(who: Somebody, market: Parameters): number {
    const position = this.position(who, market)
    return position === undefined ? 0 : Number(position["quantity"]) * (position["side"] === "long" ? 1 : -1)
  }

  /** The steps of liquidations in a market, oldest first. */
  steps(market: Parameters): ReadonlyArray<Json> {
    const json = this.public("listLiquidations", `/v1/markets/${market.marketId}/liquidations?limit=500`)
    return (json["steps"] as ReadonlyArray<Json>).toReversed()
  }

  /** The rankings of a market, or those since a moment, oldest first. */
  rankings(market: Parameters, sinceEpochMs?: number): ReadonlyArray<Json> {
    const since = sinceEpochMs === undefined ? "" : `?since=${sinceEpochMs}`
    const json = this.public("listDeleveragings", `/v1/markets/${market.marketId}/deleveragings${since}`)
    return (json["deleveragings"] as ReadonlyArray<Json>).toReversed()
  }

  stats(market: Parameters): Json {
    return this.public("getStats", `/v1/markets/${market.marketId}/stats`)
  }

  mark(market: Parameters): number {
    return Number((this.stats(market)["marketData"] as Json)["markPrice"])
  }

  fund(): Json {
    return this.public("getInsuranceFund", "/v1/insurance-fund?limit=500")
  }

  /** Sends several requests at once, or each so long after the one before. Returns the answers. */
  together(drafts: ReadonlyArray<Calls.Draft>, apartMs = 0): ReadonlyArray<Json> {
    return this.answersTogether(drafts, apartMs).map((answer) => this.done(answer))
  }

  /** Sends requests that come to the venue at one moment, so that it works on them side by side. Returns the answers. */
  atOneMoment(drafts: ReadonlyArray<Calls.Draft>): ReadonlyArray<Json> {
    const { network, time } = this.#acting.world
    time.after(gatheredMs, network.hold())
    return this.together(drafts)
  }

  /** Sends a request that comes to the venue just behind the frame that a listener says. Returns the answer to the frame, and to the request. */
  justBehind(listener: Listener, says: () => Json, draft: Calls.Draft): readonly [said: Json, answer: Answer] {
    const { clients, until, world: { network } } = this.#acting
    let answer: Answer | undefined
    const letIn = network.hold()
    clients.issue(draft, (last) => {
      answer = last
    })
    this.wait(gatheredMs)
    listener.whenTaken = () => {
      listener.whenTaken = undefined
      letIn()
    }
    const said = says()
    until("an answer to the request behind a frame", () => answer !== undefined, answerMs)
    return [said, answer!]
  }

  /** Sends several requests at once, or each so long after the one before. Returns the answers, some of which may be refusals. */
  answersTogether(drafts: ReadonlyArray<Calls.Draft>, apartMs = 0): ReadonlyArray<Answer> {
    return this.#answersTogether(drafts, apartMs, this.#acting.clients.issue)
  }

  /**
   * Sends requests that come to the venue at one moment, some of which may be refused. Returns the answers, by the places of their requests, in
   * the order in which the venue gave them.
   */
  inTheOrderOfReplies(drafts: ReadonlyArray<Calls.Draft>): ReadonlyArray<readonly [at: number, answer: Answer]> {
    const { clients, world: { network, time } } = this.#acting
    const [places, replied] = [new Map<Call, number>(), new Array<number>()]
    clients.whenReplied = (call) => {
      const at = places.get(call)
      if (at !== undefined) replied.push(at)
    }
    time.after(gatheredMs, network.hold())
    const answers = this.#answersTogether(drafts, 0, (draft, settled) => {
      const call = clients.issue(draft, settled)
      places.set(call, places.size)
      return call
    })
    clients.whenReplied = undefined
    return replied.map((at) => [at, answers[at]!] as const)
  }

  /**
   * Sends requests one after the other from the address of traders, and then others from that of owners, without waiting for the answers.
   * Returns those with the milliseconds that each took.
   */
  fromTwoAddresses(
    ofTraders: ReadonlyArray<Calls.Draft>,
    ofOwners: ReadonlyArray<Calls.Draft>,
    apartMs: number
  ): ReadonlyArray<readonly [tookMs: number, answer: Answer]> {
    const { clients } = this.#acting
    const took: Array<number> = []
    const answers = this.#answersTogether([...ofTraders, ...ofOwners], apartMs, (draft, settled) => {
      const [at, begun] = [took.push(0) - 1, this.now]
      return (at < ofTraders.length ? clients.issue : clients.issueApart)(draft, (answer) => {
        took[at] = this.now - begun
        settled(answer)
      })
    })
    return answers.map((answer, at) => [took[at]!, answer] as const)
  }

  /** Sends requests of an owner or an agent, each so long after the one before. Returns the answers, some of which may be refusals. */
  apartTogether(drafts: ReadonlyArray<Calls.Draft>, apartMs: number): ReadonlyArray<Answer> {
    return this.#answersTogether(drafts, apartMs, this.#acting.clients.issueApart)
  }

  /** Sends requests of an owner or an agent that come to the venue at one moment. Returns the answers, some of which may be refusals. */
  apartAtOneMoment(drafts: ReadonlyArray<Calls.Draft>): ReadonlyArray<Answer> {
    const { network, time } = this.#acting.world
    time.after(gatheredMs, network.hold())
    return this.apartTogether(drafts, 0)
  }

  #answersTogether(drafts: ReadonlyArray<Calls.Draft>, apartMs: number, issueOne: Acting["clients"]["issue"]): ReadonlyArray<Answer> {
    const { world: { time } } = this.#acting
    const answers = drafts.map((): Answer | undefined => undefined)
    drafts.forEach((draft, at) => {
      const issue = (): void =>
        void issueOne(draft, (answer) => {
          answers[at] = answer
        })
      if (apartMs === 0) issue()
      else time.after(at * apartMs, issue)
    })
    this.#acting.until("answers", () => answers.every((answer) => answer !== undefined), answerMs)
    return answers.map((answer) => answer!)
  }

  // --- the process ---------------------------------------------------------------------------------------

  /** Fills the disk, or makes room again. */
  fillDisk(isFull: boolean): void {
    this.#acting.host.fillDisk(isFull)
  }

  /** Makes the write of the next block one that never ends, after a while of which the process is killed and started again. */
  hangNextBlock(): void {
    this.#acting.host.hangNextBlock()
  }

  /** Has the table with the position of the histories lost under the process, which makes them anew. */
  spoilHistories(): void {
    this.#acting.world.histories.spoil()
  }

  /** How many lines with these words the venue has logged. */
  logged(words: string): number {
    return this.#acting.witness.logged.filter((line) => line.includes(words)).length
  }

  /** Whether the venue says that it is ready, in the status of its answer. */
  readiness(): number {
    return this.#probe().status
  }

  /** What the venue says of itself besides. */
  details(): Json {
    return (this.#probe().json as Json)["details"] as Json
  }

  #probe(): Answer {
    return this.answersTogether([Calls.read(nobody, "getReadiness", "/readyz", "none")])[0]!
  }

  /** Stops the process in good order, and starts it again. */
  restart(): void {
    const { host, until } = this.#acting
    host.stop()
    until("a stop", () => host.process === undefined, 60_000)
    until("a start", () => host.reads !== undefined, 60_000)
  }

  /** Crashes the process, and starts it again. */
  crash(loss: Crash): void {
    const { host, until } = this.#acting
    host.crash(loss)
    until("a start", () => host.reads !== undefined, 60_000)
  }

  // --- what must be so -----------------------------------------------------------------------------------

  broke(what: string): never {
    return this.#acting.broke(what)
  }

  /** Expects a value to equal another in every member. */
  is(what: string, shown: unknown, expected: unknown): void {
    const verdict = difference(what, shown, expected)
    if (verdict !== undefined) this.broke(verdict)
  }

  holds(what: string, so: boolean): void {
    if (!so) this.broke(`not so: ${what}`)
  }

  /** Expects an order to have been refused for this reason. */
  refused(what: string, order: Json, guard: string): void {
    this.is(`the guard of ${what}`, order["rejectionGuard"], guard)
  }

  /**
   * Expectations at the end of every scenario: neither an account nor the fund is negative; together accounts have exactly what they
   * were opened with; the fund's movements add up to what it has; and the venue's own audit finds nothing.
   */
  audit(): void {
    const fund = this.fund()
    const balances = [...this.#everybody.map((who) => this.balance(who)), fund]
    this.is("journal sequences of an audit with nobody acting", new Set(balances.map((each) => each["journalSequence"])).size, 1)
    const below = balances.filter((each) => BigInt(String(each["equityAtoms"])) < 0n)
    this.is("accounts below zero", below.map((each) => each["accountId"]), [])
    const sum = (rows: ReadonlyArray<Json>, name: string): bigint => rows.reduce((total, each) => total + BigInt(String(each[name])), 0n)
    this.is("the equity of everybody", String(sum(balances, "equityAtoms")), String(BigInt(this.#credited) * 1_000_000n))
    this.is("the fund's movements", String(sum(fund["movements"] as ReadonlyArray<Json>, "amountAtoms")), fund["collateralAtoms"])
    this.auditEngine()
  }

  /** Runs the engine's own audit of its state, at the present marks. */
  auditEngine(): void {
    const { reads } = this.#acting.host
    if (reads instanceof Engine) this.is("the venue's own audit", Invariants.firstBroken(reads.state), undefined)
  }

  /** Sends a request, and waits for the answer. */
  say(draft: Calls.Draft): Answer {
    return this.#answered({ ...draft, persistent: true }, this.#acting.clients.issue).answer
  }

  /** Sends a request once. Returns the status of its answer; undefined where there is none after so long. */
  statusWithin(draft: Calls.Draft, ms: number): number | undefined {
    let status: number | undefined
    this.#acting.clients.issue({ ...draft, persistent: false }, (last) => {
      status = last?.status
    })
    this.wait(ms)
    return status
  }

  /** Issues a request, and waits for its last answer. */
  #answered(draft: Calls.Draft, issue: Acting["clients"]["issue"]): Numbered {
    let answer: Answer | undefined
    const { id: call } = issue(draft, (last) => {
      answer = last
    })
    this.#acting.until(`an answer to ${draft.intent} of ${draft.client}`, () => answer !== undefined, answerMs)
    return { answer: answer!, call }
  }

  /** The content of an answer, which must be a success. */
  done({ json, status, text }: Answer): Json {
    return status === 200 && isObject(json) ? json : this.broke(`answered ${status}: ${text}`)
  }

  #nextKey(whose: string): string {
    return `${whose.replaceAll(" ", "-")}-${this.#keys++}`
  }
}

const nobody: Somebody = { client: "the public", account: -1, accountId: "", apiKey: "" }

/** The beginning of the next interval of this length, ms since the Unix epoch. */
export const nextInterval = (atEpochMs: number, lengthMs: number): number => (Math.floor(atEpochMs / lengthMs) + 1) * lengthMs
