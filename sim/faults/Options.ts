/**
 * Everything that is drawn before the first step of a run: which faults there are and how often, how busy and
 * how odd the clients are. Each seed leaves some faults off and turns others up ("swarm").
 */
import { type Growth, usualGrowth } from "../../src/engine/Columns.js"
import type { OfAddress } from "../../src/identity/Identity.js"
import type { Bounds as Missed } from "../../src/streams/Replay.js"
import * as AutoCloses from "../model/NaiveAutoClose.js"
import * as Identities from "../model/NaiveIdentity.js"
import * as Liquidations from "../model/NaiveLiquidation.js"
import type * as SimBank from "../world/SimBank.js"
import type * as SimFollower from "../world/SimFollower.js"
import type * as SimIndexFeed from "../world/SimIndexFeed.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Limits, ToldAgain } from "../properties/Observation.js"

/** Probabilities are per request, per disk call or per crash, as named; times in milliseconds. */
export interface Options {
  readonly network: {
    readonly requestLoss: number
    readonly replyLoss: number
    readonly duplication: number
    readonly halfOpen: number
    readonly maxDelayMs: number
  }
  readonly disk: {
    /** A write or sync fails (the process must stop). */
    readonly errorRate: number
    /** Of failing calls, how many say there is no room. */
    readonly noSpaceShare: number
    /** A read, or an operation on names, fails. */
    readonly readErrorRate: number
    readonly nameErrorRate: number
    /** A write or sync never ends; a supervisor that sees no progress kills the process then. */
    readonly hangRate: number
    /** A write of a snapshot lands elsewhere in its file and reports success. (Of the journal: once, at the end of every other run.) */
    readonly misdirectRate: number
    /** How long an operation takes at most. */
    readonly maxCallMs: number
    /** On a crash: probability that an unsynced write is torn; otherwise it arrives or not as a whole. */
    readonly tornRate: number
    /**
     * In how many starts and graceful stops one of the first writes to the journal fails. Absent from what was kept before it was
     * drawn: in none but by chance.
     */
    readonly failsAtEndsShare?: number
    /** How often what is written durably is seen by reads before it is durable. Absent from what was kept before it was drawn: never. */
    readonly seenEarlyRate?: number
  }
  readonly process: {
    /** Mean time between crashes; 0 for none. */
    readonly meanCrashMs: number
    /** Mean time between graceful stops beside those in the place of a crash. Absent from what was kept before they were drawn: none. */
    readonly meanStopMs?: number
    /** Probability that a start is crashed while it recovers. */
    readonly crashInRecovery: number
    /** Probability that a stop is asked for (SIGTERM) where a crash was due. */
    readonly gracefulShare: number
    /** How long the supervisor waits before it starts the process again. */
    readonly maxRestartMs: number
    /** Probability per fiber step that it yields. */
    readonly preemption: number
  }
  readonly clock: {
    /** Mean time between clock faults; 0 for none. */
    readonly meanFaultMs: number
    readonly maxJumpMs: number
    readonly freezeShare: number
  }
  readonly workload: {
    readonly traders: number
    /** Mean pause of a trader between calls. */
    readonly meanPauseMs: number
    /** Calls a trader has under way at once. */
    readonly concurrency: number
    /** USDC each account starts with. */
    readonly collateral: number
    readonly timeoutMs: number
    /** Mean time between operator acts; 0 for none. */
    readonly meanOperatorMs: number
    /** How much an ordinary index move is, in bps, and how often it is a jump beyond the band. */
    readonly indexMoveBps: number
    readonly indexJumpShare: number
    readonly haltShare: number
    readonly statusShare: number
    readonly weights: Readonly<Record<Intent, number>>
    /** How many of the batches are as long as they may be. Absent from what was kept before it was drawn: a tenth. */
    readonly bulkShare?: number
    /** How many of the orders bring what closes what they open. Absent from what was kept before it was drawn: none. */
    readonly autoCloseShare?: number
    /** How often a trader says several things at once, as others do at the same time. Absent from what was kept before it was drawn: never. */
    readonly volleyShare?: number
    /** What ruins traders. Absent from what was kept before: nothing does on purpose. */
    readonly ruin?: {
      /** How many of their orders are for a large part of all that they could carry, and how many of those that take for what is left. */
      readonly leverageShare: number
      /** How often an operator's move of an index goes on where the last one went, and how far, bps. */
      readonly trendShare: number
      readonly trendBps: number
      /** Which traps an operator lays for them. Absent from what was kept before: none. */
      readonly traps?: Traps
    }
  }
  /** Owners who sign in with passkeys, and their agents. Absent from what was kept before there were any. */
  readonly owners?: Owners
  /** Whoever holds realtime tickets. Absent from what was kept before there were any. */
  readonly tickets?: Tickets
  /** Absent from what was kept before there was a stream. */
  readonly streams?: Streams
  /** Accounts with favorite markets. Absent from what was kept before there were any. */
  readonly favorites?: Favorites
  /** Absent: nobody streams index prices. */
  readonly publisher?: Publisher
  /** What an operator says of accounts, and agents who trade. Absent from what was kept before there was any of it. */
  readonly standings?: Standings
  /** An operator who looks after keys, the ledger and the markets. Absent from what was kept before there was one. */
  readonly oversight?: Oversight
  /** Somebody who says what others say as it may not be said. Absent from what was kept before there was one. */
  readonly misfits?: Misfits
  /** Who asks whether the venue takes requests. Absent from what was kept before there was anybody. */
  readonly probe?: Probe
  /** Somebody in a hurry, where requests are counted. Absent from what was kept before there was one. */
  readonly rushes?: Rushes
  /** Money on a ledger. Absent where the venue has none. */
  readonly funds?: Funds
  /**
   * The markets file. Absent from what was kept before there was one in a run: its operator puts the markets, no
   * feed runs, and nothing fails until the workload begins.
   */
  readonly listing?: {
    /** Probability that a start is crashed before the venue has been ready once. */
    readonly crashShare: number
    /** Tasks within which such a start dies. Absent from what was kept before it was drawn: so few that it has put hardly any market. */
    readonly crashTasks?: number
    /** Most records of one block: the fewer, the more places at which a start can be cut off. */
    readonly blockRecords: number
    /** When a market is added to the file, for the starts from then on; 0 for never. */
    readonly growsAtMs: number
    /** When the operator puts that market himself and leaves it a draft; 0, or absent from what was kept before he did, for never. */
    readonly putsAtMs?: number
  }
  /**
   * Other versions. Absent from what was kept before there were any: the same rules for a run's whole length. They decide
   * alike; only their number is another.
   */
  readonly takeover?: {
    /** Probability that the start after a graceful stop is one of the version after, which takes over. */
    readonly afterStop: number
    /** The same of one after a crash: what the version before left undecided refuses it. */
    readonly afterCrash: number
  }
  /** The room on the disk. Absent from what was kept before: the disk is never full. */
  readonly room?: {
    /** Mean time between moments from which on the disk gives no more room; 0 for none. */
    readonly meanFullMs: number
    /** How long that lasts at most. */
    readonly maxFullMs: number
  }
  /** The journal's lock. Absent from what was kept before, and from most runs: nobody touches its file. */
  readonly lock?: {
    /** Mean time between moments in which its file is removed under the process. */
    readonly meanTakenMs: number
    /** How often a stranger takes the lock of a file in its place, and how long he holds it at most. */
    readonly strangerShare: number
    readonly maxHeldMs: number
  }
  /** The histories' database. Absent from what was kept before: it is never damaged under a process. */
  readonly histories?: {
    /** Mean time between moments in which it is; 0 for none. */
    readonly meanDamagedMs: number
    /** For how long they rest behind each batch, so that they lag. Absent from what was kept before it was drawn: as a venue's own. */
    readonly pauseMs?: number
  }
  /** The index feed; there where the markets file is. */
  readonly feed?: SimIndexFeed.Behaviour
  /** Markets that trade in sessions. Absent from what was kept before there were any. */
  readonly sessions?: Sessions
  /** What is drawn at its edge. Absent from what was kept before: nothing was. */
  readonly edges?: Edges
  /** What follows the writer and takes its snapshots. Absent from what was kept before there was one: the writer takes them. */
  readonly follower?: Follower
  /** Absent from what was kept before there was one: it is read beside the writer. */
  readonly readings?: Readings
  /** How much the venue holds of what is bounded. Absent from what was kept before they were drawn: `roomy`. */
  readonly bounds?: Bounds
  /** How many requests the venue lets in. Absent from what was kept before there were limits: as many as come. */
  readonly limits?: Limits
}

