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
  const units = Float64Array.from(markets, ({ factor, mark }) => mark * factor)
  for (let slot = 0; slot < positions.count; slot++) {
    const quantity = positions.quantity(slot)
    if (quantity === 0) continue
    const entry = quantity > 0 ? -positions.entryNotional(slot) : positions.entryNotional(slot)
    imbalance.add(entry)
    equityAtoms[positions.account(slot)]! += quantity * units[positions.market(slot)]! + entry
  }
  return { equityAtoms, collateralAtoms: collateral.atoms, entryImbalanceAtoms: imbalance.atoms }
}
