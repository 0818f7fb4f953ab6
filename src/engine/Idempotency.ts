/**
 * What was decided under each Idempotency-Key, for as long as it is remembered: until 24 h after the orders
 * it resulted in have ended, and at least 24 h. A table of fixed size, of 128-bit digests and compact
 * outcomes, from which the original response is rebuilt. Nothing is evicted early: a full table refuses.
 */
import { assert } from "../domain/Assert.js"
import { type Command, Operation } from "../domain/Command.js"
import type { EntryOutcome, Outcome } from "../domain/Outcome.js"
import type { CancelReason, Status } from "../domain/Order.js"
import type { Refusal } from "../domain/Refusal.js"
import { none } from "./Accounts.js"
import { growFloats, grownLength, initialLength, wordsOf } from "./Columns.js"
import { Digest128 } from "./Digest128.js"
import type { HashKey } from "./Orders.js"
import { OutOfRoom } from "./OutOfRoom.js"

/** How long a key and an ended order are remembered at least. */
export const retentionMs = 24 * 3_600_000

/** Rows that a small table begins with. */
const initialEntries = 256

/** When the last order an outcome speaks of ended: `Infinity` while one is open, 0 when all are forgotten. */
export type EndOf = (orderNumber: number) => number

/** What of the table a snapshot holds. */
export interface IdempotencyDump {
  readonly rows: Uint8Array
  readonly outcomes: Uint8Array
  readonly heads: Int32Array
}

/** An entry is a row of 72 bytes: 9 numbers of 8 bytes, or 18 words of 4. Where in it the words are, and the numbers. */
const entryNumbers = 9
const entryWords = 18
export const entryBytes = 72
const word = {
  key: 0,
  body: 4,
  /** Account of the scope; -1 for the operator, -2 in a free entry. */
  account: 8,
  /** The first of its outcomes, or -1. */
  first: 9,
  /** The next in the queue, or in the chain of free entries; or -1. */
  next: 10
} as const
const number = {
  sequence: 6,
  at: 7,
  /** When the entry was last put at the end of the queue: never going back along it. */
  queuedAt: 8
} as const

/** An outcome of one entry of a command is a row of 80 bytes. */
const outcomeNumbers = 10
const outcomeWords = 20
const outcomeWord = {
  /** refusal | status << 8 | cancelReason << 16. */
  codes: 0,
  /** The next of its command, or of the free ones; or -1. */
  next: 1
} as const
const outcomeNumber = {
  orderNumber: 1,
  filled: 2,
  filledNotional: 3,
  canceled: 4,
  price: 5,
  quantity: 6,
  limit: 7,
  actual: 8,
  nearest: 9
} as const

const digest = new Digest128()

/** What a key is unique within, and the key. */
interface Scope {
  /** -1 for the operator. */
  readonly account: number
  readonly operation: number
  readonly key: string
}

/** The scope of a command's key, or undefined where a command carries no key. */
export const scopeOf = (command: Command): Scope | undefined => {
  switch (command.kind) {
    case "PlaceOrders":
    case "CancelOrders":
    case "AmendOrder":
    case "CancelAllOrders":
    case "SetCancelAllAfter":
    case "FenceOutcome":
      return { account: command.account, operation: command.operation, key: command.idempotencyKey }
    case "PutMarket":
      return { account: none, operation: Operation.putMarket, key: command.idempotencyKey }
    case "SetMarketStatus":
      return { account: none, operation: Operation.setMarketStatus, key: command.idempotencyKey }
    case "SetIndexPrice":
      return command.idempotencyKey === "" ? undefined : { account: none, operation: Operation.setIndexPrice, key: command.idempotencyKey }
    case "HaltEngine":
      return { account: none, operation: Operation.haltEngine, key: command.idempotencyKey }
    case "ResumeEngine":
      return { account: none, operation: Operation.resumeEngine, key: command.idempotencyKey }
    case "OpenDemoAccounts":
      return { account: none, operation: Operation.openDemoAccounts, key: command.idempotencyKey }
    case "OpenVenue":
    case "PassTime":
      return undefined
  }
}

