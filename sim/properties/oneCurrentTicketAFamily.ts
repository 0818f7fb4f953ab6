/**
 * Safety (I18). A family of realtime tickets has at most one current ticket. Each ticket has one successor and no other, whoever asks and
 * however often, also of another process. After a replaced ticket was presented by REST or on a connection (except the previous one within
 * ten seconds: by REST once), after its key was revoked, and after it was ended, nothing of the family is accepted. A text never issued
 * is no ticket; a command sent under a ticket over the stream has no effect after that ticket's end; and the current ticket is not
 * refused. A family has the scopes requested when it was minted, which by default is to read.
 *
 * The state of each family is derived here from the journal's records alone.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import { scopeOfCommand } from "../model/NaiveVenue.js"
import type { Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

interface Family {
  readonly apiKey: number
  readonly account: number
  /** Its scopes as bits: 0: read, 1: trade. */
  readonly scopes: number
  /** When the family ends. */
  readonly endsAtEpochMs: number
  /** When each of its tickets became current; the last is. */
  readonly since: Array<number>
  /** Whether the previous ticket was presented once more. */
  isRepeated: boolean
  /** The record that ended it. */
  endedBy: number | undefined
  /** How often each of its tickets was accepted in exchange for its successor, less the answers that reported it. */
  readonly accepted: Map<number, number>
}

interface Place {
  readonly family: number
  readonly generation: number
}

interface State {
  readonly families: Array<Family>
  /** Places of issued tickets, by text. */
  readonly told: Map<string, Place>
  /** Texts of issued tickets, by place. */
  readonly texts: Map<string, string>
  /** Places whose ticket somebody has presented, to rotate it or to end its family. */
  readonly sent: Set<string>
  /** The last durable record when an attempt was sent. */
  readonly asked: Map<string, number>
  /** Tickets presented on connections too long after they had been replaced, by the frame. */
  readonly shown: Map<string, Place>
  /** The ticket under which a command was sent over the stream, by the scope of its key. */
  readonly saidBy: Map<string, Place>
  /** The last durable record, and its time. */
  sequence: number
  atEpochMs: number
}

const ticketMs = 5 * 60_000
const familyMs = 12 * 60 * 60_000
const againMs = 10_000

const nameOf = ({ family, generation }: Place): string => `ticket ${generation} of family ${family}`

/** The family and generation of a ticket: its first twelve bytes contain them, and the rest proves them. */
const placeOf = (text: string): Place => {
  const bytes = Buffer.from(text, "base64url")
  return { family: Number(bytes.readBigUInt64BE(0)), generation: bytes.readUInt32BE(8) }
}

const goodUntil = ({ endsAtEpochMs, since }: Family, generation = since.length - 1): number =>
  Math.min(since[generation]! + ticketMs, endsAtEpochMs)

// ---- records

type Committed = Observation & { readonly _tag: "Committed" }

/** Applies the presentation of a ticket. */
const rotated = (state: State, place: Place, atEpochMs: number, sequence: number): Verdict => {
  const { generation } = place
  const family = state.families[place.family]
  const what = `record ${sequence} takes ${nameOf(place)}`
  if (family === undefined || generation >= family.since.length) return broken(`${what}, which was never minted`)
  if (!state.sent.has(nameOf(place))) return broken(`${what}, which nobody presented`)
  if (family.endedBy !== undefined) return broken(`${what}, which record ${family.endedBy} ended`)
  if (atEpochMs >= goodUntil(family)) return broken(`${what} at ${atEpochMs}, and it was good until ${goodUntil(family)}`)
  const current = family.since.length - 1
  const isAgain = generation === current - 1 && !family.isRepeated && atEpochMs <= family.since[current]! + againMs
  if (generation < current && !isAgain) {
    family.endedBy = sequence
    return holds
  }
  family.isRepeated = isAgain
  if (generation === current) family.since.push(atEpochMs)
  family.accepted.set(generation, (family.accepted.get(generation) ?? 0) + 1)
  return holds
}

/** A command under a ticket has to come before the ticket's end: the end takes precedence over all that waited behind it. */
const sentBy = ({ families, saidBy }: State, { atEpochMs, command, sequence }: Committed["record"]): Verdict => {
  const scope = scopeOfCommand(command)
  const place = scope === undefined ? undefined : saidBy.get(scope)
  if (place === undefined) return holds
  const family = families[place.family]!
  const what = `record ${sequence} is of a ${command.kind} by ${nameOf(place)}`
  if (family.endedBy !== undefined) return broken(`${what}, which record ${family.endedBy} ended`)
  const until = goodUntil(family, place.generation)
  return atEpochMs < until ? holds : broken(`${what} at ${atEpochMs}, and it was good until ${until}`)
}

