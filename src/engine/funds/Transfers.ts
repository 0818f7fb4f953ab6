/**
 * All transfers that are kept, by number, with what is asked for of them: those of an account, those that are not over, the step of
 * a command, and which of them wait for an approval, in the order in which they began to. Of those that are over the latest are
 * kept.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { StepwiseLine, StepwiseMap } from "../../domain/Stepwise.js"
import type { TransferKind } from "../../operations/funds/Transfers.js"
import type { FundsBounds } from "./Bounds.js"
import { type EndedTransfer, endedOf, isNeeded, isUnapproved, isVenues, type Transfer } from "./Transfer.js"

/** A step by its place. */
export interface StepOf {
  readonly transfer: number
  readonly at: number
}

/** The table as a snapshot has it: all that is kept by number; and the orders that are not read off it. */
export interface TransfersDump {
  readonly transfers: ReadonlyArray<Transfer>
  readonly ended: ReadonlyArray<number>
  readonly unapproved: ReadonlyArray<number>
}

const ascending = (one: number, other: number): number => one - other

const preparedLengthOf = ({ steps }: Transfer): number =>
  steps.reduce((sum, { preparation }) => sum + (preparation?.preparedTransaction.length ?? 0), 0)

export class Transfers {
  private readonly byNumber = new StepwiseMap<number, Transfer>()
  /** Numbers by account, ascending. */
  private readonly byAccount = new StepwiseMap<number, Array<number>>()
  private readonly byCommand = new StepwiseMap<string, StepOf>()
  private readonly needed = new StepwiseMap<number, true>()
  private readonly venues = new StepwiseMap<number, true>()
  /** Those that are over, in the order in which they came to be: of all, and of each account. */
  private readonly ended = new StepwiseLine<number, true>()
  private readonly endedByAccount = new StepwiseMap<number, Set<number>>()
  private readonly unapproved = new StepwiseLine<number, true>()
  /**
   * By which record one was last forgotten, or by an earlier one: 0 where none was. Made anew of a snapshot, of which it is told that
   * it was no later than the last change of what is kept.
   */
  forgotBySequence = 0
  /** Characters of prepared transactions that are kept. */
  preparedLength = 0

  constructor(private readonly bounds: FundsBounds) {}

  get count(): number {
    return this.byNumber.size
  }

  /** Transfers that are not over, or of which money is held or owed. */
  get openCount(): number {
    return this.needed.size
  }

  find(number: number): Transfer | undefined {
    return this.byNumber.get(number)
  }

  /** The step of a command, of the latest transfer that has it. */
  ofCommand(commandId: string): StepOf | undefined {
    return this.byCommand.get(commandId)
  }

  /** Those of an account that are not over, oldest first; of one kind if one is given. */
  openOf(account: number, kind?: TransferKind): ReadonlyArray<Transfer> {
    const open: Array<Transfer> = []
    const own = this.byAccount.get(account) ?? []
    const most = own.length - (this.endedByAccount.get(account)?.size ?? 0)
    for (let at = own.length - 1; at >= 0 && open.length < most; at--) {
      const transfer = this.byNumber.get(own[at]!)!
      if (this.needed.has(transfer.number)) open.unshift(transfer)
    }
    return open.filter((transfer) => transfer.end === null && (kind === undefined || transfer.kind === kind))
  }

  /** Those of an account and a kind, newest first, at most `limit`, older than a number (`Infinity`: from the newest). */
  of(account: number, kind: TransferKind, before: number, limit: number): ReadonlyArray<Transfer> {
    const found: Array<Transfer> = []
    const own = this.byAccount.get(account) ?? []
    for (let at = own.length - 1; at >= 0 && found.length < limit; at--) {
      const transfer = this.byNumber.get(own[at]!)!
      if (transfer.number < before && transfer.kind === kind) found.push(transfer)
    }
    return found
  }

  /** Whether one of an account may have been there that is not known any more. */
  mayHaveForgottenOf(account: number): boolean {
    const { endedInAll, endedOfAccount } = this.bounds
    // One that was over and is needed again has left room behind it, and may have taken it from another.
    const own = this.byAccount.get(account)?.length ?? 0
    return this.count >= endedInAll || own - this.openOf(account).length >= endedOfAccount
  }

  /** Numbers from here on are of no transfer of the account that is forgotten; 0 where none is. */
  knownFrom(account: number): number {
    if (!this.mayHaveForgottenOf(account)) return 0
    const own = this.endedByAccount.get(account)
    // What was forgotten had ended before what is kept, and was asked for before that.
    const oldest = own === undefined ? this.ended : own
    return oldest.size === 0 ? Infinity : Ids.ordinal(this.byNumber.get(first(oldest.keys()))!.lastSequence + 1, 0)
  }

  /** What is told of all that may be forgotten, by number. */
  allEnded(): ReadonlyArray<EndedTransfer> {
    return this.inOrder(this.ended.keys()).map(endedOf)
  }

  /** All that are not over, by number. */
  allOpen(): ReadonlyArray<Transfer> {
    return this.inOrder(this.needed.keys())
  }

  /** Those of them that it is for the venue to go on with. */
  allVenues(): ReadonlyArray<Transfer> {
    return this.inOrder(this.venues.keys())
  }

  private inOrder(numbers: Iterable<number>): ReadonlyArray<Transfer> {
    return [...numbers].sort(ascending).map((number) => this.byNumber.get(number)!)
  }

