/**
 * The external ledger: prepares transactions for a party to sign, takes signed ones, and tells later what became of them. The
 * venue moves nothing on it by itself. What is taken is not yet decided: only a completion decides, and only completions prove
 * that a time of the ledger has passed.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { PlannedCommand } from "./Planned.js"
import type { HashingScheme } from "./prepared/PreparedTransaction.js"

/**
 * The ledger said no, for certain: what was asked has no effect, nor will it have. Of an execution it says so of that submission
 * alone: an earlier one of the same command may have succeeded, and be the very reason.
 */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  /** The ledger's name of the error: `DUPLICATE_COMMAND`, `PARTICIPANT_PRUNED_DATA_ACCESSED`, ... */
  code: Schema.String,
  cause: Schema.String,
  /** What the ledger adds to it, by name: `earliest_offset`, `existing_submission_id`, ... */
  context: Schema.Record({ key: Schema.String, value: Schema.String })
}) {
  override get message() {
    return `the ledger refused: ${this.code}: ${this.cause}`
  }
}

/** No definite answer: what was asked may have been done, may yet be done, or may never be. */
export class Unknown extends Schema.TaggedError<Unknown>()("Unknown", {
  /** The ledger's name of the error, where it said one without a definite answer. */
  code: Schema.UndefinedOr(Schema.String),
  cause: Schema.String
}) {
  override get message() {
    return `the ledger gave no definite answer: ${this.code === undefined ? "" : `${this.code}: `}${this.cause}`
  }
}

/** Certainly nothing was sent. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { cause: Schema.String }) {
  override get message() {
    return `the ledger cannot be reached: ${this.cause}`
  }
}

export type LedgerError = Refused | Unknown | Unavailable

/**
 * Codes of errors that mean something of their own to who executes, more than whether they are definite. The ledger may answer them,
 * as `Refused` or as `Unknown`, or tell them by a rejected completion.
 */
export const codes = {
  /** An earlier submission of the same command succeeded within the deduplication period: look its completion up. */
  duplicate: "DUPLICATE_COMMAND",
  /** An earlier submission of the same command is not decided yet: wait. */
  inFlight: "SUBMISSION_ALREADY_IN_FLIGHT",
  /** Deduplication cannot reach back as far as was asked: whether an earlier submission succeeded can no longer be told. */
  period: "INVALID_DEDUPLICATION_PERIOD",
  /** Completions as old as asked for are gone. */
  pruned: "PARTICIPANT_PRUNED_DATA_ACCESSED",
  /** The port's own: whoever pays holds enough, but other transactions that are under way spend it. */
  inUse: "HOLDINGS_IN_USE",
  /** The port's own: it holds enough, in more pieces than one transaction spends; `largestAtoms` tells what one could pay. */
  pieces: "TOO_MANY_HOLDINGS"
} as const

/** A transaction to sign, as the ledger prepared it. Nothing in it may be believed before `prepared/Check.ts`. */
export interface Preparation {
  /** Canton's PreparedTransaction, as bytes. */
  readonly preparedTransaction: Uint8Array
  /** What the ledger says is to be signed: 32 bytes. */
  readonly hash: Uint8Array
  readonly scheme: HashingScheme
}

/** Holdings that other transactions name. */
export interface Claims {
  /** Of what waits for an approval that may never come: left alone where others do. */
  readonly asked: ReadonlySet<string>
  /** Of what is approved or executed, and not decided: never chosen. */
  readonly underWay: ReadonlySet<string>
}

/**
 * Holdings of a party's that can be spent and that can be read; beyond, neither what it holds nor what it could spend is known. Nor is it
 * where the party sees more contracts of the template than the second: anybody may make it holdings of another asset, or finer than an
 * atom, and who looks for the others reads them all.
 */
export const mostHoldings = 10_000
export const mostContracts = 100_000

/** What a party holds of the settlement asset, at an offset. */
export interface HeldAtOffset {
  /** What the holdings are worth, each rounded down to an atom. */
  readonly atoms: bigint
  /** How many there are that can be spent: of whole atoms. */
  readonly pieces: number
  /** How many holdings the party sees, of whatever asset and however fine. */
  readonly seen: number
  readonly offset: number
}

