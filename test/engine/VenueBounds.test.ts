import { expect, test } from "vitest"
import { examinedAtOnce } from "../../src/engine/accounts/Watch.js"
import { fundingsKept } from "../../src/engine/FundingLog.js"
import { marksKept } from "../../src/engine/MarkLog.js"

// What a venue does is decided by them, for a journal's whole life: a simulator draws others, and a venue has these.
test("bounds that the simulator draws small are a venue's own elsewhere", () => {
  expect({ examinedAtOnce, marksKept, fundingsKept }).toEqual({ examinedAtOnce: 256, marksKept: 600, fundingsKept: 720 })
})
