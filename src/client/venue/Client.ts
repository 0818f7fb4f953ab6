/**
 * A client of the venue: commands whose outcome is always told, reads, and streams that go on over lost connections.
 *
 * A command answers with an `Outcome`: what the venue decided, that it never arrived, or that it cannot be known yet. Nothing is guessed,
 * and nothing is done twice. What only reads rejects with `Refusal` or `Unanswered`.
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
import { nativeVersion, Rest } from "./Rest.js"
import { type FrameAnswer, type Notice, type OrderFrame, Stream } from "./Stream.js"
import { Tickets, type TicketSource } from "./Tickets.js"

export interface Options {
  /** Where the venue is: `https://venue.example`. */
  readonly url: string
  /** An API key, or an owner's session; a function where it may change. Undefined: only what is public. */
  readonly apiKey?: string | (() => string | undefined)
  /** The account that the credential belongs to; asked of the venue where it is not given. */
  readonly accountId?: string
  /** Where tickets come from, for who keeps the key elsewhere. Made with the key where it is not given. */
  readonly tickets?: TicketSource
  /** How commands are sent: `rest` where it is not given. Over the socket they go wherever it can take them now, and by REST otherwise. */
  readonly orders?: "rest" | "socket"
  /**
   * Has the venue cancel the open orders that were placed over a connection when that ends. Orders are then placed over the stream alone,
   * `orders` being `socket`: what it cannot take is `never_arrived`.
   */
  readonly cancelOnDisconnect?: boolean
  /** How long one answer is waited for: 10,000 where it is not given. */
  readonly timeoutMs?: number
  /** How often a request is sent at most: 5 where it is not given. */
  readonly maxAttempts?: number
  /** How long is waited before the second attempt: 200 where it is not given. Twice as long before each further one. */
  readonly retryDelayMs?: number
  /** How many events of a stream may wait to be taken: 10,000 where it is not given. */
  readonly mostQueued?: number
  /** Hears of what happens on the stream. */
  readonly onNotice?: (notice: Notice) => void
}

/** An order to place. The account is the credential's; a clientOrderId is made of the idempotency key where none is given. */
export type NewOrder = Omit<Contract.PlaceOrder, "accountId" | "clientOrderId"> & Partial<Pick<Contract.PlaceOrder, "clientOrderId">>

/** An open order, by its id and its market. */
export interface OrderName {
  readonly orderId: string
  readonly marketId: string
}

/** Under which identity a command is sent: a key of its own is made where none is given. The same key is for the same command alone. */
export interface Identity {
  readonly idempotencyKey?: string
  /** Whether the key that is given was made for this very call, and nothing was ever sent under it; it may have been otherwise. */
  readonly isNew?: boolean
}

/** A page of a listing. */
export interface Page {
  readonly marketId?: string
  readonly limit?: number
  readonly cursor?: string
}

/** Since when, in milliseconds since the epoch, and how many. */
export interface Latest {
  readonly since?: number
  readonly limit?: number
}

const segment = encodeURIComponent

/** A command as both ways have it. `names`: of the orders that it places. */
interface Made extends Omit<OrderFrame, "idempotencyKey"> {
  readonly path: string
  readonly names?: ReadonlyArray<string>
}

type Making = (accountId: string, idempotencyKey: string) => Made

/** An order as it is sent. `entry`: its place in a batch. */
const ordered = (order: NewOrder, accountId: string, idempotencyKey: string, entry: number | undefined): Contract.PlaceOrder => {
  const { clientOrderId = clientOrderIdOf(idempotencyKey, entry), ...terms } = order
  return { accountId, clientOrderId, ...terms }
}

/** Of a command whose account could not be asked for: it was not sent, but one under a key of the caller's may have been before. */
const withoutAccount = ({ idempotencyKey, madeAtEpochMs }: CommandKey, cause: unknown): NotDone | Unknown =>
  madeAtEpochMs !== undefined && cause instanceof Refusal
    ? { kind: "refused", idempotencyKey, refusal: cause }
    : { kind: "unknown", idempotencyKey, cause, seen: undefined }

export class Client {
  /** Any other route of the venue: with the credential, and repeated while that may help. */
  readonly rest: Rest
  private readonly outcomes: Outcomes
  private readonly stream: Stream
  private readonly tickets: Tickets | undefined
  private readonly notice: (notice: Notice) => void
  private readonly books = new Map<string, BookFeed>()
  private known: Promise<string> | undefined

