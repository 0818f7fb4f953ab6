/**
 * A client of the venue: commands with a definite report of their outcome, reads, and streams that survive lost connections.
 *
 * A command returns an `Outcome`: the venue's decision, that it never arrived, or that this cannot be known yet. Nothing is guessed, and
 * nothing is done twice. Reads reject with `Refusal` or `Unanswered`.
 */
import { BookFeed } from "./BookFeed.js"
import type { Candles, Channel, StreamName } from "./Channels.js"
import { clientOrderIdOf } from "./ClientOrderId.js"
import { type CommandKey, isTooNewToForget } from "./CommandKey.js"
import type * as Contract from "./Contract.js"
import { Events } from "./Events.js"
import type { Following, Listener } from "./Following.js"
import { type Command, type NotDone, type Outcome, Outcomes, type Unknown } from "./Outcome.js"
import type { Platform } from "./Platform.js"
import { Refusal } from "./Refusal.js"
import { type Asked, keyVersion, nativeVersion, Rest } from "./Rest.js"
import type { FrameAnswer, Notice, OrderFrame } from "./Stream.js"
import { Streams } from "./Streams.js"
import { Tickets, type TicketSource } from "./Tickets.js"

export interface Options {
  /** The venue's URL: `https://venue.example`. */
  readonly url: string
  /** An API key, or an owner's session; a function where it may change. Without one, only public data is available. */
  readonly apiKey?: string | (() => string | undefined)
  /** The credential's account; the venue is asked for it by default. */
  readonly accountId?: string
  /** The source of tickets, for callers that keep the key elsewhere. By default tickets are minted with the key. */
  readonly tickets?: TicketSource
  /**
   * How commands are sent, `rest` by default. With `socket` they use the stream where it can take them at the moment, and REST otherwise.
   */
  readonly orders?: "rest" | "socket"
  /**
   * Has the venue cancel the open orders that were placed over a connection when that connection ends. Orders are then placed over the
   * stream only, with `orders` set to `socket`: those that it cannot take are `never_arrived`.
   */
  readonly cancelOnDisconnect?: boolean
  /** The time limit for one answer, in milliseconds; 10,000 by default. */
  readonly timeoutMs?: number
  /** Most attempts to send a request; 5 by default. */
  readonly maxAttempts?: number
  /** The delay before the second attempt, in milliseconds; 200 by default. It doubles before each further one. */
  readonly retryDelayMs?: number
  /** Most events of a stream that may wait to be taken; 10,000 by default. */
  readonly mostQueued?: number
  /** Called with events of the connection itself. */
  readonly onNotice?: (notice: Notice) => void
}

/** An order to place. The account is the credential's; without a clientOrderId, one is derived from the idempotency key. */
export type NewOrder = Omit<Contract.PlaceOrder, "accountId" | "clientOrderId"> & Partial<Pick<Contract.PlaceOrder, "clientOrderId">>

/** Identifies an open order by its id and its market. */
export interface OrderName {
  readonly orderId: string
  readonly marketId: string
}

/** The identity under which a command is sent: by default a new key. A key must not be reused for another command. */
export interface Identity {
  readonly idempotencyKey?: string
  /** Whether the given key was made for this very call and never used before; assumed not to be so by default. */
  readonly isNew?: boolean
}

/** Selects a page of a listing. */
export interface Page {
  readonly marketId?: string
  readonly limit?: number
  readonly cursor?: string
}

/** A start time, in milliseconds since the epoch, and the number of entries. */
export interface Latest {
  readonly since?: number
  readonly limit?: number
}

const segment = encodeURIComponent

/** A command in a form for both transports. `names`: the clientOrderIds of the orders that it places. */
interface Made extends Omit<OrderFrame, "idempotencyKey"> {
  readonly path: string
  readonly names?: ReadonlyArray<string>
}

type Making = (accountId: string, idempotencyKey: string) => Made

/** An order in the form in which it is sent. `entry`: its index in a batch. */
const ordered = (order: NewOrder, accountId: string, idempotencyKey: string, entry: number | undefined): Contract.PlaceOrder => {
  const { clientOrderId = clientOrderIdOf(idempotencyKey, entry), ...terms } = order
  return { accountId, clientOrderId, ...terms }
}

