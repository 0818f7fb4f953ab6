/**
 * API keys by the number under which they were issued, which is never reused. Only the SHA-256 of a secret is known. A key is a row
 * of 64 bytes, one cache line, and two strings. What decides whether it may act is kept a second time in 16 bytes beside the rows,
 * so that it stays in a cache for ten thousand keys.
 *
 * Rows lie in pages, and a page is released once all its keys are forgotten. Memory thus follows the number of keys, and no command
 * ever copies all of them.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import { StepwiseMap } from "../../domain/Stepwise.js"
import { wordsOf } from "../Columns.js"

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

/** The keys as a snapshot holds them. */
export interface ApiKeysDump {
  readonly rows: Uint8Array
  readonly keyIds: ReadonlyArray<string>
  readonly displayPrefixes: ReadonlyArray<string>
  /** The number of keys issued, then the number of each key kept; undefined where none has been forgotten. */
  readonly numbers: Float64Array | undefined
}

/** Numbers of 8 bytes in a row: createdAt, expiresAt, revokedAt, then the words below. */
const rowNumbers = 8
const rowWords = 16
const rowBytes = 64
/** Numbers in the copy that is kept beside a row. */
const authorityNumbers = 2
const number = { createdAt: 0, expiresAt: 1, revokedAt: 2 } as const
/** Words of 4 bytes: account, scopes, then eight of the secret's digest, big-endian. */
const word = { account: 6, scopes: 7, secret: 8 } as const
const secretWords = 8

/** Keys per page, a power of two. */
const pageBits = 6
const pageKeys = 1 << pageBits
const inPage = pageKeys - 1

class Page {
  readonly numbers = new Float64Array(pageKeys * rowNumbers)
  readonly words = wordsOf(this.numbers)
  /** By key, in 16 bytes: until when it may act, its account, its scopes; 0, -1 and 0 where there is no key. */
  readonly authority = new Float64Array(pageKeys * authorityNumbers)
  readonly authorityWords = wordsOf(this.authority)
  /** By key, the number of the previous key of the same account; -1 for none. */
  readonly older = new Int32Array(pageKeys)
  readonly keyIds = new Array<string | undefined>(pageKeys).fill(undefined)
  readonly displayPrefixes = new Array<string | undefined>(pageKeys).fill(undefined)
  kept = 0

  constructor() {
    for (let at = 0; at < pageKeys; at++) this.authorityWords[at << 2 | 2] = none
  }

  /** Copies from a key's row what decides whether it may act. */
  authorize(at: number): void {
    const row = at * rowNumbers
    const isRevoked = this.numbers[row + number.revokedAt] !== 0
    this.authority[at << 1] = isRevoked ? 0 : this.numbers[row + number.expiresAt]!
    this.authorityWords[at << 2 | 2] = this.words[at * rowWords + word.account]!
    this.authorityWords[at << 2 | 3] = this.words[at * rowWords + word.scopes]!
  }

  forget(at: number): void {
    this.numbers.fill(0, at * rowNumbers, (at + 1) * rowNumbers)
    this.authority[at << 1] = 0
    this.authorityWords[at << 2 | 2] = none
    this.authorityWords[at << 2 | 3] = 0
    this.keyIds[at] = undefined
    this.displayPrefixes[at] = undefined
    this.kept--
  }

  secretSha256(at: number): string {
    let hex = ""
    for (let index = 0; index < secretWords; index++) {
      hex += (this.words[at * rowWords + word.secret + index]! >>> 0).toString(16).padStart(8, "0")
    }
    return hex
  }
}

export class ApiKeys {
  /** Keys issued so far, which is also the number of the next. */
  count = 0
  /** Keys that have not been forgotten. */
  kept = 0
  /** Pages from the first that has a key; undefined where all keys of a page are forgotten. */
  private readonly pages: Array<Page | undefined> = []
  private firstPage = 0
  private readonly byId = new StepwiseMap<string, number>()
  /** The newest key kept, by account. */
  private readonly newest = new StepwiseMap<number, number>()

