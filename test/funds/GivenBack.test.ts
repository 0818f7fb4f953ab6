/** A participant that refuses a withdrawal for good and executes it all the same: the amount is given back, and then found to be paid. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import type { Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 60_000_000

/** While it lies, it executes what it says to have refused, and shows none of it. */
const lying = (isLying: () => boolean) => (transport: Transport): Transport => {
  let end: Effect.Effect.Success<ReturnType<Transport>> | undefined
  const refusal = { code: "INVALID_ARGUMENT", cause: "no", context: {}, errorCategory: 8, definiteAnswer: true }
  return (question) =>
    Effect.flatMap(transport(question), (reply) => {
      if (question.path.endsWith("/ledger-end")) return Effect.sync(() => isLying() ? end ?? reply : end = reply)
      if (!isLying()) return Effect.succeed(reply)
      if (question.path.endsWith("/execute")) return Effect.succeed({ status: 400, body: refusal })
      if (question.path.endsWith("/completion-by-hash")) return Effect.succeed({ status: 404, body: {} })
      return Effect.succeed(question.path.endsWith("/completions") ? { status: 200, body: [] } : reply)
    })
}

test.each([false, true])("its payment is in the log, with all that leads to it (withdrawals stopped before: %s)", async (isStopped) => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  let lies = false
  await bank.restartOver(lying(() => lies))
  await bank.venue.leap(60_000)
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  lies = true
  await owner.confirm("withdrawal", id)
  await bank.venue.leap(60_000)
  expect((await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status).toBe("rejected")
  expect(await owner.collateralAtoms).toBe(200_000_000)
  const alarms = () => bank.said.filter((line) => line.includes("alarm:"))
  expect(alarms()).toEqual([])
  if (isStopped) expect((await bank.venue.ask("PUT", "/v1/operator/withdrawals/stop")).status).toBe(200)
  lies = false
  await bank.venue.leap(60_000)
  expect(alarms()).toEqual([
    expect.stringMatching(new RegExp(
      `^alarm: treasury_withdrawal of ${id} accepted after its end in update [0-9a-f]{68} at offset \\d+: `
        + `60\\.000000 USDC of ${owner.accountId}; withdrawals are stopped \\(contradiction\\)$`
    ))
  ])
  await bank.venue.stop()
})
