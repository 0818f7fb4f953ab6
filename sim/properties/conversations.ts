/**
 * Safety (I16). Over a connection of the stream each frame is answered once, as the contract specifies. Refused are malformed frames,
 * requests for things that do not exist, repeated subscriptions, unsubscriptions from what was not subscribed, requests beyond the
 * connection's limits, which are told how long to wait, tickets of an account that may have its part of the connections, and requests
 * without a ticket or without its scope; nothing else is. Updates of a
 * stream come between the answers to its subscription and to its unsubscription, and never outside; those of an account only while a
 * ticket of it is valid, and a connection that has spoken for one account speaks for no other. A resumed stream continues with what
 * follows, and has a snapshot only after a `resync`, which tells of a gap only to who asks for more than there is. Updates are not sent
 * while the client has yet to read as much as makes it slow, and nothing is answered any more while it has as much as a connection may
 * hold. Only the current ticket of a family is accepted, and its holder is warned once, thirty seconds before it expires, and not again
 * where the ticket shown next expires at the same time. A client that reads gets a heartbeat every five seconds, with the sequence up to
 * which each stream was sent. A connection is greeted with its limits, the retention of streams, the latest starts of the venue as its
 * journal has them, and the time, which a ping is answered with, too; it is ended for three frames that are not JSON, one binary frame,
 * too many frames per second, and silence, and for nothing else; and nothing is sent after its end.
 *
 * The expected answers are computed here for each connection, frame by frame as the process takes them up, by its clock.
 */
