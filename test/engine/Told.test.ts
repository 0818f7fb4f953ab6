/** Data published beside events: rows of numbers and text in one array of words, read back as they were written. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { decode, Told, type ToldNote, type ToldTransfer } from "../../src/engine/Told.js"

const note = fc.record<ToldNote>({
  ordinal: fc.nat(),
  account: fc.nat(),
  kind: fc.constantFrom("signed_in", "passkey_added"),
  sequence: fc.nat(),
  atEpochMs: fc.nat(),
  credentialId: fc.string(),
  remoteAddress: fc.string(),
  detail: fc.string({ unit: "grapheme", maxLength: 2_000 })
})

const transfer = fc.record<ToldTransfer>({
  number: fc.nat(),
  kind: fc.constantFrom("deposit", "withdrawal"),
  account: fc.nat(),
  amountAtoms: fc.maxSafeNat(),
  partyId: fc.string({ unit: "grapheme" }),
  steps: fc.array(fc.constantFrom("treasury_offer", "treasury_withdrawal"), { maxLength: 4 }),
  status: fc.constantFrom("rejected", "ledger_confirmed"),
  failedAt: fc.constantFrom(null, "approval"),
  ledgerOutcome: fc.constantFrom(null, { step: "treasury_offer", outcome: "completion_refused", guard: "no" } as const),
  requestedAtEpochMs: fc.nat(),
  updatedAtEpochMs: fc.nat(),
  lastSequence: fc.nat()
})

const change = fc.record({
  sequence: fc.nat(),
  account: fc.nat(),
  cause: fc.integer({ min: 1, max: 9 }),
  market: fc.integer({ min: -1, max: 5 }),
  amountAtoms: fc.integer(),
  balanceAtoms: fc.integer()
})

const row = fc.oneof(
  fc.record({ note }),
  fc.record({ transfer }),
  fc.record({ change })
)

test("what was told is read back, each kind in its order, out of a memory that is used again", () => {
  const told = new Told()
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
      told.length = 0
      for (const each of rows) {
        if ("note" in each) told.note(each.note)
        else if ("transfer" in each) told.transfer(each.transfer)
        else {
          const { account, amountAtoms, balanceAtoms, cause, market, sequence } = each.change
          told.change(sequence, account, cause, market, amountAtoms, balanceAtoms)
        }
      }
      // Its offset in a larger array must not matter.
      const moved = new Float64Array(told.length + 3)
      moved.set(told.copied(), 3)
      const decoded = decode(moved.subarray(3))
      expect(decoded.notes).toEqual(rows.flatMap((each) => "note" in each ? [each.note] : []))
      expect(decoded.transfers).toEqual(rows.flatMap((each) => "transfer" in each ? [each.transfer] : []))
      expect(decoded.changes).toEqual(rows.flatMap((each) => "change" in each ? [each.change] : []))
      expect(decoded.payments).toEqual([])
    }),
    { numRuns: 60, seed: 5 }
  )
})

test("a text that is longer than all the memory there was finds room", () => {
  const told = new Told()
  const long = { ordinal: 0, account: 1, kind: "signed_in", sequence: 2, atEpochMs: 3, credentialId: "", remoteAddress: "" } as const
  told.note({ ...long, detail: "ä".repeat(100_000) })
  expect(decode(told.copied()).notes[0]!.detail).toHaveLength(100_000)
})
