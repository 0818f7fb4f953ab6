/**
 * The reference model's take-profits and stop-losses, written from the rules alone: plain lists that are searched in full. It keeps the
 * brackets and the extremes that prices have reached; positions, orders and matching are the venue's (`Ground`).
 */
import type { TriggerBy } from "../../src/domain/Trigger.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { AutoClose, Trigger } from "../../src/operations/accounts/AutoClose.js"
import * as Risk from "./NaiveRisk.js"
import type { NaiveAccount, NaiveMarket } from "./NaiveState.js"

/** Most brackets of an account in a market. */
const mostBrackets = 20

/** Bounds of a record's work: triggers that it processes or arms again, orders of the venue's own, and resting orders that these meet. */
export interface Bounds {
  readonly worked: number
  readonly orders: number
  readonly met: number
  /** Most brackets of a position. Absent: a venue's own. */
  readonly brackets?: number
}

/** A venue's own. */
export const venueBounds: Bounds = { worked: 256, orders: 32, met: 256 }

const secondMs = 1_000
const nextSecond = (atEpochMs: number): number => (Math.floor(atEpochMs / secondMs) + 1) * secondMs

/** What closes a part of a position. */
export interface NaiveBracket {
  readonly number: number
  readonly account: number
  readonly market: number
  readonly isLong: boolean
  readonly autoClose: AutoClose
  readonly cameWithOrder: boolean
  readonly createdAtEpochMs: number
  isOrderOpen: boolean
  quantity: number
  /** When it is armed again; 0 where it does not wait. */
  again: number
  lastSequence: number
}

/** What brackets need from the rest of the model. */
export interface Ground {
  readonly accounts: ReadonlyArray<NaiveAccount>
  readonly markets: ReadonlyArray<NaiveMarket>
  readonly now: () => number
  readonly sequence: () => number
  /** Whether the engine is halted. */
  readonly isHalted: () => boolean
  /** Orders of the venue's own in this record so far, and resting orders that these have met. */
  readonly sent: () => number
  readonly met: () => number
  /** Whether an order of this change would trade with any resting order within its limit, if any, and the band. */
  readonly meets: (market: NaiveMarket, change: number, limit: number) => boolean
  /** Matches an immediate reduce-only order of the venue's own for an account. */
  readonly send: (account: NaiveAccount, market: NaiveMarket, change: number, limit: number) => void
}

/** Why triggers are refused, with the values compared, price atoms. */
export interface Fault {
  readonly refusal: Refusal
  readonly limit?: number
  readonly actual?: number
  readonly nearest?: number
}

/** One trigger of a bracket, and the price it waits for. */
interface Waiting {
  readonly bracket: NaiveBracket
  readonly isTakeProfit: boolean
  readonly trigger: Trigger
  readonly isRising: boolean
}

/** The current price of a trigger's kind, 0 while there is none. */
export const priceOf = (market: NaiveMarket, by: TriggerBy): number => [market.mark, market.lastPrice, market.risk.index][by]!

/** Whether triggers fire in a market at a time. */
const isFiring = (market: NaiveMarket, atEpochMs: number): boolean =>
  Risk.isLive(market, atEpochMs) && ["open", "reduce_only"].includes(market.status)

const kinds: ReadonlyArray<TriggerBy> = [0, 1, 2]
const ways = [false, true] as const

export class NaiveBrackets {
  all: Array<NaiveBracket> = []
  /** The furthest price reached, by market, kind of price and direction, where it has fired triggers. */
  readonly #reached = new Map<string, number>()
  /** The bracket whose order is being matched. */
  #closing: NaiveBracket | undefined
  /** Which of its two triggers that is; kept after the order. */
  closes: "take_profit" | "stop_loss" = "take_profit"

  constructor(readonly ground: Ground, readonly bounds: Bounds) {}

  /** Most brackets of a position. */
  get most(): number {
    return this.bounds.brackets ?? mostBrackets
  }

  of(account: number, market: number): ReadonlyArray<NaiveBracket> {
    return this.all.filter((each) => each.account === account && each.market === market)
  }

  /** The bracket that came with an order, while any of it is left: both have the same number. */
  ofOrder(orderNumber: number): NaiveBracket | undefined {
    return this.all.find(({ cameWithOrder, number }) => cameWithOrder && number === orderNumber)
  }

