/** Parts of a journal as a newer version might write them: with another version number, and all digests correct. */
import * as Block from "../../src/journal/Block.js"

const newer = 9

/** The offset of a segment's last block. */
const lastBlockAt = (segment: Buffer): number => {
  let last = Block.sectorBytes
  for (let at = last;;) {
    const header = Block.readHeader(segment, at)
    if (header === undefined) return last
    last = at
    at += header.blockBytes
  }
}

/** A copy of a segment whose last block is of a newer format. */
export const lastBlock = (segment: Uint8Array): Buffer => {
  const bytes = Buffer.from(segment)
  const at = lastBlockAt(bytes)
  const { blockBytes } = Block.readHeader(bytes, at)!
  bytes.writeUInt32LE(newer, at + 40)
  Block.sha256(bytes.subarray(at + 40, at + blockBytes - 40)).copy(bytes, at + blockBytes - 40)
  Block.sha256(bytes.subarray(at + 16, at + 128)).copy(bytes, at + 8, 0, 8)
  return bytes
}

/** A copy of a segment in whose last block only the version number was changed, not the digests. */
export const flippedBlock = (segment: Uint8Array): Buffer => {
  const bytes = Buffer.from(segment)
  bytes.writeUInt32LE(newer, lastBlockAt(bytes) + 40)
  return bytes
}

/** A copy of a segment whose header is of a newer format. */
export const segment = (segment: Uint8Array): Buffer => {
  const bytes = Buffer.from(segment)
  bytes.writeUInt32LE(newer, 8)
  Block.sha256(bytes.subarray(0, Block.sectorBytes - 32)).copy(bytes, Block.sectorBytes - 32)
  return bytes
}

/** A copy of a snapshot's file that names a newer layout (`format`) or schema of its sections. */
export const snapshot = (file: Uint8Array, what: "format" | "schema"): Buffer => {
  const bytes = Buffer.from(file)
  if (what === "format") bytes.writeUInt32LE(newer, 8)
  else {
    const at = bytes.indexOf("\"schema\":")
    if (at < 0) throw new Error("a snapshot without its schema")
    bytes.write(String(newer), at + "\"schema\":".length)
  }
  Block.sha256(bytes.subarray(0, -32)).copy(bytes, bytes.length - 32)
  return bytes
}
