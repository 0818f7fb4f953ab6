/**
 * Brackets: take-profit and stop-loss orders that close positions automatically. Each has a quantity of one position and a
 * take-profit, a stop-loss, or both; it is found by its number and by its position, and its triggers by the price that they wait
 * for.
 *
 * Armed triggers lie in heaps by market, by the price that they refer to and by the direction of its move, with the nearest price
 * on top. A heap is a `Deadlines` with prices in place of times: unchanged for rising prices, with the opposite sign for falling
 * ones.
 */
import { assert } from "../../domain/Assert.js"
import type * as Trigger from "../../domain/Trigger.js"
import { StepwiseMap } from "../../domain/Stepwise.js"
import type * as AutoClose from "../../operations/accounts/AutoClose.js"
import { Deadlines } from "../Deadlines.js"
import { long, short, type Direction } from "./Triggers.js"

/** Most brackets of one account in one market, including those of open orders that are not armed yet. */
const mostBrackets = 20

/** Most brackets of one account in one market under the limits of a state. */
export const mostBracketsOf = ({ brackets = mostBrackets }: { readonly brackets?: number }): number => brackets

/** The triggers of a bracket, by their index in its key. */
const takeProfit = 0
const stopLoss = 1
export type Kind = typeof takeProfit | typeof stopLoss

export class Bracket {
  /** The largest quantity to close, size atoms; 0 while nothing is left of what its order has opened. */
  quantityAtoms = 0
  /** Whether the order that it came with is open, and may arm more of it. */
  isOrderOpen: boolean
  /** When it is armed again after its own order was filled in part; 0 while it is armed, or has nothing to close. */
  againAtEpochMs = 0
  lastSequence: number

  constructor(
    /** For a bracket that came with an order the order's number, otherwise its birth ordinal. */
    readonly number: number,
    readonly account: number,
    readonly market: number,
    /** The slot of the position that it closes. */
    readonly slot: number,
    /** The direction of the position that it closes. */
    readonly direction: Direction,
    readonly triggers: AutoClose.AutoClose,
    /** Whether it came with an order. */
    readonly cameWithOrder: boolean,
    readonly createdAtEpochMs: number,
    sequence: number
  ) {
    this.isOrderOpen = cameWithOrder
    this.lastSequence = sequence
  }

  /** A copy of the bracket, for the copy of its position in another state. */
  copyFor(account: number, market: number, slot: number): Bracket {
    const { cameWithOrder, createdAtEpochMs, direction, lastSequence, number, triggers } = this
    const copy = new Bracket(number, account, market, slot, direction, triggers, cameWithOrder, createdAtEpochMs, lastSequence)
    copy.isOrderOpen = this.isOrderOpen
    copy.quantityAtoms = this.quantityAtoms
    return copy
  }

  trigger(kind: Kind): AutoClose.Trigger {
    return kind === takeProfit ? this.triggers.takeProfit : this.triggers.stopLoss
  }
}

/** The directions in which a price can reach a trigger. */
const falling = 0
const rising = 1
type Way = typeof falling | typeof rising

/** A take-profit of a long position waits for a rising price, and so does a stop-loss of a short one. */
const wayOf = ({ direction }: Bracket, kind: Kind): Way => (direction === long) === (kind === takeProfit) ? rising : falling

/** The number of prices that a trigger can refer to, times the directions of each. */
const heapsPerMarket = 6

const heapOf = (market: number, by: Trigger.TriggerBy, way: Way): number => market * heapsPerMarket + by * 2 + way

const marketOf = (heap: number): number => Math.floor(heap / heapsPerMarket)

const kinds = [takeProfit, stopLoss] as const
const ways = [falling, rising] as const

/** Numbers in a dump of each bracket. */
const dumpedNumbers = 16

