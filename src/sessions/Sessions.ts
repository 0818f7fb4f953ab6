/**
 * Journals the sessions that the calendars of the markets file prescribe: at a start before anybody can trade, and at each change of a
 * session. Only changes that are not journaled yet are submitted. A market closes without it, since the engine knows the times; only an
 * opening depends on it.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Market from "../domain/Market.js"
import * as Refusal from "../domain/Refusal.js"
import * as Session from "../domain/Session.js"
import { unattended } from "../domain/Unattended.js"
import { isDelisted, type Reads } from "../engine/Reads.js"
import { internal, Principal } from "../operations/Header.js"
import { type Command, type Outcome } from "../operations/Operations.js"
import type { Submit } from "../sequencer/Submit.js"
import type { Calendar } from "./Calendar.js"
import * as Reckoning from "./Reckoning.js"

/** A market of the markets file with its calendar. */
export interface Scheduled {
  readonly marketId: string
  readonly calendar: Calendar
}

export interface Sessions {
  /**
   * Journals the present sessions, and completes when they are durable, or refused because the disk is full: a start need not wait in that
   * case, since a market closes by itself, and one that should open stays closed until `drive` finds room.
   */
  readonly journal: Effect.Effect<void>
  /** Keeps journaling, at each change of a session. */
  readonly drive: Effect.Effect<never>
}

/**
 * The longest sleep before the clock is read again, in milliseconds. A sleep does not end early where the clock is set forward, so this is
 * how late a market may open after that.
 */
const longestSleepMs = 500

const fromClock = internal(Principal.timer)

/** A calendar with its last lookup. */
class Timetable {
  private reckoned: Reckoning.Reckoned | undefined
  private asOfEpochMs = 0
  private readonly reckoning: Reckoning.Reckoning

  constructor(readonly marketId: string, calendar: Calendar) {
    this.reckoning = Reckoning.make(calendar)
  }

  at(epochMs: number): Reckoning.Reckoned {
    if (this.reckoned === undefined || epochMs < this.asOfEpochMs || epochMs >= this.reckoned.untilEpochMs) {
      this.reckoned = this.reckoning.at(epochMs)
      this.asOfEpochMs = epochMs
    }
    return this.reckoned
  }
}

export const make = (
  scheduled: ReadonlyArray<Scheduled>,
  reads: Reads,
  { submit }: Context.Tag.Service<typeof Submit>
): Sessions => {
  const timetables = scheduled.map(({ calendar, marketId }) => new Timetable(marketId, calendar))
  // A record's time never goes back, whatever the clock does: sessions are looked up at the later of the two.
  const now = Effect.map(Clock.currentTimeMillis, (epochMs) => Math.max(epochMs, reads.atEpochMs))

  /** The commands due at a time: for sessions that differ from what the engine arrives at by itself. */
  const commandsAt = (epochMs: number): ReadonlyArray<Command> =>
    timetables.flatMap((timetable): ReadonlyArray<Command> => {
      const market = reads.findMarket(timetable.marketId)
      // The market may have been created by an operator with other parameters before it was in the file, or may be delisted.
      if (market < 0) return []
      const view = reads.market(market)
      if (!Market.hasSessions(view.parameters) || isDelisted(view)) return []
      const { session } = timetable.at(epochMs)
      const standing = view.session
      return standing !== undefined && Session.isSame(Session.heldTo(standing, epochMs), session)
        ? []
        : [{ kind: "SetMarketSession", ...fromClock, market, ...session }]
    })

  const sent = (command: Command): Effect.Effect<Outcome> =>
    Effect.async((resume) => submit(command, (outcome) => resume(Effect.succeed(outcome))))

  /** Journals what is due. Returns whether that succeeded; a full disk counts as success, since waiting would not help. */
  const journalOnce = Effect.gen(function*() {
    const outcomes = yield* Effect.forEach(commandsAt(yield* now), sent, { concurrency: "unbounded" })
    return outcomes.every(({ refusal }) => refusal === Refusal.Refusal.none || refusal === Refusal.Refusal.journalFull)
  })

  const sleep = Effect.flatMap(now, (epochMs) => {
    const until = Math.min(...timetables.map((timetable) => timetable.at(epochMs).untilEpochMs))
    return Effect.sleep(Math.min(longestSleepMs, Math.max(1, until - epochMs)))
  })

  const journal: Effect.Effect<void> = Effect.flatMap(
    journalOnce,
    (isDone) => isDone ? Effect.void : Effect.delay(journal, longestSleepMs)
  )

  return {
    journal,
    drive: timetables.length === 0
      ? Effect.never
      : Effect.forever(unattended("what journals the markets' sessions", Effect.zipRight(sleep, journalOnce)))
  }
}
