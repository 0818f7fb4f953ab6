/**
 * The part of the JSON Ledger API v2 that the venue uses: requests and answers. Answers may have further members, and may omit or null
 * optional ones.
 */
import * as Schema from "effect/Schema"
import { maxBytes } from "./prepared/PreparedTransaction.js"

/** Optional, or null. */
const maybe = <A, I, R>(schema: Schema.Schema<A, I, R>) => Schema.optional(Schema.NullOr(schema))

const name = Schema.String.pipe(Schema.maxLength(512))
/** Base64 with a bound on the bytes; the text is a third longer. */
const base64 = (most: number) => Schema.Uint8ArrayFromBase64.pipe(Schema.filter((bytes) => bytes.length <= most))

/** Offsets are numbers or, in some answers, numbers as text. */
const Offset = Schema.Union(Schema.Number, Schema.NumberFromString).pipe(Schema.int(), Schema.nonNegative())

/** Method and path of each request. */
export const routes = {
  prepare: ["POST", "/v2/interactive-submission/prepare"],
  execute: ["POST", "/v2/interactive-submission/execute"],
  completions: ["POST", "/v2/commands/completions"],
  completion_by_hash: ["POST", "/v2/commands/completion-by-hash"],
  ledger_end: ["GET", "/v2/state/ledger-end"],
  active_contracts: ["POST", "/v2/state/active-contracts-page"],
  generate_topology: ["POST", "/v2/parties/external/generate-topology"],
  allocate: ["POST", "/v2/parties/external/allocate"],
  participant_id: ["GET", "/v2/parties/participant-id"]
} as const satisfies Readonly<Record<string, readonly [method: "GET" | "POST", path: string]>>
export type Route = keyof typeof routes

const schemeNames = { 2: "HASHING_SCHEME_VERSION_V2", 3: "HASHING_SCHEME_VERSION_V3" } as const
const HashingScheme = Schema.transformLiterals([schemeNames[2], 2], [schemeNames[3], 3])

const CreateCommand = Schema.Struct({
  CreateCommand: Schema.Struct({ templateId: name, createArguments: Schema.Record({ key: name, value: Schema.Unknown }) })
})
const ExerciseCommand = Schema.Struct({
  ExerciseCommand: Schema.Struct({
    templateId: name,
    contractId: name,
    choice: name,
    choiceArgument: Schema.Record({ key: name, value: Schema.Unknown })
  })
})
export const JsonCommand = Schema.Union(CreateCommand, ExerciseCommand)
export type JsonCommand = typeof JsonCommand.Type

export const PrepareRequest = Schema.Struct({
  userId: name,
  commandId: name,
  commands: Schema.Array(JsonCommand).pipe(Schema.itemsCount(1)),
  actAs: Schema.Array(name).pipe(Schema.itemsCount(1)),
  disclosedContracts: Schema.Tuple(),
  synchronizerId: name,
  maxRecordTime: maybe(Schema.String),
  hashingSchemeVersion: maybe(HashingScheme)
})

export const PrepareResponse = Schema.Struct({
  /**
   * More than the venue's own limit, so that a transaction that is too long can be told from an unreadable one: fewer holdings make it
   * shorter.
   */
  preparedTransaction: base64(32 * maxBytes),
  preparedTransactionHash: base64(64),
  hashingSchemeVersion: HashingScheme
})

const Signature = Schema.Struct({
  format: name,
  signature: base64(512),
  signedBy: name,
  signingAlgorithmSpec: name
})

export const ExecuteRequest = Schema.Struct({
  preparedTransaction: base64(maxBytes),
  partySignatures: Schema.Struct({
    signatures: Schema.Array(Schema.Struct({ party: name, signatures: Schema.Array(Signature).pipe(Schema.itemsCount(1)) })).pipe(
      Schema.itemsCount(1)
    )
  }),
  submissionId: name,
  userId: name,
  deduplicationPeriod: Schema.Struct({ DeduplicationOffset: Schema.Struct({ value: Offset }) }),
  hashingSchemeVersion: HashingScheme
})

export const CompletionsRequest = Schema.Struct({
  userId: name,
  parties: Schema.Array(name).pipe(Schema.minItems(1), Schema.maxItems(10_000)),
  beginExclusive: maybe(Offset),
  limit: maybe(Schema.Number.pipe(Schema.int(), Schema.between(1, 200)))
})

const SynchronizerTime = Schema.Struct({ synchronizerId: name, recordTime: maybe(Schema.String) })

const CompletionValue = Schema.Struct({
  commandId: name,
  submissionId: maybe(name),
  userId: maybe(name),
  actAs: maybe(Schema.Array(name)),
  offset: Offset,
  updateId: maybe(name),
  status: maybe(Schema.Struct({ code: Schema.Number, message: maybe(Schema.String) })),
  synchronizerTime: maybe(SynchronizerTime)
})
export type CompletionValue = typeof CompletionValue.Type

