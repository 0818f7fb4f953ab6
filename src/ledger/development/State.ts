/**
 * All that the development ledger knows, and what changes it. Every change is an input that says its own time and chance, so that
 * the inputs in their order come to the same state again: what is durable is inputs, and now and then a whole state.
 */
import * as Schema from "effect/Schema"

/** Microseconds since 1970: the ledger's own times. */
const Micros = Schema.Number.pipe(Schema.int(), Schema.nonNegative())
const Base64 = Schema.String

/** How a submission fares behind the API, for the scripts of faults. Nothing of it in a ledger that is told nothing. */
export const Handling = Schema.Struct({
  /** Taken at once, put in order later. */
  sequenceAfterMs: Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000)),
  /** In order, decided later: nothing behind it is decided before. */
  completeAfterMs: Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000)),
  /** Put in order just when its maximum record time has passed, or is there. */
  sequence: Schema.Literal("asTaken", "afterMaximum", "atMaximum", "beforeMaximum"),
  /** Told twice of the same submission, the second time of another update. */
  isToldTwice: Schema.Boolean,
  /** The submission is a duplicate that is told by its completion rather than by the answer. */
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

/** What changes a ledger. */
export const Input = Schema.Union(
  Schema.TaggedStruct("Allocated", { atMicros: Micros, partyId: Schema.String, publicKey: Base64 }),
  /** The faucet gave. */
  Schema.TaggedStruct("Minted", { atMicros: Micros, contractId: Schema.String, owner: Schema.String, amountAtoms: Schema.String }),
  Schema.TaggedStruct("Taken", { atMicros: Micros, ...Taken.fields }),
  /** Time went on: what was due by then is put in order and decided. */
  Schema.TaggedStruct("Advanced", { atMicros: Micros }),
  /** A completion of a command that nobody gave. */
  Schema.TaggedStruct("Invented", { atMicros: Micros, userId: Schema.String, party: Schema.String, commandId: Schema.String }),
  /** Completions so far are gone. */
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

/** One that is active no more, for whoever asks what there was before. */
const Ended = Schema.Struct({
  ...Contract.fields,
  /** The offset of what spent it. */
  endedAtOffset: Schema.Number
})
export type Ended = typeof Ended.Type

/** A submission that was taken and is not decided. */
const Undecided = Schema.Struct({
  ...Taken.fields,
  changeId: Schema.String,
  maxRecordTimeMicros: Schema.NullOr(Micros),
  /** When it will be put in order; then, the record time at which it was. */
  sequencedAtMicros: Micros,
  /** When it will be decided, once it is in order. */
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
  /** 0 where it was accepted, else gRPC's. */
  statusCode: Schema.Number,
  message: Schema.String
})
export type Completion = typeof Completion.Type

/** A whole state, as it is kept. */
export const Kept = Schema.Struct({
  recordTimeMicros: Micros,
  offset: Schema.Number,
  prunedThrough: Schema.Number,
  parties: Schema.Array(Schema.Tuple(Schema.String, Base64)),
  contracts: Schema.Array(Contract),
  /** Both missing in a state from before they were kept. */
  ended: Schema.optional(Schema.Array(Ended)),
  knownFromOffset: Schema.optional(Schema.Number),
  submitted: Schema.Array(Undecided),
  sequenced: Schema.Array(Undecided),
  completions: Schema.Array(Completion),
  accepted: Schema.Array(Schema.Tuple(Schema.String, Schema.Number))
})
export type Kept = typeof Kept.Type

/** What the ledger knows. Written to by the machine alone. */
export interface State {
  /** What has been decided up to here has been told: the record time that is shown. */
  recordTimeMicros: number
  /** Of the last thing that happened. */
  offset: number
  /** Completions up to here, inclusive, are gone. */
  prunedThrough: number
  /** Public keys by party. */
  readonly parties: Map<string, string>
  readonly contracts: Map<string, Contract>
  /** In the order of their end. */
  readonly ended: Array<Ended>
  /** What was active at an offset before this one cannot be told any more. */
  knownFromOffset: number
  /** Taken and not yet in order, in the order of their taking. */
  submitted: Array<Undecided>
  /** In order and not yet decided. */
  readonly sequenced: Array<Undecided>
  readonly completions: Array<Completion>
  /** The offset of the newest acceptance, by change id. */
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

/** What makes a change the same change: who asks for it as whom, under which id. */
export const changeId = (userId: string, actAs: ReadonlyArray<string>, commandId: string): string =>
  JSON.stringify([userId, [...actAs].sort(), commandId])
