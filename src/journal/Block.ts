/**
 * Blocks: the journal bytes of one writer turn, in whole 512-byte sectors. A block's digest covers its content and everything
 * before it; the checksum of its header also covers its position. No sector of an intact block is all zero, which tells an
 * unfinished write from damage. README.md has the layout.
 */
import * as crypto from "node:crypto"
import { assert } from "../domain/Assert.js"
import type { Command } from "../operations/Operations.js"
import * as CommandCodec from "./CommandCodec.js"
import * as Unreadable from "./Malformed.js"
import type { Record } from "./Record.js"
import * as RecordHeader from "./RecordHeader.js"

/** The unit that a disk writes entirely or not at all, in bytes. */
export const sectorBytes = 512
/** Bytes of a SHA-256. */
export const digestBytes = 32
/** The largest block a journal takes unless told otherwise, in bytes. */
export const defaultMaxBytes = 1 << 20

/** A block read back. */
export interface Block {
  readonly epoch: number
  readonly firstSequence: number
  readonly lastSequence: number
  readonly previousDigest: Uint8Array
  /** Digest of the records' events, as the sequencer computed it. */
  readonly outcomeDigest: Uint8Array
  readonly digest: Uint8Array
  readonly records: ReadonlyArray<Record>
}

/** A finished block, ready to be appended. */
export interface Encoded {
  /** Whole sectors. They belong to the journal from `append` on, which fills in the block's position. */
  readonly bytes: Buffer
  readonly epoch: number
  readonly firstSequence: number
  readonly lastSequence: number
  /** The time of the last record. */
  readonly atEpochMs: number
  readonly previousDigest: Uint8Array
  readonly outcomeDigest: Uint8Array
  /** The next block's `previousDigest`. Does not depend on the block's position. */
  readonly digest: Uint8Array
}

/** The previous digest in a new journal's first block. */
export const genesisDigest: Uint8Array = Buffer.alloc(digestBytes)

// Layout. Magic and trailer hold only bytes that UTF-8 text cannot, each with at least two bits set.
const magic = Buffer.from([0xfa, 0xf5, 0xfb, 0xf6, 0xfd, 0xf7, 0xfe, 0xf9])
const trailer = Buffer.from([0xf9, 0xfe, 0xf7, 0xfd, 0xf6, 0xfb, 0xf5, 0xfa])
/**
 * The version of the format of blocks and records. Magic, checksum and the position of this number are the same in all versions.
 */
export const codecVersion = 2
/** The program version that wrote each earlier format. */
export const writers: ReadonlyMap<number, string> = new Map([[1, "0.1.0"]])
const filler = 0xa5
const checksumAt = 8
const checksumBytes = 8
const segmentAt = 16
const offsetAt = 24
const syncedAt = 32
/** The block's digest covers everything from here up to itself. */
const contentAt = 40
const versionAt = 40
const epochAt = 44
const firstSequenceAt = 48
const countAt = 56
const recordsBytesAt = 60
const previousDigestAt = 64
const outcomeDigestAt = 96
const headerBytes = 128
const footerBytes = digestBytes + trailer.length

// Record: length of what follows the first 21 bytes (4), sequence (8), atEpochMs (8), kind code (1), header, payload.
const recordHeaderBytes = 21

const blockBytes = (recordsBytes: number): number => Math.ceil((headerBytes + recordsBytes + footerBytes) / sectorBytes) * sectorBytes

const two32 = 2 ** 32

/** Writes a safe integer as 8 bytes, little-endian. */
export const writeWhole = (bytes: Buffer, value: number, at: number): void => {
  bytes.writeUInt32LE(value % two32, at)
  bytes.writeUInt32LE(Math.floor(value / two32), at + 4)
}

/** Reads 8 bytes as an integer; above 2^53 it is no longer exact, and no longer a sequence. */
export const readWhole = (bytes: Buffer, at: number): number => bytes.readUInt32LE(at + 4) * two32 + bytes.readUInt32LE(at)

