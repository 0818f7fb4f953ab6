/** A full disk: placements are refused with the reason, what reduces risk still works, and all works again once there is room. */
import { Cause, Effect, Exit } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { lockPath } from "../../src/journal/SegmentJournal.js"
import { NotSaved, WriterStopped } from "../../src/sequencer/Writer.js"
import { ready, resting, VenueOver } from "./VenueOver.js"

/**
 * A disk that has no room while it is full: creating and extending files fails, writing into preallocated ones does not. While it is slow,
 * those operations do not return at all.
 */
const fillable = () => {
  const state = { full: false, slow: false }
  const disk = SimDisk.make({
    random: () => 0,
    inject: ({ operation, path }) => {
      if ((operation !== "open" && operation !== "writeAt") || !path.endsWith(".tmp")) return undefined
      return state.full ? "ENOSPC" : state.slow ? "hang" : undefined
    }
  })
  return { disk, state }
}

type Ready = Awaited<ReturnType<typeof ready>>

const place = ({ accountId, apiKey, venue }: Ready, name: string) =>
  venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, name), idempotencyKey: name })

const cancelAll = ({ accountId, apiKey, venue }: Ready) =>
  venue.ask("POST", "/v1/orders/cancel-all", { key: apiKey, body: { accountId, marketId: "BTC-USDC-PERP" } })

/** Places and cancels until a placement is refused; returns how many were accepted. */
const fill = async (at: Ready) => {
  for (let taken = 0;; taken++) {
    const answer = await place(at, `fill-${taken}`)
    if (answer.status !== 200) return { taken, answer }
    expect((await cancelAll(at)).status).toBe(200)
  }
}

test("placements are refused and name the journal; cancels are served until the room kept for them is used up; then it recovers", async () => {
  const { disk, state } = fillable()
  const logged: Array<string> = []
  const at = await ready(disk.mount(), {}, { logged: (line) => logged.push(line) })
  const { venue } = at
  const told = () => logged.filter((line) => line.includes("the journal"))
  state.full = true
  const { answer, taken } = await fill(at)
  await venue.pass(20_000)
  expect(told()).toEqual([
    expect.stringMatching(/does not take everything: placements are refused, and no withdrawal is prepared: .*ENOSPC/)
  ])
  // Placements may fill three quarters of a segment of 64 KiB, less one block of the largest size; a block takes 512 or 1,024 bytes.
  expect(taken).toBeGreaterThan(15)
  expect(answer).toMatchObject({
    status: 503,
    json: { code: "dependency_unavailable", dependency: "journal", retryable: true, recoveryActions: ["wait_and_retry_same_identity"] }
  })
  expect(await venue.ask("GET", "/readyz")).toMatchObject({
    status: 503,
    json: {
      status: "unavailable",
      dependency: "journal",
      reason: expect.stringMatching(
        /placements are refused, and no withdrawal is prepared: .*ENOSPC.*; [0-9]+ bytes are left for everything else/
      )
    }
  })
  expect((await venue.ask("GET", "/metrics")).json).toMatch(/^venue_journal_full 1$/m)
  expect((await venue.ask("GET", "/healthz")).status).toBe(200)
  // A command that was decided before is answered from memory, whatever room the disk has.
  expect(await place(at, "fill-0")).toMatchObject({ status: 200 })

  let cancels = 0
  let last = await cancelAll(at)
  for (; last.status === 200; cancels++) last = await cancelAll(at)
  expect(cancels).toBeGreaterThan(15)
  expect(last).toMatchObject({ status: 503, json: { code: "dependency_unavailable", dependency: "journal" } })
  expect((await venue.ask("GET", "/readyz")).json.reason).toMatch(/nothing can be journaled: .*ENOSPC/)
  await venue.pass(20_000)
  expect(told().slice(1)).toEqual([expect.stringMatching(/does not take everything: nothing can be journaled: .*ENOSPC/)])

  state.full = false
  await venue.pass(10_000)
  expect(told().slice(2)).toEqual(["the journal takes everything again"])
  await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })
  expect(await venue.ask("GET", "/readyz")).toMatchObject({ status: 200, json: { status: "ready" } })
  expect((await place(at, "later")).status).toBe(200)
  expect((await cancelAll(at)).status).toBe(200)
  const { durableSequence } = (await venue.ask("GET", "/readyz")).json
  expect(Exit.isSuccess(await venue.stop())).toBe(true)

  disk.crash("power")
  const again = new VenueOver(disk.mount())
  const started = await again.started
  expect(Exit.isSuccess(started) && started.value.reads.sequence).toBeGreaterThan(durableSequence)
  expect(Exit.isSuccess(await again.stop())).toBe(true)
})

