/** What a client missed is read once it is durable, and the client is answered even if the reading fails. */
import { Effect, Fiber, Logger, TestClock, TestContext } from "effect"
import { describe, expect, test } from "vitest"
import { missedOf } from "../../../src/edge/socket/Missed.js"
import { DiskError } from "../../../src/journal/Disk.js"
import type { Piece, Replaying } from "../../../src/streams/Replay.js"

const piece: Piece = { updates: [], throughSequence: 20 }

/** A journal whose durable sequence is set by the test. */
const journal = () => {
  let durable = 0
  const waiting: Array<{ readonly sequence: number; readonly callback: () => void }> = []
  return {
    whenDurable: (sequence: number, callback: () => void): void => {
      if (sequence <= durable) callback()
      else waiting.push({ sequence, callback })
    },
    become: (sequence: number): void => {
      durable = sequence
      for (const each of waiting) if (each.sequence <= sequence) each.callback()
    }
  }
}

const soon = TestClock.adjust(0)

const run = (effect: Effect.Effect<void>): Promise<void> =>
  Effect.runPromise(Effect.provide(Effect.provide(effect, TestContext.TestContext), Logger.remove(Logger.defaultLogger)))

describe("what a client missed", () => {
  test("is not asked for while the record that it ends with is decided and not durable", () =>
    run(Effect.gen(function*() {
      const { become, whenDurable } = journal()
      const asked: Array<ReadonlyArray<unknown>> = []
      const missed: Replaying["missed"] = (...[channel, account, after, upTo, give]) =>
        Effect.suspend(() => {
          asked.push([channel, account, after, upTo])
          return give(piece)
        })
      const told = yield* Effect.fork(
        missedOf(whenDurable, { missed })("account.orders", 3, 10, 20, (given) => Effect.succeed(given.throughSequence))
      )
      yield* soon
      become(19)
      yield* soon
      expect(asked).toEqual([])
      become(20)
      yield* soon
      expect(asked).toEqual([["account.orders", 3, 10, 20]])
      expect(yield* Fiber.join(told)).toBe(20)
      // What is durable already is read at once.
      yield* missedOf(whenDurable, { missed })("account.orders", 3, 10, 20, () => Effect.void)
      expect(asked).toHaveLength(2)
    })))

  test.each<readonly [string, Effect.Effect<undefined, DiskError>, "room" | undefined]>([
    ["too many wait", Effect.succeed(undefined), "room"],
    ["the disk fails", Effect.fail(new DiskError({ operation: "readAt", path: "journal", code: "EIO" })), undefined],
    ["it cannot be made again", Effect.die("a defect"), undefined]
  ])("is answered without where %s", (_, read, answer) =>
    run(Effect.gen(function*() {
      const { become, whenDurable } = journal()
      become(20)
      const missed = () => read
      expect(yield* missedOf(whenDurable, { missed })("account.orders", 3, 10, 20, () => Effect.void)).toBe(answer)
    })))
})
