/**
 * The simulator's command line. Prints the seed and every drawn option before the first step; on a failure
 * the property, the step, the exact command that repeats it, and the story of the smallest run that fails the
 * same way, which is kept as a file.
 *
 * Exit codes: 0 clean; 64 wrong usage; 127 the program itself failed (crash); 128 liveness; 129 safety; 130
 * equal seeds gave unequal digests; 131 a mark of the kept list was not reached.
 */
import { spawn } from "node:child_process"
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import cliProgress from "cli-progress"
import { type Arguments, parse, root, type Run, runOf, usage, withScenarioFrom, WrongUsage } from "./report/Arguments.js"
import * as BugFile from "./report/BugFile.js"
import * as Failures from "./shrink/Failures.js"
import * as Filing from "./report/Filing.js"
import * as Reached from "./report/Reached.js"
import * as Scenarios from "./scenarios/All.js"
import type { Scenario } from "./scenarios/Scenario.js"
import * as Simulation from "./Simulation.js"

const exitCodes = { clean: 0, usage: 64, crash: 127, liveness: 128, safety: 129, digest: 130, unreached: 131 } as const

const repeat = (options: Arguments, given: string): string => {
  const { seed, steps } = runOf(options, given)
  return `npm run sim -- --seed ${seed} --profile ${options.profile} --steps ${steps}`
}

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

const reportFailure = (given: Arguments, { steps }: Run, report: Simulation.Report, failure: Simulation.Failure): void => {
  const options = { ...given, steps }
  print(`FAILED seed ${report.seed}: ${failure.kind} ${failure.invariant} ${failure.properties.join(", ")} at step ${failure.step}`)
  print(failure.what)
  print(`repeat: ${repeat(options, report.seed)} --trace`)
  if (!options.raw) file(options, { seed: report.seed, profile: options.profile, steps: options.steps }, failure)
}

/** Shrinks a failing run, reports it and keeps it, unless a failure of its kind is kept already. */
const file = (options: Arguments, request: Simulation.Request, failure: Simulation.Failure): void => {
  const signature = Failures.signature(failure)
  if (BugFile.signatures(options.bugs).has(signature)) return print(`known: ${signature}`)
  print(`being made smaller, for up to ${options.shrinkSeconds} s of processor time: --raw leaves that out`)
  const began = performance.now()
  const used = process.cpuUsage()
  const seconds = (): number => (performance.now() - began) / 1000
  const shrunk = Filing.shrink(request, {
    maxRuns: options.shrinkRuns,
    // Measured in processor time, so that a busy machine shrinks the run as far as an idle one.
    isOver: () => process.cpuUsage(used).user / 1e6 > options.shrinkSeconds,
    ...(process.stderr.isTTY
      ? { progress: (runs: number, steps: number) => process.stderr.write(`\r${steps} steps after ${runs} runs   `) }
      : {})
  })
  if (process.stderr.isTTY) process.stderr.write("\r")
  if (typeof shrunk === "string") return print(`not made smaller: ${shrunk}`)
  const { minimal, runs, stepsAfter, stepsBefore } = shrunk.result
  print(
    `made smaller: ${stepsBefore} steps to ${stepsAfter} in ${runs} runs, ${seconds().toFixed(1)} s${minimal ? "" : ", not to the end"}`
  )
  for (const line of shrunk.story) print(line)
  const [kept = "", bundle] = Filing.keep(options.bugs, request, shrunk)
  print(`kept: ${kept}`)
  if (bundle !== undefined) print(`bundle: ${bundle}`)
  print(`again: npm run sim -- --replay ${path.relative(root, kept)}`)
}

/** The failure in a file; why there is none, where it is no such file (a bundle beside it, a wrong path). */
const keptIn = (name: string): BugFile.BugFile | string => {
  try {
    return BugFile.read(name)
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).split("\n", 1)[0]!
  }
}

