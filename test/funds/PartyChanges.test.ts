/** Changes of an account's party that come to nothing: however many there are, the next one still gets a key. */
import { expect, test } from "vitest"
import { referenceAfter } from "../../src/funds/Preparing.js"
import { Bank, Owner } from "./Bank.js"

const target = "/v1/accounts/{account}/ledger-party"

/** Requests a change. A restarted venue numbers its keys from the first again, so each change has a key of its own. */
const put = async (owner: Owner, key: string): Promise<void> => {
  expect(await owner.ask("PUT", target, undefined, key)).toMatchObject({ status: 200, json: { status: "bound" } })
}

/** The new party of a change, once its approval is requested. */
const begin = async (owner: Owner, key: string): Promise<string> => {
  await put(owner, key)
  expect(await owner.must("POST", `${target}/confirm`, { action: "initiate" })).toMatchObject({ status: "approval_required" })
  return (await owner.must("GET", target)).change.partyId
}

const confirm = async (bank: Bank, owner: Owner): Promise<string> => {
  for (let turn = 0; turn < 20; turn++) {
    const { challenge, signingStep, status } = await owner.must("POST", `${target}/confirm`, { action: "initiate" })
    if (status === "ledger_confirmed") return owner.party
    if (status === "approval_required") {
      await owner.must("POST", `${target}/confirm`, owner.completion({ challenge, signingStep }))
    }
    await bank.venue.leap(5_000)
  }
  throw new Error("the change is not confirmed")
}

test("a change of party takes up the party of those that were given up, before and after a start, and the next one another", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  const first = await owner.party
  const parties = new Set<string>()
  // One more than the number of keys that the signer holds for an account.
  for (let change = 0; change < 17; change++) {
    parties.add(await begin(owner, `given-up-${change}`))
    await owner.must("DELETE", target)
    if (change === 8) await bank.restart()
  }
  expect(parties.size).toBe(1)
  expect(parties).not.toContain(first)
  expect(await owner.party).toBe(first)

  await put(owner, "second")
  const second = await confirm(bank, owner)
  expect(parties).toContain(second)
  const deposit = await owner.request("deposit", 5_000_000)
  await bank.give(second, 5_000_000)
  expect(await owner.confirm("deposit", deposit)).toBe("ledger_confirmed")

  expect([first, second]).not.toContain(await begin(owner, "third"))
  const third = await confirm(bank, owner)
  expect([first, second]).not.toContain(third)
  await bank.venue.stop()
})

test("a change that was refused on the ledger is made by the next one, to the same party", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 25_000_000)
  await bank.script([{
    on: "execute",
    step: "owner_account_acceptance",
    skip: 0,
    times: 1,
    fault: { name: "refuse", code: "INCONSISTENT", cause: "no" }
  }])
  const refused = await begin(owner, "refused")
  await expect(confirm(bank, owner)).rejects.toThrow("the change is not confirmed")
  expect((await owner.must("GET", target)).change).toMatchObject({ status: "rejected" })
  expect(await begin(owner, "again")).toBe(refused)
  expect(await confirm(bank, owner)).toBe(refused)
  await bank.venue.stop()
})

test("a key is for one party that it follows, on one participant", () => {
  const references = [["a::1", "one"], ["a::1", "other"], ["b::1", "one"]].map(([party, participant]) =>
    referenceAfter(party!, participant!)
  )
  expect(new Set(references).size).toBe(3)
  for (const reference of references) expect(reference).toMatch(/^after_[0-9a-f]{16}$/)
})