/** Prices that are timed so that somebody falls at a moment, or in a state, that is rarely met by chance. */
export interface Traps {
  /** How long it waits on average until it lays the next one. */
  readonly meanPauseMs: number
  /**
   * How many of them are for the end of a funding interval, where every market pays often; the others are for who has lost something
   * in a market that does not live.
   */
  readonly fundingShare: number
}

/** Whether there is a follower, how it fails, and how often it takes a snapshot. */
export interface Follower extends SimFollower.Behaviour {
  readonly isThere: boolean
  readonly snapshotEveryRecords: number
}

/** Whether the journal is read for clients by somebody else than the writer, and the mean time between deaths of that one; 0 for none. */
export interface Readings {
  readonly isThere: boolean
  readonly meanCrashMs: number
}

/** Markets of the file that trade in sessions, and how these come and go while a run lasts. */
export interface Sessions {
  /** How many of those that the file lists first, and whether the one that is added to it does. */
  readonly markets: number
  readonly later: boolean
  readonly timeZone: string
  /** How long a market is open, and closed, at most. */
  readonly maxOpenMs: number
  readonly maxClosedMs: number
  readonly cutoffMs: number
  /** What its dates are beside a holiday. Absent from what was kept before there were others: nothing else. */
  readonly dates?: SessionDates
}

/** Shortened days around the start; or for some markets nothing but holidays until the day on which the zone's clocks change. */
export type SessionDates = "ordinary" | "shortened" | "until the clocks change"

/** Owners and their agents. What they do is drawn by generators of their own, and bounded, whatever else a run does. */
export interface Owners {
  readonly owners: number
  /** Calls that all of them begin together. */
  readonly calls: number
  readonly meanPauseMs: number
  /** Mean time between steps of the clock to where a challenge, a session, a key or a grant ends; 0 for none. */
  readonly meanStepMs: number
  /** What they are bent on, beside all else. Absent from what was kept before: nothing. */
  readonly bent?: OwnersBent
}

/** Something that the owners of one run do over and over, which others hardly ever come to. */
export type OwnersBent = "nothing" | "clone signs in" | "remove passkey" | "let an agent" | "revoke a key" | "sign in"

/** The same of owners with a ledger. */
export type FundsBent = "nothing" | "think again" | "remove a passkey" | "answer by a copy" | "change party" | "pay out"

/** Whoever holds realtime tickets, of owners' agents and of demo accounts: drawn by generators of their own, and bounded. */
export interface Tickets {
  readonly calls: number
  readonly meanPauseMs: number
  /** Mean time between steps of the clock to where a ticket is over, or may not come again; 0 for none. */
  readonly meanStepMs: number
}

/** Clients of the stream: drawn by generators of their own. */
export interface Streams {
  readonly clients: number
  /** How many of their connections are cut or die, and how long these last on average. */
  readonly cutShare: number
  readonly meanLineMs: number
  /** How many of them take what they are sent slowly. */
  readonly slowShare: number
  /** What the venue has room for: on their way to a client until it is behind, and over; and updates kept of a stream. */
  readonly behindBytes: number
  readonly bufferedBytes: number
  readonly keptUpdates: number
  /** For how long nothing is heard of a client that is gone. Absent from what was kept before: as long as a venue waits. */
  readonly silenceMs?: number
  /** How far back accounts are told again. Absent: as far as by a venue. */
  readonly toldAgain?: ToldAgain
  /** How much of what they missed is read and given at once. Absent: as much as by a venue. */
  readonly missed?: Missed
  /** What they trade. Absent: nothing. */
  readonly trading?: Trading
  /** What they do beside that which no good client does. Absent: nothing, and the venue has room for as much as it usually has. */
  readonly odd?: Oddities
}

/**
 * What clients of the stream do that is refused, or ends their connections: how long they wait on average between two such things, and
 * what a connection may have at most, so little that it is met.
 */
export interface Oddities {
  readonly meanPauseMs: number
  readonly subscriptions: number
  readonly orders: number
  readonly messagesPerSecond: number
}

/** Orders of clients of the stream, over connections that are to cancel them: how long they wait on average between two. */
export interface Trading {
  readonly meanPauseMs: number
}

/** A process that streams index prices into the venue, drawn by a generator of its own, and bounded. */
export interface Publisher {
  readonly calls: number
  readonly meanPauseMs: number
}

/** Accounts that choose favorite markets, and look at them: drawn by generators of their own, and bounded. */
export interface Favorites {
  readonly calls: number
  readonly meanPauseMs: number
}

/**
 * Credits, flags and bots' keys that an operator gives, affiliates, and agents and bots who trade by their keys: drawn by generators
 * of their own, and bounded.
 */
export interface Standings {
  /** Calls about accounts. */
  readonly calls: number
  /** Calls that agents and bots begin together. */
  readonly agentCalls: number
  readonly meanPauseMs: number
  /** Whether accounts may be affiliates, and whether there is a platform whose workloads may have bots' keys. */
  readonly affiliates: boolean
  readonly workloads: boolean
}

/**
 * An operator who revokes keys, stops withdrawals and lets them go on, compares the books with the ledger and asks what a market's
 * parameters would come to: drawn by a generator of its own, and bounded.
 */
export interface Oversight {
  readonly calls: number
  readonly meanPauseMs: number
  /** The same of whoever looks after the ledger, where there is one: its owners take their time. */
  readonly ledgerCalls: number
  readonly ledgerPauseMs: number
}

/** Somebody who says what others say as it may not be said, on any route: drawn by a generator of its own, and bounded. */
export interface Misfits {
  readonly calls: number
  readonly meanPauseMs: number
}

/** Who asks over and over whether the venue takes requests: drawn by a generator of its own, and bounded. */
export interface Probe {
  readonly calls: number
  readonly meanPauseMs: number
}

/** How often somebody cancels beyond all that he may at one moment, and how long he waits in between on average. */
export interface Rushes {
  readonly rushes: number
  readonly meanPauseMs: number
}

/** A ledger with its signer, and owners who bring money in and take it out: drawn by generators of their own, and bounded. */
export interface Funds {
  readonly owners: number
  /** Calls that all of them begin together. */
  readonly calls: number
  readonly meanPauseMs: number
  /** How many days, at most, the venue's clock goes ahead while the run lasts, so that passkeys come to be old enough. */
  readonly days: number
  /**
   * Transfers that are over and kept, the latest of each account, and of all; and withdrawals that an account may have under way. Absent
   * from what was kept before: a venue's own.
   */
  readonly kept?: {
    readonly endedOfAccount: number
    readonly endedInAll: number
    readonly withdrawalsOfAccount?: number
    /** Executions of a step that are kept, each with its answer. */
    readonly submissions?: number
  }
  /** What the owners are bent on, beside all else. Absent from what was kept before: nothing. */
  readonly bent?: FundsBent
  readonly bank: SimBank.Behaviour
}