/**
 * The outcome where the account could not be determined: the command was not sent now, but under a key of the caller's it may have been
 * before.
 */
const withoutAccount = ({ idempotencyKey, madeAtEpochMs }: CommandKey, cause: unknown): NotDone | Unknown =>
  madeAtEpochMs !== undefined && cause instanceof Refusal
    ? { kind: "refused", idempotencyKey, refusal: cause }
    : { kind: "unknown", idempotencyKey, cause, seen: undefined }

export class Client {
  /** Access to any other route of the venue, with the credential, and with repetitions where they may help. */
  readonly rest: Rest
  private readonly outcomes: Outcomes
  private readonly streams: Streams
  private readonly tickets: Tickets | undefined
  /** The requests for tickets: the last one ends the ticket, after everything else was given up. */
  private readonly ticketRest: Rest
  private readonly notice: (notice: Notice) => void
  private readonly books = new Map<string, BookFeed>()
  private known: Promise<string> | undefined

  constructor(private readonly platform: Platform, private readonly options: Options) {
    const { apiKey, cancelOnDisconnect, maxAttempts = 5, onNotice = () => {}, orders, retryDelayMs = 200, timeoutMs = 10_000, url } =
      options
    const access = { url, apiKey, timeoutMs, maxAttempts, retryDelayMs }
    this.rest = new Rest(platform, access)
    this.ticketRest = new Rest(platform, access)
    this.outcomes = new Outcomes(this.rest, () => this.accountId())
    this.notice = onNotice
    this.tickets = options.tickets !== undefined || apiKey === undefined
      ? undefined
      : new Tickets(this.ticketRest, orders === "socket" ? ["read", "trade"] : ["read"])
    this.streams = new Streams(platform, {
      url: `${url.replace(/^http/, "ws").replace(/\/+$/, "")}/streams/v1/ws`,
      tickets: options.tickets ?? this.tickets?.take,
      isForOrders: orders === "socket",
      timeoutMs,
      cancelOnDisconnect,
      notice: onNotice
    })
  }

  // Commands.

  async place(order: NewOrder, identity: Identity = {}): Promise<Outcome<Contract.PlacedOrder>> {
    return await this.command(identity, (accountId, idempotencyKey) => {
      const body = ordered(order, accountId, idempotencyKey, undefined)
      return { op: "place", path: "/v1/orders", body, names: [body.clientOrderId] }
    })
  }

  /** Places 1 to 32 orders in one turn of the venue. A refused order does not affect the others. */
  async placeBatch(orders: ReadonlyArray<NewOrder>, identity: Identity = {}): Promise<Outcome<Contract.PlacedBatch>> {
    return await this.command(identity, (accountId, idempotencyKey) => {
      const body = { orders: orders.map((order, entry) => ordered(order, accountId, idempotencyKey, entry)) }
      return { op: "place_batch", path: "/v1/orders/batch", body, names: body.orders.map(({ clientOrderId }) => clientOrderId) }
    })
  }

  /** Changes an open order's price, its total quantity, or both. */
  async amend(
    { marketId, orderId }: OrderName,
    change: Pick<Contract.AmendOrder, "price" | "quantity">,
    identity: Identity = {}
  ): Promise<Outcome<Contract.Amended>> {
    return await this.command(identity, (accountId) => ({
      op: "amend",
      orderId,
      path: `/v1/orders/${segment(orderId)}/amend`,
      body: { accountId, marketId, ...change }
    }))
  }

  async cancel({ marketId, orderId }: OrderName, identity: Identity = {}): Promise<Outcome<Contract.Canceled>> {
    return await this.command(identity, (accountId) => ({
      op: "cancel",
      orderId,
      path: `/v1/orders/${segment(orderId)}/cancel`,
      body: { accountId, marketId }
    }))
  }

  /** Cancels 1 to 24 orders in one turn of the venue. */
  async cancelBatch(orders: ReadonlyArray<OrderName>, identity: Identity = {}): Promise<Outcome<Contract.CanceledBatch>> {
    return await this.command(identity, (accountId) => ({
      op: "cancel_batch",
      path: "/v1/orders/batch/cancel",
      body: { orders: orders.map(({ marketId, orderId }) => ({ accountId, marketId, orderId })) }
    }))
  }

