/**
 * The venue, instrumented to note when its writer learns that records are durable: at the end `STAMPS_FILE` holds pairs of the last record
 * and nanoseconds of the system's monotonic clock, as 64-bit floats.
 */
import { writeFileSync } from "node:fs"
import { Sequencer } from "../../src/sequencer/Sequencer.js"

const mostStamps = 1_000_000
const stamps: Array<number> = []

// Answering and pushing the streams of a block happen within this call, so neither has happened yet when the time is noted.
const writer = Sequencer.prototype as unknown as { committed: (block: { readonly lastSequence: number }) => void }
const { committed } = writer
writer.committed = function(block) {
  if (stamps.length < 2 * mostStamps) stamps.push(block.lastSequence, Number(process.hrtime.bigint()))
  committed.call(this, block)
}

process.once("exit", () => writeFileSync(process.env["STAMPS_FILE"]!, new Uint8Array(Float64Array.from(stamps).buffer)))

await import("../../src/main.js")
