/**
 * A client in a hurry, where requests are limited: it cancels all its orders, more often at one moment than its limit and the additional
 * one for cancels allow, and again in the following windows; by the key of a demo account, an agent's, or an owner's session. It draws
 * from a generator of its own, and is in a hurry a given number of times.
 */
import type { Rushes as Options } from "../faults/Options.js"
import type { Limits } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import * as Calls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"

const client = "somebody in a hurry"
/** The number of consecutive windows. */
const windows = 2
/** How often it uses an issued credential instead of a demo account's key, if there is any. */
const issuedShare = 0.7
/** Most reads sent together with the cancels. */
const mostReads = 3

/** Starts the client. `owners`: whose sessions and agents' keys are used. */
export const start = (
  desk: Desk,
  random: SimRandom,
  { meanPauseMs, rushes }: Options,
  { perKey, windowMs }: Limits,
  owners: ReadonlyArray<Calls.KeyHolder>
): void => {
  let left = rushes
  let keys = 0
  const somebody = (): Calls.Bearer => {
    const sessions = owners.flatMap((owner) => owner.sessions.slice(-1).map((call) => Calls.holder(owner.agent, call)))
    const agents = owners.flatMap((owner) => owner.keys.slice(-1).map((call) => Calls.agent(owner.agent, call)))
    const issued = [...sessions, ...sessions, ...agents]
    return issued.length > 0 && random.chance(issuedShare) ? random.pick(issued) : Calls.demoKey(client, random.pick(desk.demo))
  }
  const cancels = (who: Calls.Bearer): void => {
    for (let read = random.below(mostReads + 1); read > 0; read--) desk.issue(Calls.readOwn(who, "getBalance", "balance"), () => {})
    for (let cancel = 2 * perKey + 1; cancel > 0; cancel--) desk.issue(Calls.cancelAll(who, `rush-${keys++}`), () => {})
  }
  const rush = (who: Calls.Bearer, window: number): void => {
    if (!desk.isOpen()) return
    cancels(who)
    // Now and then the next rush still falls into the same window.
    if (window + 1 < windows) desk.time.after(windowMs * (0.95 + 0.3 * random.next()), () => rush(who, window + 1))
    else next()
  }
  const next = (): void => {
    if (left-- > 0) desk.time.after(random.until(meanPauseMs), () => rush(somebody(), 0))
  }
  next()
}
