/** The table sizes under which a venue ran, from its settings: a replay must not run out of room before the venue did. */
import * as Effect from "effect/Effect"
import { OutOfRoom } from "../engine/OutOfRoom.js"
import type { Capacity } from "../engine/State.js"
import * as CapacityConfig from "../CapacityConfig.js"
import { inWords } from "../SettingTexts.js"
import { type Ended, usage } from "./Exit.js"

/** ORDER_CAPACITY and IDEMPOTENCY_CAPACITY, or a venue's defaults. */
export const capacity: Effect.Effect<Capacity, Ended> = Effect.mapError(inWords(CapacityConfig.capacity), ({ message }) => usage(message))

/** Ends a replay whose tables are smaller than its blocks need. */
export const endedOutOfRoom =
  (ended: (error: OutOfRoom) => Ended) => <A, E, R>(replay: Effect.Effect<A, E, R>): Effect.Effect<A, E | Ended, R> =>
    Effect.catchAllDefect(replay, (defect) => defect instanceof OutOfRoom ? Effect.fail(ended(defect)) : Effect.die(defect))

/** A replay with smaller tables than the journal needs has a wrong setting; the journal is not at fault. */
export const settingTooSmall = endedOutOfRoom(({ message }) => usage(message))
