/**
 * A venue on an older copy of its journal, whose ledger has paid a withdrawal at a time that is before the withdrawal's request: because
 * the ledger's clock is behind, or the venue's ran ahead, or the payment is a lost withdrawal's with the same id.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import type { Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 60_000_000

/** A ledger that tells earlier times. */
const behind = (byMs: () => number) => (transport: Transport): Transport => (question) =>
  Effect.map(transport(question), (reply) => ({
    ...reply,
    body: JSON.parse(JSON.stringify(reply.body ?? null),
      (name, value) => name === "recordTime" && typeof value === "string" ? new Date(Date.parse(value) - byMs()).toISOString() : value)
  }))

/** A withdrawal that was requested in the copy, and paid in the time that is lost. */
const paid = async (ledgerBehindMs: number, setBackMs: number) => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  let behindMs = 0
  await bank.restartOver(behind(() => behindMs))
  await bank.venue.leap(120_000)
  if (setBackMs > 0) {
    await bank.venue.leap(setBackMs)
    // A record in the time ahead: the journal's time stands still there.
    await owner.signIn()
    bank.venue.setBack(setBackMs)
    await bank.restart()
  }
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  await bank.venue.stop()
  const copy = bank.disk.read()
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs)
  expect(await owner.confirm("withdrawal", id)).toBe("ledger_confirmed")
  await bank.venue.stop()
  behindMs = ledgerBehindMs
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs + 60_000)
  await bank.venue.leap(60_000)
  return { bank, id, owner }
}

test.each([
  ["the ledger's clock is a minute behind", 60_000, 0],
  ["the venue's clock had run five minutes ahead", 0, 300_000]
])("it is done where %s", async (_, ledgerBehindMs, setBackMs) => {
  const { bank, id, owner } = await paid(ledgerBehindMs, setBackMs)
  expect((await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status).toBe("ledger_confirmed")
  expect(await owner.collateralAtoms).toBe(200_000_000 - amountAtoms)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.venue.stop()
})

test("one that was paid long before its request is never paid again: it ends, and withdrawals stop", async () => {
  const { bank, id, owner } = await paid(1_200_000, 0)
  expect(await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).toMatchObject({
    status: "rejected",
    ledgerOutcome: { guard: "accepted_before_request" }
  })
  const { details } = (await bank.venue.ask("GET", "/readyz")).json
  expect(details).toMatchObject({ withdrawals: `stopped: contradiction, differs by ${-amountAtoms} atoms`, ledgerAlarms: 1 })
  expect(bank.said.filter((line) => line.includes(`${id}: an acceptance of its treasury_withdrawal`))).toHaveLength(1)
  const request = { asset: "USDC", amountAtoms: String(amountAtoms), destinationPartyId: await owner.party }
  const again = await owner.ask("POST", "/v1/accounts/{account}/withdrawals", request, "again")
  expect(again).toMatchObject({ status: 422, json: { rejectionGuard: "withdrawals_stopped" } })
  await bank.venue.stop()
})
