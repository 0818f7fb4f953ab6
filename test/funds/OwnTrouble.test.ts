/**
 * A ledger that turns away what was approved for reasons of its own, and withdrawals that are stopped before their payment was submitted:
 * nothing comes of either, and what was approved is paid once it may be.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import type { Script } from "../../src/ledger/development/Faults.js"
import { Unsent } from "../../src/ledger/Transport.js"
import * as Records from "../../src/signer/Records.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 60_000_000

const details = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details

/** What the signer has signed withdrawals for, in atoms. */
const givenAtoms = (bank: Bank): number => JSON.parse(bank.signersRecords.get(Records.treasuryName)!).givenAtoms

const turnsAway = (by: "load" | "right" | "token"): Script => [
  { on: "execute", skip: 0, times: 1_000_000, fault: { name: "refuse_for_itself", by } }
]

/** An owner with 200 USDC, and a withdrawal that waits for the owner's approval. */
const withdrawing = async (bank: Bank) => {
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  const status = async (): Promise<string> => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status
  return { id, owner, status }
}

test.each([["load", "PARTICIPANT_BACKPRESSURE"], ["right", "PERMISSION_DENIED"], ["token", "UNAUTHENTICATED"]] as const)(
  "an approved withdrawal waits while the ledger turns its payment away for its %s, and is paid once (%s)",
  async (by, code) => {
    const bank = await Bank.open()
    const { id, owner, status } = await withdrawing(bank)
    await bank.script(turnsAway(by))
    expect(await owner.turn("withdrawal", id, [])).toBe("requested")
    await bank.venue.leap(60_000)
    expect(await status()).toBe("requested")
    expect(await details(bank)).toMatchObject({ ledger: expect.stringContaining(`the ledger refused: ${code}`), openTransfers: 1 })
    expect((await bank.venue.ask("GET", "/metrics")).json).toContain("venue_ledger_reachable 0\n")
    expect(bank.said.filter((line) => line.includes(`${id} does not go on: the ledger: the ledger refused: ${code}`))).toHaveLength(1)
    await bank.restart()
    await bank.venue.leap(120_000)
    expect(await status()).toBe("requested")
    await bank.script([])
    await bank.venue.leap(120_000)
    expect(await status()).toBe("ledger_confirmed")
    expect(await owner.collateralAtoms).toBe(200_000_000 - amountAtoms)
    expect(givenAtoms(bank)).toBe(amountAtoms)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0" })
    expect(await details(bank)).toMatchObject({ ledger: "live", openTransfers: 0 })
    await bank.venue.stop()
  }
)

test("so do the steps of a deposit, and what the ledger turns away until its time is over asks for another approval", async () => {
  const bank = await Bank.open()
  const { id, owner, status } = await withdrawing(bank)
  await bank.give(await owner.party, 50_000_000)
  const deposit = await owner.request("deposit", 50_000_000)
  await bank.script(turnsAway("load"))
  await owner.turn("withdrawal", id, [])
  await owner.turn("deposit", deposit, [])
  await bank.venue.leap(1_800_000, 5_000)
  expect(await status()).toBe("requested")
  expect((await owner.must("GET", `/v1/accounts/{account}/deposits/${deposit}`)).status).toBe("bound")
  await bank.script([])
  for (const [kind, each] of [["withdrawal", id], ["deposit", deposit]] as const) {
    const approvals: Array<string> = []
    expect(await owner.confirm(kind, each, approvals)).toBe("ledger_confirmed")
    expect(approvals).toHaveLength(kind === "withdrawal" ? 1 : 2)
  }
  expect(await owner.collateralAtoms).toBe(250_000_000 - amountAtoms)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0" })
  await bank.venue.stop()
})

