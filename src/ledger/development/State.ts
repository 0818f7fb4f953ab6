/**
 * The state of the development ledger, and the inputs that change it. Every input carries its own time and randomness, so that the same
 * inputs in the same order yield the same state: what is stored are inputs and, now and then, a snapshot of the state.
 */
import * as Schema from "effect/Schema"

/** Microseconds since 1970: the ledger's unit of time. */
const Micros = Schema.Number.pipe(Schema.int(), Schema.nonNegative())
const Base64 = Schema.String

/** How a submission is treated behind the API, for fault scripts. Without a script every field has its neutral value. */
export const Handling = Schema.Struct({
  /** Accepted at once, sequenced later. */
  sequenceAfterMs: Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000)),
  /** Sequenced, but decided later; nothing sequenced after it is decided before. */
  completeAfterMs: Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000)),
  /** Sequenced just after its maximum record time, or exactly at it. */
  sequence: Schema.Literal("asTaken", "afterMaximum", "atMaximum", "beforeMaximum"),
  /** Reported twice, the second time with another update id. */
  isToldTwice: Schema.Boolean,
  /** Rejected with this error in its completion, rather than in the answer. */
  rejection: Schema.NullOr(Schema.Struct({ code: Schema.String, cause: Schema.String }))
})
export type Handling = typeof Handling.Type

export const plainHandling: Handling = {
  sequenceAfterMs: 0,
  completeAfterMs: 0,
  sequence: "asTaken",
  isToldTwice: false,
  rejection: null
}

const Taken = Schema.Struct({
  /** Canton's PreparedTransaction. */
  prepared: Base64,
  hash: Base64,
  submissionId: Schema.String,
  userId: Schema.String,
  handling: Handling
})

/** The inputs that change a ledger. */
export const Input = Schema.Union(
  Schema.TaggedStruct("Allocated", { atMicros: Micros, partyId: Schema.String, publicKey: Base64 }),
  /** The faucet created a holding. */
  Schema.TaggedStruct("Minted", { atMicros: Micros, contractId: Schema.String, owner: Schema.String, amountAtoms: Schema.String }),
  Schema.TaggedStruct("Taken", { atMicros: Micros, ...Taken.fields }),
  /** Time passed: what was due by then is sequenced and decided. */
  Schema.TaggedStruct("Advanced", { atMicros: Micros }),
  /** A completion of a command that nobody submitted. */
  Schema.TaggedStruct("Invented", { atMicros: Micros, userId: Schema.String, party: Schema.String, commandId: Schema.String }),
  /** The completions so far were pruned. */
  Schema.TaggedStruct("Pruned", { atMicros: Micros })
)
export type Input = typeof Input.Type

/** An active contract. */
const Contract = Schema.Struct({
  contractId: Schema.String,
  /** Its create node. */
  create: Base64,
  createdAtMicros: Micros,
  offset: Schema.Number
})
export type Contract = typeof Contract.Type

/** An archived contract, kept for reads at earlier offsets. */
const Ended = Schema.Struct({
  ...Contract.fields,
  /** The offset of the transaction that archived it. */
  endedAtOffset: Schema.Number
})
export type Ended = typeof Ended.Type

/** A submission that was accepted and is not decided. */
const Undecided = Schema.Struct({
  ...Taken.fields,
  changeId: Schema.String,
  maxRecordTimeMicros: Schema.NullOr(Micros),
  /** When it is due to be sequenced; once it has been, its record time. */
  sequencedAtMicros: Micros,
  /** When it is due to be decided, once it is sequenced. */
  decidedAtMicros: Micros
})
export type Undecided = typeof Undecided.Type

const Completion = Schema.Struct({
  offset: Schema.Number,
  recordTimeMicros: Micros,
  commandId: Schema.String,
  submissionId: Schema.String,
  userId: Schema.String,
  actAs: Schema.Array(Schema.String),
  hash: Base64,
  /** Empty where it was rejected. */
  updateId: Schema.String,
  /** 0 where it was accepted, else a gRPC status code. */
  statusCode: Schema.Number,
  message: Schema.String
})
export type Completion = typeof Completion.Type

/** A snapshot of the state, as stored. */
export const Kept = Schema.Struct({
  recordTimeMicros: Micros,
  offset: Schema.Number,
  prunedThrough: Schema.Number,
  parties: Schema.Array(Schema.Tuple(Schema.String, Base64)),
  contracts: Schema.Array(Contract),
  /** Both are missing in snapshots from before archived contracts were kept. */
  ended: Schema.optional(Schema.Array(Ended)),
  knownFromOffset: Schema.optional(Schema.Number),
  submitted: Schema.Array(Undecided),
  sequenced: Schema.Array(Undecided),
  completions: Schema.Array(Completion),
  accepted: Schema.Array(Schema.Tuple(Schema.String, Schema.Number))
})
export type Kept = typeof Kept.Type

/** The ledger's state. Only the machine modifies it. */
export interface State {
  /** The record time that is shown: everything decided up to here has been reported. */
  recordTimeMicros: number
  /** The offset of the latest event. */
  offset: number
  /** Completions up to here, inclusive, have been pruned. */
  prunedThrough: number
  /** Public keys by party. */
  readonly parties: Map<string, string>
  readonly contracts: Map<string, Contract>
  /** In the order in which they were archived. */
  readonly ended: Array<Ended>
  /** The contracts active at an offset before this one can no longer be told. */
  knownFromOffset: number
  /** Accepted and not yet sequenced, in the order of their acceptance. */
  submitted: Array<Undecided>
  /** Sequenced and not yet decided. */
  readonly sequenced: Array<Undecided>
  readonly completions: Array<Completion>
  /** The offset of the latest acceptance, by change id. */
  readonly accepted: Map<string, number>
}

export const empty = (): State => ({
  recordTimeMicros: 0,
  offset: 0,
  prunedThrough: 0,
  parties: new Map(),
  contracts: new Map(),
  ended: [],
  knownFromOffset: 0,
  submitted: [],
  sequenced: [],
  completions: [],
  accepted: new Map()
})

export const keep = (state: State): Kept => ({
  ...state,
  parties: [...state.parties],
  contracts: [...state.contracts.values()],
  accepted: [...state.accepted]
})

export const restore = (kept: Kept): State => ({
  ...kept,
  parties: new Map(kept.parties),
  contracts: new Map(kept.contracts.map((contract) => [contract.contractId, contract])),
  ended: [...(kept.ended ?? [])],
  knownFromOffset: kept.knownFromOffset ?? kept.offset,
  submitted: [...kept.submitted],
  sequenced: [...kept.sequenced],
  completions: [...kept.completions],
  accepted: new Map(kept.accepted)
})

/** The identity of a change for deduplication: the user, the acting parties and the command id. */
export const changeId = (userId: string, actAs: ReadonlyArray<string>, commandId: string): string =>
  JSON.stringify([userId, [...actAs].sort(), commandId])
