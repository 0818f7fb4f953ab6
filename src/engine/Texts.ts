/**
 * Texts by number. They lie in many short lists: of a long one V8 takes all texts at once among what it has yet to mark, and every
 * collection of what is young that falls into that time goes through these one by one. With a million and a half it stopped the writer
 * for 32 ms.
 *
 * What a snapshot holds stays as it was written, one text behind the other, until something else is put under its number: made at the
 * start, two million texts would be copied twice by collections.
 */
import { assert } from "../domain/Assert.js"
import { growInts } from "./Columns.js"

const partBits = 10
const partMask = (1 << partBits) - 1

/** The texts of a section, and where each ends. */
interface Written {
  readonly bytes: Buffer
  readonly ends: Int32Array
}

const nothing: Written = { bytes: Buffer.alloc(0), ends: new Int32Array(0) }

export class Texts {
  /** Where a text is undefined it is among those that were written. */
  private readonly parts: Array<Array<string | undefined> | undefined> = []

  constructor(private readonly written: Written = nothing) {}

  /** Texts of any characters but the separator, a byte that follows each. The bytes stay as they are. */
  static of(bytes: Uint8Array, separator: number): Texts {
    assert(bytes.length === 0 || bytes.at(-1) === separator, "every text is followed by a separator")
    return new Texts({ bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), ends: endsOf(bytes, separator) })
  }

  /** How many were written. */
  get writtenCount(): number {
    return this.written.ends.length
  }

  /** The text under a number: empty where none was put. */
  at(index: number): string {
    return this.parts[index >> partBits]?.[index & partMask] ?? this.writtenAt(index)
  }

  /** Whether that is empty: at no cost for one that was written. */
  isEmpty(index: number): boolean {
    const text = this.parts[index >> partBits]?.[index & partMask]
    return text === undefined ? index >= this.writtenCount || this.startOf(index) === this.endOf(index) : text === ""
  }

  private startOf(index: number): number {
    return index === 0 ? 0 : this.endOf(index - 1) + 1
  }

  private endOf(index: number): number {
    return this.written.ends[index]!
  }

  private writtenAt(index: number): string {
    if (index >= this.writtenCount) return ""
    const [from, to] = [this.startOf(index), this.endOf(index)]
    return from === to ? "" : this.written.bytes.toString("utf8", from, to)
  }

  /** Puts a text under a number: any that has been put under before, or the next. */
  put(index: number, text: string): void {
    const part = this.parts[index >> partBits] ?? this.begin(index >> partBits)
    part[index & partMask] = text
  }

  private begin(part: number): Array<string | undefined> {
    return this.parts[part] = new Array<string | undefined>(1 << partBits).fill(undefined)
  }
}

/** Where each text ends: one more than its last byte, at its separator. */
const endsOf = (bytes: Uint8Array, separator: number): Int32Array => {
  let ends = new Int32Array(Math.min(bytes.length, 1 << partBits))
  let count = 0
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== separator) continue
    if (count === ends.length) ends = growInts(ends, Math.min(bytes.length, count * 2))
    ends[count++] = at
  }
  return ends.subarray(0, count)
}
