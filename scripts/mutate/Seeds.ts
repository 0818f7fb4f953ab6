/** Judges mutants by runs of the simulator: first records which run reaches which mutant, then plays the runs that reach each mutant. */
import type * as Options from "../../sim/faults/Options.js"
import type { Lane } from "./Lane.js"
import type { Module, Site } from "./Sites.js"
import type { Verdict } from "./State.js"
import { type Judging, type Message, nameOfScenario, type Played, scenarioOf } from "./Task.js"

export interface Terms {
  readonly profile: Options.Profile
  readonly steps: number
  readonly seeds: ReadonlyArray<string>
  readonly scenarios: ReadonlyArray<string>
}

/** The unmutated venue in all runs. */
export interface Baseline {
  readonly runs: ReadonlyArray<Played>
  /** For each mutant's number, the runs that reach it. */
  readonly reachedBy: ReadonlyMap<number, ReadonlyArray<Played>>
  /** Mutants that are reached while a module is loaded: they need a process of their own. */
  readonly byLoading: ReadonlySet<number>
}

/** Sites in one module. */
export interface Batch {
  readonly module: Module
  readonly sites: ReadonlyArray<Site>
}

/** The names of all runs, as in `Played`. */
const runsOf = ({ scenarios, seeds }: Terms): ReadonlyArray<string> => [...seeds, ...scenarios.map(nameOfScenario)]

const titleOf = (run: string): string => scenarioOf(run) === undefined ? `seed ${run}` : run

/** Mutants that one process judges: loading the venue takes longer than most runs. */
const batchSize = 24

/** Plays all runs with the unmutated venue; throws where one fails without any mutant. */
export const record = async (
  lane: Lane,
  modules: ReadonlyArray<Batch>,
  terms: Terms,
  progress: (done: number) => void
): Promise<Baseline> => {
  lane.plant(modules.map(({ module, sites }) => [module, sites]), "recording")
  const mutants = Math.max(0, ...modules.flatMap(({ sites }) => sites.map(({ id }) => id)))
  const runs: Array<Played> = []
  const reachedBy = new Map<number, Array<Played>>()
  let byLoading: ReadonlySet<number> = new Set()
  const failures: Array<string> = []
  const { code, last, signal } = await lane.run({
    kind: "recording",
    mutants,
    runs: runsOf(terms),
    profile: terms.profile,
    steps: terms.steps
  }, (message) => {
    if (message.kind === "loaded") byLoading = new Set(message.reached)
    if (message.kind !== "recorded") return
    const { failure, reached, run } = message
    if (failure !== undefined) failures.push(`${titleOf(run.name)} fails without any mutant: ${failure}`)
    runs.push(run)
    progress(runs.length)
    for (const id of reached) {
      const known = reachedBy.get(id)
      if (known === undefined) reachedBy.set(id, [run])
      else known.push(run)
    }
  })
  if (lane.isStopped) return { runs, reachedBy, byLoading }
  if (failures.length > 0) throw new Error(failures.join("\n"))
  if (code !== 0) throw new Error(`the unmutated venue ended with ${signal ?? code}:\n${last}`)
  // The effect of loading shows in every run, or in none.
  for (const id of byLoading) reachedBy.set(id, runs)
  return { runs, reachedBy, byLoading }
}

/** The groups for consecutive processes: `batchSize` mutants each, except that those reached by loading are alone. */
export const groups = (sites: ReadonlyArray<Site>, { byLoading }: Baseline): ReadonlyArray<ReadonlyArray<Site>> => {
  const together = sites.filter(({ id }) => !byLoading.has(id))
  const chunks = Array.from({ length: Math.ceil(together.length / batchSize) },
    (_, index) => together.slice(index * batchSize, (index + 1) * batchSize))
  return [...chunks, ...sites.filter(({ id }) => byLoading.has(id)).map((site) => [site])]
}

/** How often each run has killed a mutant in each file: runs that killed neighbouring mutants are tried first. */
export class Killers {
  private readonly kills = new Map<string, number>()

  note(path: string, run: string): void {
    this.kills.set(`${path} ${run}`, this.of(path, run) + 1)
  }

