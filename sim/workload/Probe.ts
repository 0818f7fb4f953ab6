/**
 * Who asks from outside, over and over, whether the venue is up and takes requests, as a balancer of load does: whatever keeps it from
 * taking some may last for a moment alone. It draws from a generator of its own, and makes so many calls and no more.
 */
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Desk } from "./Owners.js"
import { Pace, type Paced } from "./Pace.js"

const who = { ...Calls.passerBy, client: "probe" }
/** How often only whether it is up is asked. */
const healthShare = 0.1

/** Begins what is asked so. */
export const start = (desk: Desk, random: SimRandom, set: Paced): void => {
  const pace = new Pace(desk, random, set, 0, () => {
    const [endpoint, target] = random.chance(healthShare) ? ["getHealth", "/healthz"] as const : ["getReadiness", "/readyz"] as const
    pace.say(Calls.read(who, endpoint, target, "none"))
  })
  pace.next()
}