/** The venue's own bounds, as it is configured. */
export interface Bounds {
  /** Orders and keys that are remembered. */
  readonly orders: number
  readonly idempotencyKeys: number
  /**
   * One account's placements take at most one in so many of what is free; 0: no account has a bound of its own. Absent from what
   * was kept before it was drawn: 0.
   */
  readonly accountParts?: number
  /** Most orders that one record ends, and most that its incoming orders meet. Absent from what was kept before: a venue's own. */
  readonly endedAtOnce?: number
  readonly metAtOnce?: number
  /** Most orders that one record cancels beyond the price bands. Absent from what was kept before it was drawn: a venue's own. */
  readonly clearedAtOnce?: number
  /** Markets in which an account counts once where a record does so much. Absent from what was kept before: a venue's own. */
  readonly marketsInOne?: number
  /** Most accounts of which one record counts whom an announcement would touch. Absent from what was kept before: a venue's own. */
  readonly countedAtOnce?: number
  /** Accounts that one record looks at as marks have come near theirs. Absent from what was kept before: a venue's own. */
  readonly examinedAtOnce?: number
  /** Marks of a market, and payments of its funding, that can be read. Absent from what was kept before: as many as of a venue. */
  readonly marksKept?: number
  readonly fundingsKept?: number
  /** Most keys, and ended orders, that one record forgets. Absent from what was kept before: a venue's own. */
  readonly forgottenAtOnce?: number
  /** Positions whose funding one record settles beside what it is for. Absent from what was kept before: a venue's own. */
  readonly settledAtOnce?: number
  /** How long before tighter margins take effect they are announced at least. Absent from what was kept before: a venue's own. */
  readonly noticeMs?: number
  /** Whole minutes before the running one that a final price is made of. Absent from what was kept before: a venue's own. */
  readonly finalMinutes?: number
  /** What one record does for liquidations and settlements at most. Absent from what was kept before: a venue's own. */
  readonly liquidatedAtOnce?:
    & Omit<Liquidations.Bounds, "settled" | "places" | "ranked">
    & Partial<Pick<Liquidations.Bounds, "settled" | "places" | "ranked">>
  /** The same for triggers. */
  readonly triggeredAtOnce?: AutoCloses.Bounds
  /** Most brackets of a position. Absent from what was kept before: a venue's own. */
  readonly brackets?: number
  /** How much there may be of an account's passkeys, sessions and keys. Absent from what was kept before: a venue's own. */
  readonly identity?: Partial<Identities.Bounds>
  /** Challenges and agents that one address may leave open. Absent from what was kept before: a venue's own. */
  readonly ofAddress?: OfAddress
  /** How the engine's tables begin and grow. Absent from what was kept before: as a venue's. */
  readonly growth?: Growth
  /** How much of a snapshot is read at once. Absent from what was kept before: all that a run's snapshots have. */
  readonly snapshotReadBytes?: number
  /**
   * Records between two snapshots of a writer that takes them itself. Absent from what was kept before it was drawn: as many as it
   * was then.
   */
  readonly snapshotEveryRecords?: number
  /** Bytes of the latest blocks that are kept in memory. Absent from what was kept before they were drawn: as many as there were then. */
  readonly recentBytes?: number
  /** Commands that may wait, and how many of them placements may not take. */
  readonly inbox: { readonly capacity: number; readonly reserved: number }
  /** A block takes no further record from this size on, bytes. */
  readonly fullBytes: number
  /** The largest block, and the size of a segment; bytes. */
  readonly maxBlockBytes: number
  readonly segmentBytes: number
}

/** Bounds that no run comes to, but for those of blocks and segments. */
export const roomy: Bounds = {
  orders: 12_000,
  idempotencyKeys: 16_000,
  inbox: { capacity: 8_192, reserved: 2_048 },
  fullBytes: 24 * 1024,
  maxBlockBytes: 64 * 1024,
  segmentBytes: 256 * 1024
}

/** What is drawn at its edge. */
export interface Edges {
  /** How many fills of the whole venue can be read, the latest. */
  readonly fillsKept: number
  /**
   * How much money there is: `large` in markets whose largest notional is just below 2^53 money atoms, `small` with one in
   * which a requirement grows by an atom or two with each size atom. Tiers of both lie among what traders hold.
   */
  readonly money: "ordinary" | "large" | "small"
  /** How often an operator's act is to give a market other parameters, with whatever is open in it. */
  readonly parametersShare: number
  /** How often an operator's act is to delist a market. Absent from what was kept before it was drawn: never. */
  readonly delistingShare?: number
  /** How often an operator's act is to announce something of a market, half of which it takes back. Absent from what was kept before. */
  readonly announcingShare?: number
  /** How often an operator's move of an index takes an account to where its equity is just its maintenance margin. */
  readonly brinkShare: number
  /** Mean time between steps of the clock to where something ends or falls due, to the millisecond; 0 for none. */
  readonly meanStepMs: number
  /** Probability that a process starts in the very millisecond in which something is due, or in one beside it. */
  readonly dueAtStart: number
  /** Probability that a trader whose commands are refused under a halt asks again what it asked before. */
  readonly againUnderHalt: number
  /** How long what is decided is remembered. Absent from what was kept before it was drawn: a day, throughout. */
  readonly retention?: {
    /** What it is set to before anybody trades; 0 for a day. */
    readonly openingMs: number
    /** How often an operator's act is to set it. */
    readonly share: number
  }
  /** How many days the venue's clock goes ahead while the run lasts, so that a full table has what is forgotten. Absent from what was kept before. */
  readonly days?: number
}

/** USDC that accounts begin with where money is drawn at its edge; a venue credits 2^52 atoms at most. */
const edgeCollateral = { large: 4_000_000_000, small: 3 } as const

/** What a trader may mean to do. */
export const intents = [
  "make",
  "take",
  "market order",
  "post only",
  "reduce only",
  "close whole position",
  "flip",
  "margin edge",
  "immediate",
  "bad value",
  "place batch",
  "v2 batch",
  "v2 order",
  "v2 with timeInForce",
  "cancel own",
  "cancel foreign",
  "cancel dead",
  "cancel batch",
  "v2 cancel",
  "same key again",
  "key with another body",
  "twenty duplicates",
  "old clientOrderId",
  "amend",
  "amend badly",
  "cancel all",
  "dead-man switch",
  "expiring order",
  "lost reply",
  "fence race",
  "fence",
  "look up",
  "walk a listing",
  "read",
  "malformed",
  "name itself",
  "flood",
  "set leverage",
  "preview",
  "set auto-close",
  "cancel auto-close",
  "cancel twice",
  "change, then repeat"
] as const
export type Intent = (typeof intents)[number]

export const profiles = ["calm", "swarm", "crash", "network", "disk", "ruin"] as const
export type Profile = (typeof profiles)[number]

const baseWeights: Readonly<Record<Intent, number>> = {
  make: 22,
  take: 14,
  "market order": 5,
  "post only": 5,
  "reduce only": 5,
  "close whole position": 3,
  flip: 3,
  "margin edge": 4,
  immediate: 4,
  "bad value": 3,
  "place batch": 4,
  "v2 batch": 4,
  "v2 order": 5,
  "v2 with timeInForce": 1,
  "cancel own": 8,
  "cancel foreign": 1,
  "cancel dead": 2,
  "cancel batch": 2,
  "v2 cancel": 2,
  "same key again": 3,
  "key with another body": 1,
  "twenty duplicates": 0.5,
  "old clientOrderId": 1,
  amend: 8,
  "amend badly": 2,
  "cancel all": 1,
  "dead-man switch": 2,
  "expiring order": 4,
  "lost reply": 2,
  "fence race": 2,
  fence: 1,
  "look up": 2,
  "walk a listing": 2,
  read: 24,
  malformed: 3,
  "name itself": 1,
  flood: 0,
  "set leverage": 3,
  preview: 3,
  "set auto-close": 7,
  "cancel auto-close": 1,
  "cancel twice": 1,
  "change, then repeat": 1
}

