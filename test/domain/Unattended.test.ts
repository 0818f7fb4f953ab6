/** What becomes of the venue's own loops when they meet a defect: they tell it, and go on. */
import { Cause, Effect, Exit, Fiber, Layer, Logger, type Scope, Stream, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { unattended } from "../../src/domain/Unattended.js"
import * as Notices from "../../src/edge/system/Notices.js"
import * as JournalWatch from "../../src/edge/system/JournalWatch.js"
import * as ExhaustionWatch from "../../src/edge/system/ExhaustionWatch.js"
import type { ApiKeyView, Reads } from "../../src/engine/Reads.js"
import * as Funds from "../../src/funds/Funds.js"
import type { Parts } from "../../src/funds/Parts.js"
import * as KeyUses from "../../src/identity/KeyUses.js"
import { Principal } from "../../src/operations/Header.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import * as IndexFeed from "../../src/oracle/IndexFeed.js"
import * as Sessions from "../../src/sessions/Sessions.js"
import type { Activity } from "../../src/sequencer/Activity.js"
import { VenueOver } from "../edge/VenueOver.js"

/** Lets a loop run on a clock for a while. Returns what the log has. */
const ran = (loop: Effect.Effect<never>, millis: number): Promise<ReadonlyArray<string>> => {
  const said: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    said.push(`${logLevel.label} ${String(message)}${Cause.isEmpty(cause) ? "" : `: ${Cause.pretty(cause).split("\n")[0]}`}`)
  })
  return Effect.gen(function*() {
    const fiber = yield* Effect.fork(loop)
    yield* TestClock.adjust(millis)
    yield* Fiber.interrupt(fiber)
    return said
  }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)), Effect.provide(TestContext.TestContext), Effect.runPromise)
}

/** Throws the first time it is called. */
const throwing = <A>(then: () => A): () => A => {
  let calls = 0
  return () => {
    if (++calls === 1) throw new Error("a defect")
    return then()
  }
}

test("a turn that meets a defect is told as an error with its cause, and followed by others after a rest", async () => {
  const turn = throwing(() => {})
  const loop = Effect.forever(unattended("a loop", Effect.zipRight(Effect.sync(turn), Effect.logInfo("a turn").pipe(Effect.delay(1_000)))))
  expect(await ran(loop, 7_500)).toEqual(["ERROR a loop met a defect, and goes on: Error: a defect", "INFO a turn", "INFO a turn"])
})

test("a check for the log that throws keeps no other from being made, and is made again", async () => {
  const notice = (text: string) => () => [{ text, isWarning: true }]
  expect(await ran(Notices.drive([throwing(notice("one")), notice("other")], 10_000), 11_000)).toEqual([
    "ERROR a check for the log met a defect, and goes on: Error: a defect",
    "WARN other",
    "WARN one",
    "WARN other"
  ])
})

test("a disk that is stuck is told beside a check that throws each time", async () => {
  const said = await ran(
    Effect.clockWith((clock) => {
      const writer = {
        trouble: () => clock.unsafeCurrentTimeMillis() < 15_000 ? undefined : "a block waits for the disk",
        journalSpace: () => ({ room: "everything" })
      } as unknown as Parameters<typeof JournalWatch.make>[0]
      const journal = JournalWatch.make(writer, { nanos: () => Number(clock.unsafeCurrentTimeNanos()), pauseMs: 10_000 })
      const broken = (): never => {
        throw new Error("a defect")
      }
      return Notices.drive([broken, journal], 10_000)
    }),
    21_000
  )
  const defect = "ERROR a check for the log met a defect, and goes on: Error: a defect"
  expect(said).toEqual([defect, defect, defect, "WARN the journal does not take everything: a block waits for the disk"])
})

test("a look for exhausted markets that throws is followed by others, which tell each but once", async () => {
  const reads = { marketCount: 1, market: () => ({ parameters: { marketId: "A" } }) } as unknown as Reads
  let times = 1
  const exhausted = throwing(() => times)
  const activity = { exhausted } as unknown as Activity
  const again = Effect.delay(Effect.sync(() => times++), 9_500)
  const said = await ran(Effect.zipRight(Effect.forkDaemon(again), ExhaustionWatch.drive(reads, activity)), 20_000)
  const halted = expect.stringMatching(/^ERROR A was halted/)
  expect(said).toEqual(["ERROR the watch for exhausted markets met a defect, and goes on: Error: a defect", halted, halted])
})

test("a look for exhausted markets that throws at one of them loses the news of none", async () => {
  const broken = throwing(() => "B")
  const market = (index: number) => ({ parameters: { marketId: index === 1 ? broken() : "AXC"[index] } })
  const reads = { marketCount: 3, market } as unknown as Reads
  const said = await ran(ExhaustionWatch.drive(reads, { exhausted: () => 1 } as unknown as Activity), 20_000)
  expect(said.map((line) => line.split(" was halted")[0])).toEqual([
    "ERROR the watch for exhausted markets met a defect, and goes on: Error: a defect",
    "ERROR A",
    "ERROR B",
    "ERROR C"
  ])
})