import { isObject, type Json } from "../reading/Bodies.js"
import * as Frames from "../reading/Frames.js"
import { isListed } from "../reading/MarketRules.js"
import { goodUntil, type NaiveFamily } from "../model/NaiveTickets.js"
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { difference } from "./Difference.js"
import { ending } from "./inbox.js"
import type { Conversing, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** The expected answer to a frame. */
interface Due {
  readonly frame: Exclude<Frames.Frame, { readonly _tag: "noJson" }>
  /** The type of the answer, or the code of the error; undefined where several are allowed. */
  readonly must: string | undefined
  /** Whether it is sent before anything else is taken up. */
  readonly isAtOnce: boolean
  readonly takenAtEpochMs: number
  /** Whether it presents a ticket that a durable record had replaced, or ended, when it was taken up. */
  readonly isReplaced: boolean
  /** Whether the ticket may have expired when the frame was taken up; the expiry has been reported since. */
  readonly isPerhapsOver?: boolean
}

interface Subscribed {
  /** The frame that subscribed. */
  readonly id: string
  /** Whether its beginning was confirmed. */
  hasBegun: boolean
  /** Whether a snapshot is due: the stream was not confirmed as resumed, or had a `resync`. */
  isAnew: boolean
  /** The sequence up to which it was sent; undefined where the client has no valid content. */
  head: number | undefined
  /** Whether it asked to go on from behind the last durable record. */
  readonly isBeyond: boolean
}

interface Conversation {
  /** The account that it has spoken for; undefined before any. */
  account: number | undefined
  /** The families of all tickets that let it in. */
  readonly everShown: Array<NaiveFamily>
  /** The scopes of its valid ticket; undefined without one. */
  scopes: number | undefined
  /** How its last ticket ended, as told; undefined before one has. */
  lastEnd: string | undefined
  readonly streams: Map<string, Subscribed>
  readonly due: Map<string, Due>
  /** The number of frames being taken up that are to be refused without an id. */
  unnamed: number
  /** The id of the frame being taken up, and of a pending subscription that it cancels. */
  taking: string | undefined
  takenBack: string | undefined
  /** The size of the largest snapshot. */
  snapshotSize: number
  /** Whether it has to be ended by the time that the frame being taken up is handled. */
  mustEnd: boolean
  isOver: boolean
  notJson: number
  /** Thousandths of frames that it may send, and when that was computed. */
  allowedMillis: number
  allowedAtEpochMs: number
  heardAtMs: number
  /** When its ticket expires, as reported, and the end of which it was warned last. */
  expiresAtEpochMs: number
  warnedOfEpochMs: number | undefined
  /** The last durable record when its ticket was accepted. */
  letInBySequence: number
  /**
   * Since when a heartbeat is due: its beginning, the last heartbeat, or when the client was seen to read again; undefined while it is
   * slow.
   */
  beatenAtMs: number | undefined
}

interface State {
  conversing: Conversing
  behindBytes: number
  bufferedBytes: number
  silenceMs: number
  /** Connections of all kinds that the venue holds. */
  connections: number
  /** How far back each channel can be resumed. */
  retention: Readonly<Record<string, object>>
  /** The latest starts, the last one first, and the epoch of the last block. */
  starts: ReadonlyArray<{ readonly id: string; readonly firstSequence: number }>
  epoch: number
  readonly lines: Map<string, Conversation>
  /** The family of each ticket that was issued, and its place in the family. */
  readonly tickets: Map<string, { readonly family: number; readonly generation: number }>
  model: NaiveVenue | undefined
  /** The last decided record that ends a ticket, or the credential that it was minted by; perhaps not durable yet. */
  endedBySequence: number
  /** The time of the last decided record; perhaps not durable yet. */
  recordsEpochMs: number
}

/** Commands that end tickets, or the credentials that they were minted by. */
const endingTickets: ReadonlySet<string> = new Set([...ending, "RotateTicket", "SetAccountFlags"])

type Taken = Observation & { readonly _tag: "FrameTaken" }
type Left = Observation & { readonly _tag: "FrameLeft" }

const mayRead = 1
const mayTrade = 2
/** Close codes. */
const abuse = 1008
const defect = 1011
const silent = 4000
const slow = 4008
const mostNotJson = 3
/** Frames of so many seconds may be taken up at once. */
const mostSecondsOfFrames = 5
/** Bytes that may be sent at once when a connection holds nearly its maximum. */
const answersAtOnce = 5_000
/** How often a venue checks connections for silence, and the longest delay of a check, ms. */
const lookedEachMs = 1_000
const lookedAtLatestMs = 15_000

const invalid = "invalid_request"
const noTicket = "realtime_ticket_rejected"
/** Starts of which a greeting tells, and characters of a block's digest that name one. */
const startsTold = 16
const startIdLength = 16

// ---- frames taken up

const due = (
  line: Conversation,
  { atEpochMs }: Taken,
  frame: Due["frame"],
  must: string | undefined,
  isAtOnce: boolean,
  isReplaced = false
): void => {
  if (frame.id === undefined) line.unnamed++
  else line.due.set(frame.id, { frame, must, isAtOnce, takenAtEpochMs: atEpochMs, isReplaced })
}

/** Whether a frame is refused without a valid ticket. */
const needsTicket = (frame: Due["frame"]): boolean => frame._tag === "order" || (frame._tag === "subscribe" && frame.subject.isOfAccount)

/**
 * Whether a ticket may have ended without a report: the report waits until everything decided by then is durable, and the process knows
 * it.
 */
const mayBeOver = ({ endedBySequence, recordsEpochMs }: State, { expiresAtEpochMs, letInBySequence, scopes }: Conversation): boolean =>
  scopes !== undefined && (endedBySequence > letInBySequence || expiresAtEpochMs <= recordsEpochMs)

const orders = ({ due }: Conversation): number =>
  [...due.values()].filter(({ frame, must }) => frame._tag === "order" && must === undefined).length

type OfStream = Extract<Frames.Frame, { readonly _tag: "subscribe" | "unsubscribe" }>

const subscribe = ({ conversing, model }: State, line: Conversation, taken: Taken, frame: OfStream): void => {
  const { isOfAccount, marketId, stream } = frame.subject
  if (isOfAccount && line.scopes === undefined) return due(line, taken, frame, noTicket, false)
  const isThere = isOfAccount || model!.markets.some((market) => market.parameters.marketId === marketId && isListed(market.status))
  if (!isThere) return due(line, taken, frame, "market_not_found", false)
  if (line.streams.has(stream) || line.streams.size >= conversing.subscriptions) return due(line, taken, frame, invalid, true)
  const isBeyond = (frame.fromSequence ?? 0) > model!.sequence
  line.streams.set(stream, { id: frame.id, hasBegun: false, isAnew: false, head: undefined, isBeyond })
  due(line, taken, frame, undefined, false)
}

const unsubscribe = (line: Conversation, taken: Taken, frame: OfStream): void => {
  const subscribed = line.streams.get(frame.subject.stream)
  if (subscribed === undefined) return due(line, taken, frame, invalid, true)
  // Unsubscribing from a stream that has not begun refuses the frame that subscribed.
  const waiting = line.due.get(subscribed.id)
  if (waiting !== undefined) {
    line.due.set(subscribed.id, { ...waiting, must: invalid, isAtOnce: true })
    line.takenBack = subscribed.id
  }
  line.streams.delete(frame.subject.stream)
  due(line, taken, frame, "unsubscribed", true)
}

const order = ({ conversing }: State, line: Conversation, taken: Taken, frame: Due["frame"]): void => {
  if (line.scopes === undefined) return due(line, taken, frame, noTicket, true)
  if ((line.scopes & mayTrade) === 0) return due(line, taken, frame, "scope_missing", false)
  if (orders(line) >= conversing.orders) return due(line, taken, frame, "rate_limited", true)
  due(line, taken, frame, undefined, false)
}

const text = (state: State, line: Conversation, taken: Taken): void => {
  const frame = Frames.read(taken.text)
  line.taking = "id" in frame ? frame.id : undefined
  switch (frame._tag) {
    case "noJson":
      line.unnamed++
      line.notJson++
      line.mustEnd = line.notJson >= mostNotJson
      return
    case "malformed":
      return due(line, taken, frame, invalid, frame.id === undefined)
    case "ping":
      return due(line, taken, frame, "pong", true)
    case "auth":
      return due(line, taken, frame, undefined, false, familyOf(state, frame.ticket)?.isCurrent === false)
    case "subscribe":
      return subscribe(state, line, taken, frame)
    case "unsubscribe":
      return unsubscribe(line, taken, frame)
    case "order":
      return order(state, line, taken, frame)
  }
}

const took = (state: State, line: Conversation, taken: Taken): void => {
  if (line.isOver) return
  if (taken.kind === "binary") {
    line.mustEnd = true
    return
  }
  line.heardAtMs = taken.elapsedMs
  const { messagesPerSecond } = state.conversing
  const sinceMs = Math.max(0, taken.atEpochMs - line.allowedAtEpochMs)
  line.allowedMillis = Math.min(line.allowedMillis + sinceMs * messagesPerSecond, mostSecondsOfFrames * 1_000 * messagesPerSecond) - 1_000
  line.allowedAtEpochMs = taken.atEpochMs
  line.mustEnd = line.allowedMillis < 0
  if (!line.mustEnd && taken.kind === "text") text(state, line, taken)
}

const done = (state: State, line: Conversation): Verdict => {
  const { due, mustEnd, takenBack, taking, unnamed } = line
  line.taking = undefined
  line.takenBack = undefined
  line.unnamed = 0
  line.mustEnd = false
  if (mustEnd && !line.isOver) return broken("is to be ended for what it was sent, and is not")
  if (line.isOver) return holds
  const own = taking === undefined ? undefined : due.get(taking)
  if (takenBack !== undefined && due.has(takenBack)) return broken(`has no answer to ${takenBack}, whose stream nobody wants any more`)
  const waits = own !== undefined && needsTicket(own.frame) && mayBeOver(state, line)
  if (own?.isAtOnce === true && !waits) return broken(`has no answer to ${taking}, which is ${own.must} at once`)
  return unnamed > 0 ? broken("has no answer to a frame that is none, or without an id") : holds
}

// ---- frames sent

/** The family of an issued ticket, and whether it is the family's current one. */
const familyOf = (
  { model, tickets }: State,
  ticket: string | undefined
): { readonly family: NaiveFamily; readonly isCurrent: boolean } | undefined => {
  const place = ticket === undefined ? undefined : tickets.get(ticket)
  const family = place === undefined ? undefined : model?.identity.tickets.families[place.family]
  return family === undefined ? undefined : { family, isCurrent: !family.isEnded && family.generation === place!.generation }
}

type Auth = Extract<Frames.Frame, { readonly _tag: "auth" }>

const letIn = (
  state: State,
  line: Conversation,
  { frame: { accountId, expiresAt, id } }: Left,
  frame: Auth,
  isReplaced: boolean
): Verdict => {
  const found = familyOf(state, frame.ticket)
  if (found === undefined) return broken(`is let in by ${id}, whose ticket nobody was told`)
  // A client that has lost the answer to a rotation repeats it by REST: on a connection only the current ticket is valid.
  if (isReplaced) return broken(`is let in by ${id}, whose ticket had been replaced, or its family ended, before`)
  const { account, scopes } = found.family
  if (accountId !== idOf(state.model!.accounts[account]!.born)) return broken(`is told ${accountId} by ${id}, whose ticket is another's`)
  if (line.account !== undefined && line.account !== account) {
    return broken(`speaks for account ${account} by ${id}, and has spoken for account ${line.account}`)
  }
  if (frame.isToCancel && (scopes & mayTrade) === 0) return broken(`is to cancel orders by ${id}, whose ticket may not trade`)
  line.account = account
  line.everShown.push(found.family)
  line.scopes = scopes
  line.expiresAtEpochMs = expiresAt!
  line.letInBySequence = state.model!.sequence
  return holds
}

/** An account's part of the connections: this many, or one in so many of those that are free; and one in how many nobody's ticket takes. */
const leastPart = 4
const parts = 16
const keptParts = 8

/**
 * Checks a refusal for the account's part: all that ever spoke for an account may still count for it, and so may whoever is about to. Of
 * the part a quarter is for keys that may trade: who only reads leaves free what they do not have of it.
 */
const shareVerdict = (state: State, asker: Conversation, family: NaiveFamily, id: string | undefined): Verdict => {
  const { identity } = state.model!
  const others = [...state.lines.values()].filter((line) => line !== asker)
  const shown = others.flatMap(({ account, due, everShown }) => {
    const asking = [...due.values()].flatMap(({ frame }) => frame._tag === "auth" ? familyOf(state, frame.ticket)?.family ?? [] : [])
    return account === undefined && asking.length === 0 ? [] : [[...everShown, ...asking]]
  })
  const own = shown.filter((families) => families.some(({ account }) => account === family.account))
  const free = state.connections - Math.ceil(state.connections / keptParts) - shown.length
  const part = Math.max(leastPart, Math.floor(free / parts))
  const ofTraders = own.filter((families) => families.some((each) => identity.isOfTradingKey(each))).length
  const kept = Math.max(0, Math.ceil(part / 4) - ofTraders)
  const mayBeFull = identity.isOfTradingKey(family) ? own.length >= part && kept === 0 : own.length >= part - kept
  return free <= 0 || mayBeFull ? holds : broken(`is told by ${id} that its account has its part, which is ${part}, and has ${own.length}`)
}

const turnedAway = (
  state: State,
  line: Conversation,
  { atEpochMs, frame: { error, id } }: Left,
  { frame, takenAtEpochMs }: Due
): Verdict => {
  const { isToCancel, ticket } = frame as Auth
  const found = familyOf(state, ticket)
  const { code, realtimeTicketFailure: failure, rejectionGuard } = error!
  if (found === undefined) {
    const isTold = code === noTicket && failure === (ticket === undefined ? "missing" : "invalid")
    return isTold ? holds : broken(`is told ${code}, ${failure}, of a ticket that nobody was told, ${id}`)
  }
  const { family, isCurrent } = found
  if (code === noTicket) {
    // It may have been ended by a decided record that is not durable yet: until that is, only the ticket's end may be reported.
    if (state.endedBySequence > state.model!.sequence) return holds
    // A frame that asks for more than reading is checked in turn, by the time of records: a clock that was set back is behind that.
    const latestEpochMs = Math.max(atEpochMs, takenAtEpochMs, state.model!.atEpochMs)
    return isCurrent && latestEpochMs < goodUntil(family) ? broken(`is told that ${id} shows no good ticket`) : holds
  }
  if (rejectionGuard === "account_share") return shareVerdict(state, line, family, id)
  const isOfOther = line.account !== undefined && line.account !== family.account
  if (code === invalid && !isOfOther) return broken(`is told that ${id} is another account's, and it is not`)
  const lacksScope = (family.scopes & mayRead) === 0 || (isToCancel && (family.scopes & mayTrade) === 0)
  return code === "scope_missing" && !lacksScope ? broken(`is told of a scope by ${id} that it has`) : holds
}

/** Checks the refusal of a stream that might have begun. */
const notBegun = (line: Conversation, { frame: { error, id } }: Left, { frame }: Due, model: NaiveVenue): Verdict => {
  const { marketId, stream } = (frame as OfStream).subject
  line.streams.delete(stream)
  const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)
  switch (error!.code) {
    case "market_not_found":
      return market === undefined || !isListed(market.status)
        ? holds
        : broken(`is told by ${id} that there is no ${marketId}`)
    case "dependency_unavailable":
    case "overloaded":
      // All other streams have room, whoever listens to others.
      return stream.startsWith("market.candles") ? holds : broken(`is told by ${id} that ${stream} has to wait: ${error!.code}`)
    default:
      return broken(`is refused ${stream} by ${id} as ${error!.code}`)
  }
}

