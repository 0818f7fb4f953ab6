/**
 * Directories of versions 0.2.0 to 0.7.0 are taken over: their answers, their state, and what follows; what they left undecided is left to
 * them.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Effect, Layer, Stream } from "effect"
import { afterAll, describe, expect, test } from "vitest"
import { withoutRequestId } from "../../scripts/fixtures/Version.js"
import type * as SimDisk from "../../sim/world/SimDisk.js"
import * as Invariants from "../../src/engine/Invariants.js"
import { Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { engineOf } from "../../src/sequencer/Recovery.js"
import { stateDigest } from "../../src/sequencer/StateDigest.js"
import { versions } from "../../src/sequencer/Versions.js"
import { line, runAll } from "../cli/Tool.js"
import * as Kept from "./KeptVersion.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "upgrade-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

/** Directories that were taken over, with the last record before that; one process verifies all of them behind the other tests. */
const left = (() => {
  const all: Array<readonly [data: string, takenOverAt: number]> = []
  return { add: (data: string, takenOverAt: number): void => void all.push([data, takenOverAt]), all: () => all }
})()

describe.each([[2, "0.2.0"], [3, "0.3.0"], [4, "0.4.0"], [5, "0.5.0"], [6, "0.6.0"], [7, "0.7.0"]] as const)("a directory of rules %i",
  (rules, program) => {
    const exchanges = Kept.exchangesOf(`rules-${rules}`)
    const soonAfterMs = Kept.soonAfterMs(exchanges)
    const takenOverAt = {
      2: Kept.takenOverAt,
      3: Kept.takenOverAt,
      4: Kept.takenOverOfRules4,
      5: Kept.takenOverOfRules5,
      6: Kept.takenOverOfRules6,
      7: Kept.takenOverOfRules7
    }[rules]
    const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

    const [alice, bob] = Kept.tradersOf(exchanges) as [Kept.Trader, Kept.Trader]
    const { order } = Kept

    const startsIn = (disk: SimDisk.SimDisk, from: number) =>
      Effect.gen(function*() {
        const journal = yield* Journal
        const blocks = yield* Stream.runCollect(journal.replay(from))
        return [...blocks].flatMap(({ records }) => records).map(({ command }) => command).filter(({ kind }) => kind === "StartVenue")
      }).pipe(Effect.provide(Layer.provide(SegmentJournal.layerReadOnly, disk.mount())), Effect.runPromise)

    test("every request that is repeated gets its answer, and every read tells what it told", async () => {
      const disk = await Kept.diskOf(`rules-${rules}`)
      const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
      const { sequence } = running.venue.reads
      expect(sequence).toBe(takenOverAt + 1)
      let decidedAgain = 0
      for (const { again, answer: first, request, title } of exchanges) {
        // A request refused under the halt had no effect: sent again it is a new order.
        if (first.status === 503) continue
        const answer = await running.ask(request)
        // Since rules 3 a cancel that finds nothing is not remembered: sent again it is decided again, at another time.
        const isDecidedAgain = request.method === "POST" && again !== undefined
        if (isDecidedAgain) decidedAgain++
        const said = (status: number, body: string) => {
          const before = Kept.asBefore(withoutRequestId(body))
          // From rules 4 on, these were answered after a start that had made marks already, at a later sequence.
          const text = rules >= 4 ? before.replace(/"journalSequence":\d+/, "\"journalSequence\":0") : before
          return [status, isDecidedAgain ? text.replace(/"occurredAtEpochMs":\d+/, "\"occurredAtEpochMs\":0") : text]
        }
        const expected = again ?? first
        expect(said(answer.status, answer.body), title).toEqual(said(expected.status, expected.body))
      }
      expect(running.venue.reads.sequence).toBe(sequence + decidedAgain)
      await running.stop()
    })

    test("the step is journaled first; it trades on, and starts again from its own snapshot, and without one from the step", async () => {
      const disk = await Kept.diskOf(`rules-${rules}`)
      const store = await Effect.runPromise(
        Effect.provide(SnapshotStore.SnapshotStore, Layer.provide(SnapshotStore.layerReadOnly, disk.mount()))
      )
      const stored = await Effect.runPromise(store.load(takenOverAt))
      if (typeof stored === "string") throw new Error(stored)
      const migrated = await Effect.runPromise(engineOf(stored, capacity))
      expect(Invariants.firstBroken(migrated.state)).toBeUndefined()
      const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
      await running.ask(Kept.freshIndex)
      const resting = await running.ask(order(alice, "new-1", {}))
      expect(JSON.parse(resting.body)).toMatchObject({ status: "open" })
      const taking = await running.ask(order(bob, "new-2", { side: "sell" }))
      expect(JSON.parse(taking.body)).toMatchObject({ status: "closed", filledQuantity: "0.010" })
      const { sequence } = running.venue.reads
      disk.crash("kill")

      const recovered = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 10_000))
      expect(recovered.venue.recovered).toEqual({ fromSequence: takenOverAt, records: sequence - takenOverAt })
      expect(withoutRequestId((await recovered.ask(order(alice, "new-1", {}))).body)).toBe(withoutRequestId(resting.body))
      await recovered.stop()
      const again = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 20_000))
      expect(again.venue.recovered.records).toBe(0)
      await again.stop()
      const [step, ...later] = await startsIn(disk, takenOverAt + 1)
      expect(step).toMatchObject({
        ...versions,
        stateBefore: Buffer.from(stored.digest).toString("hex"),
        stateAfter: stateDigest(migrated.state)
      })
      expect(later).toHaveLength(2)
      for (const start of later) expect(start).toMatchObject({ rules: versions.rules, stateBefore: "", stateAfter: "" })

      const data = path.join(directory, `rules-${rules}`)
      Kept.writeOut(disk, data)
      left.add(data, takenOverAt)
    })

    /** From rules 6 on the markets file had a market with sessions. */
    const knewSessions = rules >= 6

    test("a market of sessions that the file has by now is put behind the step, or goes on, and the others trade on", async () => {
      const disk = await Kept.diskOf(`rules-${rules}`)
      const markets = await Effect.runPromise(Kept.presentMarkets)
      const before = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs))
      const { marketCount } = before.venue.reads
      await before.stop()
      disk.crash("kill")
      const running = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 10_000, { markets }))
      const { reads } = running.venue
      const gold = reads.market(reads.findMarket("XAU-USDC-PERP"))
      expect(gold.status).toBe("open")
      expect(reads.marketCount).toBe(knewSessions ? marketCount : marketCount + 1)
      if (!knewSessions) expect(gold.index).toBe(marketCount)
      expect(gold.session!.nextOpenEpochMs).toBeGreaterThan(soonAfterMs)
      expect(gold.session!.nextCloseEpochMs).toBeGreaterThan(soonAfterMs)
      for (let market = 0; market < marketCount; market++) {
        if (market !== gold.index) expect(reads.market(market).session).toBeUndefined()
      }
      await running.ask(Kept.freshIndex)
      expect(JSON.parse((await running.ask(order(alice, "new-1", {}))).body)).toMatchObject({ status: "open" })
      // A stop journals which keys were used.
      await running.stop()
      const { sequence } = reads
      disk.crash("kill")
      // Existing markets are not put again; only the start itself is journaled.
      const again = await Effect.runPromise(Kept.start(disk.mount(), soonAfterMs + 10_500, { markets }))
      expect([again.venue.recovered.records, again.venue.reads.sequence]).toEqual([0, sequence + 1])
      await again.stop()
    })

    describe("what they left undecided", () => {
      test("refuses the start by name, and nothing is changed", async () => {
        await Kept.refusedByName(`rules-${rules}-crashed`, soonAfterMs, program, rules)
      })
    })
  })

test("replay verifies every directory that was taken over, and says what is before", async () => {
  expect(left.all()).toHaveLength(6)
  const results = await runAll(left.all().map(([data]) => line("dist/tools/replay.js", ["--data", data, "--verify"])))
  for (const [at, [, takenOverAt]] of left.all().entries()) {
    const { code, stderr, stdout } = results[at]!
    expect([stderr, code]).toEqual(["", 0])
    expect(stdout).toContain(`sequences 1 to ${takenOverAt} are verified by their chain: an earlier version decided them`)
  }
})
