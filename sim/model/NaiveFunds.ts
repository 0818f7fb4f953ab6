/**
 * Money on the ledger, by the rules: every transfer with everything that was ever done for each of its steps, in plain arrays. What may
 * still become of a step is derived from that history each time. It shares nothing with the engine but the vocabulary.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { StepName, TransferKind, TransferStatus } from "../../src/operations/funds/Transfers.js"
import type { Command, CommandOfKind } from "../../src/operations/Operations.js"
import { NaiveHistory, type NaiveOutcome } from "./NaiveHistory.js"

const dayMs = 24 * 60 * 60 * 1000
const least = 1_000_000n
/** Amounts without room that one record tries again. */
const triedAtOnce = 4
/** The most that an account may have after a deposit. */
const most = 2n ** 52n
/** Capacities of the tables of transfers. */
export interface Bounds {
  readonly withdrawalsOfAccount: number
  readonly submissions: number
  readonly expiredAtOnce: number
  /** Ended transfers that are kept: the latest of each account, and of all. */
  readonly endedOfAccount: number
  readonly endedInAll: number
  /** Most collateral that an account may have after it was paid something: as much as is counted exactly. */
  readonly collateralAtoms: number
}

export const venueBounds: Bounds = {
  withdrawalsOfAccount: 8,
  submissions: 64,
  expiredAtOnce: 64,
  endedOfAccount: 1_000,
  endedInAll: 1_000_000,
  collateralAtoms: Number.MAX_SAFE_INTEGER
}

/** An execution of a step's transaction, and what is known of it. */
export interface NaiveSubmission {
  readonly id: string
  /** `open`: the ledger may have it. `taken`: it has. `elsewhere`: another one has succeeded. `unsent`: it never left. */
  state: "open" | "unknown" | "taken" | "elsewhere" | "refused" | "unsent"
  guard: string
  /** The offset of the completion that refused it; 0 where none did. */
  refusedAt: number
  /** Whether it was displaced by later submissions: anything reported about it is ignored. */
  isLost: boolean
}

/** A transaction of a step, with everything that was done with it. */
export interface NaiveAttempt {
  readonly hash: string
  readonly scheme: number
  readonly mostRecordTime: number
  /** The approval; undefined where there was none. */
  approval: { readonly nonce: string; readonly credentialId: string; readonly atEpochMs: number } | undefined
  readonly submissions: Array<NaiveSubmission>
  /** Whether the ledger's time has passed its last record time, so that it can take no effect. */
  isVoid: boolean
}

export interface NaiveStep {
  readonly name: StepName
  /** Command, user, synchronizer and participant of the first preparation, and the ledger's end before it. */
  binding: { readonly commandId: string; readonly rest: string; readonly offset: number } | undefined
  readonly attempts: Array<NaiveAttempt>
  accepted: { readonly updateId: string; readonly offset: number } | undefined
  /** The offset up to which contradictions have been counted. */
  contradictedAt: number
}

export interface NaiveTransfer {
  readonly number: number
  readonly kind: TransferKind
  readonly account: number
  readonly amount: bigint
  partyId: string
  steps: Array<NaiveStep>
  end: "ledger_confirmed" | "rejected" | "expired" | undefined
  failure: { readonly step: StepName; readonly stage: string; readonly guard: string } | undefined
  /** Whether it has been credited, paid out or given back. */
  isSettled: boolean
  waitsSince: number
  readonly requestedAtEpochMs: number
  /** Whether the engine has forgotten it. */
  isForgotten: boolean
}

/** Why no withdrawal is accepted, with the compared values where there are any. */
export interface NaiveStop {
  readonly reason: string
  readonly differenceAtoms: number
  readonly atOffset: number
  readonly sinceEpochMs: number
}

/** The facts about a passkey that an approval needs. */
interface Passkey {
  readonly account: number
  readonly signCount: number
  readonly approvesFromEpochMs: number
}

/** What this needs of the rest of the model. */
export interface Surroundings {
  readonly now: () => number
  readonly sequence: () => number
  readonly isDisabled: (account: number) => boolean
  readonly collateral: (account: number) => bigint
  readonly withdrawable: (account: number) => bigint
  readonly pay: (account: number, amount: bigint, cause: "deposit" | "withdrawal_reserved" | "withdrawal_returned") => void
  readonly enable: (account: number) => void
  readonly passkey: (credentialId: string) => Passkey | undefined
  /** Notes that a passkey has answered, with this value of its counter. */
  readonly usePasskey: (credentialId: string, signCount: number) => void
  readonly note: (account: number, kind: string, credentialId: string, remoteAddress: string, detail: string) => void
}

/** The outcome of a command: the refusal, with the compared values, or the transfer's state. */
export type Came =
  | { readonly refusal: Refusal; readonly limit?: bigint; readonly actual?: bigint; readonly nearest?: bigint }
  | { readonly transfer: NaiveTransfer | undefined }

