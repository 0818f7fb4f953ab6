/** What the venue's routes take and answer, by the schemas that they are declared with: types alone, nothing of the server. */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { getBalance } from "../../edge/accounts/getBalance.js"
import type { listPositions } from "../../edge/accounts/listPositions.js"
import type { nativeError } from "../../edge/http/Envelopes.js"
import type { cancelOrder } from "../../edge/orders/cancelOrder.js"
import type { listOrders } from "../../edge/orders/listOrders.js"

interface Declared {
  readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.Any
}

type Answer<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Success<R["endpoint"]>

export type Envelope = ReturnType<typeof nativeError>["Type"]
export type RecoveryAction = Envelope["recoveryActions"][number]

export type Balance = Answer<typeof getBalance>
export type PositionList = Answer<typeof listPositions>
export type Position = PositionList["positions"][number]
export type OrderList = Answer<typeof listOrders>
export type Order = OrderList["orders"][number]
export type CancelResult = Answer<typeof cancelOrder>

export interface Session {
  readonly version: "session/v1"
  readonly accessToken: string
  readonly tokenType: "Bearer"
  readonly accountId: string
  readonly expiresAtEpochMs: number
}

export interface Challenge {
  readonly challengeIdentifier: string
  readonly options: object
  readonly expiresAtEpochMs: number
}

export interface Passkey {
  readonly credentialId: string
  readonly displayName: string
  readonly createdAtEpochMs: number
  readonly lastUsedAtEpochMs: number | null
  readonly approvesFromEpochMs: number
}

export interface PasskeyList {
  readonly passkeys: ReadonlyArray<Passkey>
}

export type Scope = "read" | "trade"

export interface ApiKey {
  readonly keyId: string
  readonly accountId: string
  readonly principalKind: "agent" | "bot"
  readonly displayPrefix: string
  readonly clientName: string | null
  readonly scopes: ReadonlyArray<Scope>
  readonly state: "active" | "revoked" | "expired"
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
  readonly revokedAtEpochMs: number | null
  readonly lastUsedAtEpochMs: number | null
}

export interface ApiKeyList {
  readonly keys: ReadonlyArray<ApiKey>
}

export interface ConnectRequest {
  readonly userCode: string
  readonly clientName: string
  readonly scopes: ReadonlyArray<Scope>
  readonly keyLifetimeSeconds: number
  readonly requestedAtEpochMs: number
  readonly expiresAtEpochMs: number
}

export interface SecurityEvent {
  readonly kind:
    | "account_opened"
    | "signed_in"
    | "sign_in_failed"
    | "signed_out"
    | "session_ended"
    | "passkey_added"
    | "passkey_removed"
    | "agent_approved"
    | "agent_denied"
    | "key_issued"
    | "key_revoked"
    | "key_used_from_new_address"
  readonly occurredAtEpochMs: number
  readonly sequence: number
  readonly remoteAddress: string | null
  readonly credentialId: string | null
  readonly detail: string | null
}

export interface SecurityEventList {
  readonly events: ReadonlyArray<SecurityEvent>
  readonly nextCursor: string | null
}
