/**
 * One client's place in one stream. Every update comes once, in order, each naming the sequence that the client was given
 * before; what a client takes too slowly becomes of it what its channel's policy says.
 */
import { policies } from "./Channels.js"
import { Frame } from "./Frame.js"
import { type Log, type Update, updateText } from "./Log.js"
import type { Entry } from "./Payloads.js"

/** Where frames go: one connection. */
export interface Sink {
  /** Sends a frame by which the client has the stream up to a sequence; undefined where what it had before is no good any more. */
  readonly send: (frame: Frame, through: number | undefined) => void
  /** Sends a snapshot: until the client has had time to take it, it is not counted against what the connection may hold. */
  readonly sendWhole: (frame: Frame, through: number) => void
  /** Whether so much is on its way that what may be put together is. */
  readonly isBehind: () => boolean
  /** Whether more is on its way than the connection may hold. */
  readonly isOver: () => boolean
  /** Something is held back: it is asked for when the client takes things again. */
  readonly held: () => void
  /** A stream that loses nothing cannot be sent any more. */
  readonly tooSlow: () => void
  /** What was to be sent could not be made, for a defect. */
  readonly failed: (cause: unknown) => void
}

/** What several updates came to, up to one that has a checksum. */
interface Proved {
  readonly sequence: number
  readonly entries: Map<string, Entry>
  readonly more: string
}

/** Entries that updates put together hold at most; beyond, the client gets a snapshot instead. */
const mostMerged = 4_096

export class Subscription {
  /** The last sequence that the client was given of the stream. */
  last = 0
  /** What was put together since, by key; undefined while nothing waits. */
  private merged: Map<string, Entry> | undefined = undefined
  private mergedSequence = 0
  /** What was put together before that, up to the latest checksum. A checksum is right for that alone: it is sent in front, by itself. */
  private proved: Proved | undefined = undefined
  /** Whether the client has to be given a snapshot before anything else. */
  isStale = false

  constructor(readonly log: Log, private readonly sink: Sink) {}

  /** Begins to be told, behind a sequence that the client has. */
  begin(last: number): void {
    this.last = last
    // A snapshot may be from before what was put together last, and what is behind it is told again.
    this.mergedSequence = last
    this.merged = undefined
    this.proved = undefined
    this.isStale = false
    this.log.subscriptions.add(this)
  }

  /** Is told nothing any more. */
  end(): void {
    this.log.subscriptions.delete(this)
  }

  /** Takes a durable update. Whoever gives it out has others to give it to: a defect here is this client's alone. */
  take(update: Update): void {
    try {
      this.receive(update)
    } catch (cause) {
      this.sink.failed(cause)
    }
  }

  private receive(update: Update): void {
    if (this.isStale || update.sequence <= Math.max(this.last, this.mergedSequence)) return
    const policy = policies[this.log.name.channel]
    if (this.merged !== undefined || policy === "by_key" && this.sink.isBehind()) return this.merge(update)
    if (this.sink.isOver()) {
      if (policy === "lossless") return this.sink.tooSlow()
      this.isStale = true
      return this.sink.held()
    }
    this.sink.send(this.log.frame(update, this.last), update.sequence)
    this.last = update.sequence
  }

  private merge(update: Update): void {
    if (this.merged === undefined) this.sink.held()
    this.merged ??= new Map()
    for (const entry of update.entries) this.merged.set(entry.key, entry)
    this.mergedSequence = update.sequence
    if (update.more !== "") this.prove(update)
    if (this.merged.size + (this.proved?.entries.size ?? 0) <= mostMerged) return
    this.merged = undefined
    this.proved = undefined
    this.isStale = true
  }

  /** All that waits ends with an update that has a checksum: what comes behind is put together anew. */
  private prove({ more, sequence }: Update): void {
    const entries = this.proved?.entries ?? new Map<string, Entry>()
    for (const [key, entry] of this.merged!) entries.set(key, entry)
    this.proved = { sequence, entries, more }
    this.merged = new Map()
  }

  /** Gives what waits, now that the client takes things again. */
  drained(): void {
    const { merged, proved } = this
    if (merged === undefined || this.isStale) return
    this.merged = undefined
    this.proved = undefined
    if (proved !== undefined) this.give(proved.sequence, proved.entries, proved.more)
    if (merged.size > 0) this.give(this.mergedSequence, merged, "")
  }

  private give(sequence: number, entries: ReadonlyMap<string, Entry>, more: string): void {
    this.sink.send(new Frame(updateText(this.log.name, this.last, { sequence, entries: [...entries.values()], more })), sequence)
    this.last = sequence
  }
}
