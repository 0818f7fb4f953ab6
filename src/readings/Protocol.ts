/** What a venue asks of whoever reads its journal for it, and is told: plain values, since they go from one thread to another. */
import type { Unread } from "../sequencer/Feed.js"
import type { AccountChannel } from "../streams/Channels.js"
import type { Page, Piece } from "../streams/Replay.js"

/** What is to be read, of what is durable: all up to `upTo` is. */
export type Wanted =
  | { readonly _tag: "Piece"; readonly channel: AccountChannel; readonly account: number; readonly after: number; readonly upTo: number }
  | { readonly _tag: "Page"; readonly account: number; readonly after: number; readonly upTo: number; readonly mostRecords: number }

export type Asked =
  | { readonly _tag: "Wanted"; readonly id: number; readonly wanted: Wanted }
  /** Whoever wanted it has taken it, or has gone. */
  | { readonly _tag: "Over"; readonly id: number }

/** A piece or a page; undefined in place of one where too many wait. */
export type Found = Piece | Page | undefined

export type Said =
  | { readonly _tag: "Found"; readonly id: number; readonly found: Found }
  | { readonly _tag: "Failed"; readonly id: number; readonly reason: string; readonly why: Unread["why"] }
  /** How many engines stand. */
  | { readonly _tag: "Engines"; readonly count: number }
  | { readonly _tag: "Warned"; readonly text: string }
