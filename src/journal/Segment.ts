/**
 * Segment files: their names and their first sector, which says what the file continues. The rest of a segment is blocks, then
 * zeros.
 */
import { digestBytes, readWhole, sectorBytes, sha256, writeWhole } from "./Block.js"

/** Where segments live, relative to the data directory. */
export const directory = "journal"

/** The name of a segment that is being prepared; a file of this name at opening was left by a terminated process. */
export const unfinishedName = "next.tmp"
export const unfinishedPath = `${directory}/${unfinishedName}`

/** The name under which a segment is written anew that lost its name while it was open; a file of this name at opening is of no use. */
export const savedName = "saved.tmp"
export const savedPath = `${directory}/${savedName}`

/** The size of a segment unless told otherwise, in bytes. */
export const defaultBytes = 64 << 20

/** The path of the segment that begins with a sequence. */
export const pathOf = (firstSequence: number): string => `${directory}/${String(firstSequence).padStart(20, "0")}.seg`

const namePattern = /^[0-9]{20}\.seg$/

/** The first sequence that a file name claims, or undefined if it is no segment's name. */
export const firstSequenceOf = (name: string): number | undefined => {
  if (!namePattern.test(name)) return undefined
  const sequence = Number(name.slice(0, 20))
  return Number.isSafeInteger(sequence) && sequence >= 1 ? sequence : undefined
}

/** The content of a segment's first sector. */
export interface Header {
  readonly firstSequence: number
  /** Digest of the last block before the segment. */
  readonly previousDigest: Uint8Array
  /** The size of the whole file. */
  readonly segmentBytes: number
}

// Layout of the first sector: magic, version, first sequence, size, digest before, filler, SHA-256 of all that.
const magic = Buffer.from([0xfb, 0xf9, 0xfe, 0xf5, 0xf7, 0xfa, 0xfd, 0xf6])
const version = 1
const versionAt = 8
const firstSequenceAt = 16
const segmentBytesAt = 24
const previousDigestAt = 32
const checksumAt = sectorBytes - digestBytes
const filler = 0xa5

/** The first sector. */
export const encodeHeader = (header: Header): Buffer => {
  const bytes = Buffer.alloc(sectorBytes, filler)
  magic.copy(bytes)
  bytes.writeUInt32LE(version, versionAt)
  writeWhole(bytes, header.firstSequence, firstSequenceAt)
  writeWhole(bytes, header.segmentBytes, segmentBytesAt)
  bytes.set(header.previousDigest, previousDigestAt)
  sha256(bytes.subarray(0, checksumAt)).copy(bytes, checksumAt)
  return bytes
}

const isIntact = (bytes: Buffer): boolean =>
  bytes.length >= sectorBytes && magic.compare(bytes, 0, magic.length) === 0
  && sha256(bytes.subarray(0, checksumAt)).compare(bytes, checksumAt, sectorBytes) === 0

/** The version of an intact first sector written by a newer program; undefined for any other. */
export const newerVersion = (bytes: Buffer): number | undefined => {
  if (!isIntact(bytes)) return undefined
  const written = bytes.readUInt32LE(versionAt)
  return written > version ? written : undefined
}

/** Reads the first sector; undefined if it is not intact. */
export const decodeHeader = (bytes: Buffer): Header | undefined => {
  if (!isIntact(bytes)) return undefined
  if (bytes.readUInt32LE(versionAt) !== version) return undefined
  return {
    firstSequence: readWhole(bytes, firstSequenceAt),
    segmentBytes: readWhole(bytes, segmentBytesAt),
    previousDigest: Buffer.from(bytes.subarray(previousDigestAt, previousDigestAt + digestBytes))
  }
}
