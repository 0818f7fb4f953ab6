/**
 * An operator who looks after keys, the ledger and the markets while everybody trades: revokes keys of agents, bots and demo accounts
 * whose holders continue to use them, stops and resumes withdrawals, compares the books with the ledger, gives parties ledger money to
 * deposit, and previews a market's parameters before putting them, or instead. All of it also in invalid forms: repeated in the same words
 * and in others, for keys and markets that do not exist, by clients who are no operator. It draws from a generator of its own, and makes a
 * given number of calls.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { type Parameters, types } from "../../src/domain/Market.js"
import type { Oversight as Options } from "../faults/Options.js"
import { isDelisted } from "../model/NaiveState.js"
import type { Answer } from "../properties/Observation.js"
import * as Requests from "../reading/Requests.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import * as Changes from "./Changes.js"
import * as OwnerCalls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"
import { Pace } from "./Pace.js"
import * as Twist from "./Twist.js"
import { of } from "./Wallet.js"

const weights = {
  "revoke a key": 12,
  "revoke what is none": 3,
  "revoke again": 7,
  "open an account to spare": 8,
  "stop withdrawals": 1,
  "allow withdrawals": 1,
  reconcile: 1,
  solvency: 7,
  preview: 14,
  "preview and put": 8,
  "list markets": 6,
  "look at a delisting": 4,
  "fund a party": 1,
  malformed: 3,
  "no operator": 3
}
type Act = keyof typeof weights
type Weights = Readonly<Record<Act, number>>

/** The acts of an operator who looks after the ledger alone, where there is one. */
const ofLedger: Weights = {
  ...Object.fromEntries(Object.keys(weights).map((act) => [act, 0])) as Record<Act, number>,
  "stop withdrawals": 8,
  "allow withdrawals": 3,
  reconcile: 10,
  solvency: 4,
  "fund a party": 9
}

/** How often an answer is insisted on, so that the request is repeated after a loss. */
const insistsShare = 0.6
/** Most keys of agents and bots that are revoked: those without a key cannot trade. */
const mostRevoked = 3
/** Longest stop of withdrawals, ms, and how often a stop lasts until the run's end. */
const maxStopMs = 2_500
const staysStoppedShare = 0.1
/** How many revocations are remembered, to be repeated. */
const memorySize = 8
/** The most that a party is given at once, and slightly more. */
const mostGiven = "1000000000"
const moreThanMost = "1000000000.000001"

interface Set extends Options {
  readonly token: string
}

/** The present holders of keys. */
type Holders = () => ReadonlyArray<OwnerCalls.KeyHolder>

/** The name of a market that does not exist. */
const unknownMarket = "NONE-USDC-PERP"

/** How often previewed parameters lie at the limit of a rule between parameters. */
const atRulesShare = 0.5

class Overseer {
  readonly #past: Array<Draft> = []
  /** Revoked keys: their holders and ids. */
  readonly #revoked: Array<{ readonly who: OwnerCalls.Bearer; readonly keyId: string }> = []
  #ofOthers = 0
  #keys = 0
  #gifts = 0
  readonly pace: Pace
  readonly #rules: SimRandom

  constructor(
    readonly client: string,
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly set: Set,
    readonly holders: Holders,
    readonly means: Weights
  ) {
    this.#rules = random.split("rules")
    this.pace = new Pace(desk, random, set, insistsShare, () => this.#act())
  }

  start(): void {
    this.pace.next()
  }

  readonly #next = (): void => this.pace.next()

  #say(draft: Draft, then?: (answer: Answer | undefined, call: number) => void): void {
    this.pace.say(draft, then)
  }