/** Buys from another account's offer, so that the account holds a position. */
const buyOf = async ({ accountId, apiKey, venue }: Ready, quantity: string) => {
  const made = await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 1, collateral: "1000000" } })
  const [maker] = made.json.accounts as ReadonlyArray<{ readonly accountId: string; readonly apiKey: string }>
  const order = { marketId: "BTC-USDC-PERP", orderType: "limit", price: "60000.0", quantity }
  const sides = [[maker!, "sell"], [{ accountId, apiKey }, "buy"]] as const
  for (const [who, side] of sides) {
    const body = { ...order, accountId: who.accountId, clientOrderId: `opened-${side}`, side }
    expect((await venue.ask("POST", "/v1/orders", { key: who.apiKey, body })).status).toBe(200)
  }
  return maker!
}

test("orders that only reduce are served and journaled on the full disk, alone and in a batch, while every other is refused", async () => {
  const { disk, state } = fillable()
  const at = await ready(disk.mount())
  const { accountId, apiKey, venue } = at
  const maker = await buyOf(at, "0.100")
  const bid = { ...resting(maker.accountId, "bid"), quantity: "0.500" }
  expect((await venue.ask("POST", "/v1/orders", { key: maker.apiKey, body: bid })).status).toBe(200)
  state.full = true
  await fill(at)

  const close = (name: string) => ({ ...resting(accountId, name), side: "sell", price: "61000.0", quantity: "0.020", reduceOnly: true })
  const rests = await venue.ask("POST", "/v1/orders", { key: apiKey, body: close("rests") })
  expect(rests).toMatchObject({ status: 200, json: { status: "open", reduceOnly: true } })
  const batch = { orders: ["one", "two"].map((name) => ({ ...close(name), orderType: "market", price: undefined })) }
  const reduced = await venue.ask("POST", "/v1/orders/batch", { key: apiKey, body: batch })
  expect(reduced.json.outcomes.map((order: { readonly status: string }) => order.status)).toEqual(["closed", "closed"])
  // An order that may add risk makes the whole batch a placement.
  const mixed = { orders: [close("three"), resting(accountId, "adds")] }
  const refused = await venue.ask("POST", "/v1/orders/batch", { key: apiKey, body: mixed })
  expect(refused).toMatchObject({ status: 503, json: { code: "dependency_unavailable", dependency: "journal" } })
  expect((await place(at, "later")).status).toBe(503)

  await venue.stop()
  disk.crash("power")
  const again = { ...at, venue: new VenueOver(disk.mount()) }
  expect(Exit.isSuccess(await again.venue.started)).toBe(true)
  const found = await again.venue.ask("GET", `/v1/orders/${rests.json.orderId}`, { key: apiKey })
  expect(found.json).toMatchObject({ clientOrderId: "rests", status: "open" })
  const held = await again.venue.ask("GET", `/v1/accounts/${accountId}/positions`, { key: apiKey })
  expect(held.json.positions).toMatchObject([{ quantity: "0.060" }])
  state.full = false
  expect(Exit.isSuccess(await again.venue.stop())).toBe(true)
})

