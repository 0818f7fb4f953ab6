/** When snapshots are taken and saved: each of a durable state, one at a time, and no more often than requested. */
import { Deferred, Effect } from "effect"
import { describe, expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import { DiskError } from "../../src/journal/Disk.js"
import type { Taken } from "../../src/journal/SnapshotStore.js"
import * as SnapshotTaker from "../../src/sequencer/SnapshotTaker.js"

const unused = (): never => {
  throw new Error("the taker only saves")
}

/** A taker over an empty engine whose sequence is set by hand; every save waits until the test releases it. */
const setUp = (every: number, from = 0) => {
  const { state } = Engine.make({ orders: 10, idempotencyKeys: 10 })
  const begun: Array<number> = []
  const saves: Array<Deferred.Deferred<void, DiskError>> = []
  const snapshots = {
    save: (snapshot: Taken) =>
      Effect.suspend(() => {
        begun.push(snapshot.sequence)
        const save = Deferred.unsafeMake<void, DiskError>(undefined as never)
        saves.push(save)
        return Deferred.await(save)
      }),
    latest: Effect.sync(unused),
    list: Effect.sync(unused),
    load: unused,
    saveStep: unused,
    loadStep: unused,
    removeStep: unused,
    names: Effect.sync(unused)
  }
  const runtime = Effect.runSync(Effect.runtime<never>())
  const taker = SnapshotTaker.make(snapshots, { state, from, every, runtime })
  /** Lets every fiber run that can. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await Effect.runPromise(Effect.yieldNow())
  }
  return {
    taker,
    begun,
    settle,
    build: (sequence: number) => {
      state.sequence = sequence
      taker.built(sequence, new Uint8Array(32).fill(sequence))
    },
    commit: async (sequence: number) => {
      taker.committed(sequence)
      await settle()
    },
    finish: async (failure?: DiskError) => {
      const save = saves.shift()!
      Deferred.unsafeDone(save, failure === undefined ? Effect.void : Effect.fail(failure))
      await settle()
    }
  }
}

describe("a snapshot", () => {
  test("is taken where so many records were decided since the last one, not one before", async () => {
    const { begun, build, commit, finish } = setUp(10, 5)
    build(14)
    await commit(14)
    expect(begun).toEqual([])
    build(15)
    await commit(15)
    expect(begun).toEqual([15])
    await finish()
    build(24)
    await commit(24)
    expect(begun).toEqual([15])
    build(26)
    await commit(26)
    expect(begun).toEqual([15, 26])
  })

  test("is saved when its block is durable, and not before", async () => {
    const { begun, build, commit } = setUp(10)
    build(10)
    await commit(9)
    expect(begun).toEqual([])
    // The state advances; the snapshot taken stays as it was.
    build(30)
    await commit(10)
    expect(begun).toEqual([10])
  })

  test("is alone on its way: none is taken while one is saved", async () => {
    const { begun, build, commit, finish } = setUp(10)
    build(10)
    await commit(10)
    build(20)
    await commit(20)
    expect(begun).toEqual([10])
    await finish()
    // It is taken at the next block, not at the one that was skipped.
    await commit(20)
    expect(begun).toEqual([10])
    build(21)
    await commit(21)
    expect(begun).toEqual([10, 21])
  })

  test("that cannot be saved is given up, and the next one is taken in its time", async () => {
    const { begun, build, commit, finish, taker } = setUp(10)
    build(10)
    await commit(10)
    expect(taker.isUnsaved()).toBe(false)
    await finish(new DiskError({ operation: "write", path: "snapshots", code: "EIO" }))
    await commit(10)
    expect([begun, taker.isUnsaved()]).toEqual([[10], true])
    build(20)
    await commit(20)
    // It counts as failing until the next one is saved, not only until that is begun.
    expect([begun, taker.isUnsaved()]).toEqual([[10, 20], true])
    await finish()
    expect(taker.isUnsaved()).toBe(false)
  })

  test("is not taken while the venue runs where none is asked for", async () => {
    const { begun, build, commit } = setUp(0)
    build(1_000_000)
    await commit(1_000_000)
    expect(begun).toEqual([])
  })

  test("is taken last of the state as it is, behind the one on its way", async () => {
    const { begun, build, commit, finish, settle, taker } = setUp(10)
    build(10)
    await commit(10)
    build(13)
    let over = false
    const last = Effect.runPromise(taker.last(new Uint8Array(32).fill(13))).then(() => {
      over = true
    })
    await settle()
    expect([begun, over]).toEqual([[10], false])
    await finish()
    expect([begun, over]).toEqual([[10, 13], false])
    await finish()
    await last
    expect(over).toBe(true)
  })
})
