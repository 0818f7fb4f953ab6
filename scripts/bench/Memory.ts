/**
 * Memory: heap and array buffers per resting order in the whole engine, and the resident memory of a process with
 * a million of them; in a process of its own. Both ids have the length of P2's: a key like a UUID (36 characters)
 * and a clientOrderId of at most 8.
 */
import { fork } from "node:child_process"
import type { Measured } from "./restingMemory.js"
import { result, type Section } from "./Section.js"

const allowedBytes = 250
const allowedMegabytes = 600

const measure = (): Promise<Measured> =>
  new Promise((resolve, reject) => {
    const child = fork("dist/scripts/bench/restingMemory.js", { execArgv: ["--expose-gc"] })
    child.once("message", (message) => resolve(message as Measured))
    child.once("exit", (code) => reject(new Error(`the process that is measured ended with ${code} and without a word`)))
  })

export const section: Section = {
  name: "memory",
  run: async (options) => {
    const { bytesPerOrder, heapBytes, resident } = await measure()
    options.log(
      `memory: per order ${bytesPerOrder.toFixed(0)} bytes, its remembered key included: ${(bytesPerOrder - heapBytes).toFixed(0)} in arrays, `
        + `${heapBytes.toFixed(0)} on the heap (its two strings)`
    )
    return [
      result("memory-order", "bytes", bytesPerOrder, allowedBytes),
      result("memory-rss", "MB", resident / 1e6, allowedMegabytes)
    ]
  }
}