test("a start on a full disk takes requests as far as its room goes, and says that it is not ready", async () => {
  const { disk, state } = fillable()
  const before = await ready(disk.mount())
  state.full = true
  await fill(before)
  await before.venue.stop()
  disk.crash("power")

  const venue = new VenueOver(disk.mount())
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  const at = { ...before, venue }
  await venue.settle()
  expect(await venue.ask("GET", "/readyz")).toMatchObject({ status: 503, json: { status: "unavailable", dependency: "journal" } })
  expect((await place(at, "later")).status).toBe(503)
  expect((await cancelAll(at)).status).toBe(200)
  state.full = false
  await venue.pass(1_000)
  expect((await place(at, "later")).status).toBe(200)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

test("a restart on a full disk uses up nothing of what is kept: it takes no placement before it knows whether there is room", async () => {
  const { disk, state } = fillable()
  const before = await ready(disk.mount())
  state.full = true
  await fill(before)
  for (let restart = 0; restart < 3; restart++) {
    disk.crash("power")
    const venue = new VenueOver(disk.mount())
    expect(Exit.isSuccess(await venue.started)).toBe(true)
    const at = { ...before, venue }
    // From the very start, before it could have asked the disk for room.
    expect(await place(at, `restart-${restart}`)).toMatchObject({ status: 503, json: { code: "dependency_unavailable" } })
    expect((await cancelAll(at)).status).toBe(200)
  }
})

test("while a slow disk has not said whether it is full, nothing uses up what is kept for when it is", async () => {
  const { disk, state } = fillable()
  const at = await ready(disk.mount())
  state.slow = true
  const isAnswered = async (asked: Promise<unknown>): Promise<boolean> =>
    Promise.race([asked.then(() => true), at.venue.pass(1_000).then(() => false)])
  let taken = 0
  while (await isAnswered(place(at, `fill-${taken}`)) && await isAnswered(cancelAll(at))) taken++
  expect(taken).toBeGreaterThan(10)
  disk.crash("power")
  state.full = true
  const venue = new VenueOver(disk.mount())
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  let cancels = 0
  while ((await cancelAll({ ...at, venue })).status === 200) cancels++
  // Placements left a quarter of the 64 KiB segment and two blocks of 8 KiB, and cancels leave the last block; a cancel takes at most 1,024
  // bytes.
  expect(cancels).toBeGreaterThanOrEqual(20)
})

/** Streams an index price to the venue as a feed process does; returns whether it was accepted. */
const streamed = async ({ venue }: Ready, session: string, sequence: number): Promise<boolean> => {
  const prices = [{ marketId: "BTC-USDC-PERP", price: String(60_000 + sequence % 7), sourceEpochMs: venue.epochMs }]
  const { json } = await venue.ask("POST", "/v1/operator/index-stream/prices", { body: { session, sequence, prices } })
  return json.prices[0].outcome !== "refused"
}

test("prices, marks and starts that go on for as long as the disk is full leave cancels their half of what is kept", async () => {
  const { disk, state } = fillable()
  let at = await ready(disk.mount())
  state.full = true
  await fill(at)
  for (let restart = 0; restart < 4; restart++) {
    const { json: { session } } = await at.venue.ask("POST", "/v1/operator/index-stream")
    let taken = 0
    // A minute of prices and marks after each start: far more than the reserve holds.
    for (let second = 1; second <= 60; second++) {
      if (await streamed(at, session, second)) taken++
      await at.venue.pass(1_000)
    }
    expect(taken).toBeLessThan(60)
    const { json: { reason } } = await at.venue.ask("GET", "/readyz")
    expect(reason).toMatch(/neither prices nor marks are journaled: .*ENOSPC.*; [0-9]+ bytes are left for cancels/)
    disk.crash("power")
    const venue = new VenueOver(disk.mount())
    expect(Exit.isSuccess(await venue.started)).toBe(true)
    at = { ...at, venue }
  }
  const { json: { reason } } = await at.venue.ask("GET", "/readyz")
  // An eighth of a segment of 64 KiB, less one block for each start, and the room that a block of any size needs at the end.
  const leftBytes = Number(/; ([0-9]+) bytes are left/.exec(reason)![1])
  expect(leftBytes).toBeGreaterThanOrEqual(8 * 1024 + 8 * 1024 - 4 * 1024)
  let cancels = 0
  while ((await cancelAll(at)).status === 200) cancels++
  expect(cancels).toBeGreaterThanOrEqual(4)

  state.full = false
  await at.venue.pass(1_000)
  expect((await place(at, "later")).status).toBe(200)
  expect(Exit.isSuccess(await at.venue.stop())).toBe(true)
})

/** Bytes that are still free for blocks. */
const freeBytes = async ({ venue }: Ready): Promise<number> =>
  Number(/^venue_journal_free_bytes ([0-9]+)$/m.exec((await venue.ask("GET", "/metrics")).json)![1])

test("the next segment that had found its room is there at a start on a disk that has become full", async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const at = await ready(disk.mount())
  const segmentBytes = 64 * 1024
  // Until the next segment is ready and the present one is nearly full.
  for (let count = 0;; count++) {
    await place(at, `ready-${count}`)
    await cancelAll(at)
    // The text of the metrics is reused for 200 ms.
    await at.venue.pass(200)
    const free = await freeBytes(at)
    if (free >= segmentBytes - 512 && free < segmentBytes + 12 * 1024) break
  }
  disk.setOutOfRoom(true)
  disk.crash("power")
  const venue = new VenueOver(disk.mount())
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  const again = { ...at, venue }
  await venue.settle()
  const { taken } = await fill(again)
  // Nearly the whole of the prepared segment was available.
  expect(taken).toBeGreaterThan(25)
  for (let count = 0; count < 5; count++) expect((await cancelAll(again)).status).toBe(200)
  disk.setOutOfRoom(false)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

/** The samples of some metrics, without the others. */
const samplesOf = (text: string, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  text.split("\n").filter((line) => names.some((name) => line.startsWith(`${name} `)))

test("a start that finds no room even for its own record waits for it, and says so; it tells nothing of a state that it has not", async () => {
  const { disk, state } = fillable()
  const before = await ready(disk.mount())
  state.full = true
  await fill(before)
  while ((await cancelAll(before)).status === 200);
  await before.venue.stop()
  disk.crash("power")

  const logged: Array<string> = []
  const venue = new VenueOver(disk.mount(), {}, undefined, undefined, { logged: (line) => logged.push(line) })
  await venue.pass(2_000)
  const { json, status } = await venue.ask("GET", "/readyz")
  expect([status, json]).toMatchObject([
    503,
    { status: "starting", dependency: "journal", reason: expect.stringMatching(/nothing can be journaled/) }
  ])
  expect(Object.keys(json.details)).toEqual(["oldestIndexAgeMs", "staleMarkets"])
  const ofState = ["venue_durable_sequence", "venue_halted", "venue_accounts", "venue_withdrawals_stopped", "venue_orders_capacity"]
  const wanted = [...ofState, "venue_journal_full"]
  expect(samplesOf((await venue.ask("GET", "/metrics")).text, wanted)).toEqual(["venue_journal_full 1"])
  const told = () => logged.filter((line) => line.includes("the start"))
  expect(told()).toEqual([expect.stringMatching(/the start waits for room on the disk: nothing can be journaled: .*ENOSPC/)])
  expect((await place({ ...before, venue }, "later")).json).toMatchObject({ code: "starting" })
  state.full = false
  await venue.pass(2_000)
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  expect(told().slice(1)).toEqual(["the disk has room again, and the start goes on"])
  expect(samplesOf((await venue.ask("GET", "/metrics")).text, wanted)).toHaveLength(wanted.length)
  expect((await venue.ask("GET", "/readyz")).json.details).toMatchObject({ withdrawals: "open" })
  expect((await place({ ...before, venue }, "later")).status).toBe(200)
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

test("what falls due while nothing can be journaled is done when there is room again", async () => {
  const { disk, state } = fillable()
  const at = await ready(disk.mount())
  const { accountId, apiKey, venue } = at
  const placed = await place(at, "due")
  await venue.ask("POST", `/v1/accounts/${accountId}/orders/cancel-all-after`, { key: apiKey, body: { timeoutMs: 30_000 } })
  state.full = true
  while ((await venue.ask("PUT", "/v1/operator/markets/BTC-USDC-PERP/index-price", { body: { price: "60000.0" } })).status === 200);
  await venue.pass(40_000)
  const target = `/v1/orders/${placed.json.orderId}`
  expect((await venue.ask("GET", target, { key: apiKey })).json.status).toBe("open")
  state.full = false
  await venue.pass(2_000)
  expect((await venue.ask("GET", target, { key: apiKey })).json.status).toBe("canceled")
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})

test("a failed write of a block still ends the writer, at once and with every connection cut", async () => {
  let broken = false
  const disk = SimDisk.make({
    random: () => 0,
    inject: ({ operation, path }) => broken && operation === "writeAt" && path.endsWith(".seg") ? "EIO" : undefined
  })
  const at = await ready(disk.mount())
  const started = await at.venue.started
  broken = true
  void place(at, "lost")
  const failure = await Effect.runPromise(Exit.isSuccess(started) ? started.value.failure : Effect.dieMessage("it has started"))
  expect(failure._tag).toBe("JournalUnknown")
  await at.venue.settle()
  expect(at.venue.cuts).toBe(1)
  // The stop does not wait for the disk: it ends without any time passing.
  await at.venue.stop()
})

test("a stop that has no room for its snapshot says so, and is none that another version can go on from", async () => {
  const { disk, state } = fillable()
  const faults: Array<Error> = []
  const drained: Array<number> = []
  const saved: Array<number> = []
  const { venue } = await ready(disk.mount(), {
    stopFailed: (fault) => faults.push(fault),
    drained: (sequence) => drained.push(sequence),
    saved: (sequence) => saved.push(sequence)
  })
  const { durableSequence } = (await venue.ask("GET", "/readyz")).json
  state.full = true
  const exit = await venue.stop()
  const said = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  expect(said).toBeInstanceOf(NotSaved)
  // The fault is also reported outside the fiber, whose result may be dropped.
  expect(faults).toEqual([said])
  // So is the sequence that was durable before the snapshot began, in case the process is ended meanwhile.
  expect([drained, saved]).toEqual([[durableSequence], []])
  expect((said as Error).message).toMatch(new RegExp(`^stopped at sequence ${durableSequence} without its snapshot: .*ENOSPC`))
  expect((said as Error).message).not.toContain("\n")
  expect(disk.files().filter((path) => path.endsWith(".snap"))).toEqual([])
  state.full = false
  const next = new VenueOver(disk.mount(), { saved: (sequence) => saved.push(sequence) })
  expect(Exit.isSuccess(await next.started)).toBe(true)
  const goesOn = (await next.ask("GET", "/readyz")).json.durableSequence
  expect(goesOn).toBeGreaterThan(durableSequence)
  expect(Exit.isSuccess(await next.stop())).toBe(true)
  // A snapshot that is saved is told, so that whatever ends the process after that does not say that it may be missing.
  expect(saved).toEqual([goesOn])
  expect(disk.files().filter((path) => path.endsWith(".snap")).length).toBe(1)
})

test("a stop that finds its lock taken away is no clean one, and leaves no snapshot", async () => {
  const disk = SimDisk.make({ random: () => 0 })
  const { venue } = await ready(disk.mount())
  disk.replaceLock(lockPath)
  const before = disk.files()
  const exit = await venue.stop()
  const said = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  expect(said).toBeInstanceOf(WriterStopped)
  expect((said as Error).message).toMatch(/^the writer stopped \(JournalFenced\): the lock of the data directory was removed or replaced/)
  expect(disk.files()).toEqual(before)
})

test("a stop under which the journal's disk fails tells that the writer stopped", async () => {
  let fails = false
  const disk = SimDisk.make({
    random: () => 0,
    inject: ({ operation, path }) => fails && operation === "writeAt" && path.endsWith(".seg") ? "EIO" : undefined
  })
  const { accountId, apiKey, venue } = await ready(disk.mount())
  fails = true
  void venue.ask("POST", "/v1/orders", { key: apiKey, body: resting(accountId, "failing") })
  const exit = await venue.stop()
  const said = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  expect(said).toBeInstanceOf(WriterStopped)
  expect((said as Error).message).toMatch(/^the writer stopped \(JournalUnknown\): .*EIO/)
})

test("snapshots for which the disk has no room are told of in the metrics until one is saved, also without a follower", async () => {
  let isFull = true
  const disk = SimDisk.make({
    random: () => 0,
    inject: ({ operation, path }) => isFull && operation === "open" && path === "snapshots/next.tmp" ? "ENOSPC" : undefined
  })
  const { venue } = await ready(disk.mount(), { snapshotEveryRecords: 2 })
  const told = async () => {
    await venue.pass(2_000)
    return /^venue_snapshot_failing .*$/m.exec((await venue.ask("GET", "/metrics")).text)?.[0]
  }
  expect(await told()).toBe("venue_snapshot_failing 1")
  isFull = false
  await venue.ask("POST", "/v1/operator/demo/accounts", { body: { accounts: 3, collateral: "1" } })
  expect(await told()).toBe("venue_snapshot_failing 0")
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})
