/** The protocol of a signer in a process of its own: the path of each call, its request and its answer, for both sides. */
import * as Schema from "effect/Schema"
import { RefusalReason } from "./PartySigner.js"
import { AccountId, AccountKeys, Claim, NewParty, PartyKey, Repin, Signed, SignRequest, SignTopology } from "./Requests.js"

/** The largest body in either direction, bytes. */
export const mostBodyBytes = 128 * 1024

/** An object without a member. */
const Nothing = Schema.Record({ key: Schema.String, value: Schema.Unknown }).pipe(
  Schema.filter((value) => Object.keys(value).length === 0)
)

/** Every call is a POST with a JSON body. */
export const calls = {
  newParty: { path: "/v1/parties", request: NewParty, answer: PartyKey },
  treasuryKey: { path: "/v1/treasury-key", request: Nothing, answer: PartyKey },
  knownTreasuryKey: { path: "/v1/known-treasury-key", request: Nothing, answer: PartyKey },
  claim: { path: "/v1/treasury-claim", request: Claim, answer: Nothing },
  accountKeys: { path: "/v1/account-keys", request: Schema.Struct({ accountId: AccountId }), answer: AccountKeys },
  signTopology: { path: "/v1/topology-signatures", request: SignTopology, answer: Signed },
  sign: { path: "/v1/signatures", request: SignRequest, answer: Signed },
  repin: { path: "/v1/pins", request: Repin, answer: Nothing }
} as const

export type CallName = keyof typeof calls

/** HTTP statuses of answers without a signature. */
export const statuses = { refused: 422, unavailable: 503 } as const

export const RefusedBody = Schema.Struct({ reason: RefusalReason, detail: Schema.String })
export const DetailBody = Schema.Struct({ detail: Schema.String })
