/**
 * Strings by number, stored in many short arrays. V8 puts all elements of one long array on its marking worklist at once, and every
 * young-generation collection during marking walks through them: with one and a half million strings it stopped the writer for 32
 * ms.
 *
 * Strings from a snapshot stay in its bytes, one after the other, until they are replaced: two million strings created at the start
 * would be copied twice by the garbage collector.
 */
import { assert } from "../domain/Assert.js"
import { growInts } from "./Columns.js"

const partBits = 10
const partMask = (1 << partBits) - 1

/** The bytes of a section, and where each string ends in them. */
interface Written {
  readonly bytes: Buffer
  readonly ends: Int32Array
}

const nothing: Written = { bytes: Buffer.alloc(0), ends: new Int32Array(0) }

export class Texts {
  /** An undefined element means that the string is still in the section's bytes. */
  private readonly parts: Array<Array<string | undefined> | undefined> = []

  constructor(private readonly written: Written = nothing) {}

  /** Strings that are each followed by a separator byte, which they must not contain. The bytes are used as they are. */
  static of(bytes: Uint8Array, separator: number): Texts {
    assert(bytes.length === 0 || bytes.at(-1) === separator, "every text is followed by a separator")
    return new Texts({ bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), ends: endsOf(bytes, separator) })
  }

  /** The number of strings in the section. */
  get writtenCount(): number {
    return this.written.ends.length
  }

  /** The string with a number; empty where there is none. */
  at(index: number): string {
    return this.parts[index >> partBits]?.[index & partMask] ?? this.writtenAt(index)
  }

  /** Whether that string is empty, without decoding one from the section. */
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

  /** Stores a string under a number that is in use already, or under the next. */
  put(index: number, text: string): void {
    const part = this.parts[index >> partBits] ?? this.begin(index >> partBits)
    part[index & partMask] = text
  }

  private begin(part: number): Array<string | undefined> {
    return this.parts[part] = new Array<string | undefined>(1 << partBits).fill(undefined)
  }
}

/** The index just past the last byte of each string, which is that of its separator. */
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