/** Replays a kept failure, and says whether it still fails. */
const runAgain = (options: Arguments, name: string): number => {
  const kept = keptIn(name)
  if (typeof kept === "string") {
    print(`${name} is no kept failure: ${kept}`)
    return exitCodes.usage
  }
  const { report, story } = Filing.tell({
    ...BugFile.request(kept),
    ...(options.trace ? { trace: printTrace } : {})
  })
  const { failure } = report
  if (failure === undefined) {
    print(`fixed: ${name} breaks nothing any more; it was ${kept.signatures[0]}`)
    return exitCodes.clean
  }
  if (!options.quiet) { for (const line of story) print(line) }
  const same = failure.properties.includes(kept.property)
  print(
    `FAILED seed ${kept.seed}: ${failure.kind} ${failure.invariant} ${failure.properties.join(", ")} at step ${failure.step}${
      same ? "" : `, not ${kept.property}`
    }`
  )
  return exitCodes[failure.kind]
}

/** Replays all kept failures of a folder and reports those that still fail; the exit code is that of the first of them. */
const runAllAgain = (options: Arguments, folder: string): number => {
  let code: number = exitCodes.clean
  const names = BugFile.names(folder)
  for (const name of names) {
    const began = performance.now()
    if (Simulation.run(BugFile.request(BugFile.read(name))).failure !== undefined) {
      const failed = runAgain(options, name)
      if (code === exitCodes.clean) code = failed
    } else if (!options.quiet)
      print(`fixed: ${path.basename(name)} breaks nothing any more, in ${Math.round(performance.now() - began)} ms`)
  }
  if (code === exitCodes.clean) print(`${names.length} kept failures break nothing any more`)
  return code
}

/** What came of some runs: the marks that they reached, and the exit code of the first that failed. */
interface Ended {
  readonly code: number
  readonly marks: Reached.Counts
}

/** Plays scenarios, one after the other, until one does not end as it must. */
const playAll = (options: Arguments): Ended => {
  let marks: Reached.Counts = {}
  for (const scenario of options.scenarios) {
    const began = performance.now()
    const report = play(options, scenario)
    const failure = Scenarios.failureOf(report)
    if (failure !== undefined) return { code: reportScenario(scenario, failure), marks }
    marks = Reached.sum(marks, report.marks)
    print(`scenario ${scenario.name} ok: ${summaryOf(report, performance.now() - began)}`)
  }
  return { code: exitCodes.clean, marks }
}

/** Plays a scenario: what it leaves on the disk is proven where it is played alone. */
const play = ({ seeds, trace }: Arguments, scenario: Scenario): Simulation.Report =>
  Scenarios.play(scenario, { unproven: seeds.length > 0, ...(trace ? { trace: printTrace } : {}) })

/** Reports a scenario that does not end as it must. Returns the exit code. */
const reportScenario = ({ name }: Scenario, { kind, properties, step, what }: Simulation.Failure): number => {
  print(`FAILED scenario ${name}: ${kind} ${properties.join(", ")} at step ${step}`)
  print(what)
  print(`repeat: npm run sim -- --scenario ${name} --trace`)
  return exitCodes[kind]
}

/** The scenario that follows a run, where one does: each is played once. */
const besides = ({ isEachWithScenario }: Arguments, { seed, steps }: Run, played: Set<Scenario>): Scenario | undefined => {
  const scenario = Scenarios.besides(seed)
  if (!isEachWithScenario || steps < withScenarioFrom || played.has(scenario)) return undefined
  played.add(scenario)
  return scenario
}

const printTrace = (step: number, atEpochMs: number, line: string): void => print(`${step} ${atEpochMs.toFixed(3)} ${line}`)

const summary = (report: Simulation.Report, wallMs: number, scenario: Scenario | undefined): string =>
  `seed ${report.seed} ok: ${summaryOf(report, wallMs)}${scenario === undefined ? "" : `, then scenario ${scenario.name} ok`}`

const summaryOf = (report: Simulation.Report, wallMs: number): string =>
  `${report.commands} calls, ${report.records} records, ${report.fills} fills, ${report.crashes} crashes, `
  + `${Math.round(report.simulatedMs)} ms simulated in ${Math.round(wallMs)} ms, digest ${report.digest.slice(0, 16)}`

