/**
 * Brackets: what closes positions by itself. Each has a quantity of one position and a take-profit, a stop-loss, or both; it is
 * found by its number and by its position, and its triggers by the price that they wait for.
 *
 * Triggers that are armed lie in heaps, by market, by the price that they name and by the way in which it has to go: those that
 * wait for the nearest price on top. A heap is made of `Deadlines`: a price comes to a trigger as the time to a moment, upwards
 * as it is, downwards with its sign turned.
 */
import { assert } from "../../domain/Assert.js"
import type * as Trigger from "../../domain/Trigger.js"
import { StepwiseMap } from "../../domain/Stepwise.js"
import type * as AutoClose from "../../operations/accounts/AutoClose.js"
import { Deadlines } from "../Deadlines.js"
import { long, short, type Direction } from "./Triggers.js"

/** Most brackets of one account in one market, those of open orders that have yet to arm theirs among them. */
const mostBrackets = 20

/** The same by the bounds of a state. */
export const mostBracketsOf = ({ brackets = mostBrackets }: { readonly brackets?: number }): number => brackets

/** The triggers of a bracket, by their place in its key. */
const takeProfit = 0
const stopLoss = 1
export type Kind = typeof takeProfit | typeof stopLoss

export class Bracket {
  /** What it closes at most, size atoms; 0 while the order that it came with has opened nothing that is left. */
  quantityAtoms = 0
  /** Whether the order that it came with is open, and may arm more of it. */
  isOrderOpen: boolean
  /** From when on it is armed again, after an order of its own left a rest; 0 while it is armed, or has nothing to close. */
  againAtEpochMs = 0
  lastSequence: number

  constructor(
    /** Of one that came with an order the order's number, otherwise its birth ordinal. */
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

  /** The same of a position in another state. */
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

/** Ways in which a price comes to a trigger. */
const falling = 0
const rising = 1
type Way = typeof falling | typeof rising

/** A take-profit of a long position waits for a rising price, and so does a stop-loss of a short one. */
const wayOf = ({ direction }: Bracket, kind: Kind): Way => (direction === long) === (kind === takeProfit) ? rising : falling

/** How many prices a trigger can name, and ways there are for each. */
const heapsPerMarket = 6

const heapOf = (market: number, by: Trigger.TriggerBy, way: Way): number => market * heapsPerMarket + by * 2 + way

const marketOf = (heap: number): number => Math.floor(heap / heapsPerMarket)

const kinds = [takeProfit, stopLoss] as const
const ways = [falling, rising] as const

/** How many numbers a dump has of each bracket. */
const dumpedNumbers = 16

export class Brackets {
  private readonly byNumber = new StepwiseMap<number, Bracket>()
  /** By the position that they close, oldest first. */
  private readonly bySlot = new StepwiseMap<number, Array<Bracket>>()
  private readonly heaps = new Map<number, Deadlines>()
  /** Heaps that a price has come into, and how far: their triggers up to there have fired and are to be worked off. */
  private readonly reached = new Map<number, number>()
  /** Brackets that are to be armed again, by when. */
  readonly waiting = new Deadlines((number) => number)

  get size(): number {
    return this.byNumber.size
  }

  find(number: number): Bracket | undefined {
    return this.byNumber.get(number)
  }

  /** Those of a position, oldest first. */
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

  /** Puts a bracket's triggers into their heaps. */
  arm(bracket: Bracket): void {
    this.disarm(bracket)
    for (const kind of kinds) {
      const { by, priceAtoms } = bracket.trigger(kind)
      if (priceAtoms === 0) continue
      const way = wayOf(bracket, kind)
      this.heap(heapOf(bracket.market, by, way)).set(keyOf(bracket, kind), way === rising ? priceAtoms : -priceAtoms)
    }
  }

  /** Has a bracket wait until a moment to be armed. */
  wait(bracket: Bracket, untilEpochMs: number): void {
    this.disarm(bracket)
    bracket.againAtEpochMs = untilEpochMs
    this.waiting.set(bracket.number, untilEpochMs)
  }

  /** Takes a bracket's triggers out of their heaps, and the bracket out of those that wait. */
  disarm(bracket: Bracket): void {
    bracket.againAtEpochMs = 0
    this.waiting.remove(bracket.number)
    for (const kind of kinds) {
      const { by, priceAtoms } = bracket.trigger(kind)
      if (priceAtoms !== 0) this.heaps.get(heapOf(bracket.market, by, wayOf(bracket, kind)))?.remove(keyOf(bracket, kind))
    }
  }

  /** Notes that one of a market's prices has come to a point: what it crosses there fires. */
  note(market: number, by: Trigger.TriggerBy, priceAtoms: number): void {
    for (const way of ways) {
      const key = heapOf(market, by, way)
      const heap = this.heaps.get(key)
      if (heap === undefined) continue
      const to = way === rising ? priceAtoms : -priceAtoms
      if (heap.earliest <= to) this.reached.set(key, Math.max(to, this.reached.get(key) ?? to))
    }
  }

  /** Whether triggers of any market have fired and are to be worked off. */
  get isBehind(): boolean {
    return this.reached.size > 0
  }

  /** Whether triggers of a market are. */
  isBehindIn(market: number): boolean {
    if (this.reached.size === 0) return false
    for (const heap of this.reached.keys()) if (marketOf(heap) === market) return true
    return false
  }

  /** The markets of which any are, the lowest first. */
  marketsBehind(): ReadonlyArray<number> {
    return [...new Set([...this.reached.keys()].map(marketOf))].sort((one, other) => one - other)
  }

  /** Forgets how far the prices of a market had come. */
  forget(market: number): void {
    for (const heap of [...this.reached.keys()]) if (marketOf(heap) === market) this.reached.delete(heap)
  }

  /** The trigger of a market that is worked off next; undefined where none is left. */
  nextFired(market: number): { readonly bracket: Bracket; readonly kind: Kind } | undefined {
    for (let key = market * heapsPerMarket; key < (market + 1) * heapsPerMarket; key++) {
      const to = this.reached.get(key)
      if (to === undefined) continue
      // Of triggers that were all cancelled meanwhile there is no heap behind a restart.
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

  /** All of them, oldest first. */
  all(): ReadonlyArray<Bracket> {
    return [...this.byNumber.values()].sort((one, other) => one.number - other.number)
  }

  /** How far prices have come into which heaps. */
  allReached(): ReadonlyArray<readonly [heap: number, to: number]> {
    return [...this.reached].sort((one, other) => one[0] - other[0])
  }

  dump(): Float64Array {
    const all = this.all()
    const dumped = new Float64Array(all.length * dumpedNumbers)
    all.forEach((bracket, index) => dumped.set(numbersOf(bracket), index * dumpedNumbers))
    return dumped
  }

  /** Takes what was dumped; `slotOf` finds the position of an account in a market. */
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
