/**
 * Safety (bounds). A grant and a family of tickets are accepted exactly where there is room: no account has more pending grants than
 * allowed, or more families than its part of the free ones, no key more live families, and the venue no more of either in all; and every
 * refusal for lack of room has one of these reasons. Ended entries make room for others, oldest first, with each new one.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

/** Most ended families that are forgotten with each new one. */
const forgottenAtOnce = 8

/** Checks that a command is refused exactly where there is a reason. */
const differing = (refusal: Refusal | undefined, reasons: ReadonlyArray<readonly [Refusal, boolean, boolean]>): Verdict => {
  for (const [of, must, may] of reasons) {
    if (refusal === of && !may) return broken(`is refused for want of room (${of}), and there is some`)
    if (refusal === undefined && must) return broken(`is let in, and there is no room (${of})`)
  }
  return holds
}

const grantVerdict = (
  { account, deviceSha256 }: CommandOfKind<"ApproveAgent">,
  at: number,
  refusal: Refusal | undefined,
  model: NaiveVenue
): Verdict => {
  const { identity } = model
  const isOwn = identity.waitingOf(account, at) >= identity.bounds.grantsOfAccount
  // An ended grant with the same code gives up its place.
  const isAll = identity.isFullOfGrants(at) && !identity.grants.some((grant) => grant.deviceSha256 === deviceSha256)
  return differing(refusal, [[Refusal.keyLimit, isOwn, isOwn], [Refusal.tableFull, isAll, isAll]])
}

const familyVerdict = (
  { account, credential }: CommandOfKind<"MintTicket">,
  at: number,
  refusal: Refusal | undefined,
  model: NaiveVenue
): Verdict => {
  const { bounds: { families, familiesOfKey, familyParts }, tickets } = model.identity
  const isOwn = tickets.liveOf(credential, at) >= familiesOfKey
  const all = tickets.room(at)
  const own = tickets.room(at, account)
  // One more would exceed its part of what is free now.
  const exceeds = (has: number, taken: number): boolean => (has + 1) * familyParts > families - taken
  // If the next family makes room for itself by forgetting everything that is over, and no key displaces its ended families, then exactly
  // the others are held.
  const isHeldToPart = families <= Math.min(forgottenAtOnce, familiesOfKey)
  return differing(refusal, [
    [Refusal.ticketFamilies, isOwn, isOwn],
    [Refusal.tableFull, all.live >= families, all.held >= families],
    [Refusal.accountShare, isHeldToPart && exceeds(own.good, all.good), exceeds(own.held, all.held)]
  ])
}

const judge = ({ answered, atEpochMs, command, sequence }: Taken, model: NaiveVenue): Verdict => {
  const refusal = answered?.refusal
  const verdict = command.kind === "ApproveAgent"
    ? grantVerdict(command, atEpochMs, refusal, model)
    : command.kind === "MintTicket"
    ? familyVerdict(command, atEpochMs, refusal, model)
    : holds
  return verdict === undefined ? holds : broken(`a ${command.kind} behind record ${sequence} ${verdict}`)
}

export const identityRoom: Property<Undurable> = {
  name: "grants-and-tickets-find-room-up-to-their-bounds",
  invariant: "bounds",
  kind: "safety",
  initial: () => new Undurable(({ kind }) => kind === "ApproveAgent" || kind === "MintTicket"),
  observe: (undurable, seen) => undurable.observe(seen, judge)
}
