/** Named runs of bytes that make up a stored state. Only the owner of a section knows its format. */
import { assert } from "../domain/Assert.js"
import { bytesOf, Room, wordsOf } from "./Columns.js"
import { Texts } from "./Texts.js"

/** A named run of bytes. */
export interface Section {
  readonly name: string
  readonly bytes: Uint8Array
  /** A `Room` whose memory begins with these bytes, so that the decoder may continue to use it without copying. */
  readonly room?: unknown
}

/**
 * A section produced piece by piece while it is read, as long as its source does not change. All pieces share the same memory, so
 * each must be consumed before the next is requested. Together they have the declared length.
 */
export interface Streamed {
  readonly name: string
  readonly length: number
  readonly pieces: () => Iterable<Uint8Array>
}

/** Separates strings in a section; no id may contain it. */
const separator = "\n"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const separatorCode = separator.charCodeAt(0)

/** The usual size of a piece in bytes, unless a single row or string is longer. */
const usualPieceBytes = 1 << 20

/** Whether a string is pure ASCII, as nearly all ids are. */
const isAscii = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) >= 0x80) return false
  return true
}

const bytesOfText = (text: string): number => isAscii(text) ? text.length : encoder.encode(text).length

/** Encodes a string at an offset, where it must fit. Returns the number of bytes. */
const putText = (text: string, into: Uint8Array, from: number): number => {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) return encoder.encodeInto(text, into.subarray(from)).written
    into[from + at] = code
  }
  return text.length
}

/** Bytes decoded at a time, extended to the next separator. */
const bytesAtOnce = 1 << 24

const decodeTexts = (bytes: Uint8Array): Array<string> => {
  const texts: Array<string> = []
  for (let from = 0; from < bytes.length;) {
    const to = bytes.indexOf(separatorCode, Math.min(bytes.length - 1, from + bytesAtOnce))
    assert(to >= from, "every text is followed by a separator")
    for (const text of decoder.decode(bytes.subarray(from, to)).split(separator)) texts.push(text)
    from = to + 1
  }
  return texts
}

/** The section with all its pieces copied into one buffer. */
const whole = (section: Section | Streamed): Section => {
  if ("bytes" in section) return section
  const { length, name, pieces } = section
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces()) {
    bytes.set(piece, at)
    at += piece.length
  }
  assert(at === length, "a section is as long as it says")
  return { name, bytes }
}

/** Collects sections one after the other. */
export class SectionWriter {
  /**
   * The sections collected so far. Those not given as bytes, columns or JSON are copied only as they are read, and their source
   * must not change until then.
   */
  readonly streamed: Array<Section | Streamed> = []
  /** The memory shared by all pieces. */
  private memory: Float64Array<ArrayBuffer> | undefined

  constructor(private readonly pieceBytes: number = usualPieceBytes) {}

  /** All sections, copied, so that their sources may change at once. */
  get sections(): ReadonlyArray<Section> {
    return this.streamed.map(whole)
  }

  /** Memory for this many bytes, at most the size of a piece, but at least `least`. */
  private room(bytes: number, least: number): Float64Array<ArrayBuffer> {
    const needed = Math.ceil(Math.max(least, Math.min(bytes, this.pieceBytes)) / 8)
    if (this.memory === undefined || this.memory.length < needed) this.memory = new Float64Array(needed)
    return this.memory
  }

  /** Adds bytes that will not be changed. */
  bytes(name: string, bytes: Uint8Array): void {
    this.streamed.push({ name, bytes })
  }

  column(name: string, column: Float64Array | Int32Array): void {
    this.bytes(name, bytesOf(column))
  }

  /** Adds `count` rows of `rowBytes` bytes, a multiple of 8; `copy` writes the rows of a range into the given memory. */
  rows(name: string, count: number, rowBytes: number, copy: (from: number, to: number, into: Float64Array<ArrayBuffer>) => void): void {
    this.stream(name, count, rowBytes, (from, to, memory) => {
      const into = memory.subarray(0, (to - from) * rowBytes / 8)
      copy(from, to, into)
      return into
    })
  }

  /** Adds `count` numbers of 8 bytes. */
  numbers(name: string, count: number, at: (index: number) => number): void {
    this.stream(name, count, 8, (from, to, memory) => {
      for (let index = from; index < to; index++) memory[index - from] = at(index)
      return memory.subarray(0, to - from)
    })
  }

