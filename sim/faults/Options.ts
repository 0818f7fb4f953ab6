/**
 * Everything that is drawn before the first step of a run: which faults there are and how often, how busy and how odd the clients are.
 * Each seed leaves some faults off and turns others up ("swarm").
 *
 * Members were added over time, and kept runs from before lack the later ones. Where a comment says "absent", it gives the value that such
 * a run had.
 */
import { type Growth, usualGrowth } from "../../src/engine/Columns.js"
import type { OfAddress } from "../../src/identity/Identity.js"
import { type Bounds as Missed, usualBounds } from "../../src/streams/Replay.js"
import * as AutoCloses from "../model/NaiveAutoClose.js"
import * as Identities from "../model/NaiveIdentity.js"
import * as Liquidations from "../model/NaiveLiquidation.js"
import type * as SimBank from "../world/SimBank.js"
import type * as SimFollower from "../world/SimFollower.js"
import type * as SimIndexFeed from "../world/SimIndexFeed.js"
import type * as SimProxies from "../world/SimProxies.js"
import type { SimRandom } from "../world/SimRandom.js"
import type * as SimWire from "../world/SimWire.js"
import { type Limits, listedOrigin, type ToldAgain } from "../properties/Observation.js"

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
    /** Share of failing calls that report a full disk. */
    readonly noSpaceShare: number
    /** Whether a lack of room is a used-up quota, which the system tells by a code of its own. Absent: it is a full disk. */
    readonly isQuota?: boolean
    /** A read, or an operation on names, fails. */
    readonly readErrorRate: number
    readonly nameErrorRate: number
    /** A write or sync never ends; a supervisor that sees no progress kills the process then. */
    readonly hangRate: number
    /** A write of a snapshot lands elsewhere in its file and reports success. (Of the journal: once, at the end of every other run.) */
    readonly misdirectRate: number
    /** Longest duration of an operation. */
    readonly maxCallMs: number
    /** On a crash: probability that an unsynced write is torn; otherwise it arrives or not as a whole. */
    readonly tornRate: number
    /** Share of starts and graceful stops in which one of the first writes to the journal fails. Absent: only by chance. */
    readonly failsAtEndsShare?: number
    /** Probability that reads see a durable write before it is durable. Absent: never. */
    readonly seenEarlyRate?: number
  }
  readonly process: {
    /** Mean time between crashes; 0 for none. */
    readonly meanCrashMs: number
    /** Mean time between graceful stops, in addition to those that replace a crash. Absent: none. */
    readonly meanStopMs?: number
    /** Probability that a start is crashed while it recovers. */
    readonly crashInRecovery: number
    /** Probability that a due crash is a requested stop (SIGTERM) instead. */
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
    /** Calls of one trader in progress at once. */
    readonly concurrency: number
    /** USDC each account starts with. */
    readonly collateral: number
    readonly timeoutMs: number
    /** Mean time between operator acts; 0 for none. */
    readonly meanOperatorMs: number
    /** The size of an ordinary index move in bps, and how often a move is a jump beyond the band. */
    readonly indexMoveBps: number
    readonly indexJumpShare: number
    readonly haltShare: number
    readonly statusShare: number
    readonly weights: Readonly<Record<Intent, number>>
    /** Share of batches that have the maximum length. Absent: a tenth. */
    readonly bulkShare?: number
    /** Share of orders that carry triggers to close what they open. Absent: none. */
    readonly autoCloseShare?: number
    /** How often a trader sends several commands at once, at the same time as others do. Absent: never. */
    readonly volleyShare?: number
    /** How traders are ruined. Absent: not on purpose. */
    readonly ruin?: {
      /**
       * Share of orders for a large part of the most that the trader could carry, and share of taking orders for nearly all that is left
       * of it.
       */
      readonly leverageShare: number
      /** How often an operator's move of an index continues in the direction of the previous one, and how far, bps. */
      readonly trendShare: number
      readonly trendBps: number
      /** Traps that an operator lays for traders. Absent: none. */
      readonly traps?: Traps
    }
  }
  /** Owners who sign in with passkeys, and their agents. Absent: none. */
  readonly owners?: Owners
  /** Clients with realtime tickets. Absent: none. */
  readonly tickets?: Tickets
  /** Clients of the streams. Absent: none. */
  readonly streams?: Streams
  /** Accounts with favorite markets. Absent: none. */
  readonly favorites?: Favorites
  /** Absent: nobody streams index prices. */
  readonly publisher?: Publisher
  /** An operator's credits and flags of accounts, and agents who trade. Absent: none. */
  readonly standings?: Standings
  /** An operator who looks after keys, the ledger and the markets. Absent: none. */
  readonly oversight?: Oversight
  /** A client that sends malformed variants of other clients' requests. Absent: none. */
  readonly misfits?: Misfits
  /** A client that asks for the venue's readiness. Absent: none. */
  readonly probe?: Probe
  /** A client in a hurry, where requests are limited. Absent: none. */
  readonly rushes?: Rushes
  /** Money on a ledger. Absent where the venue has none. */
  readonly funds?: Funds
  /** The markets file. Absent: the run's operator puts the markets, no feed runs, and nothing fails until the workload begins. */
  readonly listing?: {
    /** Probability that a start is crashed before the venue has been ready once. */
    readonly crashShare: number
    /** Number of tasks within which a start that is crashed crashes. Absent: so few that it has put hardly any market by then. */
    readonly crashTasks?: number
    /** Most records of one block: the smaller, the more points at which a start can be cut off. */
    readonly blockRecords: number
    /** When a market is added to the file, effective from the next start; 0 for never. */
    readonly growsAtMs: number
    /** When the operator puts that market and leaves it a draft; 0 for never. Absent: 0. */
    readonly putsAtMs?: number
  }
  /** Upgrades to another rules version. Absent: one version for the whole run. All versions decide alike; only their number differs. */
  readonly takeover?: {
    /** Probability that the start after a graceful stop is one of the next version, which takes over. */
    readonly afterStop: number
    /**
     * Probability that the start after a crash is one of the next version: commands that the previous version left undecided are then
     * refused.
     */
    readonly afterCrash: number
  }
  /** The room on the disk. Absent: it is never full. */
  readonly room?: {
    /** Mean time between moments at which the disk becomes full; 0 for none. */
    readonly meanFullMs: number
    /** Longest time for which it stays full. */
    readonly maxFullMs: number
  }
  /**
   * Jumps of the clock from the end of one funding interval to that of the next, faster than positions are settled, and the mean time between
   * such series. Absent, as in most runs: none.
   */
  readonly intervals?: {
    readonly meanPauseMs: number
  }
  /** The journal's lock. Absent, as in most runs: nobody touches its file. */
  readonly lock?: {
    /** Mean time between moments in which its file is removed under the process. */
    readonly meanTakenMs: number
    /** How often another process takes the lock of a file in its place, and the longest time for which it holds it. */
    readonly strangerShare: number
    readonly maxHeldMs: number
  }
  /** The histories' database. Absent: it is never damaged under a process. */
  readonly histories?: {
    /** Mean time between such damages; 0 for none. */
    readonly meanDamagedMs: number
    /** How long the histories pause after each batch, so that they lag. Absent: as long as in a real venue. */
    readonly pauseMs?: number
  }
  /** The index feed; present where the markets file is. */
  readonly feed?: SimIndexFeed.Behaviour
  /** Markets that trade in sessions. Absent: none. */
  readonly sessions?: Sessions
  /** Values drawn at their limits. Absent: none. */
  readonly edges?: Edges
  /** The process that follows the writer and takes its snapshots. Absent: the writer takes them. */
  readonly follower?: Follower
  /** Reads of the journal for clients by a thread of its own. Absent: it is read beside the writer. */
  readonly readings?: Readings
  /** The venue's capacities. Absent: `roomy`. */
  readonly bounds?: Bounds
  /** Request limits. Absent: none. */
  readonly limits?: Limits
  /** Sites whose pages may call the venue from a browser. Absent: none, and no request comes from a page. */
  readonly origins?: ReadonlyArray<string>
  /** Connections on which requests travel as bytes. Absent: requests have no connections. */
  readonly wire?: SimWire.Behaviour
  /** The venue's own proxies, and what clients claim to be. Absent: there are none, and nobody claims an address. */
  readonly proxies?: SimProxies.Behaviour
}