/** Feeds everything of a command's body that a client can vary, in a fixed order. */
const feedBody = (command: Command): void => {
  switch (command.kind) {
    case "PlaceOrders":
      digest.word(command.entries.length)
      for (const entry of command.entries) {
        digest.word(entry.market)
        digest.text(entry.clientOrderId)
        digest.word(
          entry.side | (entry.type << 1) | (entry.timeInForce << 2) | (entry.postOnly ? 8 : 0) | (entry.reduceOnly ? 16 : 0)
            | (entry.selfTradePrevention << 5) | (entry.fault << 8)
        )
        digest.number(entry.priceAtoms)
        digest.number(entry.quantityAtoms)
        digest.number(entry.expiresAtEpochMs)
        digest.text(entry.raw)
      }
      return
    case "CancelOrders":
      digest.word(command.entries.length)
      for (const entry of command.entries) {
        digest.word(entry.market)
        digest.number(entry.orderNumber)
        digest.text(entry.raw)
      }
      return
    case "AmendOrder":
      digest.word(command.market)
      digest.number(command.orderNumber)
      digest.number(command.priceAtoms)
      digest.number(command.quantityAtoms)
      digest.word(command.fault)
      digest.text(command.raw)
      return
    case "CancelAllOrders":
      digest.word(command.market)
      if (command.raw !== "") digest.text(command.raw)
      return
    case "SetCancelAllAfter":
      digest.number(command.timeoutMs)
      return
    case "FenceOutcome":
      digest.text(command.fencedKey)
      digest.text(command.fencedClientOrderId)
      return
    case "PutMarket":
      digest.text(JSON.stringify(command.parameters))
      return
    case "SetMarketStatus":
      digest.word(command.market)
      digest.text(command.status)
      return
    case "SetIndexPrice":
      digest.word(command.market)
      digest.number(command.priceAtoms)
      digest.number(command.sourceEpochMs)
      return
    case "OpenDemoAccounts":
      digest.number(command.collateralAtoms)
      digest.word(command.keys.length)
      for (const key of command.keys) {
        digest.text(key.keyId)
        digest.text(key.secretSha256)
        digest.word(key.scopes)
      }
      return
    case "HaltEngine":
    case "ResumeEngine":
    case "OpenVenue":
    case "PassTime":
      return
  }
}

/** Whose room in the table is asked for. */
export type Share = "placement" | "reduction" | "operator"

/** What a lookup found: a remembered outcome, `conflict` for another body under the same key, or nothing. */
export type Found = Outcome | "conflict" | undefined

export class Idempotency {
  private used = 0
  private highWater = 0
  /**
   * Entry + 1 in the low bits, and above them as much of the hash as there is room for, at the first free place from
   * the hash's own on; 0 is empty. At most half full. So keys that are not there are told without a look at any row.
   */
  private readonly table: Int32Array
  private readonly mask: number
  private readonly entryMask: number
  private numbers: Float64Array
  private words: Int32Array
  private oldest = none
  private newest = none
  private free = none

  // Outcomes, one for each entry of a command, chained.
  private outcomeEnd = 0
  private freeOutcome = none
  private outcomes: Float64Array
  private outcomeWords: Int32Array

  /** The command whose key was digested last, and the digest: `lookup` and `remember` of one command follow each other. */
  private digested: Command | undefined = undefined
  private digestedAccount = none
  private readonly kept = new Digest128()

  /** Entries that a placement may take. */
  private readonly sharedByAll: number

  private readonly hashKey0: number
  private readonly hashKey1: number

  /** `hashKey` scatters the table, so that nobody can craft keys that share a place; it decides nothing. */
  constructor(readonly capacity: number, hashKey: HashKey = [0, 0]) {
    this.hashKey0 = hashKey[0] | 0
    this.hashKey1 = hashKey[1] | 0
    this.sharedByAll = capacity - Math.floor(capacity / 8)
    let size = 16
    while (size < capacity * 2) size *= 2
    this.table = new Int32Array(size)
    this.mask = size - 1
    this.entryMask = 2 ** (32 - Math.clz32(capacity)) - 1
    const length = initialLength(capacity, initialEntries)
    this.numbers = new Float64Array(length * entryNumbers)
    this.words = wordsOf(this.numbers)
    this.outcomes = new Float64Array(length * outcomeNumbers)
    this.outcomeWords = wordsOf(this.outcomes)
  }

  /** How many keys are in the table. */
  get size(): number {
    return this.used
  }

