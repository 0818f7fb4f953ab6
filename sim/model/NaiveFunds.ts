/**
 * Money on the ledger, as the rules have it: every transfer with all that was ever done for each of its steps, in plain arrays. What a
 * step may still come to is read off that history each time. It shares nothing with the engine but the vocabulary.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { StepName, TransferKind, TransferStatus } from "../../src/operations/funds/Transfers.js"
import type { Command, CommandOfKind } from "../../src/operations/Operations.js"
import { NaiveHistory, type NaiveOutcome } from "./NaiveHistory.js"

const dayMs = 24 * 60 * 60 * 1000
const least = 1_000_000n
/** Most that an account may come to have by a deposit. */
const most = 2n ** 52n
/** What is counted exactly. */
const exact = 2n ** 53n - 1n

/** How much there may be of what. */
export interface Bounds {
  readonly withdrawalsOfAccount: number
  readonly submissions: number
  readonly expiredAtOnce: number
  /** Transfers that are over and kept, the latest of each account, and of all. */
  readonly endedOfAccount: number
  readonly endedInAll: number
}

export const venueBounds: Bounds = {
  withdrawalsOfAccount: 8,
  submissions: 64,
  expiredAtOnce: 64,
  endedOfAccount: 1_000,
  endedInAll: 1_000_000
}

/** An execution of a step's transaction, and what is known of it. */
export interface NaiveSubmission {
  readonly id: string
  /** `open`: the ledger may have it. `taken`: it has. `elsewhere`: another one has succeeded. `unsent`: it never left. */
  state: "open" | "unknown" | "taken" | "elsewhere" | "refused" | "unsent"
  guard: string
  /** The offset of the completion that refused it; 0 where none did. */
  refusedAt: number
  /** Too many came behind it: nothing that is said of it is heard any more. */
  isLost: boolean
}

/** A transaction of a step, with everything that was done with it. */
export interface NaiveAttempt {
  readonly hash: string
  readonly scheme: number
  readonly mostRecordTime: number
  /** What it was approved by; undefined where it was not. */
  approval: { readonly nonce: string; readonly credentialId: string } | undefined
  readonly submissions: Array<NaiveSubmission>
  /** The ledger's time has passed it: it can take no effect. */
  isVoid: boolean
}

export interface NaiveStep {
  readonly name: StepName
  /** Command, user, synchronizer and participant, as it was first prepared, and the ledger's end before. */
  binding: { readonly commandId: string; readonly rest: string; readonly offset: number } | undefined
  readonly attempts: Array<NaiveAttempt>
  accepted: { readonly updateId: string; readonly offset: number } | undefined
  /** Contradictions were counted up to this offset. */
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
  /** Credited, spent or given back. */
  isSettled: boolean
  waitsSince: number
  readonly requestedAtEpochMs: number
  /** The engine does not know it any more. */
  isForgotten: boolean
}

/** Why no withdrawal is taken, with what was compared where something was. */
export interface NaiveStop {
  readonly reason: string
  readonly differenceAtoms: number
  readonly atOffset: number
  readonly sinceEpochMs: number
}

/** What of a passkey is asked for an approval. */
interface Passkey {
  readonly account: number
  readonly signCount: number
  readonly approvesFromEpochMs: number
}

/** What it needs of the rest of the model. */
export interface Surroundings {
  readonly now: () => number
  readonly sequence: () => number
  readonly isDisabled: (account: number) => boolean
  readonly collateral: (account: number) => bigint
  readonly withdrawable: (account: number) => bigint
  readonly pay: (account: number, amount: bigint, cause: "deposit" | "withdrawal_reserved" | "withdrawal_returned") => void
  readonly enable: (account: number) => void
  readonly passkey: (credentialId: string) => Passkey | undefined
  /** A passkey has answered, with its counter at a value. */
  readonly usePasskey: (credentialId: string, signCount: number) => void
  readonly note: (account: number, kind: string, credentialId: string, remoteAddress: string, detail: string) => void
}

/** What a command comes to: why it is refused, with what it was compared to; or where its transfer stands. */
export type Came =
  | { readonly refusal: Refusal; readonly limit?: bigint; readonly actual?: bigint; readonly nearest?: bigint }
  | { readonly transfer: NaiveTransfer | undefined }

type Unacceptable = Extract<Came, { readonly refusal: Refusal }>

/** What a fact of the ledger comes to, before anything is done about it: why it is refused, or what is to be done. */
type Judged = Unacceptable | (() => NaiveTransfer | undefined)

