/** The name under which others see an account: chosen over HTTP, repeated, looked up, replayed and kept in snapshots. */
import { expect, test } from "vitest"
import { handleOf, isChosen } from "../../src/operations/accounts/SetDisplayHandle.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { Operation } from "../../src/operations/Operations.js"
import { Driver } from "./drive.js"
import { complete } from "./commands.js"

const named = (driver: Driver, account: number, chosen: string) =>
  driver.run(complete({
    kind: "SetDisplayHandle",
    operation: Operation.setDisplayHandleV1,
    account,
    idempotencyKey: driver.nextKey(),
    chosen
  }))

test("a handle is what was chosen and the number of its record, so that no two are the same", () => {
  const driver = new Driver()
  const [one, other] = [driver.account(1_000), driver.account(1_000)]
  const first = named(driver, one, "maker")
  const second = named(driver, other, "maker")
  expect(driver.engine.account(one).displayHandle).toBe(handleOf("maker", first.sequence))
  expect(driver.engine.account(other).displayHandle).toBe(handleOf("maker", second.sequence))
  expect(driver.engine.account(one).displayHandle).not.toBe(driver.engine.account(other).displayHandle)
})

test("a handle does not name the account it belongs to", () => {
  const driver = new Driver()
  const account = driver.account(1_000)
  named(driver, account, "maker")
  const { accountId, displayHandle } = driver.engine.account(account)
  expect(displayHandle).not.toContain(accountId.slice("acc_".length))
})

test("a snapshot holds handles, also where most accounts have none", () => {
  const driver = new Driver()
  const [, named2] = [driver.account(1_000), driver.account(1_000), driver.account(1_000)]
  named(driver, named2!, "taker")
  const { state } = driver.engine
  const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity))
  for (let account = 0; account < 3; account++) expect(restored.account(account)).toEqual(driver.engine.account(account))
})

test("sections without handles, as a program before wrote them, give accounts without any", () => {
  const driver = new Driver()
  driver.account(1_000)
  const { state } = driver.engine
  const sections = Snapshot.encode(state).filter(({ name }) => name !== "accounts.displayHandles")
  expect(new Engine(Snapshot.unsafeDecode(sections, state.capacity)).account(0).displayHandle).toBe("")
})

test.each([
  ["abc", true],
  ["A-very_long-name-200", true],
  ["ab", false],
  ["a".repeat(21), false],
  ["a.b", false],
  ["a b", false],
  ["é".repeat(4), false],
  ["", false]
])("%j may be chosen: %s", (text, may) => {
  expect(isChosen(text)).toBe(may)
})
