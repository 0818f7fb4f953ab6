/**
 * One stream: what one channel tells of one market or account, record by record, since somebody first asked for it. The
 * latest updates are kept, within a bound, for clients that come back.
 */
import type { Series } from "../readmodel/Candles.js"
import type { Timeframe } from "../readmodel/Timeframes.js"
import type { Channel } from "./Channels.js"
import { Frame } from "./Frame.js"
import type { KeptTogether } from "./KeptTogether.js"
import type { Entry } from "./Payloads.js"

/** What one record changed of one stream. */
export interface Update {
  readonly sequence: number
  readonly entries: ReadonlyArray<Entry>
  /** Members beside the entries, JSON that begins with a comma; empty for none. */
  readonly more: string
}

/** Takes durable updates. */
export interface Taker {
  readonly take: (update: Update) => void
}

/** Asks for a stream, whether or not it is told of it already. */
export interface Asker {
  /** What was told of the stream so far is no good any more. */
  readonly madeAnew: () => void
}

/** How much of a stream is kept for those who come back: so many updates, and no more bytes of them. */
export interface KeptOf {
  readonly updates: number
  readonly bytes: number
}

/** The bound of one stream. */
export interface Bound extends KeptOf {
  /** Where others keep theirs within one bound beside it. */
  readonly together?: KeptTogether | undefined
}

interface Kept {
  readonly update: Update
  readonly bytes: number
  /** The last record before it that changed the stream. */
  readonly previousSequence: number
  /** As it is sent to whoever has had that one, once somebody was, where many may be. */
  frame: Frame | undefined
}

/**
 * So many updates, and entries of them, may lie behind a whole that is given once more. A whole book takes as long to make as many of its
 * updates: so it is made at most once for so many, however many ask for it. The entries are half of what may be put together for a client
 * that is slow, so that none of them is too slow for what a whole comes with.
 */
export const mostBehindWhole = { updates: 64, entries: 2_048 } as const

/** All of a stream as of a sequence, and what has changed it since. */
export interface Whole {
  readonly sequence: number
  readonly frame: Frame
  /** What was decided behind it, and may not be durable yet. */
  readonly updates: ReadonlyArray<Update>
}

/** What a stream is called in frames: its channel, and its market where it is about one. */
export interface Name {
  readonly channel: Channel
  /** Undefined where it is about an account. */
  readonly marketId: string | undefined
  /** Of candles: which. */
  readonly candles?: { readonly timeframe: Timeframe; readonly series: Series }
}

/** Members that name a stream, JSON that begins with a comma. */
const nameText = ({ candles, channel, marketId }: Name, member: "channel" | "stream" = "channel"): string =>
  `,"${member}":"${channel}"` + (marketId === undefined ? "" : `,"marketId":${JSON.stringify(marketId)}`)
  + (candles === undefined ? "" : `,"timeframe":"${candles.timeframe}","series":"${candles.series}"`)

/** Why what a client has of a stream is no good any more. */
export type ResyncReason = "gap" | "retention" | "slow_consumer" | "projector_reset"

/** That what the client has is no good any more, and that a snapshot of a sequence follows. */
export const resyncText = (name: Name, fromSequence: number, reason: ResyncReason): string =>
  `{"type":"resync"${nameText(name, "stream")},"fromSequence":${fromSequence},"reason":"${reason}"}`

/** A snapshot as it is sent; `data` is JSON. */
export const snapshotText = (name: Name, sequence: number, data: string): string =>
  `{"type":"snapshot"${nameText(name)},"sequence":${sequence},"data":${data}}`

/** An update as it is sent. */
export const updateText = (name: Name, previousSequence: number, { entries, more, sequence }: Update): string =>
  `{"type":"update"${nameText(name)},"previousSequence":${previousSequence},"sequence":${sequence}${more}`
  + `,"data":[${entries.map(({ text }) => text).join(",")}]}`

/** How long an update is as it is sent. */
const lengthOf = (name: Name, previousSequence: number, update: Update): number => {
  const around = updateText(name, previousSequence, { ...update, entries: [] }).length
  return update.entries.reduce((sum, { text }) => sum + text.length, around + Math.max(0, update.entries.length - 1))
}

/**
 * Has a text that was put together held as one piece, which a look at any of its characters does. Held as its parts, and the order
 * in which they follow one another, it takes several times its length for as long as it is kept.
 */
const inOnePiece = (text: string): void => void text.charCodeAt(0)

