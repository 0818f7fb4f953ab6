/**
 * A venue that is moved to another synchronizer of its participant while steps are under way on the first one: the second's time, which
 * passes, must not be taken for the first's.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { setting } from "../../src/ledger/development/Setting.js"
import type { Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const path = "/v1/accounts/{account}/withdrawals/confirm"
const amountAtoms = 10_000_000
const other = `other::${setting.synchronizerId.split("::")[1]}`

/** The participant is on both synchronizers: wherever it reports the time of one, it reports the other's too. */
const onBoth = (bank: Bank) => (transport: Transport): Transport => (question) => {
  const body = question.body as { readonly synchronizer?: string } | undefined
  const asked = body?.synchronizer === other ? { ...question, body: { ...body, synchronizer: setting.synchronizerId } } : question
  return Effect.map(transport(asked), (reply) => {
    const time = { synchronizerId: other, recordTime: new Date(bank.venue.epochMs).toISOString() }
    const text = JSON.stringify(reply.body) ?? ""
    const told = text.replaceAll(/("synchronizerTimes":\[)/g, (found) => `${found}${JSON.stringify(time)},`)
    return text === "" ? reply : { ...reply, body: JSON.parse(told) }
  })
}

/** An approved withdrawal that the first synchronizer takes, and reports only after `afterMs`. */
const stalled = async (afterMs: number, on: "approved" | "prepared" = "approved") => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  await bank.script([{ on: "execute", step: "treasury_withdrawal", skip: 0, times: 1, fault: { name: "complete_after", afterMs } }])
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  const begun = await owner.must("POST", path, { action: "initiate", withdrawalId: id })
  if (on === "approved") await owner.must("POST", path, { withdrawalId: id, ...owner.completion(begun) })
  await bank.venue.leap(20_000)
  return { bank, owner, id }
}

const statusOf = async (owner: Owner, id: string) => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status

const stoppedIn = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details.transfersForTheOperator

test("another synchronizer's time ends no step that was executed, and its acceptance is heard of all the same", async () => {
  const { bank, id, owner } = await stalled(2_400_000)
  expect(await statusOf(owner, id)).toBe("submitted")
  await bank.restartOver(onBoth(bank), other)
  await bank.venue.leap(700_000)
  expect(await statusOf(owner, id)).toBe("submitted")
  expect(await stoppedIn(bank)).toBe(`${id}: synchronizer_changed`)
  await owner.signIn()
  expect(await owner.must("POST", path, { action: "initiate", withdrawalId: id })).toMatchObject({ status: "submitted" })
  await owner.ask("DELETE", `/v1/accounts/{account}/withdrawals/${id}`)
  expect(await statusOf(owner, id)).toBe("submitted")
  await bank.venue.leap(2_400_000, 5_000)
  expect(await statusOf(owner, id)).toBe("ledger_confirmed")
  expect(await owner.collateralAtoms).toBe(25_000_000 - amountAtoms)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.venue.stop()
})

test("a step that stopped for another synchronizer goes on once the setting is what it was", async () => {
  const { bank, id, owner } = await stalled(60_000, "prepared")
  await bank.restartOver(onBoth(bank), other)
  // The owner is not asked to approve a step that could not continue.
  await owner.signIn()
  expect(await owner.ask("POST", path, { action: "initiate", withdrawalId: id })).toMatchObject({ status: 503, json: { retryable: false } })
  expect(await stoppedIn(bank)).toBe(`${id}: synchronizer_changed`)
  await bank.restartOver(onBoth(bank))
  expect(await stoppedIn(bank)).toBe("")
  await owner.signIn()
  expect(await owner.confirm("withdrawal", id)).toBe("ledger_confirmed")
  await bank.venue.stop()
})

test("an approved step is not executed on another synchronizer's behalf, and its transfer is not rejected for it", async () => {
  const { bank, id, owner } = await stalled(0, "prepared")
  await bank.script([{ on: "execute", skip: 0, times: 1_000, fault: { name: "drop_request" } }])
  bank.signerFails = true
  const begun = await owner.must("POST", path, { action: "initiate", withdrawalId: id })
  await owner.ask("POST", path, { withdrawalId: id, ...owner.completion(begun) })
  bank.signerFails = false
  await bank.restartOver(onBoth(bank), other)
  await bank.venue.leap(60_000)
  expect(await stoppedIn(bank)).toBe(`${id}: synchronizer_changed`)
  await bank.script([])
  await bank.restartOver(onBoth(bank))
  await bank.venue.leap(60_000)
  expect(await statusOf(owner, id)).toBe("ledger_confirmed")
  await bank.venue.stop()
})

test("a start warns of open transfers whose step is bound elsewhere", async () => {
  const { bank, id } = await stalled(2_400_000)
  await bank.restartOver(onBoth(bank), other)
  expect(await stoppedIn(bank)).toBe(`${id}: synchronizer_changed`)
  const warned = bank.said.filter((line) => line.includes("bound elsewhere"))
  expect(warned).toHaveLength(1)
  expect(warned[0]).toContain(
    `1; ${id}: stopped (synchronizer_changed): the step is bound to ${setting.synchronizerId}, and not to ${other}`
  )
  await bank.venue.stop()
})