const quiet: Omit<Options, "workload"> = {
  network: { requestLoss: 0, replyLoss: 0, duplication: 0, halfOpen: 0, maxDelayMs: 3 },
  disk: {
    errorRate: 0,
    noSpaceShare: 0,
    readErrorRate: 0,
    nameErrorRate: 0,
    hangRate: 0,
    misdirectRate: 0,
    maxCallMs: 1,
    tornRate: 0.9
  },
  process: { meanCrashMs: 0, crashInRecovery: 0, gracefulShare: 0, maxRestartMs: 200, preemption: 0 },
  clock: { meanFaultMs: 0, maxJumpMs: 0, freezeShare: 0 },
  listing: { crashShare: 0, blockRecords: 1024, growsAtMs: 0 },
  feed: {
    meanPauseMs: 10_000,
    moveBps: 30,
    repeatShare: 0,
    lateShare: 0,
    maxLateMs: 0,
    silenceShare: 0,
    maxSilenceMs: 0,
    oddShare: 0
  }
}

/** Nothing strikes and nobody acts by chance: for what is told in advance. The operator puts the markets; prices come from nobody else. */
export const still: Options = {
  network: quiet.network,
  disk: quiet.disk,
  process: quiet.process,
  clock: quiet.clock,
  workload: {
    traders: 0,
    meanPauseMs: 1_000,
    concurrency: 1,
    collateral: 0,
    timeoutMs: 3_000,
    meanOperatorMs: 0,
    indexMoveBps: 0,
    indexJumpShare: 0,
    haltShare: 0,
    statusShare: 0,
    weights: baseWeights
  }
}

/** A rate in (0, most], or 0: half of the seeds leave the fault off. */
const swarm = (random: SimRandom, most: number, present = 0.5): number => {
  const value = random.next() * most
  return random.next() < present ? value : 0
}

/** How often the first client floods its market, where it does. */
const floodWeight = 60

/** How often clients send batches, where most of them are long. */
const bulkWeight = 30

const workload = (random: SimRandom): Options["workload"] => {
  const weights = { ...baseWeights }
  for (const intent of intents) {
    const factor = random.pick([0, 0.3, 1, 1, 1, 2, 4])
    weights[intent] = baseWeights[intent] * factor
  }
  // Without makers nothing ever happens: they are always there.
  weights.make = Math.max(weights.make, 8)
  weights.take = Math.max(weights.take, 4)
  const bulkShare = random.split("bulk").pick([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9])
  if (bulkShare > 0.1) {
    weights["place batch"] = bulkWeight
    weights["v2 batch"] = bulkWeight
  }
  // One client puts as many orders into one market as it may have there, and more.
  weights.flood = random.chance(0.12) ? floodWeight : 0
  return {
    traders: random.between(3, 10),
    meanPauseMs: random.pick([20, 50, 100, 400]),
    concurrency: random.between(1, 4),
    collateral: random.pick([500, 5_000, 50_000, 1_000_000]),
    timeoutMs: random.pick([250, 1_000, 3_000]),
    meanOperatorMs: random.pick([0, 100, 400, 1_500]),
    indexMoveBps: random.pick([5, 30, 200]),
    indexJumpShare: swarm(random, 0.2),
    haltShare: swarm(random, 0.1),
    statusShare: swarm(random, 0.6),
    weights,
    bulkShare,
    autoCloseShare: random.split("auto-close").pick([0, 0.1, 0.3, 0.7]),
    volleyShare: random.split("volleys").pick([0, 0, 0.03, 0.1])
  }
}

/** A mean time between faults: so long that something gets done in between, or 0. */
const mean = (random: SimRandom, least: number, most: number): number => {
  const value = swarm(random, most - least)
  return value === 0 ? 0 : least + value
}

const listing = (random: SimRandom): NonNullable<Options["listing"]> => ({
  crashShare: swarm(random, 0.9, 0.7),
  crashTasks: random.split("crash tasks").pick([140, 140, 240]),
  blockRecords: random.pick([1, 2, 1024, 1024, 1024, 1024]),
  growsAtMs: random.pick([0, 500, 3_000, 10_000]),
  putsAtMs: random.split("puts").pick([0, 0, 0, 0, 200, 1_500])
})

/** How many runs ruin traders. */
const ruinShare = 0.7

/** What traders do at least who are to be ruined, each so often: they trade, and beyond their means. */
const ruinousWeights = { make: 60, take: 60, "market order": 20, "margin edge": 10, flip: 4 } as const

/** Most USDC that each begins with: what one wins of all others can be counted exactly. */
const mostToRuin = 400_000_000

/** How often they do anything else, of what traders do otherwise, and how often the operator keeps them from trading. */
const otherShare = 0.3

/** The workload of traders who are to be ruined. */
const ruined = (workload: Options["workload"], random: SimRandom): Options["workload"] => ({
  ...workload,
  weights: {
    ...Object.fromEntries(intents.map((intent) => [intent, workload.weights[intent] * otherShare])) as Record<Intent, number>,
    flood: 0,
    ...ruinousWeights
  },
  collateral: Math.min(workload.collateral, mostToRuin),
  // Marks are made once a second: what ruins traders takes many of them.
  meanPauseMs: random.pick([200, 800, 2_000]),
  meanOperatorMs: random.pick([200, 600]),
  indexMoveBps: random.pick([5, 30, workload.indexMoveBps]),
  haltShare: workload.haltShare * otherShare,
  statusShare: workload.statusShare * otherShare,
  ruin: {
    leverageShare: random.pick([0.3, 0.6, 0.9]),
    trendShare: random.pick([0.1, 0.3, 0.6]),
    trendBps: random.pick([100, 300, 800])
  }
})

/** In how many of the runs that are about ruin alone traps are laid: what belongs to the others keeps traps from catching anybody. */
const trapsShare = 0.4

/** Of both kinds, or only those for who has lost something where nothing lives. */
const traps = (random: SimRandom): Traps => ({
  meanPauseMs: random.pick([100, 300, 1_000]),
  fundingShare: random.pick([0, 0.3, 0.6, 0.9])
})

/** Positions whose funding one record settles where somebody is to fall meanwhile: mostly so few that it takes many records. */
const settledBetween: ReadonlyArray<number> = [1, 1, 1, 2, 3, 256]

/** How seldom the feed speaks at least where traps are laid: it would take the index back before the tick. */
const seldomMs = 5_000

/**
 * The run with traps in it: traders who hold much, in markets that trade on and stand where their operator puts them, on a clock that
 * goes on evenly.
 */
const trapped = (drawn: Drawn, random: SimRandom): Drawn => {
  const { ruin } = drawn.workload
  if (ruin === undefined || !random.chance(trapsShare)) return drawn
  return {
    ...drawn,
    workload: {
      ...drawn.workload,
      meanPauseMs: random.pick([800, 2_000]),
      collateral: random.pick([5_000, 50_000, 1_000_000]),
      statusShare: 0,
      haltShare: 0,
      ruin: { ...ruin, leverageShare: 0.9, traps: traps(random) }
    },
    feed: { ...drawn.feed, meanPauseMs: Math.max(seldomMs, drawn.feed.meanPauseMs) },
    edges: { ...drawn.edges, money: "ordinary", delistingShare: 0, meanStepMs: 0 },
    owners: { ...drawn.owners, meanStepMs: 0 },
    tickets: { ...drawn.tickets, meanStepMs: 0 },
    sessions: { ...drawn.sessions, markets: 0, later: false },
    bounds: { ...drawn.bounds, settledAtOnce: random.pick(settledBetween) }
  }
}

