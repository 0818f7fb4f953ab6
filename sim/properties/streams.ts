/**
 * Safety (I16). What a client has put together from snapshots and updates is what the venue has, at every record at which the
 * two can be compared and when all is quiet. Each update names the sequence that the client had before; none of an account's
 * orders is skipped, whatever was cut in between; nothing is shown before it is durable, nothing of another account, and nothing
 * of an account once the ticket is over that was shown for it. Who asks by REST what has changed is told the same events.
 */
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** What a client was told of a channel: by the stream everything behind one record up to another is one event, or none. */
interface Update {
  readonly stream: string
  readonly previousSequence: number
  readonly sequence: number
  readonly data: string
}

/** An answer to who asked what has changed. */
interface Changes {
  readonly fromSequence: number
  readonly throughSequence: number
  readonly hasMore: boolean
  readonly events: ReadonlyArray<{ readonly channel: string; readonly sequence: number; readonly data: unknown }>
}

interface State {
  /** By account, the records that changed an order that is in a list, oldest first. */
  readonly changed: Map<number, Array<number>>
  /** By client, what the stream told it of its account of late, and what it read of that. */
  readonly updates: Map<string, Array<Update>>
  readonly pages: Map<string, Array<Changes>>
}

/** Records that are remembered of one account: a client that comes back from further behind gets a snapshot, or is not judged. */
const mostRemembered = 5_000
/** Updates and pages that are remembered of one client. */
const mostTold = 500

const channels = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"]

const remember = <A>(all: Map<string, Array<A>>, client: string, one: A): void => {
  const own = all.get(client) ?? []
  all.set(client, own)
  own.push(one)
  if (own.length > mostTold) own.shift()
}

/** Whether a page tells the same as an update of the stream. */
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

/** Whether what was read is in order, whole, durable, and as the stream tells it. */
const pageFault = (
  { changed, updates }: State,
  { call, leftBehind }: Observation & { readonly _tag: "Answered" },
  page: Changes
): Verdict => {
  const { events, fromSequence, hasMore, throughSequence } = page
  const query = new URLSearchParams(call.target.split("?")[1])
  if (fromSequence !== Number(query.get("fromSequence"))) return broken(`is what is behind ${fromSequence}`)
  if (throughSequence > leftBehind || throughSequence < fromSequence)
    return broken(`goes up to ${throughSequence}, of ${leftBehind} that are durable`)
  if (throughSequence === fromSequence && hasMore) return broken("has more, and goes nowhere")
  const places = events.map(({ channel, sequence }) => [sequence, channels.indexOf(channel)] as const)
  const disorder = places.findIndex(([sequence, channel], index) => {
    const [before, beside] = places[index - 1] ?? [fromSequence, channels.length]
    return sequence > throughSequence || channel < 0 || sequence < before || sequence === before && channel <= beside
  })
  if (disorder >= 0) return broken(`has ${JSON.stringify(places[disorder])} at the wrong place`)
  if (new Set(places.map(([sequence]) => sequence)).size > Number(query.get("limit"))) return broken("tells of more records than it may")
  const told = new Set(events.filter(({ channel }) => channel === "account.orders").map(({ sequence }) => sequence))
  const missed = changed.get(call.account)?.find((record) => record > fromSequence && record <= throughSequence && !told.has(record))
  if (missed !== undefined) return broken(`leaves out record ${missed}, which changed an order`)
  for (const update of updates.get(call.client) ?? []) {
    const verdict = agree(page, update)
    if (verdict !== undefined) return verdict
  }
  return holds
}

const isOfChanges = ({ endpoint }: Call): boolean => endpoint === "listChanges"

export const streams: Property<State> = {
  name: "streams-equal-the-venue-and-skip-nothing",
  invariant: "I16",
  kind: "safety",
  initial: () => ({ changed: new Map(), updates: new Map(), pages: new Map() }),
  observe: (state, seen) => {
    const { changed, pages, updates } = state
    switch (seen._tag) {
      case "Committed": {
        for (const account of new Set([...seen.decision.touchedOrders].filter(({ by }) => by === "client").map((order) => order.account))) {
          const records = changed.get(account) ?? []
          changed.set(account, records)
          records.push(seen.record.sequence)
          if (records.length > mostRemembered) records.shift()
        }
        return holds
      }
      case "Streamed": {
        const { account, before, client, durable, expected, held, isForeign, isLate, isSnapshot, previousSequence, sequence, stream } = seen
        const what = `${client} was sent record ${sequence} of ${stream}`
        if (sequence > durable) return broken(`${what} when only ${durable} was durable`)
        if (isLate) return broken(`${what} when its ticket was over`)
        if (isForeign) return broken(`${what}, which is about another account`)
        if (expected !== undefined && held !== expected) return broken(`${what}, by which it has ${held}, and it is ${expected}`)
        if (isSnapshot) return holds
        if (before === undefined) return broken(`${what} before any snapshot`)
        if (previousSequence !== before) return broken(`${what} as the one behind ${previousSequence}, and it had ${before}`)
        if (sequence <= before) return broken(`${what}, and it had ${before}`)
        if (seen.data !== "") {
          const update = { stream, previousSequence, sequence, data: seen.data }
          remember(updates, client, update)
          for (const page of pages.get(client) ?? []) {
            const verdict = agree(page, update)
            if (verdict !== undefined) return verdict
          }
        }
        if (stream !== "account.orders") return holds
        const missed = changed.get(account)?.find((record) => record > before && record < sequence)
        return missed === undefined ? holds : broken(`${what} behind ${before}, and record ${missed} between them changed an order`)
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
        return seen.held === seen.expected
          ? holds
          : broken(`all is quiet, and of ${seen.stream} ${seen.client} has ${seen.held}, and it is ${seen.expected}`)
      default:
        return holds
    }
  }
}
