/**
 * An operator's commands about accounts while they trade, and the accounts' own requests: credits, also of owners who wait for their
 * first, flags set and cleared while orders are open, keys for bots by the tokens of their workloads, and registrations of affiliates. All
 * of it also in invalid forms: repeated in the same words and in others, for accounts that do not exist, with invalid tokens, by clients
 * who are no operator. The operator also opens accounts, some with more than the maximum. It draws from generators of its own, and makes a
 * given number of calls.
 */
import { accountId, orderId } from "../../src/domain/Ids.js"
import type { Standings as Options } from "../faults/Options.js"
import { isUnapproved } from "../model/NaiveFunds.js"
import type { Answer } from "../properties/Observation.js"
import * as Requests from "../reading/Requests.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Draft } from "./Calls.js"
import * as OwnerCalls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"
import { Pace } from "./Pace.js"
import * as SoftwareWorkload from "./SoftwareWorkload.js"
import * as Twist from "./Twist.js"
import { of } from "./Wallet.js"

const weights = {
  credit: 12,
  "credit badly": 3,
  flag: 6,
  disable: 8,
  "bot key": 10,
  "bot key badly": 8,
  "another token": 2,
  again: 8,
  malformed: 3,
  "no operator": 3,
  "register affiliate": 8,
  "look at affiliate": 5,
  "affiliate elsewhere": 3
} as const
type Act = keyof typeof weights

/** How often an answer is insisted on, so that the request is repeated after a loss. */
const insistsShare = 0.5
/** How often an owner who waits for a first credit gets one before anything else is done. */
const firstCreditShare = 0.5
/** How often a bot gets its first key before anything else is done, where no bot has any. */
const firstBotShare = 0.3
/** Longest time for which an account is disabled, ms, and how many stay disabled. */
const maxDisabledMs = 3_000
/** How often that account is one that waits for something, if there is one. */
const waitingShare = 0.4
const staysDisabledShare = 0.1
/** How often the operator also opens accounts. */
const besideShare = 0.05
/** Opening credits: one atom more than the maximum, far more, and a valid amount. */
const openings = ["4503599627.370497", "9007199254.740991", "5"] as const
/** How many past commands are kept to be repeated. */
const memorySize = 12

/** How often a bot's token is valid for a moment only, and for how long: after a lost answer it has expired. */
const briefShare = 0.4
const briefSeconds = 3

/** A credit that exceeds the maximum balance as soon as the account has anything. */
const mostCredit = "4503599627.370496"
const daySeconds = 86_400

interface Set extends Options {
  readonly token: string
  /** Initial USDC of traders. */
  readonly collateral: number
}

class Clerk {
  readonly client = "clerk"
  /** Calls whose answers contained keys of bots. */
  readonly bots: Array<number> = []
  readonly #past: Array<Draft> = []
  /** Additional acts are drawn separately. */
  readonly #beside: SimRandom
  /** Repeated requests for bots' keys with expired tokens are drawn separately, and are not counted among the calls. */
  readonly #late: SimRandom
  /** The account whose flags were set last. */
  #flagged: string | undefined
  #keys = 0
  #tokens = 0
  readonly pace: Pace

  constructor(
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly set: Set,
    readonly owners: ReadonlyArray<OwnerCalls.KeyHolder>
  ) {
    this.pace = new Pace(desk, random, set, insistsShare, () => this.#act())
    this.#beside = random.split("beside")
    this.#late = random.split("late")
  }

  start(): void {
    this.pace.next()
  }

  readonly #next = (): void => this.pace.next()

  #say(draft: Draft, then?: (answer: Answer | undefined, call: number) => void): void {
    this.pace.say(draft, then)
  }

  #act(): void {
    if (this.desk.model.accounts.some(({ waitsForCredit }) => waitsForCredit) && this.random.chance(firstCreditShare)) {
      return this.#credit(this.#owner)
    }
    if (this.set.workloads && this.bots.length === 0 && this.random.chance(firstBotShare)) return this.#botKey()
    if (this.#beside.chance(besideShare)) return this.#openAccounts()
    this.#acts[this.random.weighted(weights)]()
  }

  // ---- accounts

