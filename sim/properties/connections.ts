/**
 * Safety (I19). Requests of a connection are handed to the application in the order in which they were sent, soon after they have arrived, and
 * at most 16 of them have no answer at a time; each is answered once. Bytes that are no request are refused behind the answers to everything
 * before them, as what they are, and the connection ends. No connection is let in beyond the limits, and the venue closes none on which a
 * request is being answered, unless its client does not take what waits for it. What is held of answers for clients is what they have not
 * taken, and what waits for the disk.
 */
import type { Response } from "../../src/edge/http/Listener.js"
import type { Event, Stray } from "../world/SimWire.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** An open connection. */
interface Open {
  /** Requests that have arrived as a whole and were not handed on, and since when. */
  readonly arrived: Map<number, number>
  /** Those that were handed on and have no answer. */
  readonly underWay: Set<number>
  /** Answers that are made and wait for the disk, by request: their bytes. */
  readonly held: Map<number, number>
  /** Answers that the client has not taken, by request: their bytes, and since when. */
  readonly untaken: Map<number, { readonly bytes: number; readonly since: number }>
  /** The last request that was handed on. */
  dispatched: number
  /** Since when what is no request waits for its refusal, where it does. */
  strayedAtEpochMs: number | undefined
  /** When something on it changed that requests may wait for. */
  movedAtEpochMs: number
  /** Whether what is no request was refused, behind which nothing comes. */
  isOver: boolean
}

interface State {
  readonly open: Map<number, Open>
  /** Bytes of answers that clients have not taken, or that wait for the disk, and the most that may be. */
  untaken: number
  mostUnread: number
}

/** Most requests of a connection without an answer. */
const mostUnderWay = 16

/** The longest time that a request may wait for its turn where nothing of its own connection keeps it waiting, ms. */
const longestMs = 1_000

/** For how long an answer may wait for its client, ms. Before that, a connection is closed for it only where too much waits on all of them. */
const untakenMs = 10_000
/** As much of the most is left when connections have been closed for that. */
const leftOfMost = 7 / 8

/** What is no request is refused within this time: the longest for which the rest of a request is waited for, and a little more, ms. */
const refusedInMs = 15_000

/** Whether what is no request waits for its refusal for too long, although everything before it is answered. */
const isOverdue = ({ arrived, movedAtEpochMs, strayedAtEpochMs, underWay, untaken }: Open, atEpochMs: number): boolean =>
  strayedAtEpochMs !== undefined && arrived.size + underWay.size + untaken.size === 0
  && atEpochMs - Math.max(strayedAtEpochMs, movedAtEpochMs) > refusedInMs

/** Statuses by reason. */
const statuses: Readonly<Record<Stray["reason"], number>> = { malformed: 400, headers_too_large: 400, body_too_large: 413, timeout: 400 }

/** Judges the refusal of what is no request. */
const refused = (stray: Stray, { body, headers, status }: Response): Verdict => {
  const json = JSON.parse(body) as { readonly info?: unknown }
  // A venue that starts says so whatever it was sent.
  if (status !== statuses[stray.reason] && status !== 503)
    return broken(`bytes that are refused as ${stray.reason} were answered ${status}: ${body}`)
  const family = json.info === undefined ? "native" : "compat"
  if (stray.family !== undefined && stray.family !== family)
    return broken(`bytes for ${stray.family} were refused in another envelope: ${body}`)
  if (headers["connection"] !== "close")
    return broken(`bytes were refused as ${stray.reason}, and the answer does not say that it is the last`)
  return holds
}

const letIn = (state: State, connection: number, event: Extract<Event, { readonly is: "let in" }>): Verdict => {
  const { all, behaviour, ofAddress } = event
  state.mostUnread = behaviour.unreadBytes
  state.open.set(connection, {
    arrived: new Map(),
    underWay: new Set(),
    held: new Map(),
    untaken: new Map(),
    dispatched: 0,
    strayedAtEpochMs: undefined,
    movedAtEpochMs: 0,
    isOver: false
  })
  if (all > behaviour.connections) return broken(`${all} connections are open, and the limit is ${behaviour.connections}`)
  return ofAddress > behaviour.perAddress
    ? broken(`${ofAddress} connections of an address are open, and its limit is ${behaviour.perAddress}`)
    : holds
}

