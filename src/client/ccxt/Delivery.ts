/**
 * How requests reach the venue and answers come back: signed, under one idempotency key for each logical call,
 * repeated while that may help, and never left at a lost answer while the venue can still be asked.
 */
import { BaseError, type Dict, Exchange, ExchangeError, NetworkError, type NullableDict, type Str } from "ccxt"
import { clientOrderIdOf } from "../venue/ClientOrderId.js"
import { isTooNewToForget } from "../venue/CommandKey.js"
import { isConflict, isDecision } from "../venue/Refusal.js"
import { nativeVersion } from "../venue/Rest.js"
import { Allowance } from "./Allowance.js"
import * as Description from "./Description.js"
import { errorOf, isRefused, NothingDone, OutcomeUnknown } from "./Refusals.js"

/** One HTTP request in the library's own terms. */
type Request = readonly [path: string, api: string, method: string, params: Dict, headers: unknown, body: unknown, config: object]

/** When a command's key was made, undefined where the caller gave it, and when this call first sent it. */
interface Age {
  readonly madeAtEpochMs: number | undefined
  readonly sentAtEpochMs: number
}

/** Whether the request may have left and its answer did not arrive whole. What is not the library's own comes from a socket. */
const isTransport = (error: unknown): boolean => error instanceof NetworkError || !(error instanceof BaseError)

/** An order with a name: the caller's, or one that is made of the key, so that repeating the call sends the same body. */
const named = (order: Dict, idempotencyKey: string, entry?: number): Dict => ({
  ...order,
  clientOrderId: order["clientOrderId"] ?? clientOrderIdOf(idempotencyKey, entry)
})

/** A command's body with every order in it named. */
const withNames = (path: string, body: Dict): Dict => {
  if (path === Description.placePath) return named(body, body["idempotencyKey"])
  if (path !== Description.placeBatchPath || !Array.isArray(body["orders"])) return body
  return { ...body, orders: body["orders"].map((order: Dict, entry) => named(order, body["idempotencyKey"], entry)) }
}

/** The names of the orders that a command places. */
const namesOf = (path: string, body: Dict): ReadonlyArray<string> => {
  if (path === Description.placePath) return [body["clientOrderId"]]
  return path === Description.placeBatchPath && Array.isArray(body["orders"])
    ? body["orders"].map((order: Dict) => order["clientOrderId"])
    : []
}

/**
 * Whether an answer that says that all went well is the venue's: a page of something in between may be JSON too. Whatever `/v1` answers
 * says what it is, and what `/v2` answers to a command has the native answer with it.
 */
const isVenues = (route: string, method: string, response: unknown): boolean => {
  const { info, version }: Dict = typeof response === "object" && response !== null ? response : {}
  if (route.startsWith("/v1/")) return typeof version === "string" && (method === "GET" || version.startsWith(nativeVersion))
  return method === "GET" || !route.startsWith("/v2/") || (typeof info === "object" && info !== null)
}

/** Cancels are never held back: the venue has as many again for them, beyond what else it allows. */
const isCancel = ([path, , method]: Request): boolean => method === "POST" && path.includes("/cancel")