  /** Where the key that was digested last belongs in the table. */
  private placeOfDigest(): number {
    return scatter(this.hashKey0, this.hashKey1, digest.a, digest.b, digest.c, digest.d)
  }

  private placeOf(entry: number): number {
    const { hashKey0, hashKey1, words } = this
    const at = entry * entryWords + word.key
    return scatter(hashKey0, hashKey1, words[at]!, words[at + 1]!, words[at + 2]!, words[at + 3]!)
  }

  private slotAt(account: number): number {
    const { entryMask, mask, table, words } = this
    const hash = this.placeOfDigest()
    for (let at = hash & mask;; at = (at + 1) & mask) {
      const held = table[at]!
      if (held === 0) return none
      if (((held ^ hash) & ~entryMask) !== 0) continue
      const entry = (held & entryMask) - 1
      const row = entry * entryWords
      if (
        words[row + word.key] === digest.a && words[row + word.key + 1] === digest.b && words[row + word.key + 2] === digest.c
        && words[row + word.key + 3] === digest.d && words[row + word.account] === account
      ) return entry
    }
  }

  /** Puts an entry at the first free place from its hash's own on. */
  private index(entry: number, hash: number): void {
    const { entryMask, mask, table } = this
    let at = hash & mask
    while (table[at] !== 0) at = (at + 1) & mask
    table[at] = (hash & ~entryMask) | (entry + 1)
  }

  private accountOf(entry: number): number {
    return this.words[entry * entryWords + word.account]!
  }

  private firstOf(entry: number): number {
    return this.words[entry * entryWords + word.first]!
  }

  private nextOf(entry: number): number {
    return this.words[entry * entryWords + word.next]!
  }

  private setNext(entry: number, next: number): void {
    this.words[entry * entryWords + word.next] = next
  }

  private atOf(entry: number): number {
    return this.numbers[entry * entryNumbers + number.at]!
  }

  private queuedAtOf(entry: number): number {
    return this.numbers[entry * entryNumbers + number.queuedAt]!
  }

  private nextOutcome(outcome: number): number {
    return this.outcomeWords[outcome * outcomeWords + outcomeWord.next]!
  }

  private static digestKey(account: number, operation: number, key: string): void {
    digest.reset(account)
    digest.word(operation)
    digest.text(key)
    digest.finish()
  }

  /** Digests a command's own key, and keeps the digest for what is remembered of it. */
  private digestKeyOf(command: Command, { account, key, operation }: Scope): void {
    Idempotency.digestKey(account, operation, key)
    this.digested = command
    this.digestedAccount = account
    this.kept.set(digest)
  }

  private static digestBody(command: Command): void {
    digest.reset(0)
    feedBody(command)
    digest.finish()
  }

  /** What is remembered under a command's key at a time. */
  lookup(command: Command, atEpochMs: number, endOf: EndOf): Found {
    const scope = scopeOf(command)
    if (scope === undefined) return undefined
    this.digestKeyOf(command, scope)
    const entry = this.slotAt(scope.account)
    if (entry === none || this.expiry(entry, endOf) <= atEpochMs) return undefined
    Idempotency.digestBody(command)
    const { words } = this
    const body = entry * entryWords + word.body
    if (
      words[body] !== digest.a || words[body + 1] !== digest.b || words[body + 2] !== digest.c || words[body + 3] !== digest.d
    ) return "conflict"
    return this.outcome(entry)
  }

  /** What is remembered under a key of any body; undefined for nothing. */
  outcomeOf(account: number, operation: number, key: string, atEpochMs: number, endOf: EndOf): Outcome | undefined {
    Idempotency.digestKey(account, operation, key)
    const entry = this.slotAt(account)
    return entry === none || this.expiry(entry, endOf) <= atEpochMs ? undefined : this.outcome(entry)
  }

  /** Remembers what stands under a key for a day from now, as if it had been decided anew. */
  renew(account: number, operation: number, key: string, atEpochMs: number): void {
    Idempotency.digestKey(account, operation, key)
    const entry = this.slotAt(account)
    assert(entry !== none, "what is renewed is remembered")
    // Its place in the queue stays: it is looked at when its first day is over, and put at the end again.
    this.numbers[entry * entryNumbers + number.at] = atEpochMs
  }