type Unacceptable = Extract<Came, { readonly refusal: Refusal }>

/** The decision on a fact of the ledger before anything is done about it: the refusal, or the change to make. */
type Judged = Unacceptable | (() => NaiveTransfer | undefined)

/** What the ledger and the signer have done, as the venue's own services report it. */
const facts = [
  "BindParty",
  "PrepareStep",
  "BeginSubmission",
  "NoteSubmission",
  "NoteCompletion",
  "NoteScan",
  "RejectStep",
  "NoteLedgerOffset"
] as const

const kinds = [
  "RequestDeposit",
  "RequestWithdrawal",
  "RequestPartyChange",
  "CancelTransfer",
  "ApproveStep",
  "StopWithdrawals",
  "AllowWithdrawals",
  ...facts
] as const
export type FundsCommand = CommandOfKind<(typeof kinds)[number]>

/** Whether a command is about money on the ledger. */
export const isOfFunds = (command: Command): command is FundsCommand => (kinds as ReadonlyArray<string>).includes(command.kind)

const prefixes = { deposit: "dep_", withdrawal: "wdr_", party_change: "pch_" } as const
const idOf = ({ kind, number }: NaiveTransfer): string => prefixes[kind] + number.toString(36)

export type Fact = CommandOfKind<(typeof facts)[number]>

export const isFact = (command: Command): command is Fact => (facts as ReadonlyArray<string>).includes(command.kind)

const refused = (refusal: Refusal): Unacceptable => ({ refusal })
/** A refusal with the compared values: `limit` would have been accepted if it is the nearest. */
const beyond = (refusal: Refusal, limit: bigint, actual: bigint, isNearest: boolean): Came =>
  isNearest ? { refusal, limit, actual, nearest: limit } : { refusal, limit, actual }
const known = refused(Refusal.ledgerFactKnown)
const impossible = refused(Refusal.ledgerFactConflict)

/** The attempt in progress; undefined where there is none. */
const attemptOf = ({ attempts }: NaiveStep): NaiveAttempt | undefined => {
  const last = attempts.at(-1)
  return last === undefined || last.isVoid ? undefined : last
}

/** Submissions that left the venue, or may have. */
const sent = (attempt: NaiveAttempt | undefined): ReadonlyArray<NaiveSubmission> =>
  (attempt?.submissions ?? []).filter(({ state }) => state !== "unsent")

/** Submissions of a step that may still be accepted. */
export const outstanding = (step: NaiveStep): ReadonlyArray<NaiveSubmission> =>
  step.accepted !== undefined ? [] : sent(attemptOf(step)).filter(({ isLost, state }) => isLost || state !== "refused")

const isApproved = (step: NaiveStep): boolean => step.name === "treasury_offer_withdrawal" || attemptOf(step)?.approval !== undefined

/** The current step; undefined where nothing can become of the transfer any more. */
const atHand = ({ end, steps }: NaiveTransfer): NaiveStep | undefined => {
  const open = steps.filter(({ accepted }) => accepted === undefined)
  return end === undefined ? open[0] : open.find(({ name }) => name === "treasury_offer_withdrawal")
}

/** Whether the owner has yet to approve the current step. */
export const isUnapproved = (transfer: NaiveTransfer): boolean => transfer.end === undefined && !isApproved(atHand(transfer)!)

export const statusOf = (transfer: NaiveTransfer): TransferStatus => {
  if (transfer.end !== undefined) return transfer.end
  const submissions = sent(attemptOf(atHand(transfer)!))
  if (submissions.length === 0) return transfer.kind === "withdrawal" ? "requested" : "bound"
  return submissions.some(({ isLost, state }) => !isLost && state === "taken") ? "submitted" : "submitted_unknown"
}

/** The ledger's last answer, or the way in which the transfer ended instead. */
const outcomeOf = (transfer: NaiveTransfer): NaiveOutcome | undefined => {
  const { end, failure, steps } = transfer
  if (failure !== undefined) {
    const refusedBy = failure.stage === "submission" || failure.stage === "completion" ? `${failure.stage}_refused` : "not_executed"
    return { step: failure.step, outcome: refusedBy, guard: failure.guard === "" ? null : failure.guard }
  }
  const status = statusOf(transfer)
  if (status === "submitted") return { step: atHand(transfer)!.name, outcome: "sequenced_accepted", guard: null }
  if (status === "submitted_unknown") return { step: atHand(transfer)!.name, outcome: "submission_unknown", guard: null }
  const first = steps.findIndex(({ accepted }) => accepted === undefined)
  const done = (end === undefined ? steps.slice(0, first) : steps).filter(({ accepted }) => accepted !== undefined).at(-1)
  return done === undefined ? undefined : { step: done.name, outcome: "completion_accepted", guard: null }
}

