/** Every change of an account's balance, and fees that an operator moves into the insurance fund. `ask` checks every schema. */
import { expect, test } from "vitest"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

interface Entry {
  readonly cause: string
  readonly marketId: string | null
  readonly amountAtoms: string
  readonly balanceAtoms: string
  readonly sequence: number
}

/** Alice buys 1.000 from Bob at 100 and sells it to him at 103. */
const traded = async () => {
  const venue = LiveVenue.make()
  const [alice, bob] = await venue.traders(2)
  await venue.place(bob!, { side: "sell", price: "100", quantity: "1.000" })
  await venue.place(alice!, { side: "buy", price: "100", quantity: "1.000" })
  await venue.place(bob!, { side: "buy", price: "103", quantity: "1.000" })
  await venue.place(alice!, { side: "sell", price: "103", quantity: "1.000" })
  return { alice: alice!, bob: bob!, venue }
}

test("every change of a balance is told with its cause, and they add up to it", async () => {
  const { alice, bob, venue } = await traded()
  for (const trader of [alice, bob]) {
    const told = await venue.read(trader, `/v1/accounts/${trader.accountId}/ledger`)
    const entries = told.entries as ReadonlyArray<Entry>
    expect(entries.map(({ cause }) => cause)).toEqual(["fee", "realized_pnl", "fee", "credit"])
    expect(entries.map((entry) => entry.marketId)).toEqual([marketId, marketId, marketId, null])
    const balance = await venue.read(trader, `/v1/accounts/${trader.accountId}/balance`)
    expect(entries[0]!.balanceAtoms).toBe(balance.collateralAtoms)
    for (const [at, { amountAtoms, balanceAtoms }] of entries.entries()) {
      expect(Number(balanceAtoms) - Number(amountAtoms)).toBe(Number(entries[at + 1]?.balanceAtoms ?? 0))
    }
  }
  const gained = (await venue.read(alice, `/v1/accounts/${alice.accountId}/ledger`)).entries[1] as Entry
  const lost = (await venue.read(bob, `/v1/accounts/${bob.accountId}/ledger`)).entries[1] as Entry
  expect([gained.amountAtoms, lost.amountAtoms]).toEqual(["3000000", "-3000000"])
})

test("it is walked by pages, and of one market", async () => {
  const { alice, venue } = await traded()
  const target = `/v1/accounts/${alice.accountId}/ledger?limit=3`
  const first = await venue.read(alice, target)
  expect(first.entries).toHaveLength(3)
  const second = await venue.read(alice, `${target}&cursor=${first.nextCursor}`)
  expect([second.entries.map(({ cause }: Entry) => cause), second.nextCursor]).toEqual([["credit"], null])
  const ofMarket = await venue.read(alice, `/v1/accounts/${alice.accountId}/ledger?marketId=${marketId}`)
  expect(ofMarket.entries).toHaveLength(3)
})

test("its cursor tells nothing of what others did, and one of before is refused", async () => {
  const { alice, bob, venue } = await traded()
  const target = `/v1/accounts/${alice.accountId}/ledger?limit=1`
  const first = await venue.read(alice, target)
  const said = (cursor: unknown): unknown => JSON.parse(Buffer.from(String(cursor), "base64url").toString("utf8"))
  expect(said(first.nextCursor)).toEqual({ kind: "entries", sequence: (first.entries[0] as Entry).sequence, place: 0 })
  const second = await venue.read(alice, `${target}&cursor=${first.nextCursor}`)
  expect(said(second.nextCursor)).toEqual({ kind: "entries", sequence: (first.entries[0] as Entry).sequence, place: 1 })
  // Bob's position within the same record differs from Alice's.
  const other = await venue.read(bob, `/v1/accounts/${bob.accountId}/ledger?limit=1&cursor=${first.nextCursor}`)
  expect(said(other.nextCursor)).toEqual(said(second.nextCursor))
  for (
    const members of [{ kind: "entries", before: 3 }, { kind: "fills", sequence: 9, place: 0 }, { kind: "entries", sequence: 9, place: -1 }]
  ) {
    const cursor = Buffer.from(JSON.stringify(members)).toString("base64url")
    const refused = await venue.ask({ target: `${target}&cursor=${cursor}`, key: alice.key })
    expect([refused.status, Fake.json(refused).recoveryActions]).toEqual([400, ["restart_from_first_page"]])
  }
})

test("nobody reads another's", async () => {
  const { alice, bob, venue } = await traded()
  const response = await venue.ask({ target: `/v1/accounts/${bob.accountId}/ledger`, key: alice.key })
  expect([response.status, Fake.json(response).code]).toEqual([404, "account_not_found"])
})

test("an operator moves collected fees into the insurance fund, and no more than there are", async () => {
  const { alice, venue } = await traded()
  const add = async (idempotencyKey: string, amount: string) => {
    const response = await venue.ask({
      target: "/v1/operator/insurance-fund",
      body: { amount },
      key: Fake.operatorToken,
      idempotencyKey
    })
    return { ...Fake.json(response), status: response.status }
  }
  const { feesAtoms, inAtoms } = { feesAtoms: venue.engine.state.fees.atoms, inAtoms: 142_100n }
  // 0.02 % and 0.05 % of both 100 and 103 USDC.
  expect(feesAtoms).toBe(inAtoms)
  expect(await add("more", "0.142101")).toMatchObject({
    status: 400,
    code: "invalid_request",
    rejectionGuard: "fees_insufficient",
    limit: "0.142100",
    nearest: "0.142100"
  })
  expect((await add("nothing", "0")).status).toBe(400)
  const added = await add("some", "0.1")
  expect(added).toMatchObject({ status: 200, operation: "add_to_insurance_fund" })
  // The repeated request adds nothing.
  expect(await add("some", "0.10")).toEqual(added)
  expect((await add("some", "0.2")).status).toBe(409)
  const fund = await venue.read(undefined, "/v1/insurance-fund")
  expect(fund).toMatchObject({
    collateral: "0.100000",
    movements: [{ cause: "collected_fees", marketId: null, amount: "0.100000", quantityChange: "0.0", sequence: added.sequence }]
  })
  expect(venue.engine.state.fees.atoms).toBe(42_100n)
  expect(
    (await venue.ask({ target: "/v1/operator/insurance-fund", body: { amount: "0.01" }, key: alice.key, idempotencyKey: "own" })).status
  )
    .toBe(401)
})
