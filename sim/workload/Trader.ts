/**
 * One client: draws what it means to do, makes the call, and goes on. It knows the market as a good trader
 * does (from the reference model, which follows the journal), so that what it asks for is interesting: near
 * the margin, across the book, exactly its position. It also does all that a client should not.
 */
import type { Intent, Options } from "../faults/Options.js"
import type { SimRandom } from "../world/SimRandom.js"
import { amending } from "./Amending.js"
import { leastRetentionMs } from "../../src/domain/Retention.js"
import { asking, fenceAgain, lookUpOfMine } from "./Asking.js"
import type { Identity } from "./Calls.js"
import { cancelling } from "./Cancelling.js"
import { compatPlacing } from "./CompatPlacing.js"
import type { Desk } from "./Desk.js"
import { type Journey, journeys } from "./Journeys.js"
import { malformed } from "./Malforming.js"
import { placing } from "./Placing.js"
import { repeating } from "./Repeating.js"
import { type Drafting, Seat } from "./Seat.js"
import * as Twist from "./Twist.js"

export interface Trader {
  readonly start: () => void
}

/** What takes one call. */
const drafts: Readonly<Record<Exclude<Intent, Journey>, Drafting>> = {
  ...placing,
  ...compatPlacing,
  ...cancelling,
  ...amending,
  ...asking,
  ...repeating,
  malformed
}

const isJourney = (intent: Intent): intent is Journey => intent in journeys

/** Whoever finds that so much of the venue's time has passed was away: what it remembers may be forgotten. */
const awayMs = leastRetentionMs
/** How many of the calls that it remembers it then looks up before it does anything else. */
const lookedUpAfterwards = 4

/** How often a trader says in other words what a library would print. */
const respelledShare = 0.1

export const make = (
  desk: Desk,
  who: Identity,
  random: SimRandom,
  options: Options["workload"],
  againUnderHalt: number
): Trader => {
  const seat = new Seat(desk, who, random, options)

  let seenAtEpochMs = desk.model.atEpochMs
  let toLookUp = 0

  /** Whether it was away and has yet to find out what became of what it asked before. */
  const reconciles = (): boolean => {
    const { atEpochMs } = desk.model
    if (atEpochMs - seenAtEpochMs >= awayMs) toLookUp = lookedUpAfterwards
    seenAtEpochMs = atEpochMs
    if (toLookUp === 0 || seat.past.length === 0) return false
    toLookUp--
    return true
  }

  const pause = (): number => -Math.log(1 - random.next()) * options.meanPauseMs

  const act = (): void => {
    if (!desk.isOpen()) return
    const intent = desk.model.halted && random.chance(againUnderHalt) ? "same key again" : random.weighted(options.weights)
    const next = (): void => {
      desk.time.after(pause(), act)
    }
    if (reconciles()) return void desk.issue(lookUpOfMine(seat), next)
    const again = fenceAgain(seat)
    if (again !== undefined) return void desk.issue(again, next)
    if (isJourney(intent)) return journeys[intent](seat, intent, next)
    const drafted = drafts[intent](seat, intent)
    const draft = random.chance(respelledShare) ? Twist.respelled(drafted, random) : drafted
    seat.remember(draft)
    desk.issue(draft, next)
  }

  return {
    start: () => {
      for (let lane = 0; lane < options.concurrency; lane++) desk.time.after(pause(), act)
    }
  }
}
