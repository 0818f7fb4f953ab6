/**
 * Positions by slot: one for each (account, market) that was ever touched, flat ones included, with the open
 * orders of that pair. Sizes in size atoms, money in money atoms.
 */
import { mulDivCeil, mulDivFloor } from "../domain/Units.js"
import { type Accounts, none } from "./Accounts.js"
import { growFloats, grownLength, growInts } from "./Columns.js"

const floatColumns = [
  "quantity",
  "entryNotional",
  "realizedPnl",
  "feesPaid",
  "born",
  "openedAt",
  "lastSequence",
  "openBuys",
  "openSells",
  "reduceBuys",
  "reduceSells"
] as const
type FloatColumn = (typeof floatColumns)[number]

const intColumns = ["account", "market", "firstOrder", "lastOrder", "openCount"] as const
type IntColumn = (typeof intColumns)[number]

/** What of the positions a snapshot holds. */
export type PositionsDump =
  & { readonly [K in FloatColumn]: Float64Array }
  & { readonly [K in IntColumn]: Int32Array }

/** What a fill makes of a position; one is reused for all. */
export interface Filled {
  quantity: number
  entryNotional: number
  /** Realised by the closing part, before fees. */
  realizedPnl: number
  /** Whether a new episode begins: from flat, or by a flip. */
  opens: boolean
}

export class Positions {
  count = 0
  account = new Int32Array(64)
  market = new Int32Array(64)
  /** Signed, long positive. */
  quantity = new Float64Array(64)
  /** Unsigned. */
  entryNotional = new Float64Array(64)
  /** Of the running episode, before fees. */
  realizedPnl = new Float64Array(64)
  /** Of the running episode. */
  feesPaid = new Float64Array(64)
  /** The running episode's ordinal. */
  born = new Float64Array(64)
  openedAt = new Float64Array(64)
  lastSequence = new Float64Array(64)
  /** Remaining size of open orders that may grow the position, by side. */
  openBuys = new Float64Array(64)
  openSells = new Float64Array(64)
  /** Remaining size of resting reduce-only orders, by side. */
  reduceBuys = new Float64Array(64)
  reduceSells = new Float64Array(64)
  /** The pair's resting orders, oldest first, linked in the order pool. */
  firstOrder = new Int32Array(64).fill(none)
  lastOrder = new Int32Array(64).fill(none)
  openCount = new Int32Array(64)
  nextOfAccount = new Int32Array(64).fill(none)

  // Contributions to the account's sums, as of the market's `markEpoch` recorded here.
  riskEpoch = new Float64Array(64).fill(-1)
  initialMargin = new Float64Array(64)
  maintenanceMargin = new Float64Array(64)
  unrealizedPnl = new Float64Array(64)
  /** What the buys (sells) priced beyond the mark would lose at once. */
  buyLoss = new Float64Array(64)
  sellLoss = new Float64Array(64)

  /** The slot of a pair, or -1. */
  find(accounts: Accounts, account: number, market: number): number {
    const slots = accounts.positionOf[account]!
    return market < slots.length ? slots[market]! : none
  }

  /** The slot of a pair, made if need be. */
  touch(accounts: Accounts, account: number, market: number): number {
    const found = this.find(accounts, account, market)
    if (found !== none) return found
    const slot = this.count++
    if (slot === this.account.length) this.grow(grownLength(slot, slot + 1))
    this.account[slot] = account
    this.market[slot] = market
    this.link(accounts, slot)
    return slot
  }

  private link(accounts: Accounts, slot: number): void {
    const account = this.account[slot]!
    const market = this.market[slot]!
    let slots = accounts.positionOf[account]!
    if (market >= slots.length) {
      slots = growInts(slots, market + 1, none)
      accounts.positionOf[account] = slots
    }
    slots[market] = slot
    this.nextOfAccount[slot] = accounts.firstPosition[account]!
    accounts.firstPosition[account] = slot
  }

  private grow(length: number): void {
    for (const column of floatColumns) this[column] = growFloats(this[column], length)
    this.account = growInts(this.account, length)
    this.market = growInts(this.market, length)
    this.firstOrder = growInts(this.firstOrder, length, none)
    this.lastOrder = growInts(this.lastOrder, length, none)
    this.openCount = growInts(this.openCount, length)
    this.nextOfAccount = growInts(this.nextOfAccount, length, none)
    this.riskEpoch = growFloats(this.riskEpoch, length, -1)
    this.initialMargin = growFloats(this.initialMargin, length)
    this.maintenanceMargin = growFloats(this.maintenanceMargin, length)
    this.unrealizedPnl = growFloats(this.unrealizedPnl, length)
    this.buyLoss = growFloats(this.buyLoss, length)
    this.sellLoss = growFloats(this.sellLoss, length)
  }

  dump(): PositionsDump {
    const dump: Partial<Record<FloatColumn | IntColumn, Float64Array | Int32Array>> = {}
    for (const column of floatColumns) dump[column] = this[column].slice(0, this.count)
    for (const column of intColumns) dump[column] = this[column].slice(0, this.count)
    return dump as PositionsDump
  }

  static restore(accounts: Accounts, dump: PositionsDump): Positions {
    const positions = new Positions()
    const count = dump.account.length
    if (count > positions.account.length) positions.grow(count)
    for (const column of floatColumns) positions[column].set(dump[column])
    for (const column of intColumns) positions[column].set(dump[column])
    positions.count = count
    for (let slot = 0; slot < count; slot++) positions.link(accounts, slot)
    return positions
  }
}

/**
 * What a fill of `sizeAtoms` at `priceAtoms` makes of a position (risk.md 3). The released entry notional is
 * `entryNotional * closed / size`, ceil for a long and floor for a short: against the account; the rest
 * stays in the position, so that sums over accounts are exact. `factor` is the market's K.
 */
export const fill = (
  into: Filled,
  quantity: number,
  entryNotional: number,
  buying: boolean,
  sizeAtoms: number,
  priceAtoms: number,
  factor: number
): void => {
  const signed = buying ? sizeAtoms : -sizeAtoms
  if (quantity === 0 || quantity > 0 === buying) {
    into.quantity = quantity + signed
    into.entryNotional = entryNotional + priceAtoms * sizeAtoms * factor
    into.realizedPnl = 0
    into.opens = quantity === 0
    return
  }
  const held = Math.abs(quantity)
  const closed = Math.min(held, sizeAtoms)
  const exitNotional = priceAtoms * closed * factor
  const released = closed === held
    ? entryNotional
    : quantity > 0
    ? mulDivCeil(entryNotional, closed, held)
    : mulDivFloor(entryNotional, closed, held)
  into.realizedPnl = quantity > 0 ? exitNotional - released : released - exitNotional
  into.quantity = quantity + signed
  into.opens = sizeAtoms > held
  into.entryNotional = into.opens ? priceAtoms * (sizeAtoms - held) * factor : entryNotional - released
}