  /** Cancels all open orders, or those of one market. */
  async cancelAll(marketId?: string, identity: Identity = {}): Promise<Outcome<Contract.CanceledAll>> {
    return await this.command(identity, (accountId) => ({
      op: "cancel_all",
      path: "/v1/orders/cancel-all",
      body: { accountId, ...(marketId === undefined ? undefined : { marketId }) }
    }))
  }

  /** Has all open orders cancelled after this time unless the call is repeated before; 0 disarms it. */
  async cancelAllAfter(timeoutMs: number, identity: Identity = {}): Promise<Outcome<Contract.CancelAllAfter>> {
    return await this.command(identity, (accountId) => ({
      op: "cancel_all_after",
      path: `/v1/accounts/${segment(accountId)}/orders/cancel-all-after`,
      body: { timeoutMs }
    }))
  }

  /** What the venue remembers under an idempotency key. */
  async lookUp(idempotencyKey: string): Promise<Contract.OutcomeLookup> {
    return await this.outcomes.lookUp(idempotencyKey)
  }

  // Reads.

  async limits(): Promise<Contract.Limits> {
    return await this.read("/v1/limits")
  }

  async markets(): Promise<Contract.MarketList> {
    return await this.read("/v1/markets")
  }

  async market(marketId: string): Promise<Contract.MarketSnapshot> {
    return await this.read(`/v1/markets/${segment(marketId)}`)
  }

  async stats(marketId: string): Promise<Contract.Stats> {
    return await this.read(`/v1/markets/${segment(marketId)}/stats`)
  }

  /** The latest public trades, newest first. */
  async trades(marketId: string, page: Omit<Page, "marketId"> = {}): Promise<Contract.TradeList> {
    return await this.read(`/v1/markets/${segment(marketId)}/trades`, { ...page })
  }

  /** Candles of trades, as on the stream, unless another series is asked for: the route's own default is the index. */
  async candles(
    marketId: string,
    query: Latest & Candles = {}
  ): Promise<Contract.CandleList> {
    return await this.read(`/v1/markets/${segment(marketId)}/candles`, { series: "trade", ...query })
  }

  /** Past funding intervals, newest first. */
  async fundings(marketId: string, query: Latest = {}): Promise<Contract.FundingHistory> {
    return await this.read(`/v1/markets/${segment(marketId)}/funding`, { ...query })
  }

  async balance(): Promise<Contract.Balance> {
    return await this.read(await this.ofAccount("balance"))
  }

  async positions(): Promise<Contract.PositionList> {
    return await this.read(await this.ofAccount("positions"))
  }

  /** The account's orders, newest first. */
  async orders(page: Page & { readonly status?: Contract.Order["status"] } = {}): Promise<Contract.OrderList> {
    return await this.read(await this.ofAccount("orders"), { ...page })
  }

  async order(orderId: string): Promise<Contract.Order> {
    return await this.read(`/v1/orders/${segment(orderId)}`)
  }

  /** The account's own fills, newest first. */
  async fills(page: Page = {}): Promise<Contract.FillList> {
    return await this.read(await this.ofAccount("fills"), { ...page })
  }

  // Streams.

  /** The events of a stream, for `for await`. Throws where the client already follows it. */
  events<C extends Channel>(channel: C, marketId?: string, candles: Candles = {}): Events<C> {
    const name = { channel, ...(marketId === undefined ? undefined : { marketId }), ...candles }
    return new Events(this.streams, name, this.options.mostQueued ?? 10_000, this.notice)
  }

  /**
   * Calls a listener with a stream's events as they arrive; it should return quickly. Throws where the client already follows the stream.
   */
  follow<C extends Channel>(name: StreamName<C>, listener: Listener<C>): Following<C> {
    return this.streams.follow(name, listener)
  }

  /** A market's book, kept up to date and shared by all callers. */
  book(marketId: string): BookFeed {
    const held = this.books.get(marketId)
    if (held?.isClosed === false) return held
    const made = new BookFeed(this.streams, marketId, this.notice)
    this.books.set(marketId, made)
    return made
  }

  /** Waits until commands can be sent over the stream. Rejects with `Refusal` where the key does not permit that. */
  async connected(): Promise<void> {
    await this.streams.first.ready()
  }

