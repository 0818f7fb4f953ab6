/**
 * Safety (I11). An agent waits, under the code that its owner types, for one decision, and everybody is told how that stands: an owner
 * may look at one that waits, approve it, look again and be told of the approval once more where the answer was lost, as long as it was
 * not withdrawn; may deny it, also behind an own approval, as long as it has not fetched its key; and finds none that somebody else has
 * decided about. The agent is told that nothing is decided yet, or that it is denied, exactly while that is so; and to slow down where it
 * has asked less than five seconds before, and only there. Each is judged where one
 * thing was done about an agent behind the other: what happens at once may come in any order.
 */
import type { NaiveIdentity } from "../model/NaiveIdentity.js"
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** How long an agent waits between two polls at least. */
const pollMs = 5_000
/** By so much a clock may have been set while it seems to have run truly. */
const unsureMs = 2

/** As many agents of one address wait beside each other in a venue: with another one the oldest may have to go. */
const usuallyWaiting = 16

type Stands =
  | { readonly is: "pending" }
  | { readonly is: "approved" | "fetched"; readonly account: number; readonly atEpochMs: number }
  | { readonly is: "denied"; readonly account: number }

interface Agent {
  readonly userCode: string
  readonly deviceSha256: string
  readonly expiresAtEpochMs: number
  /** How many had begun in its process when it did. */
  readonly place: number
  stands: Stands
  /** The call about it that was taken up and is not answered. */
  underWay: number | undefined
  /** Calls about it were under way at once, or one was never answered: nobody can say how it stands. */
  isUnclear: boolean
  /** Polls that were taken up and are not answered, and whether some were so at once: which of them came last nobody can say then. */
  readonly polls: Set<number>
  areAtOnce: boolean
  /** Between what the clock read when the last poll before was sent, and when it was answered; undefined where that is not known. */
  polled: readonly [number, number] | undefined
}

type Wish = Extract<Identity.Wish, { readonly kind: `${string}AgentConnect` }>

/** A call about an agent, and how that stood when it was taken up; undefined where it is not clear. */
interface Asked {
  readonly agent: Agent
  readonly wish: Wish
  readonly stood: Stands | undefined
  /** How often it had been approved by the records, and whether the last time was withdrawn by them, or over by their time. */
  readonly approvals: number
  readonly isWithdrawn: boolean
  /** When the poll before this one was, where it is one. */
  readonly polled: Agent["polled"]
  /** Whether its answer had to wait for a record: who asked was let in. */
  isOffered: boolean
}

interface State {
  /** Of the process that runs: agents wait no longer than that. */
  agents: Array<Agent>
  begun: number
  /** How many of an address surely wait beside each other. */
  surelyWaiting: number
  identity: NaiveIdentity | undefined
  readonly asked: Map<number, Asked>
}

const wishOf = ({ accountId, body, method, target }: Call): Wish | undefined => {
  const reading = Identity.read(method, target, body)
  const wish = reading?.wish
  if (wish === undefined || !wish.kind.endsWith("AgentConnect")) return undefined
  return reading?.accountId === undefined || reading.accountId === accountId ? wish as Wish : undefined
}

const find = ({ agents }: State, wish: Wish): Agent | undefined =>
  "userCode" in wish
    ? agents.find(({ userCode }) => userCode === wish.userCode)
    : wish.kind === "exchangeAgentConnect"
    ? agents.find(({ deviceSha256 }) => deviceSha256 === wish.deviceSha256)
    : undefined

/** Whether an agent is surely there at a time. Outside of its wait, also by a clock set back behind its beginning, it may be forgotten. */
const isInTime = ({ expiresAtEpochMs }: Agent, atEpochMs: number): boolean =>
  atEpochMs >= expiresAtEpochMs - Identity.agentWaitMs && atEpochMs < expiresAtEpochMs

