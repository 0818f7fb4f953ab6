/**
 * Owners with a ledger: they deposit and withdraw, approve each step with a passkey, change their party, and read. They also make
 * mistakes: repeat a request, answer twice, too late or with nonsense, approve with a passkey that is too new, give up transfers in
 * progress. Now and then they trade with their deposits, and withdraw all that their positions leave. Each draws from a generator of its
 * own, and all of them together make a given number of calls.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { Funds as Options } from "../faults/Options.js"
import * as Order from "../../src/domain/Order.js"
import * as Risk from "../model/NaiveRisk.js"
import type { NaiveAccount } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { SimTime } from "../world/SimTime.js"
import { decimal, type Draft } from "./Calls.js"
import * as Calls from "./FundsCalls.js"
import * as Owners from "./OwnerCalls.js"
import { largestBacked } from "./Placing.js"
import { credentialIdOf, type Fault, type Proof } from "./SoftwarePasskey.js"
import * as Twist from "./Twist.js"
import { of } from "./Wallet.js"

export interface Desk {
  readonly time: SimTime
  readonly model: NaiveVenue
  readonly issue: (draft: Draft, settled: (answer: Answer | undefined) => void) => Call
  readonly isOpen: () => boolean
  /** A string in the answer to a call. */
  readonly told: (call: number, path: string) => string | undefined
}

/** How often an owner with money trades instead of moving it, and how often one with a position withdraws all that it leaves. */
const tradeShare = 0.25
const restShare = 0.7
/** How far beyond the mark an order's limit lies, bps. */
const reachBps = 30

/** How often an owner fences a request's key: before, during or after the request. */
const fencedShare = 0.3

/** The least deposit or withdrawal, money atoms. */
const leastAtoms = 1_000_000

/** Numbers of passkeys begin here, so that none is another owner's. */
const firstPasskey = 500_000

/** Additional wait of an owner who got no answer, or waits for the ledger, ms. */
const waitMs = 400

/** How often an owner repeats a withdrawal under its key with another party. */
const elsewhereShare = 0.4
/** How often an owner would have the treasury pay itself, at its published party. */
const toTreasuryShare = 0.12
/** A well-formed party that does not exist. */
const nobody = `nobody::1220${"0".repeat(64)}`

/** How often an owner sends an approval again before it is answered: at once, or within `hurryMs`. */
const approvedTwiceShare = 0.12
const hurryMs = 60

/** Possible faults of an approval. */
const faults: ReadonlyArray<Fault> = ["another challenge", "another ceremony", "another origin", "within another page", "another site",
  "another signature"]

interface Passkey {
  readonly number: number
  readonly owner: number
  signCount: number
  readonly counts: boolean
}

/** A transfer in progress, by the request that was answered. */
interface Open extends Calls.Asked {
  readonly draft: Draft
  readonly amountAtoms: number
}

/** An owner's lists that can be read page by page to their first entry. */
const lists = ["deposits", "withdrawals", "security-events"] as const

interface Unheard {
  readonly draft: Draft
  readonly amountAtoms: number
}

type Then = (answer: Answer | undefined, call: number) => void

const weights = {
  deposit: 10,
  "go on": 40,
  withdraw: 16,
  "give up": 1.5,
  "change party": 2,
  "add a passkey": 3,
  "pin passkeys": 2,
  "ask again": 3,
  "answer again": 3,
  look: 6,
  "sign in": 2,
  // Only for owners with that preferred action.
  "think again": 0,
  "remove a passkey": 0,
  "answer by a copy": 0,
  "pay out": 0
} as const
type Act = keyof typeof weights

/**
 * The deposit of an owner who withdraws in small parts, money atoms; and how often such an owner continues a withdrawal rather than begin
 * another.
 */
const hoard = 40_000_000
const goingOnShare = 0.65
/** How often owners do their preferred action. */
const bentShare = 0.4
/** Share of owners who begin with two deposits, of which the second waits for the party that the first one creates. */
const twoAtFirstShare = 0.5
/** How often such an owner requests the second: where the first is already in progress, it is refused. */
const secondsTried = 3
/** How often an owner whose transfer has ended also reads all changes of the account. */
const toldShare = 0.5