const committed = (state: State, { model: { identity }, record }: Committed): Verdict => {
  const { atEpochMs, command, sequence } = record
  state.sequence = sequence
  state.atEpochMs = atEpochMs
  switch (command.kind) {
    case "MintTicket": {
      const { account, credential: apiKey } = command
      const endsAtEpochMs = Math.min(atEpochMs + familyMs, identity.keys[apiKey]!.expiresAtEpochMs)
      state.families.push({
        apiKey,
        account,
        scopes: command.scopes,
        endsAtEpochMs,
        since: [atEpochMs],
        isRepeated: false,
        endedBy: undefined,
        accepted: new Map()
      })
      return holds
    }
    case "RotateTicket":
      return rotated(state, command, atEpochMs, sequence)
    case "EndTickets": {
      const family = state.families[command.family]
      if (family === undefined || !state.sent.has(nameOf(command))) return broken(`record ${sequence} ends what nobody asked to be ended`)
      if (command.generation >= family.since.length - 2) family.endedBy ??= sequence
      return holds
    }
    case "RevokeApiKey":
    case "RevokeKeyByOperator":
      for (const family of state.families) if (identity.keys[family.apiKey]!.revokedAtEpochMs !== 0) family.endedBy ??= sequence
      return holds
    default:
      return sentBy(state, record)
  }
}

/** Checks that the engine has each family that is not over as its records leave it: one current ticket, or none. */
const inspected = (state: State, { model, reads }: Observation & { readonly _tag: "Inspected" }): Verdict => {
  if (model.sequence !== state.sequence) return holds
  for (const [number, family] of state.families.entries()) {
    if (model.atEpochMs >= goodUntil(family)) continue
    const found = reads.identity.findTicketFamily(number)
    const isEnded = family.endedBy !== undefined
    // An ended one makes room where its key begins another.
    if (isEnded && found === undefined && state.families.some(({ apiKey }, at) => at > number && apiKey === family.apiKey)) continue
    if (found?.isEnded === isEnded && found.generation === family.since.length - 1) continue
    const expected = isEnded ? `was ended by record ${String(family.endedBy)}` : `has ticket ${family.since.length - 1} as its current one`
    return broken(`family ${number} ${expected}, and the engine has ${JSON.stringify(found)}`)
  }
  return holds
}

// ---- answers

type Answered = Observation & { readonly _tag: "Answered" }

/** Checks a ticket in an answer: one text for each place, its family's account, and the lifetime of a ticket. */
const tellVerdict = (state: State, { answer: { json }, model }: Answered, place: Place): Verdict => {
  const { accountId, expiresAt, ticket } = json as Json
  const family = state.families[place.family]
  const since = family?.since[place.generation]
  if (family === undefined || since === undefined) return broken("which no record issued")
  const known = state.texts.get(nameOf(place))
  if (known !== undefined && known !== ticket) return broken(`and was told as ${known} before`)
  state.texts.set(nameOf(place), String(ticket))
  state.told.set(String(ticket), place)
  if (accountId !== idOf(model.accounts[family.account]!.born)) return broken(`for ${String(accountId)}, whose key minted none of it`)
  const until = Math.min(since + ticketMs, family.endsAtEpochMs)
  return expiresAt === until ? holds : broken(`until ${String(expiresAt)}, must be ${until}`)
}

/** Checks a minted ticket: it is the first of a family that this key began, with exactly the requested scopes. */
const mintVerdict = (state: State, { call: { token }, model }: Answered, place: Place, scopes: number): Verdict => {
  if (place.generation !== 0) return broken("which is not its family's first")
  if (state.texts.has(nameOf(place))) return broken("which another request was told")
  const family = state.families[place.family]
  const key = model.identity.keys[family?.apiKey ?? -1]
  if (key?.secretSha256 !== Identity.sha256(token, "hex")) return broken("which another key minted")
  return family!.scopes === scopes ? holds : broken(`whose scopes are ${family!.scopes}, and ${scopes} were asked for`)
}

const rotationVerdict = (state: State, presented: string, next: Place, askedAt: number): Verdict => {
  const place = state.told.get(presented)
  if (place === undefined) return broken("for a text that nobody was told")
  const family = state.families[place.family]!
  if (family.endedBy !== undefined && family.endedBy <= askedAt)
    return broken(`for ${nameOf(place)}, which record ${family.endedBy} had ended`)
  if (next.family !== place.family || next.generation !== place.generation + 1) return broken(`for ${nameOf(place)}`)
  const accepted = family.accepted.get(place.generation) ?? 0
  family.accepted.set(place.generation, accepted - 1)
  return accepted > 0 ? holds : broken(`for ${nameOf(place)}, which no record took for it`)
}

