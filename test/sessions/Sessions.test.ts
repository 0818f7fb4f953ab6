/** The driver of sessions: what it journals at a start and at each moment, and what it leaves to the engine. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { expect, test } from "vitest"
import * as SimDisk from "../../sim/world/SimDisk.js"
import type { ListedMarket } from "../../src/Bootstrap.js"
import { riskDefaults, type Type } from "../../src/domain/Market.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Session } from "../../src/domain/Session.js"
import { Engine } from "../../src/engine/Engine.js"
import { type Command, refuse } from "../../src/operations/Operations.js"
import type { SetMarketSession } from "../../src/operations/markets/SetMarketSession.js"
import type { Calendar } from "../../src/sessions/Calendar.js"
import * as Sessions from "../../src/sessions/Sessions.js"
import { VenueOver } from "../edge/VenueOver.js"
import { Driver, parameters } from "../engine/drive.js"

/** Thursday, 2026-01-01, 00:00 UTC. */
const from = 1_767_225_600_000

/** Two sessions of five seconds, the last two of each past the cutoff: 5 to 10, 15 to 20. */
const calendar: Calendar = {
  timeZone: "UTC",
  weekly: [
    { opens: "Thursday 00:00:05", closes: "Thursday 00:00:10" },
    { opens: "Thursday 00:00:15", closes: "Thursday 00:00:20" }
  ],
  holidays: [],
  shortenedDays: [],
  riskIncreasingCutoffMs: 2_000
}

const listed = (marketType: Type, withCalendar = true): ListedMarket => {
  const market = parameters("XAU", { marketType })
  return {
    parameters: { ...market, ...riskDefaults(market) },
    developmentIndexPriceAtoms: 1000,
    ...(withCalendar ? { calendar } : {})
  }
}

const disk = () => SimDisk.make({ random: () => 0 })

/** A venue with that market, and the sessions journaled for it. */
const start = async (on: SimDisk.SimDisk, market: ListedMarket, afterMs = 0) => {
  const said: Array<SetMarketSession> = []
  const watch = {
    offered: (command: Command) => {
      if (command.kind === "SetMarketSession") said.push(command)
    },
    taken: () => {},
    made: () => {}
  }
  const venue = new VenueOver(on.mount(), { markets: [market], watch }, from + afterMs)
  const started = await venue.started
  if (Exit.isFailure(started)) throw new Error(String(started.cause))
  const { reads } = started.value
  const stop = async () => {
    expect(Exit.isSuccess(await venue.stop())).toBe(true)
    on.crash("kill")
  }
  return { venue, said, reads, session: () => reads.market(0).session!, stop }
}

const seconds = ({ nextCloseEpochMs, nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, state }: Session) => [
  state,
  ...[nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, nextCloseEpochMs].map((at) => at === 0 ? 0 : (at - from) / 1_000)
]

test("a start journals what the calendar says before it takes requests, and goes on at each opening and behind each close", async () => {
  const { said, session, stop, venue } = await start(disk(), listed("commodity"))
  expect(seconds(session())).toEqual(["closed", 5, 8, 10])
  expect(session().asOfEpochMs).toBe(from)
  await venue.pass(4_900)
  expect(said).toHaveLength(1)
  await venue.pass(200)
  expect(seconds(session())).toEqual(["open", 15, 8, 10])
  await venue.pass(3_000)
  // The engine applies the cutoff by itself.
  expect([seconds(session()), said.length]).toEqual([["reduce_only", 15, 8, 10], 2])
  expect(session().asOfEpochMs - from).toBeLessThan(8_200)
  await venue.pass(2_000)
  expect(seconds(session())).toEqual(["closed", 15, 18, 20])
  expect(said.map(({ state }) => state)).toEqual(["closed", "open", "closed"])
  await venue.pass(5_000)
  expect(seconds(session()).slice(0, 1)).toEqual(["open"])
  await stop()
})

test("after an outage the market is closed by the first record, and opened by what the calendar says then", async () => {
  const on = disk()
  const before = await start(on, listed("commodity"), 6_000)
  expect(seconds(before.session())).toEqual(["open", 15, 8, 10])
  await before.stop()
  const after = await start(on, listed("commodity"), 12_000)
  expect(seconds(after.session())).toEqual(["closed", 15, 18, 20])
  await after.stop()
  const later = await start(on, listed("commodity"), 16_000)
  expect([seconds(later.session()), later.said.length]).toEqual([["open", 604_805, 18, 20], 1])
  await later.stop()
  // A session that is journaled already is not journaled again.
  const again = await start(on, listed("commodity"), 17_000)
  expect(again.said).toEqual([])
  await again.stop()
})

test("a calendar that was changed holds from the next start on", async () => {
  const on = disk()
  await (await start(on, listed("commodity"), 6_000)).stop()
  const closed = { ...listed("commodity"), calendar: { ...calendar, holidays: ["2026-01-01"] } }
  const { session, stop } = await start(on, closed, 6_500)
  expect(seconds(session())).toEqual(["closed", 604_805, 604_808, 604_810])
  await stop()
})

test("a market that an operator made crypto has no sessions, whatever the file says by now", async () => {
  const on = disk()
  await (await start(on, listed("crypto", false))).stop()
  const { reads, said, stop, venue } = await start(on, listed("commodity"))
  await venue.pass(6_000)
  expect([said, reads.market(0).session]).toEqual([[], undefined])
  await stop()
})

test("a full inbox delays it until there is room, a full disk leaves it to the driver, and a clock that was set back does not open what is over", async () => {
  const driver = new Driver(Engine.make({ orders: 10, idempotencyKeys: 10 }))
  driver.atEpochMs = from
  driver.send({ kind: "PutMarket", idempotencyKey: "put", parameters: parameters("XAU", { marketType: "commodity" }) })
  let clockMs = from + 6_000
  const refusals: Array<Refusal> = [Refusal.journalFull]
  const sent: Array<string> = []
  const sessions = Sessions.make([{ marketId: "XAU-USDC-PERP", calendar }], driver.engine, {
    submit: (command, answer) => {
      const refusal = refusals.shift() ?? Refusal.none
      sent.push((command as SetMarketSession).state)
      driver.atEpochMs = Math.max(driver.atEpochMs, clockMs)
      answer(refusal === Refusal.none ? driver.run(command) : refuse(refusal, driver.engine.sequence, driver.atEpochMs))
    }
  })
  const clock: Clock.Clock = Object.assign(Clock.make(), {
    currentTimeMillis: Effect.sync(() => clockMs),
    sleep: () => Effect.sync(() => void (clockMs += 500))
  })
  const journal = () => Effect.runPromise(Effect.withClock(sessions.journal, clock))
  // A start on a full disk serves what it can: until there is room the market stays closed.
  await journal()
  expect([seconds(driver.engine.market(0).session!), refusals]).toEqual([["closed", 0, 0, 0], []])
  refusals.push(Refusal.inboxFull, Refusal.inboxFull)
  await journal()
  expect([seconds(driver.engine.market(0).session!), refusals]).toEqual([["open", 15, 8, 10], []])
  clockMs = from + 11_000
  await journal()
  expect(seconds(driver.engine.market(0).session!)).toEqual(["closed", 15, 18, 20])
  const before = sent.length
  clockMs = from + 6_000
  await journal()
  expect([sent.length, seconds(driver.engine.market(0).session!)]).toEqual([before, ["closed", 15, 18, 20]])
})