/** Transfers that do not exist: a well-formed id, the id of the first record, and a malformed id. */
const noTransfers = ["zzzzzzz", "1s", "nothing"] as const
/** More than an account may ever have, and just so much that it has to be empty before. */
const tooMuch = ["4503599627370497", "4503599627370496", "9007199254740991"] as const

const isOver = (status: unknown): boolean => status === "ledger_confirmed" || status === "rejected" || status === "expired"

/** Whether the owner has to wait for the ledger. */
const isUnderWay = (status: unknown): boolean => status === "submitted" || status === "submitted_unknown"

const member = (answer: Answer | undefined, name: string): unknown =>
  (answer?.json as { readonly [name: string]: unknown } | undefined)?.[name]

class Depositor {
  readonly passkeys: Array<Passkey> = []
  readonly client: string
  /** Other owners of this run. */
  others: ReadonlyArray<Depositor> = []
  /** The call whose answer contained the session. */
  session: number | undefined
  /** The call whose answer contained the party. */
  party: number | undefined
  readonly #open: Array<Open> = []
  /** All requested transfers. */
  readonly #ever: Array<Open> = []
  /** Requests that were answered, and completions that were sent. */
  readonly #asked: Array<Draft> = []
  readonly #answered: Array<Draft> = []
  readonly #elsewhere: SimRandom
  /** Fences are drawn separately, and are not counted among the calls. */
  readonly #fencing: SimRandom
  #fences = 0
  /** Deposits requested without an answer, oldest first. */
  readonly #unheard: Array<Unheard> = []
  readonly #toTreasury: SimRandom
  readonly #paying: SimRandom
  /** Repeated approvals are drawn separately, and are not counted among the calls. */
  readonly #hurrying: SimRandom
  #made = 0
  #keys = 0
  /** Confirmed deposits less requested withdrawals, as far as known, money atoms: an owner seldom requests more. */
  #moneyAtoms = 0
  /** Trading is drawn separately. */
  readonly #trading: SimRandom
  #orders = 0
  /** How often it will still try to have a second deposit beside its first. */
  #seconds: number
  /** Additional reads are drawn separately, and are not counted among the calls. */
  readonly #beside: SimRandom

  constructor(
    readonly index: number,
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly meanPauseMs: number,
    readonly bent: Act | "nothing",
    readonly spend: () => boolean
  ) {
    this.client = `depositor-${index}`
    this.#trading = random.split("trading")
    this.#beside = random.split("beside")
    this.#seconds = this.#beside.chance(twoAtFirstShare) ? secondsTried : 0
    this.#elsewhere = random.split("elsewhere")
    this.#fencing = random.split("fencing")
    this.#toTreasury = random.split("to the treasury")
    this.#paying = random.split("paying out")
    this.#hurrying = random.split("hurrying")
  }

  start(): void {
    this.#later(() => this.#act())
  }

