/**
 * The main fiber of a process: it is interrupted by SIGINT and SIGTERM, and the process ends when it has ended, with the code that its
 * `teardown` makes of it.
 */
import { makeRunMain } from "@effect/platform/Runtime"

/** Longer than any process runs, and as long as a timer can: it keeps a process whose fiber only waits. */
const foreverMs = 2 ** 31 - 1

/** Runs an effect as the whole of a process. */
export const runMain = makeRunMain(({ fiber, teardown }) => {
  const alive = setInterval(() => {}, foreverMs)
  let isAsked = false
  const forget = (): void => {
    process.removeListener("SIGINT", interrupt)
    process.removeListener("SIGTERM", interrupt)
  }
  // A second signal finds nobody who listens, and ends the process as signals do.
  const interrupt = (): void => {
    isAsked = true
    forget()
    fiber.unsafeInterruptAsFork(fiber.id())
  }
  fiber.addObserver((exit) => {
    forget()
    clearInterval(alive)
    // Without a signal or a fault the process ends when nothing is left to do, so that what was printed gets out.
    teardown(exit, (code) => {
      if (isAsked || code !== 0) process.exit(code)
    })
  })
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
})
