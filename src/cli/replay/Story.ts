/** What happened to one order, account, market or transfer, in order. */
import * as Effect from "effect/Effect"
import * as Ids from "../../domain/Ids.js"
import type { Engine } from "../../engine/Engine.js"
import type { DecodedEvent } from "../../engine/EventLog.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { Record } from "../../journal/Record.js"
import { Principal } from "../../operations/Header.js"
import type { Outcome } from "../../operations/Operations.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import { auditLine } from "./CommandLines.js"
import { follow, passive, type Source, type Visitor } from "./Follow.js"
import { linesOf } from "./Lines.js"
import { everyone, nobody, ownerBy, ownerOf, type Who } from "./Names.js"
import * as Stretch from "./Stretch.js"
import * as Why from "./Why.js"

/** The subject of a history, by the id that clients know. */
export type Subject =
  | { readonly _tag: "Order"; readonly orderNumber: number }
  /** Several at once: each line names its order. */
  | { readonly _tag: "Orders"; readonly orderNumbers: ReadonlyArray<number> }
  | { readonly _tag: "Account"; readonly accountId: string }
  | { readonly _tag: "Market"; readonly marketId: string }
  | { readonly _tag: "Transfer"; readonly number: number }
  /** Everything that happened, as when a single record is shown. */
  | { readonly _tag: "Everything" }

/** One thing that happened. */
export interface Line {
  readonly sequence: number
  readonly atEpochMs: number
  readonly text: string
  /** On the first line of a record with a refusal, if requested: what it was decided from. */
  readonly why?: ReadonlyArray<Why.Reason>
}

/** The first lines of a history. */
export interface Story {
  readonly lines: ReadonlyArray<Line>
  /** Lines beyond the limit. */
  readonly more: number
  /** Samples of the index feed, which a market's history omits. */
  readonly feedSamples: number
  /** Whether the journal knows the subject at all. */
  readonly known: boolean
  /** The first and the last record with a line, including lines beyond the limit; 0 where there is none. */
  readonly first: number
  readonly last: number
  /** The engine behind the block in which the history ends. */
  readonly engine: Engine
}

export interface Bounds extends Stretch.Stretch {
  /** Most lines kept. */
  readonly limit: number
  /** Whether refusals are explained by what they were decided from. */
  readonly why?: boolean
}

/** The history of a subject. The journal is replayed up to the end of the range, and lines before the range are left out. */
export const tell = (
  journal: Source,
  capacity: Capacity,
  subject: Subject,
  bounds: Bounds,
  look: Pick<Visitor, "block"> = passive
): Effect.Effect<Story, Unreadable | Unknown | Diverged> =>
  Effect.suspend(() => {
    const lines: Array<Line> = []
    const counts = { more: 0, feedSamples: 0, first: 0, last: 0 }
    let known = false
    let suspects: ReadonlyArray<Why.Suspect> = []
    const visitor: Visitor = {
      ...look,
      wants: (record) => !Stretch.isBehind(bounds, record),
      before: (engine, record) => {
        suspects = bounds.why === true && !Stretch.isBefore(bounds, record)
          ? Why.suspectsOf(engine, record, resolve(engine.state, subject))
          : []
      },
      applied: ({ state }, record, outcome, events) => {
        const whos = resolve(state, subject)
        known ||= whos.some((who) => isKnown(who, state, record, events))
        if (Stretch.isBefore(bounds, record)) return
        if (subject._tag !== "Everything" && isFeedSample(record)) {
          if (whos.some(({ market }) => market >= 0 && market === whereOf(record))) counts.feedSamples++
          return
        }
        const texts = textsOf(state, record, outcome, events, whos)
        if (texts.length === 0) return
        if (counts.first === 0) counts.first = record.sequence
        counts.last = record.sequence
        const { atEpochMs, sequence } = record
        const why = Why.reasonsOf(state, suspects, outcome)
        texts.forEach((text, index) => {
          if (lines.length < bounds.limit) lines.push({ sequence, atEpochMs, text, ...(index === 0 && why.length > 0 ? { why } : {}) })
          else counts.more++
        })
      }
    }
    return follow(journal, capacity, visitor, (engine): Story => ({
      lines,
      ...counts,
      // A range may have no record at all, and what is replayed may begin with a state.
      known: known || resolve(engine.state, subject).some((who) => isHeld(who, engine.state)),
      engine
    }))
  })

/** What a record did to any of the subjects. */
const textsOf = (
  state: State,
  record: Record,
  outcome: Outcome,
  events: () => ReadonlyArray<DecodedEvent>,
  whos: ReadonlyArray<Who>
): ReadonlyArray<string> => {
  const [only, ...others] = whos
  if (only === undefined) return []
  const decoded = events()
  if (only === everyone) {
    const texts = linesOf(state, record, outcome, decoded, everyone)
    // The venue's and the operator's commands normally appear only if refused, beside their effects; here each record gets at least one
    // line.
    return texts.length > 0 ? texts : [auditLine(state, record.command, outcome)]
  }
  if (others.length === 0) return linesOf(state, record, outcome, decoded, only)
  return [...new Set(whos.flatMap((who) =>
    linesOf(state, record, outcome, decoded, who).map((text) => {
      const id = Ids.orderId(who.orderNumber)
      return text.includes(id) ? text : `${id} ${text}`
    })
  ))]
}

const whereOf = ({ command }: Record): number => command.kind === "SetIndexPrice" ? command.market : -1

const resolve = (state: State, subject: Subject): ReadonlyArray<Who> => {
  switch (subject._tag) {
    case "Order":
      return [{ ...nobody, orderNumber: subject.orderNumber }]
    case "Orders":
      return subject.orderNumbers.map((orderNumber) => ({ ...nobody, orderNumber }))
    case "Account":
      return [{ ...nobody, account: state.accounts.find(subject.accountId) }]
    case "Transfer":
      return [{ ...nobody, transfer: subject.number }]
    case "Market":
      return [{ ...nobody, market: state.marketById.get(subject.marketId) ?? state.marketBySymbol.get(subject.marketId) ?? -1 }]
    case "Everything":
      return [everyone]
  }
}

/** Whether a state has a subject. */
const isHeld = (who: Who, state: State): boolean =>
  who === everyone || who.account >= 0 || who.market >= 0 || (who.transfer >= 0 && state.funds.transfers.find(who.transfer) !== undefined)
  || (who.orderNumber >= 0 && ownerOf(state, who.orderNumber).account >= 0)

const isKnown = (who: Who, state: State, record: Record, events: () => ReadonlyArray<DecodedEvent>): boolean =>
  isHeld(who, state) || (who.orderNumber >= 0 && ownerBy(state, record, events, who.orderNumber) >= 0)

const isFeedSample = (record: Record): boolean => record.command.principal === Principal.feed
