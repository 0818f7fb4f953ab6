/**
 * Runs that together reach everything required at low cost: at the lowest possible one where there are few enough combinations to try them
 * all.
 */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { cover, type Run } from "../../../sim/choose/Cover.js"

const run = (name: string, cost: number, ...reaches: ReadonlyArray<string>): Run => ({ name, cost, reaches: new Set(reaches) })
const named = (runs: ReadonlyArray<Run>): ReadonlyArray<string> => runs.map(({ cost, name }) => `${name} ${cost}`).sort()

test("what adds most for its cost is superfluous where two others that are needed reach it", () => {
  const runs = [run("both", 3, "a", "b"), run("left", 2, "a", "c"), run("right", 2, "b", "d")]
  expect(named(cover(new Set("abcd"), runs))).toEqual(["left 2", "right 2"])
})

test("a run is cut off where it has reached what it is for, and goes on where nothing else is as cheap", () => {
  const early = run("one", 2, "a")
  const late = run("one", 5, "a", "b")
  expect(named(cover(new Set("ab"), [early, late, run("other", 1, "b")]))).toEqual(["one 2", "other 1"])
  expect(named(cover(new Set("ab"), [early, late, run("other", 4, "b")]))).toEqual(["one 5"])
})

test("what no run reaches is named", () => {
  expect(() => cover(new Set("ab"), [run("one", 1, "a")])).toThrow("no run reaches: b")
})

test("all is reached, once by each run, at no more than a tenth above the cheapest, and the same again", () => {
  const marks = [..."abcdef"]
  const one = fc.record({ cost: fc.integer({ min: 1, max: 9 }), reaches: fc.subarray(marks, { minLength: 1 }) })
  fc.assert(
    fc.property(fc.array(one, { minLength: 1, maxLength: 7 }), (drawn) => {
      const runs = drawn.map(({ cost, reaches }, at) => run(String(at), cost, ...reaches))
      const wanted = new Set(drawn.flatMap(({ reaches }) => reaches))
      const chosen = cover(wanted, runs)
      const reached = (some: ReadonlyArray<Run>) => new Set(some.flatMap(({ reaches }) => [...reaches])).size === wanted.size
      const cost = (some: ReadonlyArray<Run>) => some.reduce((sum, each) => sum + each.cost, 0)
      const choices = Array.from({ length: 2 ** runs.length }, (_, bits) => runs.filter((_, at) => (bits >> at) % 2 === 1))
      const cheapest = Math.min(...choices.filter(reached).map(cost))
      expect([reached(chosen), new Set(chosen.map(({ name }) => name)).size]).toEqual([true, chosen.length])
      expect(cost(chosen)).toBeLessThanOrEqual(1.1 * cheapest)
      expect(named(cover(wanted, runs))).toEqual(named(chosen))
    }),
    { numRuns: 20 }
  )
})