  /** The account of the owner who signed in last, or of any; a symbol. */
  get #owner(): string | undefined {
    const signedIn = this.owners.filter(({ sessions }) => sessions.length > 0)
    return signedIn.length === 0 ? undefined : of(this.random.pick(signedIn).sessions[0]!, "accountId")
  }

  get #account(): string {
    const owner = this.random.chance(0.4) ? this.#owner : undefined
    return owner ?? this.random.pick(this.desk.demo).accountId
  }

  /** The holder of a trader's credential: a demo account, an agent, a session, or one whose credential has ended. */
  get #trader(): OwnerCalls.Bearer {
    const issued = this.owners.flatMap(({ agent, ended, keys, sessions }) => [
      ...keys.slice(-1).map((call) => OwnerCalls.agent(agent, call)),
      ...sessions.slice(-1).map((call) => OwnerCalls.holder(agent, call)),
      ...ended.slice(-1)
    ])
    return issued.length > 0 && this.random.chance(0.5)
      ? this.random.pick(issued)
      : OwnerCalls.demoKey(this.client, this.random.pick(this.desk.demo.slice(0, 3)))
  }

  // ---- the operator's commands

  #draft(endpoint: string, kind: string, method: "PUT" | "POST", target: string, body: object): Draft {
    const key = `${this.client}-${this.#keys++}`
    return { ...Calls.operate(this.set.token, endpoint, endpoint, kind, key, method, target, body), client: this.client }
  }

  #creditOf(accountId: string, amount: string): Draft {
    return this.#draft("creditAccount", "CreditAccount", "POST", "/v1/operator/demo/credits", { accountId, amount })
  }

  #flagsOf(accountId: string, flags: object): Draft {
    return this.#draft("setAccountFlags", "SetAccountFlags", "PUT", `/v1/operator/accounts/${accountId}/flags`, flags)
  }

  #keyOf(token: string): Draft {
    return this.#draft("issueBotKey", "IssueBotKey", "POST", "/v1/operator/bot-keys", { token })
  }

  #remembered(draft: Draft): Draft {
    this.#past.push(draft)
    if (this.#past.length > memorySize) this.#past.shift()
    return draft
  }

  /** A trader's initial collateral for an owner; a small amount for an account that has money. */
  #credit(owner: string | undefined): void {
    const { collateral } = this.set
    const amount = owner === undefined
      ? this.random.pick(["0.000001", "12.5", "1", String(Math.max(1, Math.floor(collateral / 10)))])
      : this.random.pick([String(collateral), `${collateral}.0`, String(Math.max(1, Math.floor(collateral / 2)))])
    this.#say(this.#remembered(this.#creditOf(owner ?? this.random.pick(this.desk.demo).accountId, amount)))
  }

  #creditBadly(): void {
    const ways = [
      this.#creditOf(this.#account, this.random.pick(["0", "0.0000001", "5.0000000", "9007199254740993"])),
      this.#creditOf(this.#account, mostCredit),
      this.#creditOf(this.random.pick(["acc_zzzzzz", "acc_insurance_fund", "nobody"]), "5")
    ]
    this.#say(this.random.pick(ways))
  }

  #flag(): void {
    const flags = { bot: this.random.chance(0.5), load_harness: this.random.chance(0.5) }
    const { bot, load_harness } = flags
    const said = this.random.pick<object>([flags, { bot }, { load_harness }, {}, { bot, disabled: false }])
    // Mostly for an account that has flags: those not named must stay as they are.
    const known = this.#flagged !== undefined && this.random.chance(0.6) ? this.#flagged : this.#account
    const accountId = this.random.chance(0.1) ? "acc_zzzzzz" : known
    this.#flagged = known
    this.#say(this.#remembered(this.#flagsOf(accountId, said)))
  }

  /** A demo account, preferably one with open orders. */
  get #busy(): Calls.Identity {
    const busy = this.desk.demo.filter(({ account }) => this.desk.model.accounts[account]!.open.length > 0)
    return this.random.pick(busy.length === 0 ? this.desk.demo : busy)
  }

  /** An account that waits for its first credit, or with a transfer that is not approved yet. */
  get #waiting(): string | undefined {
    const { accounts, funds } = this.desk.model
    const poor = accounts.filter(({ waitsForCredit }) => waitsForCredit)
    const asking = funds.transfers.filter(isUnapproved).map(({ account }) => accounts[account]!)
    const all = [...poor, ...asking]
    return all.length === 0 ? undefined : accountId(this.#beside.pick(all).born)
  }

  /** What a disabled account may not do: amend one of its orders, even without a change. Or it cancels all of them. */
  #tryDisabled(who: Calls.Identity): void {
    const { accounts, markets } = this.desk.model
    const open = accounts[who.account]!.open.filter(({ reduceOnly }) => !reduceOnly)
    const key = `${this.client}-${this.#keys++}`
    if (open.length === 0 || this.random.chance(0.2)) return this.#say(Calls.cancelAll(who, "cancel all", key, undefined))
    const { market, number, quantity } = this.random.pick(open)
    this.#say(Calls.amend(who, "amend", key, markets[market]!.parameters, orderId(number), { quantityAtoms: quantity }))
  }

  /**
   * Disables an account for a while, with whatever it has open; now and then for good, and now and then it is enabled before the answer
   * arrives.
   */
  #disable(): void {
    const waiting = this.#beside.chance(waitingShare) ? this.#waiting : undefined
    const busy = waiting === undefined && this.random.chance(0.7) ? this.#busy : undefined
    const named = waiting ?? busy?.accountId ?? this.#flagged ?? this.#account
    const enable = (): void => this.#say(this.#flagsOf(named, { disabled: false }), () => {})
    const stays = this.random.chance(staysDisabledShare)
    const isRaced = this.random.chance(0.2)
    this.#say(this.#remembered(this.#flagsOf(named, { disabled: true })), () => {
      if (!stays && !isRaced) this.desk.time.after(this.random.next() * maxDisabledMs, enable)
      // An account that is given its first credit meanwhile stays disabled.
      if (waiting !== undefined && this.#beside.chance(0.6)) this.#credit(waiting)
      else if (busy === undefined || this.random.chance(0.3)) this.#next()
      else this.#tryDisabled({ ...busy, client: this.client })
    })
    if (isRaced) enable()
  }

  // ---- bots

  /** A token of an account's workload; the account mostly exists. */
  #token(fault?: SoftwareWorkload.Fault, isBrief = false): string {
    const { model } = this.desk
    const number = this.#tokens++
    const account = this.random.chance(0.05) ? model.accounts.length + 3 : this.random.below(model.accounts.length)
    const now = Math.floor(model.atEpochMs / 1_000)
    const key = this.random.pick(["one", "two"] as const)
    // Now and then it expires in this very second.
    const until = this.random.chance(0.1) ? now + this.random.between(0, 2) : now + 10 * daySeconds
    return SoftwareWorkload.tokenOf({
      account,
      key,
      number,
      from: now - 10 * daySeconds,
      until: isBrief ? now + briefSeconds : until,
      fault
    })
  }

  #issue(draft: Draft): void {
    this.#say(draft, (answer, call) => {
      if (answer?.status === 200 && draft.endpoint === "issueBotKey") this.bots.push(call)
      this.#next()
    })
  }

  #botKey(): void {
    const isBrief = this.#late.chance(briefShare)
    const draft = this.#remembered(this.#keyOf(this.#token(undefined, isBrief)))
    this.#issue(draft)
    if (!isBrief) return
    this.desk.time.after(2 * briefSeconds * 1_000, () => {
      if (this.desk.isOpen()) this.desk.issue({ ...draft, persistent: true }, () => {})
    })
  }

  /** An invalid request for a bot's key. Where the token cannot be verified now, the answer is not insisted on. */
  #botKeyBadly(): void {
    const fault = this.random.pick(SoftwareWorkload.faults)
    const draft = this.#keyOf(this.#token(fault))
    this.#issue(fault === "keys out of reach" ? { ...draft, persistent: false } : draft)
  }

  /** Repeats a request under its key with another token. */
  #anotherToken(): void {
    const shown = this.#past.findLast(({ endpoint }) => endpoint === "issueBotKey")
    if (shown === undefined) return this.#issue(this.#remembered(this.#keyOf(this.#token())))
    this.#issue({ ...shown, body: JSON.stringify({ token: this.#token() }) })
  }

  // ---- additional accounts

  #openAccounts(): void {
    const body = { accounts: this.#beside.pick([1, 2]), collateral: this.#beside.pick(openings) }
    const draft = this.#draft("openDemoAccounts", "OpenDemoAccounts", "POST", "/v1/operator/demo/accounts", body)
    this.#say(draft, () => this.#beside.chance(0.3) ? this.#say(draft) : this.#next())
  }

  // ---- repeated and malformed commands

  #again(): void {
    if (this.#past.length === 0) return this.#credit(this.#owner)
    const draft = this.random.pick(this.#past)
    const way = this.random.pick([(each: Draft) => each, Twist.respelled, Twist.twisted])
    this.#issue(way(draft, this.random))
  }

  #malformed(): void {
    const fresh = this.random.pick([
      () => this.#creditOf(this.#account, "5"),
      () => this.#flagsOf(this.#account, { bot: true }),
      () => this.#keyOf(this.#token())
    ])()
    const draft = Twist.broken(fresh, this.random) ?? { ...fresh, body: "[]" }
    this.#say(Requests.read(draft)._tag === "asked" ? draft : { ...draft, scope: undefined, persistent: false })
  }

  /** A request with a trader's key, or with none. */
  #noOperator(): void {
    const command = this.random.pick([
      () => this.#creditOf(this.#account, "5"),
      () => this.#flagsOf(this.#account, { disabled: true }),
      () => this.#keyOf(this.#token())
    ])()
    const token = this.random.chance(0.5) ? "" : this.random.pick(this.desk.demo).apiKey
    this.#say({ ...command, token, credential: token === "" ? "none" : "wrong", scope: undefined, persistent: false })
  }

  // ---- affiliates

  #registerAffiliate(): void {
    const body = this.random.chance(0.6) ? undefined : this.random.pick<object>([{}, { code: "MINE" }, []])
    const draft = OwnerCalls.registerAffiliate(this.#trader, body)
    this.#say(this.random.chance(0.05) ? { ...draft, body: "x" } : draft, () => {
      // Repeated at once, also where the first is lost.
      if (this.random.chance(0.3)) this.#say(draft)
      else this.#next()
    })
  }

  #affiliateElsewhere(): void {
    const who = this.#trader
    const named = { ...who, accountId: this.random.pick([this.random.pick(this.desk.demo).accountId, "acc_zzzzzz"]) }
    const draft = this.random.chance(0.6) ? OwnerCalls.registerAffiliate(named, undefined) : OwnerCalls.getAffiliate(named)
    this.#say({ ...draft, accountId: who.credential === "trader" ? who.accountId : "" })
  }

  readonly #acts: Readonly<Record<Act, () => void>> = {
    credit: () => this.#credit(this.random.chance(0.6) ? this.#owner : undefined),
    "credit badly": () => this.#creditBadly(),
    flag: () => this.#flag(),
    disable: () => this.#disable(),
    "bot key": () => this.#botKey(),
    "bot key badly": () => this.#botKeyBadly(),
    "another token": () => this.#anotherToken(),
    again: () => this.#again(),
    malformed: () => this.#malformed(),
    "no operator": () => this.#noOperator(),
    "register affiliate": () => this.#registerAffiliate(),
    "look at affiliate": () =>
      this.#say(OwnerCalls.getAffiliate(this.random.chance(0.1) ? OwnerCalls.stranger(this.client) : this.#trader)),
    "affiliate elsewhere": () => this.#affiliateElsewhere()
  }
}

/** Starts a run's commands about accounts. Returns the bots that hold keys. */
export const start = (
  desk: Desk,
  random: SimRandom,
  set: Set,
  owners: ReadonlyArray<OwnerCalls.KeyHolder>
): OwnerCalls.KeyHolder => {
  const clerk = new Clerk(desk, random, set, owners)
  clerk.start()
  return { agent: "bot", keys: clerk.bots, sessions: [], ended: [] }
}
