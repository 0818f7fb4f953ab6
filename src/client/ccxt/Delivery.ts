/**
 * Sends requests to the venue and receives its answers: signed, under one idempotency key for each logical call, repeated while that may
 * help, and never left with a lost answer while the venue can still be asked.
 */
import { BaseError, type Dict, Exchange, ExchangeClosedByUser, ExchangeError, NetworkError, type NullableDict, type Str } from "ccxt"
import { clientOrderIdOf } from "../venue/ClientOrderId.js"
import { isTooNewToForget, mayBeMissing } from "../venue/CommandKey.js"
import { isConflict, isDecision } from "../venue/Refusal.js"
import { nodePlatform } from "../venue/NodePlatform.js"
import { isOf, nativeVersion } from "../venue/Rest.js"
import { Allowance } from "./Allowance.js"
import * as Description from "./Description.js"
import { errorOf, isRefused, NothingDone, OutcomeUnknown } from "./Refusals.js"
import { Shared } from "./Shared.js"

/** One HTTP request, in the library's own terms. */
type Request = readonly [path: string, api: string, method: string, params: Dict, headers: unknown, body: unknown, config: object]

/** Throws where this was closed since a call began. */
type StillOpen = () => void

/** When a command's key was created, undefined where the caller gave it, and when this call first sent it. */
interface Age {
  readonly madeAtEpochMs: number | undefined
  readonly sentAtEpochMs: number
}

/** When a request was first sent, if that was before, and what ends its repetitions. */
interface Sending {
  readonly sentAtEpochMs?: number
  readonly stillOpen?: StillOpen
}

/** Whether the request may have left without a complete answer. Errors that are not the library's come from a socket. */
const isTransport = (error: unknown): boolean => error instanceof NetworkError || !(error instanceof BaseError)

/** An order with a clientOrderId: the caller's, or one derived from the key, so that repeating the call sends the same body. */
const named = (order: Dict, idempotencyKey: string, entry?: number): Dict => ({
  ...order,
  clientOrderId: order["clientOrderId"] ?? clientOrderIdOf(idempotencyKey, entry)
})

/** A command's body in which every order has a clientOrderId. */
const withNames = (path: string, body: Dict): Dict => {
  if (path === Description.placePath) return named(body, body["idempotencyKey"])
  if (path !== Description.placeBatchPath || !Array.isArray(body["orders"])) return body
  return { ...body, orders: body["orders"].map((order: Dict, entry) => named(order, body["idempotencyKey"], entry)) }
}

/** The clientOrderIds of the orders that a command places. */
const namesOf = (path: string, body: Dict): ReadonlyArray<string> => {
  if (path === Description.placePath) return [body["clientOrderId"]]
  return path === Description.placeBatchPath && Array.isArray(body["orders"])
    ? body["orders"].map((order: Dict) => order["clientOrderId"])
    : []
}

/** Reads of `/v2` whose answers are lists. */
const listing = /^\/v2\/(?:markets|orders|trades|positions|markets\/[^/]+\/(?:candles|trades))$/

/**
 * Whether a successful answer is the venue's: a page from a proxy may be JSON too. Every answer of `/v1` states its version, and `/v2`'s
 * answers contain the native answer, except for the time and for lists, of which an empty one could be anybody's. `route` is as in the
 * description, without a query.
 */
const isVenues = (route: string, method: string, response: unknown): boolean => {
  const { info, timestamp }: Dict = typeof response === "object" && response !== null ? response : {}
  const isRead = method === "GET"
  if (route.startsWith("/v1/")) return isOf(isRead ? "" : nativeVersion, response)
  if (!route.startsWith("/v2/")) return route !== "/readyz" || isOf("readiness/", response)
  if (!isRead) return typeof info === "object" && info !== null
  if (listing.test(route)) return Array.isArray(response)
  return isOf(nativeVersion, info) || route === "/v2/time" && typeof timestamp === "number"
}

/** Cancels are never held back: the venue has a separate, equal allowance for them. */
const isCancel = ([path, , method]: Request): boolean => method === "POST" && path.includes("/cancel")

