/**
 * Safety (I2). Per market, the sum of long positions equals that of short ones; and what some accounts gained by trading, realised or not,
 * others lost.
 */
import { broken, holds, type Property } from "./Property.js"

export const zeroSum: Property<null> = {
  name: "positions-are-zero-sum",
  invariant: "I2",
  kind: "safety",
  initial: () => null,
  observe: (_, seen) => {
    if (seen._tag !== "Inspected") return holds
    const sizes = new Map<number, bigint>()
    let unrealized = 0n
    const { deposited, feesCollected, fundingRest, funds } = seen.model
    let traded = feesCollected + fundingRest - deposited + funds.withdrawn - funds.deposited + seen.reads.ledger.funds.reservedAtoms
    for (let account = 0; account < seen.model.accounts.length; account++) {
      traded += BigInt(seen.reads.balance(account).collateralAtoms)
      for (const position of seen.reads.positions(account)) {
        sizes.set(position.market, (sizes.get(position.market) ?? 0n) + BigInt(position.quantityAtoms))
        unrealized += BigInt(position.unrealizedPnlAtoms)
      }
    }
    for (const [market, size] of sizes) {
      if (size !== 0n) return broken(`market ${market} is ${size} size atoms more long than short`)
    }
    return traded + unrealized === 0n ? holds : broken(`realised ${traded} + unrealised ${unrealized} is not zero`)
  }
}
