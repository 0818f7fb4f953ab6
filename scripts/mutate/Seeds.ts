/** Judges mutants by simulator seeds: first which seed reaches which mutant, then each mutant over the seeds that reach it. */
import type * as Options from "../../sim/faults/Options.js"
import type { Lane } from "./Lane.js"
import type { Module, Site } from "./Sites.js"
import type { Verdict } from "./State.js"
import type { Judging, Message, Seed } from "./Task.js"

export interface Terms {
  readonly profile: Options.Profile
  readonly steps: number
  readonly seeds: ReadonlyArray<string>
}

/** The unmutated venue over all seeds. */
export interface Baseline {
  readonly seeds: ReadonlyArray<Seed>
  /** By number: the seeds that reach a mutant. */
  readonly reachedBy: ReadonlyMap<number, ReadonlyArray<Seed>>
  /** Mutants of what is done by loading a module: they need a process of their own. */
  readonly byLoading: ReadonlySet<number>
}

/** Sites of one module. */
export interface Batch {
  readonly module: Module
  readonly sites: ReadonlyArray<Site>
}

/** Mutants that one process judges: loading the venue takes longer than most seeds. */
const batchSize = 24

/** Runs the unmutated venue over all seeds; throws where a seed fails without any mutant. */
export const record = async (
  lane: Lane,
  modules: ReadonlyArray<Batch>,
  terms: Terms,
  progress: (done: number) => void
): Promise<Baseline> => {
  lane.plant(modules.map(({ module, sites }) => [module, sites]), "recording")
  const mutants = Math.max(0, ...modules.flatMap(({ sites }) => sites.map(({ id }) => id)))
  const seeds: Array<Seed> = []
  const reachedBy = new Map<number, Array<Seed>>()
  let byLoading: ReadonlySet<number> = new Set()
  const failures: Array<string> = []
  const { code, last, signal } = await lane.run({ kind: "recording", mutants, ...terms }, (message) => {
    if (message.kind === "loaded") byLoading = new Set(message.reached)
    if (message.kind !== "recorded") return
    const { failure, reached, seed } = message
    if (failure !== undefined) failures.push(`seed ${seed.seed} fails without any mutant: ${failure}`)
    seeds.push(seed)
    progress(seeds.length)
    for (const id of reached) {
      const known = reachedBy.get(id)
      if (known === undefined) reachedBy.set(id, [seed])
      else known.push(seed)
    }
  })
  if (lane.isStopped) return { seeds, reachedBy, byLoading }
  if (failures.length > 0) throw new Error(failures.join("\n"))
  if (code !== 0) throw new Error(`the unmutated venue ended with ${signal ?? code}:\n${last}`)
  // What loading alone does shows in every seed, or in none.
  for (const id of byLoading) reachedBy.set(id, seeds)
  return { seeds, reachedBy, byLoading }
}

/** What processes are given, one after the other: `batchSize` mutants each, but those that loading reaches stand alone. */
export const groups = (sites: ReadonlyArray<Site>, { byLoading }: Baseline): ReadonlyArray<ReadonlyArray<Site>> => {
  const together = sites.filter(({ id }) => !byLoading.has(id))
  const chunks = Array.from({ length: Math.ceil(together.length / batchSize) },
    (_, index) => together.slice(index * batchSize, (index + 1) * batchSize))
  return [...chunks, ...sites.filter(({ id }) => byLoading.has(id)).map((site) => [site])]
}

/** How often each seed has killed a mutant of each file: what killed a neighbour is asked first. */
export class Killers {
  private readonly kills = new Map<string, number>()

  note(path: string, seed: string): void {
    this.kills.set(`${path} ${seed}`, this.of(path, seed) + 1)
  }

  /** The seeds in the order in which they are asked: by their kills, then by how fast they are. */
  order(path: string, seeds: ReadonlyArray<Seed>): ReadonlyArray<Seed> {
    return [...seeds].sort((a, b) => this.of(path, b.seed) - this.of(path, a.seed) || a.cpuMs - b.cpuMs)
  }

