/** A signer that ends, or is started with another token or directory, after the venue has reached it: it is told, also without a transfer. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as Driver from "../../src/funds/Driver.js"
import { Unsent } from "../../src/ledger/Transport.js"
import { SignerRefused, SignerUnavailable } from "../../src/signer/PartySigner.js"
import { Bank, Owner } from "./Bank.js"

const often = { ...Driver.defaults, busyMs: 4_000, idleMs: 20_000 }

const standing = async (bank: Bank) => {
  await bank.venue.leap(12_000)
  const { details } = (await bank.venue.ask("GET", "/readyz")).json
  const metrics = (await bank.venue.ask("GET", "/metrics")).text
  return { ledger: details.ledger, reachable: /^venue_ledger_reachable (.*)$/m.exec(metrics)?.[1] }
}

test.each([
  ["has another token", new SignerUnavailable({ detail: "SIGNER_TOKEN is not the one that the signer has" }),
    /SIGNER_TOKEN is not the one/],
  ["is not there", new SignerUnavailable({ detail: "it cannot be reached: ECONNREFUSED" }), /ECONNREFUSED/],
  [
    "has lost its keys",
    new SignerRefused({ reason: "unknown_key", detail: "there is none" }),
    /its directory is not the venue's, or lacks keys, and has to be restored/
  ]
])("a signer that %s is told in /readyz, by its metric and once in the log, until it answers again", async (_, fault, told) => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: often } })
  expect(await standing(bank)).toEqual({ ledger: "live", reachable: "1" })
  bank.signerFault = fault
  const said = () => bank.said.filter((line) => line.includes("the signer"))
  expect(await standing(bank)).toEqual({ ledger: expect.stringMatching(told), reachable: "0" })
  await standing(bank)
  expect(said()).toEqual([expect.stringMatching(told)])
  bank.signerFault = undefined
  expect(await standing(bank)).toEqual({ ledger: "live", reachable: "1" })
  expect(said().slice(1)).toEqual(["the signer answers again"])
  await bank.venue.stop()
})

test("a ledger that does not answer is told by the same metric", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: often } })
  expect(await standing(bank)).toEqual({ ledger: "live", reachable: "1" })
  let isDown = false
  await bank.restartOver((transport) => (question) => isDown ? Effect.fail(new Unsent("ECONNREFUSED")) : transport(question))
  expect(await standing(bank)).toEqual({ ledger: "live", reachable: "1" })
  isDown = true
  await bank.venue.leap(20_000)
  expect(await standing(bank)).toEqual({ ledger: expect.stringContaining("ECONNREFUSED"), reachable: "0" })
  isDown = false
  await bank.venue.leap(60_000)
  expect(await standing(bank)).toEqual({ ledger: "live", reachable: "1" })
  await bank.venue.stop()
})

/** An owner's withdrawal that is approved, and not signed since the signer fails at that. */
const approved = async (bank: Bank, fails: typeof bank.signerFaultAt): Promise<() => Promise<string>> => {
  const owner = await Owner.funded(bank, 10_000_000)
  bank.signerFaultAt = "sign"
  bank.signerFault = new SignerUnavailable({ detail: "it cannot write" })
  const id = await owner.request("withdrawal", 1_000_000, await owner.party)
  await bank.venue.leap(30_000)
  const approvals: Array<string> = []
  await owner.turn("withdrawal", id, approvals)
  bank.signerFaultAt = fails
  return async () => (await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status
}

test("what the signer fails at for a transfer is told, although it answers that it is there", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: often } })
  const status = await approved(bank, "sign")
  expect(await standing(bank)).toEqual({ ledger: expect.stringContaining("it cannot write"), reachable: "0" })
  bank.signerFault = undefined
  await bank.venue.leap(60_000)
  expect([await status(), (await standing(bank)).ledger]).toEqual(["ledger_confirmed", "live"])
  await bank.venue.stop()
})

test("a transfer that the signer has kept waiting for long goes on once it answers, and not a minute later", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: often } })
  const status = await approved(bank, "all")
  // After so many attempts the next one is nearly a minute away.
  await bank.venue.leap(300_000)
  const before = await status()
  bank.signerFault = undefined
  await bank.venue.leap(16_000)
  expect([before, await status()]).toEqual(["requested", "ledger_confirmed"])
  await bank.venue.stop()
})

test("what is approved and not signed yet is told to be approved, beside what is not, and is not given up", async () => {
  const bank = await Bank.open({ funds: { reconcileMs: 0, driver: often } })
  const owner = await Owner.funded(bank, 10_000_000)
  bank.signerFaultAt = "sign"
  bank.signerFault = new SignerUnavailable({ detail: "it cannot write" })
  const party = await owner.party
  const approvedAtEpochMs = expect.any(Number) as number
  const conflict = { code: "deposit_step_conflict", safeMessage: expect.stringMatching(/^It is approved already: .* cannot be given up/) }
  for (const kind of ["withdrawal", "deposit"] as const) {
    const at = `/v1/accounts/{account}/${kind}s`
    const id = await owner.request(kind, 1_000_000, ...(kind === "withdrawal" ? [party] : []))
    const other = kind === "withdrawal" ? await owner.request(kind, 1_000_000, party) : undefined
    await bank.venue.leap(30_000)
    expect(await owner.must("GET", `${at}/${id}`)).not.toHaveProperty("approvedAtEpochMs")
    await owner.turn(kind, id, [])
    const shown = await owner.must("GET", `${at}/${id}`)
    expect(shown).toMatchObject({ status: kind === "withdrawal" ? "requested" : "bound", approvedAtEpochMs })
    expect((await owner.must("POST", `${at}/confirm`, { action: "initiate", [`${kind}Id`]: id }))[kind]).toEqual(shown)
    if (other !== undefined) expect(await owner.must("GET", `${at}/${other}`)).not.toHaveProperty("approvedAtEpochMs")
    expect(await owner.ask("DELETE", `${at}/${id}`)).toMatchObject({ status: 409, json: conflict })
    bank.signerFault = undefined
    await bank.venue.leap(60_000)
    const later = await owner.must("GET", `${at}/${id}`)
    // A deposit's next step waits for an approval of its own.
    expect([later.status, later.approvedAtEpochMs]).toEqual([kind === "withdrawal" ? "ledger_confirmed" : "bound", undefined])
    expect((await owner.ask("DELETE", `${at}/${id}`)).status).toBe(kind === "withdrawal" ? 409 : 200)
    bank.signerFault = new SignerUnavailable({ detail: "it cannot write" })
  }
  await bank.venue.stop()
})
