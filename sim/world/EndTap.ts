/**
 * Watches how a process that continues a journal treats the bytes behind the journal's end, as it writes to the simulated disk: what it
 * fills with zeros there before its first block, and whether a segment's permanent name is durable. It looks at the bytes alone, and
 * asks the venue for nothing.
 */
import * as Segment from "../../src/journal/Segment.js"
import type { Call, SimDisk } from "./SimDisk.js"

/** A process begins to write its first block. */
export interface WentOn {
  readonly _tag: "WentOn"
  readonly path: string
  readonly position: number
  /** How far from there it has written zeros, and where the segment ends. */
  readonly zeroedTo: number
  readonly segmentEnd: number
  /**
   * Whether the state that the last step to other rules began with would survive any crash, including its name; true where there is
   * none.
   */
  readonly keepsStep: boolean
}

/** A prepared segment is given its own name, by a process that has written blocks. */
export interface SegmentNamed {
  readonly _tag: "SegmentNamed"
  /** Bytes of it that would survive any crash under its present name; 0 if the name itself would not. */
  readonly durableBytes: number
  readonly bytes: number
}

/** Ranges of a file: the end of each by its beginning. */
type Zeroed = Map<number, number>

/** Whether the first byte is zero and each other equals the one before it, which is compared at once and not byte by byte. */
const isZero = (bytes: Uint8Array): boolean =>
  bytes.length === 0 || bytes[0] === 0 && Buffer.compare(bytes.subarray(1), bytes.subarray(0, bytes.length - 1)) === 0

const stepPattern = /^snapshots\/[0-9]{20}\.step$/

/** Whether the newest state that a step began with is durable under its name. */
const keepsStep = ({ bytes, durable, files }: Pick<SimDisk, "bytes" | "durable" | "files">): boolean => {
  const path = files().findLast((each) => stepPattern.test(each))
  if (path === undefined) return true
  const { length } = bytes(path)
  return durable(path, 0, length).length === length
}

/** How far zeros extend from a position on. */
const reachOf = (zeroed: Zeroed, from: number): number => {
  let reach = from
  for (const [start, end] of [...zeroed].sort(([a], [b]) => a - b)) if (start <= reach) reach = Math.max(reach, end)
  return reach
}

/** Called for every disk operation as it begins. Returns what it shows, if anything. */
export const make = (
  disk: () => Pick<SimDisk, "bytes" | "crashes" | "durable" | "files">
): (call: Call) => WentOn | SegmentNamed | undefined => {
  let process = -1
  let hasGoneOn = false
  /** The ranges that this process has filled with zeros, by the segment's path, and those of the segment without a name of its own. */
  let zeroed = new Map<string, Zeroed>()
  let unnamed: Zeroed = new Map()

  /** A write that leaves the bytes as they are does not continue the journal: bytes that may not be durable are written again first. */
  const goesOn = (path: string, position: number, bytes: Uint8Array): boolean =>
    Buffer.compare(disk().bytes(path).subarray(position, position + bytes.length), bytes) !== 0

  return ({ bytes, operation, path, position }) => {
    if (!path.startsWith(`${Segment.directory}/`)) return undefined
    if (disk().crashes() !== process) {
      process = disk().crashes()
      hasGoneOn = false
      zeroed = new Map()
      unnamed = new Map()
    }
    if (operation === "rename" && hasGoneOn) {
      const { length } = disk().bytes(path)
      return { _tag: "SegmentNamed", durableBytes: disk().durable(path, 0, length).length, bytes: length }
    }
    if (bytes === undefined || position === undefined || hasGoneOn) return undefined
    const own = path === Segment.unfinishedPath ? unnamed : zeroed.get(path) ?? new Map<number, number>()
    if (path !== Segment.unfinishedPath) zeroed.set(path, own)
    if (isZero(bytes)) {
      own.set(position, Math.max(own.get(position) ?? 0, position + bytes.length))
      return undefined
    }
    if (path === Segment.unfinishedPath || !goesOn(path, position, bytes)) return undefined
    hasGoneOn = true
    const zeroedTo = Math.max(reachOf(own, position), reachOf(unnamed, position))
    return { _tag: "WentOn", path, position, zeroedTo, segmentEnd: disk().bytes(path).length, keepsStep: keepsStep(disk()) }
  }
}