  /** Closes everything: streams, pending requests (whose outcome is then unknown), and the ticket. No command is sent any more. */
  async close(): Promise<void> {
    this.streams.close()
    // A command that was lost with the stream would go on by REST while the ticket is being ended.
    this.rest.close()
    await this.tickets?.end()
    this.ticketRest.close()
  }

  /** The credential's account. */
  async accountId(): Promise<string> {
    if (this.options.accountId !== undefined) return this.options.accountId
    const asked = this.known ??= this.read<Contract.CurrentApiKey>("/v1/api-keys/current", {}, keyVersion).then(({ key }) => key.accountId)
    try {
      return await asked
    } catch (cause) {
      // The next call asks again.
      this.known = undefined
      throw cause
    }
  }

  /** The answer of a route with such a `version`: anything else, as a gateway's own page, counts as lost. */
  private async read<A>(path: string, query: Asked["query"] = {}, version = nativeVersion): Promise<A> {
    return await this.rest.ask<A>({ method: "GET", path, query, version })
  }

  private async ofAccount(what: string): Promise<string> {
    return `/v1/accounts/${segment(await this.accountId())}/${what}`
  }

  /** The key that a command is sent under. */
  private keyOf({ idempotencyKey, isNew = false }: Identity): CommandKey {
    return idempotencyKey === undefined || isNew
      ? { idempotencyKey: idempotencyKey ?? this.platform.newKey(), madeAtEpochMs: this.platform.nowEpochMs() }
      : { idempotencyKey, madeAtEpochMs: undefined }
  }

  /** Sends a command over the socket if so configured and possible; otherwise, or where its answer was lost, by REST. */
  private async command<A>(identity: Identity, made: Making): Promise<Outcome<A>> {
    const key = this.keyOf(identity)
    const { idempotencyKey } = key
    let accountId: string
    try {
      accountId = await this.accountId()
    } catch (cause) {
      return withoutAccount(key, cause)
    }
    const { names, path, ...frame } = made(accountId, idempotencyKey)
    const earlier = names === undefined ? undefined : await this.outcomes.earlier<A>(key, { names, isBatch: frame.op === "place_batch" })
    if (earlier !== undefined) return earlier
    const sentAtEpochMs = this.platform.nowEpochMs()
    const command: Command = { method: "POST", path, body: frame.body, version: nativeVersion, sentAtEpochMs, ...key }
    if (this.options.orders !== "socket") return await this.outcomes.settle(command, false)
    this.streams.first.start()
    const answer = await this.streams.first.command({ ...frame, idempotencyKey })
    if (answer.kind === "refused" && answer.refusal.isConflict) return await this.outcomes.ofAnotherBody(idempotencyKey, answer.refusal)
    const endsWithConnection = this.options.cancelOnDisconnect === true && (frame.op === "place" || frame.op === "place_batch")
    // The machine may have been asleep for longer than the venue's memory of the frame: repeated by REST, the command could be done again.
    const mayBeForgotten = !isTooNewToForget(sentAtEpochMs, this.platform.nowEpochMs())
    if (endsWithConnection || mayBeForgotten) return await this.overThisAlone(command, answer)
    if (answer.kind === "answered") return { kind: "accepted", idempotencyKey, value: answer.body as A }
    if (answer.kind === "refused" && answer.refusal.isDecision) return { kind: "refused", idempotencyKey, refusal: answer.refusal }
    // An internal error may have occurred after the decision.
    const isUncertain = answer.kind === "lost" || answer.kind === "refused" && answer.refusal.code === "internal_error"
    return await this.outcomes.settle(command, isUncertain)
  }

  /** The outcome of a command that must not be sent by REST as well: there it would outlive its connection, or could be done again. */
  private async overThisAlone<A>(command: Command, answer: FrameAnswer): Promise<Outcome<A>> {
    const { idempotencyKey } = command
    if (answer.kind === "answered") return { kind: "accepted", idempotencyKey, value: answer.body as A }
    if (answer.kind === "refused" && answer.refusal.isDecision) return { kind: "refused", idempotencyKey, refusal: answer.refusal }
    if (answer.kind === "refused" && answer.refusal.code !== "internal_error") return await this.outcomes.notTaken(command, answer.refusal)
    return await this.outcomes.findOut(command, answer.kind === "refused" ? answer.refusal : answer.cause)
  }
}
