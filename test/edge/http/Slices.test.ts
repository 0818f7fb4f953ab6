/** Long reads take turns by whose they are, wait in bounded lines, and end with their clients. */
import { Effect, Either } from "effect"
import { expect, test } from "vitest"
import { historiesUnavailable } from "../../../src/edge/http/Errors.js"
import { mostOfAccount, type NextSlice, Slices } from "../../../src/edge/http/Slices.js"

/** The turns of a test, run one by one. */
const turnsOf = () => {
  const waiting: Array<() => void> = []
  /** What a turn has set off is done after a few microtasks. */
  const settled = async (): Promise<void> => {
    for (let count = 0; count < 20; count++) await Promise.resolve()
  }
  /** Runs so many turns, or all there are. */
  const run = async (most = Number.POSITIVE_INFINITY): Promise<void> => {
    await settled()
    for (let count = 0; count < most && waiting.length > 0; count++) {
      expect(waiting.length).toBe(1)
      waiting.shift()!()
      await settled()
    }
  }
  return { run, slices: new Slices((turn) => void waiting.push(turn)) }
}

const reading = (log: Array<string>, name: string, count: number) => (nextSlice: NextSlice) =>
  Effect.gen(function*() {
    for (let at = 0; at < count; at++) {
      yield* nextSlice
      log.push(name)
    }
    return name
  })

test("many long reads of one account delay another's, and the venue's own, by one slice a turn", async () => {
  const { run, slices } = turnsOf()
  const log: Array<string> = []
  for (let each = 0; each < 20; each++) void Effect.runPromise(slices.read(1, undefined, reading(log, "many", 5)))
  void Effect.runPromise(slices.read(2, undefined, reading(log, "another", 3)))
  void Effect.runPromise(Effect.repeatN(Effect.tap(slices.nextOf("venue"), () => void log.push("venue")), 2))
  await run()
  const round = ["many", "another", "venue"]
  expect(log).toEqual([...round, ...round, ...round, ...Array.from({ length: 97 }, () => "many")])
})

test("of one account the read that has begun goes on first", async () => {
  const { run, slices } = turnsOf()
  const log: Array<string> = []
  for (const name of ["first", "second"]) void Effect.runPromise(slices.read(1, undefined, reading(log, name, 2)))
  await run()
  expect(log).toEqual(["first", "first", "second", "second"])
})

test("so many reads of one account wait, and one more is refused at once; none that has begun is, and no other's", async () => {
  const { run, slices } = turnsOf()
  const log: Array<string> = []
  const read = (account: number) => Effect.runPromise(Effect.either(slices.read(account, undefined, reading(log, `of ${account}`, 2))))
  const begun = read(1)
  await run(1)
  const others = Array.from({ length: mostOfAccount - 1 }, () => read(1))
  expect(await read(1)).toEqual(Either.left(historiesUnavailable))
  const another = read(2)
  await run()
  expect(await Promise.all([begun, another, ...others])).toEqual(
    [Either.right("of 1"), Either.right("of 2"), ...others.map(() => Either.right("of 1"))]
  )
  expect(log.length).toBe(2 * (mostOfAccount + 1))
})

test.each(["before its first turn", "between two", "while it is carried out"])("a read whose client leaves %s ends there", async (when) => {
  const { run, slices } = turnsOf()
  const heard = new Set<() => void>()
  const leave = (): void => [...heard].forEach((then) => then())
  const log: Array<string> = []
  const whenGone = (then: () => void) => {
    heard.add(then)
    return () => void heard.delete(then)
  }
  const left = Effect.runPromise(Effect.either(slices.read(1, whenGone, (nextSlice) =>
    Effect.gen(function*() {
      for (let at = 0; at < 9; at++) {
        yield* nextSlice
        log.push("left")
        if (when === "while it is carried out") leave()
      }
    }))))
  void Effect.runPromise(slices.read(1, undefined, reading(log, "stays", 1)))
  await run(when === "before its first turn" ? 0 : 1)
  leave()
  expect(await left).toEqual(Either.left(historiesUnavailable))
  await run()
  expect([log, heard.size]).toEqual([when === "before its first turn" ? ["stays"] : ["left", "stays"], 0])
})
