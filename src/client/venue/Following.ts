/** One followed stream across all its connections: its last position, and whether it is current. */
import { type Channel, isOfAccount, keyOf, type SnapshotEvent, type SnapshotReason, type StreamName, type UpdateEvent } from "./Channels.js"
import type { Refusal } from "./Refusal.js"

/** Receives a stream's events, in order and each once: a snapshot, and then its changes. */
export interface Listener<C extends Channel = Channel> {
  readonly snapshot: (event: SnapshotEvent<C>) => void
  readonly update: (event: UpdateEvent<C>) => void
  /** Changes are not received until the next event. */
  readonly interrupted?: () => void
  /** Events continue after the last one: any that were missed follow. */
  readonly resumed?: () => void
  /**
   * The venue's journal may lack what was received from a sequence on, as after a restore from an older copy, and give those sequences to
   * other events. A snapshot follows.
   */
  readonly lost?: (fromSequence: number) => void
  /** Nothing follows: the venue refused the stream, or it was closed here. */
  readonly ended: (refusal: Refusal | undefined) => void
}

/**
 * `waiting`: to be requested as soon as possible. `asked`: requested, without an answer yet. `live`: changes are received. `held`: paused
 * by the listener. `ended`: for good.
 */
export type State = "waiting" | "asked" | "live" | "held" | "ended"

/** What a followed stream needs from what it is followed over. */
export interface Around {
  /** Requests it again, from its position. */
  readonly ask: (following: Following) => void
  /** Requests it after a delay, which grows with consecutive failures. */
  readonly askLater: (following: Following, failures: number) => void
  /** Has the venue stop sending it. */
  readonly leave: (following: Following) => void
  readonly forget: (following: Following) => void
  readonly isTrusted: () => boolean
}

export class Following<C extends Channel = Channel> {
  readonly key: string
  readonly isOfAccount: boolean
  state: State = "waiting"
  /** The id of the frame that requested it. */
  askedId: string | undefined = undefined
  /** The last sequence given to the listener; undefined where the listener has no usable state. */
  last: number | undefined = undefined
  /** The last sequence ever given to the listener that the venue's journal is known to have; kept where the state is discarded. */
  received: number | undefined = undefined
  /** While the venue's own time for requesting it again has not come: what is compared to know whether that is still the latest one. */
  heldBack: object | undefined = undefined
  /** Consecutive temporary refusals. */
  refusals = 0
  /** The reason reported with the next snapshot. */
  reason: SnapshotReason = "first"

  /** @param around changes where it moves to another connection */
  constructor(readonly name: StreamName<C>, readonly listener: Listener<C>, public around: Around) {
    this.key = keyOf(name)
    this.isOfAccount = isOfAccount(name.channel)
  }

  /** Itself, as those see it that have streams of all channels. */
  private get known(): Following {
    return this as unknown as Following
  }

  /** Whether the received state is current, apart from updates in transit. */
  get isCurrent(): boolean {
    return this.state === "live" && this.last !== undefined && (!this.isOfAccount || this.around.isTrusted())
  }

  /** Pauses the stream without losing its position: what is missed meanwhile follows after `release`. */
  hold(): void {
    if (this.state === "ended" || this.state === "held") return
    this.around.leave(this.known)
    this.state = "held"
  }

  release(): void {
    if (this.state !== "held") return
    this.state = "waiting"
    this.around.ask(this.known)
  }

  /** Discards the state: the next request is for a snapshot. */
  forgets(reason: SnapshotReason): void {
    this.last = undefined
    this.reason = reason
  }

  /** Discards the state and everything received from a sequence on: the venue's journal may lack it. */
  loses(fromSequence: number): void {
    this.forgets("gap")
    if (this.received !== undefined) this.received = Math.min(this.received, fromSequence - 1)
    this.listener.lost?.(fromSequence)
    this.listener.interrupted?.()
  }

  /** Gives an event with its last sequence to the listener next. */
  reaches(sequence: number): void {
    this.last = sequence
    this.received = sequence
  }

  /** Discards the state and requests it again, after a delay where previous ones were unusable too. */
  afresh(reason: SnapshotReason, failures: number): void {
    if (this.state === "ended") return
    this.forgets(reason)
    if (failures === 0) return this.again()
    this.around.leave(this.known)
    this.state = "waiting"
    this.around.askLater(this.known, failures)
  }

  /** Requests it again from its position, unless the listener closed or paused it when it was interrupted. */
  again(): void {
    if (this.state === "ended" || this.state === "held") return
    this.around.leave(this.known)
    this.state = "waiting"
    this.around.ask(this.known)
  }

  close(): void {
    this.end(undefined)
  }

  end(refusal: Refusal | undefined): void {
    if (this.state === "ended") return
    this.around.leave(this.known)
    this.around.forget(this.known)
    this.state = "ended"
    this.listener.ended(refusal)
  }
}
