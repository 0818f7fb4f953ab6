/**
 * Every account's equity with all positions at their marks, copied at once: a consistent view that the caller may evaluate in its
 * own time. It takes two passes over the rows in their order, and changes nothing.
 */
import { Total } from "../Total.js"
import type { EquitiesView } from "../Reads.js"
import type { State } from "../State.js"

/** The parts of a state that are read. */
type Looked = Pick<State, "accounts" | "positions" | "settling"> & {
  readonly markets: ReadonlyArray<Pick<State["markets"][number], "factor" | "mark">>
}

/** What entering a position took from its account's equity, negative, or gave it: longs pay for what they hold, shorts are paid. */
const entryOf = (positions: Looked["positions"], slot: number): number =>
  positions.quantity(slot) > 0 ? -positions.entryNotional(slot) : positions.entryNotional(slot)

/** A position's unrealised PnL at its market's mark. `units`: per market, the money atoms of a size atom at the mark. */
const pnlOf = (positions: Looked["positions"], units: Float64Array, slot: number): number =>
  positions.quantity(slot) * units[positions.market(slot)]! + entryOf(positions, slot)

/** Puts the number nearest to an account's equity, rounded once, in place of a sum that was rounded on the way. */
const addUpExactly = (
  accounts: Looked["accounts"],
  positions: Looked["positions"],
  units: Float64Array,
  large: ReadonlyMap<number, Total>,
  equityAtoms: Float64Array
): void => {
  for (const [account, total] of large) total.add(accounts.collateral(account))
  for (let slot = 0; slot < positions.count; slot++) {
    const total = positions.quantity(slot) === 0 ? undefined : large.get(positions.account(slot))
    if (total === undefined) continue
    total.add(pnlOf(positions, units, slot))
  }
  for (const [account, total] of large) equityAtoms[account] = total.nearest
}

/**
 * Undefined while funding is being settled, since funding in transit is in the pool and in no account.
 *
 * Longs and shorts are equal in every market, so the values of all positions at the mark cancel out: the equities add up to the
 * collaterals plus the entry-notional imbalance, whatever the marks are.
 */
export const equities = ({ accounts, markets, positions, settling }: Looked): EquitiesView | undefined => {
  if (settling > 0) return undefined
  const collateral = new Total()
  const imbalance = new Total()
  const equityAtoms = new Float64Array(accounts.count)
  for (let account = 0; account < equityAtoms.length; account++) {
    const atoms = accounts.collateral(account)
    collateral.add(atoms)
    equityAtoms[account] = atoms
  }
  // Accounts with a sum on the way that a number cannot hold: theirs are added up again.
  const large = new Map<number, Total>()
  const units = Float64Array.from(markets, ({ factor, mark }) => mark * factor)
  for (let slot = 0; slot < positions.count; slot++) {
    if (positions.quantity(slot) === 0) continue
    imbalance.add(entryOf(positions, slot))
    const account = positions.account(slot)
    const equity = equityAtoms[account]! + pnlOf(positions, units, slot)
    equityAtoms[account] = equity
    if (!Number.isSafeInteger(equity)) large.set(account, new Total())
  }
  if (large.size > 0) addUpExactly(accounts, positions, units, large, equityAtoms)
  return { equityAtoms, collateralAtoms: collateral.atoms, entryImbalanceAtoms: imbalance.atoms }
}
