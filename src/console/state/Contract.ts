/** The requests and answers of the venue's routes, by the schemas that declare them: types only, without any server code. */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Envelope, MarketList, OrderList } from "../../client/venue/Contract.js"
import type { listTriggers } from "../../edge/accounts/autoClose.js"
import type { listChanges } from "../../edge/accounts/listChanges.js"
import type { listFundingPayments } from "../../edge/accounts/listFundingPayments.js"
import type { listLedger } from "../../edge/accounts/listLedger.js"
import type { listPositionHistory } from "../../edge/accounts/listPositionHistory.js"
import type { previewMargin } from "../../edge/accounts/previewMargin.js"
import type { getProfile, setProfile } from "../../edge/accounts/profile.js"
import type { confirmDeposit, createDeposit, getDeposit } from "../../edge/funds/deposits.js"
import type { getLedgerParty } from "../../edge/funds/ledgerParty.js"
import type { pinPasskeys } from "../../edge/funds/pins.js"
import type { confirmWithdrawal, createWithdrawal, getWithdrawal, listWithdrawals } from "../../edge/funds/withdrawals.js"
import type { approveAgentConnect, denyAgentConnect, showAgentConnect } from "../../edge/identity/agentConnect.js"
import type { listApiKeys, revokeApiKey } from "../../edge/identity/apiKeys.js"
import type { listPasskeys, removePasskey } from "../../edge/identity/passkeys.js"
import type { beginRegistration, finishRegistration } from "../../edge/identity/register.js"
import type { listSecurityEvents } from "../../edge/identity/securityEvents.js"
import type { beginAuthentication, finishAuthentication } from "../../edge/identity/signIn.js"
import type { getLeaderboard } from "../../edge/markets/getLeaderboard.js"
import type { cancelOrder } from "../../edge/orders/cancelOrder.js"

/** Types that the reference client names already. */
export type {
  Balance,
  Canceled,
  DepositList,
  Envelope,
  Fill,
  FillList,
  MarketList,
  OrderList,
  Position,
  PositionList,
  Stats
} from "../../client/venue/Contract.js"

interface Declared {
  readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.Any
}

type Answer<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Success<R["endpoint"]>
type Body<R extends Declared> = HttpApiEndpoint.HttpApiEndpoint.Payload<R["endpoint"]>

export type RecoveryAction = Envelope["recoveryActions"][number]

export type RegistrationAsked = Body<typeof beginRegistration>
export type RegistrationChallenge = Answer<typeof beginRegistration>
/** A browser's answer to a registration challenge: a new passkey. */
export type Registration = Body<typeof finishRegistration>

export type AuthenticationAsked = Body<typeof beginAuthentication>
export type Purpose = NonNullable<AuthenticationAsked["purpose"]>
export type AuthenticationChallenge = Answer<typeof beginAuthentication>
/** A passkey's assertion. */
export type Assertion = Body<typeof finishAuthentication>

export type Session = Answer<typeof finishAuthentication>

export type ChangeList = Answer<typeof listChanges>

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

export type Order = OrderList["orders"][number]
export type Cancel = Body<typeof cancelOrder>

export type Market = MarketList["markets"][number]
export type Leaderboard = Answer<typeof getLeaderboard>
export type Ranked = Leaderboard["entries"][number]
/** The period that a leaderboard covers. */
export type Window = Leaderboard["windowKind"]

/** How others may see the account, and what it chooses of that. */
export type Profile = Answer<typeof getProfile>
export type ProfileChosen = Body<typeof setProfile>
export type ProfileSet = Answer<typeof setProfile>

/** An order to be previewed, and its expected effect. */
export type PlaceOrder = Body<typeof previewMargin>
export type Preview = Answer<typeof previewMargin>
export type TriggerList = Answer<typeof listTriggers>
/** A take-profit and stop-loss pair of a position, or of a part of it. */
export type TriggerPair = TriggerList["triggers"][number]

export type PositionHistory = Answer<typeof listPositionHistory>
export type Episode = PositionHistory["episodes"][number]
export type Ledger = Answer<typeof listLedger>
export type LedgerEntry = Ledger["entries"][number]
export type FundingPaymentList = Answer<typeof listFundingPayments>
export type FundingPayment = FundingPaymentList["payments"][number]

export type DepositAsked = Body<typeof createDeposit>
export type Deposit = Answer<typeof getDeposit>
export type DepositConfirmation = Body<typeof confirmDeposit>
export type DepositConfirmed = Answer<typeof confirmDeposit>

export type WithdrawalAsked = Body<typeof createWithdrawal>
export type Withdrawal = Answer<typeof getWithdrawal>
export type WithdrawalList = Answer<typeof listWithdrawals>
export type WithdrawalConfirmation = Body<typeof confirmWithdrawal>
export type WithdrawalConfirmed = Answer<typeof confirmWithdrawal>

/** A step of a deposit or a withdrawal that its owner approves. */
export type SigningStep = Deposit["plannedLedgerCommands"][number]["step"]
/** The challenge with which a passkey is asked to approve a step. */
export type ApprovalChallenge = NonNullable<DepositConfirmed["challenge"]>
/** A passkey's approval. */
export type FirstFactor = Extract<DepositConfirmation, { readonly action: "complete" }>["firstFactor"]

export type LedgerParty = Answer<typeof getLedgerParty>
export type PinsAsked = Body<typeof pinPasskeys>
/** Whether the passkeys that approve on the ledger are the account's current ones, and what to do where they are not. */
export type Pins = Answer<typeof pinPasskeys>
