/** A failure of any operation: the journal stops for good, says why, and loses nothing that was acknowledged. */
import { Effect, Either, Exit } from "effect"
import { describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Journal } from "../../src/journal/Journal.js"
import { append, appendMany, Chain, digestsOf, generator, journalOver, replayed, session } from "./Harness.js"
import { few } from "../Depth.js"

const blocks = 14

/** Opens a journal and appends over a few segments, one block at a time; adds the acknowledged digests to `told`. */
const process = (told: Array<string>) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const chain = new Chain(journal.opened)
    for (let index = 0; index < blocks; index++) {
      const block = chain.next(2, 700)
      const failure = yield* Effect.flip(append(block)).pipe(Effect.catchAll(() => Effect.succeed(undefined)))
      if (failure === undefined) {
        told.push(...digestsOf([block]))
        continue
      }
      // After a failure nothing is accepted, and the error stays the same.
      const again = yield* Effect.flip(append(block))
      expect(again).toStrictEqual(failure)
      return failure
    }
    return undefined
  })

const run = async (code: "EIO" | "ENOSPC", failAt: number, crash: SimDisk.Crash) => {
  let failed: SimDisk.Call | undefined
  let armed = true
  const disk = SimDisk.make({
    random: generator(failAt),
    inject: (call) => {
      if (!armed || call.index !== failAt) return undefined
      failed = call
      return code
    }
  })
  const told: Array<string> = []
  const ended = await session(disk, process(told)).then(Either.right, Either.left)
  armed = false
  disk.crash(crash)
  const left = digestsOf(await session(disk, Effect.zipLeft(replayed(), appendMany(2))))
  expect(left.slice(0, told.length)).toStrictEqual(told)
  expect(left.length).toBeLessThanOrEqual(told.length + 1)
  return { failed, ended, told }
}

describe.each(["EIO", "ENOSPC"] as const)("%s at any operation", (code) => {
  test.each(["power", "kill"] as const)("loses nothing that was acknowledged, after a %s", async (crash) => {
    const seen = new Set<SimDisk.Operation>()
    let failAt = 0
    for (;; failAt++) {
      const { failed, ended, told } = await run(code, failAt, crash)
      if (failed === undefined) {
        expect(told.length).toBe(blocks)
        break
      }
      seen.add(failed.operation)
      if (told.length === blocks) continue
      // Either opening failed as a whole, or an append returned the failure.
      const error: unknown = Either.isRight(ended) ? ended.right : ended.left
      expect(String(error)).toContain(code)
      if (Either.isRight(ended)) expect(ended.right?._tag).toBe(code === "ENOSPC" ? "JournalFull" : "JournalUnknown")
    }
    expect(failAt).toBeGreaterThan(80)
    for (const operation of ["open", "writeAt", "readAt", "rename", "list", "syncDirectory"] as const) {
      expect(seen).toContain(operation)
    }
  })
})

test("What a process found after a kill at any operation is still there after a power failure", async () => {
  for (let killAt = 0;; killAt++) {
    let killed = false
    const told: Array<string> = []
    await new Promise<void>((resolve) => {
      const disk: SimDisk.SimDisk = SimDisk.make({
        random: generator(killAt),
        faults: { whole: 0 },
        inject: ({ index }) => {
          if (index === killAt && !killed) {
            killed = true
            disk.crash("kill")
            resolve(afterwards(disk, told))
          }
          return undefined
        }
      })
      Effect.runFork(Effect.provide(process(told), journalOver(disk.mount()))).addObserver(() => resolve())
    })
    if (!killed) return expect(killAt).toBeGreaterThan(80)
  }
})

const afterwards = async (disk: SimDisk.SimDisk, told: ReadonlyArray<string>): Promise<void> => {
  const found = digestsOf(await session(disk, Effect.zipRight(appendMany(1), replayed())))
  expect(found.slice(0, told.length)).toStrictEqual(told)
  disk.crash("power")
  expect(digestsOf(await session(disk, replayed()))).toStrictEqual(found)
}

