/**
 * What every account would have if all positions were closed at their marks, copied in one go: a consistent view that whoever
 * wants to look at all accounts may go through in its own time. Two passes over rows in their order, and nothing is changed.
 */
import { Total } from "../Total.js"
import type { EquitiesView } from "../Reads.js"
import type { State } from "../State.js"

/** What of a state it looks at. */
type Looked = Pick<State, "accounts" | "positions" | "settling"> & {
  readonly markets: ReadonlyArray<Pick<State["markets"][number], "factor" | "mark">>
}

/**
 * Undefined while funding is being settled: what of it is on its way is in the pool then, and in no account yet.
 *
 * Since longs are as large as shorts in every market, what positions are worth at mark adds up to nothing: the equities come to the
 * collaterals and the entry-notional imbalance, whatever the marks.
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