/** Checks that a current ticket is not refused. */
const turnedAway = (state: State, { answer: { json, text }, clock, model }: Answered, presented: string): Verdict => {
  const place = state.told.get(presented)
  if (place === undefined || clock === undefined || (json as Json)["code"] !== "realtime_ticket_rejected") return holds
  const family = state.families[place.family]!
  const isCurrent = family.endedBy === undefined && place.generation === family.since.length - 1
    && Math.max(clock[1], model.atEpochMs) < goodUntil(family)
  return isCurrent ? broken(`${nameOf(place)} is the current one, and is answered ${text}`) : holds
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { json, status }, attempt, call: { body, client, id, method, target } } = seen
  const askedAt = state.asked.get(`${id}/${attempt}`)
  state.asked.delete(`${id}/${attempt}`)
  const wish = Identity.read(method, target, body)?.wish
  if (askedAt === undefined || !isObject(json) || (wish?.kind !== "mintTicket" && wish?.kind !== "rotateTicket")) return holds
  if (status !== 200) return wish.kind === "rotateTicket" ? turnedAway(state, seen, wish.ticket) : holds
  const place = placeOf(String(json["ticket"]))
  const verdict = (wish.kind === "mintTicket"
    ? mintVerdict(state, seen, place, wish.scopes)
    : rotationVerdict(state, wish.ticket, place, askedAt)) ?? tellVerdict(state, seen, place)
  return verdict === undefined ? holds : broken(`${client} is told ${nameOf(place)} ${verdict}`)
}

const asked = (state: State, { attempt, call: { body, id, method, target } }: Observation & { readonly _tag: "Asked" }): void => {
  const wish = Identity.read(method, target, body)?.wish
  if (wish?.kind !== "mintTicket" && wish?.kind !== "rotateTicket" && wish?.kind !== "endTickets") return
  state.asked.set(`${id}/${attempt}`, state.sequence)
  const place = wish.kind === "mintTicket" ? undefined : state.told.get(wish.ticket)
  if (place !== undefined) state.sent.add(nameOf(place))
}

/**
 * Notes a ticket presented on a connection that by durable records is in two hands: older than the immediate predecessor of the current
 * one, or replaced more than ten seconds before the last record.
 */
const shown = (state: State, { client, id, ticket }: Observation & { readonly _tag: "Shown" }): void => {
  const place = state.told.get(ticket)
  if (place === undefined) return
  const { endedBy, since } = state.families[place.family]!
  const current = since.length - 1
  const isLate = place.generation < current && state.atEpochMs > since[current]! + againMs
  if (endedBy === undefined && (place.generation < current - 1 || isLate)) state.shown.set(`${client}/${id}`, place)
}

const saidBy = (state: State, { scope, ticket }: Observation & { readonly _tag: "SaidBy" }): void => {
  const place = state.told.get(ticket)
  if (place !== undefined) state.saidBy.set(scope, place)
}

/** Checks that a rotated ticket in two hands is not reported as such before its family has ended. */
const turnedAwayOnASocket = (state: State, { client, failure, id }: Observation & { readonly _tag: "TurnedAway" }): Verdict => {
  const place = state.shown.get(`${client}/${id}`)
  state.shown.delete(`${client}/${id}`)
  if (place === undefined || failure !== "rotated" || state.families[place.family]!.endedBy !== undefined) return holds
  return broken(`${client} showed ${nameOf(place)} on a socket, which had been replaced, and its family goes on`)
}

export const oneCurrentTicketAFamily: Property<State> = {
  name: "one-current-ticket-a-family",
  invariant: "I18",
  kind: "safety",
  initial: () => ({
    families: [],
    told: new Map(),
    texts: new Map(),
    sent: new Set(),
    asked: new Map(),
    shown: new Map(),
    saidBy: new Map(),
    sequence: 0,
    atEpochMs: 0
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked":
        asked(state, seen)
        return holds
      case "Shown":
        shown(state, seen)
        return holds
      case "SaidBy":
        saidBy(state, seen)
        return holds
      case "TurnedAway":
        return turnedAwayOnASocket(state, seen)
      case "Unanswered":
        state.asked.delete(`${seen.call.id}/${seen.attempt}`)
        return holds
      case "Committed":
        return committed(state, seen)
      case "Inspected":
        return inspected(state, seen)
      case "Answered":
        return answered(state, seen)
      default:
        return holds
    }
  }
}
