/**
 * What properties see of a run: clients' requests and answers, the journal on the disk, views of the engine, and the life of the
 * process. Properties know nothing of generators or faults.
 */
import * as Ids from "../../src/domain/Ids.js"
import type { OfAddress } from "../../src/identity/Identity.js"
import type { Record } from "../../src/journal/Record.js"
import type { PreviewView, Reads } from "../../src/engine/Reads.js"
import type { Scheduled } from "../../src/sessions/Sessions.js"
import type { Decided } from "../../src/sequencer/Feed.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import type { NaiveDecision, NaiveMemory } from "../model/NaiveState.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Reading } from "../reading/Asked.js"
import type { SegmentNamed, WentOn } from "../world/EndTap.js"
import type * as SimWire from "../world/SimWire.js"
import type { Glance } from "./Glance.js"

/** One thing a client wants, however often it has to ask: method, target, key and body never change. */
export interface Call {
  /** Counts up from 0 within a run. */
  readonly id: number
  readonly client: string
  /** The endpoint's name in the contract, or "" for requests that meet none. */
  readonly endpoint: string
  readonly method: string
  readonly target: string
  readonly body: string
  /** The declared content type of the body; undefined: JSON, as clients declare it. Empty: none is declared. */
  readonly contentType?: string
  /** Whether a browser says that it sends this for a page of another site. */
  readonly isOfOtherSite?: boolean
  /** `issued`: a key or a session that the venue issued while the run lasted; it may have ended by now. */
  readonly credential: "trader" | "issued" | "operator" | "none" | "wrong"
  /** The bearer token sent, if any. */
  readonly token: string
  /** The engine's index of the account that acts, or -1. */
  readonly account: number
  readonly accountId: string
  readonly idempotencyKey: string | undefined
  /** The scope of the call's idempotency key, where it is a command; undefined for reads. */
  readonly scope: string | undefined
  /** What the client intends, for traces and counts. */
  readonly intent: string
  /** Whether the client repeats the request, under the same identity, until it has an answer. */
  readonly persistent: boolean
  /** The call's meaning by the contract, read from its text. */
  readonly reading: Reading
}

/** The site that a venue lists, where it lists any, and another one. */
export const listedOrigin = "https://app.example.com"
const otherOrigin = "https://elsewhere.example.com"

/** The site whose page sends a call, where a venue lists sites: the listed one, another one, or none, by turns. */
export const originOf = ({ id }: Pick<Call, "id">): string | undefined => [listedOrigin, otherOrigin, undefined][id % 3]

/** A response as its client got it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<globalThis.Record<string, string>>
  readonly text: string
  /** The parsed body; undefined where it is empty or no JSON. */
  readonly json: unknown
}

/** A response as it leaves the process. */
export type Reply = Omit<Answer, "json">

/** Whether a request was refused for a rate limit. Whether that is right is checked by `nobody-does-more-than-his-limit`. */
export const isLimited = ({ status, text }: Reply): boolean => status === 429 && !text.includes("\"rejectionGuard\"")

/** How long after there is room on the disk again a process may take to find it, in milliseconds. */
export const roomFoundWithinMs = 8_000

/** The bounds that a process is configured with: see `Bounds` of the options, and the most records of a block. */
export interface Bounds {
  /** Challenges and agents that one address may leave open. Absent: 64 and 16. */
  readonly ofAddress?: OfAddress
  readonly orders: number
  readonly idempotencyKeys: number
  /** Absent: 1,024. */
  readonly markets?: number
  readonly accountParts?: number
  /** Most orders beyond the price bands that a record cancels. Absent: 64. */
  readonly clearedAtOnce?: number
  /** Most accounts that a record examines when marks have come near their margin. Absent: 256. */
  readonly examinedAtOnce?: number
  /** Whole minutes before the current one that make up a final price. Absent: 30. */
  readonly finalMinutes?: number
  /** Positions that a ranking has room for, and those that a record ranks. */
  readonly liquidatedAtOnce?: { readonly places?: number; readonly ranked?: number }
  readonly inbox: { readonly capacity: number; readonly reserved: number }
  readonly fullBytes: number
  readonly segmentBytes: number
  /** The largest block. */
  readonly maxBlockBytes: number
  readonly maxRecords: number
}

