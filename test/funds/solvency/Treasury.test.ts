/** What is published while money moves on the ledger: it covers the treasury at the same moment, including a pending withdrawal. */
import { expect, test } from "vitest"
import { verifyProof, verifyPublished } from "../../../src/client/solvency/Solvency.js"
import { Bank, Owner } from "../Bank.js"

const depositAtoms = 25_000_000
const amountAtoms = 10_000_000
const nowhere = `nowhere::1220${"ab".repeat(32)}`

/** The next published statement. */
const published = async (owner: Owner) => {
  const before = await owner.ask("GET", "/v1/solvency")
  for (let tries = 0; tries < 100; tries++) {
    await owner.bank.venue.leap(10_000)
    const { json, status } = await owner.ask("GET", "/v1/solvency")
    if (status === 200 && json.journalSequence !== before.json.journalSequence) return json
  }
  throw new Error("no tree was published")
}

test("the treasury holds what is owed, also what a withdrawal has reserved, and the owner's balance is counted", async () => {
  const bank = await Bank.open()
  const owner = await Owner.open(bank)
  const id = await owner.request("deposit", depositAtoms)
  await bank.venue.leap(30_000)
  await bank.give(await owner.party, depositAtoms)
  expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
  await owner.request("withdrawal", amountAtoms, nowhere)

  const answer = await published(owner)
  expect(answer).toMatchObject({
    balancesAtoms: String(depositAtoms - amountAtoms),
    reservedAtoms: String(amountAtoms),
    creditedAtoms: "0",
    confirmedDepositsAtoms: String(depositAtoms),
    treasury: { heldAtoms: String(depositAtoms), unattributedAtoms: "0" }
  })
  const proof = await owner.must("GET", `/v1/accounts/{account}/solvency-proof?sequence=${answer.journalSequence}`)
  const nowEpochMs = answer.treasury.comparedAtEpochMs
  expect([...verifyPublished(answer, { nowEpochMs }).findings, ...verifyProof(proof, answer).findings].filter(({ holds }) => !holds))
    .toEqual([])
  expect([proof.balanceAtoms, proof.heldAtoms]).toEqual([depositAtoms - amountAtoms, amountAtoms].map(String))

  // A negative funding pool does not make up for money that the treasury lacks.
  const lacking = {
    ...answer,
    fundingPoolAtoms: "-5000000",
    confirmedWithdrawalsAtoms: "5000000",
    treasury: { ...answer.treasury, heldAtoms: String(depositAtoms - 5_000_000) }
  }
  expect(verifyPublished(lacking, { nowEpochMs }).findings.every(({ holds }) => holds)).toBe(false)
})
