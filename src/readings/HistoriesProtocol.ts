/** What a venue and whoever makes its histories say to each other: plain values, since they go from one thread to another. */
import type { Histories, Options, Reached, Read } from "../readmodel/Histories.js"
import type { Run } from "../sequencer/Feed.js"

/** What can be read of histories. */
export type Question = Exclude<keyof Histories["Type"], "standing">

/** What it is begun with. */
export interface Begun {
  readonly environment: string
  readonly options: Options
  /** Whether one before has been at work on them. */
  readonly hasBegun: boolean
  /** Holds the last durable sequence, one number that both see. */
  readonly durable: SharedArrayBuffer
}

export type Asked =
  | { readonly _tag: "Read"; readonly id: number; readonly question: Question; readonly parameters: ReadonlyArray<unknown> }
  /** The blocks that were wanted from a sequence on; undefined where they are not in the venue's memory. */
  | { readonly _tag: "Given"; readonly sequence: number; readonly run: Run | undefined }
  /** No more is wanted. */
  | { readonly _tag: "End" }

export type Said =
  /** Undefined where there is nothing to read from. */
  | { readonly _tag: "Found"; readonly id: number; readonly read: Read<unknown> | undefined }
  | { readonly _tag: "Reached"; readonly reached: Reached | undefined }
  /** Blocks are wanted from a sequence on, once there are any. */
  | { readonly _tag: "Wanted"; readonly sequence: number }
  | { readonly _tag: "Logged"; readonly isError: boolean; readonly text: string }
