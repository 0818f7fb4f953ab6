/** What is recorded and when, for a state set by the test: accounts below zero, funding under way, and money that moves. */
import { Effect } from "effect"
import { describe, expect, test } from "vitest"
import type { EquitiesView, Reads } from "../../../src/engine/Reads.js"
import type { Report } from "../../../src/funds/Reconciliation.js"
import { Solvency } from "../../../src/funds/solvency/Solvency.js"
import { Unreachable } from "../../../src/funds/Trouble.js"

const report = (depositedAtoms: bigint): Report => ({
  treasury: "treasury",
  atOffset: 9,
  atEpochMs: 1,
  depositedAtoms,
  withdrawnAtoms: 0n,
  uncreditedAtoms: 0n,
  pieces: 1,
  seen: 1,
  heldAtoms: depositedAtoms,
  owedAtoms: depositedAtoms,
  differenceAtoms: 0n
})

/**
 * A venue with these equities, whose slices are read at once. `compared`: the result of each comparison of books;
 * `fund`: the place of the insurance fund among them.
 */
const setting = (
  equities: ReadonlyArray<ReadonlyArray<number> | undefined>,
  compared: ReadonlyArray<Effect.Effect<Report, Unreachable>>,
  fund = -1
) => {
  const asked = { compared: 0, copied: 0, nowMs: 1_000_000, begun: undefined as Effect.Effect<void> | undefined, isHeldBack: false }
  const view = (atoms: ReadonlyArray<number>): EquitiesView => ({
    equityAtoms: Float64Array.from(atoms),
    collateralAtoms: BigInt(atoms.reduce((sum, each) => sum + each, 0)),
    entryImbalanceAtoms: 0n
  })
  const reads = {
    sequence: 40,
    atEpochMs: 5,
    accountId: (account: number) => `acc_${account}`,
    findAccount: () => fund,
    openTransfers: () => [],
    heldByWithdrawals: () => new Map([[0, 7n], [2, 5n]]),
    equities: () => {
      const atoms = equities[Math.min(asked.copied++, equities.length - 1)]
      return atoms === undefined ? undefined : view(atoms)
    },
    funds: {
      depositedAtoms: 20n,
      withdrawnAtoms: 0n,
      creditedAtoms: 0n,
      feesAtoms: 0n,
      fundingPoolAtoms: 0n
    }
  } as unknown as Reads
  const solvency = new Solvency({
    reads,
    reconcile: Effect.suspend(() => compared[Math.min(asked.compared++, compared.length - 1)]!),
    nextSlice: Effect.void,
    now: () => asked.nowMs,
    secret: "secret",
    fork: (effect) => {
      if (asked.isHeldBack) asked.begun = effect
      else Effect.runSync(effect)
    }
  })
  return { asked, solvency }
}

const unreachable = Effect.fail(new Unreachable({ whom: "ledger", detail: "no" }))

describe("what is taken of the state", () => {
  test("accounts under nothing are leaves of 0, and what they lack is told", () => {
    const { solvency } = setting([[30, -4, 0, -6]], [Effect.succeed(report(20n))])
    const one = solvency.published()!
    expect([one.tree.sum, one.shortfallAtoms, one.collateralAtoms]).toEqual([30n, 10n, 20n])
    expect([0, 1, 2, 3].map((account) => one.tree.pathOf(account)!.balanceAtoms)).toEqual([30, 0, 0, 0])
    expect([0, 1, 2, 3].map((account) => one.tree.pathOf(account)!.heldAtoms)).toEqual([7n, 0n, 5n, 0n])
    expect(one.tree.held).toBe(12n)
  })

  test("an insurance fund under nothing is told as it is, although its leaf is 0", () => {
    const { solvency } = setting([[30, -4, 0, -6]], [Effect.succeed(report(20n))], 3)
    expect(solvency.published()!.fundAtoms).toBe(-6n)
  })

  test("a venue without accounts has a tree without leaves", () => {
    const { solvency } = setting([[]], [Effect.succeed(report(20n))])
    const { tree } = solvency.published()!
    expect([tree.sum, tree.leafCount, tree.pathOf(0), tree.rootHash.length]).toEqual([0n, 0, undefined, 32])
  })

  test("money that moved after the ledger was asked has it asked again", () => {
    const { asked, solvency } = setting([[20]], [Effect.succeed(report(19n)), Effect.succeed(report(20n))])
    expect(solvency.published()!.treasury).toEqual(report(20n))
    expect(asked).toMatchObject({ compared: 2, copied: 1 })
  })

  test("without the ledger nothing is said of the treasury", () => {
    const { solvency } = setting([[20]], [unreachable])
    expect(solvency.published()!.treasury).toBeUndefined()
  })

  test("under a clock that is set back another is made at once, and not before as much time has come once more", () => {
    const { asked, solvency } = setting([[20]], [unreachable])
    solvency.published()
    asked.nowMs -= 86_400_000
    solvency.published()
    expect(asked.copied).toBe(2)
    asked.nowMs += 59_999
    solvency.published()
    expect(asked.copied).toBe(2)
    asked.nowMs += 1
    solvency.published()
    expect(asked.copied).toBe(3)
  })

  test("while funding is settled nothing is taken, and it is tried again five seconds later and no sooner", () => {
    const { asked, solvency } = setting([...Array.from({ length: 5 }, () => undefined), [20]], [unreachable])
    expect(solvency.published()).toBeUndefined()
    expect(asked.copied).toBe(5)
    asked.nowMs += 4_999
    expect(solvency.published()).toBeUndefined()
    expect(asked.copied).toBe(5)
    asked.nowMs += 1
    expect(solvency.published()!.tree.sum).toBe(20n)
  })

  test("one is made a minute, and the same sequence is kept once", () => {
    const { asked, solvency } = setting([[20]], [unreachable])
    const one = solvency.published()
    asked.nowMs += 59_999
    expect(solvency.published()).toBe(one)
    asked.nowMs += 1
    const two = solvency.published()
    expect(two).not.toBe(one)
    expect(two!.tree.rootHash).toEqual(one!.tree.rootHash)
    expect(solvency.published(40)).toBe(two)
    expect(solvency.published(39)).toBeUndefined()
  })

  test("what is older than ten minutes is not told as the latest: who asks has another one made, and finds the old one by its sequence", () => {
    const { asked, solvency } = setting([[20]], [unreachable])
    const one = solvency.published()
    asked.isHeldBack = true
    asked.nowMs += 600_000
    expect(solvency.published()).toBe(one)
    asked.nowMs += 1
    expect(solvency.published()).toBeUndefined()
    expect(solvency.published(40)).toBe(one)
    Effect.runSync(asked.begun!)
    // Nothing was recorded meanwhile: it is of the same sequence, and of now.
    expect(solvency.published()).toMatchObject({ sequence: 40, atEpochMs: 5, takenAtEpochMs: asked.nowMs })
  })
})
