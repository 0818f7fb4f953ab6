/**
 * Observes snapshots as they are written to the simulated disk. It reads their heads by the layout alone, and asks the venue for nothing.
 */
import type { Call } from "./SimDisk.js"

/** Layout: magic (8 bytes), version (4), length of the manifest (4), manifest (JSON). */
const magic = "fdf6faf9fbf7f5fe"
const lengthAt = 12
const manifestAt = 16

/** The record of the snapshot that begins with these bytes; undefined where they begin none. */
const sequenceIn = (bytes: Uint8Array): number | undefined => {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (head.length < manifestAt || head.toString("hex", 0, magic.length / 2) !== magic) return undefined
  const manifest = JSON.parse(head.toString("utf8", manifestAt, manifestAt + head.readUInt32LE(lengthAt))) as { readonly sequence: number }
  return manifest.sequence
}

/** Whether a path is that of a complete or unfinished snapshot. */
export const isSnapshot = (path: string): boolean => path.startsWith("snapshots/")

const wholePattern = /^snapshots\/([0-9]{20})\.snap$/

/** The record of a complete snapshot that an operation removes, and how many others there are; undefined where it removes none. */
export const removed = (
  { operation, path }: Call,
  files: () => ReadonlyArray<string>
): { readonly sequence: number; readonly left: number } | undefined => {
  const [, sequence] = operation === "remove" ? wholePattern.exec(path) ?? [] : []
  if (sequence === undefined) return undefined
  return { sequence: Number(sequence), left: files().filter((each) => each !== path && wholePattern.test(each)).length }
}

/** A snapshot whose writing has begun. */
export interface Begun {
  /** The record that it is taken at. */
  readonly sequence: number
  /** The last durable record when its file was created. */
  readonly durable: number
}

/**
 * Called for every disk operation that begins; returns the snapshot whose writing it begins, if any. `durable`: the last durable record.
 */
export const make = (durable: () => number): (call: Call) => Begun | undefined => {
  /** The last durable record when each file was opened, by path. */
  const opened = new Map<string, number>()
  return ({ bytes, operation, path }) => {
    if (!isSnapshot(path)) return undefined
    if (operation === "open") opened.set(path, durable())
    const sequence = bytes === undefined ? undefined : sequenceIn(bytes)
    return sequence === undefined ? undefined : { sequence, durable: opened.get(path) ?? 0 }
  }
}