/** Checks what a frame is told that needs a ticket, where there is none: how the last one ended, if there was one. */
const isToldOfEnd = ({ lastEnd = "missing" }: Conversation, { error, id }: Left["frame"]): Verdict => {
  const failure = error!.realtimeTicketFailure
  return failure === lastEnd ? holds : broken(`is told ${failure} by ${id}, and of its ticket ${lastEnd}`)
}

const answered = (state: State, line: Conversation, left: Left): Verdict => {
  const { frame, frame: { error, id, type } } = left
  const answer = line.due.get(id!)
  if (answer === undefined) return broken(`is answered ${type} to ${id}, which asks for nothing, or was answered before`)
  line.due.delete(id!)
  const { frame: of, isReplaced, must } = answer
  const came = type === "error" || type === "auth_error" ? error!.code : type
  if (answer.isPerhapsOver === true && came === noTicket) {
    if (of._tag === "subscribe" && line.streams.get(of.subject.stream)?.id === id) line.streams.delete(of.subject.stream)
    return holds
  }
  if (type === "pong" && frame.serverTimeEpochMs !== left.atEpochMs) {
    return broken(`is told at ${left.atEpochMs} by ${id} that it is ${frame.serverTimeEpochMs}`)
  }
  if (must === noTicket && came === noTicket) return isToldOfEnd(line, frame)
  if (must !== undefined) {
    return came === must ? holds : broken(`is answered ${came} to ${id}, must be ${must}: ${JSON.stringify(of)}`)
  }
  switch (of._tag) {
    case "auth":
      if (type === "auth_ok") return letIn(state, line, left, of, isReplaced)
      return type === "auth_error" ? turnedAway(state, line, left, answer) : broken(`is answered ${type} to a ticket, ${id}`)
    case "subscribe": {
      if (type === "error") return notBegun(line, left, answer, state.model!)
      const { stream } = of.subject
      if (type !== "subscribed" || Frames.streamOf(frame as { readonly channel: string }) !== stream) {
        return broken(`is answered ${type} of ${frame.channel} to ${id}, which asks for ${stream}`)
      }
      const subscribed = line.streams.get(stream)!
      subscribed.hasBegun = true
      subscribed.isAnew = frame.resumed !== true
      if (!subscribed.isAnew) subscribed.head = of.fromSequence
      return holds
    }
    default:
      if (type !== "result" && type !== "error") return broken(`is answered ${type} to an order, ${id}`)
      return came === "rate_limited" && error?.rejectionGuard === undefined ? broken(`is told by ${id} of too many orders`) : holds
  }
}

