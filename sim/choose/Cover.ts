/**
 * A cheap set of runs that together reach everything wanted. The cheapest is hard to find; this comes near it, deterministically: a greedy
 * choice takes whatever adds most for its cost until nothing is missing, superfluous runs are removed, and then random parts of the choice
 * are dropped and refilled, which is kept where it costs less.
 */
import * as SimRandom from "../world/SimRandom.js"

/** A run that could be chosen. */
export interface Run {
  /** Runs with the same name exclude each other: they are one run, cut off at different places. */
  readonly name: string
  readonly cost: number
  readonly reaches: ReadonlySet<string>
}

/** How often a part of the choice is dropped and refilled. */
const attempts = 4_000

const costOf = (chosen: ReadonlyArray<Run>): number => chosen.reduce((sum, { cost }) => sum + cost, 0)

const missingOf = (wanted: ReadonlySet<string>, chosen: ReadonlyArray<Run>): Set<string> => {
  const missing = new Set(wanted)
  for (const { reaches } of chosen) for (const mark of reaches) missing.delete(mark)
  return missing
}

/** The choice without runs that add nothing, removing the most expensive first. */
const needed = (wanted: ReadonlySet<string>, chosen: ReadonlyArray<Run>): ReadonlyArray<Run> =>
  [...chosen].sort((one, other) => other.cost - one.cost).reduce((left, run) => {
    const others = left.filter((each) => each !== run)
    return missingOf(wanted, others).size === 0 ? others : left
  }, chosen)

/** Extends a choice until nothing is missing. `leaning` weights the apparent value of a run. */
const filled = (
  wanted: ReadonlySet<string>,
  runs: ReadonlyArray<Run>,
  begun: ReadonlyArray<Run>,
  leaning: () => number
): ReadonlyArray<Run> => {
  let chosen = [...begun]
  const missing = missingOf(wanted, chosen)
  while (missing.size > 0) {
    let best: Run | undefined
    let most = 0
    for (const run of runs) {
      let added = 0
      for (const mark of run.reaches) if (missing.has(mark)) added++
      if (added === 0) continue
      // For a longer version of a chosen run only the additional cost counts.
      const shorter = chosen.find(({ name }) => name === run.name)
      // It would replace the shorter version, whose marks no longer count as missing, and lacks one of them.
      if (shorter !== undefined && [...shorter.reaches].some((mark) => wanted.has(mark) && !run.reaches.has(mark))) continue
      const worth = added * leaning() / Math.max(0.01, run.cost - (shorter?.cost ?? 0))
      if (worth > most) [most, best] = [worth, run]
    }
    if (best === undefined) throw new Error(`no run reaches: ${[...missing].join("; ")}`)
    const { name, reaches } = best
    chosen = [...chosen.filter((each) => each.name !== name), best]
    for (const mark of reaches) missing.delete(mark)
  }
  return needed(wanted, chosen)
}

/** Runs that reach everything wanted; throws where no run reaches some of it. */
export const cover = (wanted: ReadonlySet<string>, runs: ReadonlyArray<Run>): ReadonlyArray<Run> => {
  const random = SimRandom.make("cover")
  // A run that costs no less and reaches no more than another is never needed.
  const worthy = runs.filter((run, at) =>
    !runs.some((other, index) =>
      index !== at && other.cost <= run.cost && (other.cost < run.cost || index < at)
      && [...run.reaches].every((mark) => !wanted.has(mark) || other.reaches.has(mark))
    )
  )
  let best = filled(wanted, worthy, [], () => 1)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const share = random.next()
    const other = filled(wanted, worthy, best.filter(() => random.chance(share)), () => 0.5 + random.next())
    if (costOf(other) < costOf(best)) best = other
  }
  return best
}
