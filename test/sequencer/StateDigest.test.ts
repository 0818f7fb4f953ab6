/** A state's digest is the digest of its whole canonical form, however long that is. */
import * as crypto from "node:crypto"
import { expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { RandomDriver } from "../engine/drive.js"

const linesOf = ({ state }: Engine): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines
}

test("every line counts, also of a state that is longer than what is digested at once", () => {
  const driver = new RandomDriver(5, Engine.make({ orders: 20_000, idempotencyKeys: 20_000 }))
  const seen = new Set<string>()
  for (const steps of [0, 10, 4_000]) {
    for (let step = 0; step < steps; step++) driver.step()
    const lines = linesOf(driver.engine)
    const digest = stateDigest(driver.engine.state)
    expect(digest).toBe(crypto.createHash("sha256").update(lines.map((line) => `${line}\n`).join("")).digest("hex"))
    seen.add(digest)
  }
  expect(seen.size).toBe(3)
  expect(linesOf(driver.engine).join("\n").length).toBeGreaterThan(2 * 65_536)
})