  /** The one that has waited longest for an approval. */
  get longestUnapproved(): Transfer | undefined {
    // Every record asks, and nearly always there is none.
    if (this.unapproved.size === 0) return undefined
    for (const number of this.unapproved.keys()) return this.byNumber.get(number)
    return undefined
  }

  add(transfer: Transfer): void {
    assert(!this.byNumber.has(transfer.number), "a transfer is asked for once")
    this.keep(transfer)
    if (isUnapproved(transfer)) this.unapproved.set(transfer.number, true)
  }

  private keep(transfer: Transfer): void {
    const own = this.byAccount.get(transfer.account)
    if (own === undefined) this.byAccount.set(transfer.account, [transfer.number])
    else own.push(transfer.number)
    this.hold(transfer)
  }

  /** Puts a transfer in the place of what it was. One that is over from here on may push out the oldest such: these are given. */
  put(transfer: Transfer): ReadonlyArray<Transfer> {
    const before = this.byNumber.get(transfer.number)
    assert(before !== undefined && before.account === transfer.account, "a transfer is changed in its place")
    this.preparedLength -= preparedLengthOf(before)
    // A step that is not to be done any more takes its command with it.
    for (const { binding, name } of before.steps) {
      if (binding !== null && !transfer.steps.some((step) => step.name === name)) this.unbind(binding.commandId, transfer.number)
    }
    this.hold(transfer)
    // A step that waits anew does so behind all others, also where the one before waited.
    if (!isUnapproved(transfer)) this.unapproved.delete(transfer.number)
    else if (!this.unapproved.has(transfer.number) || before.dueSinceEpochMs !== transfer.dueSinceEpochMs) {
      this.unapproved.delete(transfer.number)
      this.unapproved.set(transfer.number, true)
    }
    if (isNeeded(before) === isNeeded(transfer)) return []
    // The ledger may say of one that is over what was no longer awaited.
    if (isNeeded(transfer)) {
      this.revive(transfer)
      return []
    }
    this.end(transfer)
    const forgotten = this.forget(transfer.account)
    if (forgotten.length > 0) this.forgotBySequence = transfer.lastSequence
    return forgotten
  }

  private hold(transfer: Transfer): void {
    const { number } = transfer
    this.byNumber.set(number, transfer)
    this.preparedLength += preparedLengthOf(transfer)
    transfer.steps.forEach(({ binding }, at) => {
      if (binding !== null) this.bind(binding.commandId, { transfer: number, at })
    })
    if (isNeeded(transfer)) this.needed.set(number, true)
    else this.needed.delete(number)
    if (isVenues(transfer)) this.venues.set(number, true)
    else this.venues.delete(number)
  }

  /** A command that several transfers of an account have had is the latest one's. */
  private bind(commandId: string, step: StepOf): void {
    const known = this.byCommand.get(commandId)
    if (known === undefined || known.transfer <= step.transfer) this.byCommand.set(commandId, step)
  }

  private unbind(commandId: string, number: number): void {
    if (this.byCommand.get(commandId)?.transfer === number) this.byCommand.delete(commandId)
  }

  private end({ account, number }: Transfer): void {
    this.ended.set(number, true)
    const own = this.endedByAccount.get(account)
    if (own === undefined) this.endedByAccount.set(account, new Set([number]))
    else own.add(number)
  }

  private revive({ account, number }: Transfer): void {
    this.ended.delete(number)
    const own = this.endedByAccount.get(account)
    own?.delete(number)
    if (own?.size === 0) this.endedByAccount.delete(account)
  }

  private forget(account: number): ReadonlyArray<Transfer> {
    const forgotten: Array<Transfer> = []
    const own = this.endedByAccount.get(account)!
    if (own.size > this.bounds.endedOfAccount) forgotten.push(this.remove(first(own)))
    if (this.ended.size > this.bounds.endedInAll) forgotten.push(this.remove(first(this.ended.keys())))
    return forgotten
  }

  private remove(number: number): Transfer {
    const transfer = this.byNumber.get(number)!
    this.revive(transfer)
    this.byNumber.delete(number)
    this.preparedLength -= preparedLengthOf(transfer)
    const own = this.byAccount.get(transfer.account)!
    own.splice(own.indexOf(number), 1)
    if (own.length === 0) this.byAccount.delete(transfer.account)
    for (const { binding } of transfer.steps) {
      if (binding !== null) this.unbind(binding.commandId, number)
    }
    return transfer
  }

  dump(): TransfersDump {
    const transfers = [...this.byNumber.keys()].sort(ascending).map((number) => this.byNumber.get(number)!)
    return { transfers, ended: [...this.ended.keys()], unapproved: [...this.unapproved.keys()] }
  }

  restore({ ended, transfers, unapproved }: TransfersDump): void {
    for (const transfer of transfers) this.keep(transfer)
    for (const number of ended) this.end(this.byNumber.get(number)!)
    for (const number of unapproved) this.unapproved.set(number, true)
    // The one by whose end another was forgotten is kept, since nothing was forgotten after it.
    for (const { lastSequence } of transfers) this.forgotBySequence = Math.max(this.forgotBySequence, lastSequence)
  }
}

const first = (numbers: Iterable<number>): number => {
  for (const number of numbers) return number
  throw new Error("there is one")
}