/** Runs all seeds in this process, until the first failure, after what had reached those marks. */
const runAll = (options: Arguments, before: Reached.Counts = {}): number => {
  const many = options.seeds.length > 1
  const bar = many && !options.digests && process.stdout.isTTY
    ? new cliProgress.SingleBar({
      format: "{bar} {value}/{total} seeds, {records} records, {fills} fills, {crashes} crashes, eta {eta_formatted}"
    })
    : undefined
  let marks = before
  const scenarios = new Set<Scenario>()
  const total = { records: 0, fills: 0, crashes: 0, commands: 0, simulatedMs: 0 }
  const began = performance.now()
  bar?.start(options.seeds.length, 0, total)
  for (const given of options.seeds) {
    const { seed, steps } = runOf(options, given)
    const request = { seed, profile: options.profile, steps }
    if (!many && !options.digests) {
      print(`seed ${seed}, profile ${options.profile}, ${steps} steps`)
      if (!options.quiet) print(JSON.stringify(Simulation.optionsOf(request)))
    }
    const started = performance.now()
    const report = Simulation.run({
      ...request,
      ...(options.trace ? { trace: printTrace } : {})
    })
    const scenario = report.failure === undefined ? besides(options, request, scenarios) : undefined
    const played = scenario === undefined ? undefined : play(options, scenario)
    const ofScenario = played === undefined ? undefined : Scenarios.failureOf(played)
    const failure = report.failure ?? ofScenario
    if (options.digests) print(`${given} ${report.digest}${played?.digest ?? ""}${failure === undefined ? "" : " failed"}`)
    if (failure !== undefined) {
      bar?.stop()
      if (options.digests) return exitCodes[failure.kind]
      if (scenario !== undefined) return reportScenario(scenario, failure)
      if (many && !options.quiet) print(JSON.stringify(report.options))
      reportFailure(options, request, report, failure)
      return exitCodes[failure.kind]
    }
    marks = Reached.sum(marks, Reached.sum(report.marks, played?.marks ?? {}))
    total.records += report.records
    total.fills += report.fills
    total.crashes += report.crashes
    total.commands += report.commands
    total.simulatedMs += report.simulatedMs
    if (bar !== undefined) bar.increment(1, total)
    else if (!options.digests && (options.each || !options.quiet || !many)) {
      print(summary(report, performance.now() - started, scenario))
    }
  }
  bar?.stop()
  if (many && !options.digests) {
    const seconds = (performance.now() - began) / 1000
    print(
      `${options.seeds.length} seeds ok: ${total.commands} calls, ${total.records} records, ${total.fills} fills, ${total.crashes} crashes, `
        + `${Math.round(total.simulatedMs / 1000)} s simulated in ${seconds.toFixed(1)} s: `
        + `${Math.round(total.commands / seconds)} commands/s, ${Math.round(total.simulatedMs / 1000 / seconds)}x real time`
    )
  }
  if (options.digests) {
    print(`${marksWord}${JSON.stringify(marks)}`)
    return exitCodes.clean
  }
  return tellMarks(options, marks)
}

/** The first word of a line that reports the marks to another process. */
const marksWord = "marks "

/** Reports which marks were reached. Returns the exit code. */
const tellMarks = (options: Arguments, marks: Reached.Counts): number => {
  if (options.marks) print(Reached.table(marks))
  const never = Reached.never(marks)
  if (options.seeds.length > 1 && never.length > 0) print(`never reached: ${never.join("; ")}`)
  if (!options["kept-marks"]) return exitCodes.clean
  const lost = Reached.lost(marks, path.join(root, "sim/marks.json"))
  for (const mark of lost) print(`FAILED: no run reached what was reached before: ${mark}`)
  return lost.length === 0 ? exitCodes.clean : exitCodes.unreached
}

/** Output lines and exit code of a process. */
interface Heard {
  readonly lines: ReadonlyArray<string>
  readonly code: number
}

