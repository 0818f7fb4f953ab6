/** The venue's routes as the pages call them: requests are typed by the contract, and failures are values. */
import { isOf } from "../../client/venue/Rest.js"
import type * as Contract from "./Contract.js"
import type { Credential } from "./Credential.js"
import * as Failure from "./Failure.js"
import type { Result } from "./Failure.js"
import type { Answered, Outside, Sent } from "./Outside.js"

const segment = encodeURIComponent
const nothing: Partial<Sent> = {}

/** Routes whose requests count for the visitor's address, and not for the session. */
const ofAddress = /^\/v1\/(?:markets|leaderboard|auth\/passkeys)\b/

/** The query for a page of a listing. */
const page = (cursor: string | undefined): string => `limit=50${cursor === undefined ? "" : `&cursor=${segment(cursor)}`}`

export class Client {
  /** How many requests that count for the session have been sent here. Its commands are sent by a client of their own, and not counted. */
  sent = 0

  constructor(private readonly outside: Pick<Outside, "send">, private readonly credential: Credential) {}

  beginRegistration(asked: Contract.RegistrationAsked): Promise<Result<Contract.RegistrationChallenge>> {
    return this.post("/v1/auth/passkeys/registration/options", asked)
  }

  finishRegistration(registration: Contract.Registration): Promise<Result<Contract.Session>> {
    return this.post("/v1/auth/passkeys/registration/verify", registration)
  }

  beginAuthentication(purpose: Contract.Purpose): Promise<Result<Contract.AuthenticationChallenge>> {
    const accountId = this.credential.signed.value?.accountId
    const asked: Contract.AuthenticationAsked = accountId === undefined ? { purpose } : { accountId, purpose }
    return this.post("/v1/auth/passkeys/authentication/options", asked)
  }

  finishAuthentication(assertion: Contract.Assertion): Promise<Result<Contract.Session>> {
    return this.post("/v1/auth/passkeys/authentication/verify", assertion)
  }

  /** Ends a session: the one that is signed in, unless another one's token is given. */
  endSession(token?: string): Promise<Result<true>> {
    return this.end("/v1/auth/sessions/current", token === undefined ? nothing : { token })
  }

  /** Ends every other session of the account. */
  endOtherSessions(): Promise<Result<true>> {
    return this.end("/v1/auth/sessions/others")
  }

  passkeys(): Promise<Result<Contract.PasskeyList>> {
    return this.ask("GET", `${this.account}/passkeys`)
  }

  removePasskey(credentialId: string, removal: Contract.PasskeyRemoval): Promise<Result<true>> {
    return this.end(`${this.account}/passkeys/${segment(credentialId)}`, { body: removal })
  }

  apiKeys(): Promise<Result<Contract.ApiKeyList>> {
    return this.ask("GET", `${this.account}/api-keys`)
  }

  revokeApiKey(keyId: string): Promise<Result<Contract.ApiKeyRevoked>> {
    return this.ask("DELETE", `${this.account}/api-keys/${segment(keyId)}`)
  }

  connectRequest(userCode: string): Promise<Result<Contract.ConnectRequest>> {
    return this.ask("GET", `${this.account}/agent-connect/${segment(userCode)}`)
  }

  approveAgent(approval: Contract.Approval): Promise<Result<Contract.Approved>> {
    return this.post(`${this.account}/agent-connect/approve`, approval)
  }

  denyAgent(denial: Contract.Denial): Promise<Result<Contract.Denied>> {
    return this.post(`${this.account}/agent-connect/deny`, denial)
  }

  securityEvents(cursor: string | undefined): Promise<Result<Contract.SecurityEventList>> {
    const from = cursor === undefined ? "" : `&cursor=${segment(cursor)}`
    return this.ask("GET", `${this.account}/security-events?limit=50${from}`)
  }

  balance(): Promise<Result<Contract.Balance>> {
    return this.ask("GET", `${this.account}/balance`)
  }

  /** The account's changes after a sequence; the venue waits up to `waitMs` for some where there are none. */
  changes(fromSequence: number, waitMs: number): Promise<Result<Contract.ChangeList>> {
    return this.ask("GET", `${this.account}/changes?fromSequence=${fromSequence}&waitMs=${waitMs}`)
  }

  positions(): Promise<Result<Contract.PositionList>> {
    return this.ask("GET", `${this.account}/positions`)
  }

  openOrders(cursor: string | undefined): Promise<Result<Contract.OrderList>> {
    const from = cursor === undefined ? "" : `&cursor=${segment(cursor)}`
    return this.ask("GET", `${this.account}/orders?status=open&limit=100${from}`)
  }

  cancelOrder({ accountId, marketId, orderId }: Contract.Order, idempotencyKey: string): Promise<Result<Contract.Canceled>> {
    const body: Contract.Cancel = { accountId, marketId }
    return this.ask("POST", `/v1/orders/${segment(orderId)}/cancel`, { body, idempotencyKey })
  }

  markets(): Promise<Result<Contract.MarketList>> {
    return this.ask("GET", "/v1/markets")
  }

  market(marketId: string): Promise<Result<Contract.Market>> {
    return this.ask("GET", `/v1/markets/${segment(marketId)}`)
  }

  stats(marketId: string): Promise<Result<Contract.Stats>> {
    return this.ask("GET", `/v1/markets/${segment(marketId)}/stats`)
  }

  leaderboard(window: Contract.Window, cursor: string | undefined): Promise<Result<Contract.Leaderboard>> {
    return this.ask("GET", `/v1/leaderboard?window=${window}&${page(cursor)}`)
  }