/** The scheme of an address on this machine, where nobody on the way could read a key; any other `hostname` is reached over TLS. */
const onThisMachine = /^https:(?=\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?\/*$)/

export class Delivery extends Exchange {
  /** Where the venue is, with its scheme: before `hostname` where both are given. */
  declare readonly baseURL?: string
  /** The rate limits of the API key, and of the address for requests without a key. */
  private readonly allowances = { private: new Allowance(), public: new Allowance() }
  /** What ends each wait before a request. */
  private readonly waits = new Set<(cause: Error) => void>()
  /** How often this was closed. */
  private closings = 0
  /** The request for the key's account, while it is under way. */
  private readonly askedAccountId = new Shared<string>()

  /** Where the venue is, without a slash at the end. */
  protected venueUrl(): string {
    const ofHostname: string = this.implodeHostname(this.urls.api["rest"])
    return (this.baseURL ?? ofHostname.replace(onThisMachine, "http:")).replace(/\/+$/, "")
  }

  /** The library's own throttle would hold back every call: the venue's allowance is checked where a request is sent. */
  override async throttle(_cost?: number): Promise<void> {}

  /** Waits while the venue accepts nothing more. Waiting requests are not served in order. */
  private async allowed(request: Request): Promise<void> {
    const [, api] = request
    if (api !== "public" && api !== "private") return
    const allowance = this.allowances[api]
    if (this.enableRateLimit !== true || isCancel(request)) return allowance.pass()
    for (;;) {
      const waitMs = allowance.take(this.milliseconds())
      if (waitMs === 0) return
      await this.pause(waitMs)
    }
  }

  /**
   * Waits, at most until `sooner` has ended. The library's own wait cannot be ended, and would keep the process alive after `close()`: this
   * one ends with that, and leaves no timer.
   */
  protected pause(waitMs: number, sooner?: Promise<unknown>): Promise<void> {
    return new Promise((resolve, reject) => {
      const left = (): void => {
        cancel()
        this.waits.delete(end)
      }
      const over = (): void => {
        left()
        resolve()
      }
      const end = (cause: Error): void => {
        left()
        reject(cause)
      }
      const cancel = nodePlatform.after(waitMs, over)
      this.waits.add(end)
      sooner?.then(over, over)
    })
  }

  /** Ends what waits, and every command before it is sent or sent again, and every read before it is repeated. */
  protected endCalls(): void {
    this.closings++
    this.askedAccountId.leave()
    for (const end of this.waits) end(this.closed())
  }

  /** The error of calls that end because this was closed. */
  protected closed(): ExchangeClosedByUser {
    return new ExchangeClosedByUser(`${this.id} was closed`)
  }

  /** What a call takes when it begins, and asks each time before it sends something: it throws where this was closed since. */
  protected stillOpen(): StillOpen {
    const closings = this.closings
    return () => {
      if (this.closings !== closings) throw this.closed()
    }
  }

  /** Whether a request would have to wait now. */
  protected isUsedUp(api: "private" | "public"): boolean {
    return this.enableRateLimit === true && this.allowances[api].waitMs(this.milliseconds()) > 0
  }

  /** Takes over an answer's limit for the credential or address that asked; `rateLimit` is the interval over which calls may be spread. */
  private hearLimit(responseHeaders: Dict, requestHeaders: unknown): void {
    const isKeyed = typeof requestHeaders === "object" && requestHeaders !== null && "Authorization" in requestHeaders
    const allowance = this.allowances[isKeyed ? "private" : "public"]
    allowance.hear(responseHeaders, this.milliseconds())
    const isOwn = isKeyed || this.apiKey === undefined || this.apiKey === ""
    if (isOwn) this.rateLimit = allowance.intervalMs ?? this.rateLimit
  }

  override sign(
    path: string,
    api: string = "public",
    method = "GET",
    params: Dict = {},
    headers: NullableDict = undefined,
    body: Str = undefined
  ): Dict {
    const placeholders: Array<string> = this.extractParams(path)
    const encoded = Object.fromEntries(placeholders.map((name) => [name, this.encodeURIComponent(params[name])]))
    const rest: Dict = this.omit(params, placeholders)
    let url = `${this.venueUrl()}/${this.implodeParams(path, encoded)}`
    const signed: Dict = { ...headers }
    if (api === "private") {
      this.checkRequiredCredentials()
      signed["Authorization"] = `Bearer ${this.apiKey}`
    }
    if (method === "GET") {
      if (Object.keys(rest).length > 0) url += `?${this.urlencode(rest)}`
      return { url, method, body, headers: signed }
    }
    const { idempotencyKey, ...members }: Dict = rest
    signed["Content-Type"] = "application/json"
    if (idempotencyKey !== undefined) signed["Idempotency-Key"] = idempotencyKey
    return { url, method, body: body ?? this.json(members), headers: signed }
  }

  override handleErrors(
    statusCode: number,
    _statusText: string,
    url: string,
    method: string,
    responseHeaders: Dict,
    _responseBody: string,
    response: unknown,
    requestHeaders: unknown,
    _requestBody: unknown
  ): undefined {
    this.hearLimit(responseHeaders, requestHeaders)
    if (statusCode < 400) {
      if (response === undefined) throw new NetworkError(`${this.id} ${method} ${url} got an answer that is no JSON`)
      return undefined
    }
    const error = errorOf(this.id, statusCode, responseHeaders, response)
    if (error !== undefined) throw error
    // Something between client and venue answered. The library knows only some statuses, and would take others, or some of these, for a
    // proper answer.
    const Known: unknown = this.httpExceptions[String(statusCode)]
    if (typeof Known === "function" && Known.prototype instanceof NetworkError) return undefined
    throw new NetworkError(`${this.id} ${method} ${url} ${statusCode} was not answered by the venue`)
  }

  /**
   * One logical request: the library's own, repeated while repeating may help. From here on a command has one idempotency key and its
   * orders have clientOrderIds, whether called through unified or implicit methods.
   */
  override async fetch2(
    path: string,
    api: string = "public",
    method = "GET",
    params: Dict = {},
    headers: unknown = undefined,
    body: unknown = undefined,
    config: object = {}
  ): Promise<unknown> {
    const stillOpen = this.stillOpen()
    if (method === "GET") return await this.repeat([path, api, method, params, headers, body, config], () => {}, { stillOpen })
    const given = params["idempotencyKey"]
    const identified = withNames(path, { ...params, idempotencyKey: given ?? this.uuid() })
    const earlier = given === undefined ? undefined : await this.placedEarlier(path, identified)
    if (earlier !== undefined) return earlier
    const madeAtEpochMs = given === undefined ? this.milliseconds() : undefined
    return await this.settle([path, api, method, identified, headers, body, config], madeAtEpochMs, stillOpen)
  }

  /**
   * Sends a request until it gets a final answer, or the attempts are used up, or the venue may have forgotten its key: after the machine
   * slept between two attempts, a repetition could do it again. `lost` is called for each lost answer.
   */
  private async repeat(request: Request, lost: () => void, sent: Sending = {}): Promise<unknown> {
    const [path, api, method, params, headers, body, config] = request
    // What finds out an outcome goes on when this is closed, unless it has to wait.
    const { sentAtEpochMs = this.milliseconds(), stillOpen = () => {} } = sent
    const attempts = this.safeInteger(config, "attempts", api === "system" ? 1 : this.safeInteger(this.options, "maxAttempts", 1))
    for (let attempt = 1;; attempt++) {
      await this.allowed(request)
      stillOpen()
      try {
        const answer: unknown = await super.fetch2(path, api, method, { ...params }, headers, body, config)
        // By the route that was asked for: the library changes the address where the user has a proxy.
        if (!isVenues(`/${path}`, method, answer)) throw new NetworkError(`${this.id} ${method} /${path} was not answered by the venue`)
        return answer
      } catch (error) {
        const told = isRefused(error) ? error.details : undefined
        const isLost = told === undefined ? isTransport(error) : told.code === "internal_error"
        if (isLost) lost()
        const mayHelp = told === undefined ? isLost : told.retryable
        if (!mayHelp) throw error
        stillOpen()
        if (attempt >= attempts) throw error
        const patienceMs = this.safeInteger(this.options, "retryDelayMs", 0) * 2 ** (attempt - 1)
        await this.pause(told?.retryAfterMs ?? patienceMs)
        if (method !== "GET" && !isTooNewToForget(sentAtEpochMs, this.milliseconds())) throw error
      }
    }
  }

  /**
   * Sends a command, and where its answers were lost finds out the outcome before anything is thrown. `madeAtEpochMs`: when its key was
   * created, undefined where the caller gave it. Where this is closed, it is not sent again, and one that may have acted is found out.
   */
  private async settle(request: Request, madeAtEpochMs: number | undefined, stillOpen: StillOpen): Promise<unknown> {
    const sentAtEpochMs = this.milliseconds()
    let isUncertain = false
    const lost = () => {
      isUncertain = true
    }
    try {
      return await this.repeat(request, lost, { sentAtEpochMs, stillOpen })
    } catch (error) {
      if (isRefused(error) && isConflict(error.details)) throw await this.ofAnotherBody(request, error)
      if (isRefused(error) && isDecision(error.details)) throw error
      if (isUncertain) return await this.recover(request, { madeAtEpochMs, sentAtEpochMs }, error)
      // A request that was not sent at all says nothing about the venue.
      if (madeAtEpochMs !== undefined || !isRefused(error)) throw error
      return await this.notTaken(request, sentAtEpochMs, error)
    }
  }

  /**
   * A command that the venue did not accept at present, under a key of the caller's. An earlier call under it may have been decided, which
   * the refusal does not reveal: the refusal is thrown only where the venue has never seen the key, and otherwise the decision is returned.
   */
  private async notTaken(request: Request, sentAtEpochMs: number, refusal: Error): Promise<unknown> {
    const idempotencyKey = this.safeString(request[3], "idempotencyKey", "")
    const askedAtEpochMs = this.milliseconds()
    const outcome = await this.outcomeUnder(idempotencyKey).catch(() => undefined)
    if (outcome !== undefined && outcome !== "never_seen" && outcome !== "unknown_expired") {
      return await this.decided(request, { sentAtEpochMs, askedAtEpochMs }, refusal)
    }
    // An invalid request, or one that this credential never permits, is reported as it is: repeating would not help.
    const isLasting = isRefused(refusal) && refusal.details.retryable === false
    throw outcome === "never_seen" || isLasting ? refusal : this.unknown(request, refusal, outcome ?? refusal)
  }

  /** `cause`: why the command's own answer is unknown; `why`: what prevents finding out. */
  private unknown([path, , , params]: Request, cause: unknown, why: unknown): OutcomeUnknown {
    return this.unknownUnder(path, this.safeString(params, "idempotencyKey", ""), cause, why)
  }

  protected unknownUnder(path: string, idempotencyKey: string, cause: unknown, why: unknown): OutcomeUnknown {
    return new OutcomeUnknown(
      `${this.id} ${path}: whether it was done is unknown; the same call with params.idempotencyKey `
        + `${idempotencyKey} tells (${why instanceof Error ? why.message : String(why)})`,
      idempotencyKey,
      cause
    )
  }

  /**
   * The answer of a decided command: the identical request gets it again, as long as the venue remembers it. `askedAtEpochMs`: when the
   * venue was asked whether it does; if the machine has slept since, a repetition could do it again.
   */
  private async decided(
    request: Request,
    { askedAtEpochMs, sentAtEpochMs }: { readonly sentAtEpochMs: number; readonly askedAtEpochMs: number },
    cause: unknown
  ): Promise<unknown> {
    if (!isTooNewToForget(askedAtEpochMs, this.milliseconds())) throw this.unknown(request, cause, "the venue may have forgotten it since")
    try {
      return await this.repeat(request, () => {}, { sentAtEpochMs })
    } catch (error) {
      if (isRefused(error) && isConflict(error.details)) throw await this.ofAnotherBody(request, error)
      throw isRefused(error) && isDecision(error.details) ? error : this.unknown(request, cause, error)
    }
  }

  /** The outcome of a command whose answers were lost: its decision, or the guarantee that there will be none. */
  private async recover(request: Request, { madeAtEpochMs, sentAtEpochMs }: Age, cause: unknown): Promise<unknown> {
    const idempotencyKey = this.safeString(request[3], "idempotencyKey", "")
    const askedAtEpochMs = this.milliseconds()
    try {
      const accountId = await this.knownAccountId()
      const outcome = await this.outcomeUnder(idempotencyKey)
      const isNew = isTooNewToForget(madeAtEpochMs, this.milliseconds())
      if (outcome === "unknown_expired" && !isNew) throw this.unknown(request, cause, outcome)
      const isAbsent = outcome === "never_seen" || outcome === "unknown_expired"
      if (isAbsent && await this.fence(accountId, idempotencyKey)) {
        throw new NothingDone(
          `${this.id} ${request[0]}: nothing was done, and nothing will be under ${idempotencyKey}`,
          idempotencyKey,
          cause
        )
      }
    } catch (error) {
      throw error instanceof OutcomeUnknown || error instanceof NothingDone ? error : this.unknown(request, cause, error)
    }
    return await this.decided(request, { sentAtEpochMs, askedAtEpochMs }, cause)
  }

  /**
   * The order that an earlier call placed under a key of the caller's which the venue may have forgotten, in its present state; undefined
   * where there is none, so that this call may be sent. The venue would take the command for a new one, so its orders are looked up by
   * their clientOrderIds, which the venue finds however old they are.
   */
  private async placedEarlier(path: string, body: Dict): Promise<Dict | undefined> {
    const names = namesOf(path, body)
    if (names.length === 0) return undefined
    const idempotencyKey: string = body["idempotencyKey"]
    return await this.prepared(path, { idempotencyKey }, async () => {
      if (await this.outcomeUnder(idempotencyKey) !== "unknown_expired") return undefined
      for (const name of names) {
        const order = await this.orderNamed(path, idempotencyKey, name)
        if (order === undefined) continue
        if (path === Description.placePath) return order
        throw this.forgotten(path, idempotencyKey, order)
      }
      return undefined
    })
  }

  /**
   * The order with a clientOrderId, under a key that the venue has forgotten. An id derived from the key belongs to that key's order alone;
   * one that the caller chose may be another order's, unless the venue says that it is the key's.
   */
  protected async orderNamed(path: string, idempotencyKey: string, name: string, entry?: number): Promise<Dict | undefined> {
    const target = { accountId: await this.knownAccountId(), clientOrderId: name }
    const asked: Request = [Description.outcomesPath, "private", "GET", target, undefined, undefined, {}]
    const seen = this.asDict(await this.repeat(asked, () => {}))
    const order: Dict | undefined = this.safeDict(seen, "order")
    const completeSinceEpochMs = this.safeInteger(seen, "completeSinceEpochMs")
    if (order === undefined && mayBeMissing(completeSinceEpochMs, this.milliseconds())) throw this.unproven(path, idempotencyKey, name)
    if (order === undefined || order["idempotencyKey"] === idempotencyKey || name === clientOrderIdOf(idempotencyKey, entry)) return order
    throw this.forgotten(path, idempotencyKey, order)
  }

  private unproven(path: string, idempotencyKey: string, name: string): OutcomeUnknown {
    return this.notSentAgain(path, idempotencyKey, `of orders from before its upgrade it may lack the one named ${name}`)
  }

  private forgotten(path: string, idempotencyKey: string, { clientOrderId, orderId, status }: Dict): OutcomeUnknown {
    return this.notSentAgain(path, idempotencyKey, `has ${orderId} (${status}) of the name ${clientOrderId}`)
  }

  /** `what`: what the venue has, or may lack, besides the key that it has forgotten. */
  private notSentAgain(path: string, idempotencyKey: string, what: string): OutcomeUnknown {
    const why = new ExchangeError(`the venue has forgotten the key, and ${what}`)
    return new OutcomeUnknown(
      `${this.id} ${path}: whether it was done under ${idempotencyKey} is unknown, and it was not sent again: ${why.message}`,
      idempotencyKey,
      why
    )
  }

  /** Reads what a call needs before it acts, or watches: the call ends where this is closed meanwhile. */
  protected async beforehand<A>(read: () => Promise<A>): Promise<A> {
    const stillOpen = this.stillOpen()
    const made = await read()
    stillOpen()
    return made
  }

  /**
   * Reads what is needed to build a command, which ends where this is closed meanwhile. Under a key of the caller's an earlier call may
   * have been decided, which stays unknown where the venue cannot be asked.
   */
  protected async prepared<A>(path: string, { idempotencyKey }: Dict, read: () => Promise<A>): Promise<A> {
    try {
      return await this.beforehand(read)
    } catch (cause) {
      if (idempotencyKey === undefined || cause instanceof OutcomeUnknown || !isTransport(cause)) throw cause
      throw this.unknownUnder(path, String(idempotencyKey), cause, cause)
    }
  }

  /** The outcome that the venue has recorded for a key. */
  protected async outcomeUnder(idempotencyKey: string): Promise<string> {
    return this.safeString(await this.seenUnder(idempotencyKey), "outcome", "unknown_expired")
  }

  /** Everything that the venue remembers under a key. */
  protected async seenUnder(idempotencyKey: string): Promise<Dict> {
    const target = { accountId: await this.knownAccountId(), idempotencyKey }
    const asked: Request = [Description.outcomesPath, "private", "GET", target, undefined, undefined, {}]
    return this.asDict(await this.repeat(asked, () => {}))
  }

  /**
   * The key belongs to another body, so that something may have been done that the caller does not know of: the error says what, if the
   * venue still remembers.
   */
  private async ofAnotherBody(request: Request, conflict: Error): Promise<OutcomeUnknown> {
    const idempotencyKey = this.safeString(request[3], "idempotencyKey", "")
    const seen = await this.seenUnder(idempotencyKey).catch((): Dict => ({}))
    const [decision] = this.safeList(seen, "decisions", []) as Array<Dict>
    const orderIds = (this.safeList(decision, "entries", []) as Array<Dict>).flatMap(({ orderId }) =>
      orderId === undefined ? [] : [orderId]
    )
    const outcome = this.safeString(seen, "outcome", "unknown")
    return new OutcomeUnknown(
      `${this.id} ${request[0]}: idempotencyKey ${idempotencyKey} stands for an earlier call with another body, and this one was not done; `
        + `the earlier one: ${[outcome, ...orderIds].join(" ")} (${conflict.message})`,
      idempotencyKey,
      conflict
    )
  }

  /** Bars a key from ever acting; false where something was decided under it meanwhile. */
  private async fence(accountId: string, idempotencyKey: string): Promise<boolean> {
    const path = "v1/accounts/{accountId}/outcomes/fence"
    // The fence's own idempotency key is in the header; the one it bars is in the body.
    const headers = { "Idempotency-Key": this.uuid() }
    const body = this.json({ idempotencyKey })
    try {
      await this.repeat([path, "private", "POST", { accountId }, headers, body, {}], () => {})
      return true
    } catch (error) {
      if (isRefused(error) && error.details.rejectionGuard === "already_seen") return false
      throw error
    }
  }

  /**
   * The API key's account; the venue is asked only once, also by calls that need it at the same time, and again where that failed. The call
   * ends where this is closed meanwhile.
   */
  async loadAccountId(): Promise<string> {
    return await this.beforehand(() => this.knownAccountId())
  }

  /** The API key's account for what finds out an outcome, which goes on when this is closed. */
  private async knownAccountId(): Promise<string> {
    if (this.accountId !== undefined && this.accountId !== "") return this.accountId
    return await this.askedAccountId.join(() => this.askAccountId())
  }

  private async askAccountId(): Promise<string> {
    const current = this.asDict(await this.request("v1/api-keys/current", "private", "GET"))
    const accountId = this.safeString(current["key"], "accountId", "")
    this.accountId = accountId
    return accountId
  }

  protected asDict(response: unknown): Dict {
    if (typeof response === "object" && response !== null && !Array.isArray(response)) return response
    throw new ExchangeError(`${this.id} answered with something else than an object`)
  }

  protected asList(response: unknown): Array<Dict> {
    if (Array.isArray(response)) return response
    throw new ExchangeError(`${this.id} answered with something else than a list`)
  }
}
