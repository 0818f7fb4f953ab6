import { expect, test } from "vitest"
import { Bank, Owner } from "./Bank.js"

test("a first deposit", async () => {
  const bank = await Bank.open()
  const owner = await Owner.open(bank)
  const asked = await owner.must("POST", "/v1/accounts/{account}/deposits", { asset: "USDC", amountAtoms: "25000000" })
  console.log(JSON.stringify(asked, null, 1))
  const path = "/v1/accounts/{account}/deposits/confirm"
  for (let i = 0; i < 4; i++) {
    const at = await owner.must("POST", path, { action: "initiate", depositId: asked.depositId })
    console.log(JSON.stringify(at))
    if (at.deposit.partyId) await bank.give(at.deposit.partyId, 25_000_000)
    if (at.status !== "approval_required") break
    const done = await owner.must("POST", path, {
      action: "complete", depositId: asked.depositId, signingStep: at.signingStep,
      challengeIdentifier: at.challenge.challengeIdentifier, firstFactor: owner.factor(at.challenge)
    })
    console.log(JSON.stringify(done))
    await bank.venue.pass(2000)
  }
  console.log(JSON.stringify(await owner.must("GET", "/v1/accounts/{account}/balance")))
  console.log(JSON.stringify((await bank.venue.ask("GET", "/readyz")).json.details))
  expect(1).toBe(1)
})