/** The latest ticket has expired: the frame being taken up is answered as if there had been none. */
const ticketIsOver = (state: State, line: Conversation, { atEpochMs, frame: { error } }: Left): Verdict => {
  if (line.scopes === undefined) return broken("is told that its ticket is over, and none is shown")
  const isOver = mayBeOver(state, line) || line.expiresAtEpochMs <= Math.max(atEpochMs, state.model?.atEpochMs ?? 0)
  if (!isOver) return broken(`is told at ${atEpochMs} that its ticket is over, which lasts until ${line.expiresAtEpochMs}`)
  line.scopes = undefined
  line.lastEnd = error!.realtimeTicketFailure
  const own = line.taking === undefined ? undefined : line.due.get(line.taking)
  if (line.taking === undefined) {
    for (const [id, due] of line.due) if (needsTicket(due.frame)) line.due.set(id, { ...due, isPerhapsOver: true })
  }
  if (own === undefined) return holds
  const { frame } = own
  const isOfAccount = frame._tag === "subscribe" && frame.subject.isOfAccount
  // A subscription to the account's channel continues when another ticket is presented.
  if (isOfAccount && own.must === undefined) line.streams.delete(frame.subject.stream)
  if (needsTicket(frame)) line.due.set(line.taking!, { ...own, must: noTicket, isAtOnce: frame._tag === "order" })
  return holds
}

