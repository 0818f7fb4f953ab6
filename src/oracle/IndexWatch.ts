/**
 * What became of index samples since the process started, by market and sender, for monitoring. It decides nothing, and counts from zero
 * after a restart.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { Refusal } from "../domain/Refusal.js"
import { Principal } from "../operations/Header.js"
import { type Outcome, refusalOf } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"

/**
 * The fates of a sample: it became the index, is held back as a step until others agree with it, is older than the index, or is no valid
 * price.
 */
export const fates = ["taken", "held", "out_of_order", "refused"] as const
export type Fate = (typeof fates)[number]

/** The sender of a sample: the index feed or its stream, or an operator. */
export const senders = ["feed", "operator"] as const
export type Sender = (typeof senders)[number]

/** How many of a market's samples had each fate. */
export type Counts = Readonly<Record<Fate, number>>

/** Why a sample was refused: as a command, or in the decision on it. */
export const refusalOfSample = ({ entries: [entry], refusal }: Outcome): Refusal =>
  refusal !== Refusal.none || entry === undefined ? refusal : refusalOf(entry)

/** The fate of a sample. */
export const fateOf = (outcome: Outcome): Fate => {
  switch (refusalOfSample(outcome)) {
    case Refusal.none:
      return "taken"
    case Refusal.indexPriceHeld:
      return "held"
    case Refusal.indexPriceOutOfOrder:
      return "out_of_order"
    default:
      return "refused"
  }
}

export class IndexWatch extends Context.Tag("venue/oracle/IndexWatch")<IndexWatch, {
  /** The fates of a market's samples from a sender. */
  readonly counts: (market: number, sender: Sender) => Counts
  /** Counts a sample that was not on its market's grid, and so never came to a decision. */
  readonly refuse: (market: number, sender: Sender) => void
  /** Wraps a submit service: every index sample submitted through the result is counted. */
  readonly over: (submit: Context.Tag.Service<Submit>) => Context.Tag.Service<Submit>
}>() {}

const nothing: Counts = { taken: 0, held: 0, out_of_order: 0, refused: 0 }

/** Starts with nothing counted. */
export const make = (): Context.Tag.Service<IndexWatch> => {
  const counted = new Map<number, Record<Sender, Record<Fate, number>>>()

  const count = (market: number, sender: Sender, fate: Fate): void => {
    const counts = counted.get(market) ?? { feed: { ...nothing }, operator: { ...nothing } }
    counts[sender][fate]++
    counted.set(market, counts)
  }

  const note = (market: number, sender: Sender, outcome: Outcome): void => {
    // A repeated answer to an idempotency key was counted when it was decided.
    if (outcome.replayed) return
    count(market, sender, fateOf(outcome))
  }

  return {
    counts: (market, sender) => counted.get(market)?.[sender] ?? nothing,
    refuse: (market, sender) => count(market, sender, "refused"),
    over: ({ submit }) => ({
      submit: (command, answer, shown) => {
        if (command.kind !== "SetIndexPrice") return submit(command, answer, shown)
        submit(command, (outcome) => {
          // Its sender is answered whatever becomes of the count.
          try {
            note(command.market, command.principal === Principal.feed ? "feed" : "operator", outcome)
          } finally {
            answer(outcome)
          }
        })
      }
    })
  }
}

export const layer: Layer.Layer<IndexWatch> = Layer.sync(IndexWatch, make)
