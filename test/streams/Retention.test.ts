/** How far back an account's channels can be sent again: whichever of the two limits reaches further. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { Retention } from "../../src/streams/Retention.js"

/** A venue that decided a record every `ms` milliseconds, and how often its journal was searched. */
const made = (records: number, ms: number) => {
  const reads = { sequence: 1_000, atEpochMs: 10_000 }
  const looks: Array<number> = []
  const before = (atEpochMs: number) =>
    Effect.sync(() => {
      looks.push(atEpochMs)
      return Math.ceil(atEpochMs / 10) - 1
    })
  return { reads, looks, retention: new Retention(reads, { before }, { records, ms }) }
}

test.each([
  ["records, where they reach further than the time", 500, 2_000, 500],
  ["the time, where it reaches further than the records", 50, 2_000, 799]
])("it is %s", async (_, records, ms, oldest) => {
  const { retention } = made(records, ms)
  expect(await Effect.runPromise(retention.oldest)).toBe(oldest)
  expect(await Effect.runPromise(Effect.forEach([oldest - 1, oldest], (after) => retention.isTold(after)))).toEqual([false, true])
})

test("the journal is not looked at for what is near, and seldom for what is not", async () => {
  const { looks, reads, retention } = made(50, 2_048)
  expect([retention.isNear(950), retention.isNear(949), await Effect.runPromise(retention.isTold(950))]).toEqual([true, false, true])
  expect(looks).toEqual([])
  for (let more = 0; more < 4; more++) {
    expect(await Effect.runPromise(retention.oldest)).toBe(795)
    reads.sequence++
    reads.atEpochMs++
  }
  expect(looks).toEqual([7_952, 7_955])
})
