/** What the venue's routes take and answer, by the schemas that they are declared with: types alone, nothing of the server. */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { getBalance } from "../../edge/accounts/getBalance.js"
import type { listPositions } from "../../edge/accounts/listPositions.js"
import type { nativeError } from "../../edge/http/Envelopes.js"
import type { approveAgentConnect, denyAgentConnect, showAgentConnect } from "../../edge/identity/agentConnect.js"
import type { listApiKeys, revokeApiKey } from "../../edge/identity/apiKeys.js"
import type { listPasskeys, removePasskey } from "../../edge/identity/passkeys.js"
import type { beginRegistration, finishRegistration } from "../../edge/identity/register.js"
import type { listSecurityEvents } from "../../edge/identity/securityEvents.js"
import type { beginAuthentication, finishAuthentication } from "../../edge/identity/signIn.js"
import type { cancelOrder } from "../../edge/orders/cancelOrder.js"
import type { listOrders } from "../../edge/orders/listOrders.js"

interface Declared {
  readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.Any
}

type Answer<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Success<R["endpoint"]>
type Body<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Payload<R["endpoint"]>

/** Every failure's envelope. */
export type Envelope = ReturnType<typeof nativeError>["Type"]
export type RecoveryAction = Envelope["recoveryActions"][number]

export type RegistrationAsked = Body<typeof beginRegistration>
export type RegistrationChallenge = Answer<typeof beginRegistration>
/** What a browser made of a registration's challenge: a passkey. */
export type Registration = Body<typeof finishRegistration>

export type AuthenticationAsked = Body<typeof beginAuthentication>
export type Purpose = NonNullable<AuthenticationAsked["purpose"]>
export type AuthenticationChallenge = Answer<typeof beginAuthentication>
/** What a passkey has signed. */
export type Assertion = Body<typeof finishAuthentication>

export type Session = Answer<typeof finishAuthentication>

export type PasskeyList = Answer<typeof listPasskeys>
export type Passkey = PasskeyList["passkeys"][number]
export type PasskeyRemoval = Body<typeof removePasskey>

export type ApiKeyList = Answer<typeof listApiKeys>
export type ApiKey = ApiKeyList["keys"][number]
export type ApiKeyRevoked = Answer<typeof revokeApiKey>

export type ConnectRequest = Answer<typeof showAgentConnect>
export type Scope = ConnectRequest["scopes"][number]
export type Approval = Body<typeof approveAgentConnect>
export type Approved = Answer<typeof approveAgentConnect>
export type Denial = Body<typeof denyAgentConnect>
export type Denied = Answer<typeof denyAgentConnect>

export type SecurityEventList = Answer<typeof listSecurityEvents>
export type SecurityEvent = SecurityEventList["events"][number]

export type Balance = Answer<typeof getBalance>
export type PositionList = Answer<typeof listPositions>
export type Position = PositionList["positions"][number]
export type OrderList = Answer<typeof listOrders>
export type Order = OrderList["orders"][number]
export type Cancel = Body<typeof cancelOrder>
export type Canceled = Answer<typeof cancelOrder>
