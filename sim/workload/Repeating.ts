/** What a trader asked before, asked again. */
import type { Intent } from "../faults/Options.js"
import { makeOrder } from "./Placing.js"
import type { Drafting } from "./Seat.js"
import * as Twist from "./Twist.js"

export const repeating = {
  "same key again": (seat) => {
    const { past, random } = seat
    return past.length === 0 ? makeOrder(seat, "make") : random.pick(past)
  },
  "key with another body": (seat) => {
    const { past, random } = seat
    return past.length === 0 ? makeOrder(seat, "make") : Twist.twisted(random.pick(past), random)
  }
} satisfies Partial<Record<Intent, Drafting>>
