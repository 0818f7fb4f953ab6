/**
 * Agents and bots who trade by the keys that they have: each key gets a trader, who does all that traders do, while owners revoke keys
 * and keys end. Now and then an owner revokes the key in the very moment in which its agent has something under way, before and
 * behind. Drawn by a generator of its own; all of them together make so many calls and no more.
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
  /** A text that the answer to a call told. */
  readonly told: (call: number, path: string) => string | undefined
}

/** How often something that an agent begins is followed by the revocation of its key, in the same moment, and by the same again. */
const revokedShare = 0.06
/** How often an agent whose key has ended tries it. */
const mostTurnedAway = 3
/** How long it takes until a new key is noticed, in pauses. */
const lookPauses = 2

/** Where the answer that told of a key says which key it is, and whose. */
const paths = {
  agent: { keyId: "key.keyId", accountId: "key.accountId" },
  bot: { keyId: "keyId", accountId: "accountId" }
} as const

/** For how long somebody waits for what changes by a key that is about to be revoked. */
const waitedMs = 2_000

class Agent {
  #turnedAway = 0
  readonly #paths: { readonly keyId: string; readonly accountId: string }

  /** `call`: the call whose answer told the key. */
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

  /** A trader's draft as one by this key: its account is written by the answer that told of it. */
  #own({ accountId, apiKey }: Identity, draft: Draft): Draft {
    if (draft.credential !== "trader" || draft.token !== apiKey) return draft
    const text = (value: string): string => value.replaceAll(accountId, of(this.call, this.#paths.accountId))
    return { ...draft, credential: "issued", account: -1, accountId: "", target: text(draft.target), body: text(draft.body) }
  }

  #issue(who: Identity, draft: Draft, settled: (answer: Answer | undefined) => void): Call {
    // Whoever has begun something that takes several calls ends it.
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

  /** By a session of its owner, if one of them has any, while somebody waits by the key for what changes. */
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

/** What agents mean to do: nothing that takes a trader's whole run, and as soon as those who let them have keys. */
const ofAgents = ({ meanPauseMs, workload }: Options): AllOptions["workload"] => ({
  ...workload,
  meanPauseMs,
  concurrency: 2,
  weights: { ...workload.weights, flood: 0, "twenty duplicates": 0 }
})

/** Agents of this file's own ask under numbers that no owner's agent has. */
const firstRequest = 900_000

/** Owners who let an agent have a key as soon as they are signed in: one each, that reads and trades, for long or for minutes. */
class Connecting {
  readonly #begun = new Set<OwnerCalls.KeyHolder>()
  /** Calls that told keys, by their owners. */
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

  /** Goes on where it was done. */
  #say(draft: Draft, then: (call: number) => void): void {
    if (!this.desk.isOpen() || !this.spend()) return
    const { id } = this.desk.issue({ ...draft, persistent: true }, (answer) => {
      if (answer?.status === 200) then(id)
    })
  }
}

/** Begins what agents and bots of a run do, each as soon as its key is there; tells of those that owners let have one for it. */
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
