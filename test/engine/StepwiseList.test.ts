/** A list that grows by pages holds the same as a plain one, and deadlines come in order however many there are. */
import { expect, test } from "vitest"
import { Deadlines } from "../../src/engine/Deadlines.js"
import { StepwiseList } from "../../src/engine/StepwiseList.js"

test("a list does what an array does, over its pages", () => {
  const list = new StepwiseList()
  const plain: Array<number> = []
  for (let value = 0; value < 10_000; value++) {
    list.push(value * 3)
    plain.push(value * 3)
  }
  for (let at = 0; at < 10_000; at += 997) {
    list.put(at, -at)
    plain[at] = -at
  }
  expect(list.toArray()).toEqual(plain)
  expect(Array.from(plain, () => list.pop())).toEqual(plain.toReversed())
  expect(list.length).toBe(0)
})

test("ten thousand deadlines come by time, then by rank, also those that were moved or taken out", () => {
  const ours = new Deadlines((key) => -key)
  const at = new Map<number, number>()
  for (let key = 0; key < 10_000; key++) {
    ours.set(key, (key * 7_919) % 1_000)
    at.set(key, (key * 7_919) % 1_000)
  }
  for (let key = 0; key < 10_000; key += 3) {
    ours.remove(key)
    at.delete(key)
  }
  for (let key = 1; key < 10_000; key += 5) {
    ours.set(key, key % 50)
    at.set(key, key % 50)
  }
  const expected = [...at].sort((one, other) => one[1] - other[1] || other[0] - one[0])
  expect(ours.entries()).toEqual(expected)
  const came: Array<number> = []
  while (ours.size > 0) came.push(ours.shiftDue(Number.POSITIVE_INFINITY))
  expect(came).toEqual(expected.map(([key]) => key))
})
