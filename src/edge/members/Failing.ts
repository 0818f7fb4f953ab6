/** Members of refusals, limits, and the venue's own status. */
import type { Said } from "./Said.js"

export const failing: Said = {
  requestId: "The request, as in `x-request-id`: tell it to whoever looks for what happened.",
  code: "Why it was refused, for programs: see the catalogue of codes.",
  safeMessage: "Why it was refused, in words for a person.",
  message: "Why it was refused, in words for a person.",
  retryable: "Whether the same request, under the same `Idempotency-Key`, may pass later.",
  recoveryActions: "What to do next: see the catalogue of codes.",
  realtimeTicketFailure: "Why the ticket is not taken.",
  apiKeyRejection: "Why the credential may not act.",
  rejectionGuard: "Which rule refused: see the catalogue of guards.",
  withdrawalFailure: "How far the withdrawal had come.",
  dependency:
    "What the venue is waiting for: `journal`; `read_model`, the histories; `ledger`; `index_feed`; or `workload_issuer`, whose keys prove "
    + "a bot's workload.",
  name: "The name of the exchange library's error class.",
  info: "The native form of the same.",
  remaining: "How many requests are left in the window.",
  resetsAtEpochMs: "When the window ends, in milliseconds since the Unix epoch.",
  rateLimit: "How the key stands with its limit of requests.",
  durableSequence: "The last journal record that is durable.",
  details: "What there is to tell of each part.",
  reason: "What it is waiting for.",
  openapi: "The version of OpenAPI: this document is one.",
  timestamp: "Milliseconds since the Unix epoch.",
  datetime: "The same time as ISO 8601, in UTC."
}