export class Brackets {
  private readonly byNumber = new StepwiseMap<number, Bracket>()
  /** By the position that they close, oldest first. */
  private readonly bySlot = new StepwiseMap<number, Array<Bracket>>()
  private readonly heaps = new Map<number, Deadlines>()
  /** Heaps whose price has crossed triggers, and how far it got: triggers up to there have fired and are to be worked off. */
  private readonly reached = new Map<number, number>()
  /** Brackets that are to be armed again, by when. */
  readonly waiting = new Deadlines((number) => number)

  get size(): number {
    return this.byNumber.size
  }

  find(number: number): Bracket | undefined {
    return this.byNumber.get(number)
  }

  /** The brackets of a position, oldest first. */
  of(slot: number): ReadonlyArray<Bracket> {
    return this.bySlot.get(slot) ?? []
  }

  add(bracket: Bracket): void {
    this.byNumber.set(bracket.number, bracket)
    const list = this.bySlot.get(bracket.slot)
    if (list === undefined) this.bySlot.set(bracket.slot, [bracket])
    else {
      list.push(bracket)
      list.sort((one, other) => one.number - other.number)
    }
  }

  remove(bracket: Bracket): void {
    this.disarm(bracket)
    this.byNumber.delete(bracket.number)
    const list = this.bySlot.get(bracket.slot)!
    list.splice(list.indexOf(bracket), 1)
    if (list.length === 0) this.bySlot.delete(bracket.slot)
  }

  /** Adds a bracket's triggers to their heaps. */
  arm(bracket: Bracket): void {
    this.disarm(bracket)
    for (const kind of kinds) {
      const { by, priceAtoms } = bracket.trigger(kind)
      if (priceAtoms === 0) continue
      const way = wayOf(bracket, kind)
      this.heap(heapOf(bracket.market, by, way)).set(keyOf(bracket, kind), way === rising ? priceAtoms : -priceAtoms)
    }
  }

  /** Lets a bracket wait until a time before it is armed. */
  wait(bracket: Bracket, untilEpochMs: number): void {
    this.disarm(bracket)
    bracket.againAtEpochMs = untilEpochMs
    this.waiting.set(bracket.number, untilEpochMs)
  }

  /** Removes a bracket's triggers from their heaps, and the bracket from those that wait. */
  disarm(bracket: Bracket): void {
    bracket.againAtEpochMs = 0
    this.waiting.remove(bracket.number)
    for (const kind of kinds) {
      const { by, priceAtoms } = bracket.trigger(kind)
      if (priceAtoms !== 0) this.heaps.get(heapOf(bracket.market, by, wayOf(bracket, kind)))?.remove(keyOf(bracket, kind))
    }
  }

  /** Notes that one of a market's prices has reached a value: triggers crossed there fire. */
  note(market: number, by: Trigger.TriggerBy, priceAtoms: number): void {
    for (const way of ways) {
      const key = heapOf(market, by, way)
      const heap = this.heaps.get(key)
      if (heap === undefined) continue
      const to = way === rising ? priceAtoms : -priceAtoms
      if (heap.earliest <= to) this.reached.set(key, Math.max(to, this.reached.get(key) ?? to))
    }
  }

  /** Whether fired triggers of any market are still to be worked off. */
  get isBehind(): boolean {
    return this.reached.size > 0
  }

  /** Whether fired triggers of a market are still to be worked off. */
  isBehindIn(market: number): boolean {
    if (this.reached.size === 0) return false
    for (const heap of this.reached.keys()) if (marketOf(heap) === market) return true
    return false
  }

  /** The markets with fired triggers, in index order. */
  marketsBehind(): ReadonlyArray<number> {
    return [...new Set([...this.reached.keys()].map(marketOf))].sort((one, other) => one - other)
  }

  /** Discards how far the prices of a market got. */
  forget(market: number): void {
    for (const heap of [...this.reached.keys()]) if (marketOf(heap) === market) this.reached.delete(heap)
  }

