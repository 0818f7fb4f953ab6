/** Records as they are decided, for streams that publish them to clients. */
import * as Context from "effect/Context"

/** A listener for records. It is called in the writer's own turn, so it must be quick and never throw. */
export interface Listening {
  /**
   * A record was decided and is not durable yet, so nothing of it may leave the process. The engine stands at it until this
   * returns; its events are the words between `from` and `to`.
   */
  readonly decided: (sequence: number, words: Float64Array, from: number, to: number) => void
  /** Everything up to a sequence is durable. */
  readonly committed: (lastSequence: number) => void
}

/**
 * A start of the venue: its first record, and a name that no other start has, on this journal or on a copy of it, unless both began at the
 * same time of the journal. A clock that is behind the last record makes that so: each then begins at the last record's time.
 */
export interface Start {
  readonly id: string
  readonly firstSequence: number
}

export class Live extends Context.Tag("venue/sequencer/Live")<Live, {
  /** Adds a listener for everything decided from now on. */
  readonly listen: (listening: Listening) => void
  /** The latest starts, the present one first. */
  readonly starts: () => ReadonlyArray<Start>
}>() {}

/** For a process that decides nothing. */
export const none: Context.Tag.Service<Live> = { listen: () => {}, starts: () => [] }

/** The listeners of one writer. */
export class Listeners implements Listening {
  private readonly all: Array<Listening> = []

  listen(listening: Listening): void {
    this.all.push(listening)
  }

  decided(sequence: number, words: Float64Array, from: number, to: number): void {
    for (const each of this.all) each.decided(sequence, words, from, to)
  }

  committed(lastSequence: number): void {
    for (const each of this.all) each.committed(lastSequence)
  }
}
