/** The latest rows of a published log, as a ring of rows of numbers. */
import { assert } from "../domain/Assert.js"
import * as Columns from "./Columns.js"
import type { SectionWriter } from "./Sections.js"

/** Rows for which room is made at first. */
const fewestRows = 16

export class RowLog<Name extends string> {
  /** Rows added so far. */
  count = 0
  private rows = new Float64Array(0)
  /** The newest row of each value in the indexed column, by its ordinal; derived from the rows and in no dump. */
  private readonly newestOf = new Map<number, number>()
  /** For each kept row, one more than the ordinal of the previous row with the same value in the indexed column; 0 where there is none. */
  private previous = new Float64Array(0)

  /**
   * A log of rows with these columns, of which the last `kept` stay. Dumps keep the order of the names. Rows of one value in the column
   * `indexed` are found without examining others.
   */
  constructor(private readonly names: ReadonlyArray<Name>, private readonly kept: number, private readonly indexed?: Name) {}

  add(row: Readonly<Record<Name, number>>): void {
    const { kept, names } = this
    this.reserve(this.count + 1)
    this.forget(this.count - kept)
    const from = this.placeOf(this.count)
    for (let at = 0; at < names.length; at++) this.rows[from + at] = row[names[at]!]
    this.index(this.count)
    this.count++
  }

  /** Makes room for as many rows, which until all are kept lie as they were added: most logs never come near what they may keep. */
  private reserve(rows: number): void {
    const { indexed, kept, names } = this
    const held = this.rows.length / names.length
    if (rows <= held || held === kept) return
    const roomFor = Columns.grownLength(held, Math.max(fewestRows, rows), kept)
    this.rows = Columns.growFloats(this.rows, roomFor * names.length)
    if (indexed !== undefined) this.previous = Columns.growFloats(this.previous, roomFor)
  }

  /** Adds a row to the index. */
  private index(ordinal: number): void {
    const { indexed, kept } = this
    if (indexed === undefined) return
    const value = this.rows[this.placeOf(ordinal) + this.names.indexOf(indexed)]!
    this.previous[ordinal % kept] = (this.newestOf.get(value) ?? -1) + 1
    this.newestOf.set(value, ordinal)
  }

  /** Removes a row that is about to be overwritten from the index, where it is the last one of its value. */
  private forget(ordinal: number): void {
    if (this.indexed === undefined || ordinal < 0) return
    const value = this.rows[this.placeOf(ordinal) + this.names.indexOf(this.indexed)]!
    if (this.newestOf.get(value) === ordinal) this.newestOf.delete(value)
  }

  /** The number of rows kept. */
  get length(): number {
    return Math.min(this.count, this.kept)
  }

  /** Reads a column of the row with `newer` rows after it, which must be kept. */
  column(name: Name): (newer: number) => number {
    const column = this.names.indexOf(name)
    return (newer) => this.rows[this.placeOf(this.count - 1 - newer) + column]!
  }

  /** The row with `newer` rows after it; undefined where there is none, or it is no longer kept. */
  at(newer: number): Readonly<Record<Name, number>> | undefined {
    if (newer < 0 || newer >= Math.min(this.count, this.kept)) return undefined
    const from = this.placeOf(this.count - 1 - newer)
    return Object.fromEntries(this.names.map((name, at) => [name, this.rows[from + at]!])) as Record<Name, number>
  }

  /**
   * Rows at or after a time, newest first, each with its ordinal from 0; where `names` are given, only rows with `value` in one of
   * these columns.
   */
  since(
    sinceEpochMs: number,
    limit: number,
    names: ReadonlyArray<Name> = [],
    value = 0
  ): ReadonlyArray<Readonly<Record<Name, number>> & { readonly ordinal: number }> {
    return this.newest(sinceEpochMs, limit, names, value).map((newer) => ({ ...this.at(newer)!, ordinal: this.count - 1 - newer }))
  }

  /** The latest row at or after a time that has each of these values under its name; undefined if no row that is kept has. */
  latest(sinceEpochMs: number, ...all: ReadonlyArray<readonly [name: Name, value: number]>): Readonly<Record<Name, number>> | undefined {
    return this.latestFrom(this.count - 1, (ordinal) => ordinal - 1, sinceEpochMs, all)
  }

  /** The latest such row among those of one value in the indexed column: only these are examined. */
  latestOf(
    value: number,
    sinceEpochMs: number,
    ...all: ReadonlyArray<readonly [name: Name, value: number]>
  ): Readonly<Record<Name, number>> | undefined {
    return this.latestFrom(this.newestOf.get(value) ?? -1, (ordinal) => this.previous[ordinal % this.kept]! - 1, sinceEpochMs, all)
  }

  /** The latest such row among those that `before` leads to, from one ordinal on. */
  private latestFrom(
    newest: number,
    before: (ordinal: number) => number,
    sinceEpochMs: number,
    all: ReadonlyArray<readonly [name: Name, value: number]>
  ): Readonly<Record<Name, number>> | undefined {
    const time = this.names.indexOf("atEpochMs" as Name)
    const columns = all.map(([name]) => this.names.indexOf(name))
    const oldest = this.count - this.length
    for (let ordinal = newest; ordinal >= oldest; ordinal = before(ordinal)) {
      const from = this.placeOf(ordinal)
      if (this.rows[from + time]! < sinceEpochMs) return undefined
      let same = 0
      while (same < columns.length && this.rows[from + columns[same]!] === all[same]![1]) same++
      if (same === columns.length) return this.at(this.count - 1 - ordinal)
    }
    return undefined
  }

  /** The position of each such row, counted from the newest, at most `limit` of them. */
  private newest(sinceEpochMs: number, limit: number, names: ReadonlyArray<Name>, value: number): ReadonlyArray<number> {
    const found: Array<number> = []
    const time = this.names.indexOf("atEpochMs" as Name)
    const columns = names.map((name) => this.names.indexOf(name))
    for (let newer = 0; found.length < limit && newer < Math.min(this.count, this.kept); newer++) {
      const from = this.placeOf(this.count - 1 - newer)
      if (this.rows[from + time]! < sinceEpochMs) break
      if (columns.length === 0 || columns.some((column) => this.rows[from + column] === value)) found.push(newer)
    }
    return found
  }

  /** The number at an index of the dump: first the count of rows so far, then the rows kept, oldest first. */
  private dumpedAt(index: number): number {
    if (index === 0) return this.count
    const width = this.names.length
    const row = Math.floor((index - 1) / width)
    return this.rows[this.placeOf(this.count - this.length + row) + (index - 1) - row * width]!
  }

  private get dumpedLength(): number {
    return 1 + this.length * this.names.length
  }

  dump(): Float64Array {
    return Float64Array.from({ length: this.dumpedLength }, (_, index) => this.dumpedAt(index))
  }

  /** Writes the dump as a section. */
  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.dumpedLength, (index) => this.dumpedAt(index))
  }

  /** Restores a dump into an empty log. */
  restore(dumped: Float64Array): this {
    const width = this.names.length
    const kept = (dumped.length - 1) / width
    assert(this.count === 0 && Number.isInteger(kept) && kept <= this.kept && kept <= dumped[0]!, "dumped rows are whole")
    this.count = dumped[0]!
    if (kept > 0) this.reserve(this.count)
    for (let row = 0; row < kept; row++) {
      const from = 1 + row * width
      this.rows.set(dumped.subarray(from, from + width), this.placeOf(this.count - kept + row))
      this.index(this.count - kept + row)
    }
    return this
  }

  /** The index at which a row begins. */
  private placeOf(ordinal: number): number {
    return (ordinal % this.kept) * this.names.length
  }
}