/** How prices of the feed go where traders are to be ruined. */
const ruinous = (random: SimRandom): NonNullable<SimIndexFeed.Behaviour["ruin"]> => ({
  trendBps: random.pick([0, 30, 100, 300]),
  gapShare: random.pick([0, 0.03, 0.15]),
  gapBps: random.pick([100, 600, 2_500])
})

const feed = (random: SimRandom): SimIndexFeed.Behaviour => ({
  meanPauseMs: random.pick([150, 1_000, 5_000, 30_000]),
  moveBps: random.pick([5, 30, 200]),
  repeatShare: swarm(random, 0.5),
  lateShare: swarm(random, 0.5),
  maxLateMs: random.pick([100, 2_000, 60_000]),
  silenceShare: swarm(random, 0.2),
  maxSilenceMs: random.pick([1_000, 20_000]),
  oddShare: swarm(random, 0.1, 0.3)
})

const edges = (random: SimRandom): Edges => ({
  fillsKept: random.pick([5, 30, 100, 131_072, 131_072, 131_072]),
  money: random.pick(["ordinary", "ordinary", "large", "small"] as const),
  parametersShare: swarm(random, 0.4),
  delistingShare: swarm(random.split("delisting"), 0.03, 0.6),
  announcingShare: swarm(random.split("announcing"), 0.2, 0.6),
  brinkShare: swarm(random, 0.5),
  meanStepMs: mean(random, 400, 4_000),
  dueAtStart: swarm(random, 1),
  againUnderHalt: random.next(),
  retention: retention(random.split("retention"))
})

/** What an operator sets the retention to: the shortest and little more, so that a clock that jumps takes tables over, and longer ones. */
export const retentionsMs: ReadonlyArray<number> = [10, 10, 11, 30, 60, 24 * 60, 36 * 60].map((minutes) => minutes * 60_000)

const retention = (random: SimRandom): NonNullable<Edges["retention"]> => ({
  openingMs: random.chance(0.5) ? random.pick(retentionsMs) : 0,
  share: swarm(random, 0.3)
})

/** In how many runs markets trade in sessions. */
const sessionsShare = 0.5

/** Zones on either side of that of the epoch, and one of half an hour. */
const zones = ["America/New_York", "Asia/Kolkata", "Pacific/Auckland", "UTC"] as const

/** In how many runs there are owners: the others are what they would be without any. */
const ownersShare = 0.7

/** Few calls, so that a run with owners takes hardly longer than one without. */
const owners = (random: SimRandom): Owners => ({
  owners: random.chance(ownersShare) ? random.pick([1, 2, 2]) : 0,
  calls: random.pick([30, 45, 60, 90]),
  meanPauseMs: random.pick([20, 60, 200]),
  meanStepMs: random.pick([0, 0, 0, 1_000, 4_000]),
  bent: random.split("bent").pick<OwnersBent>(["nothing", "nothing", "nothing", "clone signs in", "remove passkey", "let an agent",
    "revoke a key", "sign in"])
})

const ticketsShare = 0.7

const tickets = (random: SimRandom): Tickets => ({
  calls: random.chance(ticketsShare) ? random.pick([15, 25, 40]) : 0,
  meanPauseMs: random.pick([20, 60, 200]),
  meanStepMs: random.pick([0, 0, 500, 2_000])
})

const streamsShare = 0.5
/** How often clients of the stream trade, where there are any. */
const tradingShare = 0.7

const streams = (random: SimRandom): Streams => {
  const drawn: Streams = {
    clients: random.chance(streamsShare) ? random.pick([1, 1, 2]) : 0,
    cutShare: random.pick([0, 0.5, 0.9]),
    meanLineMs: random.pick([500, 3_000, 20_000]),
    slowShare: random.pick([0, 0.3, 0.6]),
    behindBytes: random.pick([500, 3_000]),
    bufferedBytes: random.pick([20_000, 200_000]),
    keptUpdates: random.pick([2, 8, 64]),
    silenceMs: 20_000
  }
  if (drawn.clients === 0 || !random.chance(tradingShare)) return drawn
  // Two of them, so that one goes while another stays.
  return { ...drawn, clients: 2, trading: { meanPauseMs: random.pick([100, 400, 1_500]) } }
}

/** In how many runs clients of the stream, if there are any, are odd as well. */
const oddShare = 0.6

const odd = (random: SimRandom): Pick<Streams, "odd"> =>
  random.chance(oddShare)
    ? {
      odd: {
        meanPauseMs: random.pick([150, 500, 1_500]),
        subscriptions: random.pick([128, 128, 14]),
        orders: random.pick([64, 64, 1, 2]),
        messagesPerSecond: random.pick([100, 100, 40])
      }
    }
    : {}

/** In how many runs what is told again of accounts ends within the run, as little as bounds that are met from both sides. */
const toldAgainShare = 0.4

const toldAgain = (random: SimRandom): Pick<Streams, "toldAgain"> =>
  random.chance(toldAgainShare) ? { toldAgain: { records: random.pick([3, 40, 400]), ms: random.pick([1, 500, 5_000, 60_000]) } } : {}

/**
 * In how many runs what was missed comes in many pieces. None is so small that a run's records take hundreds of them: each may begin
 * at a snapshot again, on a slow disk.
 */
const missedShare = 0.7

const missed = (random: SimRandom): Pick<Streams, "missed"> =>
  random.chance(missedShare)
    ? {
      missed: {
        pieceText: random.pick([1_500, 5_000, 50_000]),
        pieceRecords: random.pick([15, 60, 500]),
        pageRecords: random.pick([1, 20, 500]),
        turnRecords: random.pick([7, 30, 200]),
        nearRecords: random.pick([10, 200]),
        standingMs: random.pick([0, 100, 5_000])
      }
    }
    : {}

/** In how many runs there is a follower, which runs every record once more: so few that a series of runs takes hardly longer. */
const followerShare = 0.25

const follower = (random: SimRandom): Follower => ({
  isThere: random.chance(followerShare),
  snapshotEveryRecords: random.pick([40, 150, 400]),
  meanCrashMs: random.pick([0, 500, 3_000]),
  restShare: random.pick([0, 0.05, 0.5]),
  maxRestMs: random.pick([5, 100, 1_000])
})

const readings = (random: SimRandom): Readings => ({
  isThere: random.chance(0.5),
  meanCrashMs: random.pick([0, 500, 3_000])
})

const favoritesShare = 0.4

const favorites = (random: SimRandom): Favorites => ({
  calls: random.chance(favoritesShare) ? random.pick([10, 20]) : 0,
  meanPauseMs: random.pick([20, 60, 200])
})

const publisherShare = 0.3

const publisher = (random: SimRandom): Publisher => ({
  calls: random.chance(publisherShare) ? random.pick([15, 30, 60]) : 0,
  meanPauseMs: random.pick([30, 150, 600])
})

const standingsShare = 0.6

/** Agents' calls are a trader's: few, so that a run with them takes hardly longer than one without. */
const standings = (random: SimRandom): Standings => {
  const present = random.chance(standingsShare)
  return {
    calls: present ? random.pick([10, 15, 25]) : 0,
    agentCalls: present ? random.pick([15, 30, 50]) : 0,
    meanPauseMs: random.pick([20, 60, 200]),
    affiliates: random.chance(0.6),
    workloads: random.chance(0.8)
  }
}

const oversightShare = 0.6

