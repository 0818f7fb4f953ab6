/**
 * The service that runs a follower beside the writer: in a venue as a thread, in the simulator as a process. Without one the writer
 * takes the snapshots itself.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Capacity } from "../engine/State.js"

/** The configuration of a follower. */
export interface Setting {
  readonly capacity: Capacity
  /** The newest snapshot that it may begin with; 0 for none. */
  readonly fromSequence: number
  /** Records between two snapshots; 0 for none. */
  readonly snapshotEveryRecords: number
}

/** Messages from a follower. */
export type Said =
  /** The sample of its state at the requested sequence. */
  | { readonly _tag: "Sampled"; readonly sequence: number; readonly digest: string }
  | { readonly _tag: "Saved"; readonly sequence: number }
  | { readonly _tag: "Warned"; readonly text: string }
  /** A snapshot was not saved. */
  | { readonly _tag: "Unsaved"; readonly text: string }

/** Records that the follower decided differently from the journal. */
export interface Divergence {
  readonly lastSequence: number
  readonly expectedDigest: string
  readonly actualDigest: string
}

/** Why a follower ended. */
export interface Ended {
  readonly reason: string
  readonly diverged?: Divergence | undefined
  /** Set where a segment, or a part of the journal, is missing behind what the writer has told durable. */
  readonly isMissing?: boolean
}

/** Indexes in the shared memory. */
const durablePlace = 0
const askedPlace = 1
const agreedPlace = 2
const standingPlace = 3
const places = 4

/**
 * Sequences that the writer and the follower exchange through shared memory: publishing one costs the writer no more than storing a
 * number. 0 for none yet.
 */
export class Told {
  private readonly numbers: BigInt64Array<SharedArrayBuffer>

  constructor(readonly memory: SharedArrayBuffer = new SharedArrayBuffer(places * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.numbers = new BigInt64Array(memory)
  }

  /** Set by the writer: the last durable sequence. */
  get durable(): number {
    return this.get(durablePlace)
  }

  set durable(sequence: number) {
    this.set(durablePlace, sequence)
  }

  /** Set by the writer: the end of the block at which it requests a sample. Set before that block is durable. */
  get asked(): number {
    return this.get(askedPlace)
  }

  set asked(sequence: number) {
    this.set(askedPlace, sequence)
  }

  /** Set by the writer: the last sequence at which both samples were the same. */
  get agreed(): number {
    return this.get(agreedPlace)
  }

  set agreed(sequence: number) {
    this.set(agreedPlace, sequence)
  }

  /** Set by the follower: the sequence it has reached. */
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
   * Runs a follower until it ends by itself, and fails with the reason. Interrupting it ends the follower, and completes once
   * nothing of it is running any more.
   */
  readonly run: (setting: Setting, told: Told, hear: (said: Said) => void) => Effect.Effect<never, Ended>
}

export class FollowerHost extends Context.Reference<FollowerHost>()("venue/sequencer/FollowerHost", {
  defaultValue: (): Host | undefined => undefined
}) {}
