import { expect, test } from "vitest"
import { Texts } from "../../src/engine/Texts.js"

test("texts lie under their numbers, in many short lists", () => {
  const texts = new Texts()
  const count = 5_000
  for (let index = 0; index < count; index++) texts.put(index, `${index}`)
  for (let index = 0; index < count; index += 3) texts.put(index, "")
  const wrong: Array<number> = []
  for (let index = 0; index < count; index++) if (texts.at(index) !== (index % 3 === 0 ? "" : `${index}`)) wrong.push(index)
  expect(wrong).toEqual([])
})
