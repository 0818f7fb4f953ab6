/** An owner at a live venue who was opened, signed in and given a key through its routes. Only the test moves deposits on. */
import { Effect } from "effect"
import { digest } from "../../src/identity/ApiKeys.js"
import type { WorkloadIdentity } from "../../src/identity/WorkloadIdentity.js"
import type { Owner as Signed } from "../engine/FundsDriver.js"
import * as Fake from "./FakeVenue.js"
import { ask, must, Owner } from "./identity/Owner.js"
import { LiveFunds } from "./LiveFunds.js"
import { LiveVenue, type Trader } from "./LiveVenue.js"

export class Depositor extends LiveFunds {
  private constructor(venue: LiveVenue, readonly signed: Signed, readonly trader: Trader, readonly session: string) {
    super(venue)
  }

  /** A venue with one owner, who is signed in and has a key. */
  static async make(): Promise<Depositor> {
    const bound = { accountId: "" }
    const workloads: WorkloadIdentity["Type"] = { verify: () => Effect.succeed({ subject: "bot", accountId: bound.accountId }) }
    const venue = LiveVenue.make(undefined, { workloads })
    const { accountId, token } = await Owner.open(venue)
    bound.accountId = accountId
    const account = venue.engine.findAccount(accountId)
    const bot = { target: "/v1/operator/bot-keys", body: { token: "a.b.c" }, key: Fake.operatorToken, idempotencyKey: venue.nextKey() }
    const { apiKey } = await must(ask(venue, bot))
    const session = venue.engine.findSession(digest(token))!.credential
    const passkey = venue.engine.passkeys(account)[0]!.credentialId
    return new Depositor(venue, { account, session, passkey }, { account, accountId, key: apiKey }, token)
  }

  /** The owner's deposits as the API lists them, newest first. */
  async listed(): Promise<ReadonlyArray<any>> {
    const target = `/v1/accounts/${this.trader.accountId}/deposits`
    return (await must(ask(this.venue, { target, key: this.session }))).deposits
  }
}
