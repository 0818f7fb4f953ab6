/** The key of the hash tables has no influence on what happens, nor on the content of a snapshot. */
import { expect, it } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Capacity } from "../../src/engine/State.js"
import { RandomDriver } from "./drive.js"

/** So small that keys and orders are forgotten and their slots used again. */
const capacity: Capacity = { orders: 96, idempotencyKeys: 96 }
const keys = [[0, 0], [0x12345678, -1], [-0x80000000, 0x7fffffff]] as const
const steps = 1_500

const hex = (engine: Engine): ReadonlyArray<string> =>
  Snapshot.encode(engine.state).map(({ bytes, name }) => `${name} ${Buffer.from(bytes).toString("hex")}`)

const linesOf = (engine: Engine): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(engine.state, (line) => lines.push(line))
  return lines
}

it("the same commands under any key come to the same bytes", () => {
  const ends = keys.map((hashKey) => {
    const driver = new RandomDriver(7, Engine.make({ ...capacity, hashKey }))
    for (let step = 0; step < steps; step++) driver.step()
    return driver.engine
  })
  expect(ends[0]!.state.idempotency.size).toBeGreaterThan(0)
  for (const end of ends) expect(hex(end)).toEqual(hex(ends[0]!))
})

it("a snapshot restores under another key, and goes on as it would have", () => {
  const [first, other] = keys
  const driver = new RandomDriver(11, Engine.make({ ...capacity, hashKey: first }))
  for (let step = 0; step < steps / 2; step++) driver.step()
  const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), { ...capacity, hashKey: other! }))
  expect(linesOf(restored)).toEqual(linesOf(driver.engine))
  const { sequence } = restored
  const apply = driver.engine.apply.bind(driver.engine)
  driver.engine.apply = (command, at, atEpochMs) => {
    restored.admit(command, atEpochMs)
    restored.apply(command, at, atEpochMs)
    return apply(command, at, atEpochMs)
  }
  for (let step = 0; step < steps / 2; step++) driver.step()
  expect(restored.sequence).toBeGreaterThan(sequence)
  expect(linesOf(restored)).toEqual(linesOf(driver.engine))
})
