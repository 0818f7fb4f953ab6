/**
 * One client's position in one stream. Every update is sent once and in order, naming the sequence that the client had before; for
 * a slow client the channel's policy applies.
 */
import { policies } from "./Channels.js"
import { Frame } from "./Frame.js"
import { type Log, type Update, updateText } from "./Log.js"
import type { Entry } from "./Payloads.js"

/** The destination of frames: one connection. */
export interface Sink {
  /** Sends a frame after which the client has the stream up to a sequence; undefined where what it had has become invalid. */
  readonly send: (frame: Frame, through: number | undefined) => void
  /** Sends a snapshot, which does not count against the connection's limit until the client has had time to receive it. */
  readonly sendWhole: (frame: Frame, through: number) => void
  /** Whether so much is waiting that mergeable updates are merged. */
  readonly isBehind: () => boolean
  /** Whether more is waiting than the connection may hold. */
  readonly isOver: () => boolean
  /** Notes that updates are held back, so that `drained` is called when the client is receiving again. */
  readonly held: () => void
  /** A lossless stream cannot be continued. */
  readonly tooSlow: () => void
  /** A frame could not be made because of a defect. */
  readonly failed: (cause: unknown) => void
}

/** Merged updates up to one with a checksum. */
interface Proved {
  readonly sequence: number
  readonly entries: Map<string, Entry>
  readonly more: string
}

/** Most entries of merged updates; beyond this the client gets a snapshot instead. */
const mostMerged = 4_096

export class Subscription {
  /** The last sequence sent to the client. */
  last = 0
  /** Updates merged since, by key; undefined while nothing waits. */
  private merged: Map<string, Entry> | undefined = undefined
  private mergedSequence = 0
  /**
   * Updates merged before those, up to the latest checksum. A checksum is only valid at its own sequence, so they are sent first
   * and separately.
   */
  private proved: Proved | undefined = undefined
  /** Whether the client needs a snapshot before anything else. */
  isStale = false

  constructor(readonly log: Log, private readonly sink: Sink) {}

  /** Begins to receive updates after a sequence that the client has. */
  begin(last: number): void {
    this.last = last
    // A snapshot may be older than what was last merged, and the updates after it are sent again.
    this.mergedSequence = last
    this.merged = undefined
    this.proved = undefined
    this.isStale = false
    this.log.subscriptions.add(this)
  }

  /** Stops receiving updates. */
  end(): void {
    this.log.subscriptions.delete(this)
  }

  /** Takes a durable update. The caller has other recipients, so a defect here must affect this client only. */
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

  /** Waiting updates are closed with one that has a checksum; later ones are merged separately. */
  private prove({ more, sequence }: Update): void {
    const entries = this.proved?.entries ?? new Map<string, Entry>()
    for (const [key, entry] of this.merged!) entries.set(key, entry)
    this.proved = { sequence, entries, more }
    this.merged = new Map()
  }

  /** Sends what waits, now that the client is receiving again. */
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