const CheckpointValue = Schema.Struct({ offset: Offset, synchronizerTimes: maybe(Schema.Array(SynchronizerTime)) })

export const CompletionsResponse = Schema.Array(
  Schema.Struct({
    completionResponse: Schema.Union(
      Schema.Struct({ Completion: Schema.Struct({ value: CompletionValue }) }),
      Schema.Struct({ OffsetCheckpoint: Schema.Struct({ value: CheckpointValue }) }),
      Schema.Struct({ Empty: Schema.Object })
    )
  })
).pipe(Schema.maxItems(1_000))

export const ByHashRequest = Schema.Struct({ transactionHash: base64(64) })
export const ByHashResponse = Schema.Struct({ acceptedCompletion: maybe(CompletionValue) })

/** Canton's own answer has only the offset. */
export const EndResponse = Schema.Struct({ offset: maybe(Offset), synchronizerTimes: maybe(Schema.Array(SynchronizerTime)) })

export const ContractsRequest = Schema.Struct({
  eventFormat: Schema.Struct({
    filtersByParty: Schema.Record({
      key: name,
      value: Schema.Struct({
        cumulative: Schema.Array(
          Schema.Struct({
            identifierFilter: Schema.Struct({ TemplateFilter: Schema.Struct({ value: Schema.Struct({ templateId: name }) }) })
          })
        ).pipe(Schema.itemsCount(1))
      })
    }),
    verbose: Schema.Boolean
  }),
  activeAtOffset: Offset,
  maxPageSize: Schema.Number.pipe(Schema.int(), Schema.between(1, 200)),
  pageToken: maybe(name)
})

export const ContractsResponse = Schema.Struct({
  activeContracts: maybe(
    Schema.Array(
      Schema.Struct({
        contractEntry: Schema.Union(
          Schema.Struct({
            JsActiveContract: Schema.Struct({
              createdEvent: Schema.Struct({ contractId: name, templateId: name, createArgument: Schema.Unknown })
            })
          }),
          // Contracts in transit between synchronizers.
          Schema.Struct({ JsIncompleteAssigned: Schema.Object }),
          Schema.Struct({ JsIncompleteUnassigned: Schema.Object }),
          Schema.Struct({ JsEmpty: Schema.Object })
        )
      })
    ).pipe(Schema.maxItems(1_000))
  ),
  nextPageToken: maybe(name)
})

export const TopologyRequest = Schema.Struct({
  synchronizer: name,
  partyHint: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,185}$/)),
  publicKey: Schema.Struct({ format: name, keyData: base64(512), keySpec: name })
})
export const TopologyResponse = Schema.Struct({
  partyId: name,
  publicKeyFingerprint: name,
  topologyTransactions: Schema.Array(base64(maxBytes)).pipe(Schema.minItems(1), Schema.maxItems(16)),
  multiHash: base64(64)
})

export const AllocateRequest = Schema.Struct({
  synchronizer: name,
  onboardingTransactions: Schema.Array(Schema.Struct({ transaction: base64(maxBytes) })).pipe(Schema.minItems(1), Schema.maxItems(16)),
  multiHashSignatures: Schema.Array(Signature).pipe(Schema.itemsCount(1))
})
export const AllocateResponse = Schema.Struct({ partyId: name })

export const ParticipantResponse = Schema.Struct({ participantId: name })

/** Canton's error body. */
export const ErrorBody = Schema.Struct({
  code: name,
  cause: Schema.String,
  context: maybe(Schema.Record({ key: Schema.String, value: Schema.String })),
  errorCategory: maybe(Schema.Number),
  definiteAnswer: maybe(Schema.Boolean),
  retryInfo: maybe(Schema.String)
})

/** Formats and algorithms of keys and signatures, as Canton names them. */
export const crypto = {
  rawKey: "CRYPTO_KEY_FORMAT_RAW",
  curve25519: "SIGNING_KEY_SPEC_EC_CURVE25519",
  /** Ed25519's usual 64 bytes: R followed by S. */
  concat: "SIGNATURE_FORMAT_CONCAT",
  ed25519: "SIGNING_ALGORITHM_SPEC_ED25519"
} as const

/** A record time in milliseconds since 1970, rounded down; undefined for a text that is not a time. */
export const epochMsOf = (text: string): number | undefined => {
  const epochMs = Date.parse(text)
  return Number.isSafeInteger(epochMs) ? epochMs : undefined
}

/** A time of the ledger, given in microseconds since 1970, in the API's notation. */
export const timeText = (micros: number): string => {
  const epochMs = Math.floor(micros / 1_000)
  return `${new Date(epochMs).toISOString().slice(0, -1)}${String(micros % 1_000).padStart(3, "0")}Z`
}