/** SHA-256, 32 bytes. */
export const sha256 = (bytes: Uint8Array): Buffer => crypto.hash("sha256", bytes, "buffer")

/**
 * Builds blocks one after the other in a buffer of its own: `begin`, `add` for each record, `finish`. The digest is known then, so
 * the next block can begin while this one is still being written.
 */
export class Builder {
  private buffer: Buffer
  private end = headerBytes
  private epoch = 0
  private firstSequence = 0
  private records = 0
  private lastAtEpochMs = 0
  private previousDigest: Uint8Array = genesisDigest

  constructor(initialBytes: number = 64 * 1024) {
    assert(initialBytes >= sectorBytes, "a builder starts with at least one sector")
    this.buffer = Buffer.allocUnsafeSlow(initialBytes)
  }

  /** Begins a block and discards an unfinished one. */
  begin(block: { readonly epoch: number; readonly firstSequence: number; readonly previousDigest: Uint8Array }): void {
    assert(Number.isSafeInteger(block.epoch) && block.epoch >= 1 && block.epoch < two32, "an epoch is 1..2^32-1")
    assert(Number.isSafeInteger(block.firstSequence) && block.firstSequence >= 1, "sequences start at 1")
    assert(block.previousDigest.length === digestBytes, "a digest has 32 bytes")
    this.end = headerBytes
    this.epoch = block.epoch
    this.firstSequence = block.firstSequence
    this.records = 0
    this.lastAtEpochMs = 0
    this.previousDigest = block.previousDigest
  }

  /** Adds the next record. Sequences must be gapless, and times must not decrease. */
  add(sequence: number, atEpochMs: number, command: Command): void {
    assert(sequence === this.firstSequence + this.records, "sequences within a block are gapless")
    assert(Number.isSafeInteger(atEpochMs) && atEpochMs >= this.lastAtEpochMs, "time never goes back")
    const payload = CommandCodec.encode(command)
    this.reserve(recordHeaderBytes + RecordHeader.maxBytes + payload.length * 3)
    const buffer = this.buffer
    const at = this.end
    const headed = RecordHeader.write(buffer, at + recordHeaderBytes, command)
    const length = headed + buffer.write(payload, at + recordHeaderBytes + headed, "utf8")
    buffer.writeUInt32LE(length, at)
    writeWhole(buffer, sequence, at + 4)
    writeWhole(buffer, atEpochMs, at + 12)
    buffer[at + 20] = CommandCodec.kindCode(command)
    this.end = at + recordHeaderBytes + length
    this.records++
    this.lastAtEpochMs = atEpochMs
  }

  /** Records added to the block. */
  get count(): number {
    return this.records
  }

  /** The size of the block if it were finished now, in bytes. */
  get byteLength(): number {
    return blockBytes(this.end - headerBytes)
  }

  /** Finishes the block with the digest of its records' events. The builder may begin the next one at once. */
  finish(outcomeDigest: Uint8Array): Encoded {
    assert(this.records > 0, "a block holds at least one record")
    assert(outcomeDigest.length === digestBytes, "a digest has 32 bytes")
    const recordsBytes = this.end - headerBytes
    const bytes = Buffer.allocUnsafeSlow(blockBytes(recordsBytes))
    this.buffer.copy(bytes, headerBytes, headerBytes, this.end)
    magic.copy(bytes, 0)
    bytes.fill(0, checksumAt, contentAt)
    bytes.writeUInt32LE(codecVersion, versionAt)
    bytes.writeUInt32LE(this.epoch, epochAt)
    writeWhole(bytes, this.firstSequence, firstSequenceAt)
    bytes.writeUInt32LE(this.records, countAt)
    bytes.writeUInt32LE(recordsBytes, recordsBytesAt)
    bytes.set(this.previousDigest, previousDigestAt)
    bytes.set(outcomeDigest, outcomeDigestAt)
    const digestAt = bytes.length - footerBytes
    bytes.fill(filler, this.end, digestAt)
    const digest = sha256(bytes.subarray(contentAt, digestAt))
    digest.copy(bytes, digestAt)
    trailer.copy(bytes, digestAt + digestBytes)
    return {
      bytes,
      epoch: this.epoch,
      firstSequence: this.firstSequence,
      lastSequence: this.firstSequence + this.records - 1,
      atEpochMs: this.lastAtEpochMs,
      previousDigest: this.previousDigest,
      outcomeDigest,
      digest
    }
  }

