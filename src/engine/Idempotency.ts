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
import { growFloats, grownLength, growInts, initialLength } from "./Columns.js"
import { Digest128 } from "./Digest128.js"
import type { HashKey } from "./Orders.js"
import { OutOfRoom } from "./OutOfRoom.js"

/** How long a key and an ended order are remembered at least. */
export const retentionMs = 24 * 3_600_000

/** Columns of a small table begin with these. */
const initialEntries = 256

/** When the last order an outcome speaks of ended: `Infinity` while one is open, 0 when all are forgotten. */
export type EndOf = (orderNumber: number) => number

const intColumns = ["key0", "key1", "key2", "key3", "body0", "body1", "body2", "body3", "account", "first"] as const
const floatColumns = ["sequence", "at", "queuedAt"] as const
const outcomeColumns = [
  "orderNumber",
  "filled",
  "filledNotional",
  "canceled",
  "price",
  "quantity",
  "limit",
  "actual",
  "nearest"
] as const

/** What of the table a snapshot holds. */
export type IdempotencyDump =
  & { readonly [K in (typeof intColumns)[number]]: Int32Array }
  & { readonly [K in (typeof floatColumns)[number]]: Float64Array }
  & { readonly [K in (typeof outcomeColumns)[number]]: Float64Array }
  & { readonly codes: Int32Array; readonly nextOutcome: Int32Array; readonly next: Int32Array; readonly heads: Int32Array }

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
  /** Entry + 1 by hash; 0 is empty. At most half full. */
  private readonly table: Int32Array
  private readonly mask: number
  private key0: Int32Array
  private key1: Int32Array
  private key2: Int32Array
  private key3: Int32Array
  private body0: Int32Array
  private body1: Int32Array
  private body2: Int32Array
  private body3: Int32Array
  /** Account of the scope; -1 for the operator, -2 in a free entry. */
  private account: Int32Array
  private first: Int32Array
  private sequence: Float64Array
  private at: Float64Array
  /** When the entry was last put at the end of the queue: never going back along it. */
  private queuedAt: Float64Array
  /** The queue, oldest first; or the chain of free entries. */
  private next: Int32Array
  private oldest = none
  private newest = none
  private free = none

  // Outcomes, one for each entry of a command, chained.
  private outcomeEnd = 0
  private freeOutcome = none
  private nextOutcome: Int32Array
  /** refusal | status << 8 | cancelReason << 16. */
  private codes: Int32Array
  private orderNumber: Float64Array
  private filled: Float64Array
  private filledNotional: Float64Array
  private canceled: Float64Array
  private price: Float64Array
  private quantity: Float64Array
  private limit: Float64Array
  private actual: Float64Array
  private nearest: Float64Array

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
    const length = initialLength(capacity, initialEntries)
    this.key0 = new Int32Array(length)
    this.key1 = new Int32Array(length)
    this.key2 = new Int32Array(length)
    this.key3 = new Int32Array(length)
    this.body0 = new Int32Array(length)
    this.body1 = new Int32Array(length)
    this.body2 = new Int32Array(length)
    this.body3 = new Int32Array(length)
    this.account = new Int32Array(length)
    this.first = new Int32Array(length)
    this.sequence = new Float64Array(length)
    this.at = new Float64Array(length)
    this.queuedAt = new Float64Array(length)
    this.next = new Int32Array(length)
    this.nextOutcome = new Int32Array(length)
    this.codes = new Int32Array(length)
    this.orderNumber = new Float64Array(length)
    this.filled = new Float64Array(length)
    this.filledNotional = new Float64Array(length)
    this.canceled = new Float64Array(length)
    this.price = new Float64Array(length)
    this.quantity = new Float64Array(length)
    this.limit = new Float64Array(length)
    this.actual = new Float64Array(length)
    this.nearest = new Float64Array(length)
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
    const { hashKey0, hashKey1, key0, key1, key2, key3 } = this
    return scatter(hashKey0, hashKey1, key0[entry]!, key1[entry]!, key2[entry]!, key3[entry]!)
  }

  private slotAt(account: number): number {
    for (let at = this.placeOfDigest() & this.mask;; at = (at + 1) & this.mask) {
      const entry = this.table[at]! - 1
      if (entry === none) return none
      if (
        this.key0[entry] === digest.a && this.key1[entry] === digest.b && this.key2[entry] === digest.c
        && this.key3[entry] === digest.d && this.account[entry] === account
      ) return entry
    }
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
    if (
      this.body0[entry] !== digest.a || this.body1[entry] !== digest.b || this.body2[entry] !== digest.c
      || this.body3[entry] !== digest.d
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
    this.at[entry] = atEpochMs
  }

  /** When an entry may be forgotten: `Infinity` while an order of it is open. */
  private expiry(entry: number, endOf: EndOf): number {
    let end = this.at[entry]!
    // Only a client's command speaks of orders: what an operator's outcome names is no order number.
    if (this.account[entry] === none) return end + retentionMs
    for (let outcome = this.first[entry]!; outcome !== none; outcome = this.nextOutcome[outcome]!) {
      if ((this.codes[outcome]! & 0xff) !== 0) continue
      const number = this.orderNumber[outcome]!
      if (number >= 0) end = Math.max(end, endOf(number))
    }
    return end + retentionMs
  }

  private outcome(entry: number): Outcome {
    const entries: Array<EntryOutcome> = []
    for (let at = this.first[entry]!; at !== none; at = this.nextOutcome[at]!) {
      const codes = this.codes[at]!
      entries.push({
        refusal: (codes & 0xff) as Refusal,
        orderNumber: this.orderNumber[at]!,
        status: ((codes >>> 8) & 0xff) as Status,
        cancelReason: (codes >>> 16) as CancelReason,
        filledAtoms: this.filled[at]!,
        filledNotionalAtoms: this.filledNotional[at]!,
        canceledAtoms: this.canceled[at]!,
        priceAtoms: this.price[at]!,
        quantityAtoms: this.quantity[at]!,
        limit: this.limit[at]!,
        actual: this.actual[at]!,
        nearest: this.nearest[at]!
      })
    }
    return { sequence: this.sequence[entry]!, atEpochMs: this.at[entry]!, refusal: 0, replayed: true, entries }
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
    return oldest !== none && this.queuedAt[oldest]! + retentionMs <= atEpochMs && this.expiry(oldest, endOf) <= atEpochMs
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
    this.key0[entry] = digest.a
    this.key1[entry] = digest.b
    this.key2[entry] = digest.c
    this.key3[entry] = digest.d
    let at = this.placeOfDigest() & this.mask
    while (this.table[at] !== 0) at = (at + 1) & this.mask
    this.table[at] = entry + 1
    Idempotency.digestBody(command)
    this.body0[entry] = digest.a
    this.body1[entry] = digest.b
    this.body2[entry] = digest.c
    this.body3[entry] = digest.d
    this.account[entry] = account
    this.sequence[entry] = outcome.sequence
    this.at[entry] = outcome.atEpochMs
    this.first[entry] = none
    for (let index = outcome.entries.length - 1; index >= 0; index--) {
      const slot = this.allocateOutcome()
      const one = outcome.entries[index]!
      this.codes[slot] = one.refusal | (one.status << 8) | (one.cancelReason << 16)
      this.orderNumber[slot] = one.orderNumber
      this.filled[slot] = one.filledAtoms
      this.filledNotional[slot] = one.filledNotionalAtoms
      this.canceled[slot] = one.canceledAtoms
      this.price[slot] = one.priceAtoms
      this.quantity[slot] = one.quantityAtoms
      this.limit[slot] = one.limit
      this.actual[slot] = one.actual
      this.nearest[slot] = one.nearest
      this.nextOutcome[slot] = this.first[entry]!
      this.first[entry] = slot
    }
    this.enqueue(entry, outcome.atEpochMs)
  }

  /**
   * Forgets, from the oldest on, every key whose time is over. One that an open order keeps goes to the end
   * of the queue, to be looked at a day later; so each is looked at once a day.
   */
  expire(atEpochMs: number, endOf: EndOf, forgotten: (account: number) => void): void {
    while (this.oldest !== none && this.queuedAt[this.oldest]! + retentionMs <= atEpochMs) {
      const entry = this.oldest
      if (this.expiry(entry, endOf) <= atEpochMs) {
        forgotten(this.account[entry]!)
        this.forget(entry, none)
      } else {
        this.oldest = this.next[entry]!
        if (this.oldest === none) this.newest = none
        this.enqueue(entry, atEpochMs)
      }
    }
  }

  private enqueue(entry: number, atEpochMs: number): void {
    this.queuedAt[entry] = atEpochMs
    this.next[entry] = none
    if (this.newest === none) this.oldest = entry
    else this.next[this.newest] = entry
    this.newest = entry
  }

  /** The entry before one in the queue: a walk, for the rare key that is used again before its turn to be forgotten came. */
  private before(entry: number): number {
    let previous = none
    for (let at = this.oldest; at !== entry; at = this.next[at]!) {
      assert(at !== none, "a remembered key is in the queue")
      previous = at
    }
    return previous
  }

  private forget(entry: number, previous: number): void {
    const next = this.next[entry]!
    if (previous === none) this.oldest = next
    else this.next[previous] = next
    if (this.newest === entry) this.newest = previous
    this.unindex(entry)
    for (let at = this.first[entry]!; at !== none;) {
      const following = this.nextOutcome[at]!
      this.nextOutcome[at] = this.freeOutcome
      this.freeOutcome = at
      at = following
    }
    this.account[entry] = -2
    this.next[entry] = this.free
    this.free = entry
    this.used--
  }

  private unindex(entry: number): void {
    const { mask, table } = this
    let hole = this.placeOf(entry) & mask
    while (table[hole] !== entry + 1) {
      assert(table[hole] !== 0, "a remembered key is in the table")
      hole = (hole + 1) & mask
    }
    for (let at = (hole + 1) & mask; table[at] !== 0; at = (at + 1) & mask) {
      const home = this.placeOf(table[at]! - 1) & mask
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
      this.free = this.next[entry]!
      return entry
    }
    if (this.highWater === this.account.length) this.grow(grownLength(this.highWater, this.highWater + 1, this.capacity))
    return this.highWater++
  }

  private allocateOutcome(): number {
    if (this.freeOutcome !== none) {
      const slot = this.freeOutcome
      this.freeOutcome = this.nextOutcome[slot]!
      return slot
    }
    if (this.outcomeEnd === this.codes.length) this.growOutcomes(grownLength(this.outcomeEnd, this.outcomeEnd + 1))
    return this.outcomeEnd++
  }

  private grow(length: number): void {
    for (const column of intColumns) this[column] = growInts(this[column], length)
    for (const column of floatColumns) this[column] = growFloats(this[column], length)
    this.next = growInts(this.next, length, none)
  }

  private growOutcomes(length: number): void {
    for (const column of outcomeColumns) this[column] = growFloats(this[column], length)
    this.codes = growInts(this.codes, length)
    this.nextOutcome = growInts(this.nextOutcome, length, none)
  }

  /** Feeds the content, oldest key first. */
  canonical(feed: (line: string) => void): void {
    for (let entry = this.oldest; entry !== none; entry = this.next[entry]!) {
      feed(
        `key ${this.account[entry]} ${this.key0[entry]} ${this.key1[entry]} ${this.key2[entry]} ${this.key3[entry]} `
          + `${this.body0[entry]} ${this.body1[entry]} ${this.body2[entry]} ${this.body3[entry]} ${this.queuedAt[entry]} `
          + JSON.stringify(this.outcome(entry))
      )
    }
  }

  dump(): IdempotencyDump {
    const dump: Record<string, Int32Array | Float64Array> = {}
    for (const column of intColumns) dump[column] = this[column].slice(0, this.highWater)
    for (const column of floatColumns) dump[column] = this[column].slice(0, this.highWater)
    for (const column of outcomeColumns) dump[column] = this[column].slice(0, this.outcomeEnd)
    dump["codes"] = this.codes.slice(0, this.outcomeEnd)
    dump["nextOutcome"] = this.nextOutcome.slice(0, this.outcomeEnd)
    dump["next"] = this.next.slice(0, this.highWater)
    dump["heads"] = Int32Array.of(this.oldest, this.newest, this.free, this.freeOutcome, this.used)
    return dump as unknown as IdempotencyDump
  }

  static restore(dump: IdempotencyDump, capacity: number, hashKey: HashKey = [0, 0]): Idempotency {
    const restored = new Idempotency(capacity, hashKey)
    const end = dump.account.length
    assert(end <= capacity, "a dumped table fits the capacity it is restored to")
    if (end > restored.account.length) restored.grow(end)
    const outcomeEnd = dump.codes.length
    if (outcomeEnd > restored.codes.length) restored.growOutcomes(outcomeEnd)
    for (const column of intColumns) restored[column].set(dump[column])
    for (const column of floatColumns) restored[column].set(dump[column])
    for (const column of outcomeColumns) restored[column].set(dump[column])
    restored.codes.set(dump.codes)
    restored.nextOutcome.set(dump.nextOutcome)
    restored.next.set(dump.next)
    restored.highWater = end
    restored.outcomeEnd = outcomeEnd
    const [oldest, newest, free, freeOutcome, used] = dump.heads
    restored.oldest = oldest!
    restored.newest = newest!
    restored.free = free!
    restored.freeOutcome = freeOutcome!
    restored.used = used!
    for (let entry = 0; entry < end; entry++) {
      if (restored.account[entry] === -2) continue
      let at = restored.placeOf(entry) & restored.mask
      while (restored.table[at] !== 0) at = (at + 1) & restored.mask
      restored.table[at] = entry + 1
    }
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
