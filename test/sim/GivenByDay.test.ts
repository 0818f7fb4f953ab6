/** What a treasury has signed on each day, and when a refusal for the limit of a day is right: few runs meet that limit. */
import { expect, test } from "vitest"
import { GivenByDay } from "../../sim/world/GivenByDay.js"

const limit = 100

/** A treasury's record: the latest day, and all withdrawals that were ever signed, the latest last. */
const record = (day: number, amounts: ReadonlyArray<number>): string =>
  JSON.stringify({ day, withdrawals: amounts.map((amountAtoms, at) => ({ hash: String(at), amountAtoms })) })

const wrote = (...records: ReadonlyArray<readonly [day: number, amounts: ReadonlyArray<number>]>): GivenByDay => {
  const given = new GivenByDay(limit)
  for (const [day, amounts] of records) given.wrote(record(day, amounts))
  return given
}

test("a day's limit may be given to the atom, and on the next day again", () => {
  const given = wrote([7, []], [7, [60]], [7, [60, 40]], [7, [60, 40]], [8, [60, 40, 100]])
  expect([given.count, given.fault]).toEqual([3, undefined])
})

test("more than that is a fault, and so is a day before the latest one", () => {
  expect(wrote([7, [60]], [7, [60, 41]]).fault).toBe("the treasury has given 101 atoms on day 7, and may give 100")
  expect(wrote([7, [60]], [6, [60, 1]]).fault).toBe("a withdrawal counts for day 6, after one that counts for day 7")
})

test("a refusal is right where the amount would have exceeded the limit when it was asked for or since", () => {
  const given = wrote([7, [60]])
  given.refused(41, given.count)
  const asked = given.count
  given.wrote(record(8, [60, 10]))
  given.refused(41, asked)
  expect(given.fault).toBeUndefined()
  given.refused(41, given.count)
  expect(given.fault).toBe("41 atoms more are refused where 10 of 100 were given on day 8")
  const exact = wrote([7, [60]])
  exact.refused(40, exact.count)
  expect(exact.fault).toBe("40 atoms more are refused where 60 of 100 were given on day 7")
})
