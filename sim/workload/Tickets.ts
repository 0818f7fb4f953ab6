/**
 * Holders of realtime tickets: they mint them with the keys of owners' agents and of demo accounts, rotate and end them. They also make
 * mistakes: present the previous ticket once more, in time and too late, older ones, one twice at the same moment, tickets of ended
 * families and of revoked keys, and texts that are not tickets. They draw from a generator of their own, and make a given number of calls.
 */
import type { Tickets as Options } from "../faults/Options.js"
import type { Answer } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft } from "./Calls.js"
import * as Calls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"
import { of } from "./Wallet.js"

const weights = {
  mint: 12,
  rotate: 14,
  "rotate twice at once": 6,
  "previous again": 8,
  "previous too late": 4,
  older: 6,
  end: 4,
  "end and go on": 2,
  "mint without authority": 3,
  "no ticket": 3
} as const
type Act = keyof typeof weights

/** How often an answer is insisted on, so that the same ticket is presented again after a loss. */
const insistsShare = 0.4
/** For so long after a rotation the previous ticket may be presented once more, ms. */
const againMs = 10_000

const bodies: ReadonlyArray<object> = [{}, { scopes: ["read"] }, { scopes: ["trade"] }, { scopes: ["read", "trade"] }, { scopes: [] }, {
  scopes: ["read", "read"]
}, { scope: ["read"] }]

/** Texts that are not tickets of this venue: a well-formed one, one too short, one too long, and none. */
const noTickets: ReadonlyArray<{ readonly ticket?: unknown }> = [{ ticket: "A".repeat(43) }, { ticket: "A".repeat(42) }, {
  ticket: "AAAAAAAAAAAAAAAAtqWT3gY2ZZvW0C3zXzKq1w9m4Hc"
}, { ticket: "" }, { ticket: 17 }, { ticket: null }, { ticket: `${"A".repeat(42)}=` }, {}]

class Holder {
  readonly client = "ticket-holder"
  /** Calls whose answers contained the tickets of each family, in order. */
  readonly #families: Array<Array<number>> = []

  constructor(
    readonly desk: Desk,
    readonly random: SimRandom,
    readonly options: Options,
    readonly owners: ReadonlyArray<Calls.KeyHolder>
  ) {
    this.#left = options.calls
  }

  #left: number

  start(): void {
    this.#later(() => this.#act())
  }

  #later(then: () => void): void {
    this.desk.time.after(this.random.until(this.options.meanPauseMs), then)
  }

  readonly #next = (): void => this.#later(() => this.#act())

  /** Begins a call, unless all have been made. */
  #say(draft: Draft, then: (answer: Answer | undefined, call: number) => void): void {
    if (!this.desk.isOpen() || this.#left-- <= 0) return
    const persistent = this.random.chance(insistsShare)
    const { id } = this.desk.issue({ ...draft, persistent }, (answer) => then(answer, id))
  }

  #act(): void {
    if (this.#families.length === 0) return this.#mint(this.#key)
    this.#acts[this.random.weighted(weights)]()
  }

  /** A demo account's key, or that of an owner's agent. */
  get #key(): Calls.Bearer {
    const owners = this.owners.filter(({ keys }) => keys.length > 0)
    if (owners.length === 0 || this.random.chance(0.4)) return Calls.demoKey(this.client, this.random.pick(this.desk.demo))
    const { agent, keys } = this.random.pick(owners)
    return Calls.agent(agent, this.random.pick(keys))
  }

  /** The latest family, mostly; or a random one, which may have ended. */
  get #family(): Array<number> {
    return this.random.chance(0.6) ? this.#families.at(-1)! : this.random.pick(this.#families)
  }

  get #nobody(): Calls.Bearer {
    return Calls.stranger(this.client)
  }

  #mint(who: Calls.Bearer): void {
    const body = this.random.chance(0.7) ? undefined : this.random.pick(bodies)
    this.#say(Calls.mintTicket(who, body), (answer, call) => {
      if (answer?.status === 200) this.#families.push([call])
      this.#next()
    })
  }

  /** Presents a family's ticket by its position, and continues with the answer. */
  #present(family: Array<number>, at: number, then: () => void = this.#next): void {
    const ticket = of(family.at(at) ?? family[0]!, "ticket")
    this.#say(Calls.rotateTicket(this.#nobody, ticket), (answer, call) => {
      // A repeated ticket gets the known successor.
      if (answer?.status === 200 && (at === -1 || family.length === 1)) family.push(call)
      then()
    })
  }

  #twiceAtOnce(): void {
    const family = this.#family
    const draft = Calls.rotateTicket(this.#nobody, of(family.at(-1)!, "ticket"))
    let waited = 0
    let told: number | undefined
    for (let left = 2; left > 0; left--) {
      this.#say(draft, (answer, call) => {
        if (answer?.status === 200) told = call
        if (++waited < 2) return
        if (told !== undefined) family.push(told)
        this.#next()
      })
    }
  }

  /** Rotates a ticket, and presents the same one again after a time; now and then once more after that. */
  #previousAfter(waitMs: number): void {
    const family = this.#family
    const again = (): void =>
      this.#present(family, -2, () => {
        if (this.random.chance(0.4)) this.#present(family, -2, () => this.#present(family, -1))
        else this.#present(family, -1)
      })
    // Without a wait it is sent as part of the answer's step, so that a script contains it there as well.
    this.#present(family, -1, () => waitMs === 0 ? again() : this.desk.time.after(waitMs, again))
  }

  #older(): void {
    const family = this.#family
    if (family.length < 3) return this.#present(family, -1)
    this.#present(family, this.random.pick([-3, -family.length]), () => this.#present(family, -1))
  }

  #end(then: () => void = this.#next): void {
    const family = this.#family
    const at = this.random.pick([-1, -1, -2, -3])
    this.#say(Calls.endTickets(this.#nobody, of(family.at(at) ?? family[0]!, "ticket")), then)
  }

  /** Mints by a session, by an ended credential, or without one. */
  #mintWithoutAuthority(): void {
    const sessions = this.owners.flatMap((owner) => owner.sessions.map((call) => Calls.holder(owner.agent, call)))
    const ended = this.owners.flatMap((owner) => owner.ended)
    this.#mint(this.random.pick([this.#nobody, ...sessions.slice(-2), ...ended.slice(-4)]))
  }

  #noTicket(): void {
    const { ticket } = this.random.pick(noTickets)
    const call = this.random.chance(0.7) ? Calls.rotateTicket(this.#nobody, ticket) : Calls.endTickets(this.#nobody, ticket)
    this.#say(call, this.#next)
  }

  readonly #acts: Readonly<Record<Act, () => void>> = {
    mint: () => this.#mint(this.#key),
    rotate: () => this.#present(this.#family, -1),
    "rotate twice at once": () => this.#twiceAtOnce(),
    "previous again": () => this.#previousAfter(this.random.pick([0, 0, 20, 500])),
    "previous too late": () => this.#previousAfter(this.random.pick([againMs - 500, againMs, againMs + 50])),
    older: () => this.#older(),
    end: () => this.#end(),
    "end and go on": () => this.#end(() => this.#present(this.#family, -1)),
    "mint without authority": () => this.#mintWithoutAuthority(),
    "no ticket": () => this.#noTicket()
  }
}

/** Starts a run's holders of tickets. */
export const start = (desk: Desk, random: SimRandom, options: Options, owners: ReadonlyArray<Calls.KeyHolder>): void =>
  new Holder(desk, random, options, owners).start()