  constructor(private readonly platform: Platform, private readonly options: Options) {
    const { apiKey, cancelOnDisconnect, maxAttempts = 5, onNotice = () => {}, orders, retryDelayMs = 200, timeoutMs = 10_000, url } =
      options
    this.rest = new Rest(platform, { url, apiKey, timeoutMs, maxAttempts, retryDelayMs })
    this.outcomes = new Outcomes(this.rest, () => this.accountId())
    this.notice = onNotice
    this.tickets = options.tickets !== undefined || apiKey === undefined
      ? undefined
      : new Tickets(this.rest, orders === "socket" ? ["read", "trade"] : ["read"])
    this.stream = new Stream(platform, {
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

  /** Places 1 to 32 orders in one turn of the venue. One that is refused leaves its siblings alone. */
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

  /** Has all open orders cancelled so much later, unless this is said again before; 0 takes it back. */
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
    return await this.rest.get("/v1/limits")
  }

  async markets(): Promise<Contract.MarketList> {
    return await this.rest.get("/v1/markets")
  }

  async market(marketId: string): Promise<Contract.MarketSnapshot> {
    return await this.rest.get(`/v1/markets/${segment(marketId)}`)
  }

  async stats(marketId: string): Promise<Contract.Stats> {
    return await this.rest.get(`/v1/markets/${segment(marketId)}/stats`)
  }

  /** The latest public trades, newest first. */
  async trades(marketId: string, page: Omit<Page, "marketId"> = {}): Promise<Contract.TradeList> {
    return await this.rest.get(`/v1/markets/${segment(marketId)}/trades`, { ...page })
  }

  async candles(
    marketId: string,
    query: Latest & Candles = {}
  ): Promise<Contract.CandleList> {
    return await this.rest.get(`/v1/markets/${segment(marketId)}/candles`, { ...query })
  }

  /** Funding intervals that have ended, newest first. */
  async fundings(marketId: string, query: Latest = {}): Promise<Contract.FundingHistory> {
    return await this.rest.get(`/v1/markets/${segment(marketId)}/funding`, { ...query })
  }

  async balance(): Promise<Contract.Balance> {
    return await this.rest.get(await this.ofAccount("balance"))
  }

  async positions(): Promise<Contract.PositionList> {
    return await this.rest.get(await this.ofAccount("positions"))
  }

  /** The account's orders, newest first. */
  async orders(page: Page & { readonly status?: Contract.Order["status"] } = {}): Promise<Contract.OrderList> {
    return await this.rest.get(await this.ofAccount("orders"), { ...page })
  }

  async order(orderId: string): Promise<Contract.Order> {
    return await this.rest.get(`/v1/orders/${segment(orderId)}`)
  }

  /** The account's own fills, newest first. */
  async fills(page: Page = {}): Promise<Contract.FillList> {
    return await this.rest.get(await this.ofAccount("fills"), { ...page })
  }

  // Streams.

  /** The events of a stream, for `for await`. Throws where the client follows it already. */
  events<C extends Channel>(channel: C, marketId?: string, candles: Candles = {}): Events<C> {
    const name = { channel, ...(marketId === undefined ? undefined : { marketId }), ...candles }
    return new Events(this.stream, name, this.options.mostQueued ?? 10_000, this.notice)
  }

  /** Tells a listener of a stream, as it comes: whoever is called should be quick. Throws where the client follows it already. */
  follow<C extends Channel>(name: StreamName<C>, listener: Listener<C>): Following<C> {
    return this.stream.follow(name, listener)
  }

  /** A market's book, kept up to date: the same one for all who ask. */
  book(marketId: string): BookFeed {
    const held = this.books.get(marketId)
    if (held?.isClosed === false) return held
    const made = new BookFeed(this.stream, marketId, this.notice)
    this.books.set(marketId, made)
    return made
  }

  /** Waits until commands go over the stream. Rejects with `Refusal` where the key may not. */
  async connected(): Promise<void> {
    await this.stream.ready()
  }

  /** Ends everything: streams, requests under way (their outcome is unknown), and the ticket. */
  async close(): Promise<void> {
    this.stream.close()
    await this.tickets?.end()
    this.rest.close()
  }

  /** The credential's account. */
  async accountId(): Promise<string> {
    if (this.options.accountId !== undefined) return this.options.accountId
    const asked = this.known ??= this.rest.get<Contract.CurrentApiKey>("/v1/api-keys/current").then(({ key }) => key.accountId)
    try {
      return await asked
    } catch (cause) {
      // It is asked again next time.
      this.known = undefined
      throw cause
    }
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

  /** Sends a command over the socket where that is wanted and can be, and by REST otherwise, or where its answer was lost. */
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
    this.stream.start()
    const answer = await this.stream.command({ ...frame, idempotencyKey })
    if (answer.kind === "refused" && answer.refusal.isConflict) return await this.outcomes.ofAnotherBody(idempotencyKey, answer.refusal)
    const endsWithConnection = this.options.cancelOnDisconnect === true && (frame.op === "place" || frame.op === "place_batch")
    // A machine that slept over the frame may have slept for longer than the venue remembers it: by REST it would be done again.
    const mayBeForgotten = !isTooNewToForget(sentAtEpochMs, this.platform.nowEpochMs())
    if (endsWithConnection || mayBeForgotten) return await this.overThisAlone(command, answer)
    if (answer.kind === "answered") return { kind: "accepted", idempotencyKey, value: answer.body as A }
    if (answer.kind === "refused" && answer.refusal.isDecision) return { kind: "refused", idempotencyKey, refusal: answer.refusal }
    // A defect may have come behind the decision.
    const isUncertain = answer.kind === "lost" || answer.kind === "refused" && answer.refusal.code === "internal_error"
    return await this.outcomes.settle(command, isUncertain)
  }

  /** Of what is not to be sent by another way as well: on that it would outlive its connection, or be done once more. */
  private async overThisAlone<A>(command: Command, answer: FrameAnswer): Promise<Outcome<A>> {
    const { idempotencyKey } = command
    if (answer.kind === "answered") return { kind: "accepted", idempotencyKey, value: answer.body as A }
    if (answer.kind === "refused" && answer.refusal.isDecision) return { kind: "refused", idempotencyKey, refusal: answer.refusal }
    if (answer.kind === "refused" && answer.refusal.code !== "internal_error") return await this.outcomes.notTaken(command, answer.refusal)
    return await this.outcomes.findOut(command, answer.kind === "refused" ? answer.refusal : answer.cause)
  }
}
