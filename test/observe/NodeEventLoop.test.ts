/** The event loop's delay is reported for whole periods: nothing before the end of the first, and then the same until the next ends. */
import { Effect } from "effect"
import { afterEach, expect, test, vi } from "vitest"
import { EventLoop } from "../../src/observe/EventLoop.js"
import * as NodeEventLoop from "../../src/observe/NodeEventLoop.js"

afterEach(() => void vi.useRealTimers())

test("four quantiles in their order, told from the end of the first while on; nobody measures unless told to", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  expect(Effect.runSync(EventLoop)).toBeUndefined()
  Effect.runSync(
    Effect.gen(function*() {
      const measured = (yield* EventLoop)!
      expect(measured.delays()).toEqual([])
      vi.advanceTimersByTime(10_000)
      const told = measured.delays()
      expect(told.map(({ quantile }) => quantile)).toEqual([0.5, 0.9, 0.99, 1])
      for (const { seconds } of told) expect(seconds).toBeGreaterThanOrEqual(0)
      expect(measured.delays()).toBe(told)
      vi.advanceTimersByTime(10_000)
      expect(measured.delays()).not.toBe(told)
    }).pipe(Effect.provide(NodeEventLoop.layer))
  )
  expect(vi.getTimerCount()).toBe(0)
})
