/** A series of runs does not keep the crashed venues in memory. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as Simulation from "../../sim/Simulation.js"
import * as RootFibers from "../../sim/world/RootFibers.js"
import { oftenCrashing } from "./Crashing.js"

test("a run lets go of every fiber it began, also of crashed processes, and of no other", () => {
  const before = RootFibers.count()
  const other = Effect.runFork(Effect.never)
  const report = Simulation.run({ seed: "2", profile: "crash", steps: 10, options: oftenCrashing("2") })
  expect(report.failure).toBeUndefined()
  expect(report.crashes).toBeGreaterThan(0)
  expect(RootFibers.count()).toBe(before + 1)
  other.unsafeInterruptAsFork(other.id())
})

test("what is released was held", () => {
  const before = RootFibers.count()
  const held = RootFibers.releasing(() => {
    Effect.runFork(Effect.async<never>(() => {}))
    return RootFibers.count()
  })
  expect([held, RootFibers.count()]).toEqual([before + 1, before])
})