/** Price moves timed so that an account falls under its margin at a moment, or in a state, that chance rarely meets. */
export interface Traps {
  /** Mean time between two traps, ms. */
  readonly meanPauseMs: number
  /**
   * Share of traps at the end of a funding interval, where every market pays often; the others are for accounts with a loss in a market
   * that is not live.
   */
  readonly fundingShare: number
}

/** Whether there is a follower, how it fails, and how often it takes a snapshot. */
export interface Follower extends SimFollower.Behaviour {
  readonly isThere: boolean
  readonly snapshotEveryRecords: number
}

/** Whether a separate reader reads the journal for clients, and the mean time between its deaths; 0 for none. */
export interface Readings {
  readonly isThere: boolean
  readonly meanCrashMs: number
}

/** Markets of the file that trade in sessions, and how sessions open and close during a run. */
export interface Sessions {
  /** The number of such markets, the first ones of the file; and whether the market that is added later is one. */
  readonly markets: number
  readonly later: boolean
  readonly timeZone: string
  /** Longest time for which a market is open, and closed. */
  readonly maxOpenMs: number
  readonly maxClosedMs: number
  readonly cutoffMs: number
  /** Which exceptional dates the calendar has beside a holiday. Absent: none. */
  readonly dates?: SessionDates
}

/** Shortened days around the start; or, for some markets, only holidays until the day on which the zone's clocks change. */
export type SessionDates = "ordinary" | "shortened" | "until the clocks change"

/** Owners and their agents. Their actions are drawn by generators of their own, and bounded in number. */
export interface Owners {
  readonly owners: number
  /** Calls of all of them together. */
  readonly calls: number
  readonly meanPauseMs: number
  /** Mean time between jumps of the clock to the end of a challenge, session, key or grant; 0 for none. */
  readonly meanStepMs: number
  /** Their preferred action. Absent: none. */
  readonly bent?: OwnersBent
}

/** A rare action that the owners of one run repeat often. */
export type OwnersBent = "nothing" | "clone signs in" | "remove passkey" | "let an agent" | "revoke a key" | "sign in"

/** A rare action that the owners with a ledger of one run repeat often. */
export type FundsBent = "nothing" | "think again" | "remove a passkey" | "answer by a copy" | "change party" | "pay out"

/** Clients with realtime tickets, of owners' agents and of demo accounts: drawn by generators of their own, and bounded. */
export interface Tickets {
  readonly calls: number
  readonly meanPauseMs: number
  /** Mean time between jumps of the clock to the moment at which a ticket ends, or may no longer be repeated; 0 for none. */
  readonly meanStepMs: number
}