  private reserve(more: number): void {
    if (this.end + more <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.end + more))
    this.buffer.copy(larger, 0, 0, this.end)
    this.buffer = larger
  }
}

/** The position of a block: its segment, identified by its first sequence, and the offset there in bytes. */
export interface Position {
  readonly segment: number
  readonly offset: number
}

/** Fills in the block's position and the durable sequence at the time of writing, and seals its header. */
export const place = (block: Encoded, position: Position, syncedSequence: number): void => {
  const { bytes } = block
  writeWhole(bytes, position.segment, segmentAt)
  writeWhole(bytes, position.offset, offsetAt)
  writeWhole(bytes, syncedSequence, syncedAt)
  bytes.write(checksum(bytes, 0), checksumAt, "latin1")
}

/** SHA-256, a character for each byte: made in half the time that a buffer takes, which is more than the hashing of a small block. */
const sha256Text = (bytes: Uint8Array): string => crypto.hash("sha256", bytes, "binary")

/** The checksum of the header at `at`, a character for each byte. */
const checksum = (bytes: Buffer, at: number): string => sha256Text(bytes.subarray(at + segmentAt, at + headerBytes)).slice(0, checksumBytes)

/** A header with a valid checksum: a writer wrote it, though not necessarily for this position. */
export interface Header {
  /** The format version of the block: of an older one only the chain is verified, and a newer one is not read at all. */
  readonly codec: number
  readonly position: Position
  /** The last sequence that was durable when the block was written. */
  readonly syncedSequence: number
  readonly epoch: number
  readonly firstSequence: number
  readonly lastSequence: number
  /** The whole block's size in bytes. */
  readonly blockBytes: number
  readonly recordsBytes: number
}

/** The header at `at`; undefined where there is none or it is damaged. Reads at most one sector. */
export const readHeader = (bytes: Buffer, at: number): Header | undefined => {
  if (at + headerBytes > bytes.length || magic.compare(bytes, at, at + magic.length) !== 0) return undefined
  if (checksum(bytes, at) !== bytes.toString("latin1", at + checksumAt, at + checksumAt + checksumBytes)) return undefined
  const codec = bytes.readUInt32LE(at + versionAt)
  if (codec < 1) return undefined
  const firstSequence = readWhole(bytes, at + firstSequenceAt)
  const recordsBytes = bytes.readUInt32LE(at + recordsBytesAt)
  return {
    codec,
    position: { segment: readWhole(bytes, at + segmentAt), offset: readWhole(bytes, at + offsetAt) },
    syncedSequence: readWhole(bytes, at + syncedAt),
    epoch: bytes.readUInt32LE(at + epochAt),
    firstSequence,
    lastSequence: firstSequence + bytes.readUInt32LE(at + countAt) - 1,
    blockBytes: blockBytes(recordsBytes),
    recordsBytes
  }
}

/** The previous block's digest in the header at `at`. */
export const previousDigestAtHeader = (bytes: Buffer, at: number): Buffer =>
  bytes.subarray(at + previousDigestAt, at + previousDigestAt + digestBytes)

/** How far before a block's end its digest lies, bytes. */
export const digestBeforeEnd = footerBytes

/** The digest that is stored in the block at `at`. */
export const claimedDigest = (bytes: Buffer, at: number, { blockBytes }: Header): Buffer =>
  bytes.subarray(at + blockBytes - footerBytes, at + blockBytes - footerBytes + digestBytes)