  private page(key: number): Page | undefined {
    return this.pages[(key >> pageBits) - this.firstPage]
  }

  /** The page of a key that must be kept. */
  private pageOf(key: number): Page {
    const page = this.page(key)
    assert(page?.keyIds[key & inPage] !== undefined, "a key's number is of one that was issued and is not forgotten")
    return page
  }

  /** Number by key id, or -1. */
  find(keyId: string): number {
    return this.byId.get(keyId) ?? none
  }

  /** Whether a key with this number exists and has not been forgotten. */
  has(key: number): boolean {
    return this.page(key)?.keyIds[key & inPage] !== undefined
  }

  /** The account of a key; -1 where it is forgotten. */
  account(key: number): number {
    return this.page(key)?.authorityWords[(key & inPage) << 2 | 2] ?? none
  }

  /** The scopes of a key; 0 where it is forgotten. */
  scopes(key: number): number {
    return this.page(key)?.authorityWords[(key & inPage) << 2 | 3] ?? 0
  }

  /** Until when the key may act, epoch milliseconds: its expiry, or 0 once it is revoked or forgotten. */
  actsUntil(key: number): number {
    return this.page(key)?.authority[(key & inPage) << 1] ?? 0
  }

  expiresAt(key: number): number {
    return this.pageOf(key).numbers[(key & inPage) * rowNumbers + number.expiresAt]!
  }

  /** 0 while not revoked. */
  revokedAt(key: number): number {
    return this.pageOf(key).numbers[(key & inPage) * rowNumbers + number.revokedAt]!
  }

  setRevokedAt(key: number, atEpochMs: number): void {
    const page = this.pageOf(key)
    page.numbers[(key & inPage) * rowNumbers + number.revokedAt] = atEpochMs
    page.authorize(key & inPage)
  }

  keyId(key: number): string {
    return this.pageOf(key).keyIds[key & inPage]!
  }

  /** A key as plain data. */
  at(key: number): ApiKey {
    const page = this.pageOf(key)
    const at = key & inPage
    const row = at * rowNumbers
    return {
      keyId: page.keyIds[at]!,
      account: this.account(key),
      displayPrefix: page.displayPrefixes[at]!,
      secretSha256: page.secretSha256(at),
      scopes: this.scopes(key),
      createdAtEpochMs: page.numbers[row + number.createdAt]!,
      expiresAtEpochMs: page.numbers[row + number.expiresAt]!,
      revokedAtEpochMs: page.numbers[row + number.revokedAt]!
    }
  }

  /** The keys of an account, newest first. */
  *of(account: number): Generator<number> {
    for (let key = this.newest.get(account) ?? none; key !== none; key = this.olderThan(key)) yield key
  }

  private olderThan(key: number): number {
    return this.pageOf(key).older[key & inPage]!
  }

  /** The numbers of all keys kept, oldest first. */
  numbers(): ReadonlyArray<number> {
    const numbers: Array<number> = []
    this.pages.forEach((page, index) => {
      for (let at = 0; at < pageKeys; at++) {
        if (page?.keyIds[at] !== undefined) numbers.push((this.firstPage + index) * pageKeys + at)
      }
    })
    return numbers
  }

  /** All keys kept, oldest first. */
  all(): ReadonlyArray<ApiKey> {
    return this.numbers().map((key) => this.at(key))
  }

  /** Makes room for a key that follows all others, with its strings, and returns its page. */
  private enter(key: number, keyId: string, displayPrefix: string): Page {
    if (this.pages.length === 0) this.firstPage = key >> pageBits
    while ((key >> pageBits) - this.firstPage >= this.pages.length) this.pages.push(undefined)
    const page = this.page(key) ?? new Page()
    this.pages[(key >> pageBits) - this.firstPage] = page
    page.keyIds[key & inPage] = keyId
    page.displayPrefixes[key & inPage] = displayPrefix
    page.kept++
    this.kept++
    this.count = key + 1
    this.byId.set(keyId, key)
    return page
  }

