/**
 * The main fiber of a process: it is interrupted by SIGINT and SIGTERM, and the process ends when it has ended, with the code that its
 * `teardown` makes of it. A signal that comes a second after the first one or later ends the process at once.
 */
import { makeRunMain } from "@effect/platform/Runtime"

/** Longer than any process runs, and as long as a timer can: it keeps a process whose fiber only waits. */
const foreverMs = 2 ** 31 - 1

/**
 * How long a further signal says nothing new: a terminal's Ctrl-C comes to everyone who runs in it, and npm hands it on to the process
 * that it has started, which then has it twice.
 */
const sameAskingMs = 1_000

/** Runs an effect as the whole of a process; `asked` is called by the first signal. */
export const runMainAsked = (asked: () => void) =>
  makeRunMain(({ fiber, teardown }) => {
    const alive = setInterval(() => {}, foreverMs)
    let askedAtMs: number | undefined
    const forget = (): void => {
      process.removeListener("SIGINT", interrupt)
      process.removeListener("SIGTERM", interrupt)
    }
    const interrupt = (signal: NodeJS.Signals): void => {
      const nowMs = performance.now()
      if (askedAtMs === undefined) {
        askedAtMs = nowMs
        asked()
        fiber.unsafeInterruptAsFork(fiber.id())
      } else if (nowMs - askedAtMs >= sameAskingMs) {
        // Whoever asks again later does not wait for the end: nobody listens any more, and the process ends as signals have it.
        forget()
        process.kill(process.pid, signal)
      }
    }
    fiber.addObserver((exit) => {
      if (askedAtMs === undefined) forget()
      clearInterval(alive)
      // Without a signal or a fault the process ends when nothing is left to do, so that what was printed gets out.
      teardown(exit, (code) => {
        if (askedAtMs !== undefined || code !== 0) process.exit(code)
      })
    })
    process.on("SIGINT", interrupt)
    process.on("SIGTERM", interrupt)
  })

/** The same, where nothing else is done by a signal. */
export const runMain = runMainAsked(() => {})