/** The computed digest of the whole block at `at`; undefined where the stored one differs. */
export const verifiedDigest = (bytes: Buffer, at: number, header: Header): Buffer | undefined => {
  const digestAt = at + header.blockBytes - footerBytes
  const intact = sha256Text(bytes.subarray(at + contentAt, digestAt)) === bytes.toString("latin1", digestAt, digestAt + digestBytes)
    && trailer.compare(bytes, digestAt + digestBytes, digestAt + footerBytes) === 0
  if (!intact) return undefined
  // A copy with memory of its own: whoever keeps it keeps neither the piece that it was read from nor a pool's.
  const digest = Buffer.alloc(digestBytes)
  bytes.copy(digest, 0, digestAt)
  return digest
}

/** A block with a valid digest whose records this program could not have written. */
export class Malformed extends Error {
  override readonly name = "Malformed"
  constructor(readonly sequence: number, reason: string) {
    super(reason)
  }
}

/**
 * Checks the framing of a verified block's records, and that no time is earlier than `afterEpochMs` or the record before, without
 * decoding payloads. Returns the time of the last. Throws `Malformed`.
 */
export const checkRecords = (bytes: Buffer, at: number, header: Header, afterEpochMs: number): number => {
  let atEpochMs = afterEpochMs
  eachRecord(bytes, at, header, (sequence, recordAt) => {
    const next = readWhole(bytes, recordAt + 12)
    if (next < atEpochMs) throw new Malformed(sequence, "its time goes back")
    atEpochMs = next
  })
  return atEpochMs
}

/** Decodes a verified block of this format. Throws `Malformed`. */
export const read = (bytes: Buffer, at: number, header: Header, digest: Uint8Array): Block => {
  assert(header.codec === codecVersion, "a block that is decoded is of this format")
  const records: Array<Record> = []
  eachRecord(bytes, at, header, (sequence, recordAt, payloadEnd) => {
    records.push({
      sequence,
      atEpochMs: readWhole(bytes, recordAt + 12),
      command: decodeCommand(sequence, bytes[recordAt + 20]!, bytes, recordAt + recordHeaderBytes, payloadEnd)
    })
  })
  return {
    epoch: header.epoch,
    firstSequence: header.firstSequence,
    lastSequence: header.lastSequence,
    previousDigest: Buffer.from(previousDigestAtHeader(bytes, at)),
    outcomeDigest: Buffer.from(bytes.subarray(at + outcomeDigestAt, at + outcomeDigestAt + digestBytes)),
    digest,
    records
  }
}

const decodeCommand = (sequence: number, code: number, bytes: Buffer, from: number, to: number): Command => {
  try {
    const payloadAt = RecordHeader.endOf(bytes, from, to)
    return CommandCodec.decodeAt(code, RecordHeader.read(bytes, from), bytes, payloadAt, to)
  } catch (error) {
    if (error instanceof Unreadable.Malformed) throw new Malformed(sequence, error.message)
    throw error
  }
}

const eachRecord = (
  bytes: Buffer,
  at: number,
  header: Header,
  visit: (sequence: number, recordAt: number, payloadEnd: number) => void
): void => {
  const end = at + headerBytes + header.recordsBytes
  let recordAt = at + headerBytes
  for (let sequence = header.firstSequence; sequence <= header.lastSequence; sequence++) {
    if (recordAt + recordHeaderBytes > end) throw new Malformed(sequence, "its record is cut off")
    const payloadEnd = recordAt + recordHeaderBytes + bytes.readUInt32LE(recordAt)
    if (payloadEnd > end) throw new Malformed(sequence, "its record is cut off")
    if (readWhole(bytes, recordAt + 4) !== sequence) throw new Malformed(sequence, "its record names another sequence")
    visit(sequence, recordAt, payloadEnd)
    recordAt = payloadEnd
  }
  if (recordAt !== end) throw new Malformed(header.lastSequence, "there are bytes behind the last record")
}
