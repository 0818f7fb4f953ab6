/**
 * Safety (I16). The content that a client has assembled from snapshots and updates is the venue's, at every record at which the two can be
 * compared and when all is quiet. Each update names the sequence that the client had before. All updates of an account, and of a market
 * except for its levels and candles, come exactly once, in order and complete by the model, whatever was cut in between. Values that a
 * book's client can compute itself, decimals, digests and checksums, are correct, and a checksum comes with every snapshot of a book and
 * with every hundred updates. Nothing is sent before it is durable, nothing of another account, and nothing of an account once the
 * presented ticket has expired. A REST read of changes has the same events.
 */
import type { Members } from "../model/Shown.js"
import * as Frames from "../reading/Frames.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { ToldOfStreams } from "./ToldOfStreams.js"

/** A client's update of a channel: everything after one record up to another is one event, or none. */
interface Update {
  readonly stream: string
  readonly previousSequence: number
  readonly sequence: number
  readonly data: string
}

/** An answer to a read of changes. */
interface Changes {
  readonly fromSequence: number
  readonly throughSequence: number
  readonly hasMore: boolean
  readonly events: ReadonlyArray<{ readonly channel: string; readonly sequence: number; readonly data: unknown }>
}

interface State {
  /** The updates of records, by the model. */
  readonly told: ToldOfStreams
  /** By client, its recent updates from its account's streams, and the changes that it read. */
  readonly updates: Map<string, Array<Update>>
  readonly pages: Map<string, Array<Changes>>
  /** When a connection asked for a market's figures that it was not sent yet, by the process's clock: by the connection and the stream. */
  readonly figures: Map<string, number>
  /** The last durable record. */
  sequence: number
  /** Characters from which on a page takes no further record. */
  pageText: number
}

/** The default number of records of a page. */
const usualLimit = 50

/** Most updates and pages kept of one client. */
const mostTold = 500

const channels = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"]

const remember = <A>(all: Map<string, Array<A>>, client: string, one: A): void => {
  const own = all.get(client) ?? []
  all.set(client, own)
  own.push(one)
  if (own.length > mostTold) own.shift()
}

/** Whether a page agrees with an update of the stream. */
const agree = ({ events, fromSequence, throughSequence }: Changes, { data, previousSequence, sequence, stream }: Update): Verdict => {
  const passed = events.find((event) => event.channel === stream && event.sequence > previousSequence && event.sequence < sequence)
  if (passed !== undefined)
    return broken(`record ${passed.sequence} of ${stream} is read, and the stream passes it over before ${sequence}`)
  if (sequence <= fromSequence || sequence > throughSequence) return holds
  const event = events.find((one) => one.channel === stream && one.sequence === sequence)
  if (event === undefined) return broken(`record ${sequence} of ${stream} is streamed, and not among what was read behind ${fromSequence}`)
  const read = JSON.stringify(event.data)
  return read === data ? holds : broken(`record ${sequence} of ${stream} is read as ${read}, and was streamed as ${data}`)
}

/** Checks that a page has every record that changed a channel, with its full change. */
const channelFault = (
  told: ToldOfStreams,
  account: number,
  channel: string,
  { events, fromSequence, throughSequence }: Changes
): Verdict => {
  let before = fromSequence
  for (const { data, sequence } of events.filter((event) => event.channel === channel)) {
    const missed = told.between(channel, account, before, sequence)
    if (missed !== undefined) return broken(`leaves out record ${missed} of ${channel}`)
    const verdict = told.updateFault(channel, account, sequence, data as ReadonlyArray<Members>)
    if (verdict !== undefined) return broken(`tells record ${sequence} of ${channel}, ${verdict}`)
    before = sequence
  }
  const missed = told.between(channel, account, before, throughSequence + 1)
  return missed === undefined ? holds : broken(`leaves out record ${missed} of ${channel}`)
}

/** The characters of the entries in events, as the venue counts them. */
const textOf = (events: Changes["events"]): number =>
  events.reduce(
    (sum, { data }) => sum + (data as ReadonlyArray<unknown>).reduce<number>((all, each) => all + JSON.stringify(each).length, 0),
    0
  )