  #act(): void {
    this.#acts[this.random.weighted(this.means)]()
  }

  #draft(endpoint: string, kind: string, method: "PUT" | "POST" | "DELETE", target: string, body?: object): Draft {
    const key = `${this.client}-${this.#keys++}`
    return { ...Calls.operate(this.set.token, endpoint, endpoint, kind, key, method, target, body), client: this.client }
  }

  /** A request without a key, on whose answer nobody insists. */
  #ask(endpoint: string, method: "GET" | "POST", target: string, body?: object): Draft {
    return { ...Calls.ask(this.set.token, endpoint, endpoint, method, target, body), client: this.client, persistent: false }
  }

  // ---- keys

  #revocation(keyId: string): Draft {
    return this.#draft("revokeKeyByOperator", "RevokeKeyByOperator", "DELETE", `/v1/operator/api-keys/${keyId}`)
  }

  #remembered(draft: Draft): Draft {
    this.#past.push(draft)
    if (this.#past.length > memorySize) this.#past.shift()
    return draft
  }

  /** A random key of an agent or a bot, with its id. */
  get #ofSomebody(): { readonly who: OwnerCalls.Bearer; readonly keyId: string } | undefined {
    const holders = this.holders().filter(({ keys }) => keys.length > 0)
    if (holders.length === 0) return undefined
    const { agent, keys } = this.random.pick(holders)
    const call = this.random.pick(keys)
    const who = OwnerCalls.agent(agent, call)
    return agent === "bot"
      ? { who: { ...who, accountId: of(call, "accountId") }, keyId: of(call, "keyId") }
      : { who, keyId: of(call, "key.keyId") }
  }

  #revokeKey(): void {
    const found = this.#ofOthers < mostRevoked ? this.#ofSomebody : undefined
    if (found === undefined) return this.#spare()
    this.#ofOthers++
    this.#revoke(found.who, found.keyId)
  }

  /** Revokes a key. Its holder uses it at the same moment, before and after, and tries again when the revocation is answered. */
  #revoke(who: OwnerCalls.Bearer, keyId: string, ticket?: number): void {
    this.#revoked.push({ who, keyId })
    if (this.random.chance(0.5)) this.#use(who)
    this.#say(this.#remembered(this.#revocation(keyId)), () => {
      this.#tryRevoked(who, ticket)
      this.#next()
    })
    if (this.random.chance(0.5)) this.#use(who)
  }

  /** A use of a key by its holder. */
  #use(who: OwnerCalls.Bearer): void {
    const key = `${this.client}-use-${this.#keys++}`
    const { marketId } = this.random.pick(this.desk.model.markets).parameters
    const ways = [
      () => OwnerCalls.cancelAll(who, key),
      () => OwnerCalls.place(who, key, marketId, "1", "1"),
      () => OwnerCalls.getCurrentApiKey(who),
      () => OwnerCalls.readOwn(who, "getBalance", "balance"),
      () => this.#wait(who),
      () => this.#wait(who),
      () => OwnerCalls.mintTicket(who, undefined)
    ]
    this.#say(this.random.pick(ways)(), () => {})
  }

  /** A read that waits for changes of the account, mostly until the key has ended. */
  #wait(who: OwnerCalls.Bearer): Draft {
    const { sequence } = this.desk.model
    const waitMs = this.random.pick([100, 2_000, 10_000])
    return OwnerCalls.readOwn(who, "listChanges", `changes?fromSequence=${sequence + this.random.pick([0, 0, 20])}&waitMs=${waitMs}`)
  }

  #tryRevoked(who: OwnerCalls.Bearer, ticket: number | undefined): void {
    if (ticket !== undefined && this.random.chance(0.7))
      return this.#say(OwnerCalls.rotateTicket(OwnerCalls.stranger(this.client), of(ticket, "ticket")), () => {})
    if (this.random.chance(0.6)) this.#use(who)
  }

  /** Opens a demo account that nobody trades with: its key is used, mostly for a ticket, and then revoked. */
  #spare(): void {
    const keyLifetimeSeconds = this.random.pick([300, 300, 2_592_000])
    const body = { accounts: 1, collateral: "1000", keyLifetimeSeconds }
    const opening = this.#draft("openDemoAccounts", "OpenDemoAccounts", "POST", "/v1/operator/demo/accounts", body)
    this.#say(opening, (opened, call) => {
      if (opened?.status !== 200) return this.#next()
      const who: OwnerCalls.Bearer = {
        client: `${this.client}-spare`,
        credential: "issued",
        token: of(call, "accounts.0.apiKey"),
        accountId: of(call, "accounts.0.accountId"),
        account: -1
      }
      this.#say(OwnerCalls.getCurrentApiKey(who), (told, current) => {
        if (told?.status !== 200) return this.#next()
        const keyId = of(current, "key.keyId")
        if (this.random.chance(0.3)) return this.#revoke(who, keyId)
        const scopes = { scopes: ["read", "trade"] }
        this.#say(OwnerCalls.mintTicket(who, scopes), (minted, ticket) => {
          const pauseMs = this.random.next() * 10 * this.set.meanPauseMs
          this.desk.time.after(pauseMs, () => this.#revoke(who, keyId, minted?.status === 200 ? ticket : undefined))
        })
      })
    })
  }

  #revokeNone(): void {
    this.#say(this.#remembered(this.#revocation(this.random.pick(["key_00000000000000000000", "none", "key_", "acc_1"]))))
  }

  /** Repeats a revocation under a new key, in the same words, or in others. */
  #again(): void {
    const known = this.#revoked.length === 0 ? undefined : this.random.pick(this.#revoked)
    if (known !== undefined && this.random.chance(0.4)) return this.#revoke(known.who, known.keyId)
    if (this.#past.length === 0) return this.#revokeNone()
    const draft = this.random.pick(this.#past)
    this.#say(this.random.pick([(each: Draft) => each, Twist.respelled, Twist.twisted])(draft, this.random))
  }

  // ---- money on the ledger

  #stopping(method: "PUT" | "DELETE"): Draft {
    const [endpoint, kind] = method === "PUT" ? ["stopWithdrawals", "StopWithdrawals"] : ["allowWithdrawals", "AllowWithdrawals"]
    return this.#draft(endpoint!, kind!, method, "/v1/operator/withdrawals/stop")
  }

  /** Stops withdrawals for a while; now and then they are resumed before the stop is answered. */
  #stop(): void {
    const stays = this.random.chance(staysStoppedShare)
    const isRaced = this.random.chance(0.2)
    const afterMs = this.random.next() * maxStopMs
    const allow = (): void => {
      if (this.desk.isOpen()) this.pace.issue(this.#stopping("DELETE"), () => {})
    }
    this.#say(this.#remembered(this.#stopping("PUT")), () => {
      if (!stays && !isRaced) this.desk.time.after(afterMs, allow)
      this.#next()
    })
    if (isRaced) allow()
  }

  /** Gives ledger money to a party, mostly: each time another amount, so that it can be recognized. */
  #fund(): void {
    const { accounts, funds } = this.desk.model
    const parties = [...funds.parties.keys()]
    const account = parties.length === 0 || this.random.chance(0.15) ? this.random.pick(accounts) : accounts[this.random.pick(parties)]!
    const accountId = this.random.chance(0.1) ? this.random.pick(["acc_zzzzzz", "acc_insurance", "nobody"]) : idOf(account.born)
    const own = Calls.decimal((this.means === ofLedger ? 2_000_001 : 1_000_001) + this.#gifts++, 6)
    const amount = this.random.chance(0.2) ? this.random.pick(["0", "0.0000001", "-1", mostGiven, moreThanMost]) : own
    this.#say(this.#ask("fundLedgerParty", "POST", "/v1/operator/demo/ledger-funds", { accountId, amount }))
  }

  #solvency(): void {
    const { sequence } = this.desk.model
    const search = this.random.chance(0.8) ? "" : `?sequence=${this.random.pick([String(sequence), "0", "x"])}`
    const draft = { ...this.#ask("getSolvency", "GET", `/v1/solvency${search}`), token: "", credential: "none" as const }
    // The first request only starts its computation.
    this.#say(draft, () => {
      this.desk.time.after(this.random.next() * 10 * this.set.meanPauseMs,
        () =>
          this.#say({ ...draft, target: "/v1/solvency" }, (answer) => {
            const told = answer?.status === 200 ? (answer.json as { readonly journalSequence: number }).journalSequence : undefined
            if (told === undefined || this.desk.demo.length === 0) return this.#next()
            this.#say(this.#proof(told))
          }))
    })
  }

  /** An account's proof that it is included in the published report, or in the latest one. */
  #proof(sequence: number): Draft {
    const who = OwnerCalls.demoKey(this.client, this.random.pick(this.desk.demo))
    const search = this.random.chance(0.8) ? `?sequence=${sequence}` : ""
    return { ...this.#ask("getSolvencyProof", "GET", `/v1/accounts/${who.accountId}/solvency-proof${search}`), ...who }
  }

  // ---- markets

  /** Parameters to preview: of a market as it is or changed, of a new one, of a delisted one. */
  #thought(): { readonly marketId: string; readonly parameters: Parameters } {
    const { random } = this
    const { markets } = this.desk.model
    const listed = markets.filter((market) => !isDelisted(market))
    const { parameters } = random.pick(listed.length === 0 || random.chance(0.1) ? markets : listed)
    if (this.#rules.chance(atRulesShare)) {
      const marketId = this.#rules.chance(0.3) ? unknownMarket : parameters.marketId
      return { marketId, parameters: Changes.atRules(parameters, this.#rules) }
    }
    const other = random.pick([
      () => parameters,
      () => Changes.changed(parameters, random),
      () => Changes.changed(parameters, random),
      () => Changes.ofRisk(parameters, random),
      () => Changes.tighter(parameters, random),
      () => ({ ...parameters, marketType: random.pick(types) }),
      () => this.#stranding(parameters)
    ])()
    return { marketId: random.chance(0.1) ? unknownMarket : parameters.marketId, parameters: other }
  }

  /** Bounds of an order's size with which some position could not be closed, or just could. */
  #stranding(parameters: Parameters): Parameters {
    const { index } = this.desk.model.markets.find((market) => market.parameters.marketId === parameters.marketId)!
    const held = this.desk.model.accounts.map(({ positions }) => Math.abs(positions.get(index)?.quantity ?? 0)).filter((size) => size > 0)
    const size = held.length === 0 ? parameters.minQuantityAtoms : this.random.pick(held)
    return this.random.chance(0.5)
      ? { ...parameters, minQuantityAtoms: Math.min(size + this.random.pick([0, 1]), parameters.maxQuantityAtoms) }
      : { ...parameters, maxQuantityAtoms: Math.max(size - this.random.pick([0, 1]), parameters.minQuantityAtoms) }
  }

  /** Parameters as a body; now and then with a time near the earliest that may be announced. */
  #bodyOf(parameters: Parameters): object {
    const { atEpochMs, noticeMs } = this.desk.model
    const body = Calls.marketBody(parameters)
    const effectiveAtEpochMs = atEpochMs + noticeMs + this.random.pick([-1_000, -1, 0, 1, 100, 5_000])
    return this.random.chance(0.35) ? { ...body, effectiveAtEpochMs: Math.max(1, effectiveAtEpochMs) } : body
  }

  #previewOf(marketId: string, body: object): Draft {
    return this.#ask("previewMarket", "POST", `/v1/operator/markets/${marketId}/preview`, body)
  }

  #preview(): void {
    const { marketId, parameters } = this.#thought()
    this.#say(this.#previewOf(marketId, this.#bodyOf(parameters)))
  }

  /**
   * Previews parameters and puts them as soon as the preview is answered, if it is; those of a market that does not exist are only
   * previewed.
   */
  #previewAndPut(): void {
    const { marketId, parameters } = this.#thought()
    const body = this.#bodyOf(parameters)
    this.#say(this.#previewOf(marketId, body), () => {
      const isNew = marketId === unknownMarket && !("effectiveAtEpochMs" in body)
      if (isNew) return this.#next()
      this.#say(this.#draft("putMarket", "PutMarket", "PUT", `/v1/operator/markets/${marketId}`, body))
    })
  }

  #lookAtDelisting(): void {
    const { markets } = this.desk.model
    const leaving = markets.filter(({ delisting }) => delisting !== undefined)
    const { marketId } = this.random.pick(leaving.length > 0 && this.random.chance(0.8) ? leaving : markets).parameters
    const named = this.random.chance(0.05) ? unknownMarket : marketId
    this.#say(this.#ask("getDelisting", "GET", `/v1/operator/markets/${named}/delisting`))
  }

  // ---- what is none

  #malformed(): void {
    const { marketId, parameters } = this.#thought()
    const ways: ReadonlyArray<() => Draft> = [
      () => this.#previewOf(marketId, { ...Calls.marketBody(parameters), colour: "blue" }),
      () => Twist.broken(this.#previewOf(marketId, Calls.marketBody(parameters)), this.random) ?? this.#previewOf("none", {}),
      () => this.#ask("fundLedgerParty", "POST", "/v1/operator/demo/ledger-funds", { amount: "1" }),
      () => ({ ...this.#ask("reconcile", "POST", "/v1/operator/reconciliation"), body: "[]" }),
      () => this.#revocation("no%20spaces%20allowed")
    ]
    const draft = this.random.pick(ways)()
    this.#say(Requests.read(draft)._tag === "asked" ? draft : { ...draft, scope: undefined, persistent: false })
  }

  /** A request with a trader's key, or with none. */
  #noOperator(): void {
    const { marketId, parameters } = this.#thought()
    const command = this.random.pick([
      () => this.#revocation("key_00000000000000000000"),
      () => this.#stopping("PUT"),
      () => this.#ask("reconcile", "POST", "/v1/operator/reconciliation"),
      () => this.#previewOf(marketId, Calls.marketBody(parameters)),
      () => this.#ask("listOperatorMarkets", "GET", "/v1/operator/markets")
    ])()
    const token = this.random.chance(0.5) ? "" : this.random.pick(this.desk.demo).apiKey
    this.#say({ ...command, token, credential: token === "" ? "none" : "wrong", scope: undefined, persistent: false })
  }

  readonly #acts: Readonly<Record<Act, () => void>> = {
    "revoke a key": () => this.#revokeKey(),
    "revoke what is none": () => this.#revokeNone(),
    "revoke again": () => this.#again(),
    "open an account to spare": () => this.#spare(),
    "stop withdrawals": () => this.#stop(),
    "allow withdrawals": () => this.#say(this.#remembered(this.#stopping("DELETE"))),
    reconcile: () => this.#say(this.#ask("reconcile", "POST", "/v1/operator/reconciliation")),
    solvency: () => this.#solvency(),
    preview: () => this.#preview(),
    "preview and put": () => this.#previewAndPut(),
    "list markets": () => this.#say(this.#ask("listOperatorMarkets", "GET", "/v1/operator/markets")),
    "look at a delisting": () => this.#lookAtDelisting(),
    "fund a party": () => this.#fund(),
    malformed: () => this.#malformed(),
    "no operator": () => this.#noOperator()
  }
}

/** Starts the operators who look after keys and the markets, and after the ledger where there is one. */
export const start = (desk: Desk, random: SimRandom, set: Set, holders: Holders): void => {
  new Overseer("overseer", desk, random, set, holders, weights).start()
  const ofTreasurer = { ...set, calls: set.ledgerCalls, meanPauseMs: set.ledgerPauseMs }
  new Overseer("treasurer", desk, random.split("treasurer"), ofTreasurer, holders, ofLedger).start()
}
