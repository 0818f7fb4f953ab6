/** Transfers that only an operator can settle: what he is told of them and for how long, and that nothing else waits with them. */
import { describe, expect, test } from "vitest"
import { Bank, Owner } from "./Bank.js"

const details = async (bank: Bank) => (await bank.venue.ask("GET", "/readyz")).json.details

test("a step whose completions are pruned stops, and the books are compared all the same", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const id = await owner.request("withdrawal", 60_000_000, await owner.party)
  await bank.script([{ on: "execute", step: "treasury_withdrawal", skip: 0, times: 1_000, fault: { name: "drop_request" } }])
  await owner.turn("withdrawal", id, [])
  await bank.give(await owner.party, 1_000_000)
  await bank.script([{ on: "ledger_end", skip: 0, times: 1, fault: { name: "prune" } }])
  await bank.restart()
  await bank.venue.leap(60_000)
  expect(await details(bank)).toMatchObject({ ledger: "live", transfersForTheOperator: `${id}: completions_pruned` })
  expect(bank.said.filter((line) => line.includes("some may be of open steps, which wait for an operator"))).toHaveLength(1)
  const other = await Owner.funded(bank, 90_000_000)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.take(40_000_000)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "-40000000", withdrawalsStopped: true })
  const request = { asset: "USDC", amountAtoms: "10000000", destinationPartyId: await owner.party }
  expect(await other.ask("POST", "/v1/accounts/{account}/withdrawals", request, "another")).toMatchObject({
    status: 422,
    json: { rejectionGuard: "withdrawals_stopped" }
  })
  expect(await details(bank)).toMatchObject({ transfersForTheOperator: `${id}: completions_pruned` })
  await bank.venue.stop()
})
