/** Planned commands: which account or transfer they belong to, and that their ids never change. */
import { Either, Schema } from "effect"
import { describe, expect, test } from "vitest"
import { custody as custodyOf } from "../../src/ledger/development/Setting.js"
import { commandId, Facts, plan } from "../../src/ledger/Planned.js"
import { key } from "./Keys.js"

const owner = key("owner").party("owner")
const other = key("other").party("owner")
const custody = custodyOf({ environment: "development", userId: "perpetuum", treasury: key("treasury").party("treasury") })

describe("a command's id", () => {
  const account: Facts = { step: "owner_account_acceptance", accountId: "acc_1", owner, isChange: false }
  const offer: Facts = { step: "treasury_offer", transferId: "dep_1", owner, amountAtoms: 1 }

  test("is fixed for good", () => {
    // These ids are on ledgers already: another id would be another command.
    expect(commandId("development", offer)).toBe("cmd_a25f2f2b4c85c37d6c906eed47ec5b117ff570b1c01462c9afabaa53c0bb2cc3")
  })

  test("is of the transfer and the step, not of the amount or the party", () => {
    expect(commandId("development", { ...offer, amountAtoms: 2, owner: other })).toBe(commandId("development", offer))
    const ids = [
      commandId("development", offer),
      commandId("production", offer),
      commandId("development", { ...offer, transferId: "dep_2" }),
      commandId("development", { ...offer, step: "owner_offer_acceptance" }),
      commandId("development", { ...offer, step: "treasury_offer_withdrawal" }),
      commandId("development", { step: "treasury_withdrawal", transferId: "dep_1", receiver: owner, amountAtoms: 1 })
    ]
    expect(new Set(ids).size).toBe(ids.length)
  })

  test("of an account's first acceptance is of the account alone, of a change also of the new party", () => {
    expect(commandId("development", { ...account, owner: other })).toBe(commandId("development", account))
    const change: Facts = { ...account, isChange: true }
    expect(commandId("development", change)).not.toBe(commandId("development", account))
    expect(commandId("development", { ...change, owner: other })).not.toBe(commandId("development", change))
  })
})

test("each step is acted by the party that gives, offers or opens", () => {
  const actors = (["treasury_offer", "owner_offer_acceptance", "treasury_offer_withdrawal"] as const).map((step) =>
    plan(custody, { step, transferId: "dep_1", owner, amountAtoms: 1 }).actAs
  )
  expect(actors).toStrictEqual([custody.treasury, owner, custody.treasury])
  expect(plan(custody, { step: "treasury_withdrawal", transferId: "wdr_1", receiver: owner, amountAtoms: 1 }).actAs).toBe(custody.treasury)
})

test("facts that come from elsewhere are read strictly", () => {
  const read = Schema.decodeUnknownEither(Facts, { onExcessProperty: "error" })
  const sound = { step: "treasury_offer", transferId: "dep_1", owner, amountAtoms: 1 }
  expect(Either.isRight(read(sound))).toBe(true)
  for (
    const other of [{ amountAtoms: 0 }, { amountAtoms: 1.5 }, { owner: "owner" }, { transferId: "" }, { step: "treasury_gift" }, {
      receiver: owner
    }]
  ) {
    expect(Either.isLeft(read({ ...sound, ...other }))).toBe(true)
  }
})
