/** A trader's earlier calls, repeated. */
import type { Intent } from "../faults/Options.js"
import { makeOrder } from "./Placing.js"
import { endOf } from "../model/Moments.js"
import type { Draft } from "./Calls.js"
import type { Drafting, Seat } from "./Seat.js"
import * as Twist from "./Twist.js"

/** The earlier call whose key is nearest to its end by the venue's time. */
export const nearestToItsEnd = ({ model, past }: Seat): Draft => {
  const distance = ({ scope }: Draft): number => {
    const memory = model.memory.get(scope ?? "")
    const end = memory === undefined ? undefined : endOf(memory)
    return end === undefined ? Number.POSITIVE_INFINITY : Math.abs(end - model.atEpochMs)
  }
  return past.reduce((nearest, draft) => distance(draft) < distance(nearest) ? draft : nearest)
}

export const repeating = {
  "same key again": (seat) => {
    const { past, random } = seat
    if (past.length === 0) return makeOrder(seat, "make")
    const draft = random.chance(0.4) ? nearestToItsEnd(seat) : seat.pickPast()
    return random.chance(0.5) ? draft : Twist.respelled(draft, random)
  },
  "key with another body": (seat) => {
    const { past, random } = seat
    return past.length === 0 ? makeOrder(seat, "make") : Twist.twisted(seat.pickPast(), random)
  }
} satisfies Partial<Record<Intent, Drafting>>