/** One submission of a signed transaction. */
export interface Submission {
  readonly preparedTransaction: Uint8Array
  readonly scheme: HashingScheme
  /** Ed25519 over the hash: 64 bytes. */
  readonly signature: Uint8Array
  /** Fingerprint of the key that signed. */
  readonly signedBy: string
  readonly party: string
  /** Another for every submission. */
  readonly submissionId: string
  readonly userId: string
  /** Refused as a duplicate where the same command succeeded behind this offset. */
  readonly deduplicateFromOffset: number
}

/** What became of one submission. */
export interface Completion {
  readonly commandId: string
  /** Empty where the ledger does not tell. */
  readonly submissionId: string
  readonly actAs: ReadonlyArray<string>
  readonly offset: number
  /** Of the synchronizer, where it is the one that is asked about. */
  readonly recordTimeEpochMs: number | undefined
  readonly outcome: Accepted | Rejected
}

export interface Accepted {
  readonly _tag: "Accepted"
  readonly updateId: string
}

/** The submission has no effect. `code` is the ledger's name of the error: that of a duplicate says that another one has had its. */
export interface Rejected {
  readonly _tag: "Rejected"
  readonly code: string
  readonly message: string
}

/** A stretch of completions without a gap. */
export interface Page {
  readonly completions: ReadonlyArray<Completion>
  /** All completions behind the beginning up to here, inclusive, are in this page: where the next one begins. */
  readonly throughOffset: number
  /**
   * The synchronizer's record time at `throughOffset`, rounded down: a command whose maximum is below it, and whose acceptance
   * is not at or before that offset, will never be accepted. Undefined where the page says nothing of it.
   */
  readonly recordTimeEpochMs: number | undefined
}

export class Ledger extends Context.Tag("venue/ledger/Ledger")<Ledger, {
  /** Who executes and deduplicates. Asked of the ledger once; a step stays with one participant for good. */
  readonly participantId: Effect.Effect<string, LedgerError>
  /**
   * The last offset, and the synchronizer's record time where the ledger tells it. Where it does not, a maximum is reckoned from
   * the venue's clock, which is safe: that a record time has passed is shown by completions alone.
   */
  readonly end: Effect.Effect<{ readonly offset: number; readonly recordTimeEpochMs: number | undefined }, LedgerError>
  /** Has a planned command made into a transaction that can be recorded up to and including the given record time. */
  readonly prepare: (planned: PlannedCommand, maxRecordTimeEpochMs: number, claims?: Claims) => Effect.Effect<Preparation, LedgerError>
  /** Hands over a signed transaction. Success means taken, not decided. */
  readonly execute: (submission: Submission) => Effect.Effect<void, LedgerError>
  /** Completions behind an offset, oldest first, of commands of a user that any of the parties acted in; at most 200 of them. */
  readonly completions: (query: {
    readonly userId: string
    readonly parties: ReadonlyArray<string>
    readonly beginExclusive: number
    readonly limit: number
  }) => Effect.Effect<Page, LedgerError>
  /** The acceptance of the transaction with this hash. That there is none says nothing: not every ledger can look it up. */
  readonly completionByHash: (hash: Uint8Array) => Effect.Effect<Completion | undefined, LedgerError>
  /**
   * Makes an Ed25519 key (32 bytes) a party of the ledger. `sign` is given the hash to sign and the topology that it is of, which
   * is known to hash to it. The same key and hint come to the same party, so it may be repeated.
   */
  readonly allocateParty: <E, R>(
    publicKey: Uint8Array,
    hint: string,
    sign: (multiHash: Uint8Array, topology: ReadonlyArray<Uint8Array>) => Effect.Effect<Uint8Array, E, R>
  ) => Effect.Effect<{ readonly partyId: string }, LedgerError | E, R>
  readonly holdings: (party: string) => Effect.Effect<HeldAtOffset, LedgerError>
}>() {}
