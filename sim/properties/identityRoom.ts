/**
 * Safety (bounds). A grant and a family of tickets find room exactly where there is some: no account has more grants that wait than it
 * may, or more families than its part of those that are free, no key more live families, and the venue no more of either in all; and
 * whoever is refused for want of room is refused for one of these. What is over leaves its room to others, from the oldest on, with
 * each new one.
 */
import { Refusal } from "../../src/domain/Refusal.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"
import { type Taken, Undurable } from "./Undurable.js"

/** Families that are over and forgotten with each new one, at the most. */
const forgottenAtOnce = 8

/** Holds a refusal, or that there was none, to whether there was a reason for each. */
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
  // One of the same code that is over leaves its place.
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
  // With one more it would have more than its part of what is free now.
  const exceeds = (has: number, taken: number): boolean => (has + 1) * familyParts > families - taken
  // Where the next one forgets all that is over, and no key gives up what it has ended: then all others are held, and no more.
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
