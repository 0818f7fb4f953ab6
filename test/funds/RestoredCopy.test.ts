/** A venue that is started on an older copy of its journal, beside a ledger and a signer that have gone on. */
import { describe, expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import { Bank, Owner } from "./Bank.js"

/** Takes the copy, lives through what is lost, and then starts on the copy; what starts once more on what has become of it. */
const restored = async (bank: Bank, lost: () => Promise<void>): Promise<() => Promise<void>> => {
  await bank.venue.stop()
  const copy = bank.disk.read()
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs)
  await lost()
  const { layer } = memoryDisk(copy)
  const restart = async () => {
    await bank.venue.stop()
    await bank.goOnOver({ disk: layer }, bank.venue.epochMs + 60_000)
  }
  await restart()
  return restart
}

/** A record more in the life that is lost, as the other one has since it begins later: what is next has the same id in both. */
const oneRecordMore = async (owner: Owner): Promise<void> => {
  const { token } = owner
  await owner.signIn()
  owner.token = token
}

const kept = (owner: Owner, kind: "deposit" | "withdrawal", id: string) => owner.must("GET", `/v1/accounts/{account}/${kind}s/${id}`)

describe("transfers that were open in the copy and done in the time that is lost", () => {
  /** A withdrawal, a deposit whose offer is made, and one that was requested and no more; all of them are done in the lost time. */
  const scene = async (isAsked: boolean) => {
    const bank = await Bank.open()
    const payer = await Owner.funded(bank, 200_000_000)
    const depositor = await Owner.funded(bank, 100_000_000)
    await bank.give(await depositor.party, 50_000_000)
    await bank.give(await payer.party, 7_000_000)
    const withdrawal = await payer.request("withdrawal", 60_000_000, await payer.party)
    const begun = await payer.request("deposit", 7_000_000)
    const offered = await depositor.request("deposit", 50_000_000)
    const approvals: Array<string> = []
    while (approvals.length < 1) {
      await depositor.turn("deposit", offered, approvals)
      await bank.venue.leap(10_000, 2_500)
    }
    await bank.venue.leap(20_000)
    const ask = (owner: Owner, kind: "deposit" | "withdrawal", id: string) =>
      owner.ask("POST", `/v1/accounts/{account}/${kind}s/confirm`, { action: "initiate", [`${kind}Id`]: id })
    if (isAsked) {
      await ask(payer, "withdrawal", withdrawal)
      await ask(depositor, "deposit", offered)
    }
    await restored(bank, async () => {
      expect(await payer.confirm("withdrawal", withdrawal)).toBe("ledger_confirmed")
      expect(await payer.confirm("deposit", begun)).toBe("ledger_confirmed")
      expect(await depositor.confirm("deposit", offered)).toBe("ledger_confirmed")
    })
    return { ask, bank, begun, depositor, offered, payer, withdrawal }
  }

  test.each([["before", false], ["after", true]])("are done, where the copy was made %s the step was prepared", async (_, isAsked) => {
    const { ask, bank, begun, depositor, offered, payer, withdrawal } = await scene(isAsked)
    // Whoever asks at once is not asked to approve once more what the venue is about to learn.
    const first = await ask(payer, "withdrawal", withdrawal)
    if (!isAsked) expect(first).toMatchObject({ status: 200, json: { status: "ledger_confirmed" } })
    await bank.venue.leap(60_000)
    expect(await kept(payer, "withdrawal", withdrawal)).toMatchObject({ status: "ledger_confirmed" })
    expect(await kept(payer, "deposit", begun)).toMatchObject({ status: "ledger_confirmed" })
    expect(await kept(depositor, "deposit", offered)).toMatchObject({ status: "ledger_confirmed" })
    expect(await payer.collateralAtoms).toBe(147_000_000)
    expect(await depositor.collateralAtoms).toBe(150_000_000)
    expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
    expect(bank.said.filter((line) => line.includes(`${withdrawal}: the ledger has done its treasury_withdrawal`))).toHaveLength(
      isAsked ? 0 : 1
    )
    await bank.venue.stop()
  })
})

test("a new withdrawal with the id of a lost one is not done by the lost one's payment", async () => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  const request = async () => owner.request("withdrawal", 60_000_000, await owner.party)
  const lost = { id: "" }
  const restart = await restored(bank, async () => {
    await oneRecordMore(owner)
    lost.id = await request()
    expect(await owner.confirm("withdrawal", lost.id)).toBe("ledger_confirmed")
  })
  const id = await request()
  expect(id).toBe(lost.id)
  await bank.venue.leap(60_000)
  await restart()
  await bank.venue.leap(60_000)
  expect(await kept(owner, "withdrawal", id)).toMatchObject({ status: "requested" })
  await bank.venue.stop()
})

test("a new account with the id of a lost one stops, and says why, until the signer has put the lost one's record away", async () => {
  const bank = await Bank.open()
  const first = await Owner.funded(bank, 100_000_000)
  const lost = { accountId: "" }
  const restart = await restored(bank, async () => {
    await oneRecordMore(first)
    const owner = await Owner.open(bank)
    await owner.request("deposit", 50_000_000)
    await bank.venue.leap(30_000)
    expect(await owner.party).not.toBeNull()
    lost.accountId = owner.accountId
  })
  const owner = await Owner.open(bank)
  expect(owner.accountId).toBe(lost.accountId)
  const depositId = await owner.request("deposit", 20_000_000)
  await bank.venue.leap(60_000)
  expect((await bank.venue.ask("GET", "/readyz")).json.details.transfersForTheOperator).toBe(`${depositId}: passkeys_not_pinned`)

  const records = new Map(bank.signersRecords)
  records.delete(owner.accountId)
  bank.signersRecords = records
  await restart()
  await bank.venue.leap(30_000)
  await bank.give(await owner.party, 20_000_000)
  expect(await owner.confirm("deposit", depositId)).toBe("ledger_confirmed")
  await bank.venue.stop()
})