  /** Whether a market has fired triggers that are still to be processed. */
  isBehindIn(market: number): boolean {
    return [...this.#reached.keys()].some((key) => key.startsWith(`${market}/`))
  }

  get isBehind(): boolean {
    return this.#reached.size > 0
  }

  // --- setting -------------------------------------------------------------------------------------------

  /** Why triggers that are to close a position are refused; each is compared with the price given by `against`. */
  fault(
    market: NaiveMarket,
    isLong: boolean,
    { stopLoss, takeProfit }: AutoClose,
    against: (trigger: Trigger) => number
  ): Fault | undefined {
    const { maxPriceAtoms, minPriceAtoms } = market.parameters
    for (const [trigger, isAbove] of [[takeProfit, isLong], [stopLoss, !isLong]] as const) {
      if (trigger.priceAtoms === 0) continue
      for (const price of [trigger.priceAtoms, trigger.limitAtoms === 0 ? trigger.priceAtoms : trigger.limitAtoms]) {
        const bound = price < minPriceAtoms ? minPriceAtoms : maxPriceAtoms
        if (price < minPriceAtoms || price > maxPriceAtoms) {
          return { refusal: Refusal.triggerInvalid, limit: bound, actual: price, nearest: bound }
        }
      }
      const price = against(trigger)
      if (price === 0) return { refusal: Refusal.triggerInvalid }
      if (isAbove ? trigger.priceAtoms > price : trigger.priceAtoms < price) continue
      const beyond = isAbove ? price + 1 : price - 1
      const found = { refusal: Refusal.triggerInvalid, limit: price, actual: trigger.priceAtoms }
      return beyond < minPriceAtoms || beyond > maxPriceAtoms ? found : { ...found, nearest: beyond }
    }
    return undefined
  }

  /** Adds a bracket of a size; one that came with an order begins with none. */
  add(
    number: number,
    account: number,
    market: number,
    isLong: boolean,
    autoClose: AutoClose,
    quantity: number,
    cameWithOrder: boolean
  ): void {
    const bracket: NaiveBracket = {
      number,
      account,
      market,
      isLong,
      autoClose,
      cameWithOrder,
      createdAtEpochMs: this.ground.now(),
      isOrderOpen: cameWithOrder,
      quantity,
      again: 0,
      lastSequence: this.ground.sequence()
    }
    this.all.push(bracket)
    this.all.sort((one, other) => one.number - other.number)
    if (quantity > 0) this.#arm(bracket)
  }

  /** Removes all armed brackets of a position. Returns how many. */
  replace(account: number, market: number): number {
    const armed = this.of(account, market).filter(({ quantity }) => quantity > 0)
    for (const each of armed) this.#empty(each)
    return armed.length
  }

  /** Ends all brackets of an account, in one market or in all. Returns how many. */
  cancel(account: number, market: number | undefined): number {
    const before = this.all.length
    this.all = this.all.filter((each) => each.account !== account || (market !== undefined && each.market !== market))
    return before - this.all.length
  }

  /** Handles a bracket with nothing left to close: it ends, unless its order may arm it again. */
  #empty(bracket: NaiveBracket): void {
    bracket.quantity = 0
    bracket.again = 0
    bracket.lastSequence = this.ground.sequence()
    if (!bracket.isOrderOpen) this.all = this.all.filter((each) => each !== bracket)
  }