/** Clients of the stream: drawn by generators of their own. */
export interface Streams {
  readonly clients: number
  /** Share of their connections that are cut or die, and the mean lifetime of these. */
  readonly cutShare: number
  readonly meanLineMs: number
  /** Share of clients that read slowly. */
  readonly slowShare: number
  /**
   * Bytes on their way to a client from which on it counts as behind, and from which on it is disconnected; and updates kept of a stream.
   */
  readonly behindBytes: number
  readonly bufferedBytes: number
  readonly keptUpdates: number
  /** Streams that are kept up while nobody uses them. Absent: as many as in a real venue. */
  readonly unusedStreams?: number
  /** One in how many updates of a book carries its checksum. Absent: as many as in a real venue. */
  readonly provedEvery?: number
  /** Connections of the stream that the venue has room for. Absent: as many as a real venue. */
  readonly connections?: number
  /** Requests that may wait for changes at once. Absent: as many as in a real venue. */
  readonly changeWaits?: number
  /** How long a vanished client goes unnoticed. Absent: a venue's own wait. */
  readonly silenceMs?: number
  /** How far back the streams of accounts can be resumed. Absent: as far as in a real venue. */
  readonly toldAgain?: ToldAgain
  /** How much of the missed updates is read and sent at once. Absent, also of one of its members: as much as in a real venue. */
  readonly missed?: Omit<Missed, "pageText"> & Partial<Pick<Missed, "pageText">>
  /** Their trading. Absent: none. */
  readonly trading?: Trading
  /** Their misuse of the stream. Absent: none, and the venue has its usual capacities. */
  readonly odd?: Oddities
}

/**
 * Misuse of the stream that is refused, or ends the connection: the mean time between two such acts, and limits of a connection that are
 * low enough to be met.
 */
export interface Oddities {
  readonly meanPauseMs: number
  readonly subscriptions: number
  readonly orders: number
  readonly messagesPerSecond: number
}

/** Orders of clients of the stream over connections that cancel them when they end: the mean time between two. */
export interface Trading {
  readonly meanPauseMs: number
}

/** A process that streams index prices into the venue, drawn by a generator of its own, and bounded. */
export interface Publisher {
  readonly calls: number
  readonly meanPauseMs: number
}

/** Accounts that choose favorite markets and read them: drawn by generators of their own, and bounded. */
export interface Favorites {
  readonly calls: number
  readonly meanPauseMs: number
}

/**
 * Credits, flags and bots' keys given by an operator, affiliates, and agents and bots that trade by their keys: drawn by generators of
 * their own, and bounded.
 */
export interface Standings {
  /** Calls about accounts. */
  readonly calls: number
  /** Calls of agents and bots together. */
  readonly agentCalls: number
  readonly meanPauseMs: number
  /** Whether accounts may be affiliates, and whether there is a platform whose workloads may have bots' keys. */
  readonly affiliates: boolean
  readonly workloads: boolean
}

/**
 * An operator who revokes keys, stops and resumes withdrawals, compares the books with the ledger, and asks for the effects of a market's
 * parameters: drawn by a generator of its own, and bounded.
 */
export interface Oversight {
  readonly calls: number
  readonly meanPauseMs: number
  /** Calls about the ledger alone, where there is one, whose owners take their time. */
  readonly ledgerCalls: number
  readonly ledgerPauseMs: number
}

/** A client that sends malformed variants of other clients' requests on any route: drawn by a generator of its own, and bounded. */
export interface Misfits {
  readonly calls: number
  readonly meanPauseMs: number
}

/** A client that asks for the venue's readiness over and over: drawn by a generator of its own, and bounded. */
export interface Probe {
  readonly calls: number
  readonly meanPauseMs: number
}

/** How often a client sends more cancels at one moment than its limit allows, and the mean time in between. */
export interface Rushes {
  readonly rushes: number
  readonly meanPauseMs: number
}

/** A ledger with its signer, and owners who deposit and withdraw: drawn by generators of their own, and bounded. */
export interface Funds {
  readonly owners: number
  /** Calls of all of them together. */
  readonly calls: number
  readonly meanPauseMs: number
  /** Most days by which the venue's clock is advanced during the run, so that passkeys become old enough. */
  readonly days: number
  /**
   * Completed transfers that are kept, the latest of each account and of all; and withdrawals that an account may have in progress.
   * Absent: a venue's own.
   */
  readonly kept?: {
    readonly endedOfAccount: number
    readonly endedInAll: number
    readonly withdrawalsOfAccount?: number
    /** Executions of a step that are kept, each with its answer. */
    readonly submissions?: number
    /** Most collateral that an account may have after an amount was paid in, money atoms. */
    readonly collateralAtoms?: number
  }
  /** The owners' preferred action. Absent: none. */
  readonly bent?: FundsBent
  readonly bank: SimBank.Behaviour
}

