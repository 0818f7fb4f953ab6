/** The entire state of the pages: each page shows a part of it, and keeps no state elsewhere. */
import { effect, signal, untracked } from "@preact/signals-core"
import { Activity } from "./Activity.js"
import { ApiKeys } from "./ApiKeys.js"
import { Approval } from "./Approval.js"
import { Client } from "./Client.js"
import { Credential } from "./Credential.js"
import { Funds } from "./Funds.js"
import { Leaderboard } from "./Leaderboard.js"
import { Trading } from "./market/Trading.js"
import { Markets } from "./Markets.js"
import type { Outside } from "./Outside.js"
import { Passkeys } from "./Passkeys.js"
import type { Place } from "./Places.js"
import { Portfolio } from "./Portfolio.js"
import { SignIn } from "./SignIn.js"

export class Store {
  readonly credential
  readonly place
  readonly signIn
  readonly portfolio
  readonly markets
  readonly trading
  readonly leaderboard
  readonly funds
  readonly passkeys
  readonly apiKeys
  readonly approval
  readonly activity
  readonly every: Outside["every"]
  readonly copy: Outside["copy"]
  readonly elsewhere: Outside["elsewhere"]

  constructor(outside: Outside, place: Place) {
    this.credential = new Credential(outside)
    this.place = signal(place)
    this.every = outside.every
    this.copy = outside.copy
    this.elsewhere = outside.elsewhere
    const client = new Client(outside, this.credential)
    this.signIn = new SignIn(client, this.credential, outside)
    this.portfolio = new Portfolio(client, outside)
    this.markets = new Markets(client)
    this.trading = new Trading(client, this.credential, outside, this.portfolio)
    this.leaderboard = new Leaderboard(client, outside)
    this.funds = new Funds(client, outside)
    this.passkeys = new Passkeys(client, outside)
    this.apiKeys = new ApiKeys(client)
    this.approval = new Approval(client)
    this.activity = new Activity(client)
    // One account's data is removed before another can sign in.
    effect(() => {
      if (this.credential.signed.value !== undefined) return
      const { activity, apiKeys, approval, funds, leaderboard, markets, passkeys, portfolio, trading } = this
      // Untracked, so that this runs only on signing out, and not whenever a value that is read here changes.
      untracked(() => {
        for (const part of [portfolio, markets, trading, leaderboard, funds, passkeys, apiKeys, approval, activity]) part.clear()
      })
    })
  }
}
