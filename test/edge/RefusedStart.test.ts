/** A refused start leaves the data directory as it was, whatever the reason: its content is evidence. */
import { Cause, Exit } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import type * as Venue from "../../src/Venue.js"
import { ready, resting, VenueOver } from "./VenueOver.js"

/** The files of a venue that was cut off: a segment that is more than half full, and the next one half prepared. */
const left = async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const at = await ready(disk.mount())
  while (!disk.files().includes("journal/next.tmp")) await trade(disk, at)
  disk.crash("kill")
  return disk
}

type Ready = Awaited<ReturnType<typeof ready>>

/** Places an order and cancels it. */
const trade = async (disk: SimDisk.SimDisk, { accountId, apiKey, venue }: Ready): Promise<void> => {
  const name = `order-${disk.calls()}`
  await venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, name), idempotencyKey: name })
  await venue.ask("POST", "/v1/orders/cancel-all", { key: apiKey, body: { accountId, marketId: "BTC-USDC-PERP" } })
}

/** Trades until there are records in a second segment. */
const fillSegment = async (disk: SimDisk.SimDisk, at: Ready): Promise<void> => {
  while (disk.files().filter((path) => path.endsWith(".seg")).length < 2) await trade(disk, at)
  await trade(disk, at)
}

/** Puts a foreign file into the directory. */
const put = async (disk: SimDisk.SimDisk, path: string): Promise<void> => {
  disk.create(path, Buffer.from("not a snapshot"))
}

const contents = (disk: SimDisk.SimDisk): ReadonlyArray<readonly [string, string]> =>
  disk.files().map((path) => [path, Buffer.from(disk.bytes(path)).toString("base64")])

/** The reason for which a start is refused, after a check that it changed nothing. */
const refusal = async (disk: SimDisk.SimDisk, options: Partial<Venue.Options> = {}): Promise<string> => {
  const before = contents(disk)
  const exit = await new VenueOver(disk.mount(), options).started
  expect(contents(disk)).toEqual(before)
  return Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "it started"
}

const stray = "snapshots/00000000000000999999.snap"

test.each<readonly [string, string, Partial<Venue.Options>, (disk: SimDisk.SimDisk) => void | Promise<void>]>([
  ["another environment", "this data directory belongs to a development venue", { environment: "testnet" }, () => {}],
  ["a stray file named like a snapshot", "cannot be read: its digest does not match", {}, (disk) => put(disk, stray)],
  ["a journal whose segments are all gone, with snapshots", "shows that there were some: put them back from a backup", {}, async (disk) => {
    await put(disk, stray)
    disk.remove("journal/00000000000000000001.seg")
  }],
  ["tables that are too small", "IDEMPOTENCY_CAPACITY is 1", { capacity: { orders: 1, idempotencyKeys: 1 } }, () => {}]
])("%s", async (_, words, options, change) => {
  const disk = await left()
  await change(disk)
  expect(await refusal(disk, options)).toContain(words)
})

test("a last segment that was removed is missed by the snapshot that lies in it, and nothing is changed", async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const at = await ready(disk.mount())
  await fillSegment(disk, at)
  // A graceful stop journals the latest uses of keys, and leaves a snapshot of its last record.
  await at.venue.stop()
  const lastSequence = Math.max(...disk.files().flatMap((path) => /(\d+)\.snap$/.exec(path)?.slice(1).map(Number) ?? []))
  const [, last] = disk.files().filter((path) => path.endsWith(".seg"))
  disk.remove(last!)
  const words = await refusal(disk)
  expect(words).toContain("JournalBehind")
  expect(words).toContain(
    `a snapshot of sequence ${lastSequence} shows that more was durable: put the segments that hold it back from a backup; only`
  )
})

test("without its first segment a start asks for a backup, and nothing is changed", async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const at = await ready(disk.mount())
  await fillSegment(disk, at)
  await at.venue.stop()
  disk.remove(disk.files().find((path) => path.endsWith(".seg"))!)
  const words = await refusal(disk)
  expect(words).toContain("the segments before it are missing: put them back from a backup")
  expect(words).not.toContain("cut")
})

test("of a last segment that was removed with every snapshot in it nothing is left that could tell: the venue is what it was before", async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const at = await ready(disk.mount())
  await fillSegment(disk, at)
  disk.crash("kill")
  const [, last] = disk.files().filter((path) => path.endsWith(".seg"))
  disk.remove(last!)
  const again = new VenueOver(disk.mount())
  const started = await again.started
  // The record of this start has the number of the first one that is missing.
  expect(Exit.isSuccess(started) && started.value.reads.sequence).toBe(Number(last!.slice("journal/".length, -".seg".length)))
  await again.stop()
})
