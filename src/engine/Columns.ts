/** Growing typed arrays: the storage of the engine's large tables, by row or by column. */

import { assert } from "../domain/Assert.js"

/** From this capacity on, columns are allocated at full length: copying a smaller one takes less than a millisecond. */
const wholeFrom = 2 ** 14

/**
 * The initial length of a column of at most `capacity` entries. A large one is allocated in full: the system provides pages only as
 * they are touched, while growing would copy the whole column during one command.
 */
export const initialLength = (capacity: number, small: number): number => capacity >= wholeFrom ? capacity : Math.min(capacity, small)

/** The larger of double and `needed`, at most `capacity`. */
export const grownLength = (length: number, needed: number, capacity = Number.MAX_SAFE_INTEGER): number =>
  Math.min(capacity, Math.max(needed, length * 2))

/** Room for the greatest number of accounts (`maxAccounts`). */
const everyAccount = 2 ** 20

/**
 * The next length of a column: double until it is large, and then its greatest length (`most`), so that a large column is never
 * copied.
 */
export const lengthUpTo = (most: number, length: number, needed: number): number =>
  needed > wholeFrom ? Math.max(most, needed) : grownLength(length, needed, most)

/** The next length of a column that is indexed by account. */
export const lengthByAccount = (length: number, needed: number): number => lengthUpTo(everyAccount, length, needed)

/**
 * Offset of a table's first row in its buffer, bytes. A large buffer has pages of its own, of which the allocator uses the first 16
 * bytes: rows of 64 or 128 bytes would each straddle one more cache line than needed. With this offset the rows begin on a pair of
 * lines; if a buffer is aligned differently, nothing is lost.
 */
const behindHead = 112

/** Memory for rows of 64 or 128 bytes: see `behindHead`. */
export const newRows = (length: number): Float64Array<ArrayBuffer> =>
  new Float64Array(new ArrayBuffer(behindHead + length * Float64Array.BYTES_PER_ELEMENT), behindHead, length)

/** Longer rows with the same content, filled up with 0. */
export const growRows = (rows: Float64Array, length: number): Float64Array<ArrayBuffer> => {
  const grown = newRows(length)
  grown.set(rows)
  return grown
}

/** Memory for rows whose beginning is read from a snapshot, and which a table then adopts, once. */
export class Room {
  private rows: Float64Array<ArrayBuffer> | undefined

  constructor(length: number) {
    this.rows = newRows(length)
  }

  /** The memory for the first bytes of the rows. */
  bytes(length: number): Uint8Array {
    return bytesOf(this.rows!).subarray(0, length)
  }

  /**
   * The rows, with 0 behind the bytes that were read. They can be taken once only, since the table that takes them changes them.
   */
  take(): Float64Array<ArrayBuffer> {
    const { rows } = this
    assert(rows !== undefined, "what is in a room is taken once")
    this.rows = undefined
    return rows
  }
}

/** The bytes of a column or of rows, as a view. */
export const bytesOf = (column: Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(column.buffer, column.byteOffset, column.byteLength)

/** A longer copy, the rest zeros. */
export const growFloats = (column: Float64Array, length: number): Float64Array<ArrayBuffer> => {
  const grown = new Float64Array(length)
  grown.set(column)
  return grown
}

/** A longer copy, the rest zeros. */
export const growInts = (column: Int32Array, length: number): Int32Array<ArrayBuffer> => {
  const grown = new Int32Array(length)
  grown.set(column)
  return grown
}

/** The memory of a column as words of 4 bytes. */
export const wordsOf = (numbers: Float64Array): Int32Array => new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length * 2)

/** A list of 32-bit integers that keeps its memory when it is cleared. */
export class Line {
  private numbers: Int32Array = new Int32Array(64)
  private count = 0

  get length(): number {
    return this.count
  }

  at(index: number): number {
    return this.numbers[index]!
  }

  push(value: number): void {
    if (this.count === this.numbers.length) this.numbers = growInts(this.numbers, this.count * 2)
    this.numbers[this.count++] = value
  }

  clear(): void {
    this.count = 0
  }
}

/** How tables are allocated and grow. */
export interface Growth {
  /** Initial rows of accounts and of positions. */
  readonly rows: number
  /** From this many rows on, a table without a fixed limit grows step by step. */
  readonly stepwiseFrom: number
  /** The number of open orders from which on a position has an `OpenList`, an even number; below half of it the list is dropped. */
  readonly listedFrom: number
}

export const usualGrowth: Growth = { rows: 64, stepwiseFrom: 4_096, listedFrom: 32 }

/** Rows copied with each new one: copying begins when the table is three quarters full, and ends before it is full. */
const copiedAtOnce = 5

/**
 * The larger buffer of a table that is nearly full. Rows are copied into it a few at a time as new ones arrive, and it replaces the
 * table's buffer when that is full, so that no command has to wait for the whole copy. A change of a row that has been copied must
 * be made here as well.
 */
export class Successor {
  readonly numbers: Float64Array
  readonly words: Int32Array

  /** Allocates `rows` of `rowNumbers` numbers; the system provides the pages as they are touched. */
  constructor(rows: number, private readonly rowNumbers: number) {
    this.numbers = newRows(rows * rowNumbers)
    this.words = wordsOf(this.numbers)
  }

  /** Copies rows `from` to `to` by words: a number may hold two words whose bits are not a valid number. */
  copy(rows: Int32Array, from: number, to: number): void {
    const { rowNumbers, words } = this
    const end = to * rowNumbers * 2
    for (let at = from * rowNumbers * 2; at < end; at++) words[at] = rows[at]!
  }
}

/** Whether a table is full enough to begin its successor. */
export const isSoonFull = (count: number, rows: number): boolean => count * 4 >= rows * 3

/** The row up to which to copy next, where `copied` of `count` rows have been. */
export const copiedNext = (copied: number, count: number): number => Math.min(count, copied + copiedAtOnce)
