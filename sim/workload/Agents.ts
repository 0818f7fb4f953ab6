/**
 * Agents and bots that trade by their keys: each key gets a trader, who does all that traders do, while owners revoke keys and keys
 * expire. Now and then an owner revokes the key at the very moment at which its agent has calls in progress. Drawn by a generator of its
 * own; all of them together make a given number of calls.
 */
import { accountId as idOf } from "../../src/domain/Ids.js"
import type { Options as AllOptions, Standings } from "../faults/Options.js"
import type { Answer, Call } from "../properties/Observation.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Draft, Identity } from "./Calls.js"
import * as OwnerCalls from "./OwnerCalls.js"
import type { Desk } from "./Owners.js"
import * as Trader from "./Trader.js"
import { of } from "./Wallet.js"

interface Options extends Pick<Standings, "agentCalls" | "meanPauseMs"> {
  readonly workload: AllOptions["workload"]
}

interface AgentsDesk extends Desk {
  /** A string in the answer to a call. */
  readonly told: (call: number, path: string) => string | undefined
}

/** How often an agent's call is followed at the same moment by the revocation of its key, and by the same call again. */
const revokedShare = 0.06
/** How often an agent whose key has ended still tries it. */
const mostTurnedAway = 3
/** Time until a new key is noticed, in pauses. */
const lookPauses = 2

/** The members of an answer that contain a key's id, and its account. */
const paths = {
  agent: { keyId: "key.keyId", accountId: "key.accountId" },
  bot: { keyId: "keyId", accountId: "accountId" }
} as const

/** How long a read waits for changes by a key that is about to be revoked, ms. */
const waitedMs = 2_000

class Agent {
  #turnedAway = 0
  readonly #paths: { readonly keyId: string; readonly accountId: string }

  /** `call`: the call whose answer contained the key. */
  constructor(
    readonly desk: AgentsDesk,
    readonly random: SimRandom,
    readonly holder: OwnerCalls.KeyHolder,
    readonly owners: ReadonlyArray<OwnerCalls.KeyHolder>,
    readonly call: number,
    readonly spend: () => boolean
  ) {
    this.#paths = holder.agent === "bot" ? paths.bot : paths.agent
  }

