import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { describe } from "vitest"
import { forgetEnded } from "../src/NodeFibers.js"

const waiting = (): Fiber.RuntimeFiber<void> => Effect.runFork(Effect.async<void>(() => {}))

const listed = (): ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>> => Effect.runSync(Fiber.roots)

const isListed = (fiber: Fiber.RuntimeFiber<void>): boolean => listed().some((each) => each === fiber)

describe("the list of fibers", () => {
  it("has those of before, and forgets what has ended, in whatever order", async () => {
    const before = waiting()
    forgetEnded()
    forgetEnded()
    const [first, second, third] = [waiting(), waiting(), waiting()] as const
    for (const fiber of [before, first, second, third]) assert.isTrue(isListed(fiber))
    await Effect.runPromise(Fiber.interrupt(second))
    assert.deepStrictEqual([before, first, second, third].map(isListed), [true, true, false, true])
    await Effect.runPromise(Fiber.interrupt(before))
    await Effect.runPromise(Fiber.interrupt(third))
    assert.deepStrictEqual([before, first, third].map(isListed), [false, true, false])
    await Effect.runPromise(Fiber.interrupt(first))
    assert.isFalse(isListed(first))
    assert.deepStrictEqual(new Set(listed()).size, listed().length, "each is there once")
  })
})
