/**
 * Runs the main fiber of a process: SIGINT and SIGTERM interrupt it, and the process ends when the fiber has ended, with the code that
 * `teardown` derives from its result. A signal at least a second after the first ends the process at once.
 */
import { makeRunMain } from "@effect/platform/Runtime"

/** The longest delay of a timer, in milliseconds: the timer keeps a process alive whose fiber only waits. */
const foreverMs = 2 ** 31 - 1

/**
 * How long further signals count as the same one, in milliseconds: Ctrl-C at a terminal reaches every process there, and npm also forwards
 * it to the process that it has started, which then gets it twice.
 */
const sameAskingMs = 1_000

/** Runs an effect as the whole of a process; `asked` is called at the first signal. */
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
        // A later signal does not wait for an orderly end: with the listeners removed, it ends the process as usual.
        forget()
        process.kill(process.pid, signal)
      }
    }
    fiber.addObserver((exit) => {
      if (askedAtMs === undefined) forget()
      clearInterval(alive)
      // Without a signal or an error the process ends by itself when nothing is left to do, so that all output is written.
      teardown(exit, (code) => {
        if (askedAtMs !== undefined || code !== 0) process.exit(code)
      })
    })
    process.on("SIGINT", interrupt)
    process.on("SIGTERM", interrupt)
  })

/** Runs a program to its end, without a callback for the signal that asks it to stop. */
export const runMain = runMainAsked(() => {})
