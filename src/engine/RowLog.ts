/** The latest of what is published one row after the other, as a ring of rows of numbers. */
import { assert } from "../domain/Assert.js"
import type { SectionWriter } from "./Sections.js"

export class RowLog<Name extends string> {
  /** How many rows there ever were. */
  count = 0
  private rows = new Float64Array(0)

  /** Rows of these numbers, of which so many are kept. The order of the names is that of a dump. */
  constructor(private readonly names: ReadonlyArray<Name>, private readonly kept: number) {}

  add(row: Readonly<Record<Name, number>>): void {
    const { kept, names } = this
    if (this.rows.length === 0) this.rows = new Float64Array(kept * names.length)
    const from = this.placeOf(this.count)
    for (let at = 0; at < names.length; at++) this.rows[from + at] = row[names[at]!]
    this.count++
  }

  /** How many are kept. */
  get length(): number {
    return Math.min(this.count, this.kept)
  }

  /** Reads what is under a name of the one with so many after it, which is kept. */
  column(name: Name): (newer: number) => number {
    const column = this.names.indexOf(name)
    return (newer) => this.rows[this.placeOf(this.count - 1 - newer) + column]!
  }

  /** The one with `newer` after it; undefined where there is none, or it is no longer kept. */
  at(newer: number): Readonly<Record<Name, number>> | undefined {
    if (newer < 0 || newer >= Math.min(this.count, this.kept)) return undefined
    const from = this.placeOf(this.count - 1 - newer)
    return Object.fromEntries(this.names.map((name, at) => [name, this.rows[from + at]!])) as Record<Name, number>
  }

  /** Those that have `value` under one of `names`, all without names, at or after a time, newest first; each with its ordinal, from 0. */
  since(
    sinceEpochMs: number,
    limit: number,
    names: ReadonlyArray<Name> = [],
    value = 0
  ): ReadonlyArray<Readonly<Record<Name, number>> & { readonly ordinal: number }> {
    return this.newest(sinceEpochMs, limit, names, value).map((newer) => ({ ...this.at(newer)!, ordinal: this.count - 1 - newer }))
  }

  /**
   * The latest at or after a time that has each of these numbers under its name; undefined where none that is kept has. The first of
   * them is compared first.
   */
  latest(sinceEpochMs: number, ...all: ReadonlyArray<readonly [name: Name, value: number]>): Readonly<Record<Name, number>> | undefined {
    const time = this.names.indexOf("atEpochMs" as Name)
    const columns = all.map(([name]) => this.names.indexOf(name))
    const values = all.map(([, value]) => value)
    for (let newer = 0; newer < this.length; newer++) {
      const from = this.placeOf(this.count - 1 - newer)
      if (this.rows[from + time]! < sinceEpochMs) return undefined
      let same = 0
      while (same < columns.length && this.rows[from + columns[same]!] === values[same]) same++
      if (same === columns.length) return this.at(newer)
    }
    return undefined
  }

  /** How many are newer than each of those, so many at most. A row that is none of them costs a few looks. */
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

  /** Of what is dumped, the number at an index: how many there ever were, then the rows that are kept, oldest first. */
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

  /** Writes the same as a section. */
  encode(name: string, into: SectionWriter): void {
    into.numbers(name, this.dumpedLength, (index) => this.dumpedAt(index))
  }

  /** Takes what was dumped in the place of what there is, which is nothing. */
  restore(dumped: Float64Array): this {
    const width = this.names.length
    const kept = (dumped.length - 1) / width
    assert(this.count === 0 && Number.isInteger(kept) && kept <= this.kept && kept <= dumped[0]!, "dumped rows are whole")
    this.count = dumped[0]!
    if (kept > 0) this.rows = new Float64Array(this.kept * width)
    for (let row = 0; row < kept; row++) {
      const from = 1 + row * width
      this.rows.set(dumped.subarray(from, from + width), this.placeOf(this.count - kept + row))
    }
    return this
  }

  /** Where a row begins. */
  private placeOf(ordinal: number): number {
    return (ordinal % this.kept) * this.names.length
  }
}