  /**
   * The runs in the order in which they are tried: by their kills, then by their speed. Scenarios follow the seeds, although they are
   * faster: so a mutant counts as killed by a scenario only if no seed kills it.
   */
  order(path: string, runs: ReadonlyArray<Played>): ReadonlyArray<Played> {
    const isScenario = ({ name }: Played): number => scenarioOf(name) === undefined ? 0 : 1
    return [...runs].sort((a, b) => isScenario(a) - isScenario(b) || this.of(path, b.name) - this.of(path, a.name) || a.cpuMs - b.cpuMs)
  }

  private of(path: string, run: string): number {
    return this.kills.get(`${path} ${run}`) ?? 0
  }
}

/** How far one process got. */
interface Ran {
  /** Mutants whose verdicts are certain, and were reported. */
  readonly certain: ReadonlySet<number>
  /** Its verdicts on the others. */
  readonly uncertain: ReadonlyMap<number, Verdict>
  /** The mutant that ran last, if it has no verdict, and the run that it was in. */
  readonly open: { readonly id: number; readonly run: string } | undefined
  readonly end: string
  readonly last: string
}

/** Runs one process, and reports verdicts as soon as they are certain. */
const runOnce = async (
  lane: Lane,
  modules: ReadonlyArray<Module>,
  sites: ReadonlyArray<Site>,
  judging: Judging,
  tell: (id: number, verdict: Verdict) => void
): Promise<Ran> => {
  const planted = modules.map((module) => [module, sites.filter(({ path }) => path === module.path)] as const)
  lane.plant(planted.filter(([, here]) => here.length > 0), "switched")
  const certain = new Set<number>()
  const uncertain = new Map<number, Verdict>()
  let open: Ran["open"]
  const hear = (message: Message): void => {
    switch (message.kind) {
      case "begun":
        open = message
        break
      case "killed":
        uncertain.set(message.id, { outcome: "killed", by: message.by, at: message.run, what: message.what })
        open = undefined
        break
      case "survived":
        uncertain.set(message.id, { outcome: "survived", seen: message.seen })
        open = undefined
        break
      case "guarded":
        if (!message.sound) break
        for (const [id, verdict] of uncertain) {
          certain.add(id)
          tell(id, verdict)
        }
        uncertain.clear()
        break
      case "loaded":
      case "recorded":
        break
    }
  }
  const { code, last, signal } = await lane.run(judging, hear)
  return { certain, uncertain, open, end: signal === "SIGKILL" ? "time limit" : `ended with ${signal ?? code}`, last }
}

/**
 * Judges a group, and reports each verdict once it is certain: a process's verdicts count if the unmutated venue still runs in it as
 * before. Where it does not, and where a mutant ended the process, those since the last such proof are judged again.
 */
export const judge = async (
  lane: Lane,
  modules: ReadonlyArray<Module>,
  group: ReadonlyArray<Site>,
  { baseline, killers, terms }: { readonly baseline: Baseline; readonly killers: Killers; readonly terms: Terms },
  tell: (site: Site, verdict: Verdict) => void
): Promise<void> => {
  const [guard] = [...baseline.runs].sort((a, b) => a.cpuMs - b.cpuMs)
  const put = (sites: ReadonlyArray<Site>, id: number, verdict: Verdict): void => {
    const site = sites.find((each) => each.id === id)!
    if (verdict.outcome === "killed") killers.note(site.path, verdict.at)
    tell(site, verdict)
  }
  const waiting: Array<ReadonlyArray<Site>> = [group]
  for (let sites = waiting.shift(); sites !== undefined && !lane.isStopped; sites = waiting.shift()) {
    const here = sites
    const mutants = here.map(({ id, path }) => ({ id, runs: killers.order(path, baseline.reachedBy.get(id) ?? []) }))
    const judging: Judging = { kind: "judging", profile: terms.profile, steps: terms.steps, guard: guard!, mutants }
    const { certain, end, last, open, uncertain } = await runOnce(lane, modules, here, judging, (id, verdict) => put(here, id, verdict))
    if (lane.isStopped) return
    const others = here.filter(({ id }) => !certain.has(id) && id !== open?.id)
    const [only, ...more] = [...uncertain]
    if (open !== undefined) {
      put(here, open.id, { outcome: "ended", by: end, at: open.run, what: end === "time limit" ? "" : last.slice(-200) })
      if (others.length > 0) waiting.push(others)
    } else if (here.length === 1 && only !== undefined && more.length === 0) put(here, ...only)
    else if (here.length > 1) waiting.push(...others.map((site) => [site]))
    else throw new Error(`${here[0]!.path}: the runner ended (${end}) and says nothing of its mutant:\n${last}`)
  }
}
