/**
 * An owner connects one agent after the other, until his account has as many keys as it may. The next one is approved and finds no room for
 * its key; for the one after that he may not even give an approval. He denies the one, approves the other, and revokes a key to make room
 * for it. At the end of his session he approves one more, which comes too late. And he begins to sign in more often than challenges of one
 * address may be open, and ends his session while a change of his name waits for its turn.
 *
 * What has to hold: whoever was refused for want of room gets in once there is some, and until then may be denied. A revoked key takes no
 * room, and is still shown to its owner. Who denies an agent that has its key is told which key to revoke. And no key is given behind the
 * end of the session that approved it.
 */
import type { Answer } from "../properties/Observation.js"
import type { Json } from "../reading/Bodies.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { of } from "../workload/Wallet.js"
import { infoOf, workloads } from "./Routes.js"
import type { Scenario } from "./Scenario.js"
import type { AskedKey, Stage } from "./Stage.js"

const hour = 3_600_000
const day = 24 * hour
const minute = 60_000
/** An agent waits for so long between two polls. */
const pollMs = 5_000
/**
 * What an account may have: keys that act, ended ones that are shown, and for how long, and approvals whose keys were not fetched. And how
 * many notes of who may act are kept of all accounts.
 */
const bounds = { keys: 2, endedKeys: 1, endedKeysMs: 10 * minute, grantsOfAccount: 1, eventsInAll: 6 }
/** Challenges of one address that may be open. */
const challenges = 3
/** What an agent or its owner is told where there is no room. */
const noRoom = [429, "key_limit"]

/** The status of an answer, and what refuses it. */
const told = ({ json, status }: Answer): ReadonlyArray<unknown> => [status, infoOf(json)["rejectionGuard"]]

/** An owner with agents. */
class Owner {
  readonly #who: OwnerCalls.Bearer

  /** `call` let the owner in. */
  constructor(readonly stage: Stage, readonly call: number) {
    this.#who = OwnerCalls.holder("owner", call)
  }

  /** Approves what an agent asks for. Returns the status, and what refuses it. */
  approve(asked: AskedKey): ReadonlyArray<unknown> {
    return told(this.stage.approveAgent(this.call, asked))
  }

