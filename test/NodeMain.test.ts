/**
 * How a process ends by signals. A second signal right after the first counts as the same request, since npm passes on a signal that the
 * terminal has sent to everyone already.
 */
import { spawn } from "node:child_process"
import * as path from "node:path"
import { pathToFileURL } from "node:url"
import { expect, test } from "vitest"

const moduleOf = (name: string): string => JSON.stringify(pathToFileURL(path.resolve(name)).href)

/** Runs until it is asked to end, says so, and ends once it reads a line from standard input. */
const program = `
import * as Effect from "effect/Effect"
import { runMain } from ${moduleOf("dist/src/NodeMain.js")}
const ended = Effect.async((resume) => {
  console.log("ending")
  process.stdin.once("data", () => resume(Effect.sync(() => console.log("ended"))))
})
// Once it listens: the effect begins before that.
const running = Effect.delay(Effect.sync(() => console.log("running")), 1)
runMain(Effect.onInterrupt(Effect.zipRight(running, Effect.never), () => ended), {
  disableErrorReporting: true,
  teardown: (_, onExit) => onExit(0)
})`

/** A process by whose clock each signal comes `betweenMs` after the previous one. */
const start = (betweenMs: number) => {
  const clock = `let atMs = 0; performance.now = () => atMs += ${betweenMs};`
  const child = spawn(process.execPath, ["--input-type=module", "-e", clock + program], { stdio: ["pipe", "pipe", "inherit"] })
  let said = ""
  child.stdout.on("data", (bytes: Buffer) => void (said += bytes.toString()))
  const ended = new Promise<readonly [number | null, NodeJS.Signals | null]>((resolve) =>
    child.once("exit", (code, signal) => resolve([code, signal]))
  )
  const says = async (word: string): Promise<void> => {
    await expect.poll(() => said, { interval: 10 }).toContain(word)
  }
  return { child, ended, says }
}

test.each(["SIGINT", "SIGTERM"] as const)("%s and a SIGINT at once end in good order", async (first) => {
  const { child, ended, says } = start(900)
  await says("running")
  child.kill(first)
  await says("ending")
  child.kill("SIGINT")
  child.stdin.write("done\n")
  await says("ended")
  expect(await ended).toEqual([0, null])
})

test("a signal that comes a second later ends it at once", async () => {
  const { child, ended, says } = start(1_000)
  await says("running")
  child.kill("SIGTERM")
  await says("ending")
  child.kill("SIGINT")
  expect(await ended).toEqual([null, "SIGINT"])
})
