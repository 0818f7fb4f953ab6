/** Typed arrays that grow: the storage of everything the engine has many of, in rows or in columns. */

import { assert } from "../domain/Assert.js"

/** From this many entries on, columns are made whole at once: copying less than that takes no command a millisecond. */
const wholeFrom = 2 ** 14

/**
 * How long a column of at most `capacity` entries begins. A large one has its whole length: the system gives
 * pages as they are first touched, and growing would copy all of them in one turn.
 */
export const initialLength = (capacity: number, small: number): number => capacity >= wholeFrom ? capacity : Math.min(capacity, small)

/** The larger of double and `needed`, at most `capacity`. */
export const grownLength = (length: number, needed: number, capacity = Number.MAX_SAFE_INTEGER): number =>
  Math.min(capacity, Math.max(needed, length * 2))

/** Room for every account that there may be (`maxAccounts`). */
const everyAccount = 2 ** 20

/**
 * How long a column becomes: double, until it is large; then as long as it may ever be (`most`), so that what is large is never
 * copied.
 */
export const lengthUpTo = (most: number, length: number, needed: number): number =>
  needed > wholeFrom ? Math.max(most, needed) : grownLength(length, needed, most)

/** The same of one that has an entry for each account, or for each of some of them. */
export const lengthByAccount = (length: number, needed: number): number => lengthUpTo(everyAccount, length, needed)

/**
 * How far into its memory a table of rows begins, bytes. What is large gets whole pages of its own, and the allocator keeps the first
 * 16 bytes of them for itself: rows of 64 or 128 bytes would each lie across one cache line more than they fill. So far behind them a
 * pair of lines begins. Where memory lies otherwise the rows are none the worse for it.
 */
const behindHead = 112

/** Numbers for rows of 64 or 128 bytes: see `behindHead`. */
export const newRows = (length: number): Float64Array<ArrayBuffer> =>
  new Float64Array(new ArrayBuffer(behindHead + length * Float64Array.BYTES_PER_ELEMENT), behindHead, length)

/** Longer rows with the same content, the rest 0. */
export const growRows = (rows: Float64Array, length: number): Float64Array<ArrayBuffer> => {
  const grown = newRows(length)
  grown.set(rows)
  return grown
}

/** Rows whose beginning somebody else fills, to give them to whoever goes on in them: once. */
export class Room {
  private rows: Float64Array<ArrayBuffer> | undefined

  constructor(length: number) {
    this.rows = newRows(length)
  }

  /** Where the first bytes of the rows are put. */
  bytes(length: number): Uint8Array {
    return bytesOf(this.rows!).subarray(0, length)
  }

  /** The rows, 0 behind what was put there. Whoever asks again would have what was changed since. */
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

/** A longer copy, the rest filled with `fill`. */
export const growFloats = (column: Float64Array, length: number, fill = 0): Float64Array<ArrayBuffer> => {
  const grown = new Float64Array(length)
  grown.set(column)
  if (fill !== 0) grown.fill(fill, column.length)
  return grown
}

/** A longer copy, the rest filled with `fill`. */
export const growInts = (column: Int32Array, length: number, fill = 0): Int32Array<ArrayBuffer> => {
  const grown = new Int32Array(length)
  grown.set(column)
  if (fill !== 0) grown.fill(fill, column.length)
  return grown
}

/** The second view of rows of numbers: their words of 4 bytes. */
export const wordsOf = (numbers: Float64Array): Int32Array => new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length * 2)

/** Whole numbers of 4 bytes one behind the other, emptied and filled again: it keeps its memory. */
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

/** How tables begin and grow. */
export interface Growth {
  /** Rows of accounts, and of positions, that there is room for at first. */
  readonly rows: number
  /** From this many rows on, a table that may grow without bound does so step by step. */
  readonly stepwiseFrom: number
  /** A position has a list of its open orders from so many on, an even number, and no longer where it has fewer than half of them. */
  readonly listedFrom: number
}

export const usualGrowth: Growth = { rows: 64, stepwiseFrom: 4_096, listedFrom: 32 }

/** Rows that are copied with each one that comes: begun when a table is three quarters full, all are copied before it is full. */
const copiedAtOnce = 5

/**
 * The longer buffer of a table that is soon full. It is filled a few rows at a time, while others come, and takes over
 * once the table is full: so no command waits until all of them are copied. Whoever changes a row that has been copied
 * changes it here too.
 */
export class Successor {
  readonly numbers: Float64Array
  readonly words: Int32Array

  /** Room for `rows` of so many numbers: pages that the system gives as they are first touched. */
  constructor(rows: number, private readonly rowNumbers: number) {
    this.numbers = newRows(rows * rowNumbers)
    this.words = wordsOf(this.numbers)
  }

  /** Copies rows `from` to `to`, word by word: a number may be two words that are none. */
  copy(rows: Int32Array, from: number, to: number): void {
    const { rowNumbers, words } = this
    const end = to * rowNumbers * 2
    for (let at = from * rowNumbers * 2; at < end; at++) words[at] = rows[at]!
  }
}

/** Whether a table is so full that its successor is begun. */
export const isSoonFull = (count: number, rows: number): boolean => count * 4 >= rows * 3

/** How far to copy next, where `copied` of `count` rows are. */
export const copiedNext = (copied: number, count: number): number => Math.min(count, copied + copiedAtOnce)