const toldOf = (line: Conversation, stream: string, { frame: { reason, sequence, type } }: Left): Verdict => {
  if (line.streams.get(stream)?.hasBegun !== true) return broken(`is sent ${type} of ${stream}, which has not begun`)
  if (stream.startsWith("account.") && line.scopes === undefined) return broken(`is sent ${type} of ${stream} without a ticket`)
  const subscribed = line.streams.get(stream)!
  if (type === "snapshot" && !subscribed.isAnew) return broken(`is sent a snapshot of ${stream}, which goes on`)
  if (reason === "gap" && !subscribed.isBeyond) return broken(`is told of a gap in ${stream}, and asked for no more than there is`)
  subscribed.isAnew = type === "resync"
  subscribed.head = type === "resync" ? undefined : sequence
  return holds
}

/** Checks that there was room for a frame. */
const roomFor = ({ behindBytes, bufferedBytes }: State, line: Conversation, { frame: { type }, onItsWay, size }: Left): Verdict => {
  if (type === "snapshot") line.snapshotSize = Math.max(line.snapshotSize, size)
  if (type === "update" || type === "snapshot" || type === "resync") {
    // As many bytes as make a client slow may be sent at once, where no more than that is in transit.
    return onItsWay > 2 * behindBytes ? broken(`is handed ${type} while ${onItsWay} are on their way`) : holds
  }
  const most = bufferedBytes + line.snapshotSize + answersAtOnce
  return onItsWay > most ? broken(`is sent ${type} while ${onItsWay} are on their way`) : holds
}

