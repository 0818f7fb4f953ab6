/**
 * A first deposit and a withdrawal at the real process, with its development ledger and signer, killed between any two steps: it resumes
 * where it was, and nothing happens twice. No part of an approval or a transaction is in an answer or the log.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { betweenQuestions, origin, ProcessOwner } from "./Process.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-funds-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

const start = () => VenueProcess.start(directory, { PUBLIC_ORIGIN: origin })

/** Everything the venue answered and logged. */
const told: Array<string> = []

/** Kills the venue and starts it again. */
const restart = async (owner: ProcessOwner): Promise<void> => {
  await owner.venue.kill()
  told.push(owner.venue.output)
  owner.venue = await start()
}

/** Confirms a transfer, with a kill before its first approval and after each. */
const confirm = async (owner: ProcessOwner, kind: "deposit" | "withdrawal", id: string): Promise<ReadonlyArray<string>> => {
  const target = `/v1/accounts/{account}/${kind}s/confirm`
  const named = { [`${kind}Id`]: id }
  const approvals: Array<string> = []
  for (let turn = 0; turn < 100; turn++) {
    const begun = await owner.must("POST", target, { action: "initiate", ...named })
    told.push(JSON.stringify(begun))
    if (begun.status === "ledger_confirmed") return approvals
    if (begun.status !== "approval_required") {
      await betweenQuestions()
      continue
    }
    // The open challenge is lost with the process; a new one is made for the same transaction.
    if (approvals.length === 0) await restart(owner)
    const { challenge, signingStep } = await owner.must("POST", target, { action: "initiate", ...named })
    const completion = {
      action: "complete",
      ...named,
      signingStep,
      challengeIdentifier: challenge.challengeIdentifier,
      firstFactor: owner.factor(challenge)
    }
    const done = await owner.must("POST", target, completion)
    told.push(JSON.stringify(done))
    approvals.push(signingStep)
    await restart(owner)
    // The answer may have been lost: sent again, the approval has no second effect.
    expect((await owner.ask("POST", target, completion)).status).toBe(200)
  }
  throw new Error("it came to no end")
}

test("a first deposit and a withdrawal outlive kills between all their steps", async () => {
  const owner = new ProcessOwner(await start())
  await owner.register()
  const { depositId } = await owner.must("POST", "/v1/accounts/{account}/deposits", { asset: "USDC", amountAtoms: "25000000" })
  await restart(owner)
  const target = "/v1/accounts/{account}/deposits/confirm"
  await owner.must("POST", target, { action: "initiate", depositId })
  const { partyId } = await owner.operate("POST", "/v1/operator/demo/ledger-funds", { accountId: owner.accountId, amount: "25" })
  expect(await confirm(owner, "deposit", depositId)).toEqual(["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"])
  expect(await owner.must("GET", "/v1/accounts/{account}/balance")).toMatchObject({ collateralAtoms: "25000000" })

  const { withdrawalId } = await owner.must("POST", "/v1/accounts/{account}/withdrawals", {
    asset: "USDC",
    amountAtoms: "10000000",
    destinationPartyId: partyId
  })
  expect(await confirm(owner, "withdrawal", withdrawalId)).toEqual(["treasury_withdrawal"])
  expect(await owner.must("GET", "/v1/accounts/{account}/balance")).toMatchObject({ collateralAtoms: "15000000" })
  expect(await owner.operate("POST", "/v1/operator/reconciliation")).toMatchObject({
    heldAtoms: "15000000",
    confirmedDepositsAtoms: "25000000",
    confirmedWithdrawalsAtoms: "10000000",
    unattributedAtoms: "0",
    withdrawalsStopped: false
  })
  expect(await owner.venue.stop()).toBe(0)
  told.push(owner.venue.output)
  expect(told.join("\n")).not.toMatch(/preparedTransaction|preparedTransactionHash|authenticatorData|clientDataJSON|"signature"|nonce/)
})