export class Log {
  /** Who is told of updates. */
  readonly subscriptions = new Set<Taker>()
  /** Who asks for it, whether or not they are told already. */
  readonly askers = new Set<Asker>()
  private kept: Array<Kept> = []
  private bytes = 0
  private whole: { readonly sequence: number; readonly terms: object; readonly frame: Frame } | undefined = undefined
  /** Updates behind the whole, and their entries. */
  private behindWhole = { updates: 0, entries: 0 }
  /** How many updates there were. */
  count = 0
  /** Since when nobody has asked for it, epoch milliseconds. */
  quietSinceEpochMs: number
  /** The place of whoever asked for it last among all who asked for any. */
  lastAsked = 0

  /** Every update behind this sequence is kept. */
  since: number

  /** What clients have of it up to here is no good: it was made anew then. */
  anewSequence = -1

  /** @param lastSequence the last record that changed it */
  constructor(
    readonly name: Name,
    readonly subject: number,
    public lastSequence: number,
    nowEpochMs: number,
    private readonly most: Bound,
    /** All of it, JSON; undefined where that is read from the engine. */
    readonly contents?: () => string
  ) {
    this.since = lastSequence
    this.quietSinceEpochMs = nowEpochMs
  }

  /** Whether nobody has asked for it since before a time. */
  isQuietSince(epochMs: number): boolean {
    return this.askers.size === 0 && this.quietSinceEpochMs <= epochMs
  }

  /** Takes what a record changed. */
  append(update: Update): void {
    for (const { text } of update.entries) inOnePiece(text)
    const bytes = lengthOf(this.name, this.lastSequence, update)
    this.kept.push({ update, bytes, previousSequence: this.lastSequence, frame: undefined })
    this.lastSequence = update.sequence
    this.count++
    this.behindWhole.updates++
    this.behindWhole.entries += update.entries.length
    this.nowKeeps(this.bytes + bytes)
    while (this.kept.length > this.most.updates || this.bytes > this.most.bytes && this.kept.length > 1) this.forgetOldest()
    this.most.together?.makeRoom()
  }

  /** Lets go of the oldest update that is kept. */
  forgetOldest(): void {
    const gone = this.kept.shift()!
    this.since = gone.update.sequence
    this.nowKeeps(this.bytes - gone.bytes)
  }

  /** Lets go of all that is kept. */
  forget(): void {
    this.kept = []
    this.since = this.lastSequence
    this.nowKeeps(0)
  }

  private nowKeeps(bytes: number): void {
    this.most.together?.changed(this, this.bytes, bytes)
    this.bytes = bytes
  }

  /** What it says was made anew: nothing that was told so far is gone on from. */
  makeAnew(): void {
    this.forget()
    this.anewSequence = this.lastSequence
    this.whole = undefined
    for (const asker of [...this.askers]) asker.madeAnew()
  }

  /**
   * The whole of it as it is sent, where that depends on nothing but what has changed it, and on the market's own terms: made once for all
   * who ask before they are others or much has changed, and given with what has.
   * @param notBefore what the client has already: it is given nothing from before that
   */
  snapshot(terms: object, notBefore: number, make: () => Frame): Whole {
    const { whole } = this
    if (whole?.terms === terms && whole.sequence >= notBefore && this.isNear(whole.sequence)) {
      return { sequence: whole.sequence, frame: whole.frame, updates: this.between(whole.sequence, this.lastSequence) }
    }
    const made = { sequence: this.lastSequence, terms, frame: make() }
    this.whole = made
    this.behindWhole = { updates: 0, entries: 0 }
    return { sequence: made.sequence, frame: made.frame, updates: [] }
  }

  /** Whether all that has changed since the whole was made is kept, and is little. */
  private isNear(wholeSequence: number): boolean {
    const { entries, updates } = this.behindWhole
    return wholeSequence >= this.since && updates <= mostBehindWhole.updates && entries <= mostBehindWhole.entries
  }

  /** An update for whoever was last given `previousSequence`. */
  frame(update: Update, previousSequence: number): Frame {
    const make = (): Frame => new Frame(updateText(this.name, previousSequence, update))
    if (this.most.together !== undefined) return this.most.together.frame(update, previousSequence, make)
    for (let at = this.kept.length - 1; at >= 0; at--) {
      const kept = this.kept[at]!
      if (kept.update !== update) continue
      if (kept.previousSequence === previousSequence) return kept.frame ??= make()
      break
    }
    return make()
  }

  /** Kept updates behind one sequence, up to another. */
  between(after: number, upTo: number): ReadonlyArray<Update> {
    const from = this.kept.findLastIndex(({ update }) => update.sequence <= after) + 1
    return this.kept.slice(from).map(({ update }) => update).filter(({ sequence }) => sequence <= upTo)
  }
}
