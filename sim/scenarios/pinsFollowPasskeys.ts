/**
 * An owner has lost a device and got a new one: he makes a passkey on that, and removes the one of the other. On the ledger the first two
 * still approve. If the lost one's went first, an account that has two of which one is out of reach could be left without any.
 *
 * What has to hold: the new passkey is to be added first, and then the lost one's removed; and then the pinned ones are the account's.
 * Whoever has been asked for a proof of one passkey may be asked for others meanwhile, and answer those: the first one is taken still.
 * Who gives up one withdrawal after the other, where only the last is remembered, is not told that there was none before it, nor of
 * older ones in its place. Who signs in from one place too many is signed out where he signed in first, and who seems to use a copy of
 * his passkey is not let in. And who asks for candles meanwhile is told that they lag by some seconds, and not that they are stale.
 */
import type { Json } from "../reading/Bodies.js"
import * as FundsCalls from "../workload/FundsCalls.js"
import * as OwnerCalls from "../workload/OwnerCalls.js"
import { credentialIdOf } from "../workload/SoftwarePasskey.js"
import { beginWithOwner, ledgerOf, passkey, questionOf, withPrepared } from "./Ledger.js"
import type { Scenario } from "./Scenario.js"
import type { Stage } from "./Stage.js"

const hour = 3_600_000
/** Challenges of one address that may be open. */
const challenges = 3
/** Sessions that an account may have. */
const sessions = 12
/** For how long the histories rest after what they have taken in: no whole seconds, at which marks come. */
const restMs = 4_300
/** How often candles are asked for while they rest once. */
const looks = 6
/** The passkeys of the lost device and of the new one. */
const [lost, found] = [1, 2]

/** Asks which change of the pinned passkeys is due, and approves it. Returns what was to be done with which. */
const pinned = (stage: Stage, owner: OwnerCalls.Bearer): unknown => {
  const { answer, call: asked } = stage.apart(FundsCalls.beginPins(owner))
  const { change, credentialId, status } = stage.done(answer)
  if (status === "current") return status
  stage.done(stage.apart(FundsCalls.finishPins(owner, { kind: "get", passkey, asked, signCount: 0 })).answer)
  return [change, credentialId]
}

/** One answers a challenge behind as many others as may be open with it, each of which he has answered. */
const answeredLater = (stage: Stage, owner: number): void => {
  const who = OwnerCalls.stranger("owner-0")
  const { accountId } = OwnerCalls.holder(who.client, owner)
  const { call: asked } = stage.apart(OwnerCalls.beginAuthentication(who, accountId, undefined))
  for (let others = 0; others < challenges; others++) stage.done(stage.signIn(owner, passkey).answer)
  const { answer: { json, status } } = stage.apart(OwnerCalls.finishAuthentication(who, { kind: "get", passkey, asked, signCount: 0 }))
  stage.is(`what who answers later is told: ${String((json as Json)["code"])}`, status, 200)
}

/** The newest withdrawals that are listed, with their statuses. */
const listed = (answer: Json): ReadonlyArray<unknown> => (answer["withdrawals"] as ReadonlyArray<Json>).map(({ status }) => status)

/**
 * The owner gives up the later two of four withdrawals and lists them at once, while the histories rest: they have none of the ends yet.
 * Of those that were given up one is forgotten, and it is younger than two that are open.
 */
const listedAtOnce = (stage: Stage, owner: OwnerCalls.Bearer): void => {
  const asked = Array.from({ length: 4 }, () => stage.withdrawal(owner, 1))
  stage.wait(2 * restMs)
  for (const each of asked.slice(2)) stage.done(stage.apart(FundsCalls.cancel(owner, each)).answer)
  stage.metrics()
  const list = (limit = 100) => stage.apart(FundsCalls.list(owner, "withdrawals", limit)).answer
  stage.is("what is told while one may be missing", list().status, 503)
  stage.wait(2 * restMs)
  const [given, open] = ["rejected", "requested"]
  stage.is("withdrawals that are listed then", listed(stage.done(list())), [given, given, open, open])
  stage.is("the first of them", listed(stage.done(list(2))), [given, given])
  questionOf(stage, owner, asked[0]!)
  stage.is("who expects a step of a deposit", stage.apart(FundsCalls.initiate(owner, asked[0]!, "treasury_offer")).answer.status, 409)
}

/** The owner signs in until the session that he had first ends for room; then his passkey counts, and at last its counter goes back. */
const signedInTooOften = (stage: Stage, call: number, owner: OwnerCalls.Bearer): void => {
  const asked = (): number => stage.apart(OwnerCalls.listPasskeys(owner)).answer.status
  stage.is("who is signed in for the first time", asked(), 200)
  for (let times = 0; times < sessions; times++) stage.done(stage.signIn(call, passkey).answer)
  stage.is("who is signed in for the first time, after as many others as may be", asked(), 401)
  stage.done(stage.signIn(call, passkey, 7).answer)
  stage.is("who has a counter that went back", stage.signIn(call, passkey, 6).answer.status, 401)
}

/** Somebody asks for candles all the time while the histories rest: they lag, and are not stale yet. */
const drawnMeanwhile = (stage: Stage): void => {
  // They take in the first of these at once, and rest before the next.
  for (const name of ["taken in", "to be taken in"]) stage.one(name, 1)
  for (let look = 0; look < looks; look++) {
    stage.public("getCandles", "/v1/markets/ABC-USDC-PERP/candles?timeframe=1m&series=trade")
    stage.wait(restMs / looks)
  }
}

export const pinsFollowPasskeys: Scenario = {
  name: "pins-follow-passkeys",
  what:
    "a passkey is made and another one removed before the ledger's follow, one is proved behind several others, and ended withdrawals are "
    + "listed at once, among histories that lag by seconds",
  set: {
    funds: { ...ledgerOf({}), kept: { endedOfAccount: 1, endedInAll: 100 } },
    histories: { meanDamagedMs: 0, pauseMs: restMs }
  },
  bounds: { ...withPrepared, identity: { sessions }, ofAddress: { challenges, agents: 16 } },
  play: (stage) => {
    const { call, owner } = beginWithOwner(stage, hour)
    answeredLater(stage, call)
    stage.done(stage.addPasskey(call, passkey, lost).answer)
    stage.is("what is due for a second passkey", pinned(stage, owner), ["add", credentialIdOf(lost)])

    stage.done(stage.addPasskey(call, passkey, found).answer)
    const { call: asked } = stage.apart(OwnerCalls.beginAuthentication(OwnerCalls.stranger("owner-0"), owner.accountId, "remove_passkey"))
    const proof = { kind: "get", passkey, asked, signCount: 0 } as const
    stage.is("the removal", stage.apart(OwnerCalls.removePasskey(owner, credentialIdOf(lost), proof)).answer.status, 204)
    const changes = [pinned(stage, owner), pinned(stage, owner), pinned(stage, owner)]
    stage.is("what is due then", changes, [["add", credentialIdOf(found)], ["remove", credentialIdOf(lost)], "current"])
    listedAtOnce(stage, owner)
    drawnMeanwhile(stage)
    signedInTooOften(stage, call, owner)
    stage.auditEngine()
  }
}
