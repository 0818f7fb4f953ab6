/** A remembered value is the one that was made, for no more keys than there is room for. */
import { expect, test } from "vitest"
import { remembered } from "../../src/domain/Remembered.js"

test("makes once for each key, and anew once there were too many", () => {
  const made: Array<string> = []
  const lengthOf = remembered(2, (key: string) => {
    made.push(key)
    return [key.length]
  })
  expect(lengthOf("one")).toEqual([3])
  expect(lengthOf("one")).toBe(lengthOf("one"))
  expect(lengthOf("three")).toEqual([5])
  expect(made).toEqual(["one", "three"])
  expect(lengthOf("seven")).toEqual([5])
  expect(lengthOf("one")).toEqual([3])
  expect(made).toEqual(["one", "three", "seven", "one"])
})
