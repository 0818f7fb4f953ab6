/** Snapshots are read back as they were saved, or not at all. */
import * as crypto from "node:crypto"
import { Context, Effect, Layer, Logger, LogLevel } from "effect"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { replayedRecords } from "../../src/domain/Retention.js"
import { Disk, DiskError, isLockLost, lockLostAt } from "../../src/journal/Disk.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { CrashingDisk, generator } from "./Harness.js"
import { few } from "../Depth.js"

const snapshotOf = (sequence: number): SnapshotStore.Snapshot => ({
  sequence,
  blockDigest: Buffer.alloc(32, sequence),
  schema: 3,
  sections: [
    { name: "numbers", bytes: new Uint8Array(new Float64Array([1.5, sequence]).buffer) },
    { name: "odd", bytes: Buffer.from("abc") },
    { name: "empty", bytes: new Uint8Array(0) },
    { name: "é", bytes: Buffer.alloc(3_000, sequence) }
  ]
})

const comparable = (snapshot: SnapshotStore.Snapshot | undefined) =>
  snapshot && {
    sequence: snapshot.sequence,
    blockDigest: Buffer.from(snapshot.blockDigest).toString("hex"),
    schema: snapshot.schema,
    sections: snapshot.sections.map(({ name, bytes }) => [name, Buffer.from(bytes).toString("hex")])
  }

const store = (disk: SimDisk.SimDisk) => Layer.provide(SnapshotStore.layer, disk.mount())
const save = (sequence: number) => Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.save(snapshotOf(sequence)))
const latest = Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.latest)
const list = Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.list)

const on = <A, E>(disk: SimDisk.SimDisk, body: Effect.Effect<A, E, SnapshotStore.SnapshotStore>) =>
  Effect.runPromise(Effect.provide(Logger.withMinimumLogLevel(body, LogLevel.None), store(disk)))

/** Reads a snapshot in pieces of `atOnceBytes`, larger sections into memory of their own, and records which memory was requested. */
const readApart = (disk: SimDisk.SimDisk, atOnceBytes: number) => {
  const given: Array<readonly [string, number]> = []
  const memoryFor: SnapshotStore.MemoryFor = (name, bytes) => {
    given.push([name, bytes])
    return { bytes: new Uint8Array(bytes + 64).subarray(16, 16 + bytes), room: `room for ${name}` }
  }
  const layer = Layer.provide(SnapshotStore.layerBesideInto(memoryFor, atOnceBytes), disk.mount())
  const read = Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.load(9))
  return Effect.runPromise(Effect.map(Effect.provide(read, layer), (found) => ({ found, given })))
}

/** The disk with another way to remove files. */
const removingBy = (disk: SimDisk.SimDisk, remove: (real: Disk["Type"], path: string) => Effect.Effect<void, DiskError>) =>
  Layer.map(disk.mount(), (context) => {
    const real = Context.get(context, Disk)
    return Context.make(Disk, { ...real, remove: (path) => remove(real, path) })
  })

const emptyDisk = () => SimDisk.make({ random: generator(1), latencyMs: { min: 0, max: 0 } })