/** The venue's capacities, as configured. */
export interface Bounds {
  /** Most orders and keys that are remembered. */
  readonly orders: number
  readonly idempotencyKeys: number
  /** Most markets. Absent: a venue's own. */
  readonly markets?: number
  /** One account's placements take at most this fraction (one in so many) of the free room; 0: no limit for an account. Absent: 0. */
  readonly accountParts?: number
  /** Most orders that one record ends, and most that its incoming orders meet. Absent: a venue's own. */
  readonly endedAtOnce?: number
  readonly metAtOnce?: number
  /** Most orders beyond the price bands that one record cancels. Absent: a venue's own. */
  readonly clearedAtOnce?: number
  /** In bounds of a record's work, an account counts once for every so many of its markets. Absent: a venue's own. */
  readonly marketsInOne?: number
  /** Most accounts that one record examines to count those that an announcement would affect. Absent: a venue's own. */
  readonly countedAtOnce?: number
  /** Most accounts that one record examines because marks have come near their liquidation prices. Absent: a venue's own. */
  readonly examinedAtOnce?: number
  /** Marks and funding payments of a market that can be read. Absent: as many as of a real venue. */
  readonly marksKept?: number
  readonly fundingsKept?: number
  /** Most keys, and most ended orders, that one record forgets. Absent: a venue's own. */
  readonly forgottenAtOnce?: number
  /** Positions whose funding one record settles in addition to its own purpose. Absent: a venue's own. */
  readonly settledAtOnce?: number
  /** Most payments of a market that wait to be settled. Absent: a venue's own. */
  readonly mostInLine?: number
  /** Least notice for tighter margins, ms. Absent: a venue's own. */
  readonly noticeMs?: number
  /** Whole minutes before the running one over which a final price is averaged. Absent: a venue's own. */
  readonly finalMinutes?: number
  /** Most work of one record for liquidations and settlements. Absent: a venue's own. */
  readonly liquidatedAtOnce?:
    & Omit<Liquidations.Bounds, "settled" | "places" | "ranked">
    & Partial<Pick<Liquidations.Bounds, "settled" | "places" | "ranked">>
  /** Most work of one record for triggers. Absent: a venue's own. */
  readonly triggeredAtOnce?: AutoCloses.Bounds
  /** Most brackets of a position. Absent: a venue's own. */
  readonly brackets?: number
  /** Most passkeys, sessions and keys of an account. Absent: a venue's own. */
  readonly identity?: Partial<Identities.Bounds>
  /** Challenges and agents that one address may leave open. Absent: a venue's own. */
  readonly ofAddress?: OfAddress
  /** The initial size and growth of the engine's tables. Absent: as in a real venue. */
  readonly growth?: Growth
  /** Bytes of a snapshot that are read at once. Absent: more than a run's snapshots have. */
  readonly snapshotReadBytes?: number
  /** Records between two snapshots of a writer that takes them itself. Absent: a fixed number. */
  readonly snapshotEveryRecords?: number
  /** Bytes of the latest blocks that are kept in memory. Absent: a fixed number. */
  readonly recentBytes?: number
  /** Commands that may wait, and how many of these places are not available to placements. */
  readonly inbox: { readonly capacity: number; readonly reserved: number }
  /** The size from which on a block takes no further record, bytes. */
  readonly fullBytes: number
  /** The largest block, and the size of a segment; bytes. */
  readonly maxBlockBytes: number
  readonly segmentBytes: number
  /** Share of starts, but the first, for which the size of new segments is drawn anew. Absent: it stays as it is. */
  readonly resizedShare?: number
}

/** Capacities that no run exhausts, except those of blocks and segments. */
export const roomy: Bounds = {
  orders: 12_000,
  idempotencyKeys: 16_000,
  inbox: { capacity: 8_192, reserved: 2_048 },
  fullBytes: 24 * 1024,
  maxBlockBytes: 64 * 1024,
  segmentBytes: 256 * 1024
}

/** Values drawn at their limits. */
export interface Edges {
  /** How many of the venue's latest fills can be read. */
  readonly fillsKept: number
  /**
   * The scale of amounts: `large` in markets whose largest notional is just below 2^53 money atoms, `small` with one in which a
   * requirement grows by an atom or two with each size atom. In both, tier thresholds lie among the sizes that traders hold.
   */
  readonly money: "ordinary" | "large" | "small"
  /** Share of operator acts that change a market's parameters, whatever is open in it. */
  readonly parametersShare: number
  /** Share of operator acts that delist a market. Absent: never. */
  readonly delistingShare?: number
  /** Share of operator acts that announce a change of a market, half of which are withdrawn. Absent: never. */
  readonly announcingShare?: number
  /** Share of operator moves of an index that take some account's equity to exactly its maintenance margin. */
  readonly brinkShare: number
  /** Mean time between jumps of the clock to the exact millisecond at which something ends or falls due; 0 for none. */
  readonly meanStepMs: number
  /** Probability that a process starts in the exact millisecond in which something is due, or in an adjacent one. */
  readonly dueAtStart: number
  /** Probability that a trader whose commands are refused under a halt repeats its earlier requests. */
  readonly againUnderHalt: number
  /** How long decisions are remembered. Absent: a day, throughout. */
  readonly retention?: {
    /** What it is set to before anybody trades; 0 for a day. */
    readonly openingMs: number
    /** Share of operator acts that set it. */
    readonly share: number
  }
  /** Days by which the venue's clock is advanced during the run, so that a full table has entries to forget. Absent: none. */
  readonly days?: number
}

/** USDC that accounts begin with where the scale of amounts is extreme; a venue credits 2^52 atoms at most. */
const edgeCollateral = { large: 4_000_000_000, small: 3 } as const

