import { expect, test } from "vitest"
import { examinedAtOnce } from "../../src/engine/accounts/Watch.js"

// What a venue does is decided by them, for a journal's whole life: a simulator draws others, and a venue has these.
test("bounds that the simulator draws small are a venue's own elsewhere", () => {
  expect({ examinedAtOnce }).toEqual({ examinedAtOnce: 256 })
})
