/**
 * API keys, by dense index, as issued. The secret is known only as its SHA-256. A key is a row of 64 bytes, one cache
 * line, and two texts. What decides whether it may act is kept a second time in 16 bytes beside the rows, so that those of
 * ten thousand keys stay in a cache.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { growFloats, grownLength, wordsOf } from "../Columns.js"

/** A key as plain data. */
export interface ApiKey {
  readonly keyId: string
  readonly account: number
  readonly displayPrefix: string
  /** Lowercase hex. */
  readonly secretSha256: string
  readonly scopes: number
  readonly createdAtEpochMs: number
  readonly expiresAtEpochMs: number
  /** 0 while not revoked. */
  readonly revokedAtEpochMs: number
}

/** What of the keys a snapshot holds. */
export interface ApiKeysDump {
  readonly rows: Uint8Array
  readonly keyIds: ReadonlyArray<string>
  readonly displayPrefixes: ReadonlyArray<string>
}

const initialKeys = 64
/** Numbers of 8 bytes in a row: createdAt, expiresAt, revokedAt, then the words below. */
const rowNumbers = 8
const rowWords = 16
const rowBytes = 64
/** Numbers in what is kept beside a row. */
const authorityNumbers = 2
const number = { createdAt: 0, expiresAt: 1, revokedAt: 2 } as const
/** Words of 4 bytes: account, scopes, then eight of the secret's digest, big-endian. */
const word = { account: 6, scopes: 7, secret: 8 } as const
const secretWords = 8

export class ApiKeys {
  /** Keys issued so far. */
  count = 0
  private numbers = new Float64Array(initialKeys * rowNumbers)
  private words = wordsOf(this.numbers)
  /** By key, in 16 bytes: until when it may act, its account, its scopes. */
  private authority = new Float64Array(initialKeys * authorityNumbers)
  private authorityWords = wordsOf(this.authority)
  private keyIds: Array<string> = []
  private displayPrefixes: Array<string> = []
  private readonly byId = new Map<string, number>()
  /** By account its newest key, and by key the one of the same account before it; -1 for none. */
  private readonly newest = new Map<number, number>()
  private readonly older: Array<number> = []

  /** Index by key id, or -1. */
  find(keyId: string): number {
    return this.byId.get(keyId) ?? none
  }

  account(key: number): number {
    return this.authorityWords[key << 2 | 2]!
  }

  scopes(key: number): number {
    return this.authorityWords[key << 2 | 3]!
  }

  /** Until when the key may act, epoch milliseconds: its expiry, or 0 once it is revoked. */
  actsUntil(key: number): number {
    return this.authority[key << 1]!
  }

  createdAt(key: number): number {
    return this.numbers[key * rowNumbers + number.createdAt]!
  }

  expiresAt(key: number): number {
    return this.numbers[key * rowNumbers + number.expiresAt]!
  }

  /** 0 while not revoked. */
  revokedAt(key: number): number {
    return this.numbers[key * rowNumbers + number.revokedAt]!
  }

  setRevokedAt(key: number, atEpochMs: number): void {
    this.numbers[key * rowNumbers + number.revokedAt] = atEpochMs
    this.authorize(key)
  }

  keyId(key: number): string {
    const keyId = this.keyIds[key]
    assert(keyId !== undefined, "a key index is one that was issued")
    return keyId
  }

  /** A key as plain data. */
  at(key: number): ApiKey {
    const row = key * rowNumbers
    return {
      keyId: this.keyId(key),
      account: this.account(key),
      displayPrefix: this.displayPrefixes[key]!,
      secretSha256: this.secretSha256(key),
      scopes: this.scopes(key),
      createdAtEpochMs: this.numbers[row + number.createdAt]!,
      expiresAtEpochMs: this.numbers[row + number.expiresAt]!,
      revokedAtEpochMs: this.numbers[row + number.revokedAt]!
    }
  }

  /** The keys of an account, newest first. */
  *of(account: number): Generator<number> {
    for (let key = this.newest.get(account) ?? none; key !== none; key = this.older[key]!) yield key
  }

  /** All keys, oldest first. */
  all(): ReadonlyArray<ApiKey> {
    return Array.from({ length: this.count }, (_, key) => this.at(key))
  }

  /** Enters a key, which comes behind all others, as the newest of its account. */
  private chain(key: number): void {
    const account = this.account(key)
    this.older[key] = this.newest.get(account) ?? none
    this.newest.set(account, key)
  }

  /** Takes over from a key's row what decides whether it may act. */
  private authorize(key: number): void {
    this.authority[key << 1] = this.revokedAt(key) === 0 ? this.expiresAt(key) : 0
    this.authorityWords[key << 2 | 2] = this.words[key * rowWords + word.account]!
    this.authorityWords[key << 2 | 3] = this.words[key * rowWords + word.scopes]!
  }

  private makeRoom(keys: number): void {
    this.numbers = growFloats(this.numbers, keys * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.authority = growFloats(this.authority, keys * authorityNumbers)
    this.authorityWords = wordsOf(this.authority)
  }

  private secretSha256(key: number): string {
    let hex = ""
    for (let index = 0; index < secretWords; index++) {
      hex += (this.words[key * rowWords + word.secret + index]! >>> 0).toString(16).padStart(8, "0")
    }
    return hex
  }

  /** Issues a key and gives its index. */
  issue(key: ApiKey): number {
    assert(!this.byId.has(key.keyId), "a key id is issued once")
    assert(Ids.sha256Pattern.test(key.secretSha256), "a secret is known by its SHA-256 in lowercase hex")
    const index = this.count
    if (index * rowNumbers === this.numbers.length) this.makeRoom(grownLength(index, index + 1))
    this.count++
    const row = index * rowNumbers
    this.numbers[row + number.createdAt] = key.createdAtEpochMs
    this.numbers[row + number.expiresAt] = key.expiresAtEpochMs
    this.numbers[row + number.revokedAt] = key.revokedAtEpochMs
    const words = index * rowWords
    this.words[words + word.account] = key.account
    this.words[words + word.scopes] = key.scopes
    for (let at = 0; at < secretWords; at++) {
      this.words[words + word.secret + at] = Number.parseInt(key.secretSha256.slice(at * 8, at * 8 + 8), 16) | 0
    }
    this.authorize(index)
    this.chain(index)
    this.keyIds.push(key.keyId)
    this.displayPrefixes.push(key.displayPrefix)
    this.byId.set(key.keyId, index)
    return index
  }

  dump(): ApiKeysDump {
    return {
      rows: new Uint8Array(this.numbers.slice(0, this.count * rowNumbers).buffer),
      keyIds: this.keyIds,
      displayPrefixes: this.displayPrefixes
    }
  }

  static restore({ displayPrefixes, keyIds, rows }: ApiKeysDump): ApiKeys {
    const keys = new ApiKeys()
    const count = rows.length / rowBytes
    assert(Number.isInteger(count) && count === keyIds.length && count === displayPrefixes.length, "dumped keys are whole rows and texts")
    keys.makeRoom(Math.max(initialKeys, count))
    new Uint8Array(keys.numbers.buffer).set(rows)
    keys.keyIds = [...keyIds]
    keys.displayPrefixes = [...displayPrefixes]
    keyIds.forEach((keyId, index) => keys.byId.set(keyId, index))
    keys.count = count
    for (let key = 0; key < count; key++) {
      keys.authorize(key)
      keys.chain(key)
    }
    return keys
  }
}
