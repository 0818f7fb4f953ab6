/** The funding that an account paid and received, over the real engine. `ask` checks every schema. */
import { expect, test } from "vitest"
import { parameters, patient } from "../engine/drive.js"
import { LiveVenue } from "./LiveVenue.js"

const marketId = "BBB-USDC-PERP"
const intervalMs = 60_000

/** Alice is long 3.000 and Bob short 3.000, in a market whose funding is paid every minute. */
const make = async () => {
  const venue = LiveVenue.make()
  venue.market(parameters("BBB", { ...patient, fundingCapE9: 40_000_000, fundingIntervalMs: intervalMs, impactNotionalAtoms: 1 }))
  const [alice, bob] = await venue.traders(2)
  await venue.place(bob!, { marketId, side: "sell", quantity: "3.000" })
  await venue.place(alice!, { marketId, side: "buy", quantity: "3.000" })
  const toEnd = () => {
    const end = venue.atEpochMs - (venue.atEpochMs % intervalMs) + intervalMs
    for (; venue.atEpochMs < end; venue.atEpochMs += 1_000) venue.send({ kind: "MarkTick" })
    venue.send({ kind: "MarkTick" })
    return end
  }
  return { alice: alice!, bob: bob!, toEnd, venue }
}

const target = (accountId: string, query = "") => `/v1/accounts/${accountId}/funding-payments${query}`

test("payments are told newest first, what is received as less than nothing", async () => {
  const { alice, bob, toEnd, venue } = await make()
  expect(await venue.read(alice, target(alice.accountId))).toMatchObject({ payments: [] })
  toEnd()
  const first = toEnd()
  const second = toEnd()
  const told = await venue.read(alice, target(alice.accountId))
  expect(told).toMatchObject({ version: "external-funding-payment-list/v1", accountId: alice.accountId })
  expect(told.journalSequence).toBe(venue.engine.sequence)
  // With an empty book the mark is the index. The rate is 0.01 % per 8 hours: 62.5 money atoms for 3.000 at 100.0 in a minute.
  expect(told.payments.slice(0, 2)).toEqual([second, first].map((endedAtEpochMs) => ({
    marketId,
    endedAtEpochMs,
    intervalMs,
    side: "long",
    quantity: "3.000",
    quantityAtoms: "3000",
    indexPrice: "100.0",
    indexPriceAtoms: "1000",
    fundingRate8hE9: "100000",
    paid: "0.000063",
    paidAtoms: "63",
    occurredAtEpochMs: endedAtEpochMs,
    sequence: expect.any(Number)
  })))
  const received = await venue.read(bob, target(bob.accountId, "?limit=1"))
  expect(received.payments).toMatchObject([{ endedAtEpochMs: second, side: "short", quantityAtoms: "3000", paidAtoms: "-62" }])
  const [position] = (await venue.read(alice, `/v1/accounts/${alice.accountId}/positions`)).positions
  const sum = told.payments.reduce((total: number, { paidAtoms }: { readonly paidAtoms: string }) => total + Number(paidAtoms), 0)
  expect(position.fundingPaidAtoms).toBe(String(sum))
  expect((await venue.read(alice, target(alice.accountId, `?since=${second}`))).payments).toHaveLength(1)
})

test("nobody reads another's", async () => {
  const { alice, bob, venue } = await make()
  const response = await venue.ask({ target: target(bob.accountId), key: alice.key })
  expect(response.status).toBe(404)
})
