/**
 * Trading of a stream client over its connections: a demo account's orders, mostly over connections that are to cancel them when they end.
 * Everything is drawn from generators of its own; now and then a frame is repeated under its key.
 */
import { orderId } from "../../src/domain/Ids.js"
import type { Trading as Options } from "../faults/Options.js"
import type { Answer } from "../properties/Observation.js"
import * as Calls from "../workload/Calls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { Wishes } from "../workload/Wishes.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Clients } from "./Clients.js"
import type { World } from "./World.js"

/** Wait after a failed request for a ticket, ms, and most requests for tickets. */
const againMs = 500
const mostTickets = 20

const weights = { place: 12, batch: 4, amend: 3, cancel: 2, all: 1, end: 3 } as const
/** How often it also acts on several orders at once, or repeats its last command over the connection. */
const moreShare = 0.2
const moreWeights = { again: 3, cancelBatch: 3, cancelAllAfter: 1 } as const
/** Orders of a batch that is cancelled, and the timeouts of its dead-man switch, ms; 0: disarmed. */
const mostCancelled = 4
const timeoutsMs = [0, 5_000, 60_000] as const

/** Orders sent just before their connection's ticket is ended. */
const lastOrders = 3
/**
 * How many orders of the account are amended or cancelled meanwhile, and within what time, ms: some of the leaving orders are still there.
 */
const lateChanges = 10
const latesMs = [0, 2, 10] as const
/** Sizes of batches: now and then more than one record ends. */
const batches = [3, 3, 8] as const

/** Share of orders that expire, and after what time, ms: before the connection ends, or after it. */
const expiringShare = 0.25
const expiriesMs = [200, 2_000, 30_000] as const

/** A connection used for trading. */
export interface TradingLine {
  readonly isOpen: () => boolean
  /** Whether its ticket allows trading now. */
  readonly mayAct: () => boolean
  /** The ticket that allows trading. */
  readonly ticket: () => string | undefined
  readonly send: (draft: Calls.Draft, frame: object) => void
}

export class StreamTrading {
  readonly who: Calls.Identity
  readonly #wishes: Wishes
  readonly #more: SimRandom
  #tickets = 0
  #keys = 0
  /** The last command, with its connection and ticket. */
  #last: { readonly line: TradingLine; readonly ticket: string | undefined; readonly again: () => void } | undefined

  constructor(
    readonly name: string,
    readonly world: World,
    readonly clients: Clients,
    readonly random: SimRandom,
    readonly options: Options
  ) {
    this.#more = random.split("more")
    this.who = { ...random.pick(clients.identities), client: name }
    this.#wishes = new Wishes(clients.follower.model, this.who, random, world.options.workload, () => `${name}-${this.#keys}`)
  }

  /** Requests a ticket that allows trading, and passes it on if it gets one. */
  ticket(told: (ticket: string) => void): void {
    if (!this.clients.open || this.#tickets++ >= mostTickets) return
    const draft = OwnerCalls.mintTicket(OwnerCalls.demoKey(this.name, this.who), { scopes: ["read", "trade"] })
    this.clients.issueUnscripted({ ...draft, persistent: false }, (answer: Answer | undefined) => {
      const ticket = answer?.status === 200 ? (answer.json as { readonly ticket: string }).ticket : undefined
      if (ticket === undefined) this.world.time.after(againMs, () => this.ticket(told))
      else told(ticket)
    })
  }

  /** Whether the next connection is to cancel the orders placed over it. */
  get isToCancel(): boolean {
    return this.random.chance(0.8)
  }

  /** Sends orders as long as the line is open. */
  begin(line: TradingLine): void {
    const next = (): void =>
      void this.world.time.after(this.random.until(this.options.meanPauseMs), () => {
        if (!line.isOpen() || !this.clients.open) return
        if (line.mayAct()) this.#act(line)
        if (line.mayAct() && this.#more.chance(moreShare)) this.#actMore(line)
        next()
      })
    next()
  }

  /** Ends the ticket of the line while commands sent over it may still be in transit. */
  #end(ticket: string | undefined): void {
    if (ticket === undefined) return
    const draft = OwnerCalls.endTickets(OwnerCalls.stranger(this.name), ticket)
    this.clients.issueUnscripted({ ...draft, persistent: false }, () => {})
  }

  /** Amends and cancels orders by the account's own key while they may be leaving with their connection. */
  #changeLate(key: string): void {
    const { follower: { model } } = this.clients
    const { random, who } = this
    const open = [...this.#wishes.me().open]
    for (let index = 0; index < lateChanges && open.length > 0; index++) {
      const [order] = open.splice(random.below(open.length), 1)
      const { parameters } = model.markets[order!.market]!
      const [own, id] = [`${key}-late-${index}`, orderId(order!.number)]
      const draft = random.chance(0.5)
        ? Calls.cancelOrder(who, "behind the connection", own, parameters.marketId, id)
        : Calls.amend(who, "behind the connection", own, parameters, id, { quantityAtoms: order!.quantity + parameters.minQuantityAtoms })
      this.world.time.after(random.pick(latesMs) * random.next(), () =>
        this.clients.issueUnscripted({ ...draft, persistent: false }, () => {}))
    }
  }

  /** Sends a command, and keeps it to repeat it. */
  #say(line: TradingLine, draft: Calls.Draft, frame: object): void {
    const again = (): void => line.send(draft, frame)
    this.#last = { line, ticket: line.ticket(), again }
    again()
  }