/** How many requests a process accepts in a window. */
export interface Limits {
  readonly perKey: number
  readonly perAddress: number
  /** Sign-ins of an address in a window. Absent from options recorded before it was drawn: as many as other requests. */
  readonly signInsPerAddress?: number
  /** Accounts opened without a credential in an hour. Absent: as many as a venue usually allows. */
  readonly openingsPerHour?: number
  readonly windowMs: number
}

/** How far back accounts' streams can be resumed: at least this many of the latest records, and at least this long. */
export interface ToldAgain {
  readonly records: number
  readonly ms: number
}

/** What one connection of the stream may have: frames per second, orders in progress, streams. */
export interface Conversing {
  readonly messagesPerSecond: number
  readonly orders: number
  readonly subscriptions: number
}

/** A frame of the venue, with what it says of the frame that it answers and of its stream. */
export interface FrameLeft {
  readonly type: string
  /** In an answer to a subscription: whether the stream continues where the client was. */
  readonly resumed?: boolean
  /** Why a stream begins anew. */
  readonly reason?: string
  /** The id of the frame that it answers; in a refusal perhaps the invalid id that was sent, even a number. */
  readonly id?: string
  readonly channel?: string
  readonly stream?: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
  readonly accountId?: string
  /** In a frame of a stream: the sequence up to which the client now has the stream. */
  readonly sequence?: number
  readonly error?: { readonly code: string; readonly rejectionGuard?: string; readonly realtimeTicketFailure?: string }
  readonly retryAfterSeconds?: number
  /** In a greeting: what the venue says of itself and of the limits of a connection. */
  readonly version?: string
  readonly environment?: string
  readonly heartbeatMs?: number
  readonly limits?: { readonly subscriptions: number; readonly messagesPerSecond: number; readonly bufferedBytes: number }
  readonly retention?: Readonly<globalThis.Record<string, object>>
  readonly starts?: ReadonlyArray<{ readonly id: string; readonly firstSequence: number }>
  readonly heads?: Readonly<globalThis.Record<string, number>>
  /** In a frame of a stream: its content. */
  readonly data?: unknown
  /** When the ticket that it reports expires, and when a greeting, an answer to a ping or a heartbeat was made. */
  readonly expiresAt?: number
  readonly serverTimeEpochMs?: number
}

/** Whether a call's route exists only where accounts may be affiliates. */
export const isOfAffiliates = ({ endpoint }: Call): boolean => endpoint === "registerAffiliate" || endpoint === "getAffiliate"

/** The features of a process by its settings: affiliates, a platform whose workloads may have bots' keys, and a ledger. */
export interface Settings {
  readonly affiliates: boolean
  readonly workloads: boolean
  readonly ledger: boolean
  /** Whether pages of a site may call it. */
  readonly origins: boolean
}

/** The clock's time in a refusal; 0 where it has none. */
export const occurredAtEpochMs = ({ text }: Answer): number => Number(/"occurredAtEpochMs":([0-9]+)/.exec(text)?.[1] ?? 0)

/** When a refusal without a record was decided: at the clock's time, which may be later than any record's, or at the last record's. */
export const refusedAtEpochMs = (answer: Answer, { atEpochMs }: NaiveVenue): number => Math.max(occurredAtEpochMs(answer), atEpochMs)

/** The deciding record that an answer's own id names; undefined where it names none. */
export const recordNamed = ({ headers }: Reply): number | undefined => Ids.parseRequestId(headers["x-request-id"] ?? "")?.sequence

/** A ledger's answer to an execution. */
export interface LedgerAnswer {
  /** `taken`, or the code of a definite refusal; `open` where nothing is definite. */
  readonly said: string
  /** The ledger's end when it answered. */
  readonly endOffset: number
}

