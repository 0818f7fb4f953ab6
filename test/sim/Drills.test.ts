/** Drills: they find nothing wrong with the venue, all of them take part, and a fault of one breaks the property. */
import { describe, expect, test } from "vitest"
import * as Drills from "../../sim/drills/Drills.js"
import { Judge } from "../../sim/drills/Yard.js"
import { directoriesAreKnown } from "../../sim/properties/directoriesAreKnown.js"
import * as Simulation from "../../sim/Simulation.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import { Engine } from "../../src/engine/Engine.js"
import type { Record } from "../../src/journal/Record.js"

/** The records of a short run, and a state that has applied them. */
const played = () => {
  const records: Array<Record> = []
  const request = { seed: "9", profile: "calm", steps: 20 } as const
  Simulation.run({
    ...request,
    unproven: true,
    listen: (_, seen) => {
      if (seen._tag === "Committed") records.push(seen.record)
    }
  })
  const engine = Engine.make({ orders: 1_000, idempotencyKeys: 1_000 })
  return { records, engine }
}

describe("Drills", () => {
  test("find nothing wrong, and two equal seeds drill alike", () => {
    const { engine, records } = played()
    const whats = new Set<string>()
    for (let seed = 1; seed <= 10; seed++) {
      const done = Drills.run(SimRandom.make(String(seed), "drills"), records, engine.state)
      expect(done.filter(({ fault }) => fault !== undefined)).toEqual([])
      for (const { what } of done) whats.add(what)
    }
    expect(whats.size).toBeGreaterThan(40)
    const once = () => Drills.run(SimRandom.make("1", "drills"), records, engine.state).map(({ what }) => what)
    expect(once()).toEqual(once())
  })

  test("a fault breaks the property, and only the first one is told", () => {
    const judge = new Judge()
    judge.equal("the bytes", Buffer.from([1, 2]), Uint8Array.of(1, 2))
    expect(judge.fault).toBe(undefined)
    judge.equal("the end", [1, { at: 2 }], [1, { at: 3 }])
    judge.holds("something else", false)
    expect(judge.fault).toBe("the end: [1,{\"at\":2}] instead of [1,{\"at\":3}]")
    const seen = { _tag: "Drilled", what: "reading", fault: judge.fault } as const
    expect(directoriesAreKnown.observe(null, seen)).toContain("in the drill of reading: the end")
    expect(directoriesAreKnown.observe(null, { ...seen, fault: undefined })).toBe(undefined)
  })
})
