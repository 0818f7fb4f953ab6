/**
 * Makes small mistakes in the compiled venue, one after another, and counts those that the simulator's seeds and scenarios notice (and,
 * with `--tests`, the unit tests of the folder): what survives is not tested by anything.
 *
 * Exit codes: 0 done, or out of time; 1 the score is below `--bar`, the unmutated venue fails, or the list of equivalent mutants names
 * something that no longer exists; 64 wrong usage.
 */
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import cliProgress from "cli-progress"
import * as Equivalent from "./mutate/Equivalent.js"
import { Lane } from "./mutate/Lane.js"
import * as Report from "./mutate/Report.js"
import * as Seeds from "./mutate/Seeds.js"
import * as Selection from "./mutate/Selection.js"
import * as Settings from "./mutate/Settings.js"
import * as Sites from "./mutate/Sites.js"
import { fingerprint, State } from "./mutate/State.js"
import * as Suites from "./mutate/Suites.js"

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..")

/** Parts of this tool that influence a verdict. */
const judging: ReadonlyArray<string> = ["dist/scripts/mutate/Planting.js", "dist/scripts/mutate/runner.js"]

const print = (line: string): void => {
  process.stdout.write(`${line}\n`)
}

type Progress = (done: number, total: number) => void

/** A progress bar on a terminal; elsewhere one line for every tenth. */
const progressOf = (title: string): { readonly at: Progress; readonly end: () => void } => {
  if (!process.stdout.isTTY) {
    let tenth = -1
    return {
      at: (done, total) => {
        const now = total === 0 ? 10 : Math.floor(10 * done / total)
        if (now !== tenth) print(`${title}: ${done}/${total}`)
        tenth = now
      },
      end: () => undefined
    }
  }
  const bar = new cliProgress.SingleBar({ format: `${title} {bar} {value}/{total}, eta {eta_formatted}` })
  let begun = false
  return {
    at: (done, total) => {
      if (!begun) bar.start(total, done)
      begun = true
      bar.update(done)
    },
    end: () => bar.stop()
  }
}

/** One run of the tool: the request, the known verdicts, and the lanes where processes run. */
class Run {
  private made: ReadonlyArray<Lane> = []
  readonly state: State
  readonly chosen: ReadonlyArray<Seeds.Batch>
  readonly equivalent: ReadonlySet<Sites.Site>

  constructor(readonly settings: Settings.Settings, modules: ReadonlyArray<Sites.Module>, chosen: ReadonlyArray<Seeds.Batch>) {
    const { profile, scenarios, seeds, state, steps } = settings
    const of = fingerprint(root, ["dist/src", "dist/sim", ...judging], [profile, String(steps), ...seeds, ...scenarios])
    const withTests = fingerprint(root, ["dist/src", "dist/sim", "dist/test", ...judging], [])
    this.state = new State(state, { seeds: of, tests: withTests })
    if (this.state.kept > 0) print(`${this.state.kept} verdicts are known from ${state}`)
    if (this.state.dropped > 0) print(`${this.state.dropped} verdicts of another state of the code were dropped`)
    this.chosen = chosen
    this.equivalent = Equivalent.sitesOf(modules, Equivalent.read(root))
  }

  /** Made for the first that is to be judged: each copies the compiled venue, which a run that knows all verdicts does without. */
  get lanes(): ReadonlyArray<Lane> {
    if (this.made.length === 0) this.made = Array.from({ length: this.settings.jobs }, () => new Lane(root))
    return this.made
  }

  stop(): void {
    for (const lane of this.made) lane.stop()
  }

  remove(): void {
    for (const lane of this.made) lane.remove()
  }

  async judge(): Promise<void> {
    await this.bySeeds()
    if (this.settings.tests) await this.byTests()
  }

  judged(): ReadonlyArray<Report.Judged> {
    return this.chosen.flatMap(({ sites }) =>
      sites.map((site) => ({
        site,
        isEquivalent: this.equivalent.has(site),
        seeds: this.state.verdict("seeds", site.key),
        tests: this.settings.tests ? this.state.verdict("tests", site.key) : undefined
      }))
    )
  }

  /** Sites of each module that satisfy a condition; modules without any are left out. */
  private those(isWanted: (site: Sites.Site) => boolean): ReadonlyArray<Seeds.Batch> {
    return this.chosen.flatMap(({ module, sites }) => {
      const wanted = sites.filter((site) => !this.equivalent.has(site) && isWanted(site))
      return wanted.length === 0 ? [] : [{ module, sites: wanted }]
    })
  }

  /** Runs `work` for everything that is waiting, in all lanes concurrently. */
  private async inLanes<A>(waiting: ReadonlyArray<A>, work: (lane: Lane, each: A) => Promise<void>): Promise<void> {
    const queue = [...waiting]
    await Promise.all(this.lanes.map(async (lane) => {
      for (let next = queue.shift(); next !== undefined && !lane.isStopped; next = queue.shift()) await work(lane, next)
    }))
  }

