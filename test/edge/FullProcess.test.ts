/**
 * A full disk below a real process: placements wait for room, cancels are served, a start succeeds, and the venue recovers by itself. A
 * preloaded library keeps files from growing; without a compiler to build it, this is skipped.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import { libraryOf } from "./Preloaded.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-full-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/** Refuses every write that would extend a file, while the file named by FULL exists. */
const source = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
static int lacks_room(int fd, off64_t end) {
  const char *name = getenv("FULL");
  struct stat64 stats;
  if (name == 0 || access(name, F_OK) != 0 || fstat64(fd, &stats) != 0) return 0;
  if (!S_ISREG(stats.st_mode) || end <= stats.st_size) return 0;
  errno = ENOSPC;
  return 1;
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  if (lacks_room(fd, at + count)) return -1;
  return ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, count, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }
ssize_t write(int fd, const void *bytes, size_t count) {
  off64_t at = lseek64(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
  if (at >= 0 && lacks_room(fd, at + count)) return -1;
  return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, bytes, count);
}
`

const library = libraryOf(directory, source)

const marketId = "BTC-USDC-PERP"

/** One account's requests to a venue, each under a key of its own. */
const trader = ({ port }: VenueProcess, { accountId, apiKey }: { readonly accountId: string; readonly apiKey: string }, name: string) => {
  let count = 0
  const post = async (route: string, body: object) => {
    const response = await fetch(`http://127.0.0.1:${port}${route}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${apiKey}`,
        "idempotency-key": `${name}-${++count}`.padEnd(64, "-"),
        "content-type": "application/json"
      },
      body: JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  const order = () => ({
    accountId,
    marketId,
    // As long as possible, to fill the journal quickly.
    clientOrderId: `${name}-${++count}`.padEnd(64, "-"),
    side: "buy",
    orderType: "limit",
    price: "1000.0",
    quantity: "0.001"
  })
  return {
    place: () => post("/v1/orders", order()),
    placeMany: () => post("/v1/orders/batch", { orders: Array.from({ length: 24 }, order) }),
    cancelAll: () => post("/v1/orders/cancel-all", { accountId, marketId })
  }
}

/** Polls until the condition holds, for a limited time. */
const until = async (condition: () => Promise<boolean>, ms: number): Promise<void> => {
  const limit = AbortSignal.timeout(ms)
  while (!await condition()) limit.throwIfAborted()
}

test.skipIf(library === undefined)(
  "a full disk: placements wait, cancels do not, a start finds its way, and all goes on once there is room",
  async () => {
    const full = path.join(directory, "is-full")
    const dataDir = path.join(directory, "data")
    // The tables are large enough for the disk to be full before they are.
    const tables = { ORDER_CAPACITY: "2000000", IDEMPOTENCY_CAPACITY: "2000000" }
    const settings = { LD_PRELOAD: library!, FULL: full, SEGMENT_MIB: "2", ...tables }
    const venue = await VenueProcess.start(dataDir, settings)
    const [account] = await venue.demoAccounts(1)
    const first = trader(venue, account!, "first")
    expect(await first.place()).toMatchObject({ status: 200 })
    fs.writeFileSync(full, "")
    await until(async () => (await Promise.all(Array.from({ length: 32 }, first.placeMany))).some(({ status }) => status === 503), 120_000)
    expect((await first.place()).text).toMatch(/"dependency_unavailable".*"dependency":"journal"/)
    expect(await first.cancelAll()).toMatchObject({ status: 200 })
    // The ledger and signer of development have files of their own, and write to none of them at a start.
    await venue.kill()
    const again = await VenueProcess.start(dataDir, settings)
    const second = trader(again, account!, "second")
    expect((await second.place()).status).toBe(503)
    expect(await second.cancelAll()).toMatchObject({ status: 200 })
    fs.rmSync(full)
    await until(async () => (await second.place()).status === 200, 120_000)
    expect((await fetch(`http://127.0.0.1:${again.port}/readyz`)).status).toBe(200)
    expect(await again.stop()).toBe(0)
  },
  120_000
)
