/** The bounds that a venue ran under, by its own settings: a replay must not run out of room before it did. */
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import type { Capacity } from "../engine/State.js"
import { defaultCapacity } from "../Venue.js"
import { type Ended, usage } from "./Exit.js"

/** ORDER_CAPACITY and IDEMPOTENCY_CAPACITY, or what a venue has without them. */
export const capacity: Effect.Effect<Capacity, Ended> = Config.all({
  orders: Config.integer("ORDER_CAPACITY").pipe(Config.withDefault(defaultCapacity.orders)),
  idempotencyKeys: Config.integer("IDEMPOTENCY_CAPACITY").pipe(Config.withDefault(defaultCapacity.idempotencyKeys))
}).pipe(Effect.mapError((error) => usage(error.message)))
