/** Fills an engine with a million resting orders and reports their memory to its parent process. */
import { assert } from "../../src/domain/Assert.js"
import { Engine } from "../../src/engine/Engine.js"
import { Idempotency } from "../../src/engine/Idempotency.js"
import * as EngineCommands from "./EngineCommands.js"

export interface Measured {
  /** Heap and array buffers of the whole engine. */
  readonly bytesPerOrder: number
  /** The same without the table of remembered keys. */
  readonly bytesPerOrderWithoutKeys: number
  /** The heap alone. */
  readonly heapBytesPerOrder: number
  /** Resident bytes of the process. */
  readonly resident: number
}

const shape = EngineCommands.millionResting
const orders = shape.resting

const used = (): { readonly heap: number; readonly buffers: number } => {
  global.gc!()
  global.gc!()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return { heap: heapUsed, buffers: arrayBuffers }
}

/** `uuid`: keys of 36 characters; otherwise of at most 8, like the clientOrderIds. */
const short = process.argv[2] !== "uuid"

const open = (engine: Engine): void => {
  for (const command of EngineCommands.opening(shape)) apply(engine, command)
}
const apply = (engine: Engine, command: Parameters<Engine["apply"]>[0]): void => {
  const atEpochMs = EngineCommands.atEpochMs(shape, engine.sequence + 1)
  assert(engine.admit(command, atEpochMs) === undefined, "every order is admitted")
  engine.apply(command, engine.sequence + 1, atEpochMs)
  engine.state.events.clear()
}

const before = used()
// The memory for markets and accounts does not count as the orders'.
const unused = Engine.make({ orders: 1, idempotencyKeys: 2 * shape.accounts })
open(unused)
const opened = used()
const engine = Engine.make(EngineCommands.capacityFor(shape))
open(engine)
let serial = 0
for (const command of EngineCommands.resting(shape)) {
  apply(engine, short ? { ...command, idempotencyKey: Buffer.from(`k${serial++}`).toString("latin1") } : command)
}
assert(engine.state.openOrders === orders, "every order rests")
const full = used()
assert(unused.state.openOrders === 0, "nothing rests where nothing was placed")
const resident = process.memoryUsage().rss
engine.state.idempotency = new Idempotency(1)
const withoutKeys = used()
/** Bytes per order, given the present use of memory. */
const perOrder = (bytes: (of: typeof full) => number, now: typeof full): number => (bytes(now) - 2 * bytes(opened) + bytes(before)) / orders
const all = (of: typeof full): number => of.heap + of.buffers
const measured: Measured = {
  bytesPerOrder: perOrder(all, full),
  bytesPerOrderWithoutKeys: perOrder(all, withoutKeys),
  heapBytesPerOrder: perOrder((of) => of.heap, full),
  resident
}
assert(engine.state.openOrders === orders, "every order still rests")
process.send!(measured)
process.disconnect()
