/**
 * Safety (I1). No money atom appears or vanishes: collateral of all accounts + collected fees + entry-notional
 * imbalance (shorts' less longs': profit that is realised on one side only) = deposits. Collateral and positions are the engine's; fees are what the trades it made must have
 * cost by the published rates.
 */
import { broken, holds, type Property } from "./Property.js"

export const conservation: Property<null> = {
  name: "money-is-conserved",
  invariant: "I1",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Inspected") return holds
    let collateral = 0n
    let imbalance = 0n
    for (let account = 0; account < seen.model.accounts.length; account++) {
      collateral += BigInt(seen.reads.balance(account).collateralAtoms)
      for (const position of seen.reads.positions(account)) {
        const entry = BigInt(position.entryNotionalAtoms)
        imbalance += position.quantityAtoms > 0 ? -entry : entry
      }
    }
    const total = collateral + seen.model.feesCollected + imbalance
    if (total === seen.model.deposited) return holds
    return broken(
      `collateral ${collateral} + fees ${seen.model.feesCollected} + imbalance ${imbalance} = ${total}, deposits are ${seen.model.deposited}`
    )
  }
}
