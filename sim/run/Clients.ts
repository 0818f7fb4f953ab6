/**
 * Where clients make their calls: numbers each call, sends it, retries it where its client insists, and has every request and answer
 * observed.
 */
import { describe, Refusal } from "../../src/domain/Refusal.js"
import type { Request, Response } from "../../src/edge/http/Listener.js"
import { type Answer, type Call, isLimited, type Observation, originOf, recordNamed } from "../properties/Observation.js"
import * as Refusals from "../reading/Refusals.js"
import * as Requests from "../reading/Requests.js"
import * as Script from "./Script.js"
import type { Draft, Identity } from "../workload/Calls.js"
import { firstApart, firstOfMisfits, firstOfStreams, firstOfTickets, Wallet } from "../workload/Wallet.js"
import type { Follower } from "./Follower.js"
import type { Witness } from "./Witness.js"
import type { SimClock } from "../world/SimClock.js"
import type { World } from "./World.js"
import { addresses } from "../world/Addresses.js"
import * as SimProxies from "../world/SimProxies.js"

/** Receives a ticket, its account, and the call that obtained it. */
export type Ticketed = (ticket: string, accountId: string, call: Call) => void

/** Receives a call's last answer, or undefined if it was given up. */
export type Settled = (answer: Answer | undefined) => void

export class Clients {
  /** Whether clients may begin new calls. */
  open = false
  /** Accounts with their keys, once opened. */
  identities: ReadonlyArray<Identity> = []
  /** The number of calls begun. */
  calls = 0
  /** Called as the process replies to a call, before the reply is on its way. */
  whenReplied: ((call: Call) => void) | undefined
  /** Calls whose clients insist on an answer and have none yet. */
  readonly pending = new Set<Call>()
  /** The last call at each endpoint that was made with its client's own credential. */
  readonly said = new Map<string, Draft>()
  /** The call that each sent request belongs to. */
  readonly #callOf = new WeakMap<Request, Call>()
  /** Credentials that owners and agents have received. */
  readonly wallet: Wallet
  /** The number of calls begun by owners and agents. */
  #apart = 0
  /** The number of calls begun by clients of the stream. */
  #unscripted = 0
  /** The call whose client is receiving its answer. */
  #settling: number | undefined
  /** Whether the operator is bringing the venue back: its keys then differ from those of the run. */
  #restoring = false
  #restored = 0