/** Whether the transfer may still change, or money is held for it or owed. */
export const isNeeded = (transfer: NaiveTransfer): boolean => {
  const { end, isSettled, kind } = transfer
  return atHand(transfer) !== undefined || (!isSettled && (kind === "withdrawal" || (kind === "deposit" && end === "ledger_confirmed")))
}

/** Everything about a transfer that may change, as a text: all but its amount. Made of every transfer for every record, so it is cheap. */
const textOf = (transfer: NaiveTransfer): string => JSON.stringify({ ...transfer, amount: 0 })

export class NaiveFunds {
  /** All transfers ever made. */
  readonly transfers: Array<NaiveTransfer> = []
  /** By account. */
  readonly parties = new Map<number, { readonly partyId: string; isConfirmed: boolean }>()
  deposited = 0n
  withdrawn = 0n
  offset = 0
  /** The latest of the ledger's own times that were noted with an offset; it does not always tell one. */
  ledgerTime = 0
  /** Why withdrawals are stopped; undefined where they are not. */
  stop: NaiveStop | undefined
  /** The shortfall of the treasury that an operator has accepted: 0, or negative. */
  accepted = 0
  contradictions = 0
  /** Numbers of transfers that wait for their owners' approval, in the order in which they began to wait. */
  #waiting: Array<number> = []
  /** Transfers whose amount has found no room yet, in the order in which they are tried again. */
  #unpaid: ReadonlyArray<NaiveTransfer> = []
  /** Ended transfers that are still known, in the order in which they ended. */
  #over: Array<NaiveTransfer> = []

  constructor(readonly around: Surroundings, readonly bounds: Bounds = venueBounds, readonly history = new NaiveHistory()) {}

  get isStopped(): boolean {
    return this.stop !== undefined
  }

