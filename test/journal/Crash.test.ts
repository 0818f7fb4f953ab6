/**
 * Processes that crash at any operation, on disks that lose, tear, reorder, fail, hang and lie. Durability (I8): what was acknowledged is
 * there after any crash; anything else is there completely or not at all, and only as a prefix of what was written. What a process has been
 * shown at opening counts as acknowledged: it may have told others.
 */
import { Cause, Effect, Exit } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { DiskError } from "../../src/journal/Disk.js"
import { Journal } from "../../src/journal/Journal.js"
import { Chain, CrashingDisk, digestsOf, generator, journalOver, replayed, session } from "./Harness.js"
import { few } from "../Depth.js"

const seeds = Number(process.env["JOURNAL_SEEDS"] ?? few(60, 140))
const firstSeed = Number(process.env["JOURNAL_FIRST_SEED"] ?? 1)
const processes = 6

/** What is known of the journal outside the process. */
interface Known {
  /** Digests of everything that the latest process found or began, in order. */
  begun: ReadonlyArray<string>
  /** How many of them were acknowledged. */
  acknowledged: number
}

/** Opens the journal, compares it with what is known, and writes until the process ends. */
const writer = (known: Known, random: () => number): Effect.Effect<never, unknown, Journal> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const found = digestsOf(yield* replayed())
    expect(found.slice(0, known.acknowledged)).toStrictEqual(known.begun.slice(0, known.acknowledged))
    expect(found).toStrictEqual(known.begun.slice(0, found.length))
    known.begun = found
    known.acknowledged = found.length
    const chain = new Chain(journal.opened)
    return yield* Effect.async<never, unknown>((resume) => {
      let inFlight = 0
      let failed = false
      const depth = 1 + Math.floor(random() * 4)
      const more = (): void => {
        while (!failed && inFlight < depth) {
          const block = chain.next(1 + Math.floor(random() * 4), Math.floor(random() * 900))
          const index = known.begun.length
          known.begun = [...known.begun, ...digestsOf([block])]
          inFlight++
          journal.begin(block, block, (failure) => {
            inFlight--
            if (failure !== undefined) {
              failed = true
              return resume(Effect.fail(failure))
            }
            expect(known.acknowledged).toBe(index)
            known.acknowledged = index + 1
            more()
          })
        }
      }
      more()
    })
  })

/** Errors of the disk end a process, and are no fault of the program. */
const isExpected = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  if (error instanceof DiskError) return true
  const tag = error instanceof Error && "_tag" in error ? error._tag : undefined
  return tag === "JournalUnknown" || tag === "JournalFull"
}

const drawFaults = (random: () => number): Partial<SimDisk.Faults> =>
  random() < 0.4 ? SimDisk.noFaults : {
    read: random() < 0.2 ? 0.02 : 0,
    write: random() < 0.4 ? 0.03 : 0,
    sync: random() < 0.5 ? 0.05 : 0,
    other: random() < 0.2 ? 0.05 : 0,
    full: random() < 0.2 ? 0.02 : 0,
    whole: random()
  }

const live = async (seed: number) => {
  const random = generator(seed)
  const crashing = new CrashingDisk(random, seed ^ 0x5eed)
  const { disk } = crashing
  const known: Known = { begun: [], acknowledged: 0 }
  let crashes = 0
  for (let process = 0; process < processes; process++) {
    Object.assign(disk.faults, SimDisk.noFaults, drawFaults(random))
    crashing.hangProbability = random() < 0.2 ? 0.02 : 0
    const calls = Math.floor(random() * (random() < 0.3 ? 20 : 150))
    const ending = await crashing.run((mounted) => Effect.provide(writer(known, random), journalOver(mounted)), calls)
    if (ending === "crashed") crashes++
    else if (Exit.isFailure(ending) && !isExpected(ending.cause)) throw Cause.squash(ending.cause)
  }
  Object.assign(disk.faults, SimDisk.noFaults)
  crashing.hangProbability = 0
  const left = digestsOf(await session(disk, replayed()))
  expect(left.slice(0, known.acknowledged)).toStrictEqual(known.begun.slice(0, known.acknowledged))
  return { acknowledged: known.acknowledged, crashes, bytes: disk.files().map((path) => disk.bytes(path)) }
}

test(`acknowledged blocks survive any crash, over ${seeds} seeds`, async () => {
  let acknowledged = 0
  let crashes = 0
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    try {
      const lived = await live(seed)
      acknowledged += lived.acknowledged
      crashes += lived.crashes
    } catch (cause) {
      throw new Error(`seed ${seed}: JOURNAL_FIRST_SEED=${seed} JOURNAL_SEEDS=1 repeats it`, { cause })
    }
  }
  expect(acknowledged).toBeGreaterThan(seeds * 5)
  expect(crashes).toBeGreaterThan(seeds)
})

test("the same seed gives the same disk", async () => {
  for (const seed of [3, 14, 15]) {
    expect(await live(seed)).toStrictEqual(await live(seed))
  }
})
