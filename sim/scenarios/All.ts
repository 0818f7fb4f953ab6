/** Every scenario, by its name. */
import * as crypto from "node:crypto"
import * as Options from "../faults/Options.js"
import { act, type Failure, type Report, type Request } from "../Simulation.js"
import { accountsOfAnHour } from "./accountsOfAnHour.js"
import { allLeaveAtOnce } from "./allLeaveAtOnce.js"
import { armedByAThief } from "./armedByAThief.js"
import { armedWithoutEnd } from "./armedWithoutEnd.js"
import { asMuchAsADayAllows } from "./asMuchAsADayAllows.js"
import { askedAtThatMoment } from "./askedAtThatMoment.js"
import { atTheVeryEdge } from "./atTheVeryEdge.js"
import { auditOfOneMark } from "./auditOfOneMark.js"
import { backAtAnotherPrice } from "./backAtAnotherPrice.js"
import { batchesEveryDay } from "./batchesEveryDay.js"
import { beyondTheLimit } from "./beyondTheLimit.js"
import { closedAgainstNobody } from "./closedAgainstNobody.js"
import { crowdedConnections } from "./crowdedConnections.js"
import { endedWhileHalted } from "./endedWhileHalted.js"
import { followedFromTheMiddle } from "./followedFromTheMiddle.js"
import { everybodyHasATurn } from "./everybodyHasATurn.js"
import { fullSinceYesterday } from "./fullSinceYesterday.js"
import { fundAtItsLimits } from "./fundAtItsLimits.js"
import { fundingAcrossAHalt } from "./fundingAcrossAHalt.js"
import { fundingBehindFunding } from "./fundingBehindFunding.js"
import { fundSoldToAFriend } from "./fundSoldToAFriend.js"
import { indexPriceOfZero } from "./indexPriceOfZero.js"
import { intervalCutShort } from "./intervalCutShort.js"
import { knownBehindProxies } from "./knownBehindProxies.js"
import { ledgerComesAndGoes } from "./ledgerComesAndGoes.js"
import { leftFromBefore } from "./leftFromBefore.js"
import { liquidatedForAMinute } from "./liquidatedForAMinute.js"
import { liquidatorWithAHiddenLoss } from "./liquidatorWithAHiddenLoss.js"
import { membersInPairs } from "./membersInPairs.js"
import { minuteOfDeleveragings } from "./minuteOfDeleveragings.js"
import { moreThanExact } from "./moreThanExact.js"
import { muchIsDueAtOnce } from "./muchIsDueAtOnce.js"
import { nightWithoutRoom } from "./nightWithoutRoom.js"
import { notedWithoutRoom } from "./notedWithoutRoom.js"
import { oneAgentTooMany } from "./oneAgentTooMany.js"
import { oneScopeShort } from "./oneScopeShort.js"
import { onTheStroke } from "./onTheStroke.js"
import { oneTicketBehindTheOther } from "./oneTicketBehindTheOther.js"
import { otherTermsForHolders } from "./otherTermsForHolders.js"
import { paidAfterItsEnd } from "./paidAfterItsEnd.js"
import { paperProfitInAThinMarket } from "./paperProfitInAThinMarket.js"
import { pinsFollowPasskeys } from "./pinsFollowPasskeys.js"
import { rankedAcrossATick } from "./rankedAcrossATick.js"
import { reachedForAMoment } from "./reachedForAMoment.js"
import { readLongAfter } from "./readLongAfter.js"
import { readToTheLastMember } from "./readToTheLastMember.js"
import { sameKeyEveryMember } from "./sameKeyEveryMember.js"
import type { Scenario } from "./Scenario.js"
import { settledByNobody } from "./settledByNobody.js"
import { followerWithoutRoom, snapshotsWithoutRoom } from "./snapshotsWithoutRoom.js"
import { soldByAFriend } from "./soldByAFriend.js"
import { stepHeldBack } from "./stepHeldBack.js"
import { Stage } from "./Stage.js"
import { stoppedBeforeItWasSent } from "./stoppedBeforeItWasSent.js"
import { takenOverBeyondAllPrices } from "./takenOverBeyondAllPrices.js"
import { takeoverBeyondTheFund } from "./takeoverBeyondTheFund.js"
import { thinBookPushed } from "./thinBookPushed.js"
import { toldOfEveryStatus } from "./toldOfEveryStatus.js"
import { wallOfCancels } from "./wallOfCancels.js"
import { wallOfSmallOrders } from "./wallOfSmallOrders.js"
import { wholeMarketInOnePosition } from "./wholeMarketInOnePosition.js"
import { withdrawnBehindUnknown } from "./withdrawnBehindUnknown.js"
import { withdrawnWithoutRoom } from "./withdrawnWithoutRoom.js"