  /**
   * Stops withdrawals. An operator's reason outranks none, and a contradiction of the ledger all others, with the most that was lacking;
   * between the two, the latest comparison of the books counts, behind which nothing is accepted any more that was so before the
   * operator's stop.
   */
  #stop(stop: Omit<NaiveStop, "sinceEpochMs">): void {
    const before = this.stop
    const ranks = ["operator", "reconciliation", "contradiction"]
    const [rank, rankBefore] = [ranks.indexOf(stop.reason), ranks.indexOf(before?.reason ?? "")]
    if (before === undefined) this.stop = { ...stop, sinceEpochMs: this.around.now() }
    else if (rank > 0 && Math.max(rank, rankBefore) === 2 && rank !== rankBefore) {
      const lacking = stop.differenceAtoms < before.differenceAtoms ? stop : before
      this.stop = { ...before, reason: "contradiction", differenceAtoms: lacking.differenceAtoms }
    } else if (rank === 1) {
      if (rankBefore === 0) this.accepted = 0
      this.stop = { ...stop, sinceEpochMs: before.sinceEpochMs }
    }
  }

  /** A transfer that is known by its number. */
  find(number: number): NaiveTransfer | undefined {
    return this.#known.find((transfer) => transfer.number === number)
  }

  /** Whether an account may give a transfer up: it is the account's own, and the current step has not been approved. */
  mayBeGivenUp(account: number, number: number): boolean {
    const transfer = this.find(number)
    return transfer?.account === account && isUnapproved(transfer)
  }

  get #known(): ReadonlyArray<NaiveTransfer> {
    return this.transfers.filter(({ isForgotten }) => !isForgotten)
  }

  /** The signer, reached after a delay by its slow requests. */
  #noting<A>(act: () => A): A {
    const before = new Map(this.#known.map((transfer) => [transfer, textOf(transfer)]))
    const came = act()
    // Collected first, since a transfer that ends may cause another to be forgotten.
    for (const transfer of this.#known.filter((each) => before.get(each) !== textOf(each))) {
      this.#tell(transfer)
      const wasOver = this.#over.includes(transfer)
      if (wasOver && isNeeded(transfer)) this.#over = this.#over.filter((each) => each !== transfer)
      if (!wasOver && !isNeeded(transfer)) this.#end(transfer)
    }
    return came
  }

  #tell(transfer: NaiveTransfer): void {
    const { account, failure, kind, number, partyId, requestedAtEpochMs, steps } = transfer
    const step = atHand(transfer)
    this.history.transfers.push({
      sequence: this.around.sequence(),
      account,
      kind,
      number,
      status: statusOf(transfer),
      partyId,
      failedAt: failure?.stage,
      outcome: outcomeOf(transfer),
      approvedAtEpochMs: step === undefined ? undefined : attemptOf(step)?.approval?.atEpochMs,
      steps: steps.map(({ name }) => name),
      requestedAtEpochMs,
      updatedAtEpochMs: this.around.now()
    })
  }

  #end(transfer: NaiveTransfer): void {
    this.#over.push(transfer)
    const own = this.#over.filter(({ account }) => account === transfer.account)
    if (own.length > this.bounds.endedOfAccount) this.#forget(own[0]!)
    if (this.#over.length > this.bounds.endedInAll) this.#forget(this.#over[0]!)
  }

  #forget(transfer: NaiveTransfer): void {
    transfer.isForgotten = true
    this.#over = this.#over.filter((each) => each !== transfer)
  }

  /** An account's transfers that have not ended. */
  openOf(account: number): ReadonlyArray<NaiveTransfer> {
    return this.transfers.filter((transfer) => transfer.account === account && transfer.end === undefined)
  }

  /** Money held for withdrawals, by the account that asked for them. */
  get held(): ReadonlyMap<number, bigint> {
    const held = new Map<number, bigint>()
    for (const { account, amount, isSettled, kind } of this.transfers) {
      if (kind === "withdrawal" && !isSettled) held.set(account, (held.get(account) ?? 0n) + amount)
    }
    return held
  }

  /** Money held for withdrawals. */
  get reserved(): bigint {
    return [...this.held.values()].reduce((sum, amount) => sum + amount, 0n)
  }

  /** When the next transfer expires; `Infinity` where none waits. */
  get nextDueEpochMs(): number {
    const [first] = this.#waiting
    return first === undefined ? Number.POSITIVE_INFINITY : this.find(first)!.waitsSince + dayMs
  }

  /** Does the due work of a record. Returns the accounts that it changed. */
  doWhatIsDue(): ReadonlyArray<number> {
    const touched: Array<number> = []
    for (let left = this.bounds.expiredAtOnce; left > 0 && this.nextDueEpochMs <= this.around.now(); left--) {
      const transfer = this.find(this.#waiting[0]!)!
      this.#noting(() => this.#fail(transfer, "expired", { step: atHand(transfer)!.name, stage: "approval", guard: "not_approved" }))
      touched.push(transfer.account)
    }
    for (const transfer of this.#unpaid.slice(0, triedAtOnce)) {
      this.#noting(() => this.#payIn(transfer))
      if (transfer.isSettled) touched.push(transfer.account)
    }
    return touched
  }

  decide(command: FundsCommand): Came {
    const came = this.#noting(() => this.#decide(command))
    for (const transfer of this.#known) {
      const waits = isUnapproved(transfer)
      if (waits !== this.#waiting.includes(transfer.number)) this.#wait(transfer, waits)
    }
    return came
  }

  #wait({ number }: NaiveTransfer, waits: boolean): void {
    this.#waiting = this.#waiting.filter((each) => each !== number)
    if (waits) this.#waiting.push(number)
  }

  /** A step begins to wait again: its owner has another whole day. */
  #waitAnew(transfer: NaiveTransfer): void {
    if (transfer.waitsSince === this.around.now()) return
    transfer.waitsSince = this.around.now()
    this.#wait(transfer, true)
  }

  #decide(command: FundsCommand): Came {
    switch (command.kind) {
      case "RequestDeposit":
        return this.#requestDeposit(command)
      case "RequestWithdrawal":
        return this.#requestWithdrawal(command)
      case "RequestPartyChange":
        return this.#requestPartyChange(command)
      case "CancelTransfer":
        return this.#cancel(command)
      case "ApproveStep":
        return this.#approve(command)
      case "StopWithdrawals": {
        const { atOffset, differenceAtoms, reason } = command
        this.#stop({ reason, differenceAtoms, atOffset })
        return { transfer: undefined }
      }
      case "AllowWithdrawals":
        if (this.stop?.reason === "operator") this.accepted = 0
        else if (this.stop !== undefined && this.stop.differenceAtoms < this.accepted) this.accepted = this.stop.differenceAtoms
        this.stop = undefined
        return { transfer: undefined }
      default: {
        const judged = this.#judge(command)
        return typeof judged === "function" ? { transfer: judged() } : judged
      }
    }
  }

  /** The refusal of a fact in the present state; `none` where it is accepted. */
  refusalOf(fact: Fact): Refusal {
    const judged = this.#judge(fact)
    return typeof judged === "function" ? Refusal.none : judged.refusal
  }

  #judge(fact: Fact): Judged {
    switch (fact.kind) {
      case "BindParty":
        return this.#bind(fact)
      case "PrepareStep":
        return this.#prepare(fact)
      case "BeginSubmission":
        return this.#begin(fact)
      case "NoteSubmission":
        return this.#answer(fact)
      case "NoteCompletion":
        return this.#complete(fact)
      case "NoteScan":
        return this.#scan(fact)
      case "RejectStep":
        return this.#reject(fact)
      case "NoteLedgerOffset":
        return fact.offset <= this.offset ? known : () => {
          this.offset = fact.offset
          if (fact.recordTimeEpochMs > this.ledgerTime) this.ledgerTime = fact.recordTimeEpochMs
          return undefined
        }
    }
  }

  // ---- requests

  #request(kind: TransferKind, account: number, amount: bigint, partyId: string, steps: ReadonlyArray<StepName>): NaiveTransfer {
    const transfer: NaiveTransfer = {
      number: this.around.sequence() * 64,
      kind,
      account,
      amount,
      partyId,
      steps: steps.map(newStep),
      end: undefined,
      failure: undefined,
      isSettled: false,
      waitsSince: this.around.now(),
      requestedAtEpochMs: this.around.now(),
      isForgotten: false
    }
    this.transfers.push(transfer)
    return transfer
  }

  #requestDeposit({ account, amountAtoms, asset }: CommandOfKind<"RequestDeposit">): Came {
    const amount = BigInt(amountAtoms)
    const open = this.openOf(account)
    if (this.around.isDisabled(account)) return refused(Refusal.accountNotEnabled)
    if (asset !== "USDC") return refused(Refusal.depositAssetUnsupported)
    if (amount < 1n) return refused(Refusal.depositAmountInvalid)
    if (amount < least) return beyond(Refusal.depositBelowMinimum, least, amount, true)
    if (open.some(({ kind }) => kind === "deposit")) return refused(Refusal.depositInProgress)
    if (open.some(({ kind }) => kind === "party_change")) return refused(Refusal.transferInProgress)
    const collateral = this.around.collateral(account)
    const room = most - (collateral > 0n ? collateral : 0n) - open.reduce((sum, each) => sum + each.amount, 0n)
    if (amount > room) return beyond(Refusal.depositTotalLimit, room > 0n ? room : 0n, amount, false)
    const party = this.parties.get(account)
    const steps: ReadonlyArray<StepName> = ["treasury_offer", "owner_offer_acceptance"]
    const all: ReadonlyArray<StepName> = party?.isConfirmed === true ? steps : ["owner_account_acceptance", ...steps]
    return { transfer: this.#request("deposit", account, amount, party?.partyId ?? "", all) }
  }

  #requestWithdrawal(command: CommandOfKind<"RequestWithdrawal">): Came {
    const { account, amountAtoms, asset, destinationPartyId, remoteAddress } = command
    const amount = BigInt(amountAtoms)
    const open = this.openOf(account)
    if (this.around.isDisabled(account)) return refused(Refusal.accountNotEnabled)
    if (asset !== "USDC") return refused(Refusal.withdrawalAssetUnsupported)
    if (amount < 1n) return refused(Refusal.withdrawalAmountInvalid)
    if (amount < least) return beyond(Refusal.withdrawalBelowMinimum, least, amount, true)
    if (destinationPartyId === "") return refused(Refusal.withdrawalToTreasury)
    if (this.isStopped) return refused(Refusal.withdrawalsStopped)
    if (open.some(({ kind }) => kind === "party_change")) return refused(Refusal.transferInProgress)
    const withdrawals = open.filter(({ kind }) => kind === "withdrawal").length
    const bound = this.bounds.withdrawalsOfAccount
    if (withdrawals >= bound) return beyond(Refusal.withdrawalLimit, BigInt(bound), BigInt(withdrawals + 1), false)
    const free = this.around.withdrawable(account)
    if (amount > free) return beyond(Refusal.withdrawableInsufficient, free, amount, true)
    const transfer = this.#request("withdrawal", account, amount, destinationPartyId, ["treasury_withdrawal"])
    this.around.pay(account, -amount, "withdrawal_reserved")
    this.around.note(account, "withdrawal_requested", "", remoteAddress, idOf(transfer))
    return { transfer }
  }

  #requestPartyChange({ account, remoteAddress }: CommandOfKind<"RequestPartyChange">): Came {
    if (this.around.isDisabled(account)) return refused(Refusal.accountNotEnabled)
    if (this.openOf(account).length > 0) return refused(Refusal.transferInProgress)
    if (!this.parties.has(account)) return refused(Refusal.partyMissing)
    const transfer = this.#request("party_change", account, 0n, "", ["owner_account_acceptance"])
    this.around.note(account, "party_change_requested", "", remoteAddress, idOf(transfer))
    return { transfer }
  }

  #cancel({ account, transfer: number }: CommandOfKind<"CancelTransfer">): Came {
    const transfer = this.find(number)
    if (transfer?.account !== account) return refused(Refusal.transferNotFound)
    if (!isUnapproved(transfer)) return refused(Refusal.stepConflict)
    this.#fail(transfer, "rejected", { step: atHand(transfer)!.name, stage: "approval", guard: "given_up" })
    return { transfer }
  }

  #approve(command: CommandOfKind<"ApproveStep">): Came {
    const { account, credentialId, hash, nonce, remoteAddress, signCount, step: name, transfer: number } = command
    const transfer = this.find(number)
    if (transfer?.account !== account) return refused(Refusal.transferNotFound)
    const step = transfer.end === undefined ? atHand(transfer) : undefined
    const attempt = step?.name === name ? attemptOf(step) : undefined
    if (step === undefined || attempt?.hash !== hash) return refused(Refusal.stepConflict)
    if (attempt.approval !== undefined) return attempt.approval.nonce === nonce ? { transfer } : refused(Refusal.stepConflict)
    if (this.around.isDisabled(account)) return refused(Refusal.accountNotEnabled)
    if (transfer.kind === "withdrawal" && this.isStopped) return refused(Refusal.withdrawalsStopped)
    const passkey = this.around.passkey(credentialId)
    if (passkey?.account !== account) return refused(Refusal.passkeyUnknown)
    if (transfer.kind !== "deposit" && passkey.approvesFromEpochMs > this.around.now()) return refused(Refusal.passkeyTooNew)
    const counts = signCount > 0 || passkey.signCount > 0
    if (counts && signCount <= passkey.signCount) {
      this.around.note(account, "approval_failed", credentialId, remoteAddress, "its counter went back")
      return refused(Refusal.signCountWentBack)
    }
    this.around.usePasskey(credentialId, signCount)
    this.around.note(account, "ledger_step_approved", credentialId, remoteAddress, `${idOf(transfer)} ${name}`)
    attempt.approval = { nonce, credentialId, atEpochMs: this.around.now() }
    return { transfer }
  }

  // ---- what the ledger and the signer did

  #isBound(partyId: string): boolean {
    return [...this.parties.values()].some((party) => party.partyId === partyId)
      || this.transfers.some((each) => each.kind === "party_change" && each.end === undefined && each.partyId === partyId)
  }

  #bind({ ofAccount, partyId, transfer: number }: CommandOfKind<"BindParty">): Judged {
    const change = this.find(number)
    const own = this.parties.get(ofAccount)
    if (number >= 0) {
      if (change?.kind !== "party_change" || change.account !== ofAccount) return refused(Refusal.transferNotFound)
      if (change.partyId === partyId) return known
      if (change.end !== undefined || change.partyId !== "" || this.#isBound(partyId)) return impossible
      return () => {
        change.partyId = partyId
        return change
      }
    }
    if (own?.partyId === partyId) return known
    if (own !== undefined || this.#isBound(partyId)) return impossible
    return () => {
      this.parties.set(ofAccount, { partyId, isConfirmed: false })
      for (const deposit of this.openOf(ofAccount)) if (deposit.kind === "deposit") deposit.partyId = partyId
      return undefined
    }
  }

  /** The step of this name, if it is the transfer's current one; or why nothing may be done with it. */
  #atHand(number: number, name: StepName): { readonly transfer: NaiveTransfer; readonly step: NaiveStep } | Unacceptable {
    const transfer = this.find(number)
    const step = transfer?.steps.find((each) => each.name === name)
    if (transfer === undefined || step === undefined) return refused(Refusal.transferNotFound)
    if (atHand(transfer) === step) return { transfer, step }
    return transfer.end !== undefined || step.accepted !== undefined ? known : impossible
  }

  #prepare(command: CommandOfKind<"PrepareStep">): Judged {
    const found = this.#atHand(command.transfer, command.step)
    if (!("step" in found)) return found
    const { step, transfer } = found
    const { commandId, hash, hashingScheme, ledgerEndOffset, maxRecordTimeEpochMs, participantId, synchronizerId, userId } = command
    const held = this.#stepOf(commandId)?.transfer
    const isTaken = held !== undefined && held !== transfer && (held.end === undefined || held.account !== transfer.account)
    if (transfer.partyId === "" || isTaken) return impossible
    const attempt = attemptOf(step)
    if (attempt !== undefined) return attempt.hash === hash ? known : impossible
    const rest = JSON.stringify([userId, synchronizerId, participantId])
    if (step.binding !== undefined && (step.binding.commandId !== commandId || step.binding.rest !== rest)) return impossible
    const mostRecordTime = maxRecordTimeEpochMs
    return () => {
      step.binding ??= { commandId, rest, offset: ledgerEndOffset }
      step.attempts.push({ hash, scheme: hashingScheme, mostRecordTime, approval: undefined, submissions: [], isVoid: false })
      return transfer
    }
  }

  #begin({ step: name, submissionId, transfer: number }: CommandOfKind<"BeginSubmission">): Judged {
    const found = this.#atHand(number, name)
    if (!("step" in found)) return found
    const { step, transfer } = found
    const attempt = attemptOf(step)
    const before = sent(attempt)
    const by = attempt?.approval?.credentialId
    const isGone = by !== undefined && this.around.passkey(by)?.account !== transfer.account
    const isHeld = this.isStopped || this.around.isDisabled(transfer.account) || isGone
    if (transfer.kind === "withdrawal" && isHeld && before.length === 0 && isApproved(step)) return impossible
    const listed = before.filter(({ isLost }) => !isLost)
    if (listed.some(({ id }) => id === submissionId)) return known
    if (attempt === undefined || !isApproved(step)) return impossible
    if (before.length > 0 && outstanding(step).length === 0) return impossible
    return () => {
      if (listed.length >= this.bounds.submissions) {
        const first = listed.findIndex(({ state }) => state === "refused")
        const gone = listed[Math.max(0, first)]!
        // A refused submission is simply removed; the outcome of any other can never be learned.
        if (gone.state === "refused") attempt.submissions.splice(attempt.submissions.indexOf(gone), 1)
        else gone.isLost = true
      }
      attempt.submissions.push({ id: submissionId, state: "open", guard: "", refusedAt: 0, isLost: false })
      return transfer
    }
  }

  #submission({ accepted, ...step }: NaiveStep, id: string): NaiveSubmission | undefined {
    if (accepted !== undefined) return undefined
    return sent(attemptOf({ accepted, ...step })).find((each) => each.id === id && !each.isLost)
  }

  #answer({ guard, outcome, step: name, submissionId, transfer: number }: CommandOfKind<"NoteSubmission">): Judged {
    const transfer = this.find(number)
    const step = transfer?.steps.find((each) => each.name === name)
    if (transfer === undefined || step === undefined) return refused(Refusal.transferNotFound)
    const submission = this.#submission(step, submissionId)
    // Once the ledger has accepted or refused it, no answer changes that.
    if (submission === undefined || (submission.state !== "open" && submission.state !== "unknown")) return known
    if (outcome === "unknown" && submission.state === "unknown") return known
    if (outcome === "not_sent" && submission.state === "unknown") return impossible
    const states = { accepted: "taken", unknown: "unknown", refused: "refused", not_sent: "unsent", duplicate: "elsewhere" } as const
    return () => {
      submission.state = states[outcome]
      submission.guard = guard
      return transfer
    }
  }

  /** The latest step for which a command was prepared. */
  #stepOf(commandId: string): { readonly transfer: NaiveTransfer; readonly step: NaiveStep } | undefined {
    for (const transfer of this.#known.toReversed()) {
      const step = transfer.steps.find(({ binding }) => binding?.commandId === commandId)
      if (step !== undefined) return { transfer, step }
    }
    return undefined
  }

  #complete(command: CommandOfKind<"NoteCompletion">): Judged {
    const { commandId, guard, offset, outcome, submissionId, updateId } = command
    const found = this.#stepOf(commandId)
    if (found === undefined) return refused(Refusal.transferNotFound)
    const { step, transfer } = found
    if (outcome !== "accepted") {
      const submission = this.#submission(step, submissionId)
      const state = outcome === "refused" ? "refused" : "elsewhere"
      if (submission === undefined || submission.state === "refused" || submission.state === state) return known
      return () => {
        submission.state = state
        submission.guard = guard
        submission.refusedAt = offset
        return transfer
      }
    }
    // Bound behind it: another's, under an id that was given out twice. An account's first step serves all of its deposits.
    if (step.name !== "owner_account_acceptance" && step.binding !== undefined && offset <= step.binding.offset) return known
    if (step.accepted !== undefined) {
      const isSame = step.accepted.updateId === updateId && step.accepted.offset === offset
      if (isSame || offset <= step.contradictedAt) return known
      return () => {
        step.contradictedAt = offset
        this.contradictions++
        return transfer
      }
    }
    return () => {
      this.#accept(transfer, step, { updateId, offset })
      return transfer
    }
  }

  /** The ledger has done a step: what follows from that, whatever was assumed of the transfer. */
  #accept(transfer: NaiveTransfer, step: NaiveStep, accepted: NonNullable<NaiveStep["accepted"]>): void {
    const isVenues = step.name === "treasury_offer_withdrawal"
    const isEarly = transfer.end === undefined && atHand(transfer) !== step
    if ((transfer.end !== undefined && !isVenues) || sent(attemptOf(step)).length === 0 || isEarly) this.contradictions++
    step.accepted = accepted
    const wasOver = transfer.end !== undefined
    if (!wasOver) {
      if (step === transfer.steps.at(-1)) this.#succeed(transfer)
      else this.#waitAnew(transfer)
    }
    if (step.name === "owner_account_acceptance") this.#confirmParty(transfer)
    if (wasOver && step.name === "owner_offer_acceptance" && !transfer.isSettled) {
      transfer.steps = transfer.steps.filter(({ accepted: done, name }) => name !== "treasury_offer_withdrawal" || done !== undefined)
      this.#succeed(transfer)
    }
    if (wasOver) this.#withdrawOffer(transfer)
    if (wasOver && step.name === "treasury_withdrawal") {
      this.#stop({ reason: "contradiction", differenceAtoms: -Number(transfer.amount), atOffset: 0 })
    }
  }

  #confirmParty(transfer: NaiveTransfer): void {
    const { account, end, kind, partyId } = transfer
    if (kind === "party_change" ? end !== "ledger_confirmed" : this.parties.get(account)?.partyId !== partyId) return
    this.parties.set(account, { partyId, isConfirmed: true })
    if (kind === "party_change") this.around.note(account, "ledger_party_changed", "", "", idOf(transfer))
    this.around.enable(account)
  }

  #scan({ hash, recordTimeEpochMs, step: name, throughOffset, transfer: number }: CommandOfKind<"NoteScan">): Judged {
    const found = this.#atHand(number, name)
    if (!("step" in found)) return found
    const { step, transfer } = found
    const attempt = attemptOf(step)
    if (attempt?.hash !== hash) return known
    if (throughOffset < step.binding!.offset) return impossible
    const submissions = sent(attempt)
    const isRefused = submissions.length > 0 && outstanding(step).length === 0
    if (isRefused && submissions.every(({ refusedAt }) => refusedAt <= throughOffset)) {
      const [first] = submissions
      const stage = first!.refusedAt === 0 ? "submission" : "completion"
      // The holdings with which the treasury was to pay have been spent otherwise: the owner is asked again.
      const isGone = name === "treasury_withdrawal" && submissions.some(({ guard, isLost }) => !isLost && gone.includes(guard))
      return () => {
        if (transfer.end === undefined && !isGone) this.#fail(transfer, "rejected", { step: name, stage, guard: first!.guard })
        else attempt.isVoid = true
        if (transfer.end === undefined) this.#waitAnew(transfer)
        return transfer
      }
    }
    if (attempt.scheme < 3 || recordTimeEpochMs <= attempt.mostRecordTime) return impossible
    return () => {
      attempt.isVoid = true
      // An unapproved transaction became available and expired within the one day that its owner has.
      const isAnswered = attempt.approval !== undefined || submissions.length > 0
      if (transfer.end === undefined && isAnswered) this.#waitAnew(transfer)
      return transfer
    }
  }

  #reject({ guard, stage, step: name, transfer: number }: CommandOfKind<"RejectStep">): Judged {
    const found = this.#atHand(number, name)
    if (!("step" in found)) return found
    const { step, transfer } = found
    if (transfer.end !== undefined || sent(attemptOf(step)).length > 0) return impossible
    return () => {
      this.#fail(transfer, "rejected", { step: name, stage, guard })
      return transfer
    }
  }

  // ---- ends

  #fail(transfer: NaiveTransfer, end: "rejected" | "expired", failure: NonNullable<NaiveTransfer["failure"]>): void {
    transfer.end = end
    transfer.failure = failure
    this.#wait(transfer, false)
    this.#withdrawOffer(transfer)
    this.#payIn(transfer)
  }

  #succeed(transfer: NaiveTransfer): void {
    transfer.end = "ledger_confirmed"
    transfer.failure = undefined
    this.#wait(transfer, false)
    if (transfer.kind === "withdrawal") {
      this.withdrawn += transfer.amount
      transfer.isSettled = true
    } else this.#payIn(transfer)
  }

  /** Completed deposits whose amount has found no room yet. */
  get uncredited(): ReadonlyArray<NaiveTransfer> {
    return this.#unpaid.filter(({ kind }) => kind === "deposit")
  }

  /**
   * Pays an account what it is owed: a completed deposit, or a withdrawal that came to nothing. What finds no room goes to the end of the
   * line.
   */
  #payIn(transfer: NaiveTransfer): void {
    const { account, amount, end, kind } = transfer
    const isOwed = kind === "deposit" ? end === "ledger_confirmed" : kind === "withdrawal" && end !== "ledger_confirmed"
    if (!isOwed) return
    this.#unpaid = this.#unpaid.filter((each) => each !== transfer)
    if (this.around.collateral(account) + amount > BigInt(this.bounds.collateralAtoms)) {
      this.#unpaid = [...this.#unpaid, transfer]
      return
    }
    transfer.isSettled = true
    if (kind === "deposit") this.deposited += amount
    this.around.pay(account, amount, kind === "deposit" ? "deposit" : "withdrawal_returned")
  }

  /** Withdraws an offer that is left after its deposit has ended. */
  #withdrawOffer({ end, steps }: NaiveTransfer): void {
    const done = (name: StepName): boolean => steps.some((step) => step.name === name && step.accepted !== undefined)
    if (end === "ledger_confirmed" || !done("treasury_offer") || done("owner_offer_acceptance")) return
    if (!steps.some(({ name }) => name === "treasury_offer_withdrawal")) steps.push(newStep("treasury_offer_withdrawal"))
  }
}

/** A ledger's codes for contracts that are spent, or that another transaction is about to spend. */
const gone: ReadonlyArray<string> = [
  "CONTRACT_NOT_FOUND",
  "CONTRACT_NOT_ACTIVE",
  "LOCAL_VERDICT_INACTIVE_CONTRACTS",
  "LOCAL_VERDICT_LOCKED_CONTRACTS",
  "UNKNOWN_CONTRACT_SYNCHRONIZERS"
]

const newStep = (name: StepName): NaiveStep => ({ name, binding: undefined, attempts: [], accepted: undefined, contradictedAt: 0 })
