/** Ledger money goes to the party of the account for which it was requested: what the simulator says of a book in which it did not. */
import { expect, test } from "vitest"
import { accountId } from "../../src/domain/Ids.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Observation } from "../../sim/properties/Observation.js"
import { watch } from "../../sim/properties/Property.js"
import { reconciliations } from "../../sim/properties/reconciliations.js"

const model = { accounts: [{ born: 64 }, { born: 128 }], funds: { parties: new Map(), accepted: 0 } }

/** What is said at the end of a run in which 7 atoms were requested for the first of two accounts, and given to a party. */
const saidOf = (partyId: string): string | undefined => {
  const { observe } = watch(reconciliations)
  const see = (seen: object): string | undefined => observe(seen as Observation)
  for (const ofAccount of [0, 1]) {
    const command = { kind: "BindParty", ofAccount, partyId: `party-${ofAccount}` }
    see({ _tag: "Committed", model, record: { command }, decision: { outcomes: [{ refusal: Refusal.none }] } })
  }
  const body = JSON.stringify({ accountId: accountId(64), amount: "0.000007" })
  see({ _tag: "Handling", call: { endpoint: "fundLedgerParty", credential: "operator", reading: { _tag: "other" }, body } })
  const given = [{ amountAtoms: 7, partyId }]
  return see({ _tag: "Reconciled", book: { given, held: [], sent: [], prunedThrough: 0, byStrangers: new Set() } })
}

test("money given to the party for whose account it was requested is right", () => {
  expect(saidOf("party-0")).toBeUndefined()
})

test("money given to another account's party is not", () => {
  expect(saidOf("party-1")).toContain("7 atoms were given to party-1 on the ledger, and nobody asked for that")
})
