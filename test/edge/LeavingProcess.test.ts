/**
 * How a real process ends while one of its threads waits: for another connection that locks the histories' database, which does not change
 * the exit code, or for a system call that never returns, for which the process does not wait. A preloaded library makes that call block;
 * without a compiler to build it, this is skipped.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import SqliteDatabase from "better-sqlite3"
import * as Effect from "effect/Effect"
import { afterAll, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { lockPath } from "../../src/journal/SegmentJournal.js"
import { lastWords } from "./LastWords.js"
import { libraryOf } from "./Preloaded.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-leaving-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Blocks every write to the histories' database once the file named by FROZEN exists, and notes that in the file. */
const source = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void wait_while_frozen(int fd) {
  char link[32], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (length < 0) return;
  name[length] = 0;
  const char *frozen = getenv("FROZEN");
  if (frozen == 0 || strstr(name, "histories.db") == 0) return;
  int told = open(frozen, O_WRONLY | O_TRUNC);
  if (told < 0) return;
  if (write(told, "waits", 5) == 5) for (;;) pause();
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  wait_while_frozen(fd);
  return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, count, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }
`

const library = libraryOf(directory, source)

const small = { ORDER_CAPACITY: "1000", IDEMPOTENCY_CAPACITY: "1000", SEGMENT_MIB: "2" }

/** Polls until the condition holds. */
const until = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = AbortSignal.timeout(120_000)
  while (!await isSo()) {
    limit.throwIfAborted()
    await Effect.runPromise(Effect.sleep(10))
  }
}

/** A venue whose histories have something to write but cannot, since another connection locks their database. */
const held = async (dataDir: string) => {
  const venue = await VenueProcess.start(dataDir, small)
  await until(async () => ((await venue.metrics())("venue_histories_sequence") ?? 0) > 0)
  const holder = new SqliteDatabase(path.join(dataDir, "histories.db"))
  holder.exec("BEGIN IMMEDIATE")
  const { sequence } = holder.prepare("SELECT sequence FROM place").get() as { readonly sequence: number }
  await until(async () => (await venue.metrics())("venue_durable_sequence")! > sequence)
  return { venue, holder }
}

/** When a stop is given up: long after its ten seconds, since a busy machine may report it late. */
const stopMs = 120_000

/** The exit code or signal of a stop; one that takes too long is killed, and gives `undefined`. */
const stopped = async (venue: VenueProcess): Promise<number | NodeJS.Signals | undefined> => {
  const late = new Promise<undefined>((resolve) => AbortSignal.timeout(stopMs).addEventListener("abort", () => resolve(undefined)))
  try {
    return await Promise.race([venue.stop(), late])
  } finally {
    await venue.kill()
  }
}

test("a stop while another connection holds the histories' database ends with 0", { concurrent: true }, async () => {
  const { holder, venue } = await held(path.join(directory, "stopped"))
  const closed = new Promise((resolve) => venue.child.once("close", resolve))
  expect(await stopped(venue)).toBe(0)
  await closed
  expect(venue.output).toContain("stopped cleanly")
  holder.close()
})

test("a failure while another connection holds the histories' database ends with 1", { concurrent: true }, async () => {
  const dataDir = path.join(directory, "failed")
  const { holder, venue } = await held(dataDir)
  const closed = new Promise((resolve) => venue.child.once("close", resolve))
  fs.rmSync(path.join(dataDir, lockPath))
  expect(await venue.exited).toBe(1)
  await closed
  expect(lastWords(venue.output).map(({ message }) => message)).toEqual([expect.stringContaining("the writer stopped (JournalFenced)")])
  holder.close()
})

test.skipIf(library === undefined)("a stop while a thread is in a call that never returns ends by SIGKILL", {
  concurrent: true
}, async () => {
  const frozen = path.join(directory, "frozen")
  const venue = await VenueProcess.start(path.join(directory, "frozen-venue"), { ...small, LD_PRELOAD: library!, FROZEN: frozen })
  await until(async () => ((await venue.metrics())("venue_histories_sequence") ?? 0) > 0)
  fs.writeFileSync(frozen, "")
  await until(() => fs.readFileSync(frozen, "utf8") !== "")
  const closed = new Promise((resolve) => venue.child.once("close", resolve))
  expect(await stopped(venue)).toBe("SIGKILL")
  await closed
  expect(lastWords(venue.output).map(({ message }) => message)).toEqual([
    "venue: a thread does not end; killed, where the exit code would have been 0"
  ])
})
