/** What `/readyz` says of the books: what an operator has accepted is told of what is lacking, and of nothing else. */
import { expect, test } from "vitest"
import type { Services } from "../../../src/edge/http/Call.js"
import { ledgerDetails } from "../../../src/edge/system/LedgerStanding.js"

const details = (differenceAtoms: bigint, acceptedAtoms: number): unknown => {
  const standing = { offsetLag: 0, report: { atOffset: 9, differenceAtoms }, stopped: [], trouble: undefined, uncompared: undefined }
  const state = { funds: { acceptedAtoms, alarms: {}, offset: 9, openTransfers: 0, stop: undefined } }
  return ledgerDetails({ funds: { standing: () => standing }, state } as unknown as Services)["reconciliation"]
}

test.each([
  [0n, -5, "agrees at ledger offset 9"],
  [-5n, 0, "differs by -5 atoms at ledger offset 9"],
  [-5n, -5, "differs by -5 atoms at ledger offset 9, of which -5 are accepted"],
  [3n, 0, "differs by 3 atoms at ledger offset 9"],
  [3n, -5, "differs by 3 atoms at ledger offset 9"]
])("a difference of %d atoms with %d accepted", (differenceAtoms, acceptedAtoms, told) => {
  expect(details(differenceAtoms, acceptedAtoms)).toBe(told)
})
