/**
 * P9: how long the real process takes from its start until it accepts requests, over a data directory with a million journaled commands,
 * all of them recent enough to be remembered, and a snapshot 10,000 records before the end, as a crash would leave it. The reference is the
 * 2 s allowed.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { VenueProcess } from "../load/VenueProcess.js"
import * as EngineCommands from "./EngineCommands.js"
import * as JournalBuilder from "./JournalBuilder.js"
import * as P2 from "./P2.js"
import { format, median, type Options, result, type Section } from "./Section.js"

const allowedSeconds = 2
const recordsBehindSnapshot = 10_000
const directory = `data/bench-P9-${process.pid}`

/** Starts the process, waits until it is ready, and kills it, so that it leaves no newer snapshot. */
const start = async (): Promise<{ readonly seconds: number; readonly output: string }> => {
  const startedAt = performance.now()
  const venue = await VenueProcess.start(directory)
  const seconds = (performance.now() - startedAt) / 1000
  const { output } = venue
  await venue.kill()
  return { seconds, output }
}

/** Syncs what was built without syncs: the venue that wrote it would have done so long before. */
const syncAll = (): void => {
  for (const folder of ["journal", "snapshots"]) {
    for (const name of fs.readdirSync(path.join(directory, folder))) {
      const descriptor = fs.openSync(path.join(directory, folder, name), "r+")
      fs.fsyncSync(descriptor)
      fs.closeSync(descriptor)
    }
  }
}

const run = async (options: Options) => {
  fs.rmSync(directory, { recursive: true, force: true })
  try {
    const stream = new EngineCommands.Stream(P2.shape)
    const commands = [...stream.setup, ...stream.take(P2.shape.count)]
    const timeOf = (sequence: number) => EngineCommands.atEpochMs(stream.shape, sequence)
    // The last record has the present time, so that nothing has expired at the start.
    const builtAtEpochMs = Date.now()
    await JournalBuilder.build(
      directory,
      stream.shape,
      commands,
      commands.length - recordsBehindSnapshot,
      (sequence) => timeOf(sequence) - timeOf(commands.length) + builtAtEpochMs
    )
    syncAll()
    options.log(`P9: ${EngineCommands.describe(stream, P2.shape.count)}; ${commands.length.toLocaleString("en-US")} records in all`)
    const seconds: Array<number> = []
    for (let run = 0; run < options.runs; run++) {
      const started = await start()
      if (!/snapshot [1-9]/.test(started.output)) throw new Error(`the venue did not start from the snapshot:\n${started.output}`)
      seconds.push(started.seconds)
      options.log(`P9 run ${run + 1}: ${format(started.seconds)} s`)
    }
    return [result("P9", "s", median(seconds), allowedSeconds)]
  } finally {
    fs.rmSync(directory, { recursive: true, force: true })
  }
}

export const section: Section = { name: "P9", run }