  /** When an entry may be forgotten: `Infinity` while an order of it is open. */
  private expiry(entry: number, endOf: EndOf): number {
    let end = this.atOf(entry)
    // Only a client's command speaks of orders: what an operator's outcome names is no order number.
    if (this.accountOf(entry) === none) return end + retentionMs
    for (let outcome = this.firstOf(entry); outcome !== none; outcome = this.nextOutcome(outcome)) {
      if ((this.outcomeWords[outcome * outcomeWords + outcomeWord.codes]! & 0xff) !== 0) continue
      const orderNumber = this.outcomes[outcome * outcomeNumbers + outcomeNumber.orderNumber]!
      if (orderNumber >= 0) end = Math.max(end, endOf(orderNumber))
    }
    return end + retentionMs
  }

  private outcome(entry: number): Outcome {
    const entries: Array<EntryOutcome> = []
    const { numbers, outcomeWords: words, outcomes } = this
    for (let outcome = this.firstOf(entry); outcome !== none; outcome = this.nextOutcome(outcome)) {
      const codes = words[outcome * outcomeWords + outcomeWord.codes]!
      const at = outcome * outcomeNumbers
      entries.push({
        refusal: (codes & 0xff) as Refusal,
        orderNumber: outcomes[at + outcomeNumber.orderNumber]!,
        status: ((codes >>> 8) & 0xff) as Status,
        cancelReason: (codes >>> 16) as CancelReason,
        filledAtoms: outcomes[at + outcomeNumber.filled]!,
        filledNotionalAtoms: outcomes[at + outcomeNumber.filledNotional]!,
        canceledAtoms: outcomes[at + outcomeNumber.canceled]!,
        priceAtoms: outcomes[at + outcomeNumber.price]!,
        quantityAtoms: outcomes[at + outcomeNumber.quantity]!,
        limit: outcomes[at + outcomeNumber.limit]!,
        actual: outcomes[at + outcomeNumber.actual]!,
        nearest: outcomes[at + outcomeNumber.nearest]!
      })
    }
    const sequence = numbers[entry * entryNumbers + number.sequence]!
    return { sequence, atEpochMs: this.atOf(entry), refusal: 0, replayed: true, entries }
  }

  /** Whether every share has a free entry: what nearly always holds. */
  get hasRoomForAll(): boolean {
    return this.used < this.sharedByAll
  }

  /**
   * Whether a new key has room at a time: a free entry, or an oldest one that `expire` forgets by then. An
   * eighth of the table is kept for commands that only take risk away, and a last part of that for the operator.
   */
  hasRoom(share: Share, atEpochMs: number, endOf: EndOf): boolean {
    if (this.hasRoomForAll) return true
    const kept = Math.floor(this.capacity / 8)
    const bound = this.capacity - (share === "placement" ? kept : share === "reduction" ? Math.floor(kept / 8) : 0)
    if (this.used < bound) return true
    const { oldest } = this
    return oldest !== none && this.queuedAtOf(oldest) + retentionMs <= atEpochMs && this.expiry(oldest, endOf) <= atEpochMs
  }

  /** Whether a client's command that is remembered twice has room, whatever may be forgotten. */
  get hasRoomForTwo(): boolean {
    return this.used + 2 <= this.capacity - Math.floor(this.capacity / 64)
  }

  /** Remembers what was decided under a command's key. There must be room; commands without a key are passed over. */
  remember(command: Command, outcome: Outcome): void {
    if (this.digested !== command) {
      const scope = scopeOf(command)
      if (scope === undefined) return
      this.digestKeyOf(command, scope)
    } else digest.set(this.kept)
    this.digested = undefined
    this.putDigested(this.digestedAccount, command, outcome)
  }

  /** Remembers an outcome under a key of its own, beside the command's. */
  put(account: number, operation: number, key: string, command: Command, outcome: Outcome): void {
    Idempotency.digestKey(account, operation, key)
    this.putDigested(account, command, outcome)
  }