/** The scheme of where nobody is on the way who could read a key: elsewhere a `hostname` is asked over TLS. */
const onThisMachine = /^https:(?=\/\/(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?\/*$)/

export class Delivery extends Exchange {
  /** Where the venue is, with its scheme: before `hostname` where both are given. */
  declare readonly baseURL?: string
  /** What the venue lets the API key ask, and what it lets the address ask that sends no key. */
  private readonly allowances = { private: new Allowance(), public: new Allowance() }

  /** Where the venue is, without a slash at the end. */
  protected venueUrl(): string {
    const ofHostname: string = this.implodeHostname(this.urls.api["rest"])
    return (this.baseURL ?? ofHostname.replace(onThisMachine, "http:")).replace(/\/+$/, "")
  }

  /** The library's own would hold every call back: what the venue allows is asked for where a request is sent. */
  override async throttle(_cost?: number): Promise<void> {}

  /** Waits while the venue has said that it takes nothing more. A request that came first is not bound to go first. */
  private async allowed(request: Request): Promise<void> {
    const [, api] = request
    if (api !== "public" && api !== "private") return
    const allowance = this.allowances[api]
    if (this.enableRateLimit !== true || isCancel(request)) return allowance.pass()
    for (;;) {
      const waitMs = allowance.take(this.milliseconds())
      if (waitMs === 0) return
      await this.sleep(waitMs)
    }
  }

  /** Takes what an answer says of the limit of whoever asked; `rateLimit` is what calls may be spread by. */
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
      if (isVenues(url.slice(this.venueUrl().length), method, response)) return undefined
      throw new NetworkError(`${this.id} ${method} ${url} ${statusCode} was not answered by the venue`)
    }
    const error = errorOf(this.id, statusCode, responseHeaders, response)
    if (error !== undefined) throw error
    // Something in between spoke. The library knows only some statuses, and takes the others, or a few of those, for an answer.
    const Known: unknown = this.httpExceptions[String(statusCode)]
    if (typeof Known === "function" && Known.prototype instanceof NetworkError) return undefined
    throw new NetworkError(`${this.id} ${method} ${url} ${statusCode} was not answered by the venue`)
  }

  /**
   * One logical request: the library's own, repeated while repeating may help. A command has one idempotency key
   * from here on, and its orders have names, whoever calls: the unified methods or the implicit ones.
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
    if (method === "GET") return await this.repeat([path, api, method, params, headers, body, config], () => {})
    const given = params["idempotencyKey"]
    const identified = withNames(path, { ...params, idempotencyKey: given ?? this.uuid() })
    const earlier = given === undefined ? undefined : await this.placedEarlier(path, identified)
    if (earlier !== undefined) return earlier
    return await this.settle([path, api, method, identified, headers, body, config], given === undefined ? this.milliseconds() : undefined)
  }

  /**
   * Sends a request until it is answered for good, or the attempts are used up, or the venue may have forgotten its key: a machine that
   * slept between two attempts would have it done again. `lost` hears of every answer that got lost.
   * `sentAtEpochMs`: when it was first sent.
   */
  private async repeat(request: Request, lost: () => void, sentAtEpochMs = this.milliseconds()): Promise<unknown> {
    const [path, api, method, params, headers, body, config] = request
    const attempts = api === "system" ? 1 : this.safeInteger(this.options, "maxAttempts", 1)
    for (let attempt = 1;; attempt++) {
      await this.allowed(request)
      try {
        return await super.fetch2(path, api, method, { ...params }, headers, body, config)
      } catch (error) {
        const told = isRefused(error) ? error.details : undefined
        const isLost = told === undefined ? isTransport(error) : told.code === "internal_error"
        if (isLost) lost()
        const mayHelp = told === undefined ? isLost : told.retryable || told.status === 429
        if (!mayHelp || attempt >= attempts) throw error
        const patienceMs = this.safeInteger(this.options, "retryDelayMs", 0) * 2 ** (attempt - 1)
        await this.sleep(told?.retryAfterMs ?? patienceMs)
        if (method !== "GET" && !isTooNewToForget(sentAtEpochMs, this.milliseconds())) throw error
      }
    }
  }

  /**
   * Sends a command, and where its answers were lost asks what became of it before anything is thrown. `madeAtEpochMs`: when its key
   * was made, undefined where the caller gave it.
   */
  private async settle(request: Request, madeAtEpochMs: number | undefined): Promise<unknown> {
    const sentAtEpochMs = this.milliseconds()
    let isUncertain = false
    const lost = () => {
      isUncertain = true
    }
    try {
      return await this.repeat(request, lost, sentAtEpochMs)
    } catch (error) {
      if (isRefused(error) && isConflict(error.details)) throw await this.ofAnotherBody(request, error)
      if (isRefused(error) && isDecision(error.details)) throw error
      if (isUncertain) return await this.recover(request, { madeAtEpochMs, sentAtEpochMs }, error)
      // What was not sent at all says nothing of the venue.
      if (madeAtEpochMs !== undefined || !isRefused(error)) throw error
      return await this.notTaken(request, sentAtEpochMs, error)
    }
  }

  /**
   * A command that the venue did not take now, under a key of the caller's. An earlier call under it may have acted, of which the
   * refusal says nothing: it is thrown where the venue has never seen the key, and what was decided is told otherwise.
   */
  private async notTaken(request: Request, sentAtEpochMs: number, refusal: Error): Promise<unknown> {
    const idempotencyKey = this.safeString(request[3], "idempotencyKey", "")
    const askedAtEpochMs = this.milliseconds()
    const outcome = await this.outcomeUnder(idempotencyKey).catch(() => undefined)
    if (outcome !== undefined && outcome !== "never_seen" && outcome !== "unknown_expired") {
      return await this.decided(request, { sentAtEpochMs, askedAtEpochMs }, refusal)
    }
    // What is wrong with a request, or with who sends it, is told as it is: no repetition would help.
    const isLasting = isRefused(refusal) && refusal.details.retryable === false
    throw outcome === "never_seen" || isLasting ? refusal : this.unknown(request, refusal, outcome ?? refusal)
  }

  /** `cause`: why the command's own answer is not known; `why`: what stands in the way of finding out. */
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
   * The answer of what was decided: the same request gets the same one, as long as the venue remembers what was sent then.
   * `askedAtEpochMs`: when it was asked whether it does; where a machine has slept since, it would perhaps do it again.
   */
  private async decided(
    request: Request,
    { askedAtEpochMs, sentAtEpochMs }: { readonly sentAtEpochMs: number; readonly askedAtEpochMs: number },
    cause: unknown
  ): Promise<unknown> {
    if (!isTooNewToForget(askedAtEpochMs, this.milliseconds())) throw this.unknown(request, cause, "the venue may have forgotten it since")
    try {
      return await this.repeat(request, () => {}, sentAtEpochMs)
    } catch (error) {
      if (isRefused(error) && isConflict(error.details)) throw await this.ofAnotherBody(request, error)
      throw isRefused(error) && isDecision(error.details) ? error : this.unknown(request, cause, error)
    }
  }

  /** What became of a command whose answers were lost: its decision, or the promise that there will be none. */
  private async recover(request: Request, { madeAtEpochMs, sentAtEpochMs }: Age, cause: unknown): Promise<unknown> {
    const idempotencyKey = this.safeString(request[3], "idempotencyKey", "")
    const askedAtEpochMs = this.milliseconds()
    try {
      const accountId = await this.loadAccountId()
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
   * The order that an earlier call has placed under a key of the caller's which the venue may have forgotten, as it is now; undefined where
   * there was none, so that this call may be sent. The venue would take it for a new one: its orders are looked up by their names, which
   * the venue tells however old they are.
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
   * The order of a name under a key that the venue has forgotten. A name that is made of the key is of that key's order alone; one of the
   * caller's may be another order's, unless the venue says that it is the key's.
   */
  protected async orderNamed(path: string, idempotencyKey: string, name: string, entry?: number): Promise<Dict | undefined> {
    const target = { accountId: await this.loadAccountId(), clientOrderId: name }
    const asked: Request = [Description.outcomesPath, "private", "GET", target, undefined, undefined, {}]
    const order: Dict | undefined = this.safeDict(this.asDict(await this.repeat(asked, () => {})), "order")
    if (order === undefined || order["idempotencyKey"] === idempotencyKey || name === clientOrderIdOf(idempotencyKey, entry)) return order
    throw this.forgotten(path, idempotencyKey, order)
  }

  private forgotten(path: string, idempotencyKey: string, { clientOrderId, orderId, status }: Dict): OutcomeUnknown {
    const why = new ExchangeError(`the venue has forgotten the key, and has ${orderId} (${status}) of the name ${clientOrderId}`)
    return new OutcomeUnknown(
      `${this.id} ${path}: whether it was done under ${idempotencyKey} is unknown, and it was not sent again: ${why.message}`,
      idempotencyKey,
      why
    )
  }

  /**
   * Reads what a command is made of. Under a key of the caller's an earlier call may have acted, of which a venue that cannot be asked
   * says nothing.
   */
  protected async prepared<A>(path: string, { idempotencyKey }: Dict, read: () => Promise<A>): Promise<A> {
    try {
      return await read()
    } catch (cause) {
      if (idempotencyKey === undefined || cause instanceof OutcomeUnknown || !isTransport(cause)) throw cause
      throw this.unknownUnder(path, String(idempotencyKey), cause, cause)
    }
  }

  /** Whether the venue has seen a key, and what it came to. */
  protected async outcomeUnder(idempotencyKey: string): Promise<string> {
    return this.safeString(await this.seenUnder(idempotencyKey), "outcome", "unknown_expired")
  }

  /** What the venue remembers under a key. */
  protected async seenUnder(idempotencyKey: string): Promise<Dict> {
    const target = { accountId: await this.loadAccountId(), idempotencyKey }
    const asked: Request = [Description.outcomesPath, "private", "GET", target, undefined, undefined, {}]
    return this.asDict(await this.repeat(asked, () => {}))
  }

  /**
   * The key stands for another body, so that something may be done that the caller was never told of: what it is, where the venue
   * still tells.
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

  /** Whether a key is barred from ever acting; false when something was decided under it meanwhile. */
  private async fence(accountId: string, idempotencyKey: string): Promise<boolean> {
    const path = "v1/accounts/{accountId}/outcomes/fence"
    // The fence has an identity of its own in the header; the one it bars is in the body.
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

  /** The account that the API key belongs to: asked once. */
  async loadAccountId(): Promise<string> {
    if (this.accountId === undefined || this.accountId === "") {
      const current = this.asDict(await this.request("v1/api-keys/current", "private", "GET"))
      this.accountId = this.safeString(current["key"], "accountId", "")
    }
    return this.accountId
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
