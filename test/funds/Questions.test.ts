/** Questions that are open for an owner: each may be answered for five minutes, whatever becomes of the clock in between. */
import { expect, test } from "vitest"
import { Approvals } from "../../src/funds/Approvals.js"

const minuteMs = 60_000
const start = 1_800_000_000_000

const questions = (most?: number) => {
  let drawn = 0
  const approvals = new Approvals<string>({ bytes: (count) => Buffer.from(String(++drawn).padStart(count)) }, most)
  const ask = (key: string, atMinute: number) => approvals.ask(key, key, (nonce) => nonce, start + atMinute * minuteMs)
  return { approvals, ask, take: (identifier: string, atMinute: number) => approvals.take(identifier, start + atMinute * minuteMs) }
}

/** Minutes at which a question is asked under one key, and whether the second is the first one again. */
const askedTwice: ReadonlyArray<readonly [what: string, others: ReadonlyArray<number>, first: number, second: number, isSame: boolean]> = [
  ["while it is open", [], 0, 4.9, true],
  ["when it is over", [], 0, 5, false],
  ["behind one that was asked by a clock that was ahead", [60], 0, 6, false],
  ["behind one of little ahead, which is open yet", [2], 0, 5.5, false],
  ["by a clock that was set back by an hour", [], 60, 0, false],
  ["by a clock that was set back, and not asked before", [60], 0, 1, true]
]

test.each(askedTwice)("asked again %s", (_, others, first, second, isSame) => {
  const { ask, take } = questions()
  others.forEach((minute, index) => ask(`other ${index}`, minute))
  const before = ask("mine", first)!
  const again = ask("mine", second)!
  expect(again.challengeIdentifier === before.challengeIdentifier).toBe(isSame)
  const leftMinutes = (again.expiresAtEpochMs - start) / minuteMs - second
  expect([leftMinutes > 0, leftMinutes <= 5]).toEqual([true, true])
  if (!isSame) expect(take(before.challengeIdentifier, second)).toBeUndefined()
  expect(take(again.challengeIdentifier, second)).toBe(again)
})

test("what was asked by a clock that was ahead is over, and keeps nobody's place", () => {
  const { approvals, ask, take } = questions(2)
  const [one, other] = [ask("one", 60)!, ask("other", 61)!]
  expect(take(one.challengeIdentifier, 0)).toBeUndefined()
  expect(ask("mine", 0)).toBeDefined()
  expect(take(other.challengeIdentifier, 61)).toBeUndefined()
  expect(approvals.count).toBe(1)
})