  /** Links a key that follows all others, whose row is written, as the newest of its account. */
  private chain(page: Page, key: number): void {
    page.authorize(key & inPage)
    const account = this.account(key)
    page.older[key & inPage] = this.newest.get(account) ?? none
    this.newest.set(account, key)
  }

  /** Issues a key and returns its number. */
  issue(key: ApiKey): number {
    assert(!this.byId.has(key.keyId), "a key id is issued once")
    assert(Ids.sha256Pattern.test(key.secretSha256), "a secret is known by its SHA-256 in lowercase hex")
    const index = this.count
    const page = this.enter(index, key.keyId, key.displayPrefix)
    const row = (index & inPage) * rowNumbers
    page.numbers[row + number.createdAt] = key.createdAtEpochMs
    page.numbers[row + number.expiresAt] = key.expiresAtEpochMs
    page.numbers[row + number.revokedAt] = key.revokedAtEpochMs
    const words = (index & inPage) * rowWords
    page.words[words + word.account] = key.account
    page.words[words + word.scopes] = key.scopes
    for (let at = 0; at < secretWords; at++) {
      page.words[words + word.secret + at] = Number.parseInt(key.secretSha256.slice(at * 8, at * 8 + 8), 16) | 0
    }
    this.chain(page, index)
    return index
  }

  /** Forgets a key; its number is not used again. */
  forget(key: number): void {
    const page = this.pageOf(key)
    this.unchain(key)
    this.byId.delete(page.keyIds[key & inPage]!)
    page.forget(key & inPage)
    this.kept--
    // The page from which keys are issued is kept, since it is still being filled.
    if (page.kept > 0 || key >> pageBits === this.count >> pageBits) return
    this.pages[(key >> pageBits) - this.firstPage] = undefined
    while (this.pages.length > 0 && this.pages[0] === undefined) {
      this.pages.shift()
      this.firstPage++
    }
  }

  private unchain(key: number): void {
    const account = this.account(key)
    const older = this.olderThan(key)
    let newer = none
    for (const each of this.of(account)) {
      if (each === key) break
      newer = each
    }
    if (newer !== none) this.pageOf(newer).older[newer & inPage] = older
    else if (older !== none) this.newest.set(account, older)
    else this.newest.delete(account)
  }

  dump(): ApiKeysDump {
    const numbers = this.numbers()
    return {
      rows: this.rows(numbers),
      keyIds: numbers.map((key) => this.keyId(key)),
      displayPrefixes: numbers.map((key) => this.pageOf(key).displayPrefixes[key & inPage]!),
      numbers: numbers.length === this.count ? undefined : Float64Array.from([this.count, ...numbers])
    }
  }

  /** The rows of keys one after the other; adjacent rows are copied together. */
  private rows(numbers: ReadonlyArray<number>): Uint8Array {
    const rows = new Uint8Array(numbers.length * rowBytes)
    for (let place = 0; place < numbers.length;) {
      const first = numbers[place]!
      let run = 1
      while ((first & inPage) + run < pageKeys && numbers[place + run] === first + run) run++
      rows.set(new Uint8Array(this.pageOf(first).numbers.buffer, (first & inPage) * rowBytes, run * rowBytes), place * rowBytes)
      place += run
    }
    return rows
  }

  static restore({ displayPrefixes, keyIds, numbers, rows }: ApiKeysDump): ApiKeys {
    const keys = new ApiKeys()
    const kept = rows.length / rowBytes
    assert(Number.isInteger(kept) && kept === keyIds.length && kept === displayPrefixes.length, "dumped keys are whole rows and texts")
    assert(numbers === undefined || numbers.length === kept + 1, "each dumped key has its number")
    for (let place = 0; place < kept; place++) {
      const key = numbers?.[place + 1] ?? place
      const page = keys.enter(key, keyIds[place]!, displayPrefixes[place]!)
      new Uint8Array(page.numbers.buffer).set(rows.subarray(place * rowBytes, (place + 1) * rowBytes), (key & inPage) * rowBytes)
      keys.chain(page, key)
    }
    keys.count = numbers?.[0] ?? kept
    return keys
  }
}
