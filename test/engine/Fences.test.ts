/** Fences around keys: whatever an account sends under a fenced key is not carried out, and a decided key cannot be fenced. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { Principal } from "../../src/operations/Header.js"
import { all, type Command, type Kind, Operation, refusalOf } from "../../src/operations/Operations.js"
import { commandOf } from "../journal/arbitraries.js"
import { completeAny } from "./commands.js"
import { FundsDriver } from "./FundsDriver.js"

const usdc = (amount: number): number => amount * 1_000_000

const begin = () => {
  const driver = new FundsDriver()
  const owner = driver.funded(usdc(10))
  const bySession = (command: Command): Command => ({ ...command, principal: Principal.session })
  return {
    driver,
    owner,
    engine: driver.engine,
    fence: (fencedKey: string) =>
      driver.run(bySession(completeAny({
        kind: "FenceOutcome",
        ...driver.by(owner),
        idempotencyKey: `fence of ${fencedKey}`,
        fencedKey,
        fencedClientOrderId: ""
      }))),
    requests: () =>
      [
        [Operation.requestDeposit, completeAny(driver.askDeposit(owner, usdc(1)))],
        [Operation.requestWithdrawal, completeAny(driver.askWithdrawal(owner, usdc(4)))],
        [Operation.requestPartyChange, completeAny(driver.askPartyChange(owner))],
        [Operation.setDisplayHandleV1,
          bySession(completeAny({ kind: "SetDisplayHandle", ...driver.by(owner), idempotencyKey: driver.nextKey(), chosen: "maker" }))]
      ] as const
  }
}

describe("a fence", () => {
  test("stops the late original of whatever an account sends under a key", () => {
    const { driver, fence, owner } = begin()
    const kinds = all.filter(({ keyScope, kind }) => keyScope === "account" && kind !== "FenceOutcome").map(({ kind }) => kind as Kind)
    expect(kinds.length).toBeGreaterThan(9)
    for (const kind of kinds) {
      const [drawn] = fc.sample(commandOf(kind), { numRuns: 1, seed: 1 })
      const key = `late ${kind}`
      expect(fence(key).entries.map(refusalOf)).toEqual([Refusal.none])
      const late = { ...drawn!, principal: Principal.session, account: owner.account, credential: owner.session, idempotencyKey: key }
      expect([kind, driver.engine.admit(late as Command, driver.atEpochMs)?.refusal]).toEqual([kind, Refusal.fenceStands])
    }
  })

  test("around a withdrawal that has not come yet holds nothing of the money when it comes", () => {
    const { driver, engine, fence, owner, requests } = begin()
    const before = engine.balance(owner.account).collateralAtoms
    for (const [, late] of requests()) {
      fence(late.idempotencyKey)
      expect(driver.run(late)).toMatchObject({ refusal: Refusal.fenceStands, entries: [] })
    }
    expect(engine.balance(owner.account).collateralAtoms).toBe(before)
  })

  test("is refused where a deposit, a withdrawal, a change of party or a name was decided, and a lookup tells of it", () => {
    const { driver, engine, fence, owner, requests } = begin()
    for (const [operation, command] of requests()) {
      const { idempotencyKey } = command
      const decided = driver.run(command)
      expect(decided.refusal).toBe(Refusal.none)
      expect(engine.findOutcomes(owner.account, idempotencyKey)).toEqual([{ operation, outcome: { ...decided, replayed: true } }])
      expect(fence(idempotencyKey).entries.map(refusalOf)).toEqual([Refusal.alreadySeen])
      expect(engine.isFenced(owner.account, idempotencyKey, "")).toBe(false)
      expect(driver.run(command)).toEqual({ ...decided, replayed: true })
    }
  })

  test("is no command that another fence stops: its key may be fenced, and it is told again", () => {
    const { fence } = begin()
    const first = fence("a")
    expect(fence("fence of a").entries.map(refusalOf)).toEqual([Refusal.none])
    expect(fence("a")).toEqual({ ...first, replayed: true })
  })
})
