/** A clock that is set back under a venue: timers go on, and the ledger is sent nothing twice because of it. */
import { describe, expect, test } from "vitest"
import type { StepView } from "../../src/funds/Facts.js"
import { isFresh, newMemory } from "../../src/funds/Performing.js"
import { Bank, Owner } from "./Bank.js"

const path = "/v1/accounts/{account}/withdrawals/confirm"
const halfAnHourMs = 1_800_000

test("what was approved is executed within a minute, and paid once", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  const id = await owner.request("withdrawal", 5_000_000, await owner.party)
  const due = await owner.must("POST", path, { action: "initiate", withdrawalId: id })
  await bank.script([{ on: "execute", skip: 0, times: 1, fault: { name: "drop_request" } }])
  expect(await owner.ask("POST", path, { withdrawalId: id, ...owner.completion(due) })).toMatchObject({
    json: { status: "submitted_unknown" }
  })
  bank.venue.setBack(halfAnHourMs)
  const status = async () => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status
  await bank.venue.leap(60_000, 1_000)
  // The ledger has the same clock, and decides the command once that has reached its former time.
  expect(await status()).toBe("submitted")
  await bank.venue.leap(halfAnHourMs, 1_000)
  expect(await status()).toBe("ledger_confirmed")
  expect(await owner.collateralAtoms).toBe(20_000_000)
  expect(await bank.reconcile()).toMatchObject({ heldAtoms: "20000000", unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.venue.stop()
})

test("who opens an account then approves withdrawals at once, as everybody by his first passkey", async () => {
  const bank = await Bank.open()
  const rich = await Owner.funded(bank, 25_000_000)
  bank.venue.setBack(halfAnHourMs)
  const owner = await Owner.open(bank)
  const credit = { accountId: owner.accountId, amount: "10" }
  await bank.venue.ask("POST", "/v1/operator/demo/credits", { body: credit, idempotencyKey: "credit" })
  const withdrawalId = await owner.request("withdrawal", 5_000_000, await rich.party)
  const due = await owner.must("POST", path, { action: "initiate", withdrawalId })
  expect(due.challenge.allowCredentials.webauthn).toEqual([{ type: "public-key", id: owner.authenticator.credentialId }])
  expect(await owner.ask("POST", path, { withdrawalId, ...owner.completion(due) })).toMatchObject({ status: 200 })
  await bank.venue.stop()
})

describe("a submission", () => {
  const now = 1_000_000
  const rows: ReadonlyArray<readonly [why: string, begun: number, executed: number | undefined, is: boolean]> = [
    ["that was just begun is fresh", now - 4_999, undefined, true],
    ["that was begun five seconds ago is not", now - 5_000, undefined, false],
    ["of a time to come is not, where nothing is remembered of it", now + halfAnHourMs, undefined, false],
    ["of a time to come is not, where it was executed before the clock was set back", now + halfAnHourMs, now + halfAnHourMs, false],
    ["of a time to come is, where it was executed just now", now + halfAnHourMs, now - 4_999, true],
    ["of a time to come is not, where it was executed five seconds ago", now + halfAnHourMs, now - 5_000, false]
  ]

  test.each(rows)("%s", (_, begunAtEpochMs, executedAtEpochMs, is) => {
    const submissions = [{ submissionId: "sub", outcome: "accepted", guard: "", begunAtEpochMs, offset: 0 }]
    expect(isFresh({ submissions } as unknown as StepView, { ...newMemory(), executedAtEpochMs }, now)).toBe(is)
  })
})