/** What a ledger has done, as it reports itself. Hashes are in hex. */
export interface LedgerBook {
  /** The treasury's holdings, money atoms. */
  readonly treasuryAtoms: bigint
  /** Completions up to this offset were pruned. */
  readonly prunedThrough: number
  /** The treasury's holdings at each offset at which they changed, oldest first. */
  readonly held: ReadonlyArray<{ readonly offset: number; readonly atoms: bigint }>
  /** What strangers have sent the treasury beside all deposits, up to each offset at which they did, oldest first. */
  readonly sent: ReadonlyArray<{ readonly offset: number; readonly atoms: bigint }>
  /** What was issued out of nothing, money atoms, and to whom, beside what every party is given. */
  readonly given: ReadonlyArray<{ readonly amountAtoms: number; readonly partyId: string }>
  /** Every submission of the venue that it accepted; `prepared` is base64. */
  readonly taken: ReadonlyArray<{ readonly hash: string; readonly prepared: string; readonly submissionId: string }>
  /** Hashes of executions by strangers who have obtained a party's key. */
  readonly byStrangers: ReadonlySet<string>
  /** Its answer to each execution of the venue, by submission. */
  readonly answers: ReadonlyMap<string, LedgerAnswer>
  /** Commands for which it once prepared something other than requested. */
  readonly altered: ReadonlySet<string>
  /** The most that the treasury pays out at once, money atoms. */
  readonly perWithdrawalAtoms: number
  /** What it may pay out on a day, and what is wrong with what it has paid and refused for that; undefined where that limit is never met. */
  readonly daily: { readonly dailyAtoms: number; readonly fault: string | undefined } | undefined
  /** The longest time, after the ledger's own, for which a prepared transaction was asked to be recordable, ms. */
  readonly recordableMs: number
  /** The passkeys whose approvals the signer accepts, by account. */
  readonly pinned: ReadonlyMap<string, ReadonlySet<string>>
  /** Every acceptance that it reported, oldest first. */
  readonly done: ReadonlyArray<{
    readonly commandId: string
    readonly hash: string
    readonly updateId: string
    readonly submissionId: string
  }>
}