describe("A failed write of a block", () => {
  test.each([0, 1, 2, 3])("is the last: number %i of four in flight fails with all behind it, and no other is begun", async (failing) => {
    let armed = false
    let writes = 0
    const disk = SimDisk.make({
      random: generator(5),
      inject: ({ operation, path }) => armed && operation === "writeAt" && path.endsWith(".seg") && writes++ === failing ? "EIO" : undefined
    })
    await session(disk, Effect.gen(function*() {
      const journal = yield* Journal
      const chain = new Chain(journal.opened)
      armed = true
      const results = yield* Effect.all(Array.from({ length: 4 }, () => Effect.exit(append(chain.next()))), { concurrency: 4 })
      expect(results.slice(failing).every(Exit.isFailure)).toBe(true)
      expect(Exit.isFailure(yield* Effect.exit(append(chain.next())))).toBe(true)
      for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow()
      expect(writes).toBe(4)
      armed = false
    }))
  })

  test("may be shown to the next process and not be durable: that is written again before it is built upon", async () => {
    let lied = 0
    const seeds = few(40, 80)
    for (let seed = 1; seed <= seeds; seed++) {
      let armed = false
      const disk = SimDisk.make({
        random: generator(seed),
        faults: { whole: 0 },
        inject: ({ operation }) => armed && operation === "writeAt" ? "EIO" : undefined
      })
      await session(disk, Effect.gen(function*() {
        const chain = new Chain((yield* Journal).opened)
        yield* append(chain.next())
        armed = true
        yield* Effect.exit(append(chain.next(3, 600)))
        armed = false
      }))
      // The page cache may still return the block although it may not be on the disk.
      const shown = digestsOf(await session(disk, replayed()))
      if (shown.length === 2) lied++
      disk.crash("power")
      expect(digestsOf(await session(disk, replayed()))).toStrictEqual(shown)
    }
    expect(lied).toBeGreaterThan(seeds / 4)
  })
})

test("A name whose sync has failed may be shown to the next process and not be durable: it is given again before it is built upon", async () => {
  const places = new Set<number>()
  for (let seed = 1; seed <= few(3, 30); seed++) {
    for (let failAt = 0;; failAt++) {
      let syncs = 0
      const disk = SimDisk.make({
        random: generator(seed),
        inject: ({ operation, path }) => operation === "syncDirectory" && path === "journal" && syncs++ === failAt ? "EIO" : undefined
      })
      const told: Array<string> = []
      await session(disk, process(told)).catch(() => undefined)
      if (syncs <= failAt) break
      places.add(failAt)
      disk.crash("kill")
      const found = digestsOf(await session(disk, Effect.zipRight(appendMany(1), replayed())))
      disk.crash("power")
      expect(digestsOf(await session(disk, replayed()))).toStrictEqual(found)
    }
  }
  expect(places.size).toBeGreaterThan(4)
})

test("A full disk is said to be full, also where the next segment does not fit any more", async () => {
  const disk = SimDisk.make({ random: generator(1), capacityBytes: 20_000 })
  const failure = await session(disk, process([]))
  expect(failure?._tag).toBe("JournalFull")
  expect(failure?.message).toContain("ENOSPC")
})

test("A next segment that cannot be prepared is told to whoever waits for room, also where nothing is in flight", async () => {
  let armed = false
  const disk = SimDisk.make({ random: generator(3), inject: ({ operation }) => armed && operation === "writeAt" ? "EIO" : undefined })
  // Little is left of so small a segment, so the next process waits for whether there is room for another.
  await session(disk, appendMany(1))
  await session(disk, Effect.gen(function*() {
    const journal = yield* Journal
    armed = true
    const heard = { room: 0 }
    journal.whenRoom(() => heard.room++)
    expect(journal.room()).toBe("soon")
    for (let turn = 0; turn < 200 && heard.room === 0; turn++) yield* Effect.yieldNow()
    expect([journal.room(), heard.room]).toEqual(["all", 1])
    const failure = yield* Effect.flip(append(new Chain(journal.opened).next()))
    expect(failure).toMatchObject({ _tag: "JournalUnknown" })
    armed = false
  }))
})
