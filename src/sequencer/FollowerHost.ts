/**
 * The leaf that runs a follower beside the writer: in a venue a thread of its own, in the simulator a process of its own.
 * Without one the writer takes the snapshots itself.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Capacity } from "../engine/State.js"

/** How a follower is set up. */
export interface Setting {
  readonly capacity: Capacity
  /** The newest snapshot that it may begin with; 0 for none. */
  readonly fromSequence: number
  /** Records between two snapshots; 0 for none. */
  readonly snapshotEveryRecords: number
}

/** What a follower says. */
export type Said =
  /** The sample of its state at the sequence that it was asked for. */
  | { readonly _tag: "Sampled"; readonly sequence: number; readonly digest: string }
  | { readonly _tag: "Saved"; readonly sequence: number }
  | { readonly _tag: "Warned"; readonly text: string }

/** Records that it decided otherwise than the journal says. */
export interface Divergence {
  readonly lastSequence: number
  readonly expectedDigest: string
  readonly actualDigest: string
}

/** Why a follower ended. */
export interface Ended {
  readonly reason: string
  readonly diverged?: Divergence | undefined
}

/** Places of the memory that both see. */
const durablePlace = 0
const askedPlace = 1
const agreedPlace = 2
const standingPlace = 3
const places = 4

/**
 * Sequences that writer and follower tell each other without a message, in memory that both see: to tell one costs the
 * writer no more than to store a number. 0 for none yet.
 */
export class Told {
  private readonly numbers: BigInt64Array<SharedArrayBuffer>

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(places * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.numbers = new BigInt64Array(memory)
  }

  /** By the writer: what is durable. */
  get durable(): number {
    return this.get(durablePlace)
  }

  set durable(sequence: number) {
    this.set(durablePlace, sequence)
  }

  /** By the writer: the end of the block at which it wants to hear a sample. Told before that block is durable. */
  get asked(): number {
    return this.get(askedPlace)
  }

  set asked(sequence: number) {
    this.set(askedPlace, sequence)
  }

  /** By the writer: where the last sample was the same as its own. */
  get agreed(): number {
    return this.get(agreedPlace)
  }

  set agreed(sequence: number) {
    this.set(agreedPlace, sequence)
  }

  /** By the follower: where it stands. */
  get standing(): number {
    return this.get(standingPlace)
  }

  set standing(sequence: number) {
    this.set(standingPlace, sequence)
  }

  private get(place: number): number {
    return Number(Atomics.load(this.numbers, place))
  }

  private set(place: number, sequence: number): void {
    Atomics.store(this.numbers, place, BigInt(sequence))
  }
}

export interface Host {
  /**
   * Runs a follower until it ends by itself, and fails with why. An interruption ends it, and is over when nothing of it goes
   * on any more.
   */
  readonly run: (setting: Setting, told: Told, hear: (said: Said) => void) => Effect.Effect<never, Ended>
}

export class FollowerHost extends Context.Reference<FollowerHost>()("venue/sequencer/FollowerHost", {
  defaultValue: (): Host | undefined => undefined
}) {}