/** Checks that a refusal for a limit says for how many seconds to wait, at most a minute, and that no other frame does. */
const waitVerdict = ({ frame: { error, id, retryAfterSeconds: seconds, type } }: Left): Verdict => {
  const isTold = seconds !== undefined && Number.isInteger(seconds) && seconds >= 1 && seconds <= 60
  const isGood = error?.code === "rate_limited" ? isTold : seconds === undefined
  return isGood ? holds : broken(`is sent ${type} ${error?.code}, ${id}, with ${seconds} seconds to wait`)
}

const leaves = (state: State, line: Conversation, left: Left): Verdict => {
  const { frame, frame: { channel, error, id, stream, type } } = left
  if (line.isOver) return broken(`is sent ${type} behind its end`)
  const verdict = roomFor(state, line, left) ?? beatVerdict(state, line, left.elapsedMs, left) ?? waitVerdict(left)
  if (verdict !== undefined) return verdict
  switch (type) {
    case "hello":
      return holds
    case "ticket_expiring":
      return warned(state, line, left)
    case "update":
    case "snapshot":
      return toldOf(line, Frames.streamOf(frame as { readonly channel: string }), left)
    case "resync":
      return toldOf(line, Frames.streamOf({ ...frame, channel: channel ?? stream! }), left)
    case "heartbeat":
      return beats(state, line, left)
    default:
      // An invalid id may be repeated in the refusals of several frames.
      if (Frames.isId(id)) return answered(state, line, left)
      if (type === "error" && error!.code === noTicket) return ticketIsOver(state, line, left)
      if (type !== "error" || error!.code !== invalid || line.unnamed === 0) return broken(`is sent ${type} ${error?.code} for nothing`)
      line.unnamed--
      return holds
  }
}

const greeted = (
  { bufferedBytes, conversing: { messagesPerSecond, subscriptions }, retention, starts }: State,
  { atEpochMs, frame: { environment, heartbeatMs, limits, retention: toldRetention, serverTimeEpochMs, starts: toldStarts, version } }: Left
): Verdict =>
  difference("its greeting", { environment, heartbeatMs, limits, retention: toldRetention, serverTimeEpochMs, starts: toldStarts, version },
    {
      version: "stream/v1",
      environment: "development",
      serverTimeEpochMs: atEpochMs,
      heartbeatMs: 5_000,
      limits: { subscriptions, messagesPerSecond, bufferedBytes },
      retention,
      starts
    })

/** A block under another epoch than the one before it is the first one of a start. */
const started = (state: State, { digest, epoch, firstSequence }: (Observation & { readonly _tag: "Committed" })["block"]): void => {
  state.epoch = epoch
  state.starts = [{ id: digest.slice(0, startIdLength), firstSequence }, ...state.starts].slice(0, startsTold)
}

