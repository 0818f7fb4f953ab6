/** Records as they are decided, for whoever tells clients of them while they are fresh. */
import * as Context from "effect/Context"

/** Hears of records. It is called in the writer's own turn, so it does little, and never throws. */
export interface Listening {
  /**
   * A record was decided, and is not durable yet: nothing of it leaves the process. The engine stands at it until this returns;
   * its events are the words from one place up to another.
   */
  readonly decided: (sequence: number, words: Float64Array, from: number, to: number) => void
  /** Everything up to a sequence is durable. */
  readonly committed: (lastSequence: number) => void
}

export class Live extends Context.Tag("venue/sequencer/Live")<Live, {
  /** Has one more told, of what is decided from now on. */
  readonly listen: (listening: Listening) => void
}>() {}

/** Where nothing is decided. */
export const none: Context.Tag.Service<Live> = { listen: () => {} }

/** Those who listen to one writer. */
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