/** A trader's possible intents. */
const intents = [
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

/** No faults and no operator acts by chance: for scripted scenarios. The operator puts the markets and is the only source of prices. */
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

/** Weight of flooding for the first client, where it floods its market. */
const floodWeight = 60

/** Weight of batches where most of them are long. */
const bulkWeight = 30

const workload = (random: SimRandom): Options["workload"] => {
  const weights = { ...baseWeights }
  for (const intent of intents) {
    const factor = random.pick([0, 0.3, 1, 1, 1, 2, 4])
    weights[intent] = baseWeights[intent] * factor
  }
  // There are always makers: without them nothing would ever trade.
  weights.make = Math.max(weights.make, 8)
  weights.take = Math.max(weights.take, 4)
  const bulkShare = random.split("bulk").pick([0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9])
  if (bulkShare > 0.1) {
    weights["place batch"] = bulkWeight
    weights["v2 batch"] = bulkWeight
  }
  // One client tries to exceed the number of orders that it may have in one market.
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

/** A mean time between faults, long enough for progress in between; or 0. */
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

/** Share of runs that ruin traders. */
const ruinShare = 0.7

/** Least weights of intents for traders who are to be ruined: they trade, and beyond their means. */
const ruinousWeights = { make: 60, take: 60, "market order": 20, "margin edge": 10, flip: 4 } as const

/** Most USDC that each begins with, so that the winnings of one from all others are still exact numbers. */
const mostToRuin = 400_000_000

/** Factor for the weights of all other intents, and for how often the operator keeps traders from trading. */
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
  // Marks are made once a second, and ruin takes many of them.
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

/** Share of runs of the ruin profile in which traps are laid; other profiles have features that keep traps from working. */
const trapsShare = 0.4

/** Traps of both kinds, or only those for accounts with a loss in a market that is not live. */
const traps = (random: SimRandom): Traps => ({
  meanPauseMs: random.pick([100, 300, 1_000]),
  fundingShare: random.pick([0, 0.3, 0.6, 0.9])
})

/** Positions whose funding one record settles where an account is to fall meanwhile: mostly so few that it takes many records. */
const settledBetween: ReadonlyArray<number> = [1, 1, 1, 2, 3, 256]

/** Least mean pause of the feed where traps are laid: a feed that spoke more often would take the index back before the tick. */
const seldomMs = 5_000

/**
 * A run with traps: traders with large positions, in markets that keep trading, at prices that only their operator moves, on a clock that
 * runs evenly.
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

/** How the feed's prices move where traders are to be ruined. */
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

/**
 * Retentions that an operator sets: the shortest and slightly longer ones, so that jumps of the clock outlast the entries of tables; and
 * long ones.
 */
export const retentionsMs: ReadonlyArray<number> = [10, 10, 11, 30, 60, 24 * 60, 36 * 60].map((minutes) => minutes * 60_000)

const retention = (random: SimRandom): NonNullable<Edges["retention"]> => ({
  openingMs: random.chance(0.5) ? random.pick(retentionsMs) : 0,
  share: swarm(random, 0.3)
})

/** Share of runs in which markets trade in sessions. */
const sessionsShare = 0.5

/** Zones on either side of that of the epoch, and one of half an hour. */
const zones = ["America/New_York", "Asia/Kolkata", "Pacific/Auckland", "UTC"] as const

/** Share of runs with owners. */
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
/** Share of runs with stream clients in which these trade. */
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
  // Two clients, so that one can leave while another stays.
  return { ...drawn, clients: 2, trading: { meanPauseMs: random.pick([100, 400, 1_500]) } }
}

/** Share of runs with stream clients in which these misuse the stream. */
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

/** Share of runs in which books carry checksums so often that slow clients miss several at once. */
const oftenProvedShare = 0.5
const oftenProvedEvery = 3

const proved = (random: SimRandom): Pick<Streams, "provedEvery"> => random.chance(oftenProvedShare) ? { provedEvery: oftenProvedEvery } : {}

/** Share of runs in which streams make room for others as soon as a few are not used. */
const unusedShare = 0.4

const unused = (random: SimRandom): Pick<Streams, "unusedStreams"> =>
  random.chance(unusedShare) ? { unusedStreams: random.pick([1, 4, 12]) } : {}

/** Share of runs in which the range from which accounts' streams can be resumed is so short that clients fall on either side of it. */
const toldAgainShare = 0.4

const toldAgain = (random: SimRandom): Pick<Streams, "toldAgain"> =>
  random.chance(toldAgainShare) ? { toldAgain: { records: random.pick([3, 40, 400]), ms: random.pick([1, 500, 5_000, 60_000]) } } : {}

/**
 * Share of runs in which missed updates come in many pieces. No piece is so small that a run's records take hundreds of them: each may
 * have to begin at a snapshot again, on a slow disk.
 */
const missedShare = 0.7

const missed = (random: SimRandom): Pick<Streams, "missed"> =>
  random.chance(missedShare)
    ? {
      missed: {
        pieceText: random.pick([1_500, 5_000, 50_000]),
        pieceRecords: random.pick([15, 60, 500]),
        pageRecords: random.pick([1, 20, 500]),
        pageText: random.split("page text").pick([300, 2_000, usualBounds.pageText]),
        turnRecords: random.pick([7, 30, 200]),
        nearRecords: random.pick([10, 200]),
        standingMs: random.pick([0, 100, 5_000]),
        heldText: usualBounds.heldText
      }
    }
    : {}

const streaming = (random: SimRandom): Streams => ({
  ...streams(random.split("streams")),
  ...proved(random.split("proved")),
  ...unused(random.split("unused")),
  ...toldAgain(random.split("told again")),
  ...missed(random.split("missed")),
  ...odd(random.split("odd"))
})

/** Share of runs in which pages of a site may call the venue. */
const originsShare = 0.3

const origins = (random: SimRandom): Pick<Options, "origins"> => random.chance(originsShare) ? { origins: [listedOrigin] } : {}

/** Share of runs with a follower, which executes every record once more: few, so that a series of runs takes hardly longer. */
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

/** Agents make a trader's calls: few, so that a run with them takes hardly longer than one without. */
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

/** Share of runs with a ledger. */
const fundsShare = 0.35
/** Size of a record that holds a prepared transaction, bytes. */
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
    // Drawn by itself: see `withRarities`.
    refuse_for_itself: 0,
    refuse_since_first_won: weight() * 2,
    refuse_indefinite: weight(),
    in_flight: weight(),
    other_hash: random.pick([0, 0, 0.5]),
    other_bytes: random.pick([0, 0, 0.5]),
    restart: weight(),
    pass_maximum: weight(),
    // Only an operator can repair a gap left by a ledger that has pruned its past: few runs have one.
    prune: random.pick([0, 0, 0, 0, 0.2])
  }
}

/** In one of four runs histories lag by seconds, and by more while they are rebuilt. */
const histories = (random: SimRandom): NonNullable<Options["histories"]> => {
  const meanDamagedMs = random.split("histories").pick([0, 0, 0, 5_000, 20_000])
  return random.split("lag").chance(0.25) ? { meanDamagedMs, pauseMs: random.split("lag by").pick([1_000, 4_000]) } : { meanDamagedMs }
}

