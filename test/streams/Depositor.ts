/** An owner at a venue that decides at once: trades with a key, and brings money in step by step, as a ledger would confirm it. */
import * as ApiKeys from "../../src/identity/ApiKeys.js"
import * as SessionTokens from "../../src/identity/SessionTokens.js"
import { LiveFunds } from "../edge/LiveFunds.js"
import type { LiveVenue, Trader } from "../edge/LiveVenue.js"
import type { Owner } from "../engine/FundsDriver.js"

const remoteAddress = "192.0.2.1"
const hourSeconds = 3_600

/** Secrets that are the same in every run. */
const drawn = (count: number): Uint8Array => new Uint8Array(count).fill(7)

export class Depositor {
  readonly trader: Trader
  /** The token of the owner's session. */
  readonly session: string
  private readonly funds: LiveFunds
  private readonly owner: Owner
  private under: number | undefined

  /** Opens an account and brings `amountAtoms` in. */
  constructor(venue: LiveVenue, amountAtoms: number) {
    const funds = new LiveFunds(venue)
    this.funds = funds
    this.owner = funds.funded(amountAtoms)
    const { account } = this.owner
    const deviceSha256 = "d".repeat(64)
    funds.ask({
      kind: "ApproveAgent",
      ...funds.by(this.owner),
      deviceSha256,
      codeChallenge: "challenge",
      clientName: "depositor",
      scopes: 3,
      keyLifetimeSeconds: hourSeconds,
      grantMs: hourSeconds * 1_000,
      remoteAddress
    })
    const { fields, text } = ApiKeys.issue(drawn, venue.engine.environment)
    funds.ask({ kind: "ExchangeGrant", deviceSha256, ...fields, remoteAddress })
    const token = SessionTokens.issue(drawn)
    funds.ask({ kind: "SignIn", credentialId: this.owner.passkey, signCount: 0, tokenSha256: token.sha256, remoteAddress })
    this.session = token.text
    this.trader = { account, accountId: venue.engine.accountId(account), key: text }
  }

  /** Requests another deposit, or advances the one under way by a step. */
  act(amountAtoms: number): void {
    const { funds, owner } = this
    if (this.under === undefined) this.under = funds.deposit(owner, amountAtoms)
    else funds.finishStep(owner, this.under)
    if (funds.transfer(this.under).end !== null) this.under = undefined
  }
}