  #resize(bracket: NaiveBracket, quantity: number): void {
    if (quantity === 0) return this.#empty(bracket)
    bracket.quantity = quantity
    bracket.lastSequence = this.ground.sequence()
  }

  #arm(bracket: NaiveBracket): void {
    bracket.again = this.isBehindIn(bracket.market) ? nextSecond(this.ground.now()) : 0
  }

  // --- fills ---------------------------------------------------------------------------------------------

  /** Notes that an order's fill took a position from one size to another. */
  opened(orderNumber: number, before: number, after: number): void {
    const bracket = this.ofOrder(orderNumber)
    if (bracket === undefined) return
    const size = (quantity: number): number => Math.max(0, bracket.isLong ? quantity : -quantity)
    const opened = size(after) - size(before)
    if (opened <= 0) return
    const wasArmed = bracket.quantity > 0
    this.#resize(bracket, bracket.quantity + opened)
    if (!wasArmed) this.#arm(bracket)
  }

  /** Notes that the venue's own order filled so much of the bracket that sent it. */
  closed(size: number): void {
    if (this.#closing !== undefined) this.#resize(this.#closing, this.#closing.quantity - size)
  }

  orderEnded(orderNumber: number): void {
    const bracket = this.ofOrder(orderNumber)
    if (bracket === undefined) return
    bracket.isOrderOpen = false
    bracket.lastSequence = this.ground.sequence()
    if (bracket.quantity === 0) this.#empty(bracket)
  }

  /** Limits the brackets of a position to its size. */
  hold(account: NaiveAccount, market: NaiveMarket): void {
    const held = account.positions.get(market.index)?.quantity ?? 0
    const armed = this.of(account.index, market.index).filter(({ quantity }) => quantity > 0)
    for (const each of armed) if (held === 0 || each.isLong !== held > 0) this.#empty(each)
    const left = armed.filter(({ quantity }) => quantity > 0)
    let excess = left.reduce((total, { quantity }) => total + quantity, 0) - Math.abs(held)
    for (const each of left.toReversed()) {
      if (excess <= 0) break
      const taken = Math.min(excess, each.quantity)
      excess -= taken
      this.#resize(each, each.quantity - taken)
    }
  }

  // --- firing --------------------------------------------------------------------------------------------

  /** The armed triggers of a market that wait for a kind of price to move in one direction. */
  #waiting(market: number, by: TriggerBy, isRising: boolean): ReadonlyArray<Waiting> {
    return this.all
      .filter((each) => each.market === market && each.quantity > 0 && each.again === 0)
      .flatMap((bracket) =>
        ([[true, bracket.autoClose.takeProfit], [false, bracket.autoClose.stopLoss]] as const).map(([isTakeProfit, trigger]) => ({
          bracket,
          isTakeProfit,
          trigger,
          isRising: bracket.isLong === isTakeProfit
        }))
      )
      .filter((each) => each.trigger.priceAtoms !== 0 && each.trigger.by === by && each.isRising === isRising)
  }

  /** The next trigger reached by a price: the one it reached first, then that of the older bracket, then the take-profit. */
  #first(market: number, by: TriggerBy, isRising: boolean, price: number): Waiting | undefined {
    return this.#waiting(market, by, isRising)
      .filter(({ trigger }) => isRising ? trigger.priceAtoms <= price : trigger.priceAtoms >= price)
      .sort((one, other) =>
        (isRising ? one.trigger.priceAtoms - other.trigger.priceAtoms : other.trigger.priceAtoms - one.trigger.priceAtoms)
        || one.bracket.number - other.bracket.number || Number(other.isTakeProfit) - Number(one.isTakeProfit)
      )[0]
  }

  /** Compares one of a market's prices with the triggers. */
  look(market: NaiveMarket, by: TriggerBy): void {
    const price = priceOf(market, by)
    if (price === 0 || this.ground.isHalted() || !isFiring(market, this.ground.now())) return
    for (const isRising of ways) {
      if (this.#first(market.index, by, isRising, price) === undefined) continue
      const key = `${market.index}/${by}/${isRising}`
      const before = this.#reached.get(key) ?? price
      this.#reached.set(key, isRising ? Math.max(before, price) : Math.min(before, price))
    }
  }

  /** Compares all prices of a market with the triggers. */
  lookAtAll(market: NaiveMarket): void {
    for (const by of kinds) this.look(market, by)
  }

  /** The first thing that a record does: processes fired triggers and, where none is left, arms brackets that waited. */
  run(): void {
    const { markets, now } = this.ground
    const { met, orders, worked } = this.bounds
    const behind = markets.filter(({ index }) => this.isBehindIn(index))
    for (const market of behind) {
      if (!isFiring(market, now())) {
        for (const by of kinds) for (const isRising of ways) this.#reached.delete(`${market.index}/${by}/${isRising}`)
      }
    }
    let left = worked
    for (const market of behind) {
      for (;;) {
        const fired = this.#nextFired(market)
        if (fired === undefined) break
        if (left === 0 || this.ground.sent() >= orders || this.ground.met() >= met) return
        left--
        this.#fire(market, fired)
      }
    }
    const due = this.all
      .filter(({ again }) => again !== 0 && again <= now())
      .sort((one, other) => one.again - other.again || one.number - other.number)
    for (const each of due.slice(0, worked)) this.#arm(each)
  }

  #nextFired(market: NaiveMarket): Waiting | undefined {
    for (const by of kinds) {
      for (const isRising of ways) {
        const key = `${market.index}/${by}/${isRising}`
        const price = this.#reached.get(key)
        if (price === undefined) continue
        const first = this.#first(market.index, by, isRising, price)
        if (first !== undefined) return first
        this.#reached.delete(key)
      }
    }
    return undefined
  }

  #fire(market: NaiveMarket, { bracket, trigger }: Waiting): void {
    const account = this.ground.accounts[bracket.account]!
    const change = bracket.isLong ? -bracket.quantity : bracket.quantity
    bracket.again = nextSecond(this.ground.now())
    if (!this.ground.meets(market, change, trigger.limitAtoms)) return
    this.#closing = bracket
    this.closes = trigger === bracket.autoClose.takeProfit ? "take_profit" : "stop_loss"
    this.ground.send(account, market, change, trigger.limitAtoms)
    this.#closing = undefined
  }

  /** When a record is needed for brackets: 0 for at once. */
  get nextEpochMs(): number {
    return this.isBehind ? 0 : Math.min(Number.POSITIVE_INFINITY, ...this.all.filter(({ again }) => again !== 0).map(({ again }) => again))
  }
}
