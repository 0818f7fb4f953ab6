import { describe, expect, it } from "vitest"
import type { Answer } from "../../scripts/tape/Lane.js"
import * as Settlement from "../../scripts/tape/Settlement.js"
import type { Call } from "../../scripts/tape/Venue.js"

const accounts = ["acc_a", "acc_b"].map((accountId) => ({ accountId, apiKey: `key of ${accountId}` }))

interface Held {
  readonly equityAtoms: string
  readonly position?: readonly ["long" | "short", string]
}

/** A venue that tells of two accounts what it is given. */
const venue = (held: readonly [Held, Held]) => ({
  ask: (call: Call): Promise<Answer> => {
    const index = accounts.findIndex(({ accountId }) => call.path.includes(accountId))
    const { equityAtoms, position } = held[index]!
    const positions = position === undefined ? [] : [{ marketId: "X-USDC-PERP", side: position[0], quantityAtoms: position[1] }]
    const body = call.path.endsWith("/balance") ? { equityAtoms } : { positions }
    return Promise.resolve({ status: call.bearer === accounts[index]!.apiKey ? 200 : 401, body: JSON.stringify(body) })
  }
})

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
  const tally = { count: 3, makerFeeAtoms: 20n, takerFeeAtoms: 50n }
  const settle = (one: Held, other: Held) => Settlement.settle(venue([one, other]), accounts, 2_000n, tally)

  it("adds up where positions cancel out and only fees and rounding are gone", async () => {
    const { money, problems } = await settle(
      { equityAtoms: "2100", position: ["long", "9007199254"] },
      { equityAtoms: "-176", position: ["short", "9007199254"] }
    )
    expect(problems).toEqual([])
    expect(money).toEqual({
      positionsSumAtoms: 0,
      openPositions: 2,
      depositedAtoms: "2000",
      equityAtoms: "1924",
      feesAtoms: "70",
      roundingAtoms: "6"
    })
  })

  it.each([
    ["positions that do not cancel out", { equityAtoms: "1930", position: ["long", "5"] }, { equityAtoms: "0" }, /sum to 5 size atoms/],
    ["money from nowhere", { equityAtoms: "1931" }, { equityAtoms: "0" }, /-1 are unaccounted for/],
    ["money gone beyond rounding", { equityAtoms: "1923" }, { equityAtoms: "0" }, /7 are unaccounted for/]
  ] satisfies ReadonlyArray<[string, Held, Held, RegExp]>)("finds %s", async (_, one, other, problem) => {
    const { problems } = await settle(one, other)
    expect(problems).toHaveLength(1)
    expect(problems[0]).toMatch(problem)
  })
})