const oversight = (random: SimRandom): Oversight => ({
  calls: random.chance(oversightShare) ? random.pick([15, 25, 40]) : 0,
  meanPauseMs: random.pick([20, 60, 200]),
  ledgerCalls: random.pick([0, 20, 40, 40]),
  ledgerPauseMs: random.pick([100, 300, 600])
})

const misfitsShare = 0.6

const misfits = (random: SimRandom): Misfits => ({
  calls: random.chance(misfitsShare) ? random.pick([20, 40, 60]) : 0,
  meanPauseMs: random.pick([20, 60, 200])
})

/** In how many runs there is a ledger: the others are what they would be without any. */
const fundsShare = 0.35
/** What one record takes that holds a prepared transaction, bytes. */
const preparedBytes = 48 * 1024

const faultWeights = (random: SimRandom): SimBank.Behaviour["weights"] => {
  const weight = (): number => random.pick([0, 0, 1, 1, 4])
  return {
    answer_late: weight(),
    drop_request: weight(),
    drop_answer: weight(),
    complete_twice: weight(),
    complete_after: weight(),
    complete_unknown: weight(),
    refuse: random.pick([0, 0, 0.5]),
    refuse_since_first_won: weight() * 2,
    refuse_indefinite: weight(),
    in_flight: weight(),
    other_hash: random.pick([0, 0, 0.5]),
    other_bytes: random.pick([0, 0, 0.5]),
    restart: weight(),
    pass_maximum: weight(),
    // What the ledger has forgotten only an operator can set right: few runs come to it.
    prune: random.pick([0, 0, 0, 0, 0.2])
  }
}

/** In one of four runs they lag by seconds, and by more where they are made anew. */
const histories = (random: SimRandom): NonNullable<Options["histories"]> => {
  const meanDamagedMs = random.split("histories").pick([0, 0, 0, 5_000, 20_000])
  return random.split("lag").chance(0.25) ? { meanDamagedMs, pauseMs: random.split("lag by").pick([1_000, 4_000]) } : { meanDamagedMs }
}

/** In how many runs the lock is taken away: few, since the process ends of it as of any other crash. */
const lockShare = 0.14

const lock = (random: SimRandom): Pick<Options, "lock"> =>
  random.chance(lockShare)
    ? {
      lock: {
        meanTakenMs: random.pick([1_000, 3_000, 8_000]),
        strangerShare: random.pick([0, 0.3, 1]),
        maxHeldMs: random.pick([100, 3_000])
      }
    }
    : {}

/** How few transfers that are over a venue keeps, so that their histories go on where its memory ends; as many as a real one. */
const endedKept: ReadonlyArray<NonNullable<Funds["kept"]>> = [
  { endedOfAccount: 1, endedInAll: 100 },
  { endedOfAccount: 3, endedInAll: 4 },
  { endedOfAccount: 1_000, endedInAll: 2 },
  { endedOfAccount: 1_000, endedInAll: 1_000_000 }
]

/** How many withdrawals an account may have under way: no owner comes to as many as a real venue's. */
const withdrawalsAtOnce: ReadonlyArray<number> = [8, 8, 1, 2]

/** How many executions of a step it keeps: no step is executed as often as a real venue's. */
const submissionsKept: ReadonlyArray<number> = [64, 64, 1, 2]

const fundsBents: ReadonlyArray<FundsBent> = ["nothing", "think again", "think again", "think again", "remove a passkey",
  "answer by a copy", "change party", "pay out", "pay out", "pay out"]

const funds = (random: SimRandom): Funds | undefined =>
  random.chance(fundsShare)
    ? {
      owners: random.pick([1, 1, 2]),
      calls: random.pick([90, 120, 160]),
      meanPauseMs: random.pick([10, 30, 100]),
      days: random.pick([0, 0, 1, 2]),
      kept: {
        ...random.split("kept").pick(endedKept),
        withdrawalsOfAccount: random.split("withdrawals").pick(withdrawalsAtOnce),
        submissions: random.split("submissions").pick(submissionsKept)
      },
      bent: random.split("bent").pick(fundsBents),
      bank: {
        faultRate: random.pick([0, 0.05, 0.1, 0.15, 0.3]),
        weights: faultWeights(random),
        maxDelayMs: random.pick([1, 5, 40]),
        meanLeapMs: random.pick([0, 2_000, 8_000]),
        perWithdrawalAtoms: random.pick([1_000_000_000_000, 1_000_000_000_000, 1_000_000_000_000, 1_500_000]),
        partShare: random.split("parts").pick([0, 0.1, 0.3]),
        strangerShare: random.split("strangers").pick([0, 0, 0, 0.15, 0.5]),
        meanSentMs: random.split("sent").pick([0, 0, 500, 4_000]),
        hasFiner: random.split("finer").chance(0.15)
      }
    }
    : undefined

/** Blocks and segments with room for what the ledger prepares. */
const withPrepared = (bounds: Bounds): Bounds => {
  const maxBlockBytes = bounds.maxBlockBytes + preparedBytes
  return { ...bounds, maxBlockBytes, segmentBytes: Math.max(bounds.segmentBytes, Math.ceil((4 * maxBlockBytes) / 1024) * 1024) }
}

const sessions = (random: SimRandom): Sessions => {
  const present = random.chance(sessionsShare)
  const dates = random.split("dates").pick<SessionDates>(["ordinary", "shortened", "shortened", "until the clocks change"])
  return {
    dates,
    markets: present ? random.pick([1, 1, 2, 3]) : 0,
    later: present && random.chance(0.5),
    timeZone: random.pick(zones),
    maxOpenMs: random.pick([3_000, 10_000, 40_000]),
    maxClosedMs: random.pick([1_000, 4_000, 10_000]),
    cutoffMs: random.pick([0, 1_000, 1_000, 3_000, 3_600_000])
  }
}

/** The workload where money is drawn at its edge. */
const atEdge = (workload: Options["workload"], { money }: Edges): Options["workload"] =>
  money === "ordinary" ? workload : { ...workload, collateral: edgeCollateral[money] }

/** What one record may take of a block beyond where that counts as full, bytes. */
const largestRecordBytes = 8 * 1024

/** Whether a run fills its table of orders or of keys, which then stays full for a day. */
export const isTight = ({ idempotencyKeys, orders }: Bounds): boolean => idempotencyKeys < roomy.idempotencyKeys || orders < roomy.orders

/** How many runs have little room for orders, and how many for keys. */
const tightShare = 0.14

const inboxes: ReadonlyArray<Bounds["inbox"]> = [
  { capacity: 3, reserved: 1 },
  { capacity: 8, reserved: 3 },
  { capacity: 8, reserved: 6 },
  { capacity: 21, reserved: 5 },
  roomy.inbox,
  roomy.inbox
]

/** What one record does for liquidations: so little that something is left, or a venue's own. */
const liquidated: ReadonlyArray<Liquidations.Bounds> = [
  { ...Liquidations.venueBounds, looks: 1, deleveraged: 1, unwound: 1, settled: 1, places: 1 },
  { ...Liquidations.venueBounds, looks: 2, met: 2, deleveraged: 256, unwound: 1, settled: 2 },
  { ...Liquidations.venueBounds, deleveraged: 2, unwound: 2, settled: 256, places: 3 },
  Liquidations.venueBounds,
  Liquidations.venueBounds
]

const triggered: ReadonlyArray<AutoCloses.Bounds> = [
  { worked: 1, orders: 32, met: 256 },
  { worked: 256, orders: 1, met: 256 },
  { worked: 2, orders: 32, met: 1 },
  AutoCloses.venueBounds,
  AutoCloses.venueBounds
]

