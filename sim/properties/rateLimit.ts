/**
 * Safety (I17). Within a process's life exactly as many requests of a key, or of an owner's session, are let in in each window as its
 * limit says, and the same for an address without either, with a refused one, or with requests for unknown routes. A window begins with
 * the first request, lasts its time and does not roll. Cancels continue beyond a key's or a session's limit, up to the limit again. A
 * refused request had no effect, and its answer says when to come again. Computed here anew, request by request as they arrived at the
 * process, by its clock. Requests for signing in have a window and a limit of their own for each address, unless their type says that they
 * are none; so do readings of the metrics, and all that a browser says it sends for a page of another site, which has a quarter of the
 * address's limit. A credential issued during the run may have ended: the limit in the answer shows whether the
 * request was counted for it. A ticket that is shown where its address has used up its limit counts for its key, unless its family has
 * ended or the key acts no more.
 */
import * as Contract from "../../src/edge/Contract.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { isObject, type Json } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import { firstApart, firstOfStreamReads, firstOfStreams, firstOfTickets } from "../workload/Wallet.js"
import { addresses } from "../world/Addresses.js"
import { difference } from "./Difference.js"
import { type Call, isLimited, isOfAffiliates, type Limits, type Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A possible state of a window. */
interface Window {
  readonly beganAtEpochMs: number
  readonly used: number
  readonly cancelsBeyond: number
}

/** The possible windows of a subject: one, unless the process's clock was set back from beyond the end of one. */
interface Known {
  readonly windows: ReadonlyArray<Window>
  /** The latest reading of the clock since the subject's last request. */
  highestEpochMs: number
}

interface State {
  limits: Limits
  readonly known: Map<string, Known>
  hidesAffiliates: boolean
  /** Tokens of valid keys. */
  readonly keys: Set<string>
  /** Tokens of keys that also trade over the stream, whose arrivals at the process are not observed. */
  readonly streaming: Set<string>
  /** Families of tickets presented on connections: their commands count for their keys, and are not observed either. */
  readonly shown: Set<number>
  model: NaiveVenue | undefined
  /** The request being handled, and whether it caused a command. */
  handling: Call | undefined
  acted: boolean
  /** Calls taken up that show a ticket which nobody could use any more by then. */
  readonly over: Set<number>
}

const cancels: ReadonlySet<string> = new Set(["cancelOrder", "cancelOrderBatch", "cancelCompatOrder", "cancelAllOrders",
  "cancelAllCompatOrders", "setCancelAllAfter"])
/** Requests that lead to signing in, to a passkey or to an agent's key. */
export const signingIn: ReadonlySet<string> = new Set(["beginAuthentication", "finishAuthentication", "beginRegistration",
  "finishRegistration", "beginAgentConnect", "exchangeAgentConnect"])
/** How many such requests an address may make in a window. */
const signIns = ({ perAddress, signInsPerAddress = perAddress }: Limits): number => signInsPerAddress

/**
 * The window of an address, that of the traders or of the owners, whatever they claim and through however many proxies they come; signing
 * in has one of its own. Bytes that are no request say nothing of their sender, and count for the proxy that they come from.
 */
const subjectAt = (address: string): string => {
  if (address === addresses.traders) return "address of traders"
  return address === addresses.owners ? "address of owners" : `address of ${address}`
}

const homeOf = ({ credential, id }: Call): string =>
  subjectAt(id < firstApart || (id >= firstOfTickets && credential === "trader") ? addresses.traders : addresses.owners)

const whereOfOtherSites = ", for pages of other sites"
/** How often browsers at an address may ask for pages of other sites in a window. */
export const ofOtherSites = ({ perAddress }: Pick<Limits, "perAddress">): number => Math.ceil(perAddress / 4)

/** Where a request counts that has no window of its own. */
const placeOf = (call: Call): string => `${homeOf(call)}${call.isOfOtherSite === true ? whereOfOtherSites : ""}`

const whereSigningIn = ", signing in"
/** Whether a call is sent as JSON in UTF-8; anything else is refused. */
const isOfJson = ({ body, contentType = body === "" ? "" : "application/json" }: Call): boolean =>
  /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i.test(contentType)
const whereReadingMetrics = ", reading metrics"
/** How often an address may read the metrics in a window. */
export const metricsPerAddress = 120

const addressOf = (call: Call): string => {
  if (signingIn.has(call.endpoint) && isOfJson(call)) return `${homeOf(call)}${whereSigningIn}`
  return call.endpoint === "getMetrics" && call.isOfOtherSite !== true ? `${homeOf(call)}${whereReadingMetrics}` : placeOf(call)
}

const unlimited: ReadonlySet<string> = new Set(["getHealth", "getReadiness"])
const accesses: ReadonlyMap<string, string> = new Map(Contract.endpoints.map(({ access, name }) => [name, access]))

const isAddress = (subject: string): boolean => subject.startsWith("address of ")
const isOfSignIns = (subject: string): boolean => subject.endsWith(whereSigningIn)
const isOfOtherSites = (subject: string): boolean => subject.endsWith(whereOfOtherSites)
const isOfMetrics = (subject: string): boolean => subject.endsWith(whereReadingMetrics)
const limitOf = ({ limits }: State, subject: string): number => {
  if (!isAddress(subject)) return limits.perKey
  if (isOfMetrics(subject)) return metricsPerAddress
  if (isOfOtherSites(subject)) return ofOtherSites(limits)
  return isOfSignIns(subject) ? signIns(limits) : limits.perAddress
}

/** The subject that a request counts for: a key by its token, an address, or none. */
const subjectOf = ({ hidesAffiliates, keys }: State, call: Call): string | undefined => {
  const { credential, endpoint, reading, token } = call
  const access = accesses.get(endpoint)
  if (access === undefined || reading._tag === "nowhere" || hidesAffiliates && isOfAffiliates(call)) return placeOf(call)
  if (unlimited.has(endpoint)) return undefined
  if (access === "public" || access === "system") return addressOf(call)
  if (access === "operator") return credential === "operator" ? undefined : addressOf(call)
  return keys.has(token) ? token : addressOf(call)
}

/** Notes a reading of the clock, whatever it was for: windows that are over by it may be forgotten before the subject's next request. */
const clockRead = ({ known }: State, atEpochMs: number): void => {
  for (const one of known.values()) one.highestEpochMs = Math.max(one.highestEpochMs, atEpochMs)
}

/** Compares by a text: where many unobserved requests may count, there are thousands of windows, too many for pairwise comparison. */
const distinct = (windows: ReadonlyArray<Window>): ReadonlyArray<Window> => {
  if (windows.length < 2) return windows
  const bySame = new Map<string, Window>()
  for (const window of windows) {
    const same = `${window.beganAtEpochMs} ${window.used} ${window.cancelsBeyond}`
    if (!bySame.has(same)) bySame.set(same, window)
  }
  return [...bySame.values()]
}

/**
 * The possible windows of a subject before a request. One that is over is begun anew. If the clock had passed its end and was set back, it
 * was either forgotten in between and is begun anew, or continues and lasts its time from now.
 */
const windowsBefore = ({ known, limits: { windowMs } }: State, subject: string, atEpochMs: number): ReadonlyArray<Window> => {
  const fresh = { beganAtEpochMs: atEpochMs, used: 0, cancelsBeyond: 0 }
  const { highestEpochMs, windows } = known.get(subject) ?? { highestEpochMs: 0, windows: [fresh] }
  const may = windows.flatMap((window) => {
    // A window without any counted request has not begun.
    const isOverBy = (when: number): boolean => window.used === 0 || when >= window.beganAtEpochMs + windowMs
    if (isOverBy(atEpochMs)) return [fresh]
    const goesOn = { ...window, beganAtEpochMs: Math.min(window.beganAtEpochMs, atEpochMs) }
    return isOverBy(highestEpochMs) ? [goesOn, fresh] : [goesOn]
  })
  return distinct(may)
}

/** A window with one more request; undefined where the request must be refused. */
const counted = (window: Window, limit: number, isCancel: boolean): Window | undefined => {
  if (window.used < limit) return { ...window, used: window.used + 1 }
  return isCancel && window.cancelsBeyond < limit ? { ...window, cancelsBeyond: window.cancelsBeyond + 1 } : undefined
}

type Handled = Observation & { readonly _tag: "Handled" }

type Reply = NonNullable<Handled["answer"]>

const header = ({ headers }: Reply, name: string): number => Number(headers[name])

/** The first fault in an answer's statement about the window. */
const toldFault = (
  seen: Reply,
  atEpochMs: number,
  limit: number,
  { beganAtEpochMs, used }: Pick<Window, "beganAtEpochMs" | "used">,
  { windowMs }: Limits,
  isRefused: boolean
): string | undefined => {
  const left = Math.ceil((beganAtEpochMs + windowMs - atEpochMs) / 1_000)
  if (header(seen, "ratelimit-limit") !== limit) return `tells another limit than ${limit}`
  if (header(seen, "ratelimit-remaining") !== limit - used) return `tells another rest than ${limit - used}`
  if (header(seen, "ratelimit-reset") !== left) return `tells another time than ${left} s`
  const retry = isRefused ? header(seen, "retry-after") : left
  return retry === left && retry >= 1 && retry <= 60 ? undefined : `says to come again after ${retry} s, must be ${left}`
}

/** Checks an uncounted request, whose answer shows the state of its address and changes nothing. */
const uncountedVerdict = (state: State, { answer, atEpochMs, call }: Handled, what: string): Verdict => {
  const { limits } = state
  if (answer === undefined || call.id >= firstApart) return holds
  const place = placeOf(call)
  const faults = windowsBefore(state, place, atEpochMs).map((window) =>
    toldFault(answer, atEpochMs, limitOf(state, place), window, limits, false)
  )
  return faults.includes(undefined) ? holds : broken(`${what}, ${faults.join("; or ")}: ${JSON.stringify(answer.headers)}`)
}

/** The first fault of an answer if the subject's window is the given one. */
const faultOf = ({ answer, atEpochMs }: Handled, window: Window, limit: number, isCancel: boolean, limits: Limits): string | undefined => {
  const isRefused = answer !== undefined && isLimited(answer)
  const after = counted(window, limit, isCancel)
  if ((after === undefined) !== isRefused)
    return `${after === undefined ? "may not" : "may act"}: ${window.used} of ${limit} are counted in its window`
  return answer === undefined ? undefined : toldFault(answer, atEpochMs, limit, after ?? window, limits, isRefused)
}

/** Whether a credential is a key that minted a ticket in use on some connection. */
const isOnSocket = ({ model, shown, streaming }: State, token: string): boolean => {
  if (streaming.has(token) || shown.size === 0 || model === undefined) return streaming.has(token)
  const { keys, tickets: { families } } = model.identity
  const digest = Identity.sha256(token, "hex")
  return [...shown].some((family) => keys[families[family]?.apiKey ?? -1]?.secretSha256 === digest)
}

/** Notes a request that may count for an address or for a credential. */
const mayCount = (state: State, subject: string, atEpochMs: number): void => {
  const { highestEpochMs, windows } = state.known.get(subject) ?? { highestEpochMs: 0, windows: [] }
  const before = windowsBefore(state, subject, atEpochMs)
  const after = before.map((window) => counted(window, limitOf(state, subject), false) ?? window)
  // If it did not count for the subject, its window is left as it was, even one that is over by this clock.
  state.known.set(subject, { windows: distinct([...windows, ...before, ...after]), highestEpochMs: Math.max(highestEpochMs, atEpochMs) })
}

/** Routes that take a realtime ticket in place of a credential. */
const ofTickets: ReadonlySet<string> = new Set(["rotateTicket", "endTickets"])

/** How often the tickets of a key may be used in a window from addresses that have nothing left. */
const ticketsPerKey = ({ perKey }: Limits): number => Math.min(perKey, 60)

/** Whether the ticket in a request is of a family that has certainly ended, or of a key that was certainly revoked, by the journal. */
const isOver = ({ model }: State, { body }: Call): boolean => {
  const ticket = /"ticket":"([\w-]{43,})"/.exec(body)?.[1]
  if (model === undefined || ticket === undefined) return false
  const { keys, tickets: { families } } = model.identity
  const family = families[Number(Buffer.from(ticket, "base64url").readBigUInt64BE(0))]
  return family !== undefined && (family.isEnded || keys[family.apiKey]!.revokedAtEpochMs !== 0)
}

/** Routes whose requests count for their valid credential. */
const isOfCredential = ({ endpoint }: Call): boolean => !["public", "system", "operator"].includes(accesses.get(endpoint)!)

/**
 * Checks a request with an issued credential, which counts for that or, if it has ended, for its address: the headers of an immediate
 * answer show which. Otherwise both are possible.
 */
const judgeIssued = (state: State, seen: Handled, address: string, what: string): Verdict => {
  const { answer, atEpochMs, call: { endpoint, token } } = seen
  const { known, limits } = state
  const isOfKey = limits.perKey === limitOf(state, address) || answer === undefined
    ? undefined
    : header(answer, "ratelimit-limit") === limits.perKey
  if (isOfKey !== true) mayCount(state, address, atEpochMs)
  // Where both limits are equal, nothing shows whether a request counts for a credential.
  if (limits.perKey === limits.perAddress || isOfKey === false) return holds
  const isCancel = cancels.has(endpoint)
  const before = windowsBefore(state, token, atEpochMs)
  const after = (windows: ReadonlyArray<Window>): ReadonlyArray<Window> =>
    windows.map((window) => counted(window, limits.perKey, isCancel) ?? window)
  if (answer === undefined || isOfKey === undefined) {
    // Counted for the address, it leaves the credential's window as it was, even one that is over by this clock: if the clock is set back,
    // that window may continue.
    const { highestEpochMs, windows } = known.get(token) ?? { highestEpochMs: 0, windows: before }
    const latest = Math.max(highestEpochMs, atEpochMs)
    known.set(token, { windows: distinct([...windows, ...before, ...after(before)]), highestEpochMs: latest })
    return holds
  }
  const faults = before.map((window) => faultOf(seen, window, limits.perKey, isCancel, limits))
  const possible = before.filter((_, at) => faults[at] === undefined)
  if (possible.length === 0 && !isOnSocket(state, token))
    return broken(`${what}, ${faults.join("; or ")}: ${JSON.stringify(answer.headers)}`)
  known.set(token, { windows: distinct(after(possible.length === 0 ? before : possible)), highestEpochMs: atEpochMs })
  return holds
}

const judge = (state: State, seen: Handled): Verdict => {
  const { answer, atEpochMs, call, highestEpochMs } = seen
  // Nothing is counted before the venue is ready.
  if (answer?.status === 503 && answer.text.includes("\"starting\"")) return holds
  clockRead(state, highestEpochMs)
  const isRefused = answer !== undefined && isLimited(answer)
  const subject = subjectOf(state, call)
  const what = `${call.endpoint} of ${call.client}, which came at ${atEpochMs} and was answered ${answer?.status ?? "later"}`
  if (subject === undefined) return isRefused ? broken(`${what}, is not limited`) : uncountedVerdict(state, seen, what)
  if (isRefused && state.acted) return broken(`${what}, and did something`)
  if (call.credential === "issued" && isAddress(subject) && isOfCredential(call)) return judgeIssued(state, seen, subject, what)
  const isKeys = !isAddress(subject)
  const limit = limitOf(state, subject)
  const isCancel = isKeys && cancels.has(call.endpoint)
  const before = windowsBefore(state, subject, atEpochMs)
  const { limits } = state
  const isUsedUp = before.some(({ used }) => used >= limit)
  const isOfTicket = ofTickets.has(call.endpoint) && answer !== undefined && ticketsPerKey(limits) !== limits.perAddress
    && header(answer, "ratelimit-limit") === ticketsPerKey(limits)
  if (isOfTicket && !isUsedUp) return broken(`${what}, counts for a key's tickets, and its address has not used up its limit`)
  // Requests from the owners' address may have ended credentials, except those for signing in or for metrics, whatever credential they have.
  const isOfOne = isKeys || isOfSignIns(subject) || isOfMetrics(subject) || isOfOtherSites(subject)
  const isJudged = (call.id < firstApart || isOfOne) && !isOfTicket && !isOnSocket(state, call.token)
  const faults = before.map((window) => isJudged ? faultOf(seen, window, limit, isCancel, state.limits) : undefined)
  // Windows that contradict the answer are dropped.
  const windows = before.filter((_, at) => faults[at] === undefined).map((window) => counted(window, limit, isCancel) ?? window)
  state.known.set(subject, { windows, highestEpochMs: atEpochMs })
  return windows.length > 0 ? holds : broken(`${what}, ${faults.join("; or ")}: ${JSON.stringify(answer?.headers)}`)
}

/**
 * Checks that a key's read of itself names the same rest and the same end of the window as the answer's headers, the end to the second:
 * reading does not extend a window.
 */
const endFault = ({ answer, atEpochMs, call }: Handled): Verdict => {
  if (call.endpoint !== "getCurrentApiKey" || answer?.status !== 200) return holds
  const { rateLimit: { remaining, resetsAtEpochMs } } = JSON.parse(answer.text) as {
    readonly rateLimit: { readonly remaining: number; readonly resetsAtEpochMs: number }
  }
  if (remaining !== header(answer, "ratelimit-remaining"))
    return broken(`${call.client} is told that ${remaining} are left, and by the headers ${JSON.stringify(answer.headers)}`)
  const left = Math.ceil((resetsAtEpochMs - atEpochMs) / 1_000)
  return left === header(answer, "ratelimit-reset")
    ? holds
    : broken(
      `${call.client} is told at ${atEpochMs} that its window ends at ${resetsAtEpochMs}, and by the headers ${
        JSON.stringify(answer.headers)
      }`
    )
}

/** Checks the limits in a read against the process's settings, and those in a key's read of itself against the answer's headers. */
const readFault = (
  { limits }: State,
  { answer: { headers, json, status }, call }: Observation & { readonly _tag: "Answered" }
): Verdict => {
  if (status !== 200 || !isObject(json)) return holds
  if (call.endpoint === "getLimits") {
    const told = {
      perKey: json["maxRequestsPerKey"],
      cancelsBeyond: json["maxCancelsBeyondPerKey"],
      perAddress: json["maxRequestsPerAddress"],
      signInsPerAddress: json["maxSignInsPerAddress"],
      windowMs: json["rateWindowMs"]
    }
    const { perAddress, perKey, windowMs } = limits
    return difference("the limits", told, { perKey, cancelsBeyond: perKey, perAddress, signInsPerAddress: signIns(limits), windowMs })
  }
  if (call.endpoint !== "getCurrentApiKey") return holds
  const { resetsAtEpochMs, ...told } = json["rateLimit"] as Json
  if (!Number.isSafeInteger(resetsAtEpochMs)) return broken(`${call.client} is told no time at which its window ends`)
  const expected = { limit: Number(headers["ratelimit-limit"]), remaining: Number(headers["ratelimit-remaining"]) }
  // Other requests of the key may have arrived while this one was read.
  return Number(told["remaining"]) <= expected.remaining && told["limit"] === expected.limit
    ? holds
    : broken(`${call.client} is told ${JSON.stringify(told)} of its limit, and ${JSON.stringify(expected)} by the headers`)
}

/** Checks that a ticket which nobody can use any more did not count for its key. */
const overFault = ({ limits, over }: State, { answer: { headers }, call }: Observation & { readonly _tag: "Answered" }): Verdict =>
  over.has(call.id) && ticketsPerKey(limits) !== limits.perAddress && Number(headers["ratelimit-limit"]) === ticketsPerKey(limits)
    ? broken(`${call.endpoint} of ${call.client} counts for a key's tickets, and the ticket is of a family that had ended`)
    : holds

export const rateLimit: Property<State> = {
  name: "nobody-does-more-than-his-limit",
  invariant: "I17",
  kind: "safety",
  initial: () => ({
    limits: { perKey: 0, perAddress: 0, windowMs: 0 },
    known: new Map(),
    hidesAffiliates: false,
    keys: new Set(),
    streaming: new Set(),
    shown: new Set(),
    model: undefined,
    handling: undefined,
    acted: false,
    over: new Set()
  }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.limits = seen.limits
        state.hidesAffiliates = !seen.set.affiliates
        state.known.clear()
        return holds
      case "Asked":
        if (seen.call.credential === "trader") state.keys.add(seen.call.token)
        if (seen.call.id >= firstOfStreams && seen.call.id < firstOfStreamReads) state.streaming.add(seen.call.token)
        return holds
      case "Shown":
        state.shown.add(Number(Buffer.from(seen.ticket, "base64url").readBigUInt64BE(0)))
        return holds
      case "Committed":
        state.model = seen.model
        return holds
      case "Handling":
        state.handling = seen.call
        state.acted = false
        if (ofTickets.has(seen.call.endpoint) && isOver(state, seen.call)) state.over.add(seen.call.id)
        return holds
      case "Offered":
        state.acted ||= state.handling !== undefined
        return holds
      case "Answered":
        return readFault(state, seen) ?? overFault(state, seen)
      case "OnConnection":
        // Bytes that are no request count for their address, once the venue is ready.
        if (seen.event.is === "misframed") mayCount(state, subjectAt(seen.event.address), seen.clockEpochMs)
        return holds
      case "Settled":
        state.over.delete(seen.call.id)
        return holds
      case "Handled":
        state.handling = undefined
        return judge(state, seen) ?? endFault(seen)
      default:
        return holds
    }
  }
}
