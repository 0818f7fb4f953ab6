/**
 * One client: draws what it means to do, makes the call, and goes on. It knows the market as a good trader
 * does (from the reference model, which follows the journal), so that what it asks for is interesting: near
 * the margin, across the book, exactly its position. It also does all that a client should not.
 */
import type { Intent, Options } from "../faults/Options.js"
import type { SimRandom } from "../world/SimRandom.js"
import { amending } from "./Amending.js"
import { asking } from "./Asking.js"
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

  const pause = (): number => -Math.log(1 - random.next()) * options.meanPauseMs

  const act = (): void => {
    if (!desk.isOpen()) return
    const intent = desk.model.halted && random.chance(againUnderHalt) ? "same key again" : random.weighted(options.weights)
    const next = (): void => {
      desk.time.after(pause(), act)
    }
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