  #later(then: () => void): void {
    this.desk.time.after(this.random.until(this.meanPauseMs), then)
  }

  #say(draft: Draft, then: Then): void {
    if (!this.desk.isOpen() || !this.spend()) return
    const persistent = draft.idempotencyKey !== undefined && this.random.chance(0.5)
    const { id } = this.desk.issue({ ...draft, persistent }, (answer) => {
      if (answer?.status === 401) this.session = undefined
      then(answer, id)
    })
  }

  readonly #next = (): void => this.#later(() => this.#act())

  /** Continues after an answer: an owner who got none, or has to wait for the ledger, does not ask again at once. */
  readonly #after = (answer: Answer | undefined): void => {
    if (answer !== undefined && answer.status !== 503 && !isUnderWay(member(answer, "status"))) this.#next()
    else this.desk.time.after(waitMs * (0.5 + this.random.next()), this.#next)
  }

  get #who(): Owners.Bearer {
    return Owners.holder(this.client, this.session!)
  }

  #key(): string {
    return `${this.client}-${this.#keys++}`
  }

  #act(): void {
    if (this.passkeys.length === 0) return this.#openAccount()
    if (this.session === undefined) return this.#acts["sign in"]()
    if (this.#moneyAtoms > 0 && this.#trading.chance(tradeShare)) return this.#trade()
    if (this.bent !== "nothing" && this.random.chance(bentShare)) return this.#acts[this.bent]()
    this.#acts[this.random.chance(0.55) ? this.#sensible() : this.random.weighted(weights)]()
  }

  /** The action of an owner who only deposits, and withdraws some of it again. */
  #sensible(): Act {
    if (this.#seconds > 0 && this.#ever.length === 1) {
      this.#seconds--
      return "deposit"
    }
    if (this.#open.length > 0) return "go on"
    if (this.#moneyAtoms < leastAtoms) return "deposit"
    if (this.party === undefined) return "look"
    return this.random.chance(0.7) ? "withdraw" : "deposit"
  }

  // ---- authentication

  #newPasskey(owner: number): Passkey {
    const counts = this.random.chance(0.6)
    return { number: firstPasskey + this.index * 1_000 + this.#made++, owner, signCount: counts ? 1 : 0, counts }
  }

  #sign(passkey: Passkey, asked: number): Proof {
    if (passkey.counts) passkey.signCount++
    return { kind: "get", passkey: passkey.number, asked, signCount: passkey.signCount }
  }

  #create(passkey: Passkey): Proof {
    return { kind: "create", passkey: passkey.number, asked: passkey.owner, signCount: passkey.signCount }
  }

  #kept(passkey: Passkey): Then {
    return (answer, call) => {
      if (answer?.status === 200) {
        this.passkeys.push(passkey)
        this.session = call
      }
      this.#next()
    }
  }

  #openAccount(): void {
    const who = Owners.stranger(this.client)
    this.#say(Owners.beginRegistration(who, undefined, undefined), (answer, asked) => {
      if (answer?.status !== 200) return this.#next()
      const passkey = this.#newPasskey(asked)
      this.#say(Owners.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
    })
  }

  #signIn(): void {
    const who = Owners.stranger(this.client)
    this.#say(Owners.beginAuthentication(who, undefined, undefined), (answer, asked) => {
      if (answer?.status !== 200) return this.#next()
      const passkey = this.random.pick(this.passkeys)
      const proof = { ...this.#sign(passkey, asked), owner: passkey.owner }
      this.#say(Owners.finishAuthentication(who, proof), (signedIn, call) => {
        if (signedIn?.status === 200) this.session = call
        this.#next()
      })
    })
  }

  #addPasskey(): void {
    if (this.passkeys.length >= 3) return this.#look()
    const who = this.#who
    this.#say(Owners.beginAuthentication(Owners.stranger(this.client), who.accountId, "add_passkey"), (answer, asked) => {
      if (answer?.status !== 200) return this.#next()
      this.#say(Owners.beginRegistration(who, "new", this.#sign(this.passkeys[0]!, asked)), (begun, call) => {
        if (begun?.status !== 200) return this.#next()
        const passkey = this.#newPasskey(call)
        this.#say(Owners.finishRegistration(who, this.#create(passkey)), this.#kept(passkey))
      })
    })
  }

  // ---- money

  #requested(kind: Open["kind"], draft: Draft, amountAtoms: number): Then {
    return (answer, call) => {
      if (kind === "deposit" && answer === undefined) this.#unheard.push({ draft, amountAtoms })
      if (member(answer, "rejectionGuard") === "deposit_in_progress" && this.session !== undefined) {
        const unheard = this.#unheard.shift()
        if (unheard !== undefined) return this.#askForUnheard(unheard)
      }
      if (answer !== undefined) this.#asked.push(draft)
      if (answer?.status === 200) {
        this.#open.push({ kind, call, draft, amountAtoms })
        this.#ever.push({ kind, call, draft, amountAtoms })
        if (kind === "withdrawal") this.#moneyAtoms -= amountAtoms
      }
      if (kind === "withdrawal" && this.#elsewhere.chance(elsewhereShare)) this.#askToSendElsewhere(draft)
      this.#after(answer)
    }
  }

  /** An owner who learns that a deposit is in progress, and has had no answer for it, requests it again under its key. */
  #askForUnheard({ amountAtoms, draft }: Unheard): void {
    this.#say({ ...draft, accountId: "", token: this.#who.token }, this.#requested("deposit", draft, amountAtoms))
  }

  /**
   * Makes a request; now and then with a fence, like an owner who does not know whether it was made already, and wants no second transfer.
   */
  #ask(kind: Open["kind"], draft: Draft, amountAtoms: number): void {
    const then = this.#requested(kind, draft, amountAtoms)
    const isFenced = this.#fencing.chance(fencedShare)
    if (!isFenced) return this.#say(draft, then)
    const way = this.#fencing.weighted({ before: 3, beside: 2, behind: 2 })
    if (way === "before") return this.#fence(draft, () => this.session === undefined ? this.#next() : this.#say(draft, then))
    if (way === "beside") this.#fence(draft, () => {})
    this.#say(draft, (answer, call) => {
      then(answer, call)
      if (way === "behind") this.#fence(draft, () => {})
    })
  }

  /** Fences a request's key, and looks up its result: both report a request that was decided before. */
  #fence({ idempotencyKey = "" }: Draft, then: () => void): void {
    if (this.session === undefined || !this.desk.isOpen()) return then()
    const who = this.#who
    const fence = Owners.fence(who, `${this.client}-f${this.#fences++}`, idempotencyKey)
    this.desk.issue({ ...fence, persistent: true }, () => {
      if (this.desk.isOpen()) this.desk.issue({ ...Owners.lookUp(who, idempotencyKey), persistent: true }, then)
      else then()
    })
  }

  #deposit(): void {
    const asset = this.random.chance(0.04) ? "BTC" : "USDC"
    const amount = this.random.chance(0.1)
      ? this.random.pick(["999999", "0", ...tooMuch])
      : this.random.pick(["1000000", "2500000", "7000001", "5000000", "3000000"])
    const draft = Calls.createDeposit(this.#who, this.#key(), asset, amount)
    this.#ask("deposit", draft, Number(amount))
  }

  #withdraw(): void {
    if (this.party === undefined || (this.#moneyAtoms < leastAtoms && this.random.chance(0.8))) return this.#look()
    const other = this.others.find(({ party }) => party !== undefined)?.party
    const to = this.random.chance(0.07)
      ? nobody
      : of(other !== undefined && this.random.chance(0.3) ? other : this.party, "partyId")
    const amounts = ["1000000", "1000000", "1000001", "2000000", "4000000"]
    const backed = amounts.filter((each) => Number(each) <= this.#moneyAtoms)
    const drawn = backed.length > 0 && this.random.chance(0.85)
      ? this.random.pick(backed)
      : this.random.pick([...amounts, "999999", "50000000"])
    const rest = this.#trading.chance(restShare) ? this.#rest : undefined
    const amount = rest === undefined ? drawn : String(rest)
    if (this.#toTreasury.chance(toTreasuryShare)) return this.#withdrawToTreasury(amount)
    const draft = Calls.createWithdrawal(this.#who, this.#key(), amount, to)
    this.#ask("withdrawal", draft, Number(amount))
  }

  /** Withdraws in many small parts, several of them in progress at once, and deposits more where no money is left. */
  #payOut(): void {
    const isMore = this.#moneyAtoms >= leastAtoms && this.party !== undefined
    if (this.#open.length > 0 && (!isMore || this.#paying.chance(goingOnShare))) return this.#goOn()
    if (isMore) return this.#withdraw()
    this.#ask("deposit", Calls.createDeposit(this.#who, this.#key(), "USDC", String(hoard)), hoard)
  }

  #withdrawToTreasury(amount: string): void {
    this.#say(Calls.solvency(this.#who), (answer, call) => {
      if (answer?.status !== 200 || this.session === undefined) return this.#after(answer)
      const draft = Calls.createWithdrawal(this.#who, this.#key(), amount, of(call, "treasury.partyId"))
      this.#say(draft, this.#requested("withdrawal", draft, Number(amount)))
    })
  }

  /** The account in the model. */
  get #account(): NaiveAccount | undefined {
    const { model, told } = this.desk
    const accountId = this.session === undefined ? undefined : told(this.session, "accountId")
    return model.accounts.find(({ born }) => idOf(born) === accountId)
  }

  /** Takes orders near the mark, for a random part of all that the account could carry: the rest may be withdrawn. */
  #trade(): void {
    const account = this.#account
    const { model } = this.desk
    const markets = model.markets.filter((market) =>
      market.mark > 0 && market.resting.length > 0 && Risk.takes(market, model.atEpochMs) === "open"
    )
    if (account === undefined || markets.length === 0) return this.#look()
    const random = this.#trading
    const held = markets.filter(({ index }) => account.positions.has(index))
    const market = random.pick(held.length > 0 && random.chance(0.5) ? held : markets)
    const side = random.pick(market.resting).side === Order.buy ? "sell" : "buy"
    const beyond = Math.ceil((market.mark * reachBps) / 10_000)
    const price = side === "buy" ? market.mark + beyond : Math.max(market.parameters.minPriceAtoms, market.mark - beyond)
    const { marketId, minQuantityAtoms, priceScale, quantityScale } = market.parameters
    const quantity = Math.max(minQuantityAtoms, Math.floor(largestBacked(model, account, market, side, price) * random.next()))
    const key = `${this.client}-o${this.#orders++}`
    const draft = Owners.place(this.#who, key, marketId, decimal(price, priceScale), decimal(quantity, quantityScale), side)
    this.#say(draft, () => {
      if (this.session !== undefined && this.#rest !== undefined && random.chance(restShare)) this.#withdraw()
      else this.#next()
    })
  }

  /** All that the account's positions leave for a withdrawal, money atoms; undefined without a position, or where they leave too little. */
  get #rest(): number | undefined {
    const account = this.#account
    if (account === undefined || account.positions.size === 0) return undefined
    const { initialMargin, marginEquity, orderLoss } = this.desk.model.margin(account, undefined)
    const rest = Number(marginEquity - orderLoss - initialMargin)
    return rest < leastAtoms ? undefined : rest
  }

  /** Repeats a withdrawal under its key with another party: a key is valid for one request only. */
  #askToSendElsewhere({ accountId: _accountId, token: _token, ...draft }: Draft): void {
    if (this.session === undefined) return
    const asked = JSON.parse(draft.body) as { readonly destinationPartyId: string }
    const destinationPartyId = asked.destinationPartyId === nobody ? of(this.party!, "partyId") : nobody
    this.#say({ ...draft, body: JSON.stringify({ ...asked, destinationPartyId }), accountId: "", token: this.#who.token }, () => {})
  }

  #changeParty(): void {
    const draft = Calls.changeParty(this.#who, this.#key())
    this.#ask("change", draft, 0)
  }

  #forget(open: Open, answer: Answer | undefined): void {
    const at = this.#open.indexOf(open)
    const status = member(answer, "status")
    if (at < 0 || (!isOver(status) && answer?.status !== 404)) return
    this.#open.splice(at, 1)
    const isBack = open.kind === "deposit" ? status === "ledger_confirmed" : status !== "ledger_confirmed"
    if (isBack) this.#moneyAtoms += open.amountAtoms
  }

  /** An owner who has just learned that a transfer has ended often reads one of the lists at once. */
  #behind({ kind }: Open, answer: Answer | undefined): void {
    if (isOver(member(answer, "status"))) this.#lookBeside()
    if (!isOver(member(answer, "status")) || this.random.chance(0.5)) return this.#after(answer)
    const list = kind === "change" || this.random.chance(0.3) ? "security-events" : kind === "deposit" ? "deposits" : "withdrawals"
    const limit = this.random.pick([3, 100])
    // Or all changes of the account from its first record on.
    if (list === "deposits" && limit === 100 && this.session !== undefined) this.#say(Calls.changes(this.#who), this.#next)
    else this.#page(list, limit)
  }

  #lookBeside(): void {
    if (this.session === undefined || !this.desk.isOpen() || !this.#beside.chance(toldShare)) return
    this.desk.issue(Calls.changes(this.#who), () => {})
  }

  /** Repeats an approval that has just been sent, over a connection of its own. */
  #hurry(approval: Draft): void {
    if (!this.#hurrying.chance(approvedTwiceShare)) return
    const again = (): void => {
      if (this.desk.isOpen()) this.desk.issue(approval, () => {})
    }
    if (this.#hurrying.chance(0.5)) again()
    else this.desk.time.after(this.#hurrying.between(1, hurryMs), again)
  }

  #goOn(isByCopy = false): void {
    if (this.#open.length === 0) return this.#deposit()
    const open = this.random.pick(this.#open)
    this.#say(Calls.initiate(this.#who, open), (answer, call) => {
      this.#forget(open, answer)
      if (answer?.status !== 200 || member(answer, "status") !== "approval_required" || this.session === undefined)
        return this.#behind(open, answer)
      const approve = (): void => {
        if (this.session === undefined) return this.#next()
        const passkey = this.random.chance(0.8) ? this.passkeys[0]! : this.random.pick(this.passkeys)
        const signed: Proof = { ...this.#sign(passkey, call), ...this.random.chance(0.1) ? { fault: this.random.pick(faults) } : {} }
        // A copy's counter continues from where the copy was made.
        const proof = isByCopy ? { ...signed, signCount: this.random.between(0, Math.max(0, passkey.signCount - 1)) } : signed
        const draft = Calls.complete(this.#who, open, proof)
        this.#answered.push(draft)
        this.#say(draft, (completed) => {
          this.#forget(open, completed)
          this.#behind(open, completed)
        })
        this.#hurry(draft)
      }
      if (this.random.chance(0.2)) this.desk.time.after(this.random.between(100, 6_000), approve)
      else approve()
    })
  }

  #giveUp(): void {
    // Now and then one that ended long ago.
    const all = this.random.chance(0.2) ? this.#ever : this.#open
    if (all.length === 0) return this.#look()
    const open = this.random.pick(all)
    this.#say(Calls.cancel(this.#who, open), (answer) => {
      this.#forget(open, answer)
      this.#behind(open, answer)
    })
  }

  /** Makes several calls at the same moment; continues when the last is settled. */
  #sayAll(drafts: ReadonlyArray<Draft>, then: (answers: ReadonlyArray<Answer | undefined>) => void): void {
    const answers: Array<Answer | undefined> = []
    for (const draft of drafts) {
      this.#say(draft, (answer) => {
        answers.push(answer)
        if (answers.length === drafts.length) then(answers)
      })
    }
  }

  /** Gives a transfer up, now and then twice at the same moment, and looks up its result. */
  #cancel(open: Open, beside: ReadonlyArray<Draft> = []): void {
    const cancel = Calls.cancel(this.#who, open)
    this.#sayAll([...beside, cancel, ...this.random.chance(0.25) ? [cancel] : []], (answers) => {
      for (const answer of answers) this.#forget(open, answer)
      if (this.session !== undefined && this.random.chance(0.4))
        this.#say(Calls.look(this.#who, open), (answer) => this.#behind(open, answer))
      else this.#behind(open, answers.at(-1))
    })
  }

  /**
   * Owners who change their mind about a transfer: they give it up before the venue has acted on it, when they are asked to approve it,
   * while the approval is in progress, or afterwards; and then approve it all the same.
   */
  #thinkAgain(): void {
    const open = this.#open.length === 0 ? undefined : this.random.pick(this.#open)
    if (this.random.chance(0.15)) return this.#giveUpWhatIsNone()
    if (open === undefined) return this.#begin()
    if (this.random.chance(0.25)) return this.#cancel(open)
    this.#say(Calls.initiate(this.#who, open), (answer, call) => {
      this.#forget(open, answer)
      if (this.session === undefined) return this.#next()
      if (member(answer, "status") !== "approval_required") return this.#cancel(open)
      const approval = Calls.complete(this.#who, open, this.#sign(this.passkeys[0]!, call))
      const way = this.random.weighted({ before: 3, beside: 2, behind: 2 })
      if (way === "beside") return this.#cancel(open, [approval])
      if (way === "behind") return this.#say(approval, () => this.session === undefined ? this.#next() : this.#cancel(open))
      this.#answered.push(approval)
      this.#cancel(open)
    })
  }

  /** Requests a transfer that is to be given up: a change of party only where nothing else is in progress. */
  #begin(): void {
    if (this.#moneyAtoms < leastAtoms || this.party === undefined) return this.party === undefined ? this.#look() : this.#deposit()
    this.random.pick([() => this.#deposit(), () => this.#withdraw(), () => this.#changeParty()])()
  }

  /** Gives up a transfer that is over, another's, of another kind, or was never requested. */
  #giveUpWhatIsNone(): void {
    const who = this.#who
    const kind = this.random.pick(["deposit", "withdrawal", "change"] as const)
    const others = this.others.flatMap((other) => other.#ever)
    const foreign = others.length === 0 ? [] : [Calls.cancel(who, this.random.pick(others))]
    const own = this.#ever.length === 0 ? [] : [
      Calls.cancel(who, this.random.pick(this.#ever)),
      Calls.cancelNamed(who, this.random.pick(["deposit", "withdrawal"]), this.random.pick(this.#ever))
    ]
    const none = kind === "change" ? Calls.cancel(who, { kind, call: 0 }) : Calls.cancelId(who, kind, this.random.pick(noTransfers))
    this.#say(this.random.pick([none, ...foreign, ...own]), this.#next)
  }

  /** Removes a passkey with its sessions, which are signed in anew. The last approving passkey cannot be removed, nor the last of all. */
  #removePasskey(): void {
    if (this.passkeys.length === 1 && this.random.chance(0.8)) return this.#addPasskey()
    const who = this.#who
    const removed = this.random.pick(this.passkeys)
    const signer = this.random.pick(this.passkeys)
    this.#say(Owners.beginAuthentication(Owners.stranger(this.client), who.accountId, "remove_passkey"), (answer, asked) => {
      if (answer?.status !== 200) return this.#next()
      this.#say(Owners.removePasskey(who, credentialIdOf(removed.number), this.#sign(signer, asked)), (gone) => {
        if (gone?.status === 204 && this.passkeys.length > 1) this.passkeys.splice(this.passkeys.indexOf(removed), 1)
        this.#next()
      })
    })
  }

  #pin(): void {
    this.#say(Calls.beginPins(this.#who), (answer, call) => {
      if (member(answer, "status") !== "approval_required" || this.session === undefined) return this.#next()
      const approval = Calls.finishPins(this.#who, this.#sign(this.passkeys[0]!, call))
      this.#say(approval, this.#next)
      this.#hurry(approval)
    })
  }

  #look(): void {
    const who = this.#who
    const open = this.#open.at(-1)
    if (this.party === undefined) {
      return this.#say(Calls.getParty(who), (answer, call) => {
        if (typeof member(answer, "partyId") === "string") this.party = call
        this.#next()
      })
    }
    const ways = [
      Calls.getParty(who),
      Owners.readOwn(who, "getBalance", "balance"),
      ...open === undefined ? [] : [Calls.look(who, open)],
      ...this.#ever.length === 0 ? [] : [Calls.look(who, this.random.pick(this.#ever))]
    ]
    if (this.random.chance(0.6)) return this.#page(this.random.pick(lists), this.random.pick([1, 2, 3, 100]))
    this.#say(this.random.pick(ways), this.#next)
  }

  /** Reads a list page by page, to its end if all are answered. */
  #page(of: (typeof lists)[number], limit: number, behind?: number): void {
    if (this.session === undefined) return this.#next()
    this.#say(Calls.list(this.#who, of, limit, behind), (answer, call) => {
      if (typeof member(answer, "nextCursor") === "string") this.#page(of, limit, call)
      else this.#next()
    })
  }

  /** Repeats an earlier call, in the same words, or under the same key in others. */
  #again(said: ReadonlyArray<Draft>, isTwisted = false): void {
    if (said.length === 0) return this.#look()
    const picked = this.random.pick(said)
    const { accountId: _accountId, token: _token, ...draft } = isTwisted ? Twist.twisted(picked, this.random) : picked
    this.#say({ ...draft, accountId: "", token: this.#who.token }, this.#next)
  }

  readonly #acts: Readonly<Record<Act, () => void>> = {
    deposit: () => this.#deposit(),
    "go on": () => this.#goOn(),
    withdraw: () => this.#withdraw(),
    "give up": () => this.#giveUp(),
    "change party": () => this.#changeParty(),
    "add a passkey": () => this.#addPasskey(),
    "pin passkeys": () => this.#pin(),
    "ask again": () => this.#again(this.#asked, this.random.chance(0.35)),
    "answer again": () => this.#again(this.#answered),
    look: () => this.#look(),
    "sign in": () => this.#signIn(),
    "think again": () => this.#thinkAgain(),
    "remove a passkey": () => this.#removePasskey(),
    "answer by a copy": () => this.#goOn(true),
    "pay out": () => this.#payOut()
  }
}

/** Starts the owners with a ledger. The returned function says whether they have made all their calls. */
export const start = (desk: Desk, random: SimRandom, { bent = "nothing", calls, meanPauseMs, owners: count }: Options): () => boolean => {
  let left = calls
  const spend = (): boolean => left-- > 0
  const owners = Array.from({ length: count },
    (_, index) => new Depositor(index, desk, random.split(`depositor-${index}`), meanPauseMs, bent, spend))
  for (const owner of owners) {
    owner.others = owners.filter((other) => other !== owner)
    owner.start()
  }
  return () => left <= 0
}
