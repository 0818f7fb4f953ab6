/** The messages between a venue and the thread that makes its histories: plain values, since they pass between threads. */
import type { Histories, Options, Reached, Read } from "../readmodel/Histories.js"
import type { Run } from "../sequencer/Feed.js"

/** The reads of the histories. */
export type Question = Exclude<keyof Histories["Type"], "standing" | "beginning">

/** The worker's start parameters. */
export interface Begun {
  readonly environment: string
  readonly options: Options
  /** Whether an earlier worker has used the database. */
  readonly hasBegun: boolean
  /** The last durable sequence, in memory that both threads share. */
  readonly durable: SharedArrayBuffer
  /** The reads that nobody waits for any more, likewise. */
  readonly givenUp: SharedArrayBuffer
}

/**
 * Notes that nobody waits for a read any more. A message would arrive behind all that is to be read before it. Each id has its place in
 * this memory, which a later one may take: then the earlier read is carried out all the same.
 */
export const noteGivenUp = (givenUp: SharedArrayBuffer, id: number): void => {
  const ids = new BigInt64Array(givenUp)
  Atomics.store(ids, id % ids.length, BigInt(id))
}

export const isGivenUp = (givenUp: SharedArrayBuffer, id: number): boolean => {
  const ids = new BigInt64Array(givenUp)
  return Atomics.load(ids, id % ids.length) === BigInt(id)
}

export type Asked =
  | { readonly _tag: "Read"; readonly id: number; readonly question: Question; readonly parameters: ReadonlyArray<unknown> }
  /** The requested blocks from a sequence on; undefined where they are not in the venue's memory. */
  | { readonly _tag: "Given"; readonly sequence: number; readonly run: Run | undefined }
  /** No more is wanted: finish and end. */
  | { readonly _tag: "End" }

export type Said =
  /** Undefined where there is nothing to read from. */
  | { readonly _tag: "Found"; readonly id: number; readonly read: Read<unknown> | undefined }
  | { readonly _tag: "Reached"; readonly reached: Reached | undefined }
  /** Requests blocks from a sequence on, as soon as there are any. */
  | { readonly _tag: "Wanted"; readonly sequence: number }
  | { readonly _tag: "Logged"; readonly isError: boolean; readonly text: string }