const dispatched = (line: Open, serial: number, atEpochMs: number): Verdict => {
  const arrivedAt = line.arrived.get(serial)
  if (serial <= line.dispatched) return broken(`request ${serial} of a connection was handed on after request ${line.dispatched}`)
  if (arrivedAt === undefined) return broken(`request ${serial} of a connection was handed on before it had arrived`)
  if ([...line.arrived.keys()].some((each) => each < serial))
    return broken(`request ${serial} of a connection was handed on before an earlier one`)
  const waitedMs = atEpochMs - Math.max(arrivedAt, line.movedAtEpochMs)
  line.arrived.delete(serial)
  line.underWay.add(serial)
  line.dispatched = serial
  line.movedAtEpochMs = atEpochMs
  if (line.underWay.size + line.untaken.size > mostUnderWay)
    return broken(`more than ${mostUnderWay} requests of a connection have no answer`)
  return waitedMs > longestMs ? broken(`a request waited for ${waitedMs} ms for its turn, and nothing of its connection kept it`) : holds
}

const ended = (state: State, line: Open, connection: number, by: string, atEpochMs: number): Verdict => {
  state.open.delete(connection)
  const waited = [...line.arrived.values()].some((since) => atEpochMs - Math.max(since, line.movedAtEpochMs) > longestMs)
  if (waited && line.underWay.size + line.untaken.size === 0)
    return broken("a request was never handed on, and nothing of its connection kept it")
  const oldest = Math.min(...[...line.untaken.values()].map(({ since }) => since))
  const isMuch = state.untaken > state.mostUnread * leftOfMost
  for (const { bytes } of line.untaken.values()) state.untaken -= bytes
  for (const bytes of line.held.values()) state.untaken -= bytes
  const isBusy = line.underWay.size > 0 || line.arrived.size > 0
  const isLeft = line.untaken.size + line.held.size > 0 && (isMuch || atEpochMs - oldest >= untakenMs)
  return by === "venue" && (isBusy || line.untaken.size > 0) && !isLeft && !line.isOver
    ? broken("the venue closed a connection on which a request is being answered, and whose client takes its answers")
    : holds
}

const happened = (state: State, connection: number, atEpochMs: number, event: Event): Verdict => {
  if ([...state.open.values()].some((line) => isOverdue(line, atEpochMs))) return broken("bytes that are no request were never refused")
  if (event.is === "let in") return letIn(state, connection, event)
  if (event.is === "counted") {
    return event.unreadBytes === state.untaken
      ? holds
      : broken(`${event.unreadBytes} bytes are counted that wait for clients, and these have ${state.untaken} to take`)
  }
  if (event.is === "mistaken")
    return broken(`bytes that are no request were taken for one: ${JSON.stringify(event.stray.bytes.slice(0, 80))}`)
  const line = state.open.get(connection)
  // A process that has died ends its connections when that is known already.
  if (line === undefined) return event.is === "ended" ? holds : broken(`${event.is} on a connection that is not open`)
  switch (event.is) {
    case "arrived":
      line.arrived.set(event.serial, atEpochMs)
      return holds
    case "dispatched":
      return dispatched(line, event.serial, atEpochMs)
    case "answered":
      if (!line.underWay.delete(event.serial) && !event.isRefusal)
        return broken(`request ${event.serial} of a connection was answered without being under way`)
      line.untaken.set(event.serial, { bytes: event.bytes, since: atEpochMs })
      line.movedAtEpochMs = atEpochMs
      state.untaken += event.bytes
      return holds
    case "held":
      line.held.set(event.serial, event.bytes)
      state.untaken += event.bytes
      return holds
    case "released":
      if (line.held.get(event.serial) !== event.bytes) return broken(`an answer of request ${event.serial} was let go that was not held`)
      line.held.delete(event.serial)
      line.movedAtEpochMs = atEpochMs
      state.untaken -= event.bytes
      return holds
    case "taken":
      state.untaken -= line.untaken.get(event.serial)?.bytes ?? 0
      line.untaken.delete(event.serial)
      line.movedAtEpochMs = atEpochMs
      return holds
    case "misframed":
      return holds
    case "strayed":
      line.strayedAtEpochMs = atEpochMs
      return holds
    case "refused":
      line.isOver = true
      line.strayedAtEpochMs = undefined
      if (line.underWay.size > 0 || line.arrived.size > 0)
        return broken("bytes that are no request were refused before requests that came first")
      return refused(event.stray, event.response)
    case "ended":
      return ended(state, line, connection, event.by, atEpochMs)
  }
}

export const connections: Property<State> = {
  name: "connections-are-served-in-order",
  invariant: "I19",
  kind: "safety",
  initial: () => ({ open: new Map(), untaken: 0, mostUnread: 0 }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "OnConnection":
        return happened(state, seen.connection, seen.atEpochMs, seen.event)
      case "Crashed":
      case "Started":
        state.open.clear()
        state.untaken = 0
        return holds
      default:
        return holds
    }
  }
}