/** What the ledger and the signer have done, as the venue's own services tell it. */
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
/** Refused with what was compared: `limit` would have passed where it is the nearest. */
const beyond = (refusal: Refusal, limit: bigint, actual: bigint, isNearest: boolean): Came =>
  isNearest ? { refusal, limit, actual, nearest: limit } : { refusal, limit, actual }
const known = refused(Refusal.ledgerFactKnown)
const impossible = refused(Refusal.ledgerFactConflict)

/** The attempt that is under way; undefined where there is none. */
const attemptOf = ({ attempts }: NaiveStep): NaiveAttempt | undefined => {
  const last = attempts.at(-1)
  return last === undefined || last.isVoid ? undefined : last
}

/** Submissions that left, or may have. */
const sent = (attempt: NaiveAttempt | undefined): ReadonlyArray<NaiveSubmission> =>
  (attempt?.submissions ?? []).filter(({ state }) => state !== "unsent")

/** Submissions of a step that may still be accepted. */
export const outstanding = (step: NaiveStep): ReadonlyArray<NaiveSubmission> =>
  step.accepted !== undefined ? [] : sent(attemptOf(step)).filter(({ isLost, state }) => isLost || state !== "refused")

const isApproved = (step: NaiveStep): boolean => step.name === "treasury_offer_withdrawal" || attemptOf(step)?.approval !== undefined

/** The step at hand, if anything may still become of the transfer. */
const atHand = ({ end, steps }: NaiveTransfer): NaiveStep | undefined => {
  const open = steps.filter(({ accepted }) => accepted === undefined)
  return end === undefined ? open[0] : open.find(({ name }) => name === "treasury_offer_withdrawal")
}

/** Whether its owner has yet to approve the step at hand. */
export const isUnapproved = (transfer: NaiveTransfer): boolean => transfer.end === undefined && !isApproved(atHand(transfer)!)

export const statusOf = (transfer: NaiveTransfer): TransferStatus => {
  if (transfer.end !== undefined) return transfer.end
  const submissions = sent(attemptOf(atHand(transfer)!))
  if (submissions.length === 0) return transfer.kind === "withdrawal" ? "requested" : "bound"
  return submissions.some(({ isLost, state }) => !isLost && state === "taken") ? "submitted" : "submitted_unknown"
}

/** What the ledger has last said, or what became of the transfer instead. */
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

/** Whether anything may still become of it, or money is held for it or owed. */
export const isNeeded = (transfer: NaiveTransfer): boolean => {
  const { end, isSettled, kind } = transfer
  return atHand(transfer) !== undefined || (!isSettled && (kind === "withdrawal" || (kind === "deposit" && end === "ledger_confirmed")))
}

const textOf = (transfer: NaiveTransfer): string =>
  JSON.stringify(transfer, (_, value: unknown) => typeof value === "bigint" ? String(value) : value)

export class NaiveFunds {
  /** All that there ever were. */
  readonly transfers: Array<NaiveTransfer> = []
  /** By account. */
  readonly parties = new Map<number, { readonly partyId: string; isConfirmed: boolean }>()
  deposited = 0n
  withdrawn = 0n
  offset = 0
  /** Why withdrawals are stopped; undefined where they are not. */
  stop: NaiveStop | undefined
  /** What an operator has accepted that the treasury lacks: 0, or below. */
  accepted = 0
  contradictions = 0
  /** Numbers of transfers whose owners have yet to approve them, as they began to wait. */
  #waiting: Array<number> = []
  /** Those that are over and known, as they came to be. */
  #over: Array<NaiveTransfer> = []

  constructor(readonly around: Surroundings, readonly bounds: Bounds = venueBounds, readonly history = new NaiveHistory()) {}

  get isStopped(): boolean {
    return this.stop !== undefined
  }

