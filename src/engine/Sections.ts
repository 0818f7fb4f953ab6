/** Named runs of bytes: what a state is kept as. Whoever owns a section alone knows what is in it. */
import { assert } from "../domain/Assert.js"

/** One named run of bytes. */
export interface Section {
  readonly name: string
  readonly bytes: Uint8Array
}

/** Separates texts in a section; no id may hold it. */
const separator = "\n"

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const separatorCode = separator.charCodeAt(0)

/** Every text followed by a separator. Of ASCII, as nearly all ids are, they cost a copy of their characters. */
const encodeTexts = (texts: ReadonlyArray<string>): Uint8Array => {
  let length = 0
  for (const text of texts) length += text.length
  const bytes = new Uint8Array(length + texts.length)
  let seen = 0
  let at = 0
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]!
    for (let from = 0; from < text.length; from++) {
      const code = text.charCodeAt(from)
      seen |= code
      bytes[at++] = code
    }
    bytes[at++] = separatorCode
  }
  return seen < 0x80 ? bytes : encodeAnyTexts(texts, length)
}

/** The same for texts of any characters: at most three bytes for each of their `length` code units. */
const encodeAnyTexts = (texts: ReadonlyArray<string>, length: number): Uint8Array => {
  const bytes = new Uint8Array(length * 3 + texts.length)
  let at = 0
  for (const text of texts) {
    at += encoder.encodeInto(text, bytes.subarray(at)).written
    bytes[at++] = separatorCode
  }
  return bytes.slice(0, at)
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

/** The bytes of a column, as a view. */
const bytesOf = (column: Float64Array | Int32Array): Uint8Array => new Uint8Array(column.buffer, column.byteOffset, column.byteLength)

/** Takes sections one after the other. */
export class SectionWriter {
  readonly sections: Array<Section> = []

  bytes(name: string, bytes: Uint8Array): void {
    this.sections.push({ name, bytes })
  }

  column(name: string, column: Float64Array | Int32Array): void {
    this.bytes(name, bytesOf(column))
  }

  /** Texts of any characters but the line feed. */
  texts(name: string, texts: ReadonlyArray<string>): void {
    this.bytes(name, encodeTexts(texts))
  }

  json(name: string, value: unknown): void {
    this.bytes(name, encoder.encode(JSON.stringify(value)))
  }
}

/** Gives sections by name. Throws where one is missing. */
export class SectionReader {
  private readonly byName: ReadonlyMap<string, Uint8Array>

  constructor(readonly sections: ReadonlyArray<Section>) {
    this.byName = new Map(sections.map((section) => [section.name, section.bytes]))
  }

  bytes(name: string): Uint8Array {
    const found = this.byName.get(name)
    assert(found !== undefined, `a snapshot has a section ${name}`)
    return found
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