/** Share of runs in which the lock is taken away: few, since it ends the process like any other crash. */
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

/**
 * How many completed transfers a venue keeps: few, so that reads of their histories continue beyond its memory; or as many as a real one.
 */
const endedKept: ReadonlyArray<NonNullable<Funds["kept"]>> = [
  { endedOfAccount: 1, endedInAll: 100 },
  { endedOfAccount: 3, endedInAll: 4 },
  { endedOfAccount: 1_000, endedInAll: 2 },
  { endedOfAccount: 1_000, endedInAll: 1_000_000 }
]

/** Withdrawals that an account may have in progress: few, as no owner here reaches a real venue's limit. */
const withdrawalsAtOnce: ReadonlyArray<number> = [8, 8, 1, 2]

/** Executions of a step that are kept: few, as no step here is executed as often as a real venue's limit. */
const submissionsKept: ReadonlyArray<number> = [64, 64, 1, 2]

const fundsBents: ReadonlyArray<FundsBent> = ["nothing", "think again", "think again", "think again", "remove a passkey",
  "answer by a copy", "change party", "pay out", "pay out", "pay out"]

/** Share of runs with a ledger in which transactions are executed again, or after their transfers' ends, or accounts have little room. */
const againShare = 0.2
const behindEndsShare = 0.2
const littleRoomShare = 0.25

/** Share of runs with a ledger in which owners meet what the treasury gives on a day, and in which it turns executions away for itself. */
const dailyShare = 0.15
const troubleShare = 0.2

/** What happens on the ledger in a few runs only, each drawn by a generator of its own: all other runs are as they were without it. */
const withRarities = (drawn: Funds, random: SimRandom): Funds => {
  const again = random.split("again")
  const behind = random.split("after the end")
  const room = random.split("room of accounts")
  const daily = random.split("what a day allows")
  const trouble = random.split("the ledger's own trouble")
  const isAgain = again.chance(againShare)
  const isBehind = behind.chance(behindEndsShare)
  const repeated = isAgain
    ? { again: { lateShare: again.pick([0.3, 0.6]), unansweredShare: 0.5, refusedShare: again.pick([0.2, 0.5]), definiteShare: 0.5 } }
    : {}
  return {
    ...drawn,
    ...(room.chance(littleRoomShare) ? { kept: { ...drawn.kept!, collateralAtoms: room.pick(littleRoom) } } : {}),
    ...(isBehind ? { bent: "think again" } : {}),
    bank: {
      ...drawn.bank,
      ...repeated,
      ...(isBehind ? { behindShare: behind.pick([0.5, 1]) } : {}),
      ...(daily.chance(dailyShare) ? { dailyAtoms: daily.pick([1_000_000, 2_000_000, 4_000_000]) } : {}),
      ...(trouble.chance(troubleShare) ? { troubleShare: trouble.pick([0.3, 0.6, 0.9]) } : {})
    }
  }
}

/** Most collateral after a payment, where that is to be met: some deposits are larger than what is left, and a few than all of it. */
const littleRoom: ReadonlyArray<number> = [1_000_000, 1_000_000, 3_000_000, 8_000_000]

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

/** Blocks and segments with room for prepared transactions. */
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

/** The workload where the scale of amounts is extreme. */
const atEdge = (workload: Options["workload"], { money }: Edges): Options["workload"] =>
  money === "ordinary" ? workload : { ...workload, collateral: edgeCollateral[money] }

/** Most bytes by which one record may exceed the size from which on a block is full. */
const largestRecordBytes = 8 * 1024

/** Whether a run fills its table of orders or of keys, which then stays full for a day. */
export const isTight = ({ idempotencyKeys, orders }: Bounds): boolean => idempotencyKeys < roomy.idempotencyKeys || orders < roomy.orders

/** Share of runs with little room for orders, and share with little room for keys. */
const tightShare = 0.14

const inboxes: ReadonlyArray<Bounds["inbox"]> = [
  { capacity: 3, reserved: 1 },
  { capacity: 8, reserved: 3 },
  { capacity: 8, reserved: 6 },
  { capacity: 21, reserved: 5 },
  roomy.inbox,
  roomy.inbox
]

/** One record's work for liquidations: so little that some is left over, or a venue's own. */
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

/** Limits so low that an owner meets each of them, or a venue's own. */
const identities: ReadonlyArray<Partial<Identities.Bounds>> = [
  { passkeys: 2, sessions: 2, keys: 1, endedKeys: 2, endedKeysMs: 3_000, events: 5 },
  { passkeys: 3, sessions: 3, keys: 2, endedKeys: 0, endedKeysMs: 86_400_000, events: 20 },
  Identities.venueBounds,
  Identities.venueBounds
]

/** Tables so small that they grow step by step within a run, and few open orders per list; or a venue's own. */
const growths: ReadonlyArray<Growth> = [
  { rows: 2, stepwiseFrom: 2, listedFrom: 2 },
  { rows: 4, stepwiseFrom: 8, listedFrom: 4 },
  { rows: 8, stepwiseFrom: 8, listedFrom: 6 },
  usualGrowth
]

/** So little room for tokens that wait to be fetched, and for tickets, that it is exhausted; or a venue's own. */
const identityRooms: ReadonlyArray<Partial<Identities.Bounds>> = [
  { grants: 2, grantsOfAccount: 1, families: 8 },
  { grants: 3, grantsOfAccount: 2, families: 5 },
  {},
  {},
  {}
]

