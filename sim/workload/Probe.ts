/**
 * An outside client that asks over and over whether the venue is alive and ready, like a load balancer: whatever makes it unready may last
 * only a moment. It draws from a generator of its own, and makes a given number of calls.
 */
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./Calls.js"
import type { Desk } from "./Owners.js"
import { Pace, type Paced } from "./Pace.js"

const who = { ...Calls.passerBy, client: "probe" }
/** How often it asks only whether the venue is alive. */
const healthShare = 0.1

/** Starts the client. */
export const start = (desk: Desk, random: SimRandom, set: Paced): void => {
  const pace = new Pace(desk, random, set, 0, () => {
    const [endpoint, target] = random.chance(healthShare) ? ["getHealth", "/healthz"] as const : ["getReadiness", "/readyz"] as const
    pace.say(Calls.read(who, endpoint, target, "none"))
  })
  pace.next()
}
