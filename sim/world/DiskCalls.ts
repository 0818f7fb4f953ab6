/**
 * How operations of a simulated disk begin, take their time and end: in success, with an error, or never. Those of a crashed process never
 * end and change nothing.
 */
import { Effect } from "effect"
import { DiskError } from "../../src/journal/Disk.js"

/** How likely each fault is, 0 to 1 per operation. May be changed while the disk is in use. */
export interface Faults {
  /** `EIO`, per kind of operation. `other` is everything about names: create, rename, remove, list, sync of directories. */
  read: number
  write: number
  sync: number
  other: number
  /** A write or a creation finds no room: see `fullCode`. */
  full: number
  /** A write or sync that never ends. */
  hang: number
  misdirect: number
  /** At a power failure: a write that is not durable arrives wholly or not at all. */
  whole: number
}

export const noFaults: Readonly<Faults> = { read: 0, write: 0, sync: 0, other: 0, full: 0, hang: 0, misdirect: 0, whole: 0.3 }

export type Operation =
  | "open"
  | "writeAt"
  | "dataSync"
  | "readAt"
  | "size"
  | "makeDirectory"
  | "list"
  | "rename"
  | "remove"
  | "syncDirectory"
  | "lock"

/** An operation that is about to begin. `index` counts all operations of the disk from 0. */
export interface Call {
  readonly index: number
  readonly operation: Operation
  readonly path: string
  /** The bytes that a write puts there. */
  readonly bytes?: Uint8Array
  /** The position of a write. */
  readonly position?: number
}

export interface Options {
  /** 0 to below 1. */
  readonly random: () => number
  readonly faults?: Partial<Faults>
  /** Bytes of all files together. */
  readonly capacityBytes?: number
  /** Simulated milliseconds an operation takes, at once if both are 0; without it, one to four turns of the scheduler. */
  readonly latencyMs?: { readonly min: number; readonly max: number }
  /** What the system says where there is no room: that the disk is full, or that the user's quota is used up. `ENOSPC` unless given. */
  readonly fullCode?: "ENOSPC" | "EDQUOT"
  /** Whether reads see a durable write from its beginning, before it is durable; without it, they never do. */
  readonly isSeenEarly?: () => boolean
  /** Makes one operation fail, hang or go astray, beyond what chance does. May crash the disk: then the operation has not begun. */
  readonly inject?: (call: Call) => Injected | undefined
}

/** A special outcome of an operation: it fails, never ends, goes astray, or takes long and then succeeds or fails. */
export type Injected = "EIO" | "ENOSPC" | "hang" | "misdirect" | "stall" | "stall, then EIO"

/** Additional duration of a stalled operation, simulated milliseconds: longer than most concurrent operations. */
const stallMs = 300

/** The steps of an operation: `begin` at once, `end` after its time, `abort` for what a failure or hang leaves behind. */
export interface Steps<A, B, E> {
  readonly begin: (misdirected: boolean) => B
  readonly end: (begun: B) => Effect.Effect<A, E>
  readonly abort?: (begun: B) => void
}

/** An operation that never ends. (`Effect.never` would hold the real process with a real timer.) */
const hung: Effect.Effect<never> = Effect.async<never>(() => {})

const turns = (count: number): Effect.Effect<void> =>
  count <= 1 ? Effect.yieldNow() : Effect.flatMap(Effect.yieldNow(), () => turns(count - 1))

export class DiskCalls {
  readonly faults: Faults
  /** How many operations have begun. */
  count = 0
  /** Whether the disk is full: no file is created or becomes longer. */
  outOfRoom = false
  /** Writes to the journal that have begun and may still end; a crash drops them. */
  writing = 0
  /** How often the disk lost its process. */
  crashes = 0

  constructor(readonly options: Options) {
    this.faults = { ...noFaults, ...options.faults }
  }

  get fullCode(): "ENOSPC" | "EDQUOT" {
    return this.options.fullCode ?? "ENOSPC"
  }

  /** Performs an operation of the process mounted after so many crashes. */
  perform<A, B, E>(
    born: number,
    operation: Operation,
    path: string,
    probability: number,
    steps: Steps<A, B, E>,
    written?: Required<Pick<Call, "bytes" | "position">>
  ): Effect.Effect<A, DiskError | E> {
    return Effect.uninterruptible(Effect.suspend(() => {
      if (born !== this.crashes) return hung
      const injected = this.options.inject?.({ index: this.count, operation, path, ...written })
      this.count++
      if (born !== this.crashes) return hung
      const { faults } = this
      const writes = operation === "writeAt"
      const full = injected === "ENOSPC" || ((writes || operation === "open") && this.#chance(faults.full))
      const failed = injected === "EIO" || injected === "stall, then EIO" || this.#chance(probability)
      const stall = injected === "stall" || injected === "stall, then EIO" ? Effect.sleep(stallMs) : Effect.void
      const hangs = injected === "hang" || ((writes || operation === "dataSync") && this.#chance(faults.hang))
      const isOfJournal = writes && path.startsWith("journal/") && !hangs
      if (isOfJournal) this.writing++
      const begun = steps.begin(injected === "misdirect" || (writes && this.#chance(faults.misdirect)))
      return Effect.zipRight(
        Effect.zipRight(Effect.zipRight(this.#pause, stall), Effect.suspend(() => born === this.crashes ? Effect.void : hung)),
        Effect.suspend((): Effect.Effect<A, DiskError | E> => {
          if (isOfJournal) this.writing--
          if (!full && !failed && !hangs) return steps.end(begun)
          steps.abort?.(begun)
          return hangs ? hung : Effect.fail(new DiskError({ operation, path, code: full ? this.fullCode : "EIO" }))
        })
      )
    }))
  }

  #chance(probability: number): boolean {
    return probability > 0 && this.options.random() < probability
  }

  readonly #pause: Effect.Effect<void> = Effect.suspend(() => {
    const { latencyMs, random } = this.options
    if (latencyMs === undefined) return turns(1 + Math.floor(random() * 4))
    const ms = latencyMs.min + random() * (latencyMs.max - latencyMs.min)
    return ms > 0 ? Effect.sleep(ms) : Effect.void
  })
}