  /** Begins to trade, if its account is known. */
  start(name: string, workload: AllOptions["workload"]): void {
    const { model, time, told } = this.desk
    const accountId = told(this.call, this.#paths.accountId)
    const account = model.accounts.findIndex(({ born }) => idOf(born) === accountId)
    if (accountId === undefined || account < 0) return
    const who: Identity = { client: name, account, accountId, apiKey: of(this.call, "apiKey") }
    const desk = {
      time,
      model,
      isOpen: () => this.desk.isOpen() && this.#turnedAway < mostTurnedAway,
      issue: (draft: Draft, settled: (answer: Answer | undefined) => void): Call => this.#issue(who, draft, settled)
    }
    Trader.make(desk, who, this.random.split("trader"), workload, 0).start()
  }

  /** A trader's draft with this key: its account is taken from the answer that contained the key. */
  #own({ accountId, apiKey }: Identity, draft: Draft): Draft {
    if (draft.credential !== "trader" || draft.token !== apiKey) return draft
    const text = (value: string): string => value.replaceAll(accountId, of(this.call, this.#paths.accountId))
    return { ...draft, credential: "issued", account: -1, accountId: "", target: text(draft.target), body: text(draft.body) }
  }

  #issue(who: Identity, draft: Draft, settled: (answer: Answer | undefined) => void): Call {
    // An agent that has begun something with several calls completes it.
    if (!this.spend()) this.#turnedAway = mostTurnedAway
    const begun = this.desk.issue(this.#own(who, draft), (answer) => {
      if (answer?.status === 401) this.#turnedAway++
      settled(answer)
    })
    if (this.random.chance(revokedShare)) {
      this.#revoke(who)
      if (this.spend()) this.desk.issue(this.#own(who, { ...draft, persistent: false }), () => {})
    }
    return begun
  }

  /** Revokes the key by a session of its owner, if there is one, while a read by the key waits for changes. */
  #revoke(who: Identity): void {
    const [owner] = this.owners.filter(({ sessions }) => sessions.length > 0)
    const own = this.holder.sessions.length > 0 ? this.holder : owner
    if (own === undefined || !this.spend()) return
    const session = OwnerCalls.holder(own.agent, own.sessions.at(-1)!)
    const waits = OwnerCalls.waitForChanges(OwnerCalls.demoKey(who.client, who), this.desk.model.sequence, waitedMs)
    this.desk.issue(this.#own(who, waits), () => {})
    this.desk.issue(OwnerCalls.revokeApiKey(session, of(this.call, this.#paths.keyId)), () => {})
  }
}

/** Agents' intents: none that takes a trader's whole run. They begin as soon as they have keys. */
const ofAgents = ({ meanPauseMs, workload }: Options): AllOptions["workload"] => ({
  ...workload,
  meanPauseMs,
  concurrency: 2,
  weights: { ...workload.weights, flood: 0, "twenty duplicates": 0 }
})

/** Agents of this file use request numbers that no owner's agent has. */
const firstRequest = 900_000

/** Owners who issue a key to an agent as soon as they are signed in: one each, to read and trade, valid for long or for minutes. */
class Connecting {
  readonly #begun = new Set<OwnerCalls.KeyHolder>()
  /** Calls whose answers contained keys, by owner. */
  readonly holders: Array<OwnerCalls.KeyHolder & { readonly keys: Array<number> }> = []

  constructor(readonly desk: AgentsDesk, readonly random: SimRandom, readonly spend: () => boolean) {}

  begin(owners: ReadonlyArray<OwnerCalls.KeyHolder>): void {
    for (const owner of owners) {
      if (this.#begun.has(owner) || owner.sessions.length === 0) continue
      this.#begun.add(owner)
      this.#connect(owner)
    }
  }

  #connect(owner: OwnerCalls.KeyHolder): void {
    const request = firstRequest + this.#begun.size
    const agent = `${owner.agent}-trader`
    const who = OwnerCalls.stranger(agent)
    const session = OwnerCalls.holder(owner.agent, owner.sessions.at(-1)!)
    const scopes = ["read", "trade"]
    const lifetime = this.random.pick([300, 300, 3_600])
    this.#say(OwnerCalls.beginAgentConnect(who, agent, scopes, lifetime, request), (waiting) => {
      this.#say(OwnerCalls.approveAgentConnect(session, of(waiting, "userCode"), scopes), () => {
        this.#say(OwnerCalls.exchangeAgentConnect(who, of(waiting, "deviceCode"), OwnerCalls.verifierOf(request)), (told) => {
          this.holders.push({ ...owner, agent, keys: [told] })
        })
      })
    })
  }

  /** Makes a call, and continues where it was accepted. */
  #say(draft: Draft, then: (call: number) => void): void {
    if (!this.desk.isOpen() || !this.spend()) return
    const { id } = this.desk.issue({ ...draft, persistent: true }, (answer) => {
      if (answer?.status === 200) then(id)
    })
  }
}

/** Starts a run's agents and bots, each as soon as its key exists. Returns the owners who issued keys for that purpose. */
export const start = (
  desk: AgentsDesk,
  random: SimRandom,
  options: Options,
  holders: ReadonlyArray<OwnerCalls.KeyHolder>
): ReadonlyArray<OwnerCalls.KeyHolder> => {
  const { agentCalls, meanPauseMs } = options
  let left = agentCalls
  const spend = (): boolean => left-- > 0
  const begun = new Set<number>()
  const owners = holders.filter(({ agent }) => agent !== "bot")
  const connecting = new Connecting(desk, random.split("connecting"), spend)
  const look = (): void => {
    if (!desk.isOpen() || left <= 0) return
    connecting.begin(owners)
    for (const holder of [...holders, ...connecting.holders]) {
      for (const call of holder.keys.filter((each) => !begun.has(each))) {
        begun.add(call)
        new Agent(desk, random.split(`agent ${begun.size}`), holder, owners, call, spend)
          .start(`${holder.agent}-k${begun.size}`, ofAgents(options))
      }
    }
    desk.time.after(lookPauses * meanPauseMs, look)
  }
  if (agentCalls > 0) look()
  return connecting.holders
}
