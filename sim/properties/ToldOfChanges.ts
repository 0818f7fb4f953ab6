/**
 * The events that a record must have, by its changes of the model: accounts, keys, sessions, passkeys and security notes, and each
 * market's status, index and mark.
 */
import * as Market from "../../src/domain/Market.js"
import type { DecodedEvent } from "../../src/engine/EventLog.js"
import * as SecurityLog from "../../src/engine/identity/SecurityLog.js"
import type { Command } from "../../src/operations/Operations.js"
import { isOfIdentity, type NaiveSignedIn } from "../model/NaiveIdentity.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"

/** An event that a record must have, with some of its fields. */
export type Must = readonly [event: DecodedEvent["event"], fields: Readonly<Record<string, number>>]

const noted: ReadonlyArray<string> = SecurityLog.kinds

/** The last observed state of a market. */
interface Seen {
  readonly status: Market.Status
  readonly index: number
  readonly source: number
  readonly mark: number
}

export class ToldOfChanges {
  #accounts = 0
  #keys = 0
  #notes = 0
  readonly #revoked = new Set<number>()
  #sessions: ReadonlyMap<number, NaiveSignedIn> = new Map()
  readonly #passkeys = new Map<number, number>()
  readonly #markets: Array<Seen> = []

  /** The events that a record must have, given the model after it. */
  since(model: NaiveVenue, command: Command): ReadonlyArray<Must> {
    const musts: Array<Must> = []
    for (; this.#accounts < model.accounts.length; this.#accounts++) {
      const { born, index: account } = model.accounts[this.#accounts]!
      musts.push(["AccountOpened", { account, born }])
    }
    const { identity } = model
    for (; this.#keys < identity.keys.length; this.#keys++) {
      const { account, expiresAtEpochMs, index: apiKey, scopes } = identity.keys[this.#keys]!
      musts.push(["ApiKeyIssued", { apiKey, account, scopes, expiresAtEpochMs }])
    }
    const { notes } = identity.history
    for (; this.#notes < notes.length; this.#notes++) {
      const { account, kind } = notes[this.#notes]!
      musts.push(["SecurityNoted", { account, kind: noted.indexOf(kind) }])
    }
    if (isOfIdentity(command)) this.#ofOwners(model, musts)
    this.#ofMarkets(model, musts)
    return musts
  }

  #ofOwners({ atEpochMs, identity: { keys, passkeys, sessions } }: NaiveVenue, musts: Array<Must>): void {
    for (const { account, index: apiKey, revokedAtEpochMs } of keys) {
      if (revokedAtEpochMs === 0 || this.#revoked.has(apiKey)) continue
      this.#revoked.add(apiKey)
      musts.push(["ApiKeyRevoked", { apiKey, account }])
    }
    for (const { account, expiresAtEpochMs, number: session } of sessions) {
      if (!this.#sessions.has(session)) musts.push(["SessionOpened", { account, session, expiresAtEpochMs }])
    }
    const now = new Map(sessions.map((session) => [session.number, session]))
    for (const { account, expiresAtEpochMs, number: session } of this.#sessions.values()) {
      // A session that had expired may have been forgotten before.
      if (!now.has(session) && expiresAtEpochMs > atEpochMs) musts.push(["SessionEnded", { account, session }])
    }
    this.#sessions = now
    const counts = new Map<number, number>([...this.#passkeys.keys()].map((account) => [account, 0]))
    for (const { account } of passkeys) counts.set(account, (counts.get(account) ?? 0) + 1)
    for (const [account, count] of counts) {
      if (this.#passkeys.get(account) === count) continue
      this.#passkeys.set(account, count)
      musts.push(["PasskeysChanged", { account, passkeys: count }])
    }
  }

  #ofMarkets({ markets }: NaiveVenue, musts: Array<Must>): void {
    for (const { index: market, mark, risk, status } of markets) {
      const before = this.#markets[market]
      const { index, source } = risk
      this.#markets[market] = { status, index, source, mark }
      if (before === undefined) {
        musts.push(["MarketPut", { market, created: 1 }])
        continue
      }
      if (status !== before.status) musts.push(["MarketStatusSet", { market, status: Market.statuses.indexOf(status) }])
      if (mark !== before.mark) musts.push(["MarkSet", { market, priceAtoms: mark }])
      // A price that is invalid under a market's new parameters is dropped with them, and one of its old underlying is stale; the event of
      // the parameters implies that.
      if (source !== 0 && (index !== before.index || source !== before.source)) {
        musts.push(["IndexPriceSet", { market, priceAtoms: index, sourceEpochMs: source }])
      }
    }
  }
}
