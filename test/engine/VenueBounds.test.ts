import { expect, test } from "vitest"
import { examinedAtOnce } from "../../src/engine/accounts/Watch.js"
import { fundingsKept } from "../../src/engine/FundingLog.js"
import { marksKept } from "../../src/engine/MarkLog.js"

// They determine a venue's decisions for a journal's whole life: a simulator draws smaller ones, and a venue has these.
test("bounds that the simulator draws small are a venue's own elsewhere", () => {
  expect({ examinedAtOnce, marksKept, fundingsKept }).toEqual({ examinedAtOnce: 256, marksKept: 600, fundingsKept: 720 })
})