/** Checks that a page took no record behind one with which it had as much text as makes it full, and goes no further then. */
const sizeFault = ({ pageText }: State, { events, hasMore, throughSequence }: Changes, leftBehind: number): Verdict => {
  const last = events.at(-1)?.sequence
  const before = textOf(events.filter(({ sequence }) => sequence !== last))
  if (before >= pageText) return broken(`takes record ${last} behind ${before} characters, and ${pageText} are enough`)
  if (textOf(events) < pageText || throughSequence === last) return holds
  return hasMore || throughSequence < leftBehind || last === undefined ? broken(`is full and goes up to ${throughSequence}`) : holds
}

/** Checks that a page is in order, complete, durable, and in agreement with the stream. */
const pageFault = (
  state: State,
  { call, leftBehind }: Observation & { readonly _tag: "Answered" },
  page: Changes
): Verdict => {
  const { told, updates } = state
  const { events, fromSequence, hasMore, throughSequence } = page
  const query = new URLSearchParams(call.target.split("?")[1])
  if (fromSequence !== Number(query.get("fromSequence"))) return broken(`is what is behind ${fromSequence}`)
  if (throughSequence > leftBehind || throughSequence < fromSequence)
    return broken(`goes up to ${throughSequence}, of ${leftBehind} that are durable`)
  if (throughSequence === fromSequence && hasMore) return broken("has more, and goes nowhere")
  if (throughSequence === leftBehind && hasMore) return broken("has more, and goes up to the last record")
  const places = events.map(({ channel, sequence }) => [sequence, channels.indexOf(channel)] as const)
  const disorder = places.findIndex(([sequence, channel], index) => {
    const [before, beside] = places[index - 1] ?? [fromSequence, channels.length]
    return sequence > throughSequence || channel < 0 || sequence < before || sequence === before && channel <= beside
  })
  if (disorder >= 0) return broken(`has ${JSON.stringify(places[disorder])} at the wrong place`)
  const most = Number(query.get("limit") ?? usualLimit)
  if (new Set(places.map(([sequence]) => sequence)).size > most) return broken("tells of more records than it may")
  const isTooLong = sizeFault(state, page, leftBehind)
  if (isTooLong !== undefined) return isTooLong
  for (const channel of channels) {
    const verdict = channelFault(told, call.account, channel, page)
    if (verdict !== undefined) return verdict
  }
  for (const update of updates.get(call.client) ?? []) {
    const verdict = agree(page, update)
    if (verdict !== undefined) return verdict
  }
  return holds
}

/** A snapshot of a single thing is that thing. */
const listOf = (data: Members | ReadonlyArray<Members>): ReadonlyArray<Members> => Array.isArray(data) ? data : [data as Members]

const isOfChanges = ({ endpoint }: Call): boolean => endpoint === "listChanges"

const ticker = "market.ticker"

/** Notes when a market's figures are asked for, unless they are on their way. */
const figuresAsked = ({ figures }: State, { atEpochMs, kind, line, text }: Observation & { readonly _tag: "FrameTaken" }): void => {
  if (kind !== "text" || !text.includes(ticker)) return
  const frame = Frames.read(text)
  if (frame._tag !== "subscribe" || !frame.subject.stream.startsWith(ticker)) return
  const asked = `${line}/${frame.subject.stream}`
  if (!figures.has(asked)) figures.set(asked, atEpochMs)
}

/** Checks what a market's figures begin with: what moves with time alone is as of then. */
const figuresLeft = (state: State, { atEpochMs, frame, line }: Observation & { readonly _tag: "FrameLeft" }): Verdict => {
  const { channel, data, marketId, sequence, type } = frame
  if (channel !== ticker || type !== "snapshot") return holds
  const stream = `${channel}:${marketId}`
  const askedAt = state.figures.get(`${line}/${stream}`)
  state.figures.delete(`${line}/${stream}`)
  // A clock that was set back meanwhile may have shown any time.
  if (askedAt === undefined || askedAt > atEpochMs) return holds
  const verdict = state.told.momentFault(stream, sequence!, state.sequence, listOf(data as Members), [askedAt, atEpochMs])
  return verdict === undefined ? holds : broken(`${line} is sent ${stream} between ${askedAt} and ${atEpochMs} as a snapshot, ${verdict}`)
}