  /** Denies an agent a key. Returns the status and the message. */
  deny({ call }: AskedKey): readonly [status: number, message: string] {
    const { json, status } = this.stage.apart(OwnerCalls.denyAgentConnect(this.#who, of(call, "userCode"))).answer
    return [status, String((json as Json)["safeMessage"])]
  }

  /** Types the code of an agent, to see what it asks for. Returns the status and the message. */
  show({ call }: AskedKey): readonly [status: number, message: string] {
    const { json, status } = this.stage.apart(OwnerCalls.showAgentConnect(this.#who, of(call, "userCode"))).answer
    return [status, String((json as Json)["safeMessage"])]
  }

  /** Revokes the key in the answer to a call. */
  revoke(fetched: number): void {
    this.stage.done(this.stage.apart(OwnerCalls.revokeApiKey(this.#who, of(fetched, "key.keyId"))).answer)
  }

  /** The ids of the keys that the owner is shown. */
  get shown(): ReadonlyArray<unknown> {
    const { keys } = this.stage.done(this.stage.apart(OwnerCalls.listApiKeys(this.#who)).answer)
    return (keys as ReadonlyArray<Json>).map(({ keyId }) => keyId)
  }
}

const refusedKey = (stage: Stage, asked: AskedKey): ReadonlyArray<unknown> => told(stage.fetchKey(asked).answer)

/** Two agents for whom there is no room: one is denied, and the other gets its key as another one is revoked. */
const waitForRoom = (stage: Stage, owner: Owner, revoked: number): void => {
  const [denied, waiting] = [stage.agentAsks(["read"]), stage.agentAsks(["trade"])]
  stage.is("the approval of one agent too many", owner.approve(denied), [200, undefined])
  stage.is("a key too many", refusedKey(stage, denied), noRoom)
  stage.is("an approval too many", owner.approve(waiting), noRoom)
  stage.is("the denial of an agent that was refused its key", owner.deny(denied)[0], 200)
  stage.is("the approval when there is room", owner.approve(waiting), [200, undefined])
  stage.is("a key too many for another agent", refusedKey(stage, waiting), noRoom)

  owner.revoke(revoked)
  stage.wait(pollMs)
  const key = stage.done(stage.fetchKey(waiting).answer)["key"] as Json
  stage.is("keys that the owner is shown", owner.shown.length, bounds.keys + bounds.endedKeys)
  const [status, message] = owner.deny(waiting)
  stage.is("the denial of an agent that has its key", status, 404)
  stage.holds(`the owner is told which key it is: ${message}`, message.includes(String(key["keyId"])))
}

/**
 * The venue is started again while an approved agent waits. Its owner is shown what it asks for, as the approval has it. Who types the code
 * of an agent that the venue does not know any more is told which keys agents have fetched of late, and none of a bot's.
 */
const startAgain = (stage: Stage, owner: Owner, accountId: string): void => {
  const served = stage.agentAsks(["read"])
  stage.is("the approval of an agent that fetches its key", owner.approve(served), [200, undefined])
  stage.wait(pollMs)
  const fetched = String((stage.done(stage.fetchKey(served).answer)["key"] as Json)["keyId"])
  const [approved, forgotten] = [stage.agentAsks(["read"]), stage.agentAsks(["trade"])]
  stage.is("the approval of an agent before a restart", owner.approve(approved), [200, undefined])
  stage.wait(pollMs)
  const before = stage.now
  stage.restart()
  const beganMs = 1_000 * (stage.figure("venue_started_at_seconds") ?? 0)
  stage.holds(`figures tell when it began to serve: ${beganMs}`, beganMs > before - 1_000 && beganMs <= stage.now)
  stage.is("what an approved agent asks for, behind a restart", owner.show(approved)[0], 200)
  stage.botKey(accountId)
  const [status, message] = owner.show(forgotten)
  stage.is("the code of an agent that is not known any more", status, 404)
  stage.is(`the keys that are named: ${message}`, message.match(/key_\w+/g), [fetched])
  stage.is("a key too many, asked for behind a restart", refusedKey(stage, approved), noRoom)
  stage.is("the denial of the approved agent", owner.deny(approved)[0], 200)
}

/** The owner revokes a key that has ended by itself: it is forgotten as if it had not been revoked. */
const revokedBehindItsEnd = (stage: Stage, owner: Owner, ended: number): void => {
  stage.setForward(hour + bounds.endedKeysMs / 2)
  owner.revoke(ended)
  stage.tick()
  stage.setForward(bounds.endedKeysMs / 2 + minute)
  stage.tick()
  stage.is("keys that the owner is shown once all have ended long ago", owner.shown, [])
}

/** More sign-ins are begun from one address than may be open there: the oldest has made room, and cannot be answered. */
const tooManyChallenges = (stage: Stage, registered: number): void => {
  const who = OwnerCalls.stranger("owner-0")
  const { accountId } = OwnerCalls.holder(who.client, registered)
  const [first] = Array.from({ length: challenges + 1 }, () => stage.apart(OwnerCalls.beginAuthentication(who, accountId, undefined)).call)
  const { answer } = stage.apart(OwnerCalls.finishAuthentication(who, { kind: "get", passkey: 0, asked: first!, signCount: 0 }))
  stage.is("the answer to a challenge that has made room", answer.status, 401)
}

/** The owner's new name waits for its turn when he ends his session: the end goes ahead of it, and he keeps the old one. */
const namedAsItEnds = (stage: Stage, call: number): void => {
  const who = OwnerCalls.holder("owner", call)
  const [named, ended] = stage.apartAtOneMoment([OwnerCalls.setProfile(who, "late", "toolate"), OwnerCalls.endCurrentSession(who)])
  stage.is("a name and the end of the session that gives it", [named!.status, ended!.status], [401, 204])
}

export const oneAgentTooMany: Scenario = {
  name: "one-agent-too-many",
  what:
    "agents for whose keys and approvals there is no room until others have gone, one that has its key, and one whose owner's session ends",
  bounds: { identity: bounds, ofAddress: { challenges, agents: 16 } },
  set: workloads,
  play: (stage) => {
    const market = stage.market("ABC", 1_000, { indexStaleMs: day })
    const [one, other] = stage.open(["one", "other"], 10_000)
    stage.deal(one!, other!, market, 1, 1_000)

    const { call: another } = stage.register(1)
    const { answer, call } = stage.register(0)
    const session = stage.done(answer)
    const sessionEndsAt = Number(session["expiresAtEpochMs"])
    const owner = new Owner(stage, call)
    const keys = [["read"], ["trade"]].map((scopes) => {
      const asked = stage.agentAsks(scopes)
      stage.is(`the approval of ${asked.agent.client}`, owner.approve(asked), [200, undefined])
      const fetched = stage.fetchKey(asked)
      stage.done(fetched.answer)
      return fetched.call
    })
    waitForRoom(stage, owner, keys[0]!)
    revokedBehindItsEnd(stage, owner, keys[1]!)
    startAgain(stage, owner, String(session["accountId"]))
    // The notes about who has this account were pushed out before the restart, and are counted on all the same.
    stage.is("another owner signs in", stage.signIn(another, 1).answer.status, 200)

    stage.setForward(sessionEndsAt - minute - stage.venueNow)
    const late = stage.agentAsks(["read"])
    stage.is("the approval in the session's last minute", owner.approve(late), [200, undefined])
    const { answer: again, call: later } = stage.signIn(call, 0)
    stage.done(again)
    stage.setForward(2 * minute)
    const { json, status } = stage.fetchKey(late).answer
    stage.is("what the agent is told behind the session's end", [status, (json as Json)["code"]], [400, "grant_expired"])
    tooManyChallenges(stage, call)
    // Of the first session nothing is left that could be ended.
    stage.apart(OwnerCalls.endOtherSessions(OwnerCalls.holder("owner", later)))
    namedAsItEnds(stage, later)
    stage.audit()
  }
}
