/** The messages between a venue and the thread that reads its journal: plain values, since they pass between threads. */
import type { Unread } from "../sequencer/Feed.js"
import type { AccountChannel } from "../streams/Channels.js"
import type { Page, Piece } from "../streams/Replay.js"

/** What is to be read; everything up to `upTo` is durable. */
export type Wanted =
  | { readonly _tag: "Piece"; readonly channel: AccountChannel; readonly account: number; readonly after: number; readonly upTo: number }
  | { readonly _tag: "Page"; readonly account: number; readonly after: number; readonly upTo: number; readonly mostRecords: number }

export type Asked =
  | { readonly _tag: "Wanted"; readonly id: number; readonly wanted: Wanted }
  /** The requester has used the result, or has gone. */
  | { readonly _tag: "Over"; readonly id: number }

/** A piece or a page; undefined where too many callers are waiting. */
export type Found = Piece | Page | undefined

export type Said =
  | { readonly _tag: "Found"; readonly id: number; readonly found: Found }
  | { readonly _tag: "Failed"; readonly id: number; readonly reason: string; readonly why: Unread["why"] }
  /** How many engines are kept. */
  | { readonly _tag: "Engines"; readonly count: number }
  | { readonly _tag: "Warned"; readonly text: string }
