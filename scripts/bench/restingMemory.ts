/** Fills an engine with a million resting orders and tells its parent what they cost. */
import { assert } from "../../src/domain/Assert.js"
import { Engine } from "../../src/engine/Engine.js"
import * as EngineCommands from "./EngineCommands.js"

export interface Measured {
  /** Heap and array buffers. */
  readonly bytesPerOrder: number
  readonly heapBytes: number
  /** Resident bytes of the process. */
  readonly resident: number
}

const orders = 1_000_000
const shape: EngineCommands.Shape = { markets: 100, accounts: 10_000, resting: orders, liveLimit: orders, count: 0, seed: 17 }

const used = (): { readonly heap: number; readonly buffers: number } => {
  global.gc!()
  global.gc!()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return { heap: heapUsed, buffers: arrayBuffers }
}

const engine = Engine.make(EngineCommands.capacityFor(shape))
const apply = (command: Parameters<Engine["apply"]>[0]): void => {
  const atEpochMs = EngineCommands.atEpochMs(engine.sequence + 1)
  assert(engine.admit(command, atEpochMs) === undefined, "every order is admitted")
  engine.apply(command, engine.sequence + 1, atEpochMs)
  engine.state.events.clear()
}
for (const command of EngineCommands.opening(shape)) apply(command)
const empty = used()
for (const command of EngineCommands.resting(shape)) apply(command)
assert(engine.state.openOrders === orders, "every order rests")
const full = used()
const measured: Measured = {
  bytesPerOrder: (full.heap + full.buffers - empty.heap - empty.buffers) / orders,
  heapBytes: (full.heap - empty.heap) / orders,
  resident: process.memoryUsage().rss
}
process.send!(measured)
process.disconnect()