  /** Remembers an outcome under the key that was just digested. */
  private putDigested(account: number, command: Command, outcome: Outcome): void {
    const known = this.slotAt(account)
    if (known !== none) this.forget(known, this.before(known))
    const entry = this.allocate(outcome.sequence)
    this.index(entry, this.placeOfDigest())
    const { numbers, words } = this
    const row = entry * entryWords
    words[row + word.key] = digest.a
    words[row + word.key + 1] = digest.b
    words[row + word.key + 2] = digest.c
    words[row + word.key + 3] = digest.d
    Idempotency.digestBody(command)
    words[row + word.body] = digest.a
    words[row + word.body + 1] = digest.b
    words[row + word.body + 2] = digest.c
    words[row + word.body + 3] = digest.d
    words[row + word.account] = account
    words[row + word.first] = none
    numbers[entry * entryNumbers + number.sequence] = outcome.sequence
    numbers[entry * entryNumbers + number.at] = outcome.atEpochMs
    for (let index = outcome.entries.length - 1; index >= 0; index--) {
      words[row + word.first] = this.putOutcome(outcome.entries[index]!, words[row + word.first]!)
    }
    this.enqueue(entry, outcome.atEpochMs)
  }

  /** Keeps an outcome of one entry, before the `next` of its command. Where. */
  private putOutcome(outcome: EntryOutcome, next: number): number {
    const slot = this.allocateOutcome()
    const { outcomeWords: words, outcomes } = this
    words[slot * outcomeWords + outcomeWord.codes] = outcome.refusal | (outcome.status << 8) | (outcome.cancelReason << 16)
    words[slot * outcomeWords + outcomeWord.next] = next
    const at = slot * outcomeNumbers
    outcomes[at + outcomeNumber.orderNumber] = outcome.orderNumber
    outcomes[at + outcomeNumber.filled] = outcome.filledAtoms
    outcomes[at + outcomeNumber.filledNotional] = outcome.filledNotionalAtoms
    outcomes[at + outcomeNumber.canceled] = outcome.canceledAtoms
    outcomes[at + outcomeNumber.price] = outcome.priceAtoms
    outcomes[at + outcomeNumber.quantity] = outcome.quantityAtoms
    outcomes[at + outcomeNumber.limit] = outcome.limit
    outcomes[at + outcomeNumber.actual] = outcome.actual
    outcomes[at + outcomeNumber.nearest] = outcome.nearest
    return slot
  }

  /**
   * Forgets, from the oldest on, every key whose time is over. One that an open order keeps goes to the end
   * of the queue, to be looked at a day later; so each is looked at once a day.
   */
  expire(atEpochMs: number, endOf: EndOf, forgotten: (account: number) => void): void {
    while (this.oldest !== none && this.queuedAtOf(this.oldest) + retentionMs <= atEpochMs) {
      const entry = this.oldest
      if (this.expiry(entry, endOf) <= atEpochMs) {
        forgotten(this.accountOf(entry))
        this.forget(entry, none)
      } else {
        this.oldest = this.nextOf(entry)
        if (this.oldest === none) this.newest = none
        this.enqueue(entry, atEpochMs)
      }
    }
  }

  private enqueue(entry: number, atEpochMs: number): void {
    this.numbers[entry * entryNumbers + number.queuedAt] = atEpochMs
    this.setNext(entry, none)
    if (this.newest === none) this.oldest = entry
    else this.setNext(this.newest, entry)
    this.newest = entry
  }

  /** The entry before one in the queue: a walk, for the rare key that is used again before its turn to be forgotten came. */
  private before(entry: number): number {
    let previous = none
    for (let at = this.oldest; at !== entry; at = this.nextOf(at)) {
      assert(at !== none, "a remembered key is in the queue")
      previous = at
    }
    return previous
  }

  private forget(entry: number, previous: number): void {
    const next = this.nextOf(entry)
    if (previous === none) this.oldest = next
    else this.setNext(previous, next)
    if (this.newest === entry) this.newest = previous
    this.unindex(entry)
    for (let at = this.firstOf(entry); at !== none;) {
      const following = this.nextOutcome(at)
      this.outcomeWords[at * outcomeWords + outcomeWord.next] = this.freeOutcome
      this.freeOutcome = at
      at = following
    }
    this.words[entry * entryWords + word.account] = -2
    this.setNext(entry, this.free)
    this.free = entry
    this.used--
  }

