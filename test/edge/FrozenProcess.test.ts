/**
 * A disk that does not answer, below a real process: calls of the system's library never return. The process still answers, says what it
 * waits for, and kills itself after SIGTERM instead of waiting for them. A preloaded library makes the calls wait; without a compiler to
 * build it, this is skipped.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { afterAll, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { lastWords } from "./LastWords.js"
import { libraryOf } from "./Preloaded.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-frozen-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/**
 * Blocks every write at an offset of a file, before it or after it (as if it could not be made durable), while the file named by FROZEN
 * exists.
 */
const source = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static void wait_while_frozen(const char *step) {
  const char *name = getenv("FROZEN"), *only = getenv("FROZEN_STEP");
  if (name == 0 || only == 0 || only[0] != step[0]) return;
  while (access(name, F_OK) == 0) usleep(10000);
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  wait_while_frozen("write");
  ssize_t written = ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, count, at);
  wait_while_frozen("sync");
  return written;
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }
`

const library = libraryOf(directory, source)
const hasLibrary = library !== undefined

/** Polls until the condition holds, for a limited time, with pauses that leave the processor to the venue. */
const until = async (condition: () => Promise<boolean>, ms: number): Promise<void> => {
  const limit = AbortSignal.timeout(ms)
  while (!await condition()) {
    limit.throwIfAborted()
    await Effect.runPromise(Effect.sleep(20))
  }
}

/** The result of a promise, or `undefined` if it takes longer than that. */
const within = <A>(ms: number, promise: Promise<A>): Promise<A | undefined> =>
  Promise.race([
    promise,
    new Promise<undefined>((resolve) => AbortSignal.timeout(ms).addEventListener("abort", () => resolve(undefined)))
  ])

/** How long a stop may take, and the allowance for a busy machine. */
const stopMs = 10_000
const latenessMs = 45_000

// Each waits ten seconds until the process may be killed, so they run concurrently.
test.skipIf(!hasLibrary).each(["sync", "write"])(
  "a write that never returns from its %s leaves a process that answers, is not ready, and ends itself",
  { concurrent: true },
  async (step) => {
    const frozen = path.join(directory, `frozen-${step}`)
    const settings = { LD_PRELOAD: library!, FROZEN: frozen, FROZEN_STEP: step }
    const venue = await VenueProcess.start(path.join(directory, step), settings)
    const at = (route: string) => `http://127.0.0.1:${venue.port}${route}`
    const ask = async (route: string) => {
      const response = await fetch(at(route), { signal: AbortSignal.timeout(60_000) })
      return { status: response.status, text: await response.text() }
    }
    const [account] = await venue.demoAccounts(1)
    expect((await ask("/readyz")).status).toBe(200)
    fs.writeFileSync(frozen, "")
    const body = JSON.stringify({ accountId: account!.accountId, marketId: "BTC-USDC-PERP" })
    const headers = { authorization: `Bearer ${account!.apiKey}`, "idempotency-key": "frozen", "content-type": "application/json" }
    let answered = false
    const lost = fetch(at("/v1/orders/cancel-all"), { method: "POST", headers, body }).then(() => (answered = true), () => false)

    await until(async () => (await ask("/readyz")).status === 503, 120_000)
    expect((await ask("/readyz")).text).toMatch(/"dependency":"journal".*"reason":"a block has been on its way to the disk for [0-9]+ ms"/)
    expect((await ask("/healthz")).status).toBe(200)
    // The file's time says when the stop was requested, by the same clock as the times in the venue's log.
    const askedAt = path.join(directory, `asked-${step}`)
    fs.writeFileSync(askedAt, "")
    // The process has no exit of its own: it would wait for the call that never returns, as it does until the end of this test. The venue
    // kills itself within ten seconds; a busy machine may report that late, and if it never happened the wait would time out.
    const closed = new Promise((resolve) => venue.child.once("close", resolve))
    expect(await within(60_000, venue.stop())).toBe("SIGKILL")
    await closed
    const last = lastWords(venue.output)
    expect(last.map(({ message }) => message)).toEqual([
      expect.stringMatching(/the disk did not answer for [0-9]+ ms: records up to [0-9]+ are durable/),
      "venue: an operation of the disk does not return; killed, where the exit code would have been 1"
    ])
    expect(Date.parse(last[1]!.time) - fs.statSync(askedAt).mtimeMs).toBeLessThan(stopMs + latenessMs)
    await lost
    expect(answered).toBe(false)

    // What was under way may or may not be there; the next start determines which, and goes on.
    fs.rmSync(frozen)
    const again = await VenueProcess.start(path.join(directory, step))
    expect(await again.stop()).toBe(0)
  }
)

/** Runs a command as the first process of a container. */
const contained = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"]
const mayContain = spawnSync(contained[0]!, [...contained.slice(1), "true"]).status === 0

/** The process that another one has started. */
const startedBy = (pid: number): number => Number(fs.readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8"))

// The kernel gives it no SIGKILL of its own, so it is there until the disk answers, and a supervisor learns by its code that it failed.
test.skipIf(!hasLibrary || !mayContain)(
  "the first process of a container says that it cannot kill itself, and ends with its code when it can",
  {
    concurrent: true
  },
  async () => {
    const frozen = path.join(directory, "frozen-first")
    const settings = { LD_PRELOAD: library!, FROZEN: frozen, FROZEN_STEP: "write" }
    const venue = await VenueProcess.start(path.join(directory, "first"), settings, { through: contained })
    expect(venue.output).toContain("this is the first process of its container (PID 1), which cannot kill itself")
    fs.writeFileSync(frozen, "")
    await until(async () => (await fetch(`http://127.0.0.1:${venue.port}/readyz`)).status === 503, 120_000)
    process.kill(startedBy(venue.child.pid!), "SIGTERM")
    await until(() => Promise.resolve(venue.output.includes("killed, where the exit code would have been 1")), 120_000)
    fs.rmSync(frozen)
    expect(await within(60_000, venue.exited)).toBe(1)
  }
)