  /** Acts of only some clients, drawn separately so that they do not shift the others. */
  #actMore(line: TradingLine): void {
    const random = this.#more
    const { who } = this
    const key = `${this.name}-more-${++this.#keys}`
    const say = (op: string, draft: Calls.Draft): void => this.#say(line, draft, { op, idempotencyKey: key, body: JSON.parse(draft.body) })
    const act = random.weighted(moreWeights)
    if (act === "again") {
      const last = this.#last
      if (last?.line === line && last.ticket === line.ticket()) last.again()
      return
    }
    if (act === "cancelAllAfter") return say("cancel_all_after", Calls.cancelAllAfter(who, "over the stream", key, random.pick(timeoutsMs)))
    const open = [...this.#wishes.me().open]
    const some = Array.from({ length: Math.min(open.length, 1 + random.below(mostCancelled)) },
      () => open.splice(random.below(open.length), 1)[0]!)
    if (some.length === 0) return
    const { markets } = this.clients.follower.model
    const named = some.map(({ market, number }) => ({ marketId: markets[market]!.parameters.marketId, orderId: orderId(number) }))
    say("cancel_batch", Calls.cancelBatch(who, "over the stream", key, named))
  }

  #act(line: TradingLine): void {
    const { send, ticket } = line
    const { follower: { model } } = this.clients
    const { random, who } = this
    const key = `${this.name}-${++this.#keys}`
    const market = this.#wishes.tradable()
    const open = this.#wishes.me().open
    const say = (op: string, draft: Calls.Draft, more: object = {}): void =>
      this.#say(line, draft, { op, idempotencyKey: key, body: JSON.parse(draft.body), ...more })
    const wish = (index: number): Calls.Wish => ({
      ...this.#wishes.wish(market, { timeInForce: "GTC" }),
      ...random.chance(expiringShare) ? { expiresAtEpochMs: Math.floor(this.world.time.nowEpochMs()) + random.pick(expiriesMs) } : {},
      clientOrderId: `${key}-${index}`
    })
    const act = random.weighted(weights)
    if (act === "batch") {
      const wishes = Array.from({ length: random.pick(batches) }, (_, index) => wish(index))
      return say("place_batch", Calls.placeBatch(who, "over the stream", key, wishes))
    }
    if (act === "all") return say("cancel_all", Calls.cancelAll(who, "over the stream", key, market.parameters.marketId))
    if (act === "end") {
      for (let index = 0; index < lastOrders; index++) {
        const own = `${key}-${index}`
        const draft = Calls.place(who, "over the stream", own, wish(index))
        send(draft, { op: "place", idempotencyKey: own, body: JSON.parse(draft.body) })
      }
      this.#end(ticket())
      return this.#changeLate(key)
    }
    if (act === "place" || open.length === 0) return say("place", Calls.place(who, "over the stream", key, wish(0)))
    const order = random.pick(open)
    const { parameters } = model.markets[order.market]!
    const id = orderId(order.number)
    if (act === "cancel") {
      return say("cancel", Calls.cancelOrder(who, "over the stream", key, parameters.marketId, id), { orderId: id })
    }
    say("amend", Calls.amend(who, "over the stream", key, parameters, id, { quantityAtoms: order.quantity + parameters.minQuantityAtoms }),
      { orderId: id })
  }
}
