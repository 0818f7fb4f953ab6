/**
 * What properties see of a run: what clients asked and were told, what the disk holds of the journal, what a
 * look at the engine showed, and what befell the process. Properties know nothing of generators or faults.
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
  /** What the body is said to be; undefined: JSON, as clients say it. Empty: it is not said. */
  readonly contentType?: string
  /** `issued`: a key or a session that the venue issued while the run lasted; it may have ended by now. */
  readonly credential: "trader" | "issued" | "operator" | "none" | "wrong"
  /** The bearer token sent, if any. */
  readonly token: string
  /** The engine's index of the account that acts, or -1. */
  readonly account: number
  readonly accountId: string
  readonly idempotencyKey: string | undefined
  /** What the key is remembered under, where the call is a command; undefined for reads. */
  readonly scope: string | undefined
  /** What the client meant by it, for traces and counts. */
  readonly intent: string
  /** Whether the client asks again, under the same identity, until it is told. */
  readonly persistent: boolean
  /** What it is by the contract, read from its text. */
  readonly reading: Reading
}

/** A response as its client got it. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<globalThis.Record<string, string>>
  readonly text: string
  /** The parsed body; undefined where it is empty or no JSON. */
  readonly json: unknown
}

/** The same as it leaves the process. */
export type Reply = Omit<Answer, "json">

/** Whether a request was refused for coming too often: whether it may be, `nobody-does-more-than-his-limit` says. */
export const isLimited = ({ status, text }: Reply): boolean => status === 429 && !text.includes("\"rejectionGuard\"")

/** How long after there is room on the disk again a process may take to find it, in milliseconds. */
export const roomFoundWithinMs = 8_000