/** So few that an owner comes to each of them, or a venue's own. */
const identities: ReadonlyArray<Partial<Identities.Bounds>> = [
  { passkeys: 2, sessions: 2, keys: 1, endedKeys: 2, endedKeysMs: 3_000, events: 5 },
  { passkeys: 3, sessions: 3, keys: 2, endedKeys: 0, endedKeysMs: 86_400_000, events: 20 },
  Identities.venueBounds,
  Identities.venueBounds
]

/** So small that tables grow by and by within a run, and few open orders have a list; or a venue's own. */
const growths: ReadonlyArray<Growth> = [
  { rows: 2, stepwiseFrom: 2, listedFrom: 2 },
  { rows: 4, stepwiseFrom: 8, listedFrom: 4 },
  { rows: 8, stepwiseFrom: 8, listedFrom: 6 },
  usualGrowth
]

/** So little room for what waits to be fetched, and for tickets, that it is met, or a venue's own. */
const identityRooms: ReadonlyArray<Partial<Identities.Bounds>> = [
  { grants: 2, grantsOfAccount: 1, families: 8 },
  { grants: 3, grantsOfAccount: 2, families: 5 },
  {},
  {},
  {}
]

/** So few challenges and agents that some make room for others of their address, all owners and their agents having one; or a venue's own. */
const ofAddresses: ReadonlyArray<OfAddress> = [
  { challenges: 3, agents: 2 },
  { challenges: 6, agents: 4 },
  { challenges: 64, agents: 16 },
  { challenges: 64, agents: 16 }
]

const bounds = (random: SimRandom): Bounds => {
  const fullBytes = random.pick([600, 1_024, 4_096, 24 * 1024])
  const maxBlockBytes = fullBytes + largestRecordBytes
  // A quarter of a segment is kept for what takes risk away: it holds a block, as it does in a venue.
  const segmentBytes = Math.max(random.pick([24, 32, 64, 256]), Math.ceil(4 * maxBlockBytes / 1024)) * 1024
  return {
    orders: random.chance(tightShare) ? random.pick([30, 30, 90]) : roomy.orders,
    idempotencyKeys: random.chance(tightShare) ? random.pick([64, 150]) : roomy.idempotencyKeys,
    accountParts: random.split("parts").pick([0, 2, 3, 8]),
    endedAtOnce: random.split("ended").pick([1, 3, 8, 128]),
    metAtOnce: random.split("met").pick([2, 5, 64, 1]),
    clearedAtOnce: random.split("cleared").pick([1, 1, 3, 64]),
    marketsInOne: random.split("breadth").pick([1, 2, 8, 8]),
    countedAtOnce: random.split("counted").pick([1, 3, 256, 256]),
    examinedAtOnce: random.split("examined").pick([1, 2, 256, 256]),
    marksKept: random.split("marks kept").pick([2, 5, 600, 600]),
    fundingsKept: random.split("fundings kept").pick([1, 3, 720, 720]),
    forgottenAtOnce: random.split("forgotten").pick([1, 3, 64, 64]),
    settledAtOnce: random.split("settled").pick([1, 3, 256, 256]),
    noticeMs: random.split("notice").pick([0, 0, 500, 2_000, 86_400_000]),
    finalMinutes: random.split("final").pick([0, 1, 2, 30]),
    liquidatedAtOnce: { ...random.split("liquidated").pick(liquidated), ranked: random.split("ranked").pick([1, 2, 256, 256]) },
    triggeredAtOnce: random.split("triggered").pick(triggered),
    brackets: random.split("brackets").pick([1, 2, 20, 20, 20]),
    identity: {
      ...random.split("identity").pick(identities),
      ...random.split("identity room").pick(identityRooms),
      familyParts: random.split("family parts").pick([0, 0, 2, 4]),
      frequentEvents: random.split("frequent").pick([1, 2, 16])
    },
    growth: random.split("growth").pick(growths),
    ofAddress: random.split("of address").pick(ofAddresses),
    ...(random.split("snapshot reads").chance(0.25) ? { snapshotReadBytes: 32 * 1024 } : {}),
    snapshotEveryRecords: random.split("snapshot every").pick([20, 60, 400, 400]),
    ...(random.split("recent").chance(0.25) ? { recentBytes: 3 * 1024 } : {}),
    inbox: random.pick(inboxes),
    fullBytes,
    maxBlockBytes,
    segmentBytes
  }
}

/** As many requests as come. What an address that signs in is told is another limit all the same. */
export const unlimited: Limits = { perKey: 1e9, perAddress: 1e9, signInsPerAddress: 9e8, windowMs: 60_000 }

/** In how many runs clients meet their limits. */
const limitedShare = 0.2

/** So few that clients meet them, in windows that end while a run lasts. */
const few: ReadonlyArray<Limits> = [
  { perKey: 8, perAddress: 20, windowMs: 1_000 },
  { perKey: 20, perAddress: 40, windowMs: 3_000 },
  { perKey: 30, perAddress: 60, windowMs: 10_000 },
  { perKey: 60, perAddress: 120, windowMs: 60_000 }
]

/** How much of what an address may do it may do to sign in: it is never as much as a key may. */
const signInShares = [0.3, 1, 2]

const limits = (random: SimRandom): Limits => {
  if (!random.chance(limitedShare)) return unlimited
  const drawn = random.pick(few)
  return { ...drawn, signInsPerAddress: drawn.perAddress * random.split("sign-ins").pick(signInShares) }
}

/** The largest limit that somebody in a hurry goes beyond: each time he makes four times as many calls. */
const mostRushed = 20

const rushes = (random: SimRandom, { perKey }: Limits): Rushes => ({
  rushes: perKey > mostRushed ? 0 : random.pick([1, 2, 2]),
  meanPauseMs: random.pick([300, 1_000])
})

const probe = (random: SimRandom): Probe => ({ calls: random.pick([15, 30]), meanPauseMs: random.pick([100, 400, 1_500]) })

/** How many requests are let in, who comes too often, and who asks whether any are taken. */
const limited = (random: SimRandom): Pick<Drawn, "limits" | "probe" | "rushes"> => {
  const drawn = limits(random.split("limits"))
  return { limits: drawn, probe: probe(random.split("probe")), rushes: rushes(random.split("rushes"), drawn) }
}

/** All but what is drawn beside the rest: money on a ledger, and the lock that is taken away. */
type Drawn = Required<Omit<Options, "funds" | "lock">>

/** The profiles in which the lock may be taken away: the others spare the disk, or the process. */
const mayLoseLock: ReadonlySet<Profile> = new Set(["swarm", "crash", "disk"])

/** A clock that jumps this far takes the venue past the day for which keys and orders are remembered. */
const longJumpMs = 30 * 3_600_000

const disk = (random: SimRandom): Options["disk"] => ({
  errorRate: swarm(random, random.pick([0.001, 0.003, 0.01]), 0.3),
  noSpaceShare: random.next(),
  readErrorRate: swarm(random, 0.02, 0.2),
  nameErrorRate: swarm(random, 0.02, 0.2),
  hangRate: swarm(random, 0.002, 0.25),
  misdirectRate: swarm(random, 0.3, 0.3),
  maxCallMs: random.pick([0.5, 3, 20]),
  tornRate: 0.8 + 0.2 * random.next(),
  seenEarlyRate: random.split("seen early").pick([0, 0.5, 1]),
  failsAtEndsShare: random.split("failing ends").pick([0, 0, 0.3])
})

const clock = (random: SimRandom): Options["clock"] => ({
  meanFaultMs: mean(random, 200, 4_000),
  maxJumpMs: random.pick([1_000, 60_000, 3_600_000, longJumpMs]),
  freezeShare: random.next()
})

/** About how long clients take for an order of a table that they fill. */
const fillingMs = 200

/** How many days pass while clients trade: a table that is full has something to forget only behind its retention. */
const daysOf = (drawn: Bounds, random: SimRandom): number => isTight(drawn) ? random.pick([0, 1, 2]) : 0