  /** Adds `count` integers of 4 bytes. */
  ints(name: string, count: number, at: (index: number) => number): void {
    this.stream(name, count, 4, (from, to, memory) => {
      const words = wordsOf(memory)
      for (let index = from; index < to; index++) words[index - from] = at(index)
      return words.subarray(0, to - from)
    })
  }

  /** Adds a section of `count` entries of equal size, produced in pieces that fit the memory. */
  private stream(
    name: string,
    count: number,
    entryBytes: number,
    piece: (from: number, to: number, memory: Float64Array<ArrayBuffer>) => Float64Array | Int32Array
  ): void {
    const length = count * entryBytes
    const room = (): Float64Array<ArrayBuffer> => this.room(length, entryBytes)
    this.streamed.push({
      name,
      length,
      *pieces() {
        for (let from = 0; from < count;) {
          const memory = room()
          const to = Math.min(count, from + Math.floor(memory.byteLength / entryBytes))
          yield bytesOf(piece(from, to, memory))
          from = to
        }
      }
    })
  }

  texts(name: string, texts: ReadonlyArray<string>): void {
    this.textsAt(name, texts.length, (index) => texts[index]!)
  }

  /** Adds `count` strings, none of which contains a line feed, each followed by a separator. */
  textsAt(name: string, count: number, at: (index: number) => string): void {
    let length = count
    for (let index = 0; index < count; index++) length += bytesOfText(at(index))
    this.streamed.push({ name, length, pieces: () => this.piecesOfTexts(count, at, length) })
  }

  private *piecesOfTexts(count: number, at: (index: number) => string, bytes: number): Iterable<Uint8Array> {
    let memory = bytesOf(this.room(bytes, 0))
    let length = 0
    for (let index = 0; index < count; index++) {
      const text = at(index)
      // An upper bound of its encoded length, with the separator.
      const most = text.length * 3 + 1
      if (length + most > memory.length) {
        yield memory.subarray(0, length)
        memory = bytesOf(this.room(bytes, most))
        length = 0
      }
      length += putText(text, memory, length)
      memory[length++] = separatorCode
    }
    yield memory.subarray(0, length)
  }

  json(name: string, value: unknown): void {
    this.bytes(name, encoder.encode(JSON.stringify(value)))
  }
}

/** Finds sections by name. Throws where one is missing. */
export class SectionReader {
  private readonly byName: ReadonlyMap<string, Section>

  constructor(readonly sections: ReadonlyArray<Section>) {
    this.byName = new Map(sections.map((section) => [section.name, section]))
  }

  private section(name: string): Section {
    const found = this.byName.get(name)
    assert(found !== undefined, `a snapshot has a section ${name}`)
    return found
  }

  bytes(name: string): Uint8Array {
    return this.section(name).bytes
  }

  /** Rows that begin with the content of a section: in the memory it was read to, where that has room, or copied to `rows`. */
  rows(name: string, rows: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
    const { bytes, room } = this.section(name)
    if (room instanceof Room) {
      const taken = room.take()
      if (taken.length >= rows.length) return taken.length === rows.length ? taken : taken.subarray(0, rows.length)
    }
    bytesOf(rows).set(bytes)
    return rows
  }

  /** Bytes aligned for a column of 8-byte numbers: as they are, or copied. */
  private aligned(name: string): Uint8Array {
    const from = this.bytes(name)
    // Not `slice`, which on a Buffer is a view of the same memory.
    return from.byteOffset % 8 === 0 ? from : new Uint8Array(from)
  }

  floats(name: string): Float64Array {
    const from = this.aligned(name)
    return new Float64Array(from.buffer, from.byteOffset, from.byteLength / 8)
  }

  ints(name: string): Int32Array {
    const from = this.aligned(name)
    return new Int32Array(from.buffer, from.byteOffset, from.byteLength / 4)
  }

  texts(name: string): Array<string> {
    return decodeTexts(this.bytes(name))
  }

  /** The strings of a section, decoded only when they are asked for. */
  textsAsWritten(name: string): Texts {
    return Texts.of(this.bytes(name), separatorCode)
  }

  /** Whether an optional section is present. */
  has(name: string): boolean {
    return this.byName.has(name)
  }

  /** Strings of a section that earlier versions did not write; empty strings where it is missing. */
  textsOrEmpty(name: string, count: number): Array<string> {
    return this.byName.has(name) ? this.texts(name) : new Array<string>(count).fill("")
  }

  json(name: string): unknown {
    return JSON.parse(decoder.decode(this.bytes(name)))
  }
}