const opened = (state: State, left: Left): Verdict => {
  const { atEpochMs, elapsedMs, frame: { type }, line } = left
  const { lines } = state
  lines.set(line, {
    account: undefined,
    everShown: [],
    scopes: undefined,
    lastEnd: undefined,
    streams: new Map(),
    due: new Map(),
    unnamed: 0,
    taking: undefined,
    takenBack: undefined,
    snapshotSize: 0,
    mustEnd: false,
    isOver: false,
    notJson: 0,
    allowedMillis: 1_000 * state.conversing.messagesPerSecond,
    allowedAtEpochMs: atEpochMs,
    heardAtMs: elapsedMs,
    expiresAtEpochMs: 0,
    warnedOfEpochMs: undefined,
    letInBySequence: 0,
    beatenAtMs: elapsedMs
  })
  return type === "hello" ? greeted(state, left) : broken(`begins with ${type}`)
}

// ---- ends of connections

const closed = (
  { silenceMs }: State,
  line: Conversation,
  { code, elapsedMs }: Observation & { readonly _tag: "LineClosed" }
): Verdict => {
  const { heardAtMs, mustEnd } = line
  line.isOver = true
  line.due.clear()
  if (mustEnd && code !== abuse && code !== slow) return broken(`is closed with ${code}, and is to be for abuse`)
  if (code === abuse && !mustEnd) return broken("is closed for abuse, and there was none")
  if (code !== silent) return code === defect ? broken("is closed for a defect") : holds
  const quietMs = elapsedMs - heardAtMs
  return quietMs >= silenceMs - lookedEachMs ? holds : broken(`is closed as silent, and was heard ${quietMs} ms before`)
}

const rests = ({ silenceMs }: State, line: Conversation, elapsedMs: number): Verdict => {
  if (line.isOver) return holds
  // A subscription to an account's channel under an expired ticket begins when another ticket is presented.
  const waits = ({ frame, must }: Due): boolean =>
    line.scopes === undefined && must === undefined && frame._tag === "subscribe" && frame.subject.isOfAccount
  const unanswered = [...line.due].find(([, due]) => !waits(due))
  if (unanswered !== undefined) return broken(`has no answer to ${unanswered[0]}: ${JSON.stringify(unanswered[1].frame)}`)
  const quietMs = elapsedMs - line.heardAtMs
  return quietMs < silenceMs + lookedAtLatestMs ? holds : broken(`is open, and nothing was heard of it for ${quietMs} ms`)
}

/** How long before a ticket's expiry its holder is warned, ms. */
const warningMs = 30_000
/** The interval of heartbeats, and their longest absence, ms: a connection may have begun just after one, and checks take time. */
const longestWithoutBeatMs = 5_000 + 5_000

/** Checks the warning of an expiry, once for each time and early enough: by the clock, or by the records where these are ahead of it. */
const warned = ({ model, recordsEpochMs }: State, line: Conversation, { frame: { expiresAt }, atEpochMs }: Left): Verdict => {
  if (line.scopes === undefined || expiresAt === line.warnedOfEpochMs) {
    return broken(`is warned of ${expiresAt}, and shows no ticket, or was warned of that before`)
  }
  line.warnedOfEpochMs = expiresAt
  if (expiresAt !== line.expiresAtEpochMs) return broken(`is warned of ${expiresAt}, and its ticket is over at ${line.expiresAtEpochMs}`)
  const latestEpochMs = Math.max(atEpochMs, recordsEpochMs, model?.atEpochMs ?? 0)
  return expiresAt - latestEpochMs <= warningMs ? holds : broken(`is warned at ${latestEpochMs} of ${expiresAt}`)
}

/**
 * Checks a heartbeat: it has the time and all streams that have begun, each with the sequence up to which it was sent, and comes after any
 * warning that was due.
 */
const beats = (state: State, line: Conversation, { atEpochMs, frame: { heads, serverTimeEpochMs } }: Left): Verdict => {
  if (serverTimeEpochMs !== atEpochMs) return broken(`is told at ${atEpochMs} by a heartbeat that it is ${serverTimeEpochMs}`)
  const other = Object.keys(heads!).find((name) => line.streams.get(name)?.hasBegun !== true)
  if (other !== undefined) return broken(`has ${other} in a heartbeat, which has not begun`)
  for (const [name, { head }] of line.streams) {
    if (heads![name] !== head) return broken(`has ${name} up to ${head}, and is told ${heads![name]} in a heartbeat`)
  }
  const isLate = line.scopes !== undefined && line.warnedOfEpochMs !== line.expiresAtEpochMs
    && atEpochMs >= line.expiresAtEpochMs - warningMs
  return isLate && !mayBeOver(state, line)
    ? broken(`was not warned at ${atEpochMs} that its ticket is over at ${line.expiresAtEpochMs}`)
    : holds
}

