/**
 * A disk that answers EIO, below a real process with real connections: the process ends at once and says why, no open connection delays it,
 * and requests under way get no answer. A preloaded library makes the disk fail; without a compiler to build it, this is skipped.
 */
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { WebSocket } from "ws"
import { get } from "../../scripts/load/Connection.js"
import { type DemoAccount, VenueProcess } from "../../scripts/load/VenueProcess.js"
import { BareSocket, placing } from "./BareSocket.js"
import { lastWords } from "./LastWords.js"
import { libraryOf } from "./Preloaded.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-failing-"))
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }))

/**
 * Every write to a segment fails once the bytes contain the text in FAILING: either before anything is written, or after, as if the system
 * could not make it durable (FAILING_STEP). The file named by FAILED_AT is created at that moment.
 */
const source = `#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static volatile int failing;
static int is_segment(int fd) {
  char link[32], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, name, sizeof name);
  return length > 4 && memcmp(name + length - 4, ".seg", 4) == 0;
}
static int fails(int fd, const char *step) {
  if (!failing || strcmp(getenv("FAILING_STEP"), step) != 0 || !is_segment(fd)) return 0;
  errno = EIO;
  return 1;
}
ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
  const char *mark = getenv("FAILING");
  if (!failing && mark != 0 && memmem(bytes, count, mark, strlen(mark)) != 0 && is_segment(fd)) {
    failing = 1;
    close(open(getenv("FAILED_AT"), O_CREAT | O_WRONLY, 0600));
  }
  if (fails(fd, "write")) return -1;
  ssize_t written = ((ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64"))(fd, bytes, count, at);
  return fails(fd, "sync") ? -1 : written;
}
ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }
`

const library = libraryOf(directory, source)

/** The id of the order whose block the disk fails to write. */
const fatal = "the-order-that-the-disk-fails-at"

/** Connects a stream client that has received the market's book; `closed` is the code with which its connection ends. */
const listen = async (port: number): Promise<{ readonly closed: Promise<number> }> => {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/streams/v1/ws`)
  const closed = new Promise<number>((resolve) => socket.on("close", resolve))
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject)
    socket.on("open", () => socket.send(JSON.stringify({ op: "subscribe", id: "s", channel: "market.book", marketId: "BTC-USDC-PERP" })))
    socket.on("message", (data) => {
      if (JSON.parse(String(data)).type === "snapshot") resolve()
    })
  })
  return { closed }
}

/** How long a requested stop waits for requests under way, in milliseconds. */
const drainMs = 3_000

/** The answers to requests, each sent on a connection of its own. */
const answersTo = (venue: VenueProcess, requests: ReadonlyArray<string>): Promise<ReadonlyArray<any>> =>
  Promise.all(requests.map((request) => new BareSocket(venue.port).send(request).answer()))

/** Restarts the venue on a disk that works, and expects the acknowledged orders of an account, and each order under way exactly once. */
const expectKept = async (
  dataDir: string,
  account: DemoAccount,
  told: ReadonlyArray<any>,
  underWay: ReadonlyArray<string>
): Promise<void> => {
  const venue = await VenueProcess.start(dataDir)
  const found = await answersTo(venue, told.map(({ orderId }) => get(`/v1/orders/${orderId}`, account.apiKey)))
  expect(found).toMatchObject(told.map(({ clientOrderId, orderId }) => ({ clientOrderId, orderId, status: "open" })))
  // Sent again under the same keys, they are carried out now or have been before: once in either case.
  const again = await answersTo(venue, underWay.map((name) => placing(account, name)))
  expect(again).toMatchObject(underWay.map(() => ({ status: "open" })))
  const [{ orders }] = await answersTo(venue, [get(`/v1/accounts/${account.accountId}/orders?limit=100`, account.apiKey)])
  const names = orders.map((order: { readonly clientOrderId: string }) => order.clientOrderId)
  expect(names.sort()).toEqual([...told.map(({ clientOrderId }) => clientOrderId), ...underWay].sort())
  expect(await venue.stop()).toBe(0)
}

test.skipIf(library === undefined).each(["write", "sync"])(
  "a write that fails at its %s ends the process by itself, whoever is connected: nothing acknowledged is lost, and nothing under way is refused",
  { concurrent: true },
  async (step) => {
    const dataDir = path.join(directory, step)
    const failedAt = path.join(directory, `${step}-failed`)
    const settings = { LD_PRELOAD: library!, FAILING: fatal, FAILING_STEP: step, FAILED_AT: failedAt }
    const venue = await VenueProcess.start(dataDir, settings)
    const ended = new Promise((resolve) => venue.child.once("close", resolve))
    try {
      const [account] = await venue.demoAccounts(1)
      const connect = (bytes: string): BareSocket => new BareSocket(venue.port).send(bytes)
      const quiet = ["first", "second", "third"].map((name) => connect(placing(account!, name)))
      const told = await Promise.all(quiet.map((socket) => socket.answer()))
      expect(told).toMatchObject(told.map(() => ({ status: "open" })))
      const half = connect("GET /v1/markets HTTP/1.1\r\nhost:")
      // A client whose request was refused, and which keeps its side of the connection open.
      const held = net.connect({ port: venue.port, host: "127.0.0.1", allowHalfOpen: true })
      held.on("error", () => {})
      held.write("CONNECT a.example:1 HTTP/1.1\r\nhost: x\r\n\r\n")
      await new Promise((resolve) => held.once("data", resolve))
      const stream = await listen(venue.port)
      const names = ["beside-1", "beside-2", fatal, "beside-3", "beside-4"]
      const underWay = names.map((name) => connect(placing(account!, name)))

      expect(await venue.exited).toBe(1)
      await Promise.all([ended, ...[...quiet, half, ...underWay].map(({ closed }) => closed)])
      expect(venue.output).toMatch(new RegExp(`the writer stopped \\(JournalUnknown\\): .*writeAt of journal/[^ ]+\\.seg failed: EIO`))
      await stream.closed
      held.destroy()
      expect(Date.parse(lastWords(venue.output)[0]!.time) - fs.statSync(failedAt).mtimeMs).toBeLessThan(drainMs)
      expect(underWay[2]!.text).toBe("")
      // Some may have become durable in an earlier block and been acknowledged; none of the others is answered.
      expect(underWay.flatMap(({ statuses }) => statuses).filter((status) => status !== 200)).toEqual([])
      expect(quiet.flatMap(({ statuses }) => statuses)).toEqual([200, 200, 200])
      await expectKept(dataDir, account!, told, names)
    } finally {
      await venue.kill()
    }
  }
)