export type Observation =
  /** A client sent a call, for the first time or again. */
  | { readonly _tag: "Asked"; readonly call: Call; readonly attempt: number }
  /** A client got a reply. `memory` is what the model remembers of the call's scope by now; `sequence` is the last record known durable. */
  | {
    readonly _tag: "Answered"
    readonly call: Call
    readonly attempt: number
    readonly answer: Answer
    readonly memory: NaiveMemory | undefined
    readonly sequence: number
    /** The last record that was durable when the reply left the process. */
    readonly leftBehind: number
    readonly atEpochMs: number
    /** The process's clock when the call was sent and when it was answered; undefined where it did not keep time in between. */
    readonly clock: readonly [number, number] | undefined
    readonly model: NaiveVenue
  }
  /**
   * A client of the stream got the answer to a request over its connection, represented as a reply of the equivalent route: a result is
   * 200, a refusal has the status that its code and guard have there, and the headers are those that the frame reports. Refusals by the
   * connection itself are not represented.
   */
  | { readonly _tag: "AnsweredOver"; readonly answered: Extract<Observation, { readonly _tag: "Answered" }> }
  /** A reply left the process after a long time; reported only where it was long. */
  | { readonly _tag: "RepliedLate"; readonly call: Call; readonly tookMs: number }
  /** A client got no reply. */
  | { readonly _tag: "Unanswered"; readonly call: Call; readonly attempt: number; readonly refused: boolean }
  /** A client has what it wanted, or gave up on something that it need not insist on. */
  | { readonly _tag: "Settled"; readonly call: Call }
  /** A record became durable: it is on the disk, whole, in a block whose digests hold. */
  | {
    readonly _tag: "Committed"
    readonly record: Record
    readonly decision: NaiveDecision
    readonly model: NaiveVenue
    /** Where its block begins, its digest (hex), the number of records in it, and its size on the disk. */
    readonly block: {
      readonly epoch: number
      readonly digest: string
      readonly firstSequence: number
      readonly count: number
      readonly bytes: number
      /** What of its bytes departs from the layout. */
      readonly misread: string | undefined
    }
  }
  /** The engine was compared with the model at the same record. `whole`: everything; otherwise what `decision` touched. */
  | {
    readonly _tag: "Inspected"
    readonly reads: Glance
    readonly model: NaiveVenue
    readonly decision: NaiveDecision | undefined
    readonly whole: boolean
  }
  /**
   * A request came to the process, which takes it up at this time of its clock: what it does at once lies between this and `Handled`.
   * `movedAhead`: how often that clock was moved ahead since the process began.
   */
  | { readonly _tag: "Handling"; readonly call: Call; readonly atEpochMs: number; readonly movedAhead: number }
  /**
   * The process has taken the request up, at this time of its clock; `answer`: undefined where it is answered later. `lowestEpochMs`
   * and `highestEpochMs`: the earliest and the latest time that anybody was given by the clock since the previous request.
   */
  | {
    readonly _tag: "Handled"
    readonly call: Call
    readonly atEpochMs: number
    readonly lowestEpochMs: number
    readonly highestEpochMs: number
    readonly answer: Reply | undefined
    /**
     * For how long a write or sync of a block has been under way that never ends; 0 where there is none, or the process's clock was set
     * meanwhile.
     */
    readonly hungMs: number
  }
  /** Something happened on a connection between clients and the process; 0 stands for all of them. `clockEpochMs`: by the process's clock, of refusals that are made. */
  | {
    readonly _tag: "OnConnection"
    readonly connection: number
    readonly atEpochMs: number
    readonly clockEpochMs: number
    readonly event: SimWire.Event
  }
  /** A command came to the writer, and was taken into its inbox or refused for lack of room. */
  | { readonly _tag: "Offered"; readonly command: Command; readonly taken: boolean }
  /**
   * A turn of the writer took a command, when the engine was at `sequence`: it was answered without a record, or decided by the next
   * one.
   */
  | {
    readonly _tag: "Taken"
    readonly command: Command
    /** Whether it came out of the inbox; false: the turn made it itself. */
    readonly waited: boolean
    readonly sequence: number
    readonly atEpochMs: number
    readonly answered: Outcome | undefined
    /**
     * The preview of a single order that is about to be placed. Where its record also does work that is due, only if a session of its
     * market changes with it.
     */
    readonly preview: { readonly view: PreviewView; readonly isDue: boolean } | undefined
    readonly model: NaiveVenue
  }
  /** A process starts, under rules and bounds; `markets` are the ids in the markets file that it finds. */
  | {
    readonly _tag: "Started"
    readonly incarnation: number
    readonly atEpochMs: number
    readonly markets: ReadonlyArray<string>
    /** The calendars of the markets that have one. */
    readonly calendars: ReadonlyArray<Scheduled>
    readonly rules: number
    readonly bounds: Bounds
    /** Records between two snapshots that the writer takes itself; 0 where a follower takes them. */
    readonly snapshotEvery: number
    readonly limits: Limits
    readonly set: Settings
    readonly toldAgain: ToldAgain
    /** Updates of a market's stream kept for returning clients, and bytes of them. */
    readonly keptOfMarkets: { readonly updates: number; readonly bytes: number }
    readonly conversing: Conversing
    /** Characters on their way to a client of the stream from which on it counts as slow, and is sent no more than it may have. */
    readonly behindBytes: number
    readonly bufferedBytes: number
    /** How long a connection may be silent before it is ended. */
    readonly silenceMs: number
    /** Connections that the venue holds at once, as its stream counts them. */
    readonly connections: number
    /** Requests of all accounts that may wait for changes at once. */
    readonly changeWaits: number
    /** Characters of the events of a page of changes from which on it takes no further record. */
    readonly pageText: number
  }
  /** The process refused to start: the journal is for another version to finish, or to continue. */
  | {
    readonly _tag: "StartRefused"
    readonly incarnation: number
    readonly rules: number
    readonly by: "UndecidedByOther" | "NewerRules"
    readonly why: string
  }
  /** The index feed gave a process a price. Price atoms; when its source took it. */
  | { readonly _tag: "Quoted"; readonly marketId: string; readonly priceAtoms: number; readonly sourceEpochMs: number }
  /**
   * The venue asks the ledger to prepare a command, or the signer for the key of an account or the signature of a transaction: `of` is the
   * command's id, the account's, or the transaction's hash in hex. Every record that is durable by then was observed before.
   */
  | { readonly _tag: "AskedOfBank"; readonly what: "prepare" | "key" | "sign"; readonly of: string }
  /**
   * The venue asks the ledger what became of a transaction, by its hash in hex: so long, by true time, after the same process did so before,
   * undefined where it has not, or where its clock was set meanwhile. Every record that is durable by then was observed before.
   */
  | { readonly _tag: "LookedFor"; readonly hash: string; readonly sinceMs: number | undefined }
  /** The venue executes a transaction, at this time of its clock. Every record that is durable by then was observed before. */
  | { readonly _tag: "Executing"; readonly submissionId: string; readonly atEpochMs: number }
  /** A reader of the venue's feed was given a record and its decisions. */
  | { readonly _tag: "Fed"; readonly decided: Decided }
  /** The feed cannot be continued, and not because of a disk fault. */
  | { readonly _tag: "FeedBroke"; readonly why: string }
  /** A client of the stream was given a snapshot or an update. */
  | {
    readonly _tag: "Streamed"
    readonly client: string
    readonly stream: string
    /** The account that the client speaks for; -1 for none. */
    readonly account: number
    /** Whether the frame names an account other than that one. */
    readonly isForeign: boolean
    readonly isSnapshot: boolean
    /** Whether several updates may have been merged into it although no gap is visible. */
    readonly mayBeMerged: boolean
    /** Its content as JSON; empty for books and candles. */
    readonly data: string
    /** The client's last sequence of the stream before this; undefined for the first. */
    readonly before: number | undefined
    readonly previousSequence: number
    readonly sequence: number
    /** The last record that was durable when the frame left the process. */
    readonly durable: number
    /** Whether the ticket under which it was sent had ended. */
    readonly isLate: boolean
    /** The stream's state by the model, if that was at the frame's record; and the state that the client now has. */
    readonly expected: string | undefined
    readonly held: string
    /** What of a book differs from what a client can compute from its updates: its decimals, its digest or its checksum. */
    readonly misread: string | undefined
  }
  /** A client of the stream was told that its state is invalid, and why. */
  | {
    readonly _tag: "Resynced"
    readonly client: string
    readonly stream: string
    readonly reason: string
    /** The client's last sequence of the stream; undefined where it has none. */
    readonly before: number | undefined
    /** The last record that was durable when the notice left the process. */
    readonly durable: number
    /** Whether reading the disk may have failed. */
    readonly mayBeUnread: boolean
  }
  /** Nothing is sent any more: a client's state of a stream, and the model's. */
  | {
    readonly _tag: "StreamRests"
    readonly client: string
    readonly stream: string
    readonly account: number
    /** The client's last sequence of the stream. */
    readonly last: number
    readonly held: string
    readonly expected: string
  }
  /**
   * A process takes up input from a connection of the stream, and has done so: its immediate answers leave between the two. `text`: of
   * a text frame. `atEpochMs`: by its clock; `elapsedMs`: by true time.
   */
  | {
    readonly _tag: "FrameTaken"
    readonly line: string
    readonly kind: "text" | "binary" | "alive"
    readonly text: string
    readonly atEpochMs: number
    readonly elapsedMs: number
  }
  | { readonly _tag: "FrameDone"; readonly line: string }
  /**
   * A frame leaves the process over a connection, which exists from its first frame on. `size`: its characters; `onItsWay`: those of
   * earlier frames that the client has not received.
   */
  | {
    readonly _tag: "FrameLeft"
    readonly line: string
    readonly frame: FrameLeft
    readonly size: number
    readonly onItsWay: number
    readonly atEpochMs: number
    readonly elapsedMs: number
  }
  /** The process ends a connection. */
  | { readonly _tag: "LineClosed"; readonly line: string; readonly code: number; readonly elapsedMs: number }
  /** Everything is quiet, and a connection is open. */
  | { readonly _tag: "LineRests"; readonly line: string; readonly elapsedMs: number }
  /** A connection was accepted at a path without a stream. */
  | { readonly _tag: "OpenedElsewhere"; readonly target: string }
  /** A client of the stream asks a connection, which has an id from the venue, to cancel its orders when it ends. */
  | { readonly _tag: "Arming"; readonly connectionId: string; readonly account: number }
  /** A client sends an order by a realtime ticket: the scope of its idempotency key. */
  | { readonly _tag: "SaidBy"; readonly ticket: string; readonly scope: string }
  /** A client sends an order over such a connection: the scope of its idempotency key. */
  | { readonly _tag: "SaidOver"; readonly connectionId: string; readonly scope: string }
  /** A realtime ticket was shown on a socket; and the venue's refusal of it leaves. `id` is the frame's. */
  | { readonly _tag: "Shown"; readonly client: string; readonly id: string; readonly ticket: string }
  | { readonly _tag: "TurnedAway"; readonly client: string; readonly id: string; readonly failure: string }
  /** A client of the stream is gone, or will never be heard of again. `isSilent`: nothing tells the venue so. By true time. */
  | { readonly _tag: "HungUp"; readonly connectionId: string; readonly isSilent: boolean; readonly atEpochMs: number }
  | { readonly _tag: "Ready"; readonly incarnation: number; readonly sequence: number; readonly atEpochMs: number }
  | { readonly _tag: "Crashed"; readonly incarnation: number; readonly ready: boolean; readonly atEpochMs: number }
  /**
   * The lock's file was removed while the process ran, when a reader of the journal found it to end at `sequence`. `byStranger`:
   * another process holds the lock instead.
   */
  | { readonly _tag: "LockTaken"; readonly incarnation: number; readonly sequence: number; readonly byStranger: boolean }
  /** The stranger released it. */
  | { readonly _tag: "LockLeft" }
  /** A reply left the process after its lock was taken away: the deciding record that it names, if any. */
  | { readonly _tag: "RepliedUnlocked"; readonly call: Call; readonly record: number | undefined }
  /** The venue started a follower. */
  | { readonly _tag: "FollowerStarted" }
  /** The venue's follower ended by itself; whether a disk operation of the process had failed. */
  | { readonly _tag: "FollowerEnded"; readonly reason: string; readonly diskFailed: boolean }
  /** The process ended by itself: on request, or because it could not continue. */
  | {
    readonly _tag: "Ended"
    readonly incarnation: number
    readonly asked: boolean
    readonly failure: string | undefined
    /** Whether a disk operation of the process failed, apart from those on a full disk. */
    readonly diskFailed: boolean
    /** Writes to the journal that were in progress when it ended, and may still be completed. */
    readonly writing: number
    /** After a graceful stop, where another version may take over: its last record, and the digest of its state. */
    readonly left: { readonly sequence: number; readonly digest: string } | undefined
    /** The record of the newest snapshot on the disk; 0 for none. */
    readonly newest: number
    readonly atEpochMs: number
  }
  /** The process met a defect that did not end it: the line of its log, and what the defect says. */
  | { readonly _tag: "Defect"; readonly line: string; readonly defect: string }
  /** The process begins to write a snapshot: the snapshot's record, and the last durable one when its file was created. */
  | { readonly _tag: "SnapshotBegun"; readonly sequence: number; readonly durable: number }
  /** The process removes a snapshot, and leaves so many on the disk. */
  | { readonly _tag: "SnapshotRemoved"; readonly sequence: number; readonly left: number }
  /** The newest snapshot on the disk of a writer that takes one after every so many records, all of which were saved. */
  | { readonly _tag: "SnapshotsCounted"; readonly newest: number; readonly sequence: number; readonly every: number }
  /** The follower of a writer runs, and has run everything up to `sequence`: the last record at which their states were compared. */
  | { readonly _tag: "FollowerRests"; readonly agreed: number; readonly sequence: number }
  /** The journal on the disk was replayed by the venue's own replay; `fault` says where it differed. */
  | {
    readonly _tag: "Replayed"
    readonly from: string
    readonly sequence: number
    readonly digest: string
    readonly fault: string | undefined
    /** What the engine's own audit found, at the first record after which it found anything. */
    readonly unsound: string | undefined
  }
  /** The histories that the venue has left were rebuilt from its journal: where they differ, and where the model says otherwise. */
  | { readonly _tag: "Rebuilt"; readonly sequence: number; readonly fault: string | undefined; readonly untrue: string | undefined }
  /**
   * One bit of the journal was flipped at rest and the venue was started on it: why it refused, or undefined if it served. `lost`: the
   * first record that can no longer be read.
   */
  | {
    readonly _tag: "Flipped"
    readonly path: string
    readonly byte: number
    readonly bit: number
    readonly lost: number
    readonly refusal: string | undefined
  }
  /**
   * A write to the journal was misdirected and reported as done, and the venue was started on the result: why it refused, or undefined
   * if it served.
   */
  | { readonly _tag: "Misdirected"; readonly path: string; readonly refusal: string | undefined }
  /**
   * A fault was planted that one guard of the start stops, and the venue was started on it. `must`: "serve", or the name of the refusal
   * that is due; `came`: the same, or the whole refusal. Where it served, `digest` is of its state and `proper` of a replay of the
   * journal alone; `changed` is a file that a refused start altered. `lost`: the first record that can no longer be read, where that is
   * known.
   */
  | {
    readonly _tag: "Planted"
    readonly what: string
    readonly must: string
    readonly came: string
    readonly digest: string
    readonly proper: string
    readonly changed: string | undefined
    readonly lost: number | undefined
  }
  /** A process writes its first block, or names a segment that it prepared. */
  | WentOn
  | SegmentNamed
  /** A part of the venue was asked what a start alone does not show; `must`: text that the result contains. */
  | { readonly _tag: "Probed"; readonly what: string; readonly must: string; readonly came: string }
  /** A data directory of known bytes was read, copied, cut or written to: what was wrong, if anything. */
  | { readonly _tag: "Drilled"; readonly what: string; readonly fault: string | undefined }
  /** Everything that the venue stores was searched for every secret that clients were given or have sent. */
  | {
    readonly _tag: "Searched"
    readonly secrets: number
    readonly found: ReadonlyArray<{ readonly secret: string; readonly where: string }>
  }
  /** Faults have stopped and time has passed: what the ledger has done, and what the venue says of it. */
  | { readonly _tag: "Reconciled"; readonly book: LedgerBook; readonly reads: Pick<Reads, "funds" | "transfer"> }
  /**
   * The world was observed between two moments, with nothing left to do at the first. `clockEpochMs`: the clock of a process that is
   * ready and running; undefined while there is none.
   */
  | {
    readonly _tag: "Watched"
    readonly atEpochMs: number
    readonly clockEpochMs: number | undefined
    /** Whether a write to the journal is in progress, or the disk failed under the process. */
    readonly isWriting: boolean
  }
  /** The disk is full from now on, or has room again. */
  | { readonly _tag: "DiskFull"; readonly isFull: boolean; readonly atEpochMs: number }
  /** All faults have stopped. */
  | { readonly _tag: "Healed"; readonly atEpochMs: number }
  /** The run is over. */
  | {
    readonly _tag: "Finished"
    readonly atEpochMs: number
    /** The venue's clock, which may be days ahead of the true time because days were let pass for it alone. */
    readonly clockEpochMs: number
    readonly unsettled: ReadonlyArray<Call>
    readonly ready: boolean
  }

/** The answer that a client got, by HTTP or over the stream. */
export const answeredIn = (seen: Observation): Extract<Observation, { readonly _tag: "Answered" }> | undefined =>
  seen._tag === "Answered" ? seen : seen._tag === "AnsweredOver" ? seen.answered : undefined