  /** The next fired trigger of a market; undefined where none is left. */
  nextFired(market: number): { readonly bracket: Bracket; readonly kind: Kind } | undefined {
    for (let key = market * heapsPerMarket; key < (market + 1) * heapsPerMarket; key++) {
      const to = this.reached.get(key)
      if (to === undefined) continue
      // After a restart, a heap whose triggers were all cancelled meanwhile does not exist.
      const first = this.heaps.get(key)?.firstDue(to)
      if (first !== undefined) {
        const bracket = this.byNumber.get(Math.floor(first / 2))
        assert(bracket !== undefined, "a trigger is of a bracket that there is")
        return { bracket, kind: first % 2 === takeProfit ? takeProfit : stopLoss }
      }
      this.reached.delete(key)
    }
    return undefined
  }

  private heap(key: number): Deadlines {
    let heap = this.heaps.get(key)
    if (heap === undefined) this.heaps.set(key, heap = new Deadlines((trigger) => trigger))
    return heap
  }

  /** All brackets, oldest first. */
  all(): ReadonlyArray<Bracket> {
    return [...this.byNumber.values()].sort((one, other) => one.number - other.number)
  }

  /** How far the prices of each heap got. */
  allReached(): ReadonlyArray<readonly [heap: number, to: number]> {
    return [...this.reached].sort((one, other) => one[0] - other[0])
  }

  dump(): Float64Array {
    const all = this.all()
    const dumped = new Float64Array(all.length * dumpedNumbers)
    all.forEach((bracket, index) => dumped.set(numbersOf(bracket), index * dumpedNumbers))
    return dumped
  }

  /** Restores a dump; `slotOf` finds the position of an account in a market. */
  static restore(
    dumped: Float64Array,
    reached: ReadonlyArray<readonly [heap: number, to: number]>,
    slotOf: (account: number, market: number) => number
  ): Brackets {
    const brackets = new Brackets()
    for (let from = 0; from < dumped.length; from += dumpedNumbers) brackets.restoreOne(dumped.subarray(from), slotOf)
    for (const [heap, to] of reached) brackets.reached.set(heap, to)
    return brackets
  }

  private restoreOne(numbers: Float64Array, slotOf: (account: number, market: number) => number): void {
    const [number, account, market] = [numbers[0]!, numbers[1]!, numbers[2]!]
    const trigger = (at: number): AutoClose.Trigger => ({
      priceAtoms: numbers[at]!,
      by: numbers[at + 1] as Trigger.TriggerBy,
      limitAtoms: numbers[at + 2]!
    })
    const direction = numbers[3] === long ? long : short
    const triggers = { takeProfit: trigger(10), stopLoss: trigger(13) }
    const slot = slotOf(account, market)
    const bracket = new Bracket(number, account, market, slot, direction, triggers, numbers[5] === 1, numbers[8]!, numbers[9]!)
    bracket.isOrderOpen = numbers[6] === 1
    bracket.quantityAtoms = numbers[4]!
    this.add(bracket)
    if (numbers[7] !== 0) this.wait(bracket, numbers[7]!)
    else if (bracket.quantityAtoms > 0) this.arm(bracket)
  }
}

const keyOf = ({ number }: Bracket, kind: Kind): number => number * 2 + kind

/** A bracket as numbers, in the order of a dump. */
export const numbersOf = (bracket: Bracket): ReadonlyArray<number> => {
  const { stopLoss, takeProfit } = bracket.triggers
  return [
    bracket.number,
    bracket.account,
    bracket.market,
    bracket.direction,
    bracket.quantityAtoms,
    bracket.cameWithOrder ? 1 : 0,
    bracket.isOrderOpen ? 1 : 0,
    bracket.againAtEpochMs,
    bracket.createdAtEpochMs,
    bracket.lastSequence,
    takeProfit.priceAtoms,
    takeProfit.by,
    takeProfit.limitAtoms,
    stopLoss.priceAtoms,
    stopLoss.by,
    stopLoss.limitAtoms
  ]
}
