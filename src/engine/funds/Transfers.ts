/**
 * All transfers kept, by number, with indexes for an account's transfers, the unfinished ones, the step of a ledger command, and
 * those that wait for an approval, in the order in which they began to wait. Of the finished ones only the latest are kept.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { StepwiseLine, StepwiseMap } from "../../domain/Stepwise.js"
import type { TransferKind } from "../../operations/funds/Transfers.js"
import type { FundsBounds } from "./Bounds.js"
import { type EndedTransfer, endedOf, holdsAmount, isNeeded, isUnapproved, isVenues, type Transfer } from "./Transfer.js"

/** Identifies a step: its transfer, and its index there. */
export interface StepOf {
  readonly transfer: number
  readonly at: number
}

/** The table as a snapshot holds it: all transfers by number, and the two orders that cannot be derived from them. */
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
  /** Transfer numbers by account, ascending. */
  private readonly byAccount = new StepwiseMap<number, Array<number>>()
  private readonly byCommand = new StepwiseMap<string, StepOf>()
  private readonly needed = new StepwiseMap<number, true>()
  private readonly venues = new StepwiseMap<number, true>()
  /** Finished transfers in the order in which they ended: of all accounts, and of each. */
  private readonly ended = new StepwiseLine<number, true>()
  private readonly endedByAccount = new StepwiseMap<number, Set<number>>()
  private readonly unapproved = new StepwiseLine<number, true>()
  /**
   * The sequence of the record that last forgot a transfer, or a later bound of it; 0 where none did. Snapshots do not contain it:
   * restoring takes the last change of any kept transfer, since forgetting cannot have been later.
   */
  forgotBySequence = 0
  /** Characters of prepared transactions that are kept. */
  preparedLength = 0

  constructor(private readonly bounds: FundsBounds) {}

  get count(): number {
    return this.byNumber.size
  }

  /** Transfers that are unfinished, or for which money is still held or owed. */
  get openCount(): number {
    return this.needed.size
  }

  find(number: number): Transfer | undefined {
    return this.byNumber.get(number)
  }

  /** The step that a ledger command belongs to; of several transfers that used the command, in the latest. */
  ofCommand(commandId: string): StepOf | undefined {
    return this.byCommand.get(commandId)
  }

  /** Unfinished transfers of an account, oldest first; of one kind if one is given. */
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

  /**
   * Transfers of an account and a kind, newest first, at most `limit`, with numbers below `before` (`Infinity`: from the newest).
   */
  of(account: number, kind: TransferKind, before: number, limit: number): ReadonlyArray<Transfer> {
    const found: Array<Transfer> = []
    const own = this.byAccount.get(account) ?? []
    for (let at = own.length - 1; at >= 0 && found.length < limit; at--) {
      const transfer = this.byNumber.get(own[at]!)!
      if (transfer.number < before && transfer.kind === kind) found.push(transfer)
    }
    return found
  }

  /** Whether a transfer of an account may have been forgotten. */
  mayHaveForgottenOf(account: number): boolean {
    const { endedInAll, endedOfAccount } = this.bounds
    // A finished transfer that became needed again no longer counts as finished, but may have displaced another one before.
    const own = this.byAccount.get(account)?.length ?? 0
    return this.count >= endedInAll || own - this.openOf(account).length >= endedOfAccount
  }

  /** The number from which on no transfer of the account has been forgotten; 0 where none has been at all. */
  knownFrom(account: number): number {
    if (!this.mayHaveForgottenOf(account)) return 0
    const own = this.endedByAccount.get(account)
    // Whatever was forgotten had ended before everything kept here ended, and was requested earlier still.
    const oldest = own === undefined ? this.ended : own
    return oldest.size === 0 ? Infinity : Ids.ordinal(this.byNumber.get(first(oldest.keys()))!.lastSequence + 1, 0)
  }

  /** What is published of every finished transfer, by number. */
  allEnded(): ReadonlyArray<EndedTransfer> {
    return this.inOrder(this.ended.keys()).map(endedOf)
  }

  /** All unfinished transfers, by number. */
  allOpen(): ReadonlyArray<Transfer> {
    return this.inOrder(this.needed.keys())
  }

  /** Unfinished transfers that the venue has to continue. */
  allVenues(): ReadonlyArray<Transfer> {
    return this.inOrder(this.venues.keys())
  }

  /** What withdrawals hold of each account, money atoms; accounts of which they hold nothing are missing. */
  heldByAccount(): ReadonlyMap<number, bigint> {
    const held = new Map<number, bigint>()
    for (const number of this.needed.keys()) {
      const transfer = this.byNumber.get(number)!
      if (holdsAmount(transfer)) held.set(transfer.account, (held.get(transfer.account) ?? 0n) + BigInt(transfer.amountAtoms))
    }
    return held
  }

  private inOrder(numbers: Iterable<number>): ReadonlyArray<Transfer> {
    return [...numbers].sort(ascending).map((number) => this.byNumber.get(number)!)
  }

  /** The transfer that has waited longest for an approval. */
  get longestUnapproved(): Transfer | undefined {
    // Every record asks for it, and nearly always there is none.
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

  /** Replaces a transfer. One that has just finished may push out the oldest finished ones; these are returned. */
  put(transfer: Transfer): ReadonlyArray<Transfer> {
    const before = this.byNumber.get(transfer.number)
    assert(before !== undefined && before.account === transfer.account, "a transfer is changed in its place")
    this.preparedLength -= preparedLengthOf(before)
    // A step that was removed releases its ledger command.
    for (const { binding, name } of before.steps) {
      if (binding !== null && !transfer.steps.some((step) => step.name === name)) this.unbind(binding.commandId, transfer.number)
    }
    this.hold(transfer)
    // A step that begins to wait goes to the end of the queue, even where the step before it was waiting too.
    if (!isUnapproved(transfer)) this.unapproved.delete(transfer.number)
    else if (!this.unapproved.has(transfer.number) || before.dueSinceEpochMs !== transfer.dueSinceEpochMs) {
      this.unapproved.delete(transfer.number)
      this.unapproved.set(transfer.number, true)
    }
    if (isNeeded(before) === isNeeded(transfer)) return []
    // The ledger may confirm a step of a finished transfer, which then needs to be kept again.
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

  /** Where several transfers of an account have used one command, it belongs to the latest. */
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
    // The transfer whose end last pushed out another is still kept, since nothing was forgotten after it.
    for (const { lastSequence } of transfers) this.forgotBySequence = Math.max(this.forgotBySequence, lastSequence)
  }
}

const first = (numbers: Iterable<number>): number => {
  for (const number of numbers) return number
  throw new Error("there is one")
}