  /** `clock`: the process's, while there is one. `isUnlocked`: whether the process has lost its lock. */
  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly clock: () => SimClock | undefined,
    readonly isUnlocked: () => boolean,
    readonly hungMs: () => number
  ) {
    this.wallet = new Wallet(follower.model)
    world.network.watch((request) => this.#handling(request))
    world.network.listen((connection, event) => {
      const atEpochMs = world.time.nowEpochMs()
      const clockEpochMs = event.is === "misframed" ? this.clock()?.unsafeCurrentTimeMillis() ?? 0 : 0
      witness.see({ _tag: "OnConnection", connection, atEpochMs, clockEpochMs, event })
    })
  }

  /** Receives every ticket that clients obtain. */
  #ticketed: Ticketed = () => {}

  /** Sets the receiver of every ticket that clients obtain. */
  whenTicket(told: Ticketed): void {
    this.#ticketed = told
  }

  /** Notes that a process starts to handle a request; the returned function, that it has finished. */
  #handling(request: Request): (response: Response | undefined) => void {
    const call = this.#callOf.get(request)!
    const clock = this.clock()!
    const atEpochMs = clock.unsafeCurrentTimeMillis()
    this.witness.see({ _tag: "Handling", call, atEpochMs, movedAhead: clock.movedAhead() })
    return (response) => {
      const answer = response === undefined ? undefined : { status: response.status, headers: response.headers, text: response.body }
      const { highest: highestEpochMs, lowest: lowestEpochMs } = clock.takeTold()
      this.witness.see({ _tag: "Handled", call, atEpochMs, lowestEpochMs, highestEpochMs, answer, hungMs: this.hungMs() })
    }
  }

  /** An attempt of a call as a network request, as the venue gets it. */
  #request(call: Call, attempt: number): Request {
    const { options: { origins, proxies }, root } = this.world
    const sent = requestOf(call, origins !== undefined)
    const request = proxies === undefined ? sent : SimProxies.through(proxies, sent, root.split(`proxies/${call.id}/${attempt}`))
    this.#callOf.set(request, call)
    return request
  }

  /** Begins the next call of an owner or an agent: these are numbered separately. */
  readonly issueApart = (draft: Draft, settled: Settled): Call => this.begin(draft, firstApart + this.#apart++, settled)

  /** Begins calls of others that are numbered separately, from a number on. */
  readonly issueFrom = (first: number): Clients["issue"] => {
    let begun = 0
    return (draft, settled) => this.begin(draft, first + begun++, settled)
  }

  /** Begins the next call. */
  readonly issue = (draft: Draft, settled: Settled): Call =>
    this.begin(this.#restoring ? renamed(draft, this.#restored++) : draft, this.calls, settled)

  /** Begins the operator's calls that bring the venue back, with keys that it has not used before. */
  restore(calls: () => void): void {
    this.#restoring = true
    calls()
    this.#restoring = false
  }

  /** Begins a call. Its number determines what the network does to it. */
  begin(draft: Draft, id: number, settled: Settled): Call {
    const { request, elapsedMs, record } = this.world
    if (id < firstApart) this.calls = Math.max(this.calls, id + 1)
    if (request.record === true && this.identities.length > 0 && !this.#restoring && id < firstOfStreams) {
      record(Script.record(draft, id, elapsedMs(), this.#settling, this.follower.model, this.identities))
    }
    const call = callOf(this.wallet.resolved(draft), id)
    const isOwn = draft.credential !== "none" && draft.credential !== "wrong"
    if (isOwn && draft.endpoint !== "" && (id < firstOfMisfits || id >= firstOfStreams)) this.said.set(draft.endpoint, draft)
    if (call.persistent) this.pending.add(call)
    this.#attempt(call, 1, settled)
    return call
  }

  /** Sends a request whose answer is not observed, as a call with its own number. */
  sendUnheard(draft: Draft, told: (status: number) => void): void {
    const call = callOf(draft, this.calls++)
    this.witness.see({ _tag: "Asked", call, attempt: 1 })
    this.world.network.send(this.#request(call, 1), unheardMs, (result) => {
      told(result._tag === "Replied" ? result.response.status : 0)
    })
  }

  /** Begins a call that is in no script: in a played back run, its client begins it by itself again. */
  issueUnscripted(draft: Draft, settled: Settled): void {
    this.#attempt(callOf(draft, firstOfStreams + this.#unscripted++), 1, settled)
  }

  /** Has a request over a connection of the stream observed. */
  saidOver(draft: Draft): SaidOver {
    const call = callOf(draft, firstOfStreams + this.#unscripted++)
    this.witness.see({ _tag: "Asked", call, attempt: 1 })
    return { call, sent: this.#moment() }
  }

  /** Has the frame that answers it observed. `leftBehind`: the last durable record when the frame left. */
  heardOver({ call, sent }: SaidOver, isResult: boolean, json: unknown, leftBehind: number): void {
    const { requestId } = (json ?? {}) as { readonly requestId?: string }
    const status = isResult ? 200 : statusOf(json)
    if (status === undefined) return
    const text = JSON.stringify(json) ?? ""
    const headers = { ...!isResult && requestId !== undefined ? { "x-request-id": requestId } : {} }
    const answered = this.#answer(call, 1, { status, headers, text, json }, leftBehind, sent)
    this.witness.see({ _tag: "AnsweredOver", answered })
  }

  #attempt(call: Call, attempt: number, settled: Settled, begunMs = this.world.time.nowEpochMs()): void {
    const { witness, world: { network, options, request, root, time } } = this
    witness.see({ _tag: "Asked", call, attempt })
    const fate = root.split(`call/${call.id}/${attempt}`)
    const again = (): void => {
      time.after(Math.min(2_000, 20 * attempt) * (0.5 + fate.next()), () => this.#attempt(call, attempt + 1, settled, begunMs))
    }
    const sent = this.#moment()
    const hasTriedForMark = (): boolean => attempt >= mostForMark || time.nowEpochMs() - begunMs >= longestForMarkMs
    // A power failure at the moment a reply leaves undoes all later records.
    let leftBehind = 0
    const left = (response: Response): void => {
      this.whenReplied?.(call)
      this.follower.drain()
      leftBehind = this.follower.model.sequence
      if (this.isUnlocked()) witness.see({ _tag: "RepliedUnlocked", call, record: recordNamed({ ...response, text: response.body }) })
      const tookMs = time.nowEpochMs() - sent.trueMs
      if (tookMs > longMs) witness.see({ _tag: "RepliedLate", call, tookMs })
    }
    const { timeoutMs } = options.workload
    const waitsMs = call.endpoint === "allowWithdrawals" ? Math.max(timeoutMs, comparedMs) : timeoutMs
    const dealt = network.send(this.#request(call, attempt), waitsMs, (result) => {
      if (result._tag !== "Replied") {
        witness.see({ _tag: "Unanswered", call, attempt, refused: result._tag === "Refused" })
        if (call.persistent) again()
        else this.#settle(call, undefined, settled)
        return
      }
      const { body: text, headers, status } = result.response
      const answer: Answer = { status, headers, text, json: parsed(text) }
      this.#answered(call, attempt, answer, leftBehind, sent)
      const waitMs = call.persistent ? limitedMs(answer) : undefined
      // The client repeats the request under the same identity once the rate limit allows it.
      if (waitMs !== undefined) time.after(waitMs + fate.next(), () => this.#attempt(call, attempt + 1, settled, begunMs))
      // A full table stays full for a day: its clients do not retry.
      else if (call.persistent && status === 503 && !isFull(text) && !(isBehind(text) && hasTriedForMark())) again()
      else this.#settle(call, answer, settled)
    }, fate, left)
    request.dealt?.(call, dealt)
  }

  #moment(): Moment {
    const clock = this.clock()
    return { trueMs: this.world.time.nowEpochMs(), clock, clockMs: clock?.unsafeCurrentTimeMillis() }
  }

  #answered(call: Call, attempt: number, answer: Answer, leftBehind: number, sent: Moment): void {
    const { follower, witness } = this
    if (answer.status === 200) this.wallet.note(call.id, answer.json)
    if (answer.status === 200 && call.target === ticketTarget && call.id < firstOfStreams) {
      const { accountId, ticket } = answer.json as { readonly accountId: string; readonly ticket: string }
      this.#ticketed(ticket, accountId, call)
    }
    witness.count(`answered ${answer.status}`)
    follower.drain()
    witness.see(this.#answer(call, attempt, answer, leftBehind, sent))
  }

  /** An answer with what is known when its client receives it. */
  #answer(
    call: Call,
    attempt: number,
    answer: Answer,
    leftBehind: number,
    sent: Moment
  ): Extract<Observation, { readonly _tag: "Answered" }> {
    const { follower: { model }, world } = this
    return {
      _tag: "Answered",
      call,
      attempt,
      answer,
      memory: call.scope === undefined ? undefined : model.recall(call.scope, answer.text, recordNamed(answer)),
      sequence: model.sequence,
      leftBehind,
      atEpochMs: world.time.nowEpochMs(),
      clock: between(sent, this.#moment()),
      model
    }
  }

  #settle(call: Call, answer: Answer | undefined, settled: Settled): void {
    this.pending.delete(call)
    this.witness.see({ _tag: "Settled", call })
    this.#settling = call.id
    settled(answer)
    this.#settling = undefined
  }
}

/** A reply that takes longer is late. */
const longMs = 3_000

/** How long an operator waits at least who lets withdrawals go on: the books are compared for that, and once more after a second. */
const comparedMs = 30_000

/** Longer than a request may take that comes in pieces, with a pause behind each: whoever waits for its answer must not give it up before. */
const unheardMs = 30_000

/** A request over a connection of the stream, and when it was sent. */
export interface SaidOver {
  readonly call: Call
  readonly sent: Moment
}

/** Refusals of the connection itself, or because of its ticket. */
const ofConnection: ReadonlySet<string | undefined> = new Set(["realtime_ticket_rejected", "scope_missing"])

/** The status of a refusal by its route; undefined where the connection itself refused. An unknown refusal counts as 500. */
const statusOf = (json: unknown): number | undefined => {
  const { code, rejectionGuard } = (json ?? {}) as { readonly code?: string; readonly rejectionGuard?: string }
  const isOfConnection = ofConnection.has(code) || rejectionGuard === "connection_ended"
    || (code === "rate_limited" && rejectionGuard === undefined)
  if (isOfConnection) return undefined
  return Refusals.all.find((told) => told.code === code && told.guard === rejectionGuard)?.status ?? 500
}

/** A moment by true time and by the process's clock. */
interface Moment {
  readonly trueMs: number
  /** Each process has its own: a later process's clock says nothing about what the earlier one read. */
  readonly clock: SimClock | undefined
  readonly clockMs: number | undefined
}

/** A clock's readings at two moments, where nobody touched it between them: not even to set it, and then set it right again. */
export const between = (from: Moment, to: Moment): readonly [number, number] | undefined =>
  from.clockMs === undefined || to.clockMs === undefined || from.clock !== to.clock || to.clock?.isUntouchedSince(from.trueMs) !== true
    ? undefined
    : [from.clockMs, to.clockMs]

const ticketTarget = "/v1/realtime/ticket"

const encoder = new TextEncoder()

/** How long a rate-limited client has to wait; undefined where it was not limited. */
const limitedMs = (answer: Answer): number | undefined => isLimited(answer) ? Number(answer.headers["retry-after"]) * 1_000 : undefined

/**
 * How often a client tries while a mark is behind, which takes a quarter of a minute, or longer where its requests are limited between
 * them: as long as the clock is behind the last record, which may be hours, there is no other mark, and it gives up.
 */
const mostForMark = 40
const longestForMarkMs = 60_000

const isBehind = (text: string): boolean => text.includes(describe(Refusal.markBehind).safeMessage)

const isFull = (text: string): boolean => text.includes(describe(Refusal.tableFull).safeMessage)

const callOf = (draft: Draft, id: number): Call => ({ ...draft, id, reading: Requests.read(draft) })

const renamed = (draft: Draft, index: number): Draft =>
  draft.scope === undefined
    ? draft
    : { ...draft, idempotencyKey: `restore-${index}`, scope: draft.scope.replace(/[^/]*$/, `restore-${index}`) }

const requestOf = (call: Call, hasOrigins: boolean): Request => ({
  method: call.method,
  target: call.target,
  headers: {
    ...(call.token === "" ? {} : { authorization: `Bearer ${call.token}` }),
    ...(call.contentType === "" || (call.body === "" && call.contentType === undefined)
      ? {}
      : { "content-type": call.contentType ?? "application/json" }),
    ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
    ...(call.isOfOtherSite === true ? { "sec-fetch-site": "cross-site" } : {}),
    ...(hasOrigins ? { origin: originOf(call) } : {})
  },
  body: encoder.encode(call.body),
  remoteAddress: call.id < firstApart || (call.id >= firstOfTickets && call.credential === "trader") ? addresses.traders : addresses.owners
})

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
