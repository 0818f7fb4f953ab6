/**
 * The external ledger: it prepares transactions for a party to sign, accepts signed ones, and reports later what became of them. The venue
 * cannot move anything on it without a signature. An accepted submission is not yet decided: only a completion decides it, and only
 * completions prove that a time of the ledger has passed.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { PlannedCommand } from "./Planned.js"
import type { HashingScheme } from "./prepared/PreparedTransaction.js"

/**
 * The ledger refused, definitely: the request has no effect and never will. For an execution this holds for that submission alone: an
 * earlier one of the same command may have succeeded, and even be the reason for the refusal.
 */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  /** The ledger's name of the error: `DUPLICATE_COMMAND`, `PARTICIPANT_PRUNED_DATA_ACCESSED`, ... */
  code: Schema.String,
  cause: Schema.String,
  /** Details that the ledger adds, by name: `earliest_offset`, `existing_submission_id`, ... */
  context: Schema.Record({ key: Schema.String, value: Schema.String }),
  /** Whether the request is not at fault, but the ledger's load, its state or the venue's rights: the same request may succeed later. */
  isOfLedger: Schema.optional(Schema.Boolean),
  /** Whether of these it is a right that the venue's user lacks: no pause helps against that, and an operator has to see to it. */
  lacksRight: Schema.optional(Schema.Boolean)
}) {
  override get message() {
    return `the ledger refused: ${this.code}: ${this.cause}`
  }
}

/** No definite answer: the request may have been done, may yet be done, or may never be. */
export class Unknown extends Schema.TaggedError<Unknown>()("Unknown", {
  /** The ledger's name of the error, where it gave one without a definite answer. */
  code: Schema.UndefinedOr(Schema.String),
  cause: Schema.String
}) {
  override get message() {
    return `the ledger gave no definite answer: ${this.code === undefined ? "" : `${this.code}: `}${this.cause}`
  }
}

/** Nothing was sent, for certain. */
export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", { cause: Schema.String }) {
  override get message() {
    return `the ledger cannot be reached: ${this.cause}`
  }
}

export type LedgerError = Refused | Unknown | Unavailable

/**
 * Error codes that tell a caller who executes more than whether the error is definite. The ledger may give them in an answer, as `Refused`
 * or `Unknown`, or in a rejected completion.
 */
export const codes = {
  /** An earlier submission of the same command succeeded within the deduplication period: its completion can be looked up. */
  duplicate: "DUPLICATE_COMMAND",
  /** An earlier submission of the same command is not decided yet: the caller has to wait. */
  inFlight: "SUBMISSION_ALREADY_IN_FLIGHT",
  /** Deduplication cannot reach back as far as requested: whether an earlier submission succeeded can no longer be told. */
  period: "INVALID_DEDUPLICATION_PERIOD",
  /** The requested completions are too old and have been pruned. */
  pruned: "PARTICIPANT_PRUNED_DATA_ACCESSED",
  /** Another transaction that is not decided yet spends the same contracts. */
  locked: "LOCAL_VERDICT_LOCKED_CONTRACTS",
  /** A contract that the command needs does not exist: for this port also a step's account contract, offer or holdings. */
  notFound: "CONTRACT_NOT_FOUND",
  /** Defined by this port: the payer holds enough, but other transactions in progress spend it. */
  inUse: "HOLDINGS_IN_USE",
  /**
   * Defined by this port: the payer holds enough, but in more pieces than one transaction can spend; `largestAtoms` is what one could pay.
   */
  pieces: "TOO_MANY_HOLDINGS"
} as const

/** What a participant says where a party of a transaction does not exist: which of these depends on where it notices. */
export const unknownParty: ReadonlySet<string> = new Set(["UNKNOWN_INFORMEES", "UNKNOWN_RECIPIENTS", "PARTY_NOT_KNOWN_ON_LEDGER"])

/** A transaction to sign, as the ledger prepared it. Nothing in it may be trusted until `prepared/Check.ts` has checked it. */
export interface Preparation {
  /** Canton's PreparedTransaction, as bytes. */
  readonly preparedTransaction: Uint8Array
  /** The hash to be signed, as the ledger states it: 32 bytes. */
  readonly hash: Uint8Array
  readonly scheme: HashingScheme
}

/** Holdings that other transactions spend. */
export interface Claims {
  /** Of transactions that wait for an approval, which may never come: avoided where others suffice. */
  readonly asked: ReadonlySet<string>
  /** Of transactions that are approved or executed but not decided: never chosen. */
  readonly underWay: ReadonlySet<string>
}

