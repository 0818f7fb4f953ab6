/**
 * The latest balance changes of all accounts with their causes: a bounded ring from which an account's own are read, newest first.
 * Part of the state, so that a restart from a snapshot has them.
 */
import { assert } from "../domain/Assert.js"
import { anyMarket, none } from "../domain/None.js"
import { Newest } from "./Newest.js"
import type { SectionWriter } from "./Sections.js"

/** Why a balance changed, by code: never renumber. */
export const causes = [
  "",
  "credit",
  "realized_pnl",
  "fee",
  "funding",
  "liquidation_fee",
  "funding_rest",
  "collected_fees",
  "deposit",
  "withdrawal_reserved",
  "withdrawal_returned",
  "takeover_difference"
] as const
export type CauseName = Exclude<(typeof causes)[number], "">

export const Cause = {
  credit: 1,
  realizedPnl: 2,
  fee: 3,
  funding: 4,
  liquidationFee: 5,
  fundingRest: 6,
  collectedFees: 7,
  deposit: 8,
  withdrawalReserved: 9,
  withdrawalReturned: 10,
  takeoverDifference: 11
} as const
export type Cause = (typeof Cause)[keyof typeof Cause]

/**
 * The place of a change among those of its account: the record that made it, and how many later changes of the same account that
 * record made. It reveals nothing about other accounts.
 */
export interface Place {
  readonly sequence: number
  readonly place: number
}

/** One balance change. Money in money atoms. */
export interface BalanceChange extends Place {
  readonly atEpochMs: number
  readonly account: number
  readonly cause: number
  /** The market; -1 where there is none. */
  readonly market: number
  /** The signed change of the balance. */
  readonly amountAtoms: number
  /** The balance afterwards. */
  readonly balanceAtoms: number
}

/** Changes kept: the same everywhere, since they are part of the state. */
const changesKept = 65_536

/** A row has eight numbers: these, and the ordinal of the account's previous change, which no dump contains. */
const names = ["sequence", "atEpochMs", "account", "cause", "market", "amountAtoms", "balanceAtoms"] as const
const at = { sequence: 0, atEpochMs: 1, account: 2, cause: 3, market: 4, amountAtoms: 5, balanceAtoms: 6, older: 7 } as const
const rowBits = 3
const rowNumbers = 1 << rowBits

/** Rows lie in chunks of this many, each allocated for its first row: nothing is ever copied to make room. */
const chunkBits = 9
const chunkMask = (1 << chunkBits) - 1

export class BalanceLog {
  /** Changes so far, which is also the ordinal of the next. */
  total = 0
  private readonly chunks: Array<Float64Array> = []
  /** The ring index of the next change (its ordinal modulo the capacity), that index's chunk, and the start of its row. */
  private place = 0
  private rows: Float64Array = new Float64Array(0)
  private row = 0
  private readonly newest = new Newest()

  constructor(private readonly capacity: number = changesKept) {}

  add(
    sequence: number,
    atEpochMs: number,
    account: number,
    cause: Cause,
    market: number,
    amountAtoms: number,
    balanceAtoms: number
  ): void {
    assert(amountAtoms !== 0, "a change of a balance is of something")
    if (this.row === this.rows.length) this.turn()
    const { row, rows } = this
    this.row = row + rowNumbers
    if (++this.place === this.capacity) this.wrap()
    rows[row | at.sequence] = sequence
    rows[row | at.atEpochMs] = atEpochMs
    rows[row | at.account] = account
    rows[row | at.cause] = cause
    rows[row | at.market] = market
    rows[row | at.amountAtoms] = amountAtoms
    rows[row | at.balanceAtoms] = balanceAtoms
    rows[row | at.older] = this.newest.replace(account, this.total++)
  }

  /** Reads the place of an account's newest change ahead of its use. The result means nothing. */
  readAhead(account: number): number {
    return this.newest.at(account)
  }

  /** Selects the chunk of the next place, allocated if need be. */
  private turn(): void {
    const { chunks, place } = this
    const chunk = place >> chunkBits
    while (chunks.length <= chunk) chunks.push(new Float64Array(1 << (chunkBits + rowBits)))
    this.rows = chunks[chunk]!
    this.row = (place & chunkMask) << rowBits
  }

  /** Returns to the beginning of the ring. */
  private wrap(): void {
    this.place = 0
    this.row = this.rows.length
  }

  private value(ordinal: number, column: number): number {
    const slot = ordinal % this.capacity
    return this.chunks[slot >> chunkBits]![(slot & chunkMask) << rowBits | column]!
  }