describe("SnapshotStore", () => {
  test("has none at first", async () => {
    expect(await on(emptyDisk(), latest)).toBeUndefined()
  })

  test("gives the newest, keeps two, and aligns sections to 8 bytes", async () => {
    const disk = emptyDisk()
    for (const sequence of [5, 9, 12]) await on(disk, save(sequence))
    expect(await on(disk, list)).toStrictEqual([9, 12])
    const found = await on(disk, latest)
    expect(comparable(found)).toStrictEqual(comparable(snapshotOf(12)))
    for (const { bytes } of found!.sections) expect(bytes.byteOffset % 8).toBe(0)
  })

  test("is saved where older ones cannot be removed, which only takes up space until they can be", async () => {
    const disk = emptyDisk()
    const warned: Array<string> = []
    let isRefusing = true
    const refusing = removingBy(disk,
      (real, path) => isRefusing ? Effect.fail(new DiskError({ operation: "remove", path, code: "EPERM" })) : real.remove(path))
    const listed = await Effect.runPromise(Effect.gen(function*() {
      for (const sequence of [5, 9, 12]) yield* save(sequence)
      const withAll = yield* list
      isRefusing = false
      yield* save(15)
      return [withAll, yield* list]
    }).pipe(
      Effect.provide(Layer.provide(SnapshotStore.layer, refusing)),
      Effect.provide(Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => void warned.push(String(message)))))
    ))
    expect(listed).toStrictEqual([[5, 9, 12], [12, 15]])
    expect(warned).toHaveLength(1)
    expect(warned[0]).toContain("snapshots/00000000000000000005.snap failed: EPERM")
  })

  test("is told as not saved where the lock was lost as older ones were removed: another process may be writing", async () => {
    const losing = removingBy(emptyDisk(), (_, path) => Effect.fail(lockLostAt("remove", path)))
    const failed = await Effect.runPromise(
      Effect.zipRight(Effect.forEach([5, 9], save), Effect.flip(save(12))).pipe(Effect.provide(Layer.provide(SnapshotStore.layer, losing)))
    )
    expect(isLockLost(failed)).toBe(true)
  })

  test("lists what a state may be taken from newest first, the state of the last step among them", async () => {
    const disk = emptyDisk()
    const step = Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.saveStep(snapshotOf(9)))
    for (const sequence of [5, 9]) await on(disk, save(sequence))
    const before = (sequence: number) =>
      on(disk, Effect.gen(function*() {
        const kept = yield* SnapshotStore.keptBefore(yield* SnapshotStore.SnapshotStore, sequence)
        return yield* Effect.forEach(kept, ({ isStep, load, sequence: at }) =>
          Effect.map(load, (loaded) => [isStep ? "step" : "snapshot", at, typeof loaded === "string" ? loaded : loaded.sequence]))
      }))
    expect(await before(100)).toEqual([["snapshot", 9, 9], ["snapshot", 5, 5]])
    await on(disk, step)
    expect(await before(100)).toEqual([["snapshot", 9, 9], ["step", 9, 9], ["snapshot", 5, 5]])
    await Effect.runPromise(
      Effect.provide(Effect.flatMap(Disk, (files) => files.remove(`snapshots/${"9".padStart(20, "0")}.snap`)), disk.mount())
    )
    expect(await before(100)).toEqual([["step", 9, 9], ["snapshot", 5, 5]])
    expect(await before(9)).toEqual([["snapshot", 5, 5]])
  })

  test("of older ones keeps what a reading of so many records begins with, however often they are taken", () => {
    const most = replayedRecords
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.integer({ min: 1, max: most }), fc.integer({ min: 1, max: 50 })), { maxLength: 200 }), (steps) => {
        let there: ReadonlyArray<number> = []
        let newest = 0
        for (const step of steps) {
          newest += step
          const before = [...there, newest]
          there = SnapshotStore.keptOf(before)
          // The newest two, the next one to become a million records old, and of the older ones two per doubling of age.
          const doublings = Math.max(0, Math.log2(newest / most))
          expect(there.length).toBeLessThanOrEqual(4 + 2 * doublings)
          expect(there.slice(-2)).toEqual(before.slice(-2))
          // A client that missed the most records that are run again needs a run of at most twice as many, plus a step.
          const reached = there.filter((sequence) => sequence <= newest - most).at(-1) ?? 0
          expect(newest - reached).toBeLessThanOrEqual(3 * most)
        }
      }),
      { numRuns: 300, seed: 4 }
    )
    expect(SnapshotStore.keptOf([5_000_000, 5_000_010, 5_000_020, 5_900_000])).toEqual([5_000_000, 5_000_020, 5_900_000])
    expect(SnapshotStore.keptOf([5_000_000, 5_000_020, 5_900_000, 6_000_010])).toEqual([5_000_000, 5_000_020, 5_900_000, 6_000_010])
    expect(SnapshotStore.keptOf([5_000_000, 5_000_020, 5_900_000, 6_000_020])).toEqual([5_000_000, 5_000_020, 5_900_000, 6_000_020])
    expect(SnapshotStore.keptOf([4_500_000, 5_000_000, 5_000_020, 5_900_000, 6_000_020])).toEqual([4_500_000, 5_000_020, 5_900_000,
      6_000_020])
  })

  test("of those that are older still keeps what a reading begins with at most as far again back, and few of them", () => {
    const most = replayedRecords
    const step = fc.oneof(fc.integer({ min: 1, max: most }), fc.integer({ min: 1, max: 50 }), fc.integer({ min: most, max: 9 * most }))
    fc.assert(
      fc.property(fc.array(step, { minLength: 20, maxLength: 300 }),
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 8, maxLength: 8 }), (steps, shares) => {
        const taken: Array<number> = []
        let there: ReadonlyArray<number> = []
        let newest = 0
        for (const [index, records] of steps.entries()) {
          newest += records
          taken.push(newest)
          there = SnapshotStore.keptOf([...there, newest])
          if (index % 7 !== 0 || newest <= most) continue
          for (const share of shares) {
            // An age between a million records and everything, with each magnitude equally likely.
            const age = Math.floor(most * (newest / most) ** share)
            const before = (all: ReadonlyArray<number>): number => newest - (all.findLast((sequence) => sequence <= newest - age) ?? 0)
            const begins = before(there)
            if (begins > 2 * age && begins > before(taken)) {
              expect.unreachable(`what is ${age} old is read from ${begins} back, of ${JSON.stringify(there)} behind ${newest}`)
            }
          }
        }
        expect(there.length).toBeLessThanOrEqual(19)
      }),
      { numRuns: 100, seed: 4 }
    )
    const million = Array.from({ length: 100 }, (_, at) => (at + 1) * most)
    expect(million.reduce<ReadonlyArray<number>>((kept, sequence) => SnapshotStore.keptOf([...kept, sequence]), []))
      .toEqual([32, 64, 80, 88, 92, 96, 98, 99, 100].map((count) => count * most))
  })

  test("writes what is made piece by piece in the same memory as if it had been there at once", async () => {
    const disk = emptyDisk()
    const memory = Buffer.alloc(3)
    const made = (name: string, texts: ReadonlyArray<string>, length: number): SnapshotStore.Streamed => ({
      name,
      length,
      *pieces() {
        for (const text of texts) yield memory.subarray(0, memory.write(text))
      }
    })
    const whole = snapshotOf(5)
    const taken = (length: number): SnapshotStore.Taken => ({
      ...whole,
      sections: [made("made", ["abc", "d", "ef"], length), ...whole.sections, made("none", [], 0)]
    })
    const saved = (length: number) => Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.save(taken(length)))
    await on(disk, saved(6))
    const sections = [{ name: "made", bytes: Buffer.from("abcdef") }, ...whole.sections, { name: "none", bytes: Buffer.alloc(0) }]
    expect(comparable(await on(disk, latest))).toStrictEqual(comparable({ ...whole, sections }))
    // A snapshot whose bytes would be read as another section's is never published under its name.
    for (const length of [5, 7]) {
      const other = emptyDisk()
      await expect(on(other, saved(length))).rejects.toThrow("a section is as long as it says")
      expect(other.files().filter((file) => file.startsWith("snapshots/"))).toEqual([])
    }
  })

  test("what was read ahead is not given once there is a newer one, nor a second time", async () => {
    const disk = emptyDisk()
    await on(disk, save(5))
    const sequences = await on(disk, Effect.gen(function*() {
      const first = (yield* latest)?.sequence
      disk.flip(disk.files().find((file) => file.includes("5.snap"))!, 40, 1)
      const second = (yield* latest)?.sequence
      return [first, second]
    }))
    expect(sequences).toEqual([5, undefined])
    expect((await on(disk, Effect.zipRight(save(9), latest)))?.sequence).toBe(9)
  })

  test("passes over a damaged one, whichever byte it is", async () => {
    const disk = emptyDisk()
    await on(disk, Effect.zipRight(save(5), save(9)))
    const path = disk.files().find((file) => file.includes("9.snap"))!
    const bytes = disk.bytes(path)
    for (let at = 0; at < bytes.length; at += 7) {
      disk.flip(path, at, at % 8)
      expect(comparable(await on(disk, latest))).toStrictEqual(comparable(snapshotOf(5)))
      disk.flip(path, at, at % 8)
    }
    expect((await on(disk, latest))?.sequence).toBe(9)
  })

  test("reads what is larger than what is read at once to memory of each section's own", async () => {
    const disk = emptyDisk()
    await on(disk, save(9))
    const { length: size } = disk.bytes(disk.files().find((file) => file.includes("9.snap"))!)
    for (const atOnceBytes of [200, 300, 511, 512, 1_024, size - 33, size - 32, size - 31, size - 1]) {
      const { found, given } = await readApart(disk, atOnceBytes)
      if (typeof found === "string") expect.unreachable(found)
      expect(comparable(found)).toStrictEqual(comparable(snapshotOf(9)))
      expect(given).toEqual(snapshotOf(9).sections.map(({ bytes, name }) => [name, bytes.length]))
      expect(found.sections.map(({ room }) => room)).toEqual(given.map(([name]) => `room for ${name}`))
    }
    const { found, given } = await readApart(disk, size)
    if (typeof found === "string") expect.unreachable(found)
    expect(comparable(found)).toStrictEqual(comparable(snapshotOf(9)))
    expect(given).toEqual([])
  })

  test("passes over a damaged one that is read so, whichever byte it is, also where its head says otherwise or is longer", async () => {
    const disk = emptyDisk()
    await on(disk, save(9))
    const path = disk.files().find((file) => file.includes("9.snap"))!
    const { length } = disk.bytes(path)
    for (const atOnceBytes of [64, 300]) {
      for (let at = 0; at < length; at += at < 400 ? 3 : 37) {
        disk.flip(path, at, at % 8)
        expect((await readApart(disk, atOnceBytes)).found).toBe("its digest does not match its bytes")
        disk.flip(path, at, at % 8)
      }
    }
    // The head alone is longer than one read: it is complete, but cannot be parsed.
    expect((await readApart(disk, 64)).found).toBe("it has another format")
  })

  test.each([
    [1, "it has another format"],
    [4, "a newer version wrote it (format 4, and this program reads up to 3)"]
  ])("passes over an intact one of format %d and says why", async (version, why) => {
    const disk = emptyDisk()
    await on(disk, Effect.zipRight(save(5), save(9)))
    const path = disk.files().find((file) => file.includes("9.snap"))!
    const bytes = Buffer.from(disk.bytes(path))
    const end = bytes.length - 32
    expect(bytes.readUInt32LE(8)).toBe(3)
    bytes.writeUInt32LE(version, 8)
    crypto.createHash("sha256").update(bytes.subarray(0, end)).digest().copy(bytes, end)
    disk.overwrite(path, 0, bytes)
    expect(await on(disk, Effect.flatMap(SnapshotStore.SnapshotStore, (snapshots) => snapshots.load(9)))).toBe(why)
    expect(comparable(await on(disk, latest))).toStrictEqual(comparable(snapshotOf(5)))
  })

  test("reads without writing where there is no directory yet", async () => {
    const disk = emptyDisk()
    const read = Effect.provide(latest, Layer.provide(SnapshotStore.layerReadOnly, disk.mount()))
    expect(await Effect.runPromise(read)).toBeUndefined()
    expect(disk.files()).toStrictEqual([])
  })

  test("one that finds no room leaves the ones before, and none of its own bytes", async () => {
    const disk = SimDisk.make({ random: generator(1), latencyMs: { min: 0, max: 0 }, capacityBytes: 9_000 })
    for (const sequence of [5, 6]) await on(disk, save(sequence))
    const before = disk.files()
    expect(await on(disk, Effect.flip(save(7)))).toMatchObject({ _tag: "DiskError", code: "ENOSPC" })
    expect(disk.files()).toStrictEqual(before)
    expect((await on(disk, latest))?.sequence).toBe(6)
  })

  test("a crash while saving leaves the one before, or both", async () => {
    let sawOld = 0
    for (let seed = 1; seed <= few(80, 200); seed++) {
      const random = generator(seed)
      const crashing = new CrashingDisk(random, seed)
      const { disk } = crashing
      await on(disk, Effect.zipRight(save(5), save(6)))
      const before = disk.calls()
      const ending = await crashing.run(
        (mounted) => Effect.provide(save(7), Layer.provide(SnapshotStore.layer, mounted)),
        Math.floor(random() * 30)
      )
      expect(disk.calls()).toBeGreaterThanOrEqual(before)
      const found = await on(disk, latest)
      if (ending === "crashed") expect([6, 7]).toContain(found?.sequence)
      else expect(found?.sequence).toBe(7)
      expect(comparable(found)).toStrictEqual(comparable(snapshotOf(found!.sequence)))
      if (found?.sequence === 6) sawOld++
      await on(disk, save(8))
      expect((await on(disk, latest))?.sequence).toBe(8)
    }
    expect(sawOld).toBeGreaterThan(20)
  })
})