  profile(): Promise<Result<Contract.Profile>> {
    return this.ask("GET", `${this.account}/profile`)
  }

  setProfile(body: Contract.ProfileChosen, idempotencyKey: string): Promise<Result<Contract.ProfileSet>> {
    return this.ask("PUT", `${this.account}/profile`, { body, idempotencyKey })
  }

  /** The expected effect of an order; nothing is placed. */
  preview(order: Contract.PlaceOrder): Promise<Result<Contract.Preview>> {
    return this.post(`${this.account}/margin/preview`, order)
  }

  triggers(): Promise<Result<Contract.TriggerList>> {
    return this.ask("GET", `${this.account}/triggers`)
  }

  fills(marketId: string, cursor: string | undefined): Promise<Result<Contract.FillList>> {
    return this.ask("GET", `${this.account}/fills?marketId=${segment(marketId)}&${page(cursor)}`)
  }

  positionHistory(marketId: string, cursor: string | undefined): Promise<Result<Contract.PositionHistory>> {
    return this.ask("GET", `${this.account}/positions/history?marketId=${segment(marketId)}&${page(cursor)}`)
  }

  ledger(marketId: string, cursor: string | undefined): Promise<Result<Contract.Ledger>> {
    return this.ask("GET", `${this.account}/ledger?marketId=${segment(marketId)}&${page(cursor)}`)
  }

  /** Funding payments in all markets. */
  fundingPayments(cursor: string | undefined): Promise<Result<Contract.FundingPaymentList>> {
    return this.ask("GET", `${this.account}/funding-payments?${page(cursor)}`)
  }

  createDeposit(body: Contract.DepositAsked, idempotencyKey: string): Promise<Result<Contract.Deposit>> {
    return this.ask("POST", `${this.account}/deposits`, { body, idempotencyKey })
  }

  deposits(cursor: string | undefined): Promise<Result<Contract.DepositList>> {
    return this.ask("GET", `${this.account}/deposits?${page(cursor)}`)
  }

  deposit(depositId: string): Promise<Result<Contract.Deposit>> {
    return this.ask("GET", `${this.account}/deposits/${segment(depositId)}`)
  }

  cancelDeposit(depositId: string): Promise<Result<Contract.Deposit>> {
    return this.ask("DELETE", `${this.account}/deposits/${segment(depositId)}`)
  }

  confirmDeposit(confirmation: Contract.DepositConfirmation): Promise<Result<Contract.DepositConfirmed>> {
    return this.post(`${this.account}/deposits/confirm`, confirmation)
  }

  createWithdrawal(body: Contract.WithdrawalAsked, idempotencyKey: string): Promise<Result<Contract.Withdrawal>> {
    return this.ask("POST", `${this.account}/withdrawals`, { body, idempotencyKey })
  }

  withdrawals(cursor: string | undefined): Promise<Result<Contract.WithdrawalList>> {
    return this.ask("GET", `${this.account}/withdrawals?${page(cursor)}`)
  }

  withdrawal(withdrawalId: string): Promise<Result<Contract.Withdrawal>> {
    return this.ask("GET", `${this.account}/withdrawals/${segment(withdrawalId)}`)
  }

  cancelWithdrawal(withdrawalId: string): Promise<Result<Contract.Withdrawal>> {
    return this.ask("DELETE", `${this.account}/withdrawals/${segment(withdrawalId)}`)
  }

  confirmWithdrawal(confirmation: Contract.WithdrawalConfirmation): Promise<Result<Contract.WithdrawalConfirmed>> {
    return this.post(`${this.account}/withdrawals/confirm`, confirmation)
  }

  ledgerParty(): Promise<Result<Contract.LedgerParty>> {
    return this.ask("GET", `${this.account}/ledger-party`)
  }

  pinPasskeys(asked: Contract.PinsAsked): Promise<Result<Contract.Pins>> {
    return this.post(`${this.account}/ledger-party/passkeys`, asked)
  }

  private get account(): string {
    return `/v1/accounts/${segment(this.credential.signed.value?.accountId ?? "")}`
  }

  private post<A>(path: string, body: unknown): Promise<Result<A>> {
    return this.ask("POST", path, { body })
  }

  /** A DELETE that the venue answers without a body. */
  private async end(path: string, more: Partial<Sent> = nothing): Promise<Result<true>> {
    const ended = await this.told("DELETE", path, more, ({ status }) => status === 204)
    return Failure.hasFailed(ended) ? ended : { value: true }
  }

  /** A request that the venue answers with a body that states its version: a proxy's page may be JSON too, or empty. */
  private ask<A>(method: Sent["method"], path: string, more: Partial<Sent> = nothing): Promise<Result<A>> {
    return this.told(method, path, more, ({ body, status }) => status === 200 && isOf("", body))
  }

  private async told<A>(
    method: Sent["method"],
    path: string,
    more: Partial<Sent>,
    isDone: (answer: Answered) => boolean
  ): Promise<Result<A>> {
    const token = more.token ?? this.credential.signed.value?.accessToken
    if (!ofAddress.test(path)) this.sent++
    const answer = await this.outside.send({ method, path, token, body: more.body, idempotencyKey: more.idempotencyKey })
    if (answer === undefined) return { failure: Failure.unanswered }
    if (isDone(answer)) return { value: answer.body as A }
    const failure = Failure.ofAnswer(answer)
    // Any other 401 concerns the wrong passkey: the session remains valid.
    if (answer.status === 401 && failure.code === "unauthorized" && token !== undefined) this.credential.rejected(token)
    return { failure }
  }
}