/** So few challenges and agents that some displace others of their address, which all owners and agents share; or a venue's own. */
const ofAddresses: ReadonlyArray<OfAddress> = [
  { challenges: 3, agents: 2 },
  { challenges: 6, agents: 4 },
  { challenges: 64, agents: 16 },
  { challenges: 64, agents: 16 }
]

/** The size of segments, bytes: a quarter of one is reserved for risk-reducing commands and has to hold a block, as it does in a venue. */
export const segmentBytesOf = (random: SimRandom, maxBlockBytes: number): number =>
  Math.max(random.pick([24, 32, 64, 256]), Math.ceil(4 * maxBlockBytes / 1024)) * 1024

const bounds = (random: SimRandom): Bounds => {
  const fullBytes = random.pick([600, 1_024, 4_096, 24 * 1024])
  const maxBlockBytes = fullBytes + largestRecordBytes
  const segmentBytes = segmentBytesOf(random, maxBlockBytes)
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

/** No limits. The limit for sign-ins of an address is still another number, since answers report it. */
export const unlimited: Limits = { perKey: 1e9, perAddress: 1e9, signInsPerAddress: 9e8, windowMs: 60_000 }

/** Share of runs in which clients meet their request limits. */
const limitedShare = 0.2

/** Limits low enough to be met, in windows that end within a run. */
const few: ReadonlyArray<Limits> = [
  { perKey: 8, perAddress: 20, windowMs: 1_000 },
  { perKey: 20, perAddress: 40, windowMs: 3_000 },
  { perKey: 30, perAddress: 60, windowMs: 10_000 },
  { perKey: 60, perAddress: 120, windowMs: 60_000 }
]

/** The sign-in limit of an address as a factor of its general one; never equal to the limit of a key. */
const signInShares = [0.3, 1, 2]

const limits = (random: SimRandom): Limits => {
  if (!random.chance(limitedShare)) return unlimited
  const drawn = random.pick(few)
  return { ...drawn, signInsPerAddress: drawn.perAddress * random.split("sign-ins").pick(signInShares) }
}

/** The highest limit that a client in a hurry exceeds: it makes four times as many calls each time. */
const mostRushed = 20

const rushes = (random: SimRandom, { perKey }: Limits): Rushes => ({
  rushes: perKey > mostRushed ? 0 : random.pick([1, 2, 2]),
  meanPauseMs: random.pick([300, 1_000])
})

const probe = (random: SimRandom): Probe => ({ calls: random.pick([15, 30]), meanPauseMs: random.pick([100, 400, 1_500]) })

/** The request limits, the client that exceeds them, and the client that asks for readiness. */
const limited = (random: SimRandom): Pick<Drawn, "limits" | "probe" | "rushes"> => {
  const drawn = limits(random.split("limits"))
  return { limits: drawn, probe: probe(random.split("probe")), rushes: rushes(random.split("rushes"), drawn) }
}

/** Share of runs in which requests travel on connections, as bytes. */
const wireShare = 0.5

/** A limit that no run meets. */
const enough = 1_000

/**
 * Connections as bytes, in half of the runs. Those of the calm profile have none of their faults: what is sent behind others and in pieces is
 * none. Whoever cannot pay for bytes that are no request sends none: limits of requests count these, too.
 */
const wire = (random: SimRandom, profile: Profile, isLimited: boolean): Pick<Options, "wire"> => {
  if (!random.chance(wireShare)) return {}
  const isCalm = profile === "calm"
  return {
    wire: {
      pipelinedShare: random.pick([0, 0.2, 0.6]),
      piecesShare: random.pick([0, 0.3]),
      maxPauseMs: random.pick([0, 5, 200]),
      busyShare: random.pick([0, 0.05]),
      maxBusyMs: random.pick([20, 300]),
      slowShare: isCalm ? 0 : random.pick([0, 0.2]),
      maxSlowMs: random.pick([5, 100]),
      burstShare: isCalm || isLimited ? 0 : random.pick([0, 0.02]),
      strayShare: isCalm || isLimited ? 0 : random.pick([0, 0.05]),
      keepAliveMs: random.pick([100, 60_000]),
      connections: isCalm ? enough : random.pick([9, enough]),
      perAddress: isCalm ? enough : random.pick([6, enough]),
      unreadBytes: isCalm ? enough * enough : random.pick([64 * 1024, enough * enough])
    }
  }
}

/** Share of runs in which clients claim addresses that are not theirs, to proxies or, where there are none, to the venue itself. */
const proxiesShare = 0.35

const proxies = (random: SimRandom): SimProxies.Behaviour | undefined =>
  random.chance(proxiesShare)
    ? { count: random.pick([0, 1, 1, 2, 3]), forgedShare: random.pick([0.2, 0.6, 1]), spelledShare: random.pick([0, 0.3, 1]) }
    : undefined

/** The same run behind proxies, whose connections all clients share: a limit for one address would be one for everybody. */
const proxied = (options: Options, random: SimRandom): Options => {
  const drawn = proxies(random)
  if (drawn === undefined) return options
  const { wire } = options
  return wire === undefined || drawn.count === 0
    ? { ...options, proxies: drawn }
    : { ...options, proxies: drawn, wire: { ...wire, perAddress: enough, isBehindProxies: true } }
}

/**
 * All options but those that only some runs have: the ledger, the removed lock, intervals that end in a hurry, pages of other origins,
 * connections as bytes, and proxies.
 */
type Drawn = Required<Omit<Options, "funds" | "intervals" | "lock" | "origins" | "proxies" | "wire">>

/** The profiles in which the lock may be taken away: the others are without disk faults, or without crashes. */
const mayLoseLock: ReadonlySet<Profile> = new Set(["swarm", "crash", "disk"])

/** The profiles in which funding intervals may end in a hurry: those in which clocks jump. */
const mayHurry: ReadonlySet<Profile> = new Set(["swarm", "crash", "disk"])
const hurriedShare = 0.08

/** Traders of such a run: more than a few ticks settle. */
const hurriedTraders = 9

/**
 * A run in which intervals end faster than positions are settled, and as few payments wait as can: in markets that pay often, with many
 * holders.
 */
const hurried = (options: Options, random: SimRandom): Options =>
  random.chance(hurriedShare)
    ? {
      ...options,
      intervals: { meanPauseMs: random.pick([200, 1_000]) },
      workload: {
        ...options.workload,
        traders: hurriedTraders,
        collateral: 1_000_000,
        weights: { ...options.workload.weights, make: 40, take: 60, "market order": 20 }
      },
      ...(options.edges === undefined ? {} : { edges: { ...options.edges, money: "ordinary" } }),
      bounds: { ...options.bounds ?? roomy, mostInLine: random.pick([1, 1, 1, 2]), settledAtOnce: 1 }
    }
    : options

/**
 * Segments of other sizes after a restart. Not where the disk may be full: the segment that a writer has prepared is its room for what
 * reduces risk, and a next writer whose segments have another size can neither use that one nor prepare its own on a full disk.
 */
const resized = (options: Options, random: SimRandom): Options =>
  options.bounds === undefined || options.room === undefined || options.room.meanFullMs > 0
    ? options
    : { ...options, bounds: { ...options.bounds, resizedShare: random.split("segment sizes").pick([0, 0.5, 1]) } }

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
  isQuota: random.split("quota").chance(0.3),
  seenEarlyRate: random.split("seen early").pick([0, 0.5, 1]),
  failsAtEndsShare: random.split("failing ends").pick([0, 0, 0.3])
})