/** Checks that heartbeats come to clients that are not slow. */
const beatVerdict = ({ behindBytes }: State, line: Conversation, elapsedMs: number, left?: Left): Verdict => {
  const quietMs = line.beatenAtMs === undefined ? 0 : elapsedMs - line.beatenAtMs
  if (left !== undefined) {
    const isSlow = left.onItsWay + left.size > behindBytes
    line.beatenAtMs = isSlow ? undefined : left.frame.type === "heartbeat" ? elapsedMs : line.beatenAtMs ?? elapsedMs
  }
  return quietMs > longestWithoutBeatMs ? broken(`has had no heartbeat for ${quietMs} ms`) : holds
}

const ticketsTarget = "/v1/realtime/ticket"

/** Notes the family and place of a ticket, which its first twelve bytes contain. */
const noteTicket = (
  { tickets }: State,
  { answer: { json, status }, call: { target } }: Observation & { readonly _tag: "Answered" }
): void => {
  const ticket = status === 200 && target === ticketsTarget && isObject(json) ? (json as Json)["ticket"] : undefined
  if (typeof ticket !== "string") return
  const bytes = Buffer.from(ticket, "base64url")
  tickets.set(ticket, { family: Number(bytes.readBigUInt64BE(0)), generation: bytes.readUInt32BE(8) })
}

const ofLine = (
  state: State,
  seen: Extract<Observation, { readonly _tag: "FrameTaken" | "FrameDone" | "FrameLeft" | "LineClosed" | "LineRests" }>
): Verdict => {
  const line = state.lines.get(seen.line)
  if (line === undefined) return seen._tag === "FrameLeft" ? opened(state, seen) : broken("is taken up before it was greeted")
  switch (seen._tag) {
    case "FrameTaken":
      took(state, line, seen)
      return holds
    case "FrameDone":
      return done(state, line)
    case "FrameLeft":
      return leaves(state, line, seen)
    case "LineClosed":
      return closed(state, line, seen)
    case "LineRests":
      return rests(state, line, seen.elapsedMs) ?? (line.isOver ? holds : beatVerdict(state, line, seen.elapsedMs))
  }
}

export const conversations: Property<State> = {
  name: "frames-are-answered-as-the-stream-says",
  invariant: "I16",
  kind: "safety",
  initial: () => ({
    conversing: { messagesPerSecond: 0, orders: 0, subscriptions: 0 },
    behindBytes: 0,
    bufferedBytes: 0,
    silenceMs: 0,
    connections: 0,
    retention: {},
    starts: [],
    epoch: 0,
    lines: new Map(),
    tickets: new Map(),
    model: undefined,
    endedBySequence: 0,
    recordsEpochMs: 0
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.conversing = seen.conversing
        state.behindBytes = seen.behindBytes
        state.bufferedBytes = seen.bufferedBytes
        state.silenceMs = seen.silenceMs
        state.connections = seen.connections
        state.retention = {
          ...Object.fromEntries(Frames.accountChannels.map((channel) => [channel, { ...seen.toldAgain }])),
          ...Object.fromEntries(Frames.marketChannels.map((channel) => [channel, { ...seen.keptOfMarkets }]))
        }
        // The process's connections end with it.
        state.lines.clear()
        state.endedBySequence = 0
        state.recordsEpochMs = 0
        return holds
      case "Taken":
        if (seen.answered !== undefined) return holds
        state.recordsEpochMs = seen.atEpochMs
        if (endingTickets.has(seen.command.kind)) state.endedBySequence = seen.sequence + 1
        return holds
      case "Committed":
        state.model = seen.model
        if (seen.block.epoch !== state.epoch) started(state, seen.block)
        return holds
      case "Answered":
        noteTicket(state, seen)
        return holds
      case "OpenedElsewhere":
        return broken(`a connection is taken at ${seen.target}, where there is no stream`)
      case "FrameTaken":
      case "FrameDone":
      case "FrameLeft":
      case "LineClosed":
      case "LineRests": {
        const verdict = ofLine(state, seen)
        return verdict === undefined ? holds : broken(`${seen.line} ${verdict}`)
      }
      default:
        return holds
    }
  }
}