const handling = (state: State, { atEpochMs, call }: Observation & { readonly _tag: "Handling" }): void => {
  const wish = wishOf(call)
  if (wish === undefined) return
  if (wish.kind === "beginAgentConnect") state.begun++
  const agent = find(state, wish)
  if (agent === undefined) return
  // The network brings a request twice.
  if (state.asked.has(call.id) || agent.underWay !== undefined) agent.isUnclear = true
  const isThere = state.begun - agent.place < state.surelyWaiting && isInTime(agent, atEpochMs)
  const isOfAgent = ({ deviceSha256 }: { readonly deviceSha256: string }): boolean => deviceSha256 === agent.deviceSha256
  const approvals = state.identity?.everGrants.filter(isOfAgent).length ?? 0
  const { identity } = state
  const isStanding = identity?.grants.some((grant) => isOfAgent(grant) && grant.expiresAtEpochMs > identity.around.now())
  const isWithdrawn = agent.stands.is === "approved" && isStanding === false
  const stood = agent.isUnclear || !isThere ? undefined : agent.stands
  const { polled } = agent
  state.asked.set(call.id, { agent, wish, stood, approvals, isWithdrawn, polled, isOffered: false })
  agent.underWay = call.id
  if (wish.kind !== "exchangeAgentConnect") return
  agent.polls.add(call.id)
  agent.areAtOnce ||= agent.polls.size > 1
  agent.polled = undefined
}

const handled = (state: State, { answer, call, highestEpochMs, lowestEpochMs }: Observation & { readonly _tag: "Handled" }): void => {
  for (const agent of state.agents) agent.isUnclear ||= !isInTime(agent, lowestEpochMs) || !isInTime(agent, highestEpochMs)
  const asked = state.asked.get(call.id)
  if (asked !== undefined && answer === undefined) asked.isOffered = true
  if (answer?.status !== 200 || wishOf(call)?.kind !== "beginAgentConnect") return
  const { deviceCode, expiresAtEpochMs, userCode } = JSON.parse(answer.text) as { readonly [name: string]: unknown }
  state.agents.push({
    userCode: String(userCode),
    deviceSha256: Identity.sha256(String(deviceCode), "hex"),
    expiresAtEpochMs: Number(expiresAtEpochMs),
    place: state.begun,
    stands: { is: "pending" },
    underWay: undefined,
    isUnclear: false,
    polls: new Set(),
    areAtOnce: false,
    polled: undefined
  })
}

/** Whether the owner of an account finds the agent. */
const isFound = (stood: Stands, wish: Wish, account: number): boolean =>
  stood.is === "pending"
  || stood.account === account && (wish.kind === "denyAgentConnect" ? stood.is !== "fetched" : stood.is !== "denied")

/** What an agent is told that polls, by how it stands; undefined where that depends on more. */
const polled = (stood: Stands, code: string): Verdict => {
  const isWaiting = code === "authorization_pending"
  if (stood.is === "denied") return code === "access_denied" ? holds : broken(`is denied, and the agent is told ${code}`)
  if (code === "access_denied") return broken(`is ${stood.is}, and the agent is told that it is denied`)
  if (stood.is !== "pending") return isWaiting ? broken("is approved, and the agent is told that nothing is decided") : holds
  return isWaiting || code === "slow_down" ? holds : broken(`waits, and the agent is told ${code}`)
}

/** Whether the clock, from question to answer, was surely within the agent's wait. */
const isSeen = (agent: Agent, clock: readonly [number, number] | undefined): boolean =>
  clock !== undefined && isInTime(agent, clock[0]) && isInTime(agent, clock[1])

const memberOf = (json: unknown, name: string): unknown => isObject(json) ? json[name] : undefined

/** What is told of an approval, which is the last that was journaled, and a new one where that was withdrawn. */
const approvedVerdict = ({ agent: { deviceSha256 }, approvals, isWithdrawn, stood }: Asked, { identity }: State, told: number): Verdict => {
  if (stood?.is !== "approved" && stood?.is !== "fetched") return holds
  const grants = identity?.everGrants.filter((grant) => grant.deviceSha256 === deviceSha256) ?? []
  if (isWithdrawn && grants.length === approvals) return broken("was approved, which was withdrawn, and is told approved as before")
  return grants.at(-1)?.approvedAtEpochMs === told ? holds : broken("was approved then, and is told another time")
}

type Answered = Observation & { readonly _tag: "Answered" }

const waits: ReadonlySet<unknown> = new Set(["authorization_pending", "slow_down"])

