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
    const quantity = positions.quantity(slot)
    const total = quantity === 0 ? undefined : large.get(positions.account(slot))
    if (total === undefined) continue
    const entry = quantity > 0 ? -positions.entryNotional(slot) : positions.entryNotional(slot)
    total.add(quantity * units[positions.market(slot)]! + entry)
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
    const quantity = positions.quantity(slot)
    if (quantity === 0) continue
    const entry = quantity > 0 ? -positions.entryNotional(slot) : positions.entryNotional(slot)
    imbalance.add(entry)
    const account = positions.account(slot)
    const equity = equityAtoms[account]! + (quantity * units[positions.market(slot)]! + entry)
    equityAtoms[account] = equity
    if (!Number.isSafeInteger(equity)) large.set(account, new Total())
  }
  if (large.size > 0) addUpExactly(accounts, positions, units, large, equityAtoms)
  return { equityAtoms, collateralAtoms: collateral.atoms, entryImbalanceAtoms: imbalance.atoms }
}
