/** The numbers in declarations on which journals, tables and clients rely, written out: changing one of them is an error. */
import { describe, expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { noFingerprint } from "../../src/operations/Fingerprint.js"
import type { Shape } from "../../src/operations/Field.js"
import { Principal } from "../../src/operations/Header.js"
import type { StepName } from "../../src/operations/funds/Transfers.js"
import { all, allOutcomes, type Command, declarations, Operation, refusalOf, shareOf } from "../../src/operations/Operations.js"
import * as Outcome from "../../src/operations/Outcome.js"
import { complete } from "../engine/commands.js"

describe("what journals hold", () => {
  test("principals have the codes that they always had", () => {
    expect(Principal).toMatchObject({ venue: 1, timer: 2, feed: 3, operator: 4, key: 5, session: 6, ledger: 7 })
  })

  test("operations that came with display handles have theirs", () => {
    expect(declarations.SetDisplayHandle.code).toBe(16)
    expect(Operation.setDisplayHandleV1).toBe(13)
  })

  test("outcomes have theirs, beside the refusal", () => {
    expect(Outcome.refusedCode).toBe(1)
    expect(Object.fromEntries(allOutcomes.map(({ code, tag }) => [tag, code]))).toMatchObject({
      OrderDecided: 2,
      Done: 3,
      OrdersCanceled: 4,
      MarketChanged: 5,
      AccountOpened: 6
    })
  })

  test("a command without a key has the fingerprint of nothing", () => {
    expect(noFingerprint).toEqual({ a: 0, b: 0, c: 0, d: 0 })
  })
})

describe("lists", () => {
  const bounds: ReadonlyArray<readonly [kind: keyof typeof declarations, field: string, most: number, names: ReadonlyArray<string>]> = [
    ["PlaceOrders", "entries", 32, ["market", "side", "quantityAtoms", "reduceOnly"]],
    ["CancelOrders", "entries", 24, ["market", "orderNumber"]],
    ["OpenDemoAccounts", "keys", 32, ["scopes", "expiresAtEpochMs"]]
  ]
  test.each(bounds)("%s takes at most its bound of %s, and declares what is in one", (kind, field, most, names) => {
    const { shape } = (declarations[kind].fields as Readonly<Record<string, { readonly shape: Shape }>>)[field]!
    if (shape.type !== "list") throw new Error(`${field} is no list`)
    expect(shape.most).toBe(most)
    expect(Object.keys(shape.fields)).toEqual(expect.arrayContaining([...names]))
  })

  test("an empty one has nothing declared in it that is no field", () => {
    for (const { fields } of all) {
      for (const { shape } of Object.values(fields)) {
        if (shape.type !== "list") continue
        expect(Number.isSafeInteger(shape.most) && shape.most >= 1).toBe(true)
        expect(Object.keys(shape.fields).length).toBeGreaterThan(0)
      }
    }
  })
})

describe("whose room a command takes", () => {
  const place = (...reduceOnly: ReadonlyArray<boolean>): Command =>
    complete({ kind: "PlaceOrders", entries: reduceOnly.map((each) => ({ reduceOnly: each })) } as never)
  const price = (
    principal: Principal
  ): Command => ({ ...complete({ kind: "SetIndexPrice", market: 0, priceAtoms: 1 } as never), principal } as Command)
  const ofStep = (kind: "ApproveStep" | "PrepareStep" | "BeginSubmission", step: StepName): Command =>
    complete({ kind, transfer: 1, step } as never)
  const rows: ReadonlyArray<readonly [what: string, command: Command, share: string]> = [
    ["an order", place(false), "placement"],
    ["a reduce-only order", place(true), "reduction"],
    ["reduce-only orders with another among them", place(true, false, true), "placement"],
    ["only reduce-only orders", place(true, true), "reduction"],
    ["a start of the venue", complete({ kind: "StartVenue" } as never), "start"],
    ["the feed's price", price(Principal.feed), "venue"],
    ["the operator's price", price(Principal.operator), "operator"],
    ["an owner's approval of a withdrawal", ofStep("ApproveStep", "treasury_withdrawal"), "reduction"],
    ["a withdrawal as it is prepared", ofStep("PrepareStep", "treasury_withdrawal"), "payout"],
    ["a withdrawal about to be submitted", ofStep("BeginSubmission", "treasury_withdrawal"), "reduction"],
    ["an owner's approval of a deposit", ofStep("ApproveStep", "owner_offer_acceptance"), "placement"],
    ["a deposit's offer as it is prepared", ofStep("PrepareStep", "treasury_offer"), "placement"],
    ["a deposit's offer about to be submitted", ofStep("BeginSubmission", "treasury_offer"), "placement"]
  ]
  test.each(rows)("%s", (_, command, share) => {
    expect(shareOf(command)).toBe(share)
  })
})

test("what refused an entry is told of refusals, and of nothing else", () => {
  expect(refusalOf(Outcome.refused(Refusal.orderNotFound, -1))).toBe(Refusal.orderNotFound)
  expect(refusalOf(Outcome.done)).toBe(Refusal.none)
})