/** Whether an agent that has polled was rightly told to slow down, or not to; the poll is kept for the next one. */
const pace = (agent: Agent, asked: Asked, { answer: { json, status }, call, clock }: Answered): Verdict => {
  const { areAtOnce } = agent
  agent.polls.delete(call.id)
  if (agent.polls.size === 0) agent.areAtOnce = false
  const code = memberOf(json, "code")
  // What was refused for another reason may have been turned away before it was a poll.
  const isPoll = clock !== undefined && (status === 200 || waits.has(code))
  const { polled, stood } = asked
  if (areAtOnce || !isPoll || stood === undefined) return holds
  agent.polled = clock
  if (polled === undefined) return holds
  const isSlowed = code === "slow_down"
  const isWrong = isSlowed ? clock[0] - polled[1] >= pollMs + unsureMs : clock[1] - polled[0] < pollMs - unsureMs
  return isWrong
    ? broken(`has polled between ${polled.join(" and ")}, and again until ${clock[1]}: it is ${isSlowed ? "" : "not "}told to slow down`)
    : holds
}

const answered = (state: State, seen: Answered): Verdict => {
  const { answer: { json, status }, call, clock } = seen
  const asked = state.asked.get(call.id)
  if (asked === undefined) return holds
  state.asked.delete(call.id)
  const { agent, isOffered, stood, wish } = asked
  if (agent.underWay === call.id) agent.underWay = undefined
  const ofPace = wish.kind === "exchangeAgentConnect" ? pace(agent, asked, seen) : holds
  if (ofPace !== holds) return ofPace
  // What the venue could not take may have been decided all the same.
  if (status >= 500) agent.isUnclear = true
  const isDone = status === 200
  if (wish.kind === "approveAgentConnect" && isDone) {
    const is = agent.stands.is === "fetched" ? "fetched" : "approved"
    agent.stands = { is, account: call.account, atEpochMs: Number(memberOf(json, "approvedAtEpochMs")) }
  }
  // A denial counts from its request on, whatever becomes of its record: the session may have ended at the time of that.
  const wasLetIn = isOffered || status !== 401 && status !== 403
  if (wish.kind === "denyAgentConnect" && stood !== undefined && isFound(stood, wish, call.account) && wasLetIn) {
    if (isDone) agent.stands = { is: "denied", account: call.account }
    else agent.isUnclear = true
  }
  if (wish.kind === "exchangeAgentConnect") {
    const code = String(memberOf(json, "code"))
    if (isDone && stood?.is === "approved") agent.stands = { ...stood, is: "fetched" }
    // Its approval was withdrawn, or is over: whoever was told so asks no more.
    if (code === "grant_expired" && stood?.is !== "fetched") agent.isUnclear = true
    // Its owner may have been asked, and have approved, by a clock that has left its wait meanwhile.
    if (stood === undefined || !isSeen(agent, clock)) return holds
    return status === 400 ? polled(stood, code) : isDone && stood.is !== "approved" ? broken("gets a key") : holds
  }
  if (stood === undefined || !isSeen(agent, clock)) return holds
  if (isDone !== isFound(stood, wish, call.account) && (isDone || status === 404)) {
    return broken(`is ${stood.is}, and its owner is answered ${status}`)
  }
  return wish.kind === "approveAgentConnect" && isDone
    ? approvedVerdict(asked, state, Number(memberOf(json, "approvedAtEpochMs")))
    : holds
}

export const agentsWait: Property<State> = {
  name: "agents-wait-for-one-decision",
  invariant: "I11",
  kind: "safety",
  initial: () => ({ agents: [], begun: 0, surelyWaiting: usuallyWaiting, identity: undefined, asked: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Started":
        state.agents = []
        state.begun = 0
        state.surelyWaiting = seen.bounds.ofAddress?.agents ?? usuallyWaiting
        state.asked.clear()
        return holds
      case "Committed":
        state.identity = seen.model.identity
        return holds
      case "Handling":
        handling(state, seen)
        return holds
      case "Handled":
        handled(state, seen)
        return holds
      case "Unanswered": {
        const asked = state.asked.get(seen.call.id)
        if (asked !== undefined) asked.agent.isUnclear = true
        return holds
      }
      case "Answered": {
        const verdict = answered(state, seen)
        return verdict === undefined
          ? holds
          : broken(`${seen.call.method} ${seen.call.target} with ${seen.call.body}: the agent ${verdict}: ${seen.answer.text}`)
      }
      default:
        return holds
    }
  }
}
