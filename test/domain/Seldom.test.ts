/** What comes often is told seldom, with how often it came. */
import { expect, test } from "vitest"
import { Seldom } from "../../src/domain/Seldom.js"

test("the first is told at once, and then one in so long, with all that have come since", () => {
  let now = 5
  const seldom = new Seldom(10, () => now)
  const at = (then: number): number | undefined => {
    now = then
    return seldom.came()
  }
  expect([5, 5, 14, 15, 24, 26, 100].map(at)).toEqual([1, undefined, undefined, 3, undefined, 2, 1])
})
