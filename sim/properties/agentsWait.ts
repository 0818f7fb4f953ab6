/**
 * Safety (I11). An agent's request is pending, under the code that its owner types, until one decision, and everybody learns its state. An
 * owner may look at a pending request, approve it, look again and have a lost answer to the approval repeated, as long as the approval was
 * not withdrawn; may deny it, even after approving it, as long as the agent has not fetched its key; and does not find a request that
 * another account has decided. The agent learns that nothing is decided yet, or that it is denied, exactly while that is so; and is told
 * to slow down exactly where it polled less than five seconds before, as it was told when it began. Requests are checked only where the calls about them came one after
 * another: concurrent ones may be handled in any order.
 */
import type { NaiveIdentity } from "../model/NaiveIdentity.js"
import { isObject } from "../reading/Bodies.js"
import * as Identity from "../reading/Identity.js"
import type { Call, Observation } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** Least time between two polls of an agent, ms. */
const pollMs = 5_000
/** Largest change of a clock that goes unnoticed, ms. */
const unsureMs = 2

/** Usual limit of pending requests of one address: one more may displace the oldest. */
const usuallyWaiting = 16

type Stands =
  | { readonly is: "pending" }
  | { readonly is: "approved" | "fetched"; readonly account: number; readonly atEpochMs: number }
  | { readonly is: "denied"; readonly account: number }

interface Agent {
  readonly userCode: string
  readonly deviceSha256: string
  readonly expiresAtEpochMs: number
  /** The number of requests begun in its process before it. */
  readonly place: number
  stands: Stands
  /** The call about it that is being handled. */
  underWay: number | undefined
  /** Whether calls about it were handled at once, or one was never answered: its state is unknown then. */
  isUnclear: boolean
  /** Polls being handled, and whether several were at once: then it is unknown which of them was the last. */
  readonly polls: Set<number>
  areAtOnce: boolean
  /** The clock's readings when the previous poll was sent and when it was answered; undefined where unknown. */
  polled: readonly [number, number] | undefined
}

type Wish = Extract<Identity.Wish, { readonly kind: `${string}AgentConnect` }>

/** A call about an agent's request, and the state of that when the call was taken up; undefined where it is unknown. */
interface Asked {
  readonly agent: Agent
  readonly wish: Wish
  readonly stood: Stands | undefined
  /** The number of its approvals in the journal, and whether the last one has been withdrawn or has expired by the records' time. */
  readonly approvals: number
  readonly isWithdrawn: boolean
  /** For a poll, the time of the previous one. */
  readonly polled: Agent["polled"]
  /** Whether its answer had to wait for a record: then the caller was authorized. */
  isOffered: boolean
}