/**
 * Most spendable holdings of a party that are read: with more, neither its balance nor what it could spend is known. The same holds where
 * the party sees more than `mostContracts` contracts of the template: anybody may create holdings of another asset for it, or holdings
 * finer than an atom, and all of them have to be read to find the others.
 */
export const mostHoldings = 10_000
export const mostContracts = 100_000

/** A party's holdings of the settlement asset at an offset. */
export interface HeldAtOffset {
  /** Their value, each rounded down to an atom. */
  readonly atoms: bigint
  /** How many of them can be spent, being whole atoms. */
  readonly pieces: number
  /** How many holdings the party sees, of any asset and any precision. */
  readonly seen: number
  readonly offset: number
}

/** One submission of a signed transaction. */
export interface Submission {
  readonly preparedTransaction: Uint8Array
  readonly scheme: HashingScheme
  /** Ed25519 over the hash: 64 bytes. */
  readonly signature: Uint8Array
  /** Fingerprint of the signing key. */
  readonly signedBy: string
  readonly party: string
  /** Unique to each submission. */
  readonly submissionId: string
  readonly userId: string
  /** The submission is refused as a duplicate if the same command succeeded after this offset. */
  readonly deduplicateFromOffset: number
}

/** The outcome of one submission. */
export interface Completion {
  readonly commandId: string
  /** Empty where the ledger does not give it. */
  readonly submissionId: string
  readonly actAs: ReadonlyArray<string>
  readonly offset: number
  /** The synchronizer's record time; undefined where the completion is of another synchronizer than the one asked about. */
  readonly recordTimeEpochMs: number | undefined
  readonly outcome: Accepted | Rejected
}

export interface Accepted {
  readonly _tag: "Accepted"
  readonly updateId: string
}

/**
 * The submission has no effect. `code` is the ledger's name of the error; a duplicate's code says that another submission of the command
 * succeeded.
 */
export interface Rejected {
  readonly _tag: "Rejected"
  readonly code: string
  readonly message: string
}

/** A range of completions without a gap. */
export interface Page {
  readonly completions: ReadonlyArray<Completion>
  /** All completions from the beginning of the page through this offset, inclusive, are in it; the next page begins here. */
  readonly throughOffset: number
  /**
   * The synchronizer's record time at `throughOffset`, rounded down: a command whose maximum record time is below it, and which was not
   * accepted at or before that offset, will never be accepted. Undefined where the page does not give it.
   */
  readonly recordTimeEpochMs: number | undefined
}

export class Ledger extends Context.Tag("venue/ledger/Ledger")<Ledger, {
  /** The participant that executes and deduplicates. The ledger is asked for it once; a step stays with one participant for good. */
  readonly participantId: Effect.Effect<string, LedgerError>
  /**
   * The last offset, and the synchronizer's record time where the ledger gives it. Where it does not, a maximum record time is computed
   * from the venue's clock, which is safe: only completions show that a record time has passed.
   */
  readonly end: Effect.Effect<{ readonly offset: number; readonly recordTimeEpochMs: number | undefined }, LedgerError>
  /** Has a planned command prepared as a transaction that can be recorded up to and including the given record time. */
  readonly prepare: (planned: PlannedCommand, maxRecordTimeEpochMs: number, claims?: Claims) => Effect.Effect<Preparation, LedgerError>
  /** Submits a signed transaction. Success means that it was accepted, not that it is decided. */
  readonly execute: (submission: Submission) => Effect.Effect<void, LedgerError>
  /** Completions after an offset, oldest first, of a user's commands in which any of the parties acted; at most 200 of them. */
  readonly completions: (query: {
    readonly userId: string
    readonly parties: ReadonlyArray<string>
    readonly beginExclusive: number
    readonly limit: number
  }) => Effect.Effect<Page, LedgerError>
  /** The acceptance of the transaction with this hash. Undefined proves nothing: not every ledger can look it up. */
  readonly completionByHash: (hash: Uint8Array) => Effect.Effect<Completion | undefined, LedgerError>
  /**
   * Allocates a party for an Ed25519 key (32 bytes). `sign` is given the hash to sign and the topology that it has been verified to be the
   * hash of. The same key and hint yield the same party, so the call may be repeated.
   */
  readonly allocateParty: <E, R>(
    publicKey: Uint8Array,
    hint: string,
    sign: (multiHash: Uint8Array, topology: ReadonlyArray<Uint8Array>) => Effect.Effect<Uint8Array, E, R>
  ) => Effect.Effect<{ readonly partyId: string }, LedgerError | E, R>
  readonly holdings: (party: string) => Effect.Effect<HeldAtOffset, LedgerError>
}>() {}