export const scenarios: ReadonlyArray<Scenario> = [
  minuteOfDeleveragings,
  wholeMarketInOnePosition,
  paperProfitInAThinMarket,
  liquidatorWithAHiddenLoss,
  indexPriceOfZero,
  auditOfOneMark,
  soldByAFriend,
  thinBookPushed,
  fundingAcrossAHalt,
  takeoverBeyondTheFund,
  muchIsDueAtOnce,
  nightWithoutRoom,
  leftFromBefore,
  intervalCutShort,
  askedAtThatMoment,
  armedWithoutEnd,
  armedByAThief,
  liquidatedForAMinute,
  wallOfSmallOrders,
  wallOfCancels,
  fundSoldToAFriend,
  backAtAnotherPrice,
  readToTheLastMember,
  oneTicketBehindTheOther,
  otherTermsForHolders,
  fundingBehindFunding,
  fundAtItsLimits,
  atTheVeryEdge,
  rankedAcrossATick,
  stepHeldBack,
  toldOfEveryStatus,
  sameKeyEveryMember,
  readLongAfter,
  settledByNobody,
  endedWhileHalted,
  allLeaveAtOnce,
  accountsOfAnHour,
  oneScopeShort,
  beyondTheLimit,
  knownBehindProxies,
  notedWithoutRoom,
  closedAgainstNobody,
  followedFromTheMiddle,
  paidAfterItsEnd,
  batchesEveryDay,
  reachedForAMoment,
  snapshotsWithoutRoom,
  followerWithoutRoom,
  asMuchAsADayAllows,
  moreThanExact,
  membersInPairs,
  pinsFollowPasskeys,
  withdrawnBehindUnknown,
  withdrawnWithoutRoom,
  stoppedBeforeItWasSent,
  onTheStroke,
  oneAgentTooMany,
  ledgerComesAndGoes,
  crowdedConnections,
  everybodyHasATurn,
  fullSinceYesterday,
  takenOverBeyondAllPrices
]

/** How a scenario is played: with a trace, or without the restarts that prove what it leaves on the disk. */
export type How = Pick<Request, "trace" | "unproven">

/** Plays a scenario with every property watching. */
export const play = ({ bounds = {}, name, play: played, set = {} }: Scenario, how: How = {}): Report => {
  const options = { ...Options.still, ...set, bounds: { ...Options.roomy, ...bounds } }
  return act(name, { seed: name, profile: "calm", steps: 0, options, ...how }, (acting) => played(new Stage(acting)))
}

/** What is wrong with how a scenario was played: most properties have nothing to look at where nothing trades. */
export const failureOf = ({ failure, fills, records: step, simulatedMs: atMs }: Report): Failure | undefined =>
  failure ?? (fills > 0 ? undefined : {
    kind: "liveness",
    invariant: "",
    properties: ["trades"],
    what: "nothing trades in it",
    step,
    atMs,
    unproven: true
  })

/** The scenario that belongs to a seed: consecutive numbers have one after the other, other seeds any. */
export const besides = (seed: string): Scenario => {
  const at = /^[0-9]{1,15}$/.test(seed) ? Number(seed) : crypto.createHash("sha256").update(seed).digest().readUInt32BE(0)
  return scenarios[at % scenarios.length]!
}

/** The scenarios of a name, all for `all`, or no one for `none`; undefined where there is none of that name. */
export const named = (name: string): ReadonlyArray<Scenario> | undefined => {
  if (name === "none") return []
  const found = name === "all" ? scenarios : scenarios.filter((each) => each.name === name)
  return found.length === 0 ? undefined : found
}
