/**
 * A venue on an older copy of its journal, whose ledger has paid a withdrawal at a time that is before the withdrawal's request: because
 * the ledger's clock is behind, or the venue's ran ahead, or the payment is a lost withdrawal's with the same id.
 */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { memoryDisk } from "../../scripts/fixtures/MemoryDisk.js"
import * as SimDisk from "../../sim/world/SimDisk.js"
import type { Transport } from "../../src/ledger/Transport.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 60_000_000

/** A ledger that tells earlier times. */
const behind = (byMs: () => number) => (transport: Transport): Transport => (question) =>
  Effect.map(transport(question), (reply) => ({
    ...reply,
    body: JSON.parse(JSON.stringify(reply.body ?? null),
      (name, value) => name === "recordTime" && typeof value === "string" ? new Date(Date.parse(value) - byMs()).toISOString() : value)
  }))

type Files = ReturnType<typeof memoryDisk>["read"]

/** A withdrawal that was requested in the copy, and paid in the time that is lost; `over`: a disk with the copy. */
const paid = async (ledgerBehindMs: number, setBackMs: number, over = (copy: ReturnType<Files>) => memoryDisk(copy).layer) => {
  const bank = await Bank.open()
  const owner = await Owner.funded(bank, 200_000_000)
  let behindMs = 0
  await bank.restartOver(behind(() => behindMs))
  await bank.venue.leap(120_000)
  if (setBackMs > 0) {
    await bank.venue.leap(setBackMs)
    // A record in the time ahead: the journal's time stands still there.
    await owner.signIn()
    bank.venue.setBack(setBackMs)
    await bank.restart()
  }
  const id = await owner.request("withdrawal", amountAtoms, await owner.party)
  await bank.venue.stop()
  const copy = bank.disk.read()
  await bank.goOnOver({ disk: memoryDisk(copy).layer }, bank.venue.epochMs)
  expect(await owner.confirm("withdrawal", id)).toBe("ledger_confirmed")
  await bank.venue.stop()
  behindMs = ledgerBehindMs
  await bank.goOnOver({ disk: over(copy) }, bank.venue.epochMs + 60_000)
  await bank.venue.leap(60_000)
  return { bank, id, owner }
}

test.each([
  ["the ledger's clock is a minute behind", 60_000, 0],
  ["the venue's clock had run five minutes ahead", 0, 300_000]
])("it is done where %s", async (_, ledgerBehindMs, setBackMs) => {
  const { bank, id, owner } = await paid(ledgerBehindMs, setBackMs)
  expect((await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).status).toBe("ledger_confirmed")
  expect(await owner.collateralAtoms).toBe(200_000_000 - amountAtoms)
  expect(await bank.reconcile()).toMatchObject({ unattributedAtoms: "0", withdrawalsStopped: false })
  await bank.venue.stop()
})

/** What is told of withdrawals. */
const standing = async (bank: Bank): Promise<string> => (await bank.venue.ask("GET", "/readyz")).json.details.withdrawals

test("one that was paid long before its request is never paid again: it ends, and withdrawals stop", async () => {
  const { bank, id, owner } = await paid(1_200_000, 0)
  expect(await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).toMatchObject({
    status: "rejected",
    ledgerOutcome: { guard: "accepted_before_request" }
  })
  expect(await standing(bank)).toBe(`stopped: contradiction, differs by ${-amountAtoms} atoms`)
  expect(await owner.collateralAtoms).toBe(200_000_000)
  const alarms = bank.said.filter((line) => line.includes(`${id}: an acceptance of its treasury_withdrawal`))
  expect(alarms).toEqual([
    expect.stringMatching(/alarm: .* in update \S+ at \d+, is from long before its request: \d+\.000000 USDC of acc_/)
  ])
  expect(alarms[0]).toContain(`${amountAtoms / 1_000_000}.000000 USDC of ${owner.accountId}`)
  const request = { asset: "USDC", amountAtoms: String(amountAtoms), destinationPartyId: await owner.party }
  const again = await owner.ask("POST", "/v1/accounts/{account}/withdrawals", request, "again")
  expect(again).toMatchObject({ status: 422, json: { rejectionGuard: "withdrawals_stopped" } })
  await bank.venue.stop()
})

test("so it does where the venue ends between any two of the records of that", async () => {
  /** What is on the disk as the record that ends the withdrawal is about to be written, and as the next one is. */
  const cut: Array<ReturnType<Files>> = []
  const { bank, id, owner } = await paid(1_200_000, 0, (copy) => {
    let isBegun = false
    const disk = SimDisk.make({
      random: () => 0,
      inject: ({ bytes, operation }) => {
        if (operation !== "writeAt" || cut.length === 2) return undefined
        isBegun ||= Buffer.from(bytes!).includes("accepted_before_request")
        if (isBegun) cut.push(read())
        return undefined
      }
    })
    const read = () => disk.files().filter((file) => file.startsWith("journal/")).map((file) => [file.slice(8), disk.bytes(file)] as const)
    for (const [name, bytes] of copy) disk.create(`journal/${name}`, bytes)
    return disk.mount()
  })
  expect(cut).toHaveLength(2)
  for (const files of cut) {
    await bank.venue.stop()
    await bank.goOnOver({ disk: memoryDisk(files).layer }, bank.venue.epochMs + 60_000)
    expect(await standing(bank)).toContain("stopped: contradiction")
    await bank.venue.leap(60_000)
    expect(await owner.must("GET", `/v1/accounts/{account}/withdrawals/${id}`)).toMatchObject({ status: "rejected" })
    expect(await owner.collateralAtoms).toBe(200_000_000)
  }
  await bank.venue.stop()
})
