/**
 * What one trader drafts its calls from: its identity, knowledge and wishes, its generator, the names that it gives to keys and orders,
 * and its earlier calls, which it may repeat.
 */
import type { Intent, Options } from "../faults/Options.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { SimTime } from "../world/SimTime.js"
import { type Draft, fence, type Fenced, type Identity } from "./Calls.js"
import type { Desk } from "./Desk.js"
import { Wishes } from "./Wishes.js"

/** Drafts a call for a trader's intent. */
export type Drafting = (seat: Seat, intent: Intent) => Draft

/** How many of its past calls a trader remembers. */
const memorySize = 40
/** How often an earlier call is picked by kind first, so that each kind is equally likely: most calls are orders. */
const evenShare = 0.35

export class Seat {
  readonly model: NaiveVenue
  readonly time: SimTime
  readonly wishes: Wishes
  /** The calls it remembers, oldest first. */
  readonly past: Array<Draft> = []
  /** Its fences, and a generator of its own for repeated ones. */
  readonly fenced: Array<Fenced> = []
  readonly fencing: SimRandom
  /** Generator for names that are too long. */
  readonly naming: SimRandom
  /** Generator for orders that expire at no time. */
  readonly expiring: SimRandom
  /** Generator for cancelled triggers of open orders. */
  readonly takingBack: SimRandom
  #keys = 0
  #clientOrderIds = 0

  constructor(readonly desk: Desk, readonly who: Identity, readonly random: SimRandom, options: Options["workload"]) {
    this.model = desk.model
    this.time = desk.time
    this.wishes = new Wishes(desk.model, who, random, options, () => `${who.client}.${this.#clientOrderIds++}`)
    this.fencing = random.split("fencing")
    this.naming = random.split("naming")
    this.expiring = random.split("expiring")
    this.takingBack = random.split("taking back")
  }

  readonly nextKey = (): string => `${this.who.client}-k${this.#keys++}`

  /** The key that it will use after `count` others. */
  readonly keyAhead = (count: number): string => `${this.who.client}-k${this.#keys + count}`

  /** The clientOrderId that it will use after `count` others. */
  readonly clientOrderIdAhead = (count: number): string => `${this.who.client}.${this.#clientOrderIds + count}`

  /** One of its earlier calls; there must be some. */
  readonly pickPast = (): Draft => {
    const { past, random } = this
    if (!random.chance(evenShare)) return random.pick(past)
    const endpoint = random.pick([...new Set(past.map((draft) => draft.endpoint))])
    return random.pick(past.filter((draft) => draft.endpoint === endpoint))
  }

  /** Fences something under its next key. */
  readonly fence = (intent: Intent, identity: Fenced): Draft => {
    this.fenced.push(identity)
    if (this.fenced.length > memorySize) this.fenced.shift()
    return fence(this.who, intent, this.nextKey(), identity)
  }

  /** Keeps a command on whose answer it insists, to repeat it some time. */
  readonly remember = (draft: Draft): void => {
    if (draft.scope === undefined || !draft.persistent) return
    this.past.push(draft)
    if (this.past.length > memorySize) this.past.shift()
  }
}
