/** The way in for every command, and the way out for everything computed from the engine. */
import * as Context from "effect/Context"
import type { ShownTicket } from "../engine/Reads.js"
import type { Command, Outcome } from "../operations/Operations.js"

/** Called once, when the decision is durable. */
export type Answer = (outcome: Outcome) => void

/**
 * Callers cannot tell a local writer from a remote one. An answer means durable; no answer (the process ended) means unknown, which
 * repeating the same command under the same key resolves.
 */
export class Submit extends Context.Tag("venue/sequencer/Submit")<Submit, {
  /**
   * Queues a command. It is answered exactly once: decided and durable, or refused without a record (`outcome.refusal`).
   * `inboxFull` may be answered before this returns. Never throws. `shown` is the realtime ticket that authorised the command,
   * which must still be valid when its turn comes.
   */
  readonly submit: (command: Command, answer: Answer, shown?: ShownTicket) => void
}>() {}

/**
 * Wraps a submit service: a defect in an answer is told, and kept from the writer, which calls the answer and would end the venue for it.
 * Nothing is left undecided by one, as the decision is durable by then.
 */
export const guarded = ({ submit }: Context.Tag.Service<Submit>, tell: (defect: unknown) => void): Context.Tag.Service<Submit> => ({
  submit: (command, answer, shown) =>
    submit(command, (outcome) => {
      try {
        answer(outcome)
      } catch (defect) {
        tell(defect)
      }
    }, shown)
})

/** Nothing computed from the engine leaves the process before the sequence it was computed at is durable. */
export class Barrier extends Context.Tag("venue/sequencer/Barrier")<Barrier, {
  /** Calls back when `sequence` is durable: at once if it is. After a failed write it never does. */
  readonly whenDurable: (sequence: number, callback: () => void) => void
  /** The last durable sequence. */
  readonly durableSequence: () => number
}>() {}
