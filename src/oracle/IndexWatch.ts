/**
 * What became of index samples since the process started, by market and whoever sent them: for whoever watches the venue.
 * It decides nothing, and a new start begins to count anew.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import { Refusal } from "../domain/Refusal.js"
import { Principal } from "../operations/Header.js"
import { type Outcome, refusalOf } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"

/** What may become of a sample: the index now, a step that waits for others to agree, older than what stands, or no price at all. */
export const fates = ["taken", "held", "out_of_order", "refused"] as const
export type Fate = (typeof fates)[number]

/** Whom a sample is of: the index feed or its stream, or an operator. */
export const senders = ["feed", "operator"] as const
export type Sender = (typeof senders)[number]

/** How many samples of a market came to what. */
export type Counts = Readonly<Record<Fate, number>>

/** What a sample was refused for: as a command, or by the decision on it. */
export const refusalOfSample = ({ entries: [entry], refusal }: Outcome): Refusal =>
  refusal !== Refusal.none || entry === undefined ? refusal : refusalOf(entry)

/** What a sample came to. */
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
  /** What became of a market's samples of a sender. */
  readonly counts: (market: number, sender: Sender) => Counts
  /** Counts a sample of a market that was no price of its grid, and so never came to a decision. */
  readonly refuse: (market: number, sender: Sender) => void
  /** Whether the last sample of a market that told is held back: a step that waits for others to agree with it. */
  readonly isHeld: (market: number) => boolean
  /** The way in, watched: every index sample that goes through it is counted. */
  readonly over: (submit: Context.Tag.Service<Submit>) => Context.Tag.Service<Submit>
}>() {}

const nothing: Counts = { taken: 0, held: 0, out_of_order: 0, refused: 0 }

/** Starts with nothing seen. */
export const make = (): Context.Tag.Service<IndexWatch> => {
  const counted = new Map<number, Record<Sender, Record<Fate, number>>>()
  const held = new Set<number>()

  const count = (market: number, sender: Sender, fate: Fate): void => {
    const counts = counted.get(market) ?? { feed: { ...nothing }, operator: { ...nothing } }
    counts[sender][fate]++
    counted.set(market, counts)
  }

  const note = (market: number, sender: Sender, outcome: Outcome): void => {
    // What is told again under its key was counted when it was decided.
    if (outcome.replayed) return
    const fate = fateOf(outcome)
    count(market, sender, fate)
    if (fate === "held") held.add(market)
    if (fate === "taken") held.delete(market)
  }

  return {
    counts: (market, sender) => counted.get(market)?.[sender] ?? nothing,
    refuse: (market, sender) => count(market, sender, "refused"),
    isHeld: (market) => held.has(market),
    over: ({ submit }) => ({
      submit: (command, answer, shown) => {
        if (command.kind !== "SetIndexPrice") return submit(command, answer, shown)
        submit(command, (outcome) => {
          note(command.market, command.principal === Principal.feed ? "feed" : "operator", outcome)
          answer(outcome)
        })
      }
    })
  }
}

export const layer: Layer.Layer<IndexWatch> = Layer.sync(IndexWatch, make)
