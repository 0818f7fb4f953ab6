/** The last sequence before which everything is older than a time, found without reading the segments in between. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Segment from "../../src/journal/Segment.js"
import { Journal } from "../../src/journal/Journal.js"
import { appendMany, generator, journalOver } from "./Harness.js"

/** The time of a record is 1000 plus its sequence. */
const timeOf = (sequence: number): number => 1_000 + sequence

const on = <A, E>(disk: SimDisk.SimDisk, effect: Effect.Effect<A, E, Journal>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, journalOver(disk.mount())) as Effect.Effect<A>)

test("it is at most a segment too early, and never too late", async () => {
  const disk = SimDisk.make({ random: generator(3) })
  const { found, last } = await on(disk, Effect.gen(function*() {
    yield* appendMany(80, 3, 300)
    const journal = yield* Journal
    let last = 0
    const found: Array<number> = []
    yield* Effect.promise(() => Promise.resolve())
    for (let sequence = 0; sequence < 200; sequence++) {
      found.push(yield* journal.before(timeOf(sequence)))
      last = sequence
    }
    return { found, last }
  }))
  const begins = disk.files().flatMap((path) => Segment.firstSequenceOf(path.split("/").at(-1)!) ?? []).sort((one, other) => one - other)
  expect(begins.length).toBeGreaterThan(5)
  for (let sequence = 1; sequence <= last; sequence++) {
    const before = found[sequence]!
    expect(before).toBeLessThan(sequence)
    // The answer is the start of the last segment that is old enough, or of the one before it if that segment's first block also has later
    // records.
    const own = begins.findLastIndex((first) => first <= sequence)
    expect([begins[own]! - 1, begins[Math.max(0, own - 1)]! - 1]).toContain(before)
  }
})

test("of what is older than the journal is left it is where that begins", async () => {
  const disk = SimDisk.make({ random: generator(3) })
  expect(await on(disk, Effect.flatMap(Journal, ({ before }) => before(0)))).toBe(0)
  const first = await on(disk, Effect.gen(function*() {
    yield* appendMany(40, 3, 300)
    const journal = yield* Journal
    expect(yield* journal.before(0)).toBe(0)
    const paths = disk.files().filter((path) => path.startsWith(Segment.directory)).sort()
    const begins = paths.map((path) => Segment.firstSequenceOf(path.split("/").at(-1)!)!)
    yield* Effect.promise(async () => disk.remove(paths[0]!))
    return [yield* journal.before(0), begins[1]! - 1]
  }))
  expect(first[0]).toBe(first[1])
})
