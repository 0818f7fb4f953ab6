import { describe, expect, it } from "vitest"
import type { Fund } from "../../scripts/tape/Fund.js"
import * as Settlement from "../../scripts/tape/Settlement.js"

const accounts = ["acc_a", "acc_b"].map((accountId) => ({ accountId, apiKey: `key of ${accountId}` }))

type Position = readonly [side: "long" | "short", quantityAtoms: string, entryNotionalAtoms: string]

interface Held {
  readonly collateralAtoms: string
  readonly position?: Position
  /** The fees of its fills, newest first. */
  readonly feesAtoms?: ReadonlyArray<string>
}

const positionsOf = (position: Position | undefined) => {
  if (position === undefined) return []
  const [side, quantityAtoms, entryNotionalAtoms] = position
  return [{ marketId: "X-USDC-PERP", side, quantityAtoms, entryNotionalAtoms }]
}

const fundOf = (collateralAtoms: string, position?: Position): Fund => ({
  collateralAtoms,
  equityAtoms: collateralAtoms,
  positions: positionsOf(position),
  journalSequence: 7
})

/** Pages of one fill each, so that all of them have to be read. */
const fillsFrom = (path: string, fees: ReadonlyArray<string>) => {
  const at = Number(/cursor=(\d+)/.exec(path)?.[1] ?? 0)
  const fills = fees.slice(at, at + 1).map((feeAtoms) => ({ tradeId: `trd_${fees.length - at}`, feeAtoms }))
  return { fills, nextCursor: at + 1 < fees.length ? String(at + 1) : null }
}

/** A venue that reports the given accounts and fund; `moves`: it decides something between any two reads of the fund. */
const venue = (held: readonly [Held, Held], fund: Fund, moves = false) => {
  let sequence = fund.journalSequence
  return {
    read: <A>(path: string, bearer?: string): Promise<A> => {
      if (path.startsWith("/v1/insurance-fund")) {
        if (moves) sequence++
        return Promise.resolve({ ...fund, journalSequence: sequence } as A)
      }
      const index = accounts.findIndex(({ accountId }) => path.includes(accountId))
      if (bearer !== accounts[index]!.apiKey) return Promise.reject(new Error(`${path} is read by another`))
      const { collateralAtoms, feesAtoms = [], position } = held[index]!
      const body = path.endsWith("/balance")
        ? { collateralAtoms }
        : path.includes("/fills?")
        ? fillsFrom(path, feesAtoms)
        : { positions: positionsOf(position) }
      return Promise.resolve(body as A)
    }
  }
}

describe("a tally of fills", () => {
  it("counts money and rounds the fees of each fill and side up", () => {
    const tally = new Settlement.Tally({ marketId: "X-USDC-PERP", makerFeeBps: 2, takerFeeBps: 5 })
    // 61800.3 x 0.007 and 0.001: 432.6021 and 61.8003 USDC.
    tally.fills([{ priceAtoms: 618_003, sizeAtoms: 7 }, { priceAtoms: 618_003, sizeAtoms: 1 }])
    expect(tally).toMatchObject({ count: 2, sizeAtoms: 8, notionalAtoms: 494_402_400n })
    // 86520.42 and 12360.06 money atoms; 216301.05 and 30900.15.
    expect(tally.makerFeeAtoms).toBe(86_521n + 12_361n)
    expect(tally.takerFeeAtoms).toBe(216_302n + 30_901n)
  })
})

describe("a settlement", () => {
  const once = { attempts: 1, pauseMs: 0 }
  const settle = (one: Held, other: Held, fund = fundOf("0")) =>
    Settlement.settle(venue([one, other], fund), accounts, 2_000n, fundOf("0"), once)

  it("adds up where positions cancel out at their entries, and only fees are gone", async () => {
    const { money, problems } = await settle(
      { collateralAtoms: "2100", position: ["long", "9007199254", "5000"], feesAtoms: ["40", "5", "5"] },
      { collateralAtoms: "-176", position: ["short", "9007199254", "5006"], feesAtoms: ["20"] }
    )
    expect(problems).toEqual([])
    expect(money).toEqual({
      positionsSumAtoms: 0,
      openPositions: 2,
      depositedAtoms: "2000",
      equityAtoms: "1930",
      fundAtoms: "0",
      feesAtoms: "70",
      missingAtoms: "0"
    })
  })

  it("counts what the insurance fund has more than before, its position too", async () => {
    const before = fundOf("100", ["short", "1", "10"])
    const after = fundOf("130", ["long", "4", "900"])
    const held: readonly [Held, Held] = [{ collateralAtoms: "1000" }, { collateralAtoms: "971", position: ["short", "5", "909"] }]
    const { money, problems } = await Settlement.settle(venue(held, after), accounts, 2_000n, before, once)
    // The fund: 30 of collateral, -900 of entry, and -10 since its earlier short is gone.
    expect(money).toMatchObject({ fundAtoms: "-880", equityAtoms: "2000", positionsSumAtoms: 0, missingAtoms: "0" })
    expect(problems).toEqual([])
  })

  it.each([
    [
      "positions that do not cancel out",
      { collateralAtoms: "2005", position: ["long", "5", "5"] },
      { collateralAtoms: "0" },
      /sum to 5 size atoms/
    ],
    ["money from nowhere", { collateralAtoms: "1931", feesAtoms: ["70"] }, { collateralAtoms: "0" }, /-1 are unaccounted for/],
    ["money that is gone", { collateralAtoms: "1929", feesAtoms: ["70"] }, { collateralAtoms: "0" }, /1 are unaccounted for/]
  ] satisfies ReadonlyArray<[string, Held, Held, RegExp]>)("finds %s", async (_, one, other, problem) => {
    const { problems } = await settle(one, other)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(problem)
  })

  it("of a venue that never stands still is none", async () => {
    const moving = venue([{ collateralAtoms: "1000" }, { collateralAtoms: "1000" }], fundOf("0"), true)
    await expect(Settlement.settle(moving, accounts, 2_000n, fundOf("0"), { attempts: 3, pauseMs: 0 })).rejects.toThrow(/never stood still/)
  })
})
