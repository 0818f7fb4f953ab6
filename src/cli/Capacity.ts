/** The bounds that a venue ran under, by its own settings: a replay must not run out of room before it did. */
import * as Effect from "effect/Effect"
import { OutOfRoom } from "../engine/OutOfRoom.js"
import type { Capacity } from "../engine/State.js"
import { inWords } from "../SettingTexts.js"
import * as VenueConfig from "../VenueConfig.js"
import { type Ended, usage } from "./Exit.js"

/** ORDER_CAPACITY and IDEMPOTENCY_CAPACITY, or what a venue has without them. */
export const capacity: Effect.Effect<Capacity, Ended> = Effect.mapError(inWords(VenueConfig.capacity), ({ message }) => usage(message))

/** A replay under smaller tables than the journal needs is a wrong setting, and no fault of the journal's. */
export const settingTooSmall = <A, E, R>(replay: Effect.Effect<A, E, R>): Effect.Effect<A, E | Ended, R> =>
  Effect.catchAllDefect(replay, (defect) => defect instanceof OutOfRoom ? usage(defect.message) : Effect.die(defect))
