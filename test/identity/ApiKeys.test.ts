import { expect, test } from "vitest"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import { Principal } from "../../src/operations/Header.js"
import type { ApiKeyView } from "../../src/engine/Reads.js"

const issued = ApiKeys.deriveDemoKey("a signer secret", "development", "key", 0, 3)
const view: ApiKeyView = {
  principal: Principal.key,
  credential: 0,
  account: 0,
  createdAtEpochMs: 1,
  revokedAtEpochMs: 0,
  ...issued.grant,
  expiresAtEpochMs: 100
}
const keys = { findApiKey: (keyId: string) => keyId === view.keyId ? view : undefined }

test.each([
  ["no header", undefined, 50, "missing"],
  ["an empty header", "", 50, "missing"],
  ["another scheme", `Basic ${issued.text}`, 50, "malformed"],
  ["no token", "Bearer ", 50, "malformed"],
  ["a short secret", `Bearer ${issued.text.slice(0, -1)}`, 50, "malformed"],
  ["a long secret", `Bearer ${issued.text}x`, 50, "malformed"],
  ["a stranger", `Bearer pk_development_stranger_${"x".repeat(43)}`, 50, "unknown"],
  ["another environment's key", `Bearer ${issued.text.replace("development", "production")}`, 50, "unknown"],
  ["the key in its last millisecond", `Bearer ${issued.text}`, 99, view],
  ["the key when it expires", `Bearer ${issued.text}`, 100, "expired"],
  ["any case of the scheme", `bEARER ${issued.text}`, 50, view]
])("%s", (_, header, now, expected) => {
  expect(ApiKeys.identify(header, keys, new ApiKeys.KnownTokens(), now)).toEqual(expected)
})

test("a revoked key stays revoked after it has expired", () => {
  const revoked = { findApiKey: () => ({ ...view, revokedAtEpochMs: 10 }) }
  expect(ApiKeys.identify(`Bearer ${issued.text}`, revoked, new ApiKeys.KnownTokens(), 500)).toBe("revoked")
})

test("demo keys depend on secret, request and index, and on nothing else", () => {
  const texts = [
    issued,
    ApiKeys.deriveDemoKey("a signer secret", "development", "key", 1, 3),
    ApiKeys.deriveDemoKey("a signer secret", "development", "other", 0, 3),
    ApiKeys.deriveDemoKey("another secret", "development", "key", 0, 3)
  ].map(({ text }) => text)
  expect(new Set(texts).size).toBe(4)
  expect(ApiKeys.deriveDemoKey("a signer secret", "development", "key", 0, 3)).toEqual(issued)
  expect(issued.text.startsWith(`${issued.grant.displayPrefix}_`)).toBe(true)
  expect(issued.grant.secretSha256).toBe(ApiKeys.digest(issued.text))
})

test("equality in constant time is equality", () => {
  expect([["a", "a"], ["a", "b"], ["", ""], ["a", "aa"]].map(([left, right]) => ApiKeys.equalConstantTime(left!, right!)))
    .toEqual([true, false, true, false])
})

test("a header that was good is held to the key of now, and a bad one is never taken for good", () => {
  const tokens = new ApiKeys.KnownTokens()
  const identify = (text: string, found: ApiKeyView | undefined = view, at = 50) =>
    ApiKeys.identify(`Bearer ${text}`, { findApiKey: (keyId) => keyId === view.keyId ? found : undefined }, tokens, at)
  const wrong = `${issued.grant.displayPrefix}_${"x".repeat(43)}`
  expect(identify(wrong)).toBe("unknown")
  expect(identify(issued.text)).toBe(view)
  expect(identify(issued.text)).toBe(view)
  expect(identify(wrong)).toBe("unknown")
  // The key is another now, or none: what was kept of the header does not help it.
  expect(identify(issued.text, { ...view, secretSha256: ApiKeys.digest("other") })).toBe("unknown")
  expect(identify(issued.text, { ...view, revokedAtEpochMs: 10 })).toBe("revoked")
  expect(identify(issued.text, view, 100)).toBe("expired")
  expect(ApiKeys.identify(`Bearer ${issued.text}`, { findApiKey: () => undefined }, tokens, 50)).toBe("unknown")
  expect(identify(issued.text)).toBe(view)
})

test("more headers than are kept are all found good", () => {
  const tokens = new ApiKeys.KnownTokens()
  const many = Array.from({ length: 5_000 }, (_, index) => ApiKeys.deriveDemoKey("a signer secret", "development", "many", index, 3))
  const byId = new Map(many.map(({ grant }) => [grant.keyId, { ...view, ...grant }]))
  for (let round = 0; round < 2; round++) {
    for (const { grant, text } of many) {
      const found = ApiKeys.identify(`Bearer ${text}`, { findApiKey: (keyId) => byId.get(keyId) }, tokens, 50)
      expect(found).toBe(byId.get(grant.keyId))
    }
  }
})