/** When all is quiet a client has the venue's content, and was told of every record that changed it. */
const restFault = ({ told }: State, seen: Observation & { readonly _tag: "StreamRests" }): Verdict => {
  const { account, client, expected, held, last, stream } = seen
  if (held !== expected) return broken(`all is quiet, and of ${stream} ${client} has ${held}, and it is ${expected}`)
  const missed = told.between(stream, account, last, Number.POSITIVE_INFINITY)
  return missed === undefined
    ? holds
    : broken(`all is quiet, and ${client} was told of ${stream} up to ${last}, and not record ${missed}`)
}

export const streams: Property<State> = {
  name: "streams-equal-the-venue-and-skip-nothing",
  invariant: "I16",
  kind: "safety",
  initial: () => ({ told: new ToldOfStreams(), updates: new Map(), pages: new Map(), figures: new Map(), sequence: 0, pageText: 0 }),
  observe: (state, seen) => {
    const { pages, told, updates } = state
    switch (seen._tag) {
      case "Committed":
        told.take(seen.record.command, seen.decision, seen.model)
        state.sequence = seen.record.sequence
        return holds
      case "Started":
        state.figures.clear()
        state.pageText = seen.pageText
        return holds
      case "FrameTaken":
        figuresAsked(state, seen)
        return holds
      case "FrameLeft":
        return figuresLeft(state, seen)
      case "Streamed": {
        const { account, before, client, durable, expected, held, isForeign, isLate, isSnapshot, previousSequence, sequence, stream } = seen
        const what = `${client} was sent record ${sequence} of ${stream}`
        if (sequence > durable) return broken(`${what} when only ${durable} was durable`)
        if (isLate) return broken(`${what} when its ticket was over`)
        if (isForeign) return broken(`${what}, which is about another account`)
        if (seen.misread !== undefined) return broken(`${what}: ${seen.misread}`)
        if (expected !== undefined && held !== expected) return broken(`${what}, by which it has ${held}, and it is ${expected}`)
        const data = seen.data === "" ? [] : listOf(JSON.parse(seen.data) as Members | ReadonlyArray<Members>)
        if (isSnapshot) {
          const verdict = told.snapshotFault(stream, account, sequence, durable, data)
          return verdict === undefined ? holds : broken(`${what} as a snapshot, ${verdict}`)
        }
        if (before === undefined) return broken(`${what} before any snapshot`)
        if (previousSequence !== before) return broken(`${what} as the one behind ${previousSequence}, and it had ${before}`)
        if (sequence <= before) return broken(`${what}, and it had ${before}`)
        const missed = seen.mayBeMerged ? undefined : told.between(stream, account, before, sequence)
        if (missed !== undefined) return broken(`${what} behind ${before}, and record ${missed} between them changed it`)
        const verdict = told.updateFault(stream, account, sequence, data)
        if (verdict !== undefined) return broken(`${what}, ${verdict}`)
        if (stream.startsWith("account.")) {
          const update = { stream, previousSequence, sequence, data: seen.data }
          remember(updates, client, update)
          for (const page of pages.get(client) ?? []) {
            const verdict = agree(page, update)
            if (verdict !== undefined) return verdict
          }
        }
        return holds
      }
      case "Answered": {
        if (!isOfChanges(seen.call) || seen.answer.status !== 200) return holds
        const page = seen.answer.json as Changes
        remember(pages, seen.call.client, page)
        const verdict = pageFault(state, seen, page)
        return verdict === undefined
          ? holds
          : broken(`${seen.call.target} of ${seen.call.client} ${verdict}: ${seen.answer.text.slice(0, 600)}`)
      }
      case "StreamRests":
        return restFault(state, seen)
      default:
        return holds
    }
  },
  foresee: (state, seen) => seen._tag === "StreamRests" ? restFault(state, seen) : holds
}