interface State {
  /** Requests of the present process: they do not outlive it. */
  agents: Array<Agent>
  begun: number
  /** The number of pending requests that one address may have for certain. */
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

/** Whether a request certainly exists at a time. Outside its period, also by a clock set back before its beginning, it may be forgotten. */
const isInTime = ({ expiresAtEpochMs }: Agent, atEpochMs: number): boolean =>
  atEpochMs >= expiresAtEpochMs - Identity.agentWaitMs && atEpochMs < expiresAtEpochMs

const handling = (state: State, { atEpochMs, call }: Observation & { readonly _tag: "Handling" }): void => {
  const wish = wishOf(call)
  if (wish === undefined) return
  if (wish.kind === "beginAgentConnect") state.begun++
  const agent = find(state, wish)
  if (agent === undefined) return
  // The network may duplicate a request.
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

/** Whether an account's owner finds the request. */
const isFound = (stood: Stands, wish: Wish, account: number): boolean =>
  stood.is === "pending"
  || stood.account === account && (wish.kind === "denyAgentConnect" ? stood.is !== "fetched" : stood.is !== "denied")

/** Checks the answer to a poll by the request's state; further conditions are checked elsewhere. */
const polled = (stood: Stands, code: string): Verdict => {
  const isWaiting = code === "authorization_pending"
  if (stood.is === "denied") return code === "access_denied" ? holds : broken(`is denied, and the agent is told ${code}`)
  if (code === "access_denied") return broken(`is ${stood.is}, and the agent is told that it is denied`)
  if (stood.is !== "pending") return isWaiting ? broken("is approved, and the agent is told that nothing is decided") : holds
  return isWaiting || code === "slow_down" ? holds : broken(`waits, and the agent is told ${code}`)
}

/** Whether the clock was certainly within the request's period, from question to answer. */
const isSeen = (agent: Agent, clock: readonly [number, number] | undefined): boolean =>
  clock !== undefined && isInTime(agent, clock[0]) && isInTime(agent, clock[1])

const memberOf = (json: unknown, name: string): unknown => isObject(json) ? json[name] : undefined

/** Checks the approval in an answer: it is the last one journaled, and a new one where the previous was withdrawn. */
const approvedVerdict = ({ agent: { deviceSha256 }, approvals, isWithdrawn, stood }: Asked, { identity }: State, told: number): Verdict => {
  if (stood?.is !== "approved" && stood?.is !== "fetched") return holds
  const grants = identity?.everGrants.filter((grant) => grant.deviceSha256 === deviceSha256) ?? []
  if (isWithdrawn && grants.length === approvals) return broken("was approved, which was withdrawn, and is told approved as before")
  return grants.at(-1)?.approvedAtEpochMs === told ? holds : broken("was approved then, and is told another time")
}

type Answered = Observation & { readonly _tag: "Answered" }

const waits: ReadonlySet<unknown> = new Set(["authorization_pending", "slow_down"])

/** Checks whether a poll was rightly told to slow down, or not to; the poll is kept for the next one. */
const pace = (agent: Agent, asked: Asked, { answer: { json, status }, call, clock }: Answered): Verdict => {
  const { areAtOnce } = agent
  agent.polls.delete(call.id)
  if (agent.polls.size === 0) agent.areAtOnce = false
  const code = memberOf(json, "code")
  // A call refused for another reason may have been refused before it counted as a poll.
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

/** Checks that an agent is told how often it may poll. */
const begunVerdict = ({ answer: { json, status }, call }: Answered): Verdict => {
  const told = memberOf(json, "pollIntervalSeconds")
  return status !== 200 || wishOf(call)?.kind !== "beginAgentConnect" || told === pollMs / 1_000
    ? holds
    : broken(`may poll every ${pollMs} ms, and is told every ${String(told)} seconds`)
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
  // The decision may have been made even though the venue answered that it could not take the call.
  if (status >= 500) agent.isUnclear = true
  const isDone = status === 200
  if (wish.kind === "approveAgentConnect" && isDone) {
    const is = agent.stands.is === "fetched" ? "fetched" : "approved"
    agent.stands = { is, account: call.account, atEpochMs: Number(memberOf(json, "approvedAtEpochMs")) }
  }
  // A denial counts from its request on, whatever becomes of its record: the session may have ended by the record's time.
  const wasLetIn = isOffered || status !== 401 && status !== 403
  if (wish.kind === "denyAgentConnect" && stood !== undefined && isFound(stood, wish, call.account) && wasLetIn) {
    if (isDone) agent.stands = { is: "denied", account: call.account }
    else agent.isUnclear = true
  }
  if (wish.kind === "exchangeAgentConnect") {
    const code = String(memberOf(json, "code"))
    if (isDone && stood?.is === "approved") agent.stands = { ...stood, is: "fetched" }
    // Its approval was withdrawn, or has expired: the agent then polls no more.
    if (code === "grant_expired" && stood?.is !== "fetched") agent.isUnclear = true
    // Its owner may have approved it by a clock that has left its period meanwhile.
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
        const verdict = begunVerdict(seen) ?? answered(state, seen)
        return verdict === undefined
          ? holds
          : broken(`${seen.call.method} ${seen.call.target} with ${seen.call.body}: the agent ${verdict}: ${seen.answer.text}`)
      }
      default:
        return holds
    }
  }
}
