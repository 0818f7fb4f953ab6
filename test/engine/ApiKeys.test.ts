/** The table of API keys: the number of a forgotten key is not used again, and memory follows the number of keys kept. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type ApiKey, ApiKeys } from "../../src/engine/accounts/ApiKeys.js"

const keyOf = (index: number, account: number): ApiKey => ({
  keyId: `key_${index}`,
  account,
  displayPrefix: `pk_test_${index}`,
  secretSha256: index.toString(16).padStart(64, "0"),
  scopes: 1 + index % 3,
  createdAtEpochMs: index,
  expiresAtEpochMs: 1_000_000 + index,
  revokedAtEpochMs: 0
})

/** Allocated pages, read from the table's internals. */
const pagesOf = (keys: ApiKeys): number =>
  (keys as unknown as { readonly pages: ReadonlyArray<object | undefined> }).pages.filter((page) => page !== undefined).length

const restored = (keys: ApiKeys): ApiKeys => ApiKeys.restore(keys.dump())

describe("forgotten keys", () => {
  test("are as if they had never been, and their numbers are nobody's", () => {
    const keys = new ApiKeys()
    for (let index = 0; index < 5; index++) keys.issue(keyOf(index, index % 2))
    keys.forget(2)
    for (const table of [keys, restored(keys)]) {
      expect([table.find("key_2"), table.has(2), table.account(2), table.actsUntil(2), table.scopes(2)]).toEqual([-1, false, -1, 0, 0])
      expect([...table.of(0)]).toEqual([4, 0])
      expect([table.count, table.kept]).toEqual([5, 4])
      expect(table.issue(keyOf(9, 0))).toBe(5)
      expect([...table.of(0)]).toEqual([5, 4, 0])
    }
  })

  test("take no room: twenty thousand that come and go are held in two pages", () => {
    const keys = new ApiKeys()
    for (let index = 0; index < 20_000; index++) {
      keys.issue(keyOf(index, 7))
      if (index >= 10) keys.forget(index - 10)
    }
    expect(keys.kept).toBe(10)
    expect(pagesOf(keys)).toBeLessThanOrEqual(2)
    expect([...keys.of(7)]).toEqual(Array.from({ length: 10 }, (_, index) => 19_999 - index))
  })

  test("are left out by any order of issues, revocations and forgettings, and a restored table goes on as the one before", () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ issue: fc.integer({ min: 0, max: 3 }) }) },
      { weight: 4, arbitrary: fc.record({ forget: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ revoke: fc.nat() }) },
      { weight: 1, arbitrary: fc.constant("restore" as const) }
    )
    fc.assert(fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      let keys = new ApiKeys()
      const expected = new Map<number, ApiKey>()
      const pick = (nat: number): number | undefined => [...expected.keys()][nat % Math.max(1, expected.size)]
      let issued = 0
      for (const each of steps) {
        if (each === "restore") keys = restored(keys)
        else if ("issue" in each) {
          const key = keyOf(issued, each.issue)
          expect(keys.issue(key)).toBe(issued)
          expected.set(issued++, key)
        } else if ("forget" in each) {
          const key = pick(each.forget)
          if (key === undefined) continue
          keys.forget(key)
          expected.delete(key)
        } else {
          const key = pick(each.revoke)
          if (key === undefined) continue
          keys.setRevokedAt(key, 500)
          expected.set(key, { ...expected.get(key)!, revokedAtEpochMs: 500 })
        }
      }
      expect(keys.all()).toEqual([...expected.values()])
      expect(keys.numbers()).toEqual([...expected.keys()])
      expect([keys.count, keys.kept]).toEqual([issued, expected.size])
      for (let account = 0; account <= 3; account++) {
        const own = [...expected].filter(([, key]) => key.account === account).map(([key]) => key).reverse()
        expect([...keys.of(account)]).toEqual(own)
      }
      for (let key = 0; key < issued; key++) {
        const { expiresAtEpochMs = 0, keyId = "", revokedAtEpochMs = 0 } = expected.get(key) ?? {}
        expect(keys.actsUntil(key)).toBe(revokedAtEpochMs === 0 ? expiresAtEpochMs : 0)
        if (keyId !== "") expect(keys.find(keyId)).toBe(key)
      }
      expect(pagesOf(keys)).toBeLessThanOrEqual(expected.size + 1)
    }))
  })
})
