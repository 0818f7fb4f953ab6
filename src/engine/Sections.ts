/** Named runs of bytes: what a state is kept as. Whoever owns a section alone knows what is in it. */
import { assert } from "../domain/Assert.js"
import { bytesOf, Room, wordsOf } from "./Columns.js"
import { Texts } from "./Texts.js"

/** One named run of bytes. */
export interface Section {
  readonly name: string
  readonly bytes: Uint8Array
  /** A `Room` at whose beginning they lie, where whoever decodes them may go on in that. */
  readonly room?: unknown
}

/**
 * One that is made while it is read, as long as what it tells of stands still. Pieces lie in the same memory, one after the other: each
 * is read before the next is asked for. Together they have the length that is told.
 */
export interface Streamed {
  readonly name: string
  readonly length: number
  readonly pieces: () => Iterable<Uint8Array>
}

/** Separates texts in a section; no id may hold it. */
const separator = "\n"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const separatorCode = separator.charCodeAt(0)

/** How much is made at a time, unless a single row or text is longer. */
const usualPieceBytes = 1 << 20

/** Whether all characters of a text are of ASCII, as those of nearly all ids are. */
const isAscii = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) >= 0x80) return false
  return true
}

const bytesOfText = (text: string): number => isAscii(text) ? text.length : encoder.encode(text).length

/** Puts a text there, which has the room for it; how many bytes it came to. */
const putText = (text: string, into: Uint8Array, from: number): number => {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= 0x80) return encoder.encodeInto(text, into.subarray(from)).written
    into[from + at] = code
  }
  return text.length
}

/** Bytes decoded at a time, and on to the next separator. */
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

/** All pieces in memory of their own. */
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

/** Takes sections one after the other. */
export class SectionWriter {
  /** What was taken. What is not given as bytes, as a column or as JSON is copied only as it is read, and must stand still until then. */
  readonly streamed: Array<Section | Streamed> = []
  /** All pieces lie here. */
  private memory: Float64Array<ArrayBuffer> | undefined

  constructor(private readonly pieceBytes: number = usualPieceBytes) {}

  /** All of them, copied: whoever they tell of may go on at once. */
  get sections(): ReadonlyArray<Section> {
    return this.streamed.map(whole)
  }

  /** Memory of so many bytes, or as many as pieces have at most; `least` of them in any case. */
  private room(bytes: number, least: number): Float64Array<ArrayBuffer> {
    const needed = Math.ceil(Math.max(least, Math.min(bytes, this.pieceBytes)) / 8)
    if (this.memory === undefined || this.memory.length < needed) this.memory = new Float64Array(needed)
    return this.memory
  }

  /** Bytes that nobody changes. */
  bytes(name: string, bytes: Uint8Array): void {
    this.streamed.push({ name, bytes })
  }

  column(name: string, column: Float64Array | Int32Array): void {
    this.bytes(name, bytesOf(column))
  }

  /** So many rows of so many bytes, a multiple of 8; `copy` puts those from one to before another where it is told. */
  rows(name: string, count: number, rowBytes: number, copy: (from: number, to: number, into: Float64Array<ArrayBuffer>) => void): void {
    this.stream(name, count, rowBytes, (from, to, memory) => {
      const into = memory.subarray(0, (to - from) * rowBytes / 8)
      copy(from, to, into)
      return into
    })
  }

  /** So many numbers of 8 bytes. */
  numbers(name: string, count: number, at: (index: number) => number): void {
    this.stream(name, count, 8, (from, to, memory) => {
      for (let index = from; index < to; index++) memory[index - from] = at(index)
      return memory.subarray(0, to - from)
    })
  }

  /** So many whole numbers of 4 bytes. */
  ints(name: string, count: number, at: (index: number) => number): void {
    this.stream(name, count, 4, (from, to, memory) => {
      const words = wordsOf(memory)
      for (let index = from; index < to; index++) words[index - from] = at(index)
      return words.subarray(0, to - from)
    })
  }

  /** A section of so many entries of so many bytes, of which as many are made at a time as the memory holds. */
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

  /** So many texts of any characters but the line feed, each followed by a separator. */
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
      // What it comes to at most, with its separator.
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

/** Gives sections by name. Throws where one is missing. */
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

  /** Rows of so many numbers that begin with a section: the memory that it was read to, where that has the room, or else `rows`. */
  rows(name: string, rows: Float64Array<ArrayBuffer>): Float64Array<ArrayBuffer> {
    const { bytes, room } = this.section(name)
    if (room instanceof Room) {
      const taken = room.take()
      if (taken.length >= rows.length) return taken.length === rows.length ? taken : taken.subarray(0, rows.length)
    }
    bytesOf(rows).set(bytes)
    return rows
  }

  /** The bytes where a column of 8-byte numbers may lie: as they are, or copied to such a place. */
  private aligned(name: string): Uint8Array {
    const from = this.bytes(name)
    // Not `slice`: on a Buffer that is a view of the same place.
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

  /** The same, left as they are written until they are asked for. */
  textsAsWritten(name: string): Texts {
    return Texts.of(this.bytes(name), separatorCode)
  }

  /** Whether there is a section that is not always written. */
  has(name: string): boolean {
    return this.byName.has(name)
  }

  /** Texts of a section that programs before did not write; empty ones where it is missing. */
  textsOrEmpty(name: string, count: number): Array<string> {
    return this.byName.has(name) ? this.texts(name) : new Array<string>(count).fill("")
  }

  json(name: string): unknown {
    return JSON.parse(decoder.decode(this.bytes(name)))
  }
}