  private unindex(entry: number): void {
    const { entryMask, mask, table } = this
    let hole = this.placeOf(entry) & mask
    while ((table[hole]! & entryMask) !== entry + 1) {
      assert(table[hole] !== 0, "a remembered key is in the table")
      hole = (hole + 1) & mask
    }
    for (let at = (hole + 1) & mask; table[at] !== 0; at = (at + 1) & mask) {
      const home = this.placeOf((table[at]! & entryMask) - 1) & mask
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        table[hole] = table[at]!
        hole = at
      }
    }
    table[hole] = 0
  }

  private allocate(sequence: number): number {
    if (this.used === this.capacity) throw new OutOfRoom("IDEMPOTENCY_CAPACITY", this.capacity, this.capacity + 1, sequence)
    this.used++
    if (this.free !== none) {
      const entry = this.free
      this.free = this.nextOf(entry)
      return entry
    }
    if (this.highWater * entryNumbers === this.numbers.length) this.grow(grownLength(this.highWater, this.highWater + 1, this.capacity))
    return this.highWater++
  }

  private allocateOutcome(): number {
    if (this.freeOutcome !== none) {
      const slot = this.freeOutcome
      this.freeOutcome = this.nextOutcome(slot)
      return slot
    }
    if (this.outcomeEnd * outcomeNumbers === this.outcomes.length) this.growOutcomes(grownLength(this.outcomeEnd, this.outcomeEnd + 1))
    return this.outcomeEnd++
  }

  private grow(entries: number): void {
    this.numbers = growFloats(this.numbers, entries * entryNumbers)
    this.words = wordsOf(this.numbers)
  }

  private growOutcomes(outcomes: number): void {
    this.outcomes = growFloats(this.outcomes, outcomes * outcomeNumbers)
    this.outcomeWords = wordsOf(this.outcomes)
  }

  /** Feeds the content, oldest key first. */
  canonical(feed: (line: string) => void): void {
    for (let entry = this.oldest; entry !== none; entry = this.nextOf(entry)) {
      const row = entry * entryWords
      // The digests of key and body are next to each other.
      const digests = this.words.subarray(row + word.key, row + word.body + 4).join(" ")
      feed(`key ${this.accountOf(entry)} ${digests} ${this.queuedAtOf(entry)} ${JSON.stringify(this.outcome(entry))}`)
    }
  }

  dump(): IdempotencyDump {
    return {
      rows: new Uint8Array(this.numbers.slice(0, this.highWater * entryNumbers).buffer),
      outcomes: new Uint8Array(this.outcomes.slice(0, this.outcomeEnd * outcomeNumbers).buffer),
      heads: Int32Array.of(this.oldest, this.newest, this.free, this.freeOutcome, this.used)
    }
  }

  static restore(dump: IdempotencyDump, capacity: number, hashKey: HashKey = [0, 0]): Idempotency {
    const restored = new Idempotency(capacity, hashKey)
    const end = dump.rows.length / entryBytes
    const outcomeEnd = dump.outcomes.length / (outcomeNumbers * 8)
    assert(Number.isInteger(end) && Number.isInteger(outcomeEnd), "a dumped table is whole rows")
    assert(end <= capacity, "a dumped table fits the capacity it is restored to")
    if (end * entryNumbers > restored.numbers.length) restored.grow(end)
    if (outcomeEnd * outcomeNumbers > restored.outcomes.length) restored.growOutcomes(outcomeEnd)
    new Uint8Array(restored.numbers.buffer).set(dump.rows)
    new Uint8Array(restored.outcomes.buffer).set(dump.outcomes)
    restored.highWater = end
    restored.outcomeEnd = outcomeEnd
    const [oldest, newest, free, freeOutcome, used] = dump.heads
    restored.oldest = oldest!
    restored.newest = newest!
    restored.free = free!
    restored.freeOutcome = freeOutcome!
    restored.used = used!
    for (let entry = 0; entry < end; entry++) if (restored.accountOf(entry) !== -2) restored.index(entry, restored.placeOf(entry))
    return restored
  }
}

/** HalfSipHash-1-3 of a digest's four words, under a key of two. */
const scatter = (key0: number, key1: number, a: number, b: number, c: number, d: number): number => {
  let v0 = key0
  let v1 = key1
  let v2 = 0x6c796765 ^ key0
  let v3 = 0x74656462 ^ key1
  // Four words, the length that ends the message, and the three rounds that finish it.
  for (let round = 0; round < 8; round++) {
    const word = round === 0 ? a : round === 1 ? b : round === 2 ? c : round === 3 ? d : round === 4 ? 0x10000000 : 0
    if (round === 5) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return v1 ^ v3
}
