/** All that the pages know, in one place: each page shows a part of it, and nothing else in the pages remembers anything. */
import { effect, signal } from "@preact/signals-core"
import { Activity } from "./Activity.js"
import { ApiKeys } from "./ApiKeys.js"
import { Approval } from "./Approval.js"
import { Client } from "./Client.js"
import { Credential } from "./Credential.js"
import { Funds } from "./Funds.js"
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
    this.funds = new Funds(client, outside)
    this.passkeys = new Passkeys(client, outside)
    this.apiKeys = new ApiKeys(client)
    this.approval = new Approval(client)
    this.activity = new Activity(client)
    // What one account was shown is gone before another can be signed in.
    effect(() => {
      if (this.credential.signed.value !== undefined) return
      for (const part of [this.portfolio, this.funds, this.passkeys, this.apiKeys, this.approval, this.activity]) part.clear()
    })
  }
}
