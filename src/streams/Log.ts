/**
 * One stream: the updates of one channel for one market or account, record by record, since it was first requested. The latest are
 * kept, within limits, for resuming clients.
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
  /** Further members besides the entries, JSON beginning with a comma; empty for none. */
  readonly more: string
}

/** Takes durable updates. */
export interface Taker {
  readonly take: (update: Update) => void
}

/** A user of a stream, whether or not it gets updates already. */
export interface Asker {
  /** Called when everything sent of the stream so far has become invalid. */
  readonly madeAnew: () => void
}

/** How much of a stream is kept for resuming clients: a number of updates, and a number of bytes. */
export interface KeptOf {
  readonly updates: number
  readonly bytes: number
}

/** The bound of one stream. */
export interface Bound extends KeptOf {
  /** The common limit shared with other streams, if any. */
  readonly together?: KeptTogether | undefined
}

interface Kept {
  readonly update: Update
  readonly bytes: number
  /** The previous record that changed the stream. */
  readonly previousSequence: number
  /** The frame for recipients that have the previous update, cached where there may be many of them: for the newest updates. */
  frame: Frame | undefined
}

/**
 * Most updates, and entries of them, that a reused snapshot may be behind. A whole book takes as long to make as many of its
 * updates, so it is made at most once per this many, however many clients ask for it. The number of entries is half of what may be
 * merged for a slow client, so that none is too slow for the updates that come with a snapshot.
 */
export const mostBehindWhole = { updates: 64, entries: 2_048 } as const

/**
 * Of how many of its newest updates a stream caches frames: of those that come with snapshots, and of those that many clients missed who
 * lost their connections for a moment. A frame holds an update's text twice more, plain and encoded, which the bound of what is kept does
 * not count: of all that is kept it would take three times as much as is counted.
 */
export const mostFramed = 256

/** The whole stream as of a sequence, with the updates since. */
export interface Whole {
  readonly sequence: number
  readonly frame: Frame
  /** Updates decided since, which may not be durable yet. */
  readonly updates: ReadonlyArray<Update>
}

/** The name of a stream in frames: its channel, and its market if any. */
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

/** Why what a client has of a stream has become invalid. */
export type ResyncReason = "gap" | "retention" | "slow_consumer" | "projector_reset"

/** The frame announcing that a client's copy is invalid, and that a snapshot of a sequence follows. */
export const resyncText = (name: Name, fromSequence: number, reason: ResyncReason): string =>
  `{"type":"resync"${nameText(name, "stream")},"fromSequence":${fromSequence},"reason":"${reason}"}`

/** A snapshot as it is sent; `data` is JSON. */
export const snapshotText = (name: Name, sequence: number, data: string): string =>
  `{"type":"snapshot"${nameText(name)},"sequence":${sequence},"data":${data}}`

/** An update as it is sent. */
export const updateText = (name: Name, previousSequence: number, { entries, more, sequence }: Update): string =>
  `{"type":"update"${nameText(name)},"previousSequence":${previousSequence},"sequence":${sequence}${more}`
  + `,"data":[${entries.map(({ text }) => text).join(",")}]}`

/** The length of an update's text. */
const lengthOf = (name: Name, previousSequence: number, update: Update): number => {
  const around = updateText(name, previousSequence, { ...update, entries: [] }).length
  return update.entries.reduce((sum, { text }) => sum + text.length, around + Math.max(0, update.entries.length - 1))
}

/**
 * Flattens a concatenated string, by reading one of its characters: V8 would otherwise keep its parts, at several times the memory.
 */
const inOnePiece = (text: string): void => void text.charCodeAt(0)

export class Log {
  /** Recipients of updates. */
  readonly subscriptions = new Set<Taker>()
  /** Users of the stream, whether or not they get updates already. */
  readonly askers = new Set<Asker>()
  private kept: Array<Kept> = []
  private bytes = 0
  private whole: { readonly sequence: number; readonly terms: object; readonly frame: Frame } | undefined = undefined
  /** Bytes of the cached snapshot, where they count against the common limit of accounts' streams. */
  private wholeBytes = 0
  /** Updates since the cached snapshot, and their entries. */
  private behindWhole = { updates: 0, entries: 0 }
  /** How many updates there were. */
  count = 0
  /** When the last user left, epoch milliseconds. */
  quietSinceEpochMs: number

  /** Every update after this sequence is kept. */
  since: number