  private isKept(ordinal: number): boolean {
    return ordinal >= 0 && ordinal < this.total && ordinal >= this.total - this.capacity
  }

  /**
   * Retained changes of an account, newest first, at most `limit`, in one market unless `anyMarket`, before the place `before`
   * (undefined: from the newest).
   */
  of(account: number, market: number, before: Place | undefined, limit: number): ReadonlyArray<BalanceChange> {
    const found: Array<BalanceChange> = []
    let ordinal = before === undefined ? this.newest.at(account) : this.newestBy(account, before.sequence)
    let place = 0
    for (let newer = none; this.isKept(ordinal) && found.length < limit; newer = ordinal, ordinal = this.value(ordinal, at.older)) {
      const sequence = this.value(ordinal, at.sequence)
      place = newer !== none && this.value(newer, at.sequence) === sequence ? place + 1 : 0
      if (before !== undefined && sequence === before.sequence && place <= before.place) continue
      if (market === anyMarket || this.value(ordinal, at.market) === market) found.push(this.change(ordinal, place))
    }
    return found
  }

  /**
   * The newest retained change of an account made by the given record or an earlier one; -1 where there is none. The changes of
   * that record are found by bisection and searched; only where none belongs to the account is its own chain followed from the
   * newest on.
   */
  private newestBy(account: number, sequence: number): number {
    let [from, to] = [Math.max(0, this.total - this.capacity), this.total]
    while (from < to) {
      const middle = Math.floor((from + to) / 2)
      if (this.value(middle, at.sequence) <= sequence) from = middle + 1
      else to = middle
    }
    for (let ordinal = from - 1; this.isKept(ordinal) && this.value(ordinal, at.sequence) === sequence; ordinal--) {
      if (this.value(ordinal, at.account) === account) return ordinal
    }
    let ordinal = this.newest.at(account)
    while (this.isKept(ordinal) && this.value(ordinal, at.sequence) > sequence) ordinal = this.value(ordinal, at.older)
    return ordinal
  }

  private change(ordinal: number, place: number): BalanceChange {
    return {
      sequence: this.value(ordinal, at.sequence),
      place,
      atEpochMs: this.value(ordinal, at.atEpochMs),
      account: this.value(ordinal, at.account),
      cause: this.value(ordinal, at.cause),
      market: this.value(ordinal, at.market),
      amountAtoms: this.value(ordinal, at.amountAtoms),
      balanceAtoms: this.value(ordinal, at.balanceAtoms)
    }
  }

  /**
   * The record of the oldest retained change, 0 while none has been forgotten: changes of this record or earlier ones may have
   * been.
   */
  get oldestKept(): number {
    return this.total > this.capacity ? this.value(this.total - this.capacity, at.sequence) : 0
  }

  /** An account's balance after its newest retained change; undefined where none is retained. */
  balanceOf(account: number): number | undefined {
    const ordinal = this.newest.at(account)
    return this.isKept(ordinal) ? this.value(ordinal, at.balanceAtoms) : undefined
  }

  /** The number at an index of the dump: first the count of changes so far, then the rows kept, oldest first. */
  private dumpedAt(index: number): number {
    if (index === 0) return this.total
    const row = Math.floor((index - 1) / names.length)
    return this.value(Math.max(0, this.total - this.capacity) + row, (index - 1) - row * names.length)
  }

  private get dumpedLength(): number {
    return 1 + Math.min(this.total, this.capacity) * names.length
  }

  dump(): Float64Array {
    return Float64Array.from({ length: this.dumpedLength }, (_, index) => this.dumpedAt(index))
  }

  /** Writes the dump as a section. */
  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.dumpedLength, (index) => this.dumpedAt(index))
  }

  static restore(dumped: Float64Array, capacity?: number): BalanceLog {
    const log = new BalanceLog(capacity)
    const kept = (dumped.length - 1) / names.length
    assert(Number.isInteger(kept) && kept <= log.capacity && kept <= dumped[0]!, "dumped rows are whole")
    log.total = dumped[0]! - kept
    log.place = log.total % log.capacity
    log.turn()
    for (let row = 0; row < kept; row++) {
      const [sequence, atEpochMs, account, cause, market, amountAtoms, balanceAtoms] = dumped.subarray(
        1 + row * names.length,
        1 + (row + 1) * names.length
      )
      log.add(sequence!, atEpochMs!, account!, cause as Cause, market!, amountAtoms!, balanceAtoms!)
    }
    return log
  }
}