/** The bounds that a process is configured with: see `Bounds` of the options, and the most records of a block. */
export interface Bounds {
  /** Challenges and agents that one address may leave open; 64 and 16 where it is not said. */
  readonly ofAddress?: OfAddress
  readonly orders: number
  readonly idempotencyKeys: number
  readonly accountParts?: number
  /** Orders beyond the price bands that a record cancels at most; 64 where it is not said. */
  readonly clearedAtOnce?: number
  /** Accounts that a record looks at as marks have come near theirs; 256 where it is not said. */
  readonly examinedAtOnce?: number
  /** Whole minutes before the running one that a final price is made of; 30 where it is not said. */
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

/** How many requests a process lets in, and in what time. */
export interface Limits {
  readonly perKey: number
  readonly perAddress: number
  /** How often an address may sign in. Absent from what was kept before it was drawn: as often as it may do anything. */
  readonly signInsPerAddress?: number
  readonly windowMs: number
}

/** How far back accounts are told again: at least so many of the latest records, and at least so long. */
export interface ToldAgain {
  readonly records: number
  readonly ms: number
}

/** What one connection of the stream may have: frames of a second, orders under way, streams. */
export interface Conversing {
  readonly messagesPerSecond: number
  readonly orders: number
  readonly subscriptions: number
}

/** A frame of the venue's as far as it is told what it answers, and of which stream it is. */
export interface FrameLeft {
  readonly type: string
  /** Of who subscribes: whether the stream goes on where the client was. */
  readonly resumed?: boolean
  /** That of the frame which it answers; of a refusal perhaps what was sent as one and is none, a number even. */
  readonly id?: string
  readonly channel?: string
  readonly stream?: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
  readonly accountId?: string
  /** Of what a stream tells: the sequence up to which its client has the stream by it. */
  readonly sequence?: number
  readonly error?: { readonly code: string; readonly rejectionGuard?: string; readonly realtimeTicketFailure?: string }
  /** Of a greeting: what the venue says of itself, and of what a connection may have. */
  readonly version?: string
  readonly environment?: string
  readonly heartbeatMs?: number
  readonly limits?: { readonly subscriptions: number; readonly messagesPerSecond: number; readonly bufferedBytes: number }
  readonly retention?: Readonly<globalThis.Record<string, object>>
  readonly heads?: Readonly<globalThis.Record<string, number>>
  /** When the ticket is over that it tells of, and when a greeting, an answer to a ping or a heartbeat was made. */
  readonly expiresAt?: number
  readonly serverTimeEpochMs?: number
}

/** Whether a call is of a route that there is only where accounts may be affiliates. */
export const isOfAffiliates = ({ endpoint }: Call): boolean => endpoint === "registerAffiliate" || endpoint === "getAffiliate"

/** What of a process is there or not, by how it is set: affiliates, a platform whose workloads may have bots' keys, and a ledger. */
export interface Settings {
  readonly affiliates: boolean
  readonly workloads: boolean
  readonly ledger: boolean
}

/** What the clock read when a refusal was made, as it tells; 0 where it does not. */
export const occurredAtEpochMs = ({ text }: Answer): number => Number(/"occurredAtEpochMs":([0-9]+)/.exec(text)?.[1] ?? 0)

/** When a refusal without a record was decided: by the clock's time, which no record need have come to yet, or by the last record's. */
export const refusedAtEpochMs = (answer: Answer, { atEpochMs }: NaiveVenue): number => Math.max(occurredAtEpochMs(answer), atEpochMs)

/** The record that an answer's own id names as what decided it; undefined where it names none. */
export const recordNamed = ({ headers }: Reply): number | undefined => Ids.parseRequestId(headers["x-request-id"] ?? "")?.sequence

/** What a ledger said to an execution. */
export interface LedgerAnswer {
  /** `taken`, or the code by which it was refused for certain; `open` where it said nothing for certain. */
  readonly said: string
  /** The ledger's end when it said so. */
  readonly endOffset: number
}

/** What a ledger has done, told by itself. Hashes are in hex. */
export interface LedgerBook {
  /** What the treasury holds, money atoms. */
  readonly treasuryAtoms: bigint
  /** Completions up to this offset were forgotten. */
  readonly prunedThrough: number
  /** The same at each offset at which it came to be another amount, oldest first. */
  readonly held: ReadonlyArray<{ readonly offset: number; readonly atoms: bigint }>
  /** What strangers have sent the treasury beside all deposits, up to each offset at which they did, oldest first. */
  readonly sent: ReadonlyArray<{ readonly offset: number; readonly atoms: bigint }>
  /** What was given out of nothing, money atoms, beside what every party is given. */
  readonly given: ReadonlyArray<number>
  /** Every submission of the venue's that it took; `prepared` is base64. */
  readonly taken: ReadonlyArray<{ readonly hash: string; readonly prepared: string; readonly submissionId: string }>
  /** Hashes of what others than the venue had executed, who have come by a party's key. */
  readonly byStrangers: ReadonlySet<string>
  /** What it said to each execution of the venue's, by its submission. */
  readonly answers: ReadonlyMap<string, LedgerAnswer>
  /** Commands of which it once prepared something else than was asked for. */
  readonly altered: ReadonlySet<string>
  /** The most that the treasury pays out at once, money atoms. */
  readonly perWithdrawalAtoms: number
  /** The longest, behind the ledger's own time, for which it was asked to record what it prepared, milliseconds. */
  readonly recordableMs: number
  /** The passkeys whose approvals the signer takes, by account. */
  readonly pinned: ReadonlyMap<string, ReadonlySet<string>>
  /** Every acceptance that it told, oldest first. */
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
    /** The process's clock when the call was sent and when it was answered; undefined where it did not run truly between the two. */
    readonly clock: readonly [number, number] | undefined
    readonly model: NaiveVenue
  }
  /**
   * A client of the stream got the answer to what it asked for over a connection, as a reply of the route that does the same: a result is
   * 200, a refusal has the status that its code and guard have there, and the headers are what the frame tells of them. What a connection
   * refuses by itself is none of these.
   */
  | { readonly _tag: "AnsweredOver"; readonly answered: Extract<Observation, { readonly _tag: "Answered" }> }
  /** A reply left the process that took so long to come about: said only where it was long. */
  | { readonly _tag: "RepliedLate"; readonly call: Call; readonly tookMs: number }
  /** A client got none. */
  | { readonly _tag: "Unanswered"; readonly call: Call; readonly attempt: number; readonly refused: boolean }
  /** A client has what it wanted, or gave up on something it need not insist on. */
  | { readonly _tag: "Settled"; readonly call: Call }
  /** A record became durable: on the disk, whole, in a block whose digests hold. */
  | {
    readonly _tag: "Committed"
    readonly record: Record
    readonly decision: NaiveDecision
    readonly model: NaiveVenue
    /** Where its block begins, how many records that has, and its size on the disk. */
    readonly block: {
      readonly epoch: number
      readonly firstSequence: number
      readonly count: number
      readonly bytes: number
      /** What of its bytes is not as the layout has it. */
      readonly misread: string | undefined
    }
  }
  /** The engine was looked at with the model at the same record. `whole`: everything; otherwise what `decision` touched. */
  | {
    readonly _tag: "Inspected"
    readonly reads: Glance
    readonly model: NaiveVenue
    readonly decision: NaiveDecision | undefined
    readonly whole: boolean
  }
  /** A request came to the process, whose clock reads that, which takes it up: what it does at once lies between this and `Handled`. */
  | { readonly _tag: "Handling"; readonly call: Call; readonly atEpochMs: number }
  /**
   * The process has taken it up, when its clock read that; `answer`: undefined where it is answered later. `lowestEpochMs` and
   * `highestEpochMs`: the earliest and the latest that the clock has told anybody since the request before.
   */
  | {
    readonly _tag: "Handled"
    readonly call: Call
    readonly atEpochMs: number
    readonly lowestEpochMs: number
    readonly highestEpochMs: number
    readonly answer: Reply | undefined
  }
  /** A command came to the writer, and was taken into its inbox or refused for want of room. */
  | { readonly _tag: "Offered"; readonly command: Command; readonly taken: boolean }
  /** A turn of the writer took a command, when the engine stood at `sequence`: it was answered without a record, or decided by the next. */
  | {
    readonly _tag: "Taken"
    readonly command: Command
    readonly sequence: number
    readonly atEpochMs: number
    readonly answered: Outcome | undefined
    /**
     * Of a placement of one order that is about to be decided: what a preview says of it. Where something falls due with its record, only
     * as a session of its market comes to a moment with it.
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
    /** The calendars of those that have one. */
    readonly calendars: ReadonlyArray<Scheduled>
    readonly rules: number
    readonly bounds: Bounds
    readonly limits: Limits
    readonly set: Settings
    readonly toldAgain: ToldAgain
    /** Updates of a market's stream that are kept for those who come back, and bytes of them. */
    readonly keptOfMarkets: { readonly updates: number; readonly bytes: number }
    readonly conversing: Conversing
    /** Characters on their way to a client of the stream from which on it is slow, and has as much as it may have. */
    readonly behindBytes: number
    readonly bufferedBytes: number
    /** For how long nothing is heard of a connection that is ended for it. */
    readonly silenceMs: number
  }
  /** It refused to: the journal is another version's to finish, or to go on with. */
  | {
    readonly _tag: "StartRefused"
    readonly incarnation: number
    readonly rules: number
    readonly by: "UndecidedByOther" | "NewerRules"
    readonly why: string
  }
  /** A process was handed a price by the index feed. Price atoms; when its source took it. */
  | { readonly _tag: "Quoted"; readonly marketId: string; readonly priceAtoms: number; readonly sourceEpochMs: number }
  /** A reader of the venue's feed was given a record with what it decided. */
  | { readonly _tag: "Fed"; readonly decided: Decided }
  /** It cannot be given any more, and not for a fault of the disk. */
  | { readonly _tag: "FeedBroke"; readonly why: string }
  /** A client of the stream was given a snapshot or an update. */
  | {
    readonly _tag: "Streamed"
    readonly client: string
    readonly stream: string
    /** Whom the client speaks for; -1 for nobody. */
    readonly account: number
    /** Whether it names an account that is not that one. */
    readonly isForeign: boolean
    readonly isSnapshot: boolean
    /** Whether it may be several updates as one, though no gap is to be seen. */
    readonly mayBeMerged: boolean
    /** What it says, JSON; empty of books and candles. */
    readonly data: string
    /** The last sequence that the client had of the stream; undefined before any. */
    readonly before: number | undefined
    readonly previousSequence: number
    readonly sequence: number
    /** The last record that was durable when the frame left the process. */
    readonly durable: number
    /** Whether the ticket was over by which it was sent. */
    readonly isLate: boolean
    /** What the stream's state was then by the model, where that stood at the frame's record; and what the client has by it. */
    readonly expected: string | undefined
    readonly held: string
    /** What of a book is not as whoever has it can reckon from what it was sent: its decimals, its digest, its checksum. */
    readonly misread: string | undefined
  }
  /** A client of the stream was told that what it has is no good any more, and why. */
  | {
    readonly _tag: "Resynced"
    readonly client: string
    readonly stream: string
    readonly reason: string
    /** The last sequence that it had of the stream; undefined before any. */
    readonly before: number | undefined
    /** The last record that was durable when that left the process. */
    readonly durable: number
    /** Whether the disk may have failed to be read. */
    readonly mayBeUnread: boolean
  }
  /** Nothing is sent any more: what a client has of a stream, and what it is by the model. */
  | {
    readonly _tag: "StreamRests"
    readonly client: string
    readonly stream: string
    readonly account: number
    /** The last sequence that the client has of it. */
    readonly last: number
    readonly held: string
    readonly expected: string
  }
  /**
   * A process takes up what came over a connection of the stream, and has done so: what it says at once leaves between the two. `text`:
   * of a frame that is one. `atEpochMs`: by its clock; `elapsedMs`: by true time.
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
   * A frame leaves the process over a connection, which is there from the first of them on. `size`: its characters; `onItsWay`: those
   * of frames before it that the client has not taken.
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
  /** All is quiet, and a connection is open. */
  | { readonly _tag: "LineRests"; readonly line: string; readonly elapsedMs: number }
  /** Something took a connection where there is no stream. */
  | { readonly _tag: "OpenedElsewhere"; readonly target: string }
  /** A client of the stream asks that a connection cancel its orders, which the venue has given an id. */
  | { readonly _tag: "Arming"; readonly connectionId: string; readonly account: number }
  /** It sends an order by a realtime ticket: what its key is remembered under. */
  | { readonly _tag: "SaidBy"; readonly ticket: string; readonly scope: string }
  /** It sends an order over such a connection: what its key is remembered under. */
  | { readonly _tag: "SaidOver"; readonly connectionId: string; readonly scope: string }
  /** A realtime ticket was shown on a socket; and the venue's word leaves that it is not taken. `id` is the frame's. */
  | { readonly _tag: "Shown"; readonly client: string; readonly id: string; readonly ticket: string }
  | { readonly _tag: "TurnedAway"; readonly client: string; readonly id: string; readonly failure: string }
  /** A client of the stream is gone, or will never be heard of again. `isSilent`: nothing tells the venue so. By true time. */
  | { readonly _tag: "HungUp"; readonly connectionId: string; readonly isSilent: boolean; readonly atEpochMs: number }
  | { readonly _tag: "Ready"; readonly incarnation: number; readonly sequence: number; readonly atEpochMs: number }
  | { readonly _tag: "Crashed"; readonly incarnation: number; readonly ready: boolean; readonly atEpochMs: number }
  /**
   * The lock's file was removed under the process, when who read the journal found it to end at `sequence`. `byStranger`: another
   * holds the lock in its place.
   */
  | { readonly _tag: "LockTaken"; readonly incarnation: number; readonly sequence: number; readonly byStranger: boolean }
  /** The stranger let go of it. */
  | { readonly _tag: "LockLeft" }
  /** A reply left the process after its lock was taken away: the record that it names as what decided it, if it names one. */
  | { readonly _tag: "RepliedUnlocked"; readonly call: Call; readonly record: number | undefined }
  /** The venue's follower ended by itself; whether an operation of the disk had failed under the process. */
  | { readonly _tag: "FollowerEnded"; readonly reason: string; readonly diskFailed: boolean }
  /** The process ended by itself: asked to, or because it could not go on. */
  | {
    readonly _tag: "Ended"
    readonly incarnation: number
    readonly asked: boolean
    readonly failure: string | undefined
    /** Whether an operation of the disk failed under it, beside a disk that is full. */
    readonly diskFailed: boolean
    /** Writes to the journal that it left under way, and that may still end. */
    readonly writing: number
    /** After a graceful stop, where another version may take over: its last record, and the digest of its state. */
    readonly left: { readonly sequence: number; readonly digest: string } | undefined
    /** The record of the newest snapshot on the disk; 0 for none. */
    readonly newest: number
    readonly atEpochMs: number
  }
  /** A snapshot begins to be written: the record that it is of, and the last one that was durable when its file was made. */
  | { readonly _tag: "SnapshotBegun"; readonly sequence: number; readonly durable: number }
  /** A snapshot is removed, and so many are left on the disk. */
  | { readonly _tag: "SnapshotRemoved"; readonly sequence: number; readonly left: number }
  /** The newest snapshot on the disk of a writer that takes one itself behind every so many records, all of which were saved. */
  | { readonly _tag: "SnapshotsCounted"; readonly newest: number; readonly sequence: number; readonly every: number }
  /** The journal on the disk was replayed by the venue's own replay; `fault` says where it differed. */
  | {
    readonly _tag: "Replayed"
    readonly from: string
    readonly sequence: number
    readonly digest: string
    readonly fault: string | undefined
    /** What the engine's own sums say is wrong, at the first record behind which they were taken. */
    readonly unsound: string | undefined
  }
  /** The histories that the venue has left were made anew from its journal: where they differ, if they do. */
  | { readonly _tag: "Rebuilt"; readonly sequence: number; readonly fault: string | undefined }
  /**
   * One bit of the journal was flipped at rest and the venue started over it: why it refused, or undefined if it served. `lost`: the
   * first record that cannot be read any more.
   */
  | {
    readonly _tag: "Flipped"
    readonly path: string
    readonly byte: number
    readonly bit: number
    readonly lost: number
    readonly refusal: string | undefined
  }
  /** A write to the journal went astray, was called done, and the venue started over what it left: why it refused, or undefined if it served. */
  | { readonly _tag: "Misdirected"; readonly path: string; readonly refusal: string | undefined }
  /**
   * A fault was planted that one guard of the start stops, and the venue started over it. `must`: "serve", or the name of
   * the refusal that is due; `came`: the same, or the whole refusal. Where it served, `digest` is of its state and `proper`
   * of a replay of the journal alone; `changed` is a file that a refused start left otherwise than it was. `lost`: the first record
   * that cannot be read any more, where it can be told.
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
  /** A process writes its first block, or gives a segment that it prepared its name. */
  | WentOn
  | SegmentNamed
  /** A part of the venue was asked what a start alone does not show; `must`: what stands in what it comes to. */
  | { readonly _tag: "Probed"; readonly what: string; readonly must: string; readonly came: string }
  /** What the venue keeps was searched for every secret that clients were told or have sent. */
  | {
    readonly _tag: "Searched"
    readonly secrets: number
    readonly found: ReadonlyArray<{ readonly secret: string; readonly where: string }>
  }
  /** Faults have stopped and time has passed: what the ledger has done, and what the venue says of it. */
  | { readonly _tag: "Reconciled"; readonly book: LedgerBook; readonly reads: Pick<Reads, "funds" | "transfer"> }
  /**
   * The world was looked at between two moments, with nothing left that could be done at the first. `clockEpochMs`: what the clock of a
   * process reads that is ready and goes on; undefined while there is none.
   */
  | {
    readonly _tag: "Watched"
    readonly atEpochMs: number
    readonly clockEpochMs: number | undefined
    /** Whether something is being written to the journal, or the disk failed under the process. */
    readonly isWriting: boolean
  }
  /** The disk is full from now on, or has room again. */
  | { readonly _tag: "DiskFull"; readonly isFull: boolean; readonly atEpochMs: number }
  /** All faults have stopped. */
  | { readonly _tag: "Healed"; readonly atEpochMs: number }
  /** Nothing more is to come. */
  | {
    readonly _tag: "Finished"
    readonly atEpochMs: number
    /** What the venue's clock shows, which days that were let pass for it alone put ahead of the true time. */
    readonly clockEpochMs: number
    readonly unsettled: ReadonlyArray<Call>
    readonly ready: boolean
  }

/** The answer that a client got, whichever way it came. */
export const answeredIn = (seen: Observation): Extract<Observation, { readonly _tag: "Answered" }> | undefined =>
  seen._tag === "Answered" ? seen : seen._tag === "AnsweredOver" ? seen.answered : undefined
