/**
 * One client: draws an intent, makes the call, and goes on. It knows the market as a good trader does (from the reference model, which
 * follows the journal), so that its calls are interesting: near the margin, across the book, exactly its position. It also does everything
 * that a client should not.
 */
import type { Intent, Options } from "../faults/Options.js"
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import { amending } from "./Amending.js"
import { leastRetentionMs } from "../../src/domain/Retention.js"
import { asking, fenceAgain, lookUpOfMine } from "./Asking.js"
import { cancelAll, type Draft, type Identity, placeAs } from "./Calls.js"
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

/** Intents that take one call. */
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

/** A trader that finds that so much of the venue's time has passed was away: its earlier keys may be forgotten. */
const awayMs = leastRetentionMs
/** How many of its earlier calls it then looks up before it does anything else. */
const lookedUpAfterwards = 4

/** How often a trader spells a body as no library would. */
const respelledShare = 0.1

/** How often a trader places an order that it has previewed. */
const placedShare = 0.8

/** Volleys begin at multiples of this time, so that those of several traders meet in the inbox. */
const beatMs = 200
const leastAtOnce = 3
const mostAtOnce = 10
/** Distance between the calls of a volley, ms: the same moment, or so that the first are decided while the last arrive. */
const volleysApartMs = [0, 0, 3, 8]
/**
 * How often a trader whose dead-man switch falls due soon cancels all of one market at that moment, so that its orders have two reasons to
 * end.
 */
const lastMomentShare = 0.5
/** A later switch is not waited for. */
const soonMs = 5_000
const adding = ["make", "take", "post only"] as const
const removing = ["cancel own", "cancel own", "cancel batch", "cancel all"] as const

/** Waits until the trader's dead-man switch falls due, if it is armed, and then cancels all orders of a market. */
const meetSwitch = ({ desk, model, nextKey, who }: Seat, random: SimRandom): void => {
  const { cancelAllAtEpochMs } = model.accounts[who.account]!
  const waitMs = cancelAllAtEpochMs - model.atEpochMs
  if (cancelAllAtEpochMs === 0 || waitMs > soonMs || !random.chance(lastMomentShare)) return
  desk.time.after(Math.max(0, waitMs), () => {
    const { open } = model.accounts[who.account]!
    if (!desk.isOpen() || open.length === 0) return
    const { marketId } = model.markets[random.pick(open).market]!.parameters
    desk.issue(cancelAll(who, "cancel all", nextKey(), marketId), () => {})
  })
}

/** Places exactly the order that was just previewed, mostly. */
const asPreviewed = (seat: Seat, draft: Draft, answer: Answer | undefined, random: SimRandom): Draft | undefined => {
  const isPreview = draft.endpoint === "previewMargin" && answer?.status === 200
  if (!isPreview || !seat.desk.isOpen() || !random.chance(placedShare)) return undefined
  const placement = placeAs(seat.who, "as previewed", seat.nextKey(), draft.body)
  seat.remember(placement)
  return placement
}

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

  /** Whether it was away and still has to look up the results of its earlier calls. */
  const reconciles = (): boolean => {
    const { atEpochMs } = desk.model
    if (atEpochMs - seenAtEpochMs >= awayMs) toLookUp = lookedUpAfterwards
    seenAtEpochMs = atEpochMs
    if (toLookUp === 0 || seat.past.length === 0) return false
    toLookUp--
    return true
  }

  const pause = (): number => random.until(options.meanPauseMs)

  const next = (): void => {
    desk.time.after(pause(), act)
  }

  const volleys = random.split("volleys")

  /** Makes several calls at once, each of which has to wait for those before it: placements and cancels in turn, or only cancels. */
  const volley = (): void => {
    if (!desk.isOpen()) return
    const places = volleys.chance(0.7)
    const last = volleys.between(leastAtOnce, mostAtOnce) - 1
    const apartMs = volleys.pick(volleysApartMs)
    const say = (at: number): void => {
      if (!desk.isOpen()) return
      const intent = volleys.pick<Exclude<Intent, Journey>>(places && at % 2 === 0 ? adding : removing)
      const draft = drafts[intent](seat, intent)
      seat.remember(draft)
      desk.issue(draft, at === last ? next : () => {})
      if (at < last && apartMs > 0) desk.time.after(apartMs, () => say(at + 1))
      else if (at < last) say(at + 1)
    }
    say(0)
  }

  const lastMoments = random.split("last moments")
  const previewing = random.split("previewing")

  const act = (): void => {
    if (!desk.isOpen()) return
    if (volleys.chance(options.volleyShare ?? 0)) return void desk.time.after(beatMs - desk.time.nowEpochMs() % beatMs, volley)
    const intent = desk.model.halted && random.chance(againUnderHalt) ? "same key again" : random.weighted(options.weights)
    if (reconciles()) return void desk.issue(lookUpOfMine(seat), next)
    const again = fenceAgain(seat)
    if (again !== undefined) return void desk.issue(again, next)
    if (isJourney(intent)) return journeys[intent](seat, intent, next)
    const drafted = drafts[intent](seat, intent)
    const draft = random.chance(respelledShare) ? Twist.respelled(drafted, random) : drafted
    seat.remember(draft)
    desk.issue(draft, (answer) => {
      if (intent === "dead-man switch") meetSwitch(seat, lastMoments)
      const placement = asPreviewed(seat, draft, answer, previewing)
      if (placement === undefined) next()
      else desk.issue(placement, next)
    })
  }

  return {
    start: () => {
      for (let lane = 0; lane < options.concurrency; lane++) desk.time.after(pause(), act)
    }
  }
}
