/** What becomes of the venue's own loops when they meet a defect: they tell it, and go on. */
import { Cause, Effect, Fiber, Logger, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { unattended } from "../../src/domain/Unattended.js"
import * as Notices from "../../src/edge/system/Notices.js"
import * as JournalWatch from "../../src/edge/system/JournalWatch.js"
import * as ExhaustionWatch from "../../src/edge/system/ExhaustionWatch.js"
import type { Reads } from "../../src/engine/Reads.js"
import type { Activity } from "../../src/sequencer/Activity.js"

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