test("a submission of which nothing is known stays open where the ledger turns the next ones away", async () => {
  const bank = await Bank.open()
  const { id, owner, status } = await withdrawing(bank)
  await bank.script([{ on: "execute", skip: 0, times: 1, fault: { name: "drop_request" } }, ...turnsAway("load")])
  await owner.turn("withdrawal", id, [])
  await bank.venue.leap(120_000)
  expect(await status()).toBe("submitted_unknown")
  await bank.script([])
  await bank.venue.leap(120_000)
  expect(await status()).toBe("ledger_confirmed")
  expect(givenAtoms(bank)).toBe(amountAtoms)
  await bank.venue.stop()
})

test("while withdrawals are stopped, no payment is signed of which nothing was submitted, by whatever process", async () => {
  const bank = await Bank.open()
  const { id, owner, status } = await withdrawing(bank)
  const due = await owner.must("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId: id })
  await bank.script([{ on: "ledger_end", skip: 0, times: 1_000_000, fault: { name: "drop_request" } }])
  await owner.must("POST", "/v1/accounts/{account}/withdrawals/confirm", { withdrawalId: id, ...owner.completion(due) })
  expect((await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop", { idempotencyKey: "stops" })).status).toBe(200)
  await bank.script([])
  await bank.venue.leap(60_000)
  await bank.restart()
  await bank.venue.leap(60_000)
  await owner.ask("POST", "/v1/accounts/{account}/withdrawals/confirm", { action: "initiate", withdrawalId: id })
  expect(await status()).toBe("requested")
  expect(givenAtoms(bank)).toBe(0)
  expect((await bank.allow()).status).toBe(200)
  await bank.venue.leap(120_000)
  expect(await status()).toBe("ledger_confirmed")
  expect(givenAtoms(bank)).toBe(amountAtoms)
  await bank.venue.stop()
})

test("payments that a stop holds up are signed in the order of their approvals, whenever withdrawals are allowed", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  // Two payments need two holdings.
  await Owner.funded(bank, 200_000_000)
  const path = "/v1/accounts/{account}/withdrawals/confirm"
  // Nothing is signed until withdrawals are stopped, and what is asked before they are allowed may be answered behind that.
  let isAway = false
  await bank.restartOver((transport) => (question) => {
    if (!question.path.endsWith("/ledger-end")) return transport(question)
    return isAway ? Effect.fail(new Unsent("ECONNREFUSED")) : Effect.delay(transport(question), 3_000)
  })
  const statuses: Array<string> = []
  for (let moment = 0; moment < 6; moment++) {
    const ids: Array<string> = []
    const dues = []
    for (let times = 0; times < 2; times++) {
      ids.push(await owner.request("withdrawal", 1_000_000, await owner.party))
      dues.push(await owner.must("POST", path, { action: "initiate", withdrawalId: ids.at(-1) }))
    }
    isAway = true
    for (const [at, due] of dues.entries()) {
      await owner.must("POST", path, { withdrawalId: ids[at], ...owner.completion(due) })
      // The earlier one is tried more rarely then.
      await bank.venue.leap(30_000)
    }
    await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop", { idempotencyKey: `stops-${moment}` })
    isAway = false
    await bank.venue.leap(24_000 + moment * 1_000)
    await bank.allow()
    await bank.venue.leap(120_000)
    for (const id of ids) statuses.push((await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status)
  }
  expect(statuses).toEqual(statuses.map(() => "ledger_confirmed"))
  await bank.venue.stop()
})

test("a payment that the ledger may have is submitted again while withdrawals are stopped, since only the ledger can decide it", async () => {
  const bank = await Bank.open()
  const { id, owner, status } = await withdrawing(bank)
  await bank.script([{ on: "execute", skip: 0, times: 1, fault: { name: "drop_request" } }])
  await owner.turn("withdrawal", id, [])
  expect((await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop", { idempotencyKey: "stops" })).status).toBe(200)
  await bank.restart()
  await bank.venue.leap(120_000)
  expect(await status()).toBe("ledger_confirmed")
  await bank.venue.stop()
})
