/**
 * Safety (I1). No money atom appears or vanishes: collateral of all accounts + amounts held for withdrawals + collected fees +
 * entry-notional imbalance (shorts' less longs': profit that is realised on one side only) = credits + deposits - withdrawals executed by
 * the ledger. Collateral, positions and held amounts are the engine's; fees are computed from its trades by the published rates, and
 * deposits and withdrawals from what was journaled of the ledger.
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
    const { model: { deposited, feesCollected, fundingRest, funds }, reads } = seen
    const held = reads.ledger.funds.reservedAtoms
    const total = collateral + held + feesCollected + fundingRest + imbalance
    const brought = deposited + funds.deposited - funds.withdrawn
    if (total === brought) return holds
    return broken(
      `collateral ${collateral} + held ${held} + fees ${feesCollected} + funding ${fundingRest} + imbalance ${imbalance} = ${total}, `
        + `and ${brought} were brought in`
    )
  }
}
