/** One stream that is followed, over all the connections that this takes: what was had of it last, and whether it is current. */
import { type Channel, isOfAccount, keyOf, type SnapshotEvent, type SnapshotReason, type StreamName, type UpdateEvent } from "./Channels.js"
import type { Refusal } from "./Refusal.js"

/** Who is told of a stream. It is told in order, and of nothing twice: a snapshot, and then what changed. */
export interface Listener<C extends Channel = Channel> {
  readonly snapshot: (event: SnapshotEvent<C>) => void
  readonly update: (event: UpdateEvent<C>) => void
  /** Until the next event nothing is known of what changes. */
  readonly interrupted?: () => void
  /** It is told on behind the last event: what was missed follows, where there is any. */
  readonly resumed?: () => void
  /** Nothing follows: the venue refused the stream, or it was closed here. */
  readonly ended: (refusal: Refusal | undefined) => void
}

/**
 * `waiting`: to be asked for, once that is possible. `asked`: no answer yet. `live`: what changes is told. `held`: the listener takes
 * nothing now. `ended`: for good.
 */
export type State = "waiting" | "asked" | "live" | "held" | "ended"

/** What a stream that is followed needs of the whole. */
export interface Around {
  /** Asks for it anew, from where it stands. */
  readonly ask: () => void
  /** Asks for it after a while: the longer, the oftener it was of no use. */
  readonly askLater: (failures: number) => void
  /** Has the venue tell nothing more of it. */
  readonly leave: () => void
  readonly forget: () => void
  readonly isTrusted: () => boolean
}

export class Following<C extends Channel = Channel> {
  readonly key: string
  readonly isOfAccount: boolean
  state: State = "waiting"
  /** The frame that asks for it. */
  askedId: string | undefined = undefined
  /** The last sequence that the listener was given; undefined where nothing it has is any good. */
  last: number | undefined = undefined
  /** How often it was refused for a time, one after another. */
  refusals = 0
  /** Why the next snapshot comes. */
  reason: SnapshotReason = "first"

  constructor(readonly name: StreamName<C>, readonly listener: Listener<C>, private readonly around: Around) {
    this.key = keyOf(name)
    this.isOfAccount = isOfAccount(name.channel)
  }

  /** Whether what was told is what there is, but for what is on its way. */
  get isCurrent(): boolean {
    return this.state === "live" && this.last !== undefined && (!this.isOfAccount || this.around.isTrusted())
  }

  /** Stops being told, without losing its place: what is missed meanwhile comes with `release`. */
  hold(): void {
    if (this.state === "ended" || this.state === "held") return
    this.around.leave()
    this.state = "held"
  }

  release(): void {
    if (this.state !== "held") return
    this.state = "waiting"
    this.around.ask()
  }

  /** Throws away what it has: a snapshot follows, later where so many before it were no good either. */
  afresh(reason: SnapshotReason, failures: number): void {
    if (this.state === "ended") return
    this.last = undefined
    this.reason = reason
    if (failures === 0) return this.again()
    this.around.leave()
    this.state = "waiting"
    this.around.askLater(failures)
  }

  /** Asks again, from where it stands: unless whoever was told that it is interrupted has closed or held it over that. */
  again(): void {
    if (this.state === "ended" || this.state === "held") return
    this.around.leave()
    this.state = "waiting"
    this.around.ask()
  }

  close(): void {
    this.end(undefined)
  }

  end(refusal: Refusal | undefined): void {
    if (this.state === "ended") return
    this.around.leave()
    this.around.forget()
    this.state = "ended"
    this.listener.ended(refusal)
  }
}