  /** What clients have up to this sequence is invalid, since the stream was then rebuilt. */
  anewSequence = -1

  /** @param lastSequence the last record that changed it */
  constructor(
    readonly name: Name,
    readonly subject: number,
    public lastSequence: number,
    nowEpochMs: number,
    private readonly most: Bound,
    /** The whole stream as JSON; undefined where it is read from the engine. */
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
    const aged = this.kept[this.kept.length - 1 - mostFramed]
    if (aged !== undefined) aged.frame = undefined
    this.lastSequence = update.sequence
    this.count++
    this.behindWhole.updates++
    this.behindWhole.entries += update.entries.length
    // Any other snapshot is given only as of the last update, so that this one is given to nobody any more.
    if (this.name.channel !== "market.book") this.keepWhole(undefined)
    this.nowKeeps(this.bytes + bytes)
    while (this.kept.length > this.most.updates || this.bytes > this.most.bytes && this.kept.length > 1) this.forgetOldest()
    this.most.together?.makeRoom()
  }

  /** Drops the oldest update kept, or the cached snapshot, which can be made again. */
  forgetOldest(): void {
    if (this.wholeBytes > 0) return this.keepWhole(undefined)
    const gone = this.kept.shift()!
    this.since = gone.update.sequence
    this.nowKeeps(this.bytes - gone.bytes)
  }

  /** Lets go of all that is kept. */
  forget(): void {
    this.kept = []
    this.since = this.lastSequence
    this.nowKeeps(0)
    this.keepWhole(undefined)
  }

  private nowKeeps(bytes: number): void {
    this.most.together?.changed(this, this.bytes + this.wholeBytes, bytes + this.wholeBytes)
    this.bytes = bytes
  }

  /** Caches a snapshot in place of the one before. An account's counts twice: as text, and encoded once it is sent. */
  private keepWhole(whole: Log["whole"]): void {
    const { together } = this.most
    const bytes = together === undefined || whole === undefined ? 0 : 2 * whole.frame.text.length
    together?.changed(this, this.bytes + this.wholeBytes, this.bytes + bytes)
    this.whole = whole
    this.wholeBytes = bytes
    together?.makeRoom()
  }

  /** The stream was rebuilt: nothing sent so far can be resumed from, and no snapshot made so far holds. */
  makeAnew(): void {
    this.forget()
    this.anewSequence = this.lastSequence
    for (const asker of [...this.askers]) asker.madeAnew()
  }

  /**
   * The snapshot frame, where it depends only on the stream's updates and the market's terms: made once for all who ask until the
   * terms or much else have changed, and sent with the updates since.
   * @param notBefore what the client already has: it never gets an older snapshot
   */
  snapshot(terms: object, notBefore: number, make: () => Frame): Whole {
    const { whole } = this
    if (whole?.terms === terms && whole.sequence >= notBefore && this.isNear(whole.sequence)) {
      return { sequence: whole.sequence, frame: whole.frame, updates: this.between(whole.sequence, this.lastSequence) }
    }
    return this.made(terms, make())
  }

  /**
   * The snapshot as of the last update, if it was made for the same terms and is cached. Only for a stream whose contents depend on
   * nothing but its updates and these terms: who subscribes again and again while nothing changes has it made once.
   */
  present(terms: object): Whole | undefined {
    const { whole } = this
    if (whole?.terms !== terms || whole.sequence !== this.lastSequence) return undefined
    return { sequence: whole.sequence, frame: whole.frame, updates: [] }
  }

  /** Caches a snapshot that was made of the present state. */
  made(terms: object, frame: Frame): Whole {
    const sequence = this.lastSequence
    this.behindWhole = { updates: 0, entries: 0 }
    this.keepWhole({ sequence, terms, frame })
    return { sequence, frame, updates: [] }
  }

  /** Whether all changes since the cached snapshot are kept, and few. */
  private isNear(wholeSequence: number): boolean {
    const { entries, updates } = this.behindWhole
    return wholeSequence >= this.since && updates <= mostBehindWhole.updates && entries <= mostBehindWhole.entries
  }

  /** An update's frame for a recipient that last got `previousSequence`. */
  frame(update: Update, previousSequence: number): Frame {
    const make = (): Frame => new Frame(updateText(this.name, previousSequence, update))
    if (this.most.together !== undefined) return this.most.together.frame(update, previousSequence, make)
    for (let at = this.kept.length - 1; at >= Math.max(0, this.kept.length - mostFramed); at--) {
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
