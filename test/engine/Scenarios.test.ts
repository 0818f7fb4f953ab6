/** Every drawn scenario happens as drawn. */
import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import * as Scenario from "./Scenario.js"

const directory = "fixtures/scenarios"
const names = readdirSync(directory).filter((name) => name.endsWith(".txt")).sort()

test("there are scenarios, each with a title of its own", () => {
  expect(names.length).toBeGreaterThanOrEqual(15)
  expect(new Set(names.map((name) => Scenario.parse(readFileSync(`${directory}/${name}`, "utf8")).title)).size).toBe(names.length)
})

test.each(names.map((name) => [name.replace(".txt", "").replaceAll("-", " "), name]))("%s", (_, name) => {
  const scenario = Scenario.parse(readFileSync(`${directory}/${name}`, "utf8"))
  expect(scenario.when.length).toBeGreaterThan(0)
  expect(Scenario.run(scenario).join("\n")).toBe(scenario.expected.join("\n"))
})

test.each([
  ["a section nobody knows", "given\n  mars 100.0\nwhen\n  alice buys 1.000 at 100.0"],
  ["a price off the tick", "given\n  mark 100.0\nwhen\n  alice buys 1.000 at 100.05"],
  ["an option nobody knows", "given\n  mark 100.0\nwhen\n  alice buys 1.000 at 100.0 fok"],
  ["a book that would trade", "given\n  mark 100.0\n  | a 1.000 | 100.0 |  |\n  |  | 99.0 | b 1.000 |\nwhen\n  a cancels 100.0"]
])("%s is refused, not passed over", (_, text) => {
  expect(() => Scenario.run(Scenario.parse(`title\n${text}`))).toThrow("a scenario cannot say")
})
