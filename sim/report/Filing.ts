/** What is done with a failing run: its script is recorded, shrunk, told as a story and kept as a file. */
import * as Shrink from "../shrink/Shrink.js"
import * as Simulation from "../Simulation.js"
import * as BugFile from "./BugFile.js"
import * as Tale from "./Tale.js"

export interface Limits {
  readonly maxRuns: number
  readonly isOver?: () => boolean
  readonly progress?: (runs: number, steps: number) => void
}

export interface Shrunk {
  readonly result: Shrink.Result
  readonly story: ReadonlyArray<string>
  readonly blocks: ReadonlyArray<Uint8Array>
}

/** Records a failing run and shrinks it. Returns the reason if the script does not fail as the run did. */
export const shrink = (request: Simulation.Request, limits: Limits): Shrunk | string => {
  const { failure, options, script } = Simulation.run({ ...request, record: true })
  if (failure === undefined || script === undefined) return "the run does not fail when it is recorded"
  const run = ({ options, script }: Shrink.Subject, unproven: boolean) => Simulation.run({ ...request, options, script, unproven }).failure
  const result = Shrink.shrink({ script, options }, failure, { ...limits, run })
  if (result === undefined) return "its recorded script does not break what the run broke"
  const told = tell({ ...request, options: result.subject.options, script: result.subject.script })
  return { result, story: told.story, blocks: told.report.blocks }
}

/** Runs a script and tells its story. */
export const tell = (request: Simulation.Request): { readonly report: Simulation.Report; readonly story: ReadonlyArray<string> } => {
  const tale = Tale.make(Simulation.startEpochMs)
  const report = Simulation.run({ ...request, record: true, listen: tale.listen, dealt: tale.dealt })
  const script = request.script ?? report.script
  return { report, story: script === undefined ? [] : tale.tell(report, script) }
}

/** Writes a finding. Returns the paths. */
export const keep = (folder: string, request: Simulation.Request, { blocks, result }: Shrunk): ReadonlyArray<string> =>
  BugFile.write(folder, BugFile.make(request, result), blocks)
