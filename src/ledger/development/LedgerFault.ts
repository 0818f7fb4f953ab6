/** The errors that the development ledger answers, under Canton's names, categories and statuses. */

interface Kind {
  /** Canton's error category. */
  readonly category: number
  /** gRPC's status code. */
  readonly grpc: number
  readonly status: number
  /** Whether the error says definitely that the submission has no effect. */
  readonly isDefinite: boolean
}

const kinds = {
  /** The request is invalid. */
  INVALID_ARGUMENT: { category: 8, grpc: 3, status: 400, isDefinite: true },
  OFFSET_AFTER_LEDGER_END: { category: 12, grpc: 11, status: 400, isDefinite: true },
  PARTICIPANT_PRUNED_DATA_ACCESSED: { category: 9, grpc: 9, status: 400, isDefinite: false },
  INVALID_DEDUPLICATION_PERIOD: { category: 9, grpc: 9, status: 400, isDefinite: false },
  CONTRACT_NOT_FOUND: { category: 11, grpc: 5, status: 404, isDefinite: true },
  COMPLETION_NOT_FOUND: { category: 11, grpc: 5, status: 404, isDefinite: true },
  UNKNOWN_INFORMEES: { category: 11, grpc: 5, status: 404, isDefinite: true },
  /** The acting party lacks the authority, or the contracts do not allow the command. */
  DAML_AUTHORIZATION_ERROR: { category: 8, grpc: 3, status: 400, isDefinite: true },
  DAML_INTERPRETATION_ERROR: { category: 9, grpc: 9, status: 400, isDefinite: true },
  DUPLICATE_COMMAND: { category: 10, grpc: 6, status: 409, isDefinite: false },
  SUBMISSION_ALREADY_IN_FLIGHT: { category: 2, grpc: 10, status: 409, isDefinite: false },
  /** What blames the caller, and not the request. */
  UNAUTHENTICATED: { category: 6, grpc: 16, status: 401, isDefinite: true },
  PERMISSION_DENIED: { category: 7, grpc: 7, status: 403, isDefinite: true },
  PARTICIPANT_BACKPRESSURE: { category: 2, grpc: 10, status: 503, isDefinite: true },
  LOCAL_VERDICT_INACTIVE_CONTRACTS: { category: 11, grpc: 5, status: 404, isDefinite: true },
  LOCAL_VERDICT_LOCKED_CONTRACTS: { category: 2, grpc: 10, status: 409, isDefinite: true },
  NOT_SEQUENCED_TIMEOUT: { category: 2, grpc: 10, status: 409, isDefinite: true },
  REQUEST_TIME_OUT: { category: 3, grpc: 4, status: 503, isDefinite: false }
} satisfies Readonly<Record<string, Kind>>

export type Code = keyof typeof kinds

/** An error that the ledger gives in an answer or in a completion. */
export class LedgerFault {
  readonly _tag = "LedgerFault"
  constructor(
    readonly code: string,
    readonly cause: string,
    readonly kind: Kind,
    readonly context: Readonly<Record<string, string>> = {}
  ) {}

  /** The message of a completion's status. */
  get message(): string {
    return `${this.code}(${this.kind.category},0): ${this.cause}`
  }
}

export const fault = (code: Code, cause: string, context: Readonly<Record<string, string>> = {}): LedgerFault =>
  new LedgerFault(code, cause, kinds[code], context)

/** An error with any name, as a script demands. */
export const scripted = (code: string, cause: string, isDefinite: boolean): LedgerFault =>
  new LedgerFault(code, cause, { category: 9, grpc: 9, status: isDefinite ? 400 : 503, isDefinite })