const clock = (random: SimRandom): Options["clock"] => ({
  meanFaultMs: mean(random, 200, 4_000),
  maxJumpMs: random.pick([1_000, 60_000, 3_600_000, longJumpMs]),
  freezeShare: random.next()
})

/** Mean time between orders by which clients fill a table, ms. */
const fillingMs = 200

/** Days that pass while clients trade: a full table has entries to forget only after its retention. */
const daysOf = (drawn: Bounds, random: SimRandom): number => isTight(drawn) ? random.pick([0, 1, 2]) : 0

/** The markets of the file that every run begins with. */
const marketsOfFile = 3
/** Share of the runs whose file does not grow in which there is room for its markets and no more. */
const noRoomShare = 0.4

/** The same run without room for a further market, which its operator puts all the same. */
const withoutRoom = (options: Options, random: SimRandom): Options =>
  options.bounds !== undefined && options.listing?.growsAtMs === 0 && random.chance(noRoomShare)
    ? { ...options, bounds: { ...options.bounds, markets: marketsOfFile } }
    : options

/** Draws a run's options. `random` is the generator named `options`. */
export const draw = (profile: Profile, random: SimRandom): Options =>
  proxied(withoutRoom(drawWithin(profile, random), random.split("most markets")), random.split("proxies"))

/** Everything but what lies before the venue. */
const drawWithin = (profile: Profile, random: SimRandom): Options => {
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
    streams: streaming(random),
    favorites: favorites(random.split("favorites")),
    publisher: publisher(random.split("publisher")),
    follower: follower(random.split("follower")),
    readings: readings(random.split("readings")),
    histories: histories(random),
    standings: standings(random.split("standings")),
    oversight: oversight(random.split("oversight")),
    misfits: misfits(random.split("misfits")),
    ...origins(random.split("origins"))
  }
  const wired = { ...plain, ...wire(random.split("lane"), profile, plain.limits !== unlimited) }
  const drawn: Drawn = { ...wired, edges: { ...drawnEdges, days: daysOf(plain.bounds, random.split("days")) } }
  const ruins = random.split("ruin")
  const ruining = profile === "ruin" || ruins.chance(ruinShare)
    ? { ...drawn, workload: ruined(drawn.workload, ruins), feed: { ...drawn.feed, ruin: ruinous(ruins) } }
    : drawn
  // A missing room for the next segment shows while half of the current one is left: a small segment is full before that.
  const { maxBlockBytes, segmentBytes } = roomy
  const sized = drawn.room.meanFullMs === 0 ? ruining : { ...ruining, bounds: { ...drawn.bounds, maxBlockBytes, segmentBytes } }
  // Operators' commands are remembered for a day: in a full table they would use up the small part that is theirs.
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
  // A full table regains room only where a day passes while it is full and no single record forgets all of it.
  const passing = { meanFaultMs: fillingMs * drawn.bounds.orders, maxJumpMs: longJumpMs, freezeShare: 0 }
  const past = { ...fitting, clock: passing, bounds: { ...fitting.bounds, forgottenAtOnce: 1 } }
  const profiled = readable(ofProfile(profile, isPast ? past : fitting, random))
  const locked = mayLoseLock.has(profile) ? { ...profiled, ...lock(random.split("locks")) } : profiled
  const options = resized(mayHurry.has(profile) ? hurried(locked, random.split("hurried intervals")) : locked, random)
  const drawnMoney = profile === "calm" ? undefined : funds(random.split("funds"))
  if (drawnMoney === undefined) return options
  const money = withRarities(drawnMoney, random.split("rarities of the ledger"))
  // Runs with a ledger are rare enough: half of them are without the client that sends malformed requests.
  const others = random.split("undisturbed").chance(0.5) ? {} : { misfits: { calls: 0, meanPauseMs: 60 } }
  return { ...options, ...others, funds: money, bounds: withPrepared(options.bounds ?? roomy) }
}

/** Read error rate where each start does hundreds of reads. */
const fewUnreadable = 0.0005

/** A start that reads its snapshots in small pieces would hardly ever complete at the usual read error rate. */
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
