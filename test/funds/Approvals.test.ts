/** Questions to owners: one for each thing while it is open, over with an answer or its time, and no more of them than there is room for. */
import { expect, test } from "vitest"
import { Approvals } from "../../src/funds/Approvals.js"
import { waitMs } from "../../src/funds/Backoff.js"

const openMs = 300_000
const counting = () => {
  let drawn = 0
  return { bytes: (count: number) => new Uint8Array(count).fill(++drawn) }
}
const made = (nonce: string): string => `of ${nonce}`

test("it is the same question while it is open, made of its nonce, and another one once its time is over", () => {
  const approvals = new Approvals<string>(counting())
  const first = approvals.ask("a", "about a", made, 0)!
  expect(first).toMatchObject({ about: "about a", challenge: made(first.nonce), expiresAtEpochMs: openMs })
  expect(approvals.ask("a", "about a", made, openMs - 1)).toBe(first)
  const other = approvals.ask("b", "about b", made, 1)!
  expect(other.nonce).not.toBe(first.nonce)
  const later = approvals.ask("a", "about a", made, openMs)!
  expect(later.challengeIdentifier).not.toBe(first.challengeIdentifier)
  expect(approvals.take(first.challengeIdentifier, openMs)).toBeUndefined()
})

test("an answer ends it, also one that comes too late", () => {
  const approvals = new Approvals<string>(counting())
  const question = approvals.ask("a", "about a", made, 0)!
  expect(approvals.take(question.challengeIdentifier, 1)).toMatchObject({ about: "about a", nonce: question.nonce })
  expect(approvals.take(question.challengeIdentifier, 1)).toBeUndefined()
  const late = approvals.ask("a", "about a", made, 2)!
  expect(approvals.take(late.challengeIdentifier, 2 + openMs)).toBeUndefined()
  expect(approvals.count).toBe(0)
})

test("a full table asks nobody more, until one of its questions is over", () => {
  const approvals = new Approvals<string>(counting(), 2)
  approvals.ask("a", "a", made, 0)
  approvals.ask("b", "b", made, 1)
  expect(approvals.ask("c", "c", made, 2)).toBeUndefined()
  expect(approvals.ask("a", "a", made, 2)).toBeDefined()
  expect(approvals.ask("c", "c", made, openMs)).toBeDefined()
  expect(approvals.count).toBe(2)
})

test("waits double up to a minute, later to a quarter of an hour, and never all at one moment", () => {
  expect([1, 2, 3, 4, 8, 30, 31].map((failures) => waitMs(failures))).toEqual([500, 1_000, 2_000, 4_000, 60_000, 60_000, 900_000])
  for (let spread = 0; spread < 64; spread++) {
    expect(waitMs(5, spread)).toBeLessThanOrEqual(8_000)
    expect(waitMs(5, spread)).toBeGreaterThan(6_000)
  }
  expect(new Set([0, 1, 2, 15].map((spread) => waitMs(5, spread))).size).toBe(4)
})