/** A loop of the venue that does its work once what it meets first has thrown; `done` notes that it does. */
type Loop = (done: () => void) => Effect.Effect<unknown, never, Scope.Scope>

const answered: Outcome = { sequence: 1, atEpochMs: 1, refusal: Refusal.none, replayed: false, entries: [] }

const sessions: Loop = (done) => {
  const findMarket = throwing(() => 0)
  const parameters = { marketId: "A", marketType: "regular_session", sessions: {} }
  const reads = { atEpochMs: 0, findMarket, market: () => ({ parameters, status: "active" }) } as unknown as Reads
  const weekly = [{ opens: "Thursday 00:00:05", closes: "Thursday 00:00:10" }]
  const calendar = { timeZone: "UTC", weekly, holidays: [], shortenedDays: [], riskIncreasingCutoffMs: 1_000 }
  const submit = (_: Command, answer: (outcome: Outcome) => void) => {
    done()
    answer(answered)
  }
  return Sessions.make([{ marketId: "A", calendar }], reads, { submit }).drive
}

const keyUses: Loop = (done) => {
  const taken = throwing(done)
  const submit = (_: Command, answer: (outcome: Outcome) => void) => {
    taken()
    answer(answered)
  }
  const reads = { clientName: () => "a client", keyAddresses: () => ["a"] } as unknown as Reads
  const uses = KeyUses.make(reads, { submit })
  uses.note({ account: 1, credential: 1, keyId: "key_1" } as ApiKeyView, "a", 1)
  return uses.drive
}

/** The parts of the driver of a ledger that tells nothing and has nothing to do. */
// oxlint-disable-next-line typescript/no-explicit-any -- a part of the parts
const partsOf = (knownTreasuryKey: () => { readonly keyId: string }, transfersToDrive: () => ReadonlyArray<any>): Parts => {
  const parts = {
    signer: {
      treasuryKey: Effect.succeed({ keyId: "k", publicKey: new Uint8Array(32) }),
      knownTreasuryKey: Effect.sync(knownTreasuryKey),
      claim: () => Effect.void
    },
    venue: Effect.succeed("a venue"),
    ledger: { participantId: Effect.succeed("p"), allocateParty: () => Effect.succeed({ partyId: "t::1" }), end: Effect.never },
    setting: {},
    reads: { funds: { offset: 0 }, openTransfers: () => [], transfersToDrive }
  }
  return parts as unknown as Parts
}

const fundsOf = (parts: Parts): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) => Effect.all(Funds.make(parts, scope).loops, { concurrency: "unbounded" }))

const signerWatch: Loop = (done) => {
  const known = throwing(() => {
    done()
    return { keyId: "k" }
  })
  return fundsOf(partsOf(known, () => []))
}

const driver: Loop = (done) => {
  const toDrive = throwing(() => {
    done()
    return []
  })
  return fundsOf(partsOf(() => ({ keyId: "k" }), toDrive))
}

test.each<[string, Loop, number]>([
  ["what journals the markets' sessions", sessions, 20_000],
  ["what journals the uses of keys", keyUses, 180_000],
  ["the watch of the signer", signerWatch, 30_000],
  ["the driver of the ledger", driver, 30_000]
])("%s meets a defect once, tells it, and does its work then", async (what, loop, millis) => {
  let times = 0
  const said = await ran(Effect.zipRight(Effect.scoped(loop(() => times++)), Effect.never), millis)
  expect(said.filter((line) => line.startsWith("ERROR"))).toEqual([`ERROR ${what} met a defect, and goes on: Error: a defect`])
  expect(times).toBeGreaterThan(0)
})

test("the index feed meets a defect once, and gives its prices then", async () => {
  const price = { marketId: "BTC-USDC-PERP", priceAtoms: 1_234, sourceEpochMs: 1_767_225_600_000 }
  const first = throwing(() => Stream.concat(Stream.make(price), Stream.never))
  const feed = Layer.succeed(IndexFeed.IndexFeed, { samples: () => Stream.suspend(first) })
  const lines: Array<string> = []
  const prices: Array<number> = []
  const offered = (command: Command) => {
    if (command.kind === "SetIndexPrice" && command.principal === Principal.feed) prices.push(command.priceAtoms)
  }
  const watch = { offered, taken: () => {}, made: () => {} }
  const venue = new VenueOver(SimDisk.make({ random: () => 0 }).mount(), { watch }, undefined, undefined, {
    feed,
    logged: (line) => lines.push(line)
  })
  expect(Exit.isSuccess(await venue.started)).toBe(true)
  await venue.leap(6_000)
  expect(lines).toContain("the index feed met a defect, and goes on")
  expect(prices).toEqual([1_234])
  expect(Exit.isSuccess(await venue.stop())).toBe(true)
})
