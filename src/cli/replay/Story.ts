/** What happened to one order, account, market or transfer, in the order in which it happened. */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import type { Engine } from "../../engine/Engine.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import { Principal } from "../../operations/Header.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { follow, passive, type Source, type Visitor } from "./Follow.js"
import { linesOf } from "./Lines.js"
import { nobody, type Who } from "./Names.js"

/** Whom a story is about, by the id that clients know. */
export type Subject =
  | { readonly _tag: "Order"; readonly orderNumber: number }
  | { readonly _tag: "Account"; readonly accountId: string }
  | { readonly _tag: "Market"; readonly marketId: string }
  | { readonly _tag: "Transfer"; readonly number: number }

/** One thing that happened. */
export interface Line {
  readonly sequence: number
  readonly atEpochMs: number
  readonly text: string
}

/** The first lines of a story. */
export interface Story {
  readonly lines: ReadonlyArray<Line>
  /** Lines beyond the limit. */
  readonly more: number
  /** Samples of the index feed, which a market's story leaves out. */
  readonly feedSamples: number
  /** Whether the journal knows the subject at all. */
  readonly known: boolean
  /** The engine where the story ends. */
  readonly engine: Engine
}

export interface Bounds {
  /** Sequences, inclusive. */
  readonly from: number
  readonly to: number
  /** Most lines kept. */
  readonly limit: number
}

/** The story of a subject. The whole journal up to `to` is replayed; what comes before `from` is not told. */
export const tell = (
  journal: Source,
  capacity: Capacity,
  subject: Subject,
  bounds: Bounds,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<Story, Unreadable | Unknown | Diverged> =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    let more = 0
    let feedSamples = 0
    let known = false
    const visitor: Visitor = {
      ...look,
      wants: (record) => record.sequence <= bounds.to,
      applied: ({ state }, record, outcome, events) => {
        const who = resolve(state, subject)
        known ||= isKnown(who, state, record)
        if (record.sequence < bounds.from) return
        if (isFeedSample(record)) {
          if (record.command.kind === "SetIndexPrice" && record.command.market === who.market) feedSamples++
          return
        }
        for (const text of linesOf(state, record, outcome, events(), who)) {
          if (lines.length < bounds.limit) lines.push({ sequence: record.sequence, atEpochMs: record.atEpochMs, text })
          else more++
        }
      }
    }
    return Effect.map(follow(journal, capacity, visitor), (engine): Story => ({ lines, more, feedSamples, known, engine }))
  })

const resolve = (state: State, subject: Subject): Who => {
  switch (subject._tag) {
    case "Order":
      return { ...nobody, orderNumber: subject.orderNumber }
    case "Account":
      return { ...nobody, account: state.accounts.find(subject.accountId) }
    case "Transfer":
      return { ...nobody, transfer: subject.number }
    case "Market":
      return { ...nobody, market: state.marketById.get(subject.marketId) ?? state.marketBySymbol.get(subject.marketId) ?? -1 }
  }
}

const isKnown = (who: Who, state: State, record: Record): boolean =>
  who.account >= 0 || who.market >= 0 || (who.transfer >= 0 && state.funds.transfers.find(who.transfer) !== undefined)
  || (who.orderNumber >= 0 && (state.orders.find(who.orderNumber) >= 0
    || (record.command.kind === "PlaceOrders" && isBornIn(who.orderNumber, record, record.command.entries.length))))

const isBornIn = (orderNumber: number, record: Record, entries: number): boolean => {
  const index = orderNumber - Ids.ordinal(record.sequence, 0)
  return index >= 0 && index < entries
}

const isFeedSample = (record: Record): boolean => record.command.principal === Principal.feed
