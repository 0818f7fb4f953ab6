/** The behaviour of every disk when nothing goes wrong. One suite, run over each layer of the port. */
import { Effect, Either } from "effect"
import type { Layer, Scope } from "effect"
import { describe, expect, test } from "vitest"
import { Disk, DiskError, isLockLost } from "../../src/journal/Disk.js"

/** An empty disk, and how the file of a lock is taken from its holder. */
export interface Made {
  readonly disk: Layer.Layer<Disk, DiskError>
  readonly removeLock: (path: string) => void
}

/** Registers the suite. `make` gives an empty disk, and releases it when the scope closes. */
export const diskContract = (name: string, make: Effect.Effect<Made, never, Scope.Scope>): void => {
  const overMade = (sentence: string, body: (removeLock: Made["removeLock"]) => Effect.Effect<void, unknown, Disk>) =>
    test(sentence, () =>
      Effect.runPromise(Effect.scoped(Effect.flatMap(make, ({ disk, removeLock }) => Effect.provide(body(removeLock), disk)))))
  const over = (sentence: string, body: Effect.Effect<void, unknown, Disk>) => overMade(sentence, () => body)

  const codeOf = <A, R>(effect: Effect.Effect<A, unknown, R>): Effect.Effect<string, never, R> =>
    Effect.map(Effect.either(effect), (result) => {
      if (Either.isRight(result)) return "none"
      return result.left instanceof DiskError ? result.left.code : String(result.left)
    })

  const text = (value: string): Uint8Array => Buffer.from(value)
  const write = (path: string, value: string) =>
    Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open(path, "create")
      yield* file.writeAt(0, text(value))
      yield* file.dataSync
    }))
  const read = (path: string) =>
    Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open(path, "read")
      return Buffer.from(yield* file.readAt(0, yield* file.size)).toString()
    }))

  describe(name, () => {
    over("reads what was written, fewer bytes at the end, none behind it", Effect.gen(function*() {
      const disk = yield* Disk
      yield* Effect.scoped(Effect.gen(function*() {
        const file = yield* disk.open("a", "create")
        expect(yield* file.size).toBe(0)
        yield* file.writeAt(0, text("hello"))
        yield* file.writeAt(3, text("p me"))
        expect(yield* file.size).toBe(7)
        expect(Buffer.from(yield* file.readAt(0, 100)).toString()).toBe("help me")
        expect(Buffer.from(yield* file.readAt(5, 2)).toString()).toBe("me")
        expect((yield* file.readAt(7, 5)).length).toBe(0)
        expect((yield* file.readAt(100, 5)).length).toBe(0)
        const into = Buffer.from("********")
        expect(yield* file.readInto(2, into.subarray(1, 4))).toBe(3)
        expect(into.toString()).toBe("*lp ****")
        expect(yield* file.readInto(5, into)).toBe(2)
        expect(into.toString()).toBe("mep ****")
        expect(yield* file.readInto(7, into)).toBe(0)
        expect(yield* file.readInto(100, into)).toBe(0)
        yield* file.dataSync
      }))
      expect(yield* read("a")).toBe("help me")
    }))

    over("fills what is skipped with zeros", Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open("a", "create")
      yield* file.writeAt(4, text("x"))
      expect([...(yield* file.readAt(0, 5))]).toStrictEqual([0, 0, 0, 0, 120])
    })))

    over("writes and reads a megabyte as it is", Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open("a", "create")
      const bytes = Buffer.from(Array.from({ length: 1 << 20 }, (_, index) => index % 251))
      yield* file.writeAt(13, bytes)
      expect(bytes.equals(yield* file.readAt(13, bytes.length))).toBe(true)
    })))

    over("keeps what it was given, whatever becomes of the buffer", Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open("a", "create")
      const bytes = Buffer.from("before")
      yield* file.writeAt(0, bytes)
      bytes.fill("x")
      const first = yield* file.readAt(0, 6)
      first.fill(0)
      expect(Buffer.from(yield* file.readAt(0, 6)).toString()).toBe("before")
    })))

    over("opens for writing what is there, and keeps its bytes", Effect.gen(function*() {
      yield* write("a", "hello")
      yield* Effect.scoped(Effect.gen(function*() {
        const file = yield* (yield* Disk).open("a", "write")
        yield* file.writeAt(0, text("j"))
      }))
      expect(yield* read("a")).toBe("jello")
    }))

    over("creates and writes durably what is read like anything else", Effect.gen(function*() {
      const disk = yield* Disk
      yield* Effect.scoped(Effect.gen(function*() {
        const file = yield* disk.open("a", "create durably")
        yield* file.writeAt(0, text("hello"))
        yield* file.writeAt(3, text("p me"))
        expect(Buffer.from(yield* file.readAt(0, 100)).toString()).toBe("help me")
      }))
      yield* Effect.scoped(Effect.gen(function*() {
        const file = yield* disk.open("a", "write durably")
        yield* file.writeAt(0, text("k"))
        yield* file.dataSync
      }))
      expect(yield* read("a")).toBe("kelp me")
      expect(yield* codeOf(Effect.scoped(disk.open("a", "create durably")))).toBe("EEXIST")
      expect(yield* codeOf(Effect.scoped(disk.open("b", "write durably")))).toBe("ENOENT")
    }))

    over("says EEXIST, ENOENT and EBADF", Effect.gen(function*() {
      const disk = yield* Disk
      yield* write("a", "hello")
      expect(yield* codeOf(Effect.scoped(disk.open("a", "create")))).toBe("EEXIST")
      expect(yield* codeOf(Effect.scoped(disk.open("b", "read")))).toBe("ENOENT")
      expect(yield* codeOf(Effect.scoped(disk.open("b", "write")))).toBe("ENOENT")
      expect(yield* codeOf(Effect.scoped(disk.open("no/b", "create")))).toBe("ENOENT")
      expect(yield* codeOf(disk.remove("b"))).toBe("ENOENT")
      expect(yield* codeOf(disk.rename("b", "c"))).toBe("ENOENT")
      expect(yield* codeOf(disk.list("no"))).toBe("ENOENT")
      expect(yield* codeOf(disk.syncDirectory("no"))).toBe("ENOENT")
      expect(yield* codeOf(Effect.scoped(Effect.flatMap(disk.open("a", "read"), (file) => file.writeAt(0, text("x")))))).toBe("EBADF")
      expect(yield* codeOf(Effect.flatMap(Effect.scoped(disk.open("a", "read")), (file) => file.readAt(0, 1)))).toBe("EBADF")
      expect(yield* codeOf(Effect.flatMap(Effect.scoped(disk.open("a", "read")), (file) => file.readInto(0, Buffer.alloc(1))))).toBe(
        "EBADF"
      )
      expect(yield* read("a")).toBe("hello")
    }))

    over("makes directories with what is above them, again and again", Effect.gen(function*() {
      const disk = yield* Disk
      yield* disk.makeDirectory("a/b/c")
      yield* disk.makeDirectory("a/b/c")
      yield* write("a/b/c/file", "x")
      yield* disk.syncDirectory("a/b/c")
      yield* disk.syncDirectory("")
      expect(yield* read("a/b/c/file")).toBe("x")
    }))

    over("lists files only, sorted, not those of directories below", Effect.gen(function*() {
      const disk = yield* Disk
      yield* disk.makeDirectory("d/below")
      for (const name of ["d/b", "d/a", "d/c", "d/below/e"]) yield* write(name, "x")
      expect(yield* disk.list("d")).toStrictEqual(["a", "b", "c"])
    }))

    over("lists its own names, of which each has to be a file", Effect.gen(function*() {
      const disk = yield* Disk
      yield* disk.makeDirectory("d/below")
      for (const name of ["d/b.own", "d/a.own", "d/c", "d/below/e.own"]) yield* write(name, "x")
      const own = disk.listOwn("d", (name) => name.endsWith(".own"))
      expect(yield* own).toStrictEqual(["a.own", "b.own"])
      yield* disk.makeDirectory("d/f.own")
      expect(yield* Effect.flip(own)).toMatchObject({ _tag: "NoFile", path: "d/f.own", kind: "a directory" })
      expect(yield* codeOf(disk.listOwn("no", () => true))).toBe("ENOENT")
    }))

    over("renames over what is there; an open file stays the file it was", Effect.scoped(Effect.gen(function*() {
      const disk = yield* Disk
      yield* write("b", "old")
      const file = yield* disk.open("a", "create")
      yield* file.writeAt(0, text("new"))
      yield* disk.rename("a", "b")
      yield* file.writeAt(3, text("er"))
      expect(yield* disk.list("")).toStrictEqual(["b"])
      expect(yield* read("b")).toBe("newer")
    })))

    over("removes", Effect.gen(function*() {
      const disk = yield* Disk
      yield* write("a", "x")
      yield* disk.remove("a")
      expect(yield* disk.list("")).toStrictEqual([])
    }))

    over("locks one holder at a time, until the scope closes", Effect.gen(function*() {
      const disk = yield* Disk
      const locked = Effect.scoped(disk.lock("lock.db"))
      yield* Effect.scoped(Effect.gen(function*() {
        yield* disk.lock("lock.db")
        const second = yield* Effect.flip(locked)
        expect(second._tag).toBe("Locked")
      }))
      yield* locked
      yield* locked
    }))

    overMade("changes nothing by a name once its lock is lost, and what is open stays open", (removeLock) =>
      Effect.gen(function*() {
        const disk = yield* Disk
        yield* write("a", "hello")
        yield* Effect.scoped(Effect.gen(function*() {
          const lock = yield* disk.lock("lock.db")
          expect(yield* lock.isHeld).toBe(true)
          const file = yield* disk.open("a", "write")
          removeLock("lock.db")
          expect(yield* lock.isHeld).toBe(false)
          const refused = [
            yield* Effect.flip(disk.rename("a", "b")),
            yield* Effect.flip(disk.remove("a")),
            ...(yield* Effect.forEach(["write", "create", "write durably", "create durably"] as const,
              (mode) => Effect.flip(Effect.scoped(disk.open(mode.startsWith("create") ? "b" : "a", mode)))))
          ]
          expect(refused.map(isLockLost)).toEqual(refused.map(() => true))
          yield* file.writeAt(0, text("j"))
          expect(yield* read("a")).toBe("jello")
          expect(yield* Effect.flip(disk.remove("no"))).toMatchObject({ operation: "remove", path: "no" })
        }))
        // The next holder of a lock is not held to the one before.
        yield* Effect.scoped(disk.lock("lock.db"))
        yield* disk.rename("a", "b")
        expect(yield* read("b")).toBe("jello")
      }))

    over("gives a new lock until one is settled, however many ended before", Effect.gen(function*() {
      const disk = yield* Disk
      const isNew = Effect.scoped(Effect.map(disk.lock("lock.db"), (lock) => lock.isNew))
      expect([yield* isNew, yield* isNew]).toEqual([true, true])
      yield* Effect.scoped(Effect.flatMap(disk.lock("lock.db"), ({ settled }) => settled))
      expect(yield* isNew).toBe(false)
    }))

    over("finishes what is under way when it is interrupted", Effect.scoped(Effect.gen(function*() {
      const file = yield* (yield* Disk).open("a", "create")
      const bytes = Buffer.alloc(1 << 18, 1)
      const fiber = yield* Effect.fork(file.writeAt(0, bytes))
      yield* Effect.yieldNow()
      yield* fiber.interruptAsFork(fiber.id())
      yield* fiber.await
      const { length } = yield* file.readAt(0, bytes.length)
      expect([0, bytes.length]).toContain(length)
    })))
  })
}
