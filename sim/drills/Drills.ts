/**
 * Drills: what tools, starts and readers say and do of a data directory is judged on small ones of which every byte is known, each on a
 * disk of its own, so that nothing of the run is shifted. A venue's start comes across only a few of these directories in its life, and
 * reads what they hold only once.
 */
import type { Reached } from "../../src/domain/Branches.js"
import type { Record } from "../../src/journal/Record.js"
import * as Block from "../../src/journal/Block.js"
import { none } from "../../src/domain/None.js"
import { noFingerprint } from "../../src/operations/Fingerprint.js"
import type { State } from "../../src/engine/State.js"
import type { SimRandom } from "../world/SimRandom.js"
import { codec } from "./codec.js"
import { copying } from "./copying.js"
import { cutting, cuttingRefused, cuttingWithin, restoring } from "./cutting.js"
import { damage, kinds } from "./damage.js"
import { following, followingTold } from "./following.js"
import { layouts } from "./layouts.js"
import { losing } from "./losing.js"
import { memory } from "./memory.js"
import { reading, remains } from "./reading.js"
import { sampling } from "./sampling.js"
import { lostStep, savesThatFail, snapshots, steps } from "./snapshots.js"
import { writing } from "./writing.js"
import { Judge, Yard } from "./Yard.js"

/** A drill, and what was found wrong. */
export interface Drilled {
  readonly what: string
  readonly fault: string | undefined
}

const sector = Block.sectorBytes

/** A few segments of a few short blocks. */
const small = (random: SimRandom, samples: ReadonlyArray<Record>): Yard =>
  new Yard(random, samples).layOut({
    segments: random.between(1, 4),
    segmentBytes: () => sector * random.between(6, 24),
    blocksInOne: () => random.between(1, 5),
    recordsInOne: () => random.between(1, 4)
  })

/** A record that fills most of what is read at once in a few of its kind. */
const long = (random: SimRandom): Record => ({
  sequence: 1,
  atEpochMs: 0,
  command: {
    kind: "CancelAllOrders",
    principal: 5,
    account: 0,
    credential: 0,
    operation: 4,
    idempotencyKey: "long",
    fingerprint: noFingerprint,
    market: none,
    raw: "x".repeat(random.pick([3_000, 30_000, 70_000]))
  }
})

/** Segments longer than what is read at once, with blocks that lie across it. */
const large = (random: SimRandom): Yard =>
  new Yard(random, [long(random), long(random)]).layOut({
    segments: 1,
    segmentBytes: () => sector * random.between(2_000, 2_500),
    blocksInOne: () => random.between(3, 12),
    recordsInOne: () => random.between(1, 3)
  })

/** A journal of which something can be followed. */
const longer = (random: SimRandom, samples: ReadonlyArray<Record>): Yard => {
  const yard = small(random, samples)
  return yard.blocks.length > 2 ? yard : longer(random.split("longer"), samples)
}

type Made = (random: SimRandom, samples: ReadonlyArray<Record>) => Yard

/** How often a drill that takes a millisecond or two is made at once. */
const times = 3

/** How often a drill of a loss is made at once: there are many kinds of losses, and as many moments for them. */
const lossTimes = 4

const drills: ReadonlyArray<readonly [what: string, made: Made, drill: (judge: Judge, yard: Yard) => void, times?: number]> = [
  ["reading", small, reading],
  ["reading of much", large, reading],
  ["remains", small, remains, times],
  ["remains of much", large, remains],
  ["following", longer, following],
  ["following who tells", longer, followingTold],
  ["copying", small, copying],
  ["cutting", small, cutting, times],
  ["cutting within a block", small, cuttingWithin, times],
  ["cutting where it is refused", small, cuttingRefused, times],
  ["restoring a size", small, restoring, times],
  ["snapshots", small, snapshots],
  ["saves that fail", small, savesThatFail, times],
  ["steps", small, steps],
  ["memory", longer, memory],
  ["layouts", small, layouts],
  ["codec", small, codec],
  ["writing", small, writing, times],
  ["a lost step", small, lostStep, times],
  ["losing the segment that is written", small, losing, lossTimes]
]

/** One of so many runs makes a drill: each costs some milliseconds, and those on much many. */
const drillDraws = 2
const longDraws = 5

/** Kinds of damage in one run. */
const damagesInOne = 6

const judged = (what: string, drill: (judge: Judge) => void, reached?: Reached): Drilled => {
  const judge = new Judge(reached)
  try {
    drill(judge)
  } catch (error) {
    judge.holds(`it broke: ${String(error)}`, false)
  }
  return { what, fault: judge.fault }
}

/**
 * The drills of one run, over records of its journal and a state of its own, which is put back. `reached` is called with marks that no
 * venue of a run can reach, or hardly any.
 */
export const run = (
  random: SimRandom,
  samples: ReadonlyArray<Record>,
  state: State,
  reached?: Reached
): ReadonlyArray<Drilled> => {
  const done = [judged("samples", (judge) => sampling(judge, state, random.split("samples")))]
  for (const [what, made, drill, most = 1] of drills) {
    const own = random.split(what)
    if (own.below(made === large ? longDraws : drillDraws) > 0) continue
    for (let time = 1; time <= most; time++) {
      done.push(judged(what, (judge) => drill(judge, made(time === 1 ? own : own.split(String(time)), samples)), reached))
    }
  }
  const left = [...kinds]
  for (let count = 0; count < damagesInOne; count++) {
    const kind = left.splice(random.below(left.length), 1)[0]!
    done.push(judged(kind[0], (judge) => damage(judge, small(random.split(kind[0]), samples), kind), reached))
  }
  return done
}
