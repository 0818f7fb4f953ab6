/** Accounts and API keys, by dense index. Money in money atoms. */
import { assert } from "../domain/Assert.js"
import * as Ids from "../domain/Ids.js"
import { growFloats, grownLength, growInts } from "./Columns.js"

/** No slot, no index. */
export const none = -1

/** An API key as issued. The secret is known only as its SHA-256. */
export interface ApiKey {
  readonly keyId: string
  readonly account: number
  readonly displayPrefix: string
  readonly secretSha256: string
  readonly scopes: number
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
  readonly revokedAtEpochMs: number
}

/** What of the accounts a snapshot holds. */
export interface AccountsDump {
  readonly born: Float64Array
  readonly collateral: Float64Array
  readonly lastSequence: Float64Array
  /** 1 where something of the account's past has been forgotten. */
  readonly evicted: Int32Array
  readonly newestOrder: Int32Array
  readonly apiKeys: ReadonlyArray<ApiKey>
}

export class Accounts {
  count = 0
  /** Birth ordinals: what ids are made of. */
  born = new Float64Array(64)
  collateral = new Float64Array(64)
  /** The last record that changed the account. */
  lastSequence = new Float64Array(64)
  /** 1 once a key or an order of the account has been forgotten: "never seen" can no longer be said. */
  evicted = new Int32Array(64)
  /** The account's newest remembered order, linked by `Orders.ownOlder`. */
  newestOrder = new Int32Array(64).fill(none)
  /** First of the account's positions, linked by `Positions.nextOfAccount`. */
  firstPosition = new Int32Array(64).fill(none)
  /** Position slot by market index; shorter where no position was ever touched. */
  readonly positionOf: Array<Int32Array> = []

  // Sums over the account's positions, valid while `riskEpoch` is the state's.
  riskEpoch = new Float64Array(64).fill(-1)
  sumInitialMargin = new Float64Array(64)
  sumMaintenanceMargin = new Float64Array(64)
  sumUnrealizedPnl = new Float64Array(64)
  sumUnrealizedLoss = new Float64Array(64)
  sumOrderLoss = new Float64Array(64)

  private readonly byId = new Map<string, number>()
  readonly apiKeys: Array<ApiKey> = []
  private readonly keyById = new Map<string, number>()

  /** Opens an account and gives its index. */
  open(born: number, sequence: number): number {
    const index = this.count++
    if (index === this.born.length) this.grow(grownLength(index, index + 1))
    this.born[index] = born
    this.lastSequence[index] = sequence
    this.positionOf.push(new Int32Array(0))
    this.byId.set(Ids.accountId(born), index)
    return index
  }

  /** Index by id, or -1. */
  find(accountId: string): number {
    return this.byId.get(accountId) ?? none
  }

  issueKey(key: ApiKey): number {
    assert(!this.keyById.has(key.keyId), "a key id is issued once")
    this.keyById.set(key.keyId, this.apiKeys.length)
    this.apiKeys.push(key)
    return this.apiKeys.length - 1
  }

  /** Key index by key id, or -1. */
  findKey(keyId: string): number {
    return this.keyById.get(keyId) ?? none
  }

  private grow(length: number): void {
    this.born = growFloats(this.born, length)
    this.collateral = growFloats(this.collateral, length)
    this.lastSequence = growFloats(this.lastSequence, length)
    this.evicted = growInts(this.evicted, length)
    this.newestOrder = growInts(this.newestOrder, length, none)
    this.firstPosition = growInts(this.firstPosition, length, none)
    this.riskEpoch = growFloats(this.riskEpoch, length, -1)
    this.sumInitialMargin = growFloats(this.sumInitialMargin, length)
    this.sumMaintenanceMargin = growFloats(this.sumMaintenanceMargin, length)
    this.sumUnrealizedPnl = growFloats(this.sumUnrealizedPnl, length)
    this.sumUnrealizedLoss = growFloats(this.sumUnrealizedLoss, length)
    this.sumOrderLoss = growFloats(this.sumOrderLoss, length)
  }

  dump(): AccountsDump {
    return {
      born: this.born.slice(0, this.count),
      collateral: this.collateral.slice(0, this.count),
      lastSequence: this.lastSequence.slice(0, this.count),
      evicted: this.evicted.slice(0, this.count),
      newestOrder: this.newestOrder.slice(0, this.count),
      apiKeys: this.apiKeys
    }
  }

  static restore(dump: AccountsDump): Accounts {
    const accounts = new Accounts()
    for (let index = 0; index < dump.born.length; index++) {
      accounts.open(dump.born[index]!, dump.lastSequence[index]!)
      accounts.collateral[index] = dump.collateral[index]!
      accounts.evicted[index] = dump.evicted[index]!
      accounts.newestOrder[index] = dump.newestOrder[index]!
    }
    for (const key of dump.apiKeys) accounts.issueKey(key)
    return accounts
  }
}