  /** What stops withdrawals first is why they are stopped, unless the ledger contradicts itself later: that outranks the others. */
  #stop(stop: Omit<NaiveStop, "sinceEpochMs">): void {
    const before = this.stop
    if (before === undefined) this.stop = { ...stop, sinceEpochMs: this.around.now() }
    else if (stop.reason === "contradiction" && before.reason !== "contradiction") {
      const lacking = stop.differenceAtoms < before.differenceAtoms ? stop : before
      this.stop = { ...before, reason: "contradiction", differenceAtoms: lacking.differenceAtoms }
    }
  }

  /** One that is known. */
  find(number: number): NaiveTransfer | undefined {
    return this.#known.find((transfer) => transfer.number === number)
  }

  /** Whether an account may give one up: it is its own, and nobody has approved the step at hand. */
  mayBeGivenUp(account: number, number: number): boolean {
    const transfer = this.find(number)
    return transfer?.account === account && isUnapproved(transfer)
  }

  get #known(): ReadonlyArray<NaiveTransfer> {
    return this.transfers.filter(({ isForgotten }) => !isForgotten)
  }

  /** Does something, and takes in what it has changed of transfers: they are told so, and those that are over go in their order. */
  #noting<A>(act: () => A): A {
    const before = new Map(this.#known.map((transfer) => [transfer, textOf(transfer)]))
    const came = act()
    // Gathered first: what comes to its end may have another forgotten.
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
    this.history.transfers.push({
      sequence: this.around.sequence(),
      account,
      kind,
      number,
      status: statusOf(transfer),
      partyId,
      failedAt: failure?.stage,
      outcome: outcomeOf(transfer),
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

  /** Of an account and not over. */
  openOf(account: number): ReadonlyArray<NaiveTransfer> {
    return this.transfers.filter((transfer) => transfer.account === account && transfer.end === undefined)
  }

  /** Held for withdrawals. */
  get reserved(): bigint {
    return this.transfers
      .filter(({ isSettled, kind }) => kind === "withdrawal" && !isSettled)
      .reduce((sum, { amount }) => sum + amount, 0n)
  }

  /** When the next transfer expires; `Infinity` where none waits. */
  get nextDueEpochMs(): number {
    const [first] = this.#waiting
    return first === undefined ? Number.POSITIVE_INFINITY : this.find(first)!.waitsSince + dayMs
  }

  /** What a record does by itself; the accounts that it touched. */
  doWhatIsDue(): ReadonlyArray<number> {
    const touched: Array<number> = []
    for (let left = this.bounds.expiredAtOnce; left > 0 && this.nextDueEpochMs <= this.around.now(); left--) {
      const transfer = this.find(this.#waiting[0]!)!
      this.#noting(() => this.#fail(transfer, "expired", { step: atHand(transfer)!.name, stage: "approval", guard: "not_approved" }))
      touched.push(transfer.account)
    }
    for (const transfer of this.transfers) {
      if (transfer.end !== undefined && !transfer.isSettled && isNeeded(transfer)) this.#noting(() => this.#payIn(transfer))
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

  /** A step comes to be waited for anew: its owner has a whole day again. */
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

  /** Why a fact is refused as things stand; `none` where it is taken. */
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
    attempt.approval = { nonce, credentialId }
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

  /** A step of a transfer, where it is the one at hand; or why nothing may be done with it. */
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
        // One that was refused is forgotten as such; of any other nobody will ever know.
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
    // Once the ledger has taken it in, or refused it, no answer changes that.
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

  /** The latest step that a command was prepared for. */
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

  /** The ledger has done a step: what follows from that, whatever was thought of the transfer. */
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
      // What the treasury was to pay with has gone to somebody else: its owner is asked again.
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
      // A transaction that nobody approved came and went within the day that its owner has.
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

  /** Pays what an account is owed, once it has room: a deposit that was done, and a withdrawal that was not. */
  #payIn(transfer: NaiveTransfer): void {
    const { account, amount, end, kind } = transfer
    const isOwed = kind === "deposit" ? end === "ledger_confirmed" : kind === "withdrawal" && end !== "ledger_confirmed"
    if (!isOwed || this.around.collateral(account) + amount > exact) return
    transfer.isSettled = true
    if (kind === "deposit") this.deposited += amount
    this.around.pay(account, amount, kind === "deposit" ? "deposit" : "withdrawal_returned")
  }

  /** An offer that stands behind a deposit's end is to be withdrawn. */
  #withdrawOffer({ end, steps }: NaiveTransfer): void {
    const done = (name: StepName): boolean => steps.some((step) => step.name === name && step.accepted !== undefined)
    if (end === "ledger_confirmed" || !done("treasury_offer") || done("owner_offer_acceptance")) return
    if (!steps.some(({ name }) => name === "treasury_offer_withdrawal")) steps.push(newStep("treasury_offer_withdrawal"))
  }
}

/** What a ledger says of contracts that are spent, or that somebody else is about to spend. */
const gone: ReadonlyArray<string> = [
  "CONTRACT_NOT_FOUND",
  "CONTRACT_NOT_ACTIVE",
  "LOCAL_VERDICT_INACTIVE_CONTRACTS",
  "LOCAL_VERDICT_LOCKED_CONTRACTS",
  "UNKNOWN_CONTRACT_SYNCHRONIZERS"
]

const newStep = (name: StepName): NaiveStep => ({ name, binding: undefined, attempts: [], accepted: undefined, contradictedAt: 0 })