  private of(path: string, seed: string): number {
    return this.kills.get(`${path} ${seed}`) ?? 0
  }
}

/** What one process found, and how far it came. */
interface Found {
  readonly verdicts: ReadonlyMap<number, Verdict>
  /** The mutant that ran last, if it has no verdict. */
  readonly openId: number | undefined
  readonly openSeed: string
  /** Undefined where the process did not come to say. */
  readonly sound: boolean | undefined
  readonly end: string
  readonly last: string
}

const runOnce = async (lane: Lane, modules: ReadonlyArray<Module>, sites: ReadonlyArray<Site>, judging: Judging): Promise<Found> => {
  const planted = modules.map((module) => [module, sites.filter(({ path }) => path === module.path)] as const)
  lane.plant(planted.filter(([, here]) => here.length > 0), "switched")
  const verdicts = new Map<number, Verdict>()
  let openId: number | undefined
  let openSeed = ""
  let sound: boolean | undefined
  const hear = (message: Message): void => {
    switch (message.kind) {
      case "begun":
        openId = message.id
        openSeed = message.seed
        break
      case "killed":
        verdicts.set(message.id, { outcome: "killed", by: message.by, at: message.seed, what: message.what })
        openId = undefined
        break
      case "survived":
        verdicts.set(message.id, { outcome: "survived", seen: message.seen })
        openId = undefined
        break
      case "guarded":
        sound = message.sound
        break
      case "loaded":
      case "recorded":
        break
    }
  }
  const { code, last, signal } = await lane.run(judging, hear)
  return { verdicts, openId, openSeed, sound, end: signal === "SIGKILL" ? "time limit" : `ended with ${signal ?? code}`, last }
}

/**
 * Judges a group, and tells each verdict once it is certain: what a process said counts when the unmutated venue still runs
 * in it as ever. Where it does not, and where a mutant ended the process, the others are judged again.
 */
export const judge = async (
  lane: Lane,
  modules: ReadonlyArray<Module>,
  group: ReadonlyArray<Site>,
  { baseline, killers, terms }: { readonly baseline: Baseline; readonly killers: Killers; readonly terms: Terms },
  tell: (site: Site, verdict: Verdict) => void
): Promise<void> => {
  const [guard] = [...baseline.seeds].sort((a, b) => a.cpuMs - b.cpuMs)
  const put = (site: Site, verdict: Verdict): void => {
    if (verdict.outcome === "killed") killers.note(site.path, verdict.at)
    tell(site, verdict)
  }
  const waiting: Array<ReadonlyArray<Site>> = [group]
  for (let sites = waiting.shift(); sites !== undefined && !lane.isStopped; sites = waiting.shift()) {
    const mutants = sites.map(({ id, path }) => ({ id, seeds: killers.order(path, baseline.reachedBy.get(id) ?? []) }))
    const judging: Judging = { kind: "judging", profile: terms.profile, steps: terms.steps, guard: guard!, mutants }
    const { end, last, openId, openSeed, sound, verdicts } = await runOnce(lane, modules, sites, judging)
    if (lane.isStopped) return
    const open = sites.find(({ id }) => id === openId)
    if (open !== undefined) {
      put(open, { outcome: "ended", by: end, at: openSeed, what: end === "time limit" ? "" : last.slice(-200) })
      const others = sites.filter((site) => site !== open)
      if (others.length > 0) waiting.push(others)
    } else if (sound === true || (sites.length === 1 && verdicts.size === 1)) {
      for (const site of sites) put(site, verdicts.get(site.id)!)
    } else if (sites.length > 1) {
      waiting.push(...sites.map((site) => [site]))
    } else {
      throw new Error(`${sites[0]!.path}: the runner ended (${end}) and says nothing of its mutant:\n${last}`)
    }
  }
}
