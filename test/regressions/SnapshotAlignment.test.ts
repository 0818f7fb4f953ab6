/** A snapshot's sections may begin at any offset of a Buffer; arrays of 8-byte numbers may not. */
import { expect, test } from "vitest"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { RandomDriver } from "../engine/drive.js"

test("a state is read from sections at odd places of a Buffer", () => {
  const driver = new RandomDriver(3)
  for (let step = 0; step < 300; step++) driver.step()
  const { state } = driver.engine
  const odd = Snapshot.encode(state).map(({ bytes, name }) => {
    const buffer = Buffer.alloc(bytes.length + 3)
    buffer.set(bytes, 3)
    return { name, bytes: buffer.subarray(3) }
  })
  const lines = (of: typeof state): Array<string> => {
    const found: Array<string> = []
    Snapshot.canonical(of, (line) => found.push(line))
    return found
  }
  expect(lines(Snapshot.unsafeDecode(odd, state.capacity))).toEqual(lines(state))
})
