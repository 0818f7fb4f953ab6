/** Deposits and the account's ledger, as a venue tells them page by page, the newest first. */
import { describe, expect, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { balanceCauses } from "../../src/engine/Reads.js"
import type { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { loadedOver } from "./Loaded.js"
import { answered, market, ScriptedVenue } from "./ScriptedVenue.js"
import * as Structures from "./Structures.js"

const hourMs = 3_600_000
const startEpochMs = 1_767_225_600_000
const at = (hours: number): number => startEpochMs + hours * hourMs

describe("of an account's money", () => {
  let venue: ScriptedVenue
  let exchange: Perpetuum

  beforeAll(async () => {
    venue = await ScriptedVenue.start()
    exchange = await loadedOver(venue)
  })

  afterAll(() => venue.stop())

  const urls = () => venue.seen.map(({ url }) => url)

  describe("deposits", () => {
    const deposit = (hours: number, status: string, more: object = {}) => ({
      version: "local-signing/v2",
      depositId: `dep_${hours}`,
      partyId: "owner::1220ab",
      asset: "USDC",
      amountAtoms: "25000001",
      status,
      createdAtEpochMs: at(hours),
      updatedAtEpochMs: at(hours) + 1,
      ...more
    })
    const deposits = [
      deposit(5, "bound", { approvedAtEpochMs: at(5) }),
      deposit(4, "ledger_confirmed"),
      deposit(3, "expired"),
      deposit(2, "rejected", { ledgerOutcome: { step: "treasury_offer", outcome: "not_executed", guard: "given_up" } }),
      deposit(1, "rejected", { ledgerOutcome: { step: "treasury_offer", outcome: "completion_refused", guard: "LOCKED" } })
    ]

    it("are told oldest first, in the library's statuses", async () => {
      venue.script(answered({ deposits, nextCursor: null }))
      const told = await exchange.fetchDeposits()
      for (const one of told) Structures.transaction(exchange, one)
      expect(told.map(({ id, status }) => [id, status])).toEqual([
        ["dep_1", "failed"],
        ["dep_2", "canceled"],
        ["dep_3", "canceled"],
        ["dep_4", "ok"],
        ["dep_5", "pending"]
      ])
      expect(told[4]).toMatchObject({
        info: deposits[0],
        type: "deposit",
        amount: 25.000001,
        currency: "USDC",
        addressFrom: "owner::1220ab",
        timestamp: at(5),
        updated: at(5) + 1
      })
      expect(urls()).toEqual(["/v1/accounts/acc_1/deposits?limit=100"])
    })

    it("are read back to a time over as many pages as that takes, and no further", async () => {
      venue.script(
        answered({ deposits: deposits.slice(0, 2), nextCursor: "c1" }),
        answered({ deposits: deposits.slice(2), nextCursor: "c2" })
      )
      expect((await exchange.fetchDeposits("USDC", at(2), 2)).map(({ id }) => id)).toEqual(["dep_2", "dep_3"])
      expect(urls()).toEqual(["", "&cursor=c1"].map((more) => `/v1/accounts/acc_1/deposits?limit=100${more}`))
      venue.script(answered({ deposits: deposits.slice(0, 2), nextCursor: "c1" }))
      expect((await exchange.fetchDeposits(undefined, undefined, 1)).map(({ id }) => id)).toEqual(["dep_5"])
      expect(urls()).toHaveLength(1)
    })

    it("are none of another currency than the venue's, and unknown ones are refused", async () => {
      venue.script()
      expect(await exchange.fetchDeposits("BTC")).toEqual([])
      await expect(exchange.fetchDeposits("XYZ")).rejects.toThrow("XYZ")
      expect(urls()).toEqual([])
    })

    it("are read one by one by their ids", async () => {
      venue.script(answered(deposits[1]!))
      const told = await exchange.fetchDeposit("dep_4")
      Structures.transaction(exchange, told)
      expect(told).toMatchObject({ id: "dep_4", status: "ok", txid: undefined })
      expect(urls()).toEqual(["/v1/accounts/acc_1/deposits/dep_4"])
    })
  })

  describe("the ledger", () => {
    const entry = (hours: number, cause: string, amount: string, balance: string, marketId: string | null = null) => ({
      cause,
      marketId,
      amount,
      balance,
      occurredAtEpochMs: at(hours),
      sequence: 100 + hours
    })
    const entries = [
      entry(3, "withdrawal_reserved", "-10.000000", "14.990000"),
      entry(2, "fee", "-0.020000", "24.990000", market.id),
      entry(2, "realized_pnl", "0.010000", "25.010000", market.id),
      entry(1, "deposit", "25.000000", "25.000000")
    ]

    it("is told oldest first, within a record too, with what the balance was and came to", async () => {
      venue.script(answered({ entries, nextCursor: null }))
      const told = await exchange.fetchLedger()
      for (const one of told) Structures.ledgerEntry(exchange, one)
      expect(told.map(({ after, amount, before, direction, type }) => [type, direction, amount, before, after])).toEqual([
        ["transaction", "in", 25, 0, 25],
        ["trade", "in", 0.01, 25, 25.01],
        ["fee", "out", 0.02, 25.01, 24.99],
        ["transaction", "out", 10, 24.99, 14.99]
      ])
      expect(told[3]).toMatchObject({ info: entries[0], account: "acc_1", currency: "USDC", timestamp: at(3) })
      expect(urls()).toEqual(["/v1/accounts/acc_1/ledger?limit=100"])
    })

    it("has one of the library's kinds for every cause", async () => {
      venue.script(answered({ entries: balanceCauses.map((cause) => entry(1, cause, "1.000000", "1.000000")), nextCursor: null }))
      const kinds = new Set((await exchange.fetchLedger()).map(({ type }) => type))
      expect([...kinds].sort()).toEqual(["fee", "trade", "transaction"])
    })

    it("is read back to a time, and of one market where it is named", async () => {
      venue.script(
        answered({ entries: entries.slice(1, 2), nextCursor: "c1" }),
        answered({ entries: entries.slice(2, 3), nextCursor: null })
      )
      const told = await exchange.fetchLedger("USDC", at(2), undefined, { marketId: market.id })
      expect(told.map(({ after }) => after)).toEqual([25.01, 24.99])
      expect(urls()).toEqual(["", "&cursor=c1"].map((more) => `/v1/accounts/acc_1/ledger?limit=100&marketId=${market.id}${more}`))
    })
  })
})
