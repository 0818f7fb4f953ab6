/**
 * The venue, which notes when its writer hears that records are durable: `STAMPS_FILE` has it at the end, pairs of the last record
 * and nanoseconds of the system's monotonic clock, as 64-bit floats.
 */
import { writeFileSync } from "node:fs"
import { Sequencer } from "../../src/sequencer/Sequencer.js"

const mostStamps = 1_000_000
const stamps: Array<number> = []

// What answers and tells streams of a block is called with it: nothing of either has happened by then.
const writer = Sequencer.prototype as unknown as { committed: (block: { readonly lastSequence: number }) => void }
const { committed } = writer
writer.committed = function(block) {
  if (stamps.length < 2 * mostStamps) stamps.push(block.lastSequence, Number(process.hrtime.bigint()))
  committed.call(this, block)
}

process.once("exit", () => writeFileSync(process.env["STAMPS_FILE"]!, new Uint8Array(Float64Array.from(stamps).buffer)))

await import("../../src/main.js")