/** Runs the seeds that a file names in a process of its own: a thousand seeds would fit into its environment, ten thousand would not. */
const child = (options: Arguments, seedsPath: string): Promise<Heard> =>
  new Promise((resolve, reject) => {
    const words = ["--profile", options.profile, "--steps", String(options.steps), "--digests", "--quiet"]
    if (!options.isEachWithScenario) words.push("--scenario", "none")
    const spawned = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), ...words], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, SIM_SEEDS: seedsPath }
    })
    let output = ""
    spawned.stdout.setEncoding("utf8")
    spawned.stdout.on("data", (text: string) => {
      output += text
    })
    spawned.on("error", reject)
    spawned.on("close", (code) => resolve({ lines: output.split("\n").filter((line) => line !== ""), code: code ?? exitCodes.crash }))
  })

/** Runs all seeds in two processes and compares; plays the scenarios meanwhile. */
const runTwice = async (options: Arguments): Promise<number> => {
  print(`${options.seeds.length} seeds from ${options.seeds[0]}, profile ${options.profile}, ${options.steps} steps, twice`)
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sim-seeds-"))
  try {
    const seedsPath = path.join(folder, "seeds.json")
    fs.writeFileSync(seedsPath, JSON.stringify(options.seeds))
    const running = Promise.all([child(options, seedsPath), child(options, seedsPath)])
    const played = playAll(options)
    const code = ofBoth(options, await running, played.marks)
    return played.code === exitCodes.clean ? code : played.code
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

/** Compares what two processes made of the same seeds. Returns the exit code. */
const ofBoth = (options: Arguments, [first, second]: readonly [Heard, Heard], played: Reached.Counts): number => {
  for (let index = 0; index < Math.max(first.lines.length, second.lines.length); index++) {
    const [a, b] = [first.lines[index], second.lines[index]]
    if (a !== b) {
      const seed = (a ?? b ?? "").split(" ")[0] ?? ""
      print(`FAILED seed ${seed}: two processes differ: ${a ?? "nothing"} and ${b ?? "nothing"}`)
      print(`repeat: ${repeat(options, seed)} --twice`)
      return exitCodes.digest
    }
    if (a?.endsWith(" failed") === true) {
      const seed = a.split(" ")[0]!
      const code = runAll({ ...options, twice: false, seeds: [seed] })
      if (code !== exitCodes.clean) return code
      print(`FAILED seed ${seed}: it fails in both processes, and not when it runs alone: what ran before it there has left something`)
      return first.code
    }
  }
  if (first.code !== 0) return first.code
  const digests = first.lines.filter((line) => !line.startsWith(marksWord))
  const digest = crypto.createHash("sha256").update(digests.join("\n")).digest("hex")
  print(`${digests.length} seeds ok twice, all digests equal; digest of digests ${digest.slice(0, 16)}`)
  const marks = first.lines.find((line) => line.startsWith(marksWord))?.slice(marksWord.length) ?? "{}"
  return tellMarks(options, Reached.sum(played, JSON.parse(marks) as Reached.Counts))
}

/** Plays the scenarios and runs the seeds in this process. */
const runHere = (options: Arguments): number => {
  const { code, marks } = playAll(options)
  if (code !== exitCodes.clean) return code
  return options.seeds.length === 0 ? tellMarks(options, marks) : runAll(options, marks)
}

/** What a command line asks for. What is wrong with it comes last, where it is seen. */
const asked = (): Arguments => {
  try {
    const parsed = parse(process.argv.slice(2))
    if (typeof parsed !== "string") return parsed
    process.stdout.write(parsed)
    return process.exit(exitCodes.clean)
  } catch (error) {
    if (!(error instanceof WrongUsage)) throw error
    process.stderr.write(`${usage}\n\n${error.message}\n`)
    return process.exit(exitCodes.usage)
  }
}

const parsed = asked()
const seedsPath = process.env["SIM_SEEDS"]
const options: Arguments = parsed.digests && seedsPath !== undefined
  ? { ...parsed, seeds: JSON.parse(fs.readFileSync(seedsPath, "utf8")) as ReadonlyArray<string> }
  : parsed
process.exitCode = options.replay !== undefined
  ? fs.statSync(options.replay, { throwIfNoEntry: false })?.isDirectory() === true
    ? runAllAgain(options, options.replay)
    : runAgain(options, options.replay)
  : options.twice
  ? await runTwice(options)
  : runHere(options)
