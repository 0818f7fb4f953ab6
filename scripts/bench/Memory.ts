/**
 * Memory: heap and array buffers per resting order in the whole engine (pool, books, positions of 10,000 accounts in 100 markets, strings),
 * without and with what the table of keys remembers of its placement; and the resident memory of a process with a million resting orders,
 * keys included. Measured in a process of its own. clientOrderIds have at most 8 characters, Idempotency-Keys at most 8 (`memory-order`) or
 * the 36 of a UUID (`memory-order-uuid`, and the resident memory).
 */
import { fork } from "node:child_process"
import type { Measured } from "./restingMemory.js"
import { result, type Section } from "./Section.js"

const allowedBytes = 250
const allowedMegabytes = 600

const measure = (keys: "short" | "uuid"): Promise<Measured> =>
  new Promise((resolve, reject) => {
    const child = fork("dist/scripts/bench/restingMemory.js", [keys], { execArgv: ["--expose-gc"] })
    child.once("message", (message) => resolve(message as Measured))
    child.once("exit", (code) => reject(new Error(`the process that is measured ended with ${code} and without a word`)))
  })

export const section: Section = {
  name: "memory",
  run: async (options) => {
    const short = await measure("short")
    const uuid = await measure("uuid")
    for (const [keys, measured] of [["of at most 8 characters", short], ["like UUIDs", uuid]] as const) {
      options.log(
        `memory: with keys ${keys} ${measured.bytesPerOrderWithoutKeys.toFixed(0)} bytes an order, `
          + `${measured.bytesPerOrder.toFixed(0)} with its remembered key; `
          + `${measured.heapBytesPerOrder.toFixed(0)} of them on the heap, for its two strings`
      )
    }
    return [
      result("memory-order", "bytes", short.bytesPerOrderWithoutKeys, allowedBytes),
      result("memory-order-uuid", "bytes", uuid.bytesPerOrderWithoutKeys, allowedBytes),
      result("memory-order-and-key", "bytes", short.bytesPerOrder, allowedBytes),
      result("memory-rss", "MB", uuid.resident / 1e6, allowedMegabytes)
    ]
  }
}