  private async bySeeds(): Promise<void> {
    const open = this.those(({ key }) => this.state.verdict("seeds", key) === undefined)
    if (open.length === 0) return
    const recording = progressOf("runs without a mutant")
    const total = this.settings.seeds.length + this.settings.scenarios.length
    const baseline = await Seeds.record(this.lanes[0]!, open, this.settings, (done) => recording.at(done, total))
    recording.end()
    if (this.lanes[0]!.isStopped) return
    const sites = open.flatMap((batch) => batch.sites)
    for (const { id, key } of sites) if (!baseline.reachedBy.has(id)) this.state.put("seeds", key, { outcome: "unreached" })
    const judging = progressOf("mutants by the simulator")
    let done = sites.filter(({ id }) => !baseline.reachedBy.has(id)).length
    judging.at(done, sites.length)
    const reached = Selection.shuffled(sites.filter(({ id }) => baseline.reachedBy.has(id)), (site) => site, this.settings.draw)
    const groups = Selection.shuffled(Seeds.groups(reached, baseline), ([first]) => first!, this.settings.draw)
    const modules = open.map(({ module }) => module)
    const means = { baseline, killers: new Seeds.Killers(), terms: this.settings }
    await this.inLanes(groups, (lane, group) =>
      Seeds.judge(lane, modules, group, means, ({ key }, verdict) => {
        this.state.put("seeds", key, verdict)
        judging.at(++done, sites.length)
      }))
    judging.end()
  }

  private async byTests(): Promise<void> {
    const open = this.those(({ key }) => {
      const outcome = this.state.verdict("seeds", key)?.outcome
      return (outcome === "survived" || outcome === "unreached") && this.state.verdict("tests", key) === undefined
    })
    if (open.length === 0) return
    const recording = progressOf("test files without a mutant")
    const reach = await Suites.record(this.lanes[0]!, open, recording.at)
    recording.end()
    for (const file of reach.failing) print(`fails without any mutant here, and judges nothing: ${file}`)
    if (reach.suites.size === 0 && reach.failing.length > 0)
      throw new Error("no test passes without a mutant: nothing can be judged by them")
    const judging = progressOf("mutants by unit tests")
    const pairs = open.flatMap(({ module, sites }) => sites.map((site) => ({ module, site })))
    let done = 0
    await this.inLanes(pairs, async (lane, { module, site }) => {
      const verdict = await Suites.judge(lane, module, site, reach)
      if (verdict === undefined) return
      this.state.put("tests", site.key, verdict)
      judging.at(++done, pairs.length)
    })
    judging.end()
  }
}

/** Runs the chosen mutants, until done, out of time or interrupted. */
const finish = async (run: Run): Promise<void> => {
  const { minutes } = run.settings
  const limit = minutes === undefined ? undefined : setTimeout(() => run.stop(), minutes * 60_000)
  const interrupted = (): void => run.stop()
  process.once("SIGINT", interrupted).once("SIGTERM", interrupted)
  try {
    await run.judge()
  } finally {
    clearTimeout(limit)
    process.off("SIGINT", interrupted).off("SIGTERM", interrupted)
    run.stop()
    run.remove()
  }
}

const main = async (): Promise<number> => {
  const settings = Settings.parse(process.argv.slice(2))
  const began = performance.now()
  const entries = Equivalent.read(root)
  const stale = Equivalent.staleIn(root, entries)
  for (const { path: file, source } of stale) print(`${Equivalent.file} names a mutant that is no longer there: ${file}: ${source}`)
  if (settings.changed !== undefined && !Selection.hasRevision(root, settings.changed)) {
    print(`there is no ${settings.changed} to compare with: nothing is mutated`)
    return stale.length === 0 ? 0 : 1
  }
  const modules = Sites.modulesUnder(root, settings.paths)
  const chosen = Selection.select(root, modules, settings)
  const total = chosen.reduce((sum, { sites }) => sum + sites.length, 0)
  print(
    `${total} mutants in ${chosen.length} files, ${settings.seeds.length} seeds of ${settings.steps} steps, profile ${settings.profile}, `
      + `${settings.scenarios.length} scenarios`
  )
  if (total === 0) return stale.length === 0 ? 0 : 1
  const run = new Run(settings, modules, chosen)
  await finish(run)
  const judged = run.judged()
  print(Report.text(judged, settings.tests))
  print(`${Math.round((performance.now() - began) / 1000)} s`)
  const { all } = Report.summarize(judged)
  if (settings.json !== undefined) {
    const { draw, profile, sample, scenarios, seeds, steps, tests } = settings
    Report.write(settings.json, judged, { draw, profile, sample, seeds: seeds.length, scenarios: scenarios.length, steps, tests })
  }
  const score = settings.tests ? all.byAll : all.bySimulator
  const isBelow = settings.bar !== undefined && score !== undefined && score < settings.bar
  return stale.length > 0 || isBelow ? 1 : 0
}

try {
  process.exitCode = await main()
} catch (error) {
  process.stderr.write(`${error instanceof Settings.Usage ? `${error.message}\n${Settings.usage}` : String(error)}\n`)
  process.exitCode = error instanceof Settings.Usage ? 64 : 1
}