/** Draws a run's options. `random` is the generator named `options`. */
export const draw = (profile: Profile, random: SimRandom): Options => {
  const drawnEdges = edges(random.split("edges"))
  const plain: Drawn = {
    network: {
      requestLoss: swarm(random, random.pick([0.05, 0.2, 0.3])),
      replyLoss: swarm(random, random.pick([0.05, 0.2, 0.3])),
      duplication: swarm(random, random.pick([0.1, 0.3, 0.5])),
      halfOpen: swarm(random, 0.05),
      maxDelayMs: random.pick([1, 3, 20, 300])
    },
    disk: disk(random),
    process: {
      meanCrashMs: mean(random, random.pick([300, 1_000, 1_000]), 6_000),
      meanStopMs: random.split("stops").pick([0, 5_000]),
      crashInRecovery: swarm(random, 0.4),
      gracefulShare: swarm(random, 0.5),
      maxRestartMs: random.pick([10, 200, 2_000]),
      preemption: swarm(random, 0.02)
    },
    clock: clock(random),
    workload: atEdge(workload(random), drawnEdges),
    listing: listing(random),
    feed: feed(random),
    takeover: { afterStop: swarm(random, 1, 0.8), afterCrash: swarm(random, 0.3) },
    room: { meanFullMs: mean(random, 500, 8_000), maxFullMs: random.pick([500, 5_000, 60_000]) },
    edges: drawnEdges,
    sessions: sessions(random.split("sessions")),
    bounds: bounds(random),
    ...limited(random),
    owners: owners(random.split("owners")),
    tickets: tickets(random.split("tickets")),
    streams: {
      ...streams(random.split("streams")),
      ...toldAgain(random.split("told again")),
      ...missed(random.split("missed")),
      ...odd(random.split("odd"))
    },
    favorites: favorites(random.split("favorites")),
    publisher: publisher(random.split("publisher")),
    follower: follower(random.split("follower")),
    readings: readings(random.split("readings")),
    histories: histories(random),
    standings: standings(random.split("standings")),
    oversight: oversight(random.split("oversight")),
    misfits: misfits(random.split("misfits"))
  }
  const drawn: Drawn = { ...plain, edges: { ...drawnEdges, days: daysOf(plain.bounds, random.split("days")) } }
  const ruins = random.split("ruin")
  const ruining = profile === "ruin" || ruins.chance(ruinShare)
    ? { ...drawn, workload: ruined(drawn.workload, ruins), feed: { ...drawn.feed, ruin: ruinous(ruins) } }
    : drawn
  // That the next segment finds no room shows while half of one is left: of a small one that is filled before it shows.
  const { maxBlockBytes, segmentBytes } = roomy
  const sized = drawn.room.meanFullMs === 0 ? ruining : { ...ruining, bounds: { ...drawn.bounds, maxBlockBytes, segmentBytes } }
  // What an operator does is remembered for a day: in a table that is full, its own small part would be used up.
  const calms = drawn.bounds.idempotencyKeys < roomy.idempotencyKeys
  const isPast = drawn.bounds.orders < roomy.orders && random.split("past").chance(0.5)
  const fitting = calms
    ? {
      ...sized,
      workload: { ...ruining.workload, meanOperatorMs: 0 },
      listing: { ...drawn.listing, growsAtMs: 0 },
      standings: { ...drawn.standings, calls: 0 },
      oversight: { ...drawn.oversight, calls: 0, ledgerCalls: 0 },
      rushes: { ...drawn.rushes, rushes: 0 }
    }
    : sized
  // A table that is full finds room in what it forgets only where a day passes while it is, and no record forgets all of it.
  const passing = { meanFaultMs: fillingMs * drawn.bounds.orders, maxJumpMs: longJumpMs, freezeShare: 0 }
  const past = { ...fitting, clock: passing, bounds: { ...fitting.bounds, forgottenAtOnce: 1 } }
  const profiled = readable(ofProfile(profile, isPast ? past : fitting, random))
  const options = mayLoseLock.has(profile) ? { ...profiled, ...lock(random.split("locks")) } : profiled
  const money = profile === "calm" ? undefined : funds(random.split("funds"))
  if (money === undefined) return options
  // What a ledger comes to is rare enough: in half of the runs that have one nobody is in its way.
  const others = random.split("undisturbed").chance(0.5) ? {} : { misfits: { calls: 0, meanPauseMs: 60 } }
  return { ...options, ...others, funds: money, bounds: withPrepared(options.bounds ?? roomy) }
}

/** How often reads fail where each start has hundreds of them to do. */
const fewUnreadable = 0.0005

/** A start that reads its snapshots in small pieces would hardly ever end where reads fail as often as elsewhere. */
const readable = (options: Options): Options => {
  const { bounds, disk } = options
  if (bounds?.snapshotReadBytes === undefined) return options
  return { ...options, disk: { ...disk, readErrorRate: Math.min(disk.readErrorRate, fewUnreadable) } }
}

const ofProfile = (profile: Profile, drawn: Drawn, random: SimRandom): Options => {
  switch (profile) {
    case "swarm":
      return drawn
    case "calm":
      return {
        ...quiet,
        edges: {
          ...drawn.edges,
          money: "ordinary",
          parametersShare: 0,
          delistingShare: 0,
          announcingShare: 0,
          brinkShare: 0,
          meanStepMs: 0,
          dueAtStart: 0
        },
        workload: {
          ...drawn.workload,
          haltShare: 0,
          statusShare: 0,
          indexJumpShare: 0,
          collateral: 1_000_000,
          weights: baseWeights
        }
      }
    case "crash":
      return {
        ...drawn,
        network: quiet.network,
        disk: { ...drawn.disk, errorRate: 0, readErrorRate: 0, nameErrorRate: 0, hangRate: 0, failsAtEndsShare: 0 },
        process: { ...drawn.process, meanCrashMs: 600 + random.below(2_000), crashInRecovery: 0.3, gracefulShare: 0.2 }
      }
    case "network":
      return {
        ...quiet,
        listing: drawn.listing,
        feed: drawn.feed,
        edges: drawn.edges,
        owners: drawn.owners,
        tickets: drawn.tickets,
        streams: drawn.streams,
        favorites: drawn.favorites,
        standings: drawn.standings,
        oversight: drawn.oversight,
        misfits: drawn.misfits,
        network: { requestLoss: 0.15, replyLoss: 0.2, duplication: 0.3, halfOpen: 0.05, maxDelayMs: drawn.network.maxDelayMs },
        workload: drawn.workload
      }
    case "ruin":
      return trapped({
        ...drawn,
        network: quiet.network,
        disk: quiet.disk,
        room: { ...drawn.room, meanFullMs: 0 },
        clock: quiet.clock,
        process: { ...drawn.process, meanCrashMs: drawn.process.meanCrashMs * 5 },
        workload: { ...drawn.workload, meanOperatorMs: Math.max(100, drawn.workload.meanOperatorMs) },
        edges: {
          ...drawn.edges,
          delistingShare: Math.max(0.03, drawn.edges.delistingShare ?? 0),
          announcingShare: Math.max(0.05, drawn.edges.announcingShare ?? 0)
        },
        bounds: { ...drawn.bounds, orders: roomy.orders, idempotencyKeys: roomy.idempotencyKeys }
      }, random.split("traps"))
    case "disk":
      return {
        ...drawn,
        network: quiet.network,
        room: { ...drawn.room, meanFullMs: Math.max(drawn.room.meanFullMs, 1_000) },
        disk: { ...drawn.disk, errorRate: 0.002 + 0.01 * random.next(), hangRate: 0.001 * random.next(), misdirectRate: random.next() }
      }
  }
}
