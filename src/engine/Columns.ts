/** Typed arrays that grow: the storage of everything the engine has many of, in rows or in columns. */

/** From this many entries on, columns are made whole at once. */
const wholeFrom = 2 ** 17

/**
 * How long a column of at most `capacity` entries begins. A large one has its whole length: the system gives
 * pages as they are first touched, and growing would copy all of them in one turn.
 */
export const initialLength = (capacity: number, small: number): number => capacity >= wholeFrom ? capacity : Math.min(capacity, small)

/** The larger of double and `needed`, at most `capacity`. */
export const grownLength = (length: number, needed: number, capacity = Number.MAX_SAFE_INTEGER): number =>
  Math.min(capacity, Math.max(needed, length * 2))

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
