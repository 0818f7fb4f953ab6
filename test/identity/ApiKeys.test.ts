import { expect, test } from "vitest"
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import { Principal } from "../../src/operations/Header.js"
import type { ApiKeyView } from "../../src/engine/Reads.js"

const issued = ApiKeys.deriveDemoKey("a signer secret", "development", "key_1")
const view: ApiKeyView = {
  principal: Principal.key,
  credential: 0,
  account: 0,
  createdAtEpochMs: 1,
  revokedAtEpochMs: 0,
  ...issued.fields,
  scopes: 3,
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

test("demo keys depend on secret and id, and are no bots' keys", () => {
  const texts = [
    issued,
    ApiKeys.deriveDemoKey("a signer secret", "development", "key_2"),
    ApiKeys.deriveDemoKey("another secret", "development", "key_1"),
    ApiKeys.deriveBotKey("a signer secret", "development", "key_1", "")
  ].map(({ text }) => text)
  expect(new Set(texts).size).toBe(4)
  expect(ApiKeys.deriveDemoKey("a signer secret", "development", "key_1")).toEqual(issued)
  expect(issued.text.startsWith(`${issued.fields.displayPrefix}_`)).toBe(true)
  expect(issued.fields).toEqual({
    keyId: "key_1",
    displayPrefix: "pk_development_1",
    secretSha256: ApiKeys.digest(issued.text)
  })
})

test("demo keys of earlier programs are the same again for the same request", () => {
  expect(ApiKeys.deriveEarlierDemoKey("a signer secret", "development", "key", 0).text).toBe(
    "pk_development_2e314bb74c662cc69971_uD1Pl-rQAGRzxLdMysu2DYVleGXIXVbA2cLW_bfVzZw"
  )
  const texts = [["key", 0], ["key", 1], ["other", 0]] as const
  expect(new Set(texts.map(([key, index]) => ApiKeys.deriveEarlierDemoKey("a signer secret", "development", key, index).text)).size).toBe(3)
})

test("equality in constant time is equality", () => {
  expect([["a", "a"], ["a", "b"], ["", ""], ["a", "aa"]].map(([left, right]) => ApiKeys.equalConstantTime(left!, right!)))
    .toEqual([true, false, true, false])
})

test("a header that was good is held to the key of now, and a bad one is never taken for good", () => {
  const tokens = new ApiKeys.KnownTokens()
  const identify = (text: string, found: ApiKeyView | undefined = view, at = 50) =>
    ApiKeys.identify(`Bearer ${text}`, { findApiKey: (keyId) => keyId === view.keyId ? found : undefined }, tokens, at)
  const wrong = `${issued.fields.displayPrefix}_${"x".repeat(43)}`
  expect(identify(wrong)).toBe("unknown")
  expect(identify(issued.text)).toBe(view)
  expect(identify(issued.text)).toBe(view)
  expect(identify(wrong)).toBe("unknown")
  // The key has changed or is gone: the remembered header must not be accepted any more.
  expect(identify(issued.text, { ...view, secretSha256: ApiKeys.digest("other") })).toBe("unknown")
  expect(identify(issued.text, { ...view, revokedAtEpochMs: 10 })).toBe("revoked")
  expect(identify(issued.text, view, 100)).toBe("expired")
  expect(ApiKeys.identify(`Bearer ${issued.text}`, { findApiKey: () => undefined }, tokens, 50)).toBe("unknown")
  expect(identify(issued.text)).toBe(view)
})

test("more headers than are kept are all found good", () => {
  const tokens = new ApiKeys.KnownTokens()
  const many = Array.from({ length: 5_000 }, (_, index) => ApiKeys.deriveDemoKey("a signer secret", "development", `key_${index}`))
  const byId = new Map(many.map(({ fields }) => [fields.keyId, { ...view, ...fields }]))
  for (let round = 0; round < 2; round++) {
    for (const { fields, text } of many) {
      const found = ApiKeys.identify(`Bearer ${text}`, { findApiKey: (keyId) => byId.get(keyId) }, tokens, 50)
      expect(found).toBe(byId.get(fields.keyId))
    }
  }
})
