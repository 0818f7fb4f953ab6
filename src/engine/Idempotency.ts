/**
 * Decisions remembered by Idempotency-Key. A key is kept for its retention, counted from the decision or from the end of the last
 * order that resulted from it, whichever is later; the retention of a key is fixed when it is decided. The table has a fixed size
 * and holds 128-bit digests and packed outcomes, from which the original response is rebuilt. Nothing is evicted early: a full
 * table refuses.
 */
import { assert } from "../domain/Assert.js"
import { Digest128 } from "../domain/Digest128.js"
import { none } from "../domain/None.js"
import * as Order from "../domain/Order.js"
import { Refusal } from "../domain/Refusal.js"
import { minuteMs } from "../domain/Durations.js"
import { minutesOf, retentionMs } from "../domain/Retention.js"
import { StepwiseMap } from "../domain/Stepwise.js"
import type { Fingerprint } from "../operations/Fingerprint.js"
import type { Remembering } from "../operations/Header.js"
import type { Share } from "../operations/Operation.js"
import { allOutcomes, type Command, type EntryOutcome, of, type Outcome, pack, unpack } from "../operations/Operations.js"
import { Packed, packedNumbers, refusedCode } from "../operations/Outcome.js"
import { maxPlaceEntries } from "../operations/orders/PlaceOrders.js"
import { bytesOf, growFloats, grownLength, growRows, initialLength, newRows, wordsOf } from "./Columns.js"
import * as Body1 from "./migrations/Body1.js"
import { OutOfRoom } from "./OutOfRoom.js"
import { ProbingTable } from "./ProbingTable.js"
import type { SectionReader, SectionWriter } from "./Sections.js"
import { boundOf, Held, isBeyondPart, isBeyondPartThen, isHeldToPart, mayReduce, type Over } from "./Share.js"
import { type HashKey, hashWords } from "./SipHash.js"

/**
 * Most keys, and most ended orders, that one record forgets: more than one record can add, so that a backlog shrinks step by step
 * without holding up any record.
 */
export const forgottenAtOnce = 64

/** Keys whose rows are read ahead together before they are forgotten one by one. */
const readAtOnce = 16

/** Initial rows of a small table. */
const initialEntries = 256

/** When the last order of an outcome ended, epoch milliseconds: `Infinity` while one is open, 0 when all are forgotten. */
export type EndOf = (orderNumber: number) => number

/** Reads ahead what `EndOf` needs, for callers that ask for many orders: see `Orders.readAhead`. */
export type ReadAhead = (orderNumber: number) => number

/** The limits with which a table is restored, named as in the engine's capacity. */
interface Bounds {
  readonly idempotencyKeys: number
  readonly hashKey?: HashKey
  readonly accountParts?: number
  readonly forgottenAtOnce?: number
}

/**
 * An entry is a row of 128 bytes, two cache lines: 16 numbers of 8 bytes, or 32 words of 4. The first line holds its owner and its
 * times, the second its first outcome.
 */
const entryNumbers = 16
const entryWords = 32
export const entryBytes = 128
const word = {
  key: 0,
  body: 4,
  /** The account of the key; -1 for the operator, -2 in a free row. */
  account: 8,
  /** The next entry in the queue or in the chain of free rows; or -1. */
  next: 9,
  /** The first of the further outcomes, which have rows of their own; or -1. */
  more: 10,
  /** The bits of `flag` and, from `retentionShift` on, the retention of the key in minutes. */
  flags: 11,
  codes: 18,
  /** The hash of the key for the table lookup; it decides nothing and is not in snapshots. */
  hash: 19
} as const
const number = {
  sequence: 6,
  at: 7,
  /** When the entry was last put at the end of the queue: ascending along the queue. */
  queuedAt: 8,
  outcome: 10
} as const

const flag = {
  /** The body was digested as under rules 1; otherwise it is a fingerprint. */
  body1: 1,
  /** The command amended an order: its entry is kept while the order is open, until the next amendment takes that over. */
  amendment: 2,
  /** A later amendment has taken that over: the entry is kept for its retention only. */
  superseded: 4
} as const

/** The retention lies above the flags. */
const retentionShift = 8

/** Each further outcome of a command is a row of 56 bytes. */
const moreNumbers = 7
const moreWords = 14
const moreWord = {
  codes: 0,
  /** The next outcome of the command, or the next free row; or -1. */
  next: 1
} as const
const moreNumber = { outcome: 1 } as const

/** For each outcome code, which of its numbers is an order number; -1 where there is none. */
const orderNumberAt: ReadonlyArray<number> = Array.from({ length: 256 }, (_, code) => {
  const declared = allOutcomes.find((outcome) => outcome.code === code)
  if (declared === undefined) return none
  return Object.values(declared.fields).filter(({ shape }) => shape.type === "whole").findIndex(({ mark }) => mark === "order")
})

/**
 * Whether an outcome refers to an order that may have ended after the decision. The order's status is the first of the outcome's
 * codes: an order that was not open then had ended already.
 */
const mayEndLater = (codes: number): boolean => orderNumberAt[codes & 0xff]! >= 0 && ((codes >>> 16) & 0xff) === Order.open

/** The keys that a record would forget before anything else, and the number of their further outcomes. */
interface OverKeys extends Over {
  readonly further: number
}

/** The result of a lookup: a remembered outcome, `conflict` for a different body under the same key, or nothing. */
export type Found = Outcome | "conflict" | undefined

export class Idempotency {
  private used = 0
  private highWater = 0
  private readonly table: ProbingTable
  private numbers: Float64Array<ArrayBuffer>
  private words: Int32Array
  private oldest = none
  private newest = none
  private free = none

  // Further outcomes of batches, chained.
  private moreEnd = 0
  private freeMore = none
  private moreUsed = 0
  private more: Float64Array
  private moreCodes: Int32Array

  /** Remembered outcomes by account, counted entry by entry. */
  private readonly held = new Held()
  /** The entry of the last amendment of an order, by order number. */
  private readonly amendments = new StepwiseMap<number, number>()

  /** The digest of the key that was digested last. */
  private readonly digest = new Digest128()
  /** An outcome on its way into the table or out of it; the object is reused. */
  private readonly packed = new Packed()

  /** The command whose key was digested last, and the digest: `lookup` and `remember` of a command follow each other. */
  private digested: Command | undefined = undefined
  private readonly kept = new Digest128()
  private keptHash = 0
  /** The free slot at which `slotAt` ended without finding an entry. */
  private freePlace = 0
  /** Result of the last read-ahead, stored so that the compiler cannot remove the reads as dead code. */
  seen = 0
  /** The present retention, minutes, for entries added from now on. */
  retentionMinutes = minutesOf(retentionMs)

  private readonly hashKey0: number
  private readonly hashKey1: number

  /**
   * `hashKey` randomises the table, so that nobody can craft colliding keys; it decides nothing. `parts`: see `Share.isBeyondPart`.
   */
  constructor(
    readonly capacity: number,
    hashKey: HashKey = [0, 0],
    private readonly parts = 0,
    private readonly atOnce = forgottenAtOnce
  ) {
    this.hashKey0 = hashKey[0] | 0
    this.hashKey1 = hashKey[1] | 0
    this.table = new ProbingTable(capacity, capacity, (entry) => this.words[entry * entryWords + word.hash]!)
    const length = initialLength(capacity, initialEntries)
    this.numbers = newRows(length * entryNumbers)
    this.words = wordsOf(this.numbers)
    this.more = new Float64Array(initialLength(capacity, initialEntries) * moreNumbers)
    this.moreCodes = wordsOf(this.more)
  }

  /** The length of the rows of a table that is allocated in full. */
  static rowsLength(capacity: number): number {
    return capacity * entryNumbers
  }

  /** The number of keys in the table. */
  get size(): number {
    return this.used
  }

  /** The hash of the key that was digested last. */
  private hashOfDigest(): number {
    const { digest, hashKey0, hashKey1 } = this
    return hashWords(hashKey0, hashKey1, digest.a, digest.b, digest.c, digest.d)
  }

  /** The entry of the key that was digested last, or -1; then `freePlace` is where it belongs. */
  private slotAt(account: number, hash: number): number {
    const { digest, table, words } = this
    for (let place = table.seek(hash, hash);; place = table.seek(hash, place + 1)) {
      const entry = table.entryAt(place)
      if (entry === none) {
        this.freePlace = place
        return none
      }
      const row = entry * entryWords
      if (
        words[row + word.key] === digest.a && words[row + word.key + 1] === digest.b && words[row + word.key + 2] === digest.c
        && words[row + word.key + 3] === digest.d && words[row + word.account] === account
      ) return entry
    }
  }

  /** Adds a restored entry to the hash table. */
  private index(entry: number): void {
    const { hashKey0, hashKey1, table, words } = this
    const row = entry * entryWords
    const key = row + word.key
    const hash = hashWords(hashKey0, hashKey1, words[key]!, words[key + 1]!, words[key + 2]!, words[key + 3]!)
    words[row + word.hash] = hash
    table.insert(hash, entry)
  }

  /** The number of remembered outcomes of an account, counted entry by entry. */
  heldOf(account: number): number {
    return this.held.of(account)
  }

  private accountOf(entry: number): number {
    return this.words[entry * entryWords + word.account]!
  }

  private moreOf(entry: number): number {
    return this.words[entry * entryWords + word.more]!
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

  private nextMore(outcome: number): number {
    return this.moreCodes[outcome * moreWords + moreWord.next]!
  }

  private digestKey(account: number, operation: number, key: string): void {
    const { digest } = this
    digest.reset(account)
    digest.word(operation)
    digest.text(key)
    digest.finish()
  }

  /** The entry under a key, expired or not; -1 where there is none. */
  private entryOf(account: number, operation: number, key: string): number {
    this.digestKey(account, operation, key)
    return this.slotAt(account, this.hashOfDigest())
  }

  /** Digests a command's key, and keeps the digest for `remember`. */
  private digestKeyOf(command: Command): void {
    this.digestKey(command.account, command.operation, command.idempotencyKey)
    this.digested = command
    this.kept.set(this.digest)
    this.keptHash = this.hashOfDigest()
  }

  /** What is remembered under a command's key at a given time. */
  lookup(command: Command, atEpochMs: number, endOf: EndOf): Found {
    if (command.idempotencyKey === "") return undefined
    this.digestKeyOf(command)
    const entry = this.slotAt(command.account, this.keptHash)
    if (entry === none || this.expiry(entry, endOf) <= atEpochMs) return undefined
    return this.hasBody(entry, command) ? this.outcome(entry) : "conflict"
  }

  private hasBody(entry: number, command: Command): boolean {
    return this.isBody(entry, this.isOfRules1(entry) ? Body1.of(command) : command.fingerprint)
  }

  /** Whether an entry's body was digested as under rules 1. */
  private isOfRules1(entry: number): boolean {
    return (this.words[entry * entryWords + word.flags]! & flag.body1) !== 0
  }

  private isBody(entry: number, { a, b, c, d }: Fingerprint): boolean {
    const { words } = this
    const at = entry * entryWords + word.body
    return words[at] === a && words[at + 1] === b && words[at + 2] === c && words[at + 3] === d
  }

  /** The outcome remembered under a key, whatever the body; undefined where there is none. */
  outcomeOf(account: number, operation: number, key: string, atEpochMs: number, endOf: EndOf): Outcome | undefined {
    const entry = this.entryOf(account, operation, key)
    return entry === none || this.expiry(entry, endOf) <= atEpochMs ? undefined : this.outcome(entry)
  }

  /**
   * The outcome remembered under a key for a body with the given fingerprint; undefined where there is none, or another body is remembered.
   * Bodies digested as under rules 1 can only be compared with a command, so they are never found.
   */
  decisionOn({ account, fingerprint, idempotencyKey, operation }: Remembering, atEpochMs: number, endOf: EndOf): Outcome | undefined {
    const entry = this.entryOf(account, operation, idempotencyKey)
    if (entry === none || this.expiry(entry, endOf) <= atEpochMs) return undefined
    return !this.isOfRules1(entry) && this.isBody(entry, fingerprint) ? this.outcome(entry) : undefined
  }

  /** Whether a key has expired while its row is still in the table: it was seen, but its outcome is no longer given. */
  isOver(account: number, operation: number, key: string, atEpochMs: number, endOf: EndOf): boolean {
    const entry = this.entryOf(account, operation, key)
    return entry !== none && this.expiry(entry, endOf) <= atEpochMs
  }

  /** The retention promised for an entry, milliseconds. */
  private retentionOf(entry: number): number {
    return (this.words[entry * entryWords + word.flags]! >>> retentionShift) * minuteMs
  }

  /**
   * Extends an entry without orders as if it had been decided now, unless it is kept longer already. Returns until when it is kept,
   * epoch milliseconds.
   */
  renew(account: number, operation: number, key: string, atEpochMs: number): number {
    const entry = this.entryOf(account, operation, key)
    assert(entry !== none, "what is renewed is remembered")
    const stands = this.atOf(entry) + this.retentionOf(entry)
    const renewed = atEpochMs + this.retentionMinutes * minuteMs
    if (stands >= renewed) return stands
    // It keeps its place in the queue: once its first retention is over it is examined and requeued.
    this.numbers[entry * entryNumbers + number.at] = atEpochMs
    const flags = entry * entryWords + word.flags
    this.words[flags] = (this.words[flags]! & ((1 << retentionShift) - 1)) | (this.retentionMinutes << retentionShift)
    return renewed
  }

  /** When an entry expires, epoch milliseconds: `Infinity` while one of its orders is open. */
  private expiry(entry: number, endOf: EndOf): number {
    let end = this.atOf(entry)
    const { numbers, words } = this
    const codes = words[entry * entryWords + word.codes]!
    if (mayEndLater(codes) && (words[entry * entryWords + word.flags]! & flag.superseded) === 0) {
      end = laterEnd(end, endOf, numbers[entry * entryNumbers + number.outcome + orderNumberAt[codes & 0xff]!]!)
    }
    for (let outcome = this.moreOf(entry); outcome !== none; outcome = this.nextMore(outcome)) {
      const further = this.moreCodes[outcome * moreWords + moreWord.codes]!
      if (!mayEndLater(further)) continue
      end = laterEnd(end, endOf, this.more[outcome * moreNumbers + moreNumber.outcome + orderNumberAt[further & 0xff]!]!)
    }
    return end + this.retentionOf(entry)
  }

  private outcome(entry: number): Outcome {
    const { more, moreCodes, numbers, words } = this
    const first = this.unpackAt(words[entry * entryWords + word.codes]!, numbers, entry * entryNumbers + number.outcome)
    const entries: Array<EntryOutcome> = [first]
    for (let outcome = this.moreOf(entry); outcome !== none; outcome = this.nextMore(outcome)) {
      entries.push(this.unpackAt(moreCodes[outcome * moreWords + moreWord.codes]!, more, outcome * moreNumbers + moreNumber.outcome))
    }
    return {
      sequence: numbers[entry * entryNumbers + number.sequence]!,
      atEpochMs: this.atOf(entry),
      refusal: Refusal.none,
      replayed: true,
      entries
    }
  }

  /** What is taken of the table of keys or of the one of further outcomes, whichever has less room. */
  private get taken(): number {
    return Math.max(this.used, this.moreUsed)
  }

  /**
   * Refuses a command with this many outcomes to remember: where the table of keys or of outcomes is full for its class, or where
   * the account would exceed its part. The oldest keys that `expire` would forget by then count as room.
   */
  refuses(share: Share, account: number, entries: number, atEpochMs: number, endOf: EndOf): Refusal {
    const { capacity, moreUsed, used } = this
    const parts = isHeldToPart(share) ? this.parts : 0
    const bound = boundOf(capacity, share)
    const ofPlacements = boundOf(capacity, "placement")
    const held = this.held.of(account)
    const more = moreUsed + entries - 1
    // Nearly always there is room, and expired keys need not be counted.
    if (used < bound && more <= bound && !isBeyondPart(parts, held, entries, ofPlacements - this.taken)) return Refusal.none
    const over = this.over(account, atEpochMs, endOf)
    if (used - over.count >= bound || more - over.further > bound) return Refusal.tableFull
    const left = ofPlacements - this.takenThen(over)
    return isBeyondPartThen(parts, held, entries, left, over) ? Refusal.accountShare : Refusal.none
  }

  /**
   * Whether a command that reduces something finds room although its account would exceed its part: see `Share.mayReduce`. The tables
   * are not full for its class.
   */
  mayReduce(account: number, entries: number, atEpochMs: number, endOf: EndOf): boolean {
    const over = this.over(account, atEpochMs, endOf)
    return mayReduce(this.capacity, this.parts, this.held.of(account) - over.own, entries, this.takenThen(over))
  }

  private takenThen({ count, further }: OverKeys): number {
    return Math.max(this.used - count, this.moreUsed - further)
  }

  /**
   * When a record examines an entry, once it gets there: it forgets it, or requeues it where open orders or a longer retention keep
   * it. An entry with a longer retention is examined as often as any other, so that those behind it wait no longer than the present
   * retention.
   */
  private lookEpochMs(entry: number): number {
    return this.queuedAtOf(entry) + Math.min(this.retentionOf(entry), this.retentionMinutes * minuteMs)
  }

  private isDue(entry: number, atEpochMs: number): boolean {
    return entry !== none && this.lookEpochMs(entry) <= atEpochMs
  }

  /** The keys that `expire` forgets by then, and how many of their outcomes belong to an account. */
  private over(account: number, atEpochMs: number, endOf: EndOf): OverKeys {
    let entry = this.oldest
    let count = 0
    let further = 0
    let own = 0
    for (let looks = 0; looks < this.atOnce && this.isDue(entry, atEpochMs); looks++) {
      // An entry kept by an open order is passed over.
      if (this.expiry(entry, endOf) <= atEpochMs) {
        const behind = this.furtherOf(entry)
        count++
        further += behind
        if (this.accountOf(entry) === account) own += 1 + behind
      }
      entry = this.nextOf(entry)
    }
    return { count, further, own, isMost: count === this.atOnce }
  }

  /** The number of further outcomes of a key. */
  private furtherOf(entry: number): number {
    let further = 0
    for (let at = this.moreOf(entry); at !== none; at = this.nextMore(at)) further++
    return further
  }

  /**
   * When a record has to come to forget keys, or to look past those that open orders keep, epoch milliseconds: `Infinity` while
   * even the longest placement finds room. A full table refuses without a record, so no other record would come.
   */
  get nextTurnEpochMs(): number {
    const bound = boundOf(this.capacity, "placement")
    const isFull = this.used >= bound || this.moreUsed + maxPlaceEntries - 1 > bound
    return isFull && this.oldest !== none ? this.lookEpochMs(this.oldest) : Number.POSITIVE_INFINITY
  }

  /** Whether a client's command that is remembered twice has room, without counting expired keys. */
  get hasRoomForTwo(): boolean {
    return this.used + 2 <= boundOf(this.capacity, "reduction")
  }

  /**
   * Remembers the first `entries` packed outcomes under a command's key. There must be room; commands without a key are ignored.
   */
  remember(command: Command, sequence: number, atEpochMs: number, outcomes: ReadonlyArray<Packed>, entries: number): void {
    if (command.idempotencyKey === "") return
    const { keeps } = of(command)
    if (keeps === "what it did" && !didAnything(outcomes, entries)) return
    if (this.digested !== command) this.digestKeyOf(command)
    else this.digest.set(this.kept)
    this.digested = undefined
    const entry = this.putDigested(command, this.keptHash, sequence, atEpochMs, outcomes, entries)
    if (keeps === "until the next") this.supersede(entry)
  }

  /** Remembers the outcome of one entry under a key of its own, in addition to the command's. */
  put(operation: number, key: string, command: Command, sequence: number, atEpochMs: number, outcome: EntryOutcome): void {
    this.digestKey(command.account, operation, key)
    pack(outcome, this.packed)
    this.putDigested(command, this.hashOfDigest(), sequence, atEpochMs, [this.packed], 1)
  }

  private unpackAt(codes: number, numbers: Float64Array, at: number): EntryOutcome {
    this.packed.codes = codes
    for (let index = 0; index < packedNumbers; index++) this.packed.numbers[index] = numbers[at + index]!
    return unpack(this.packed)
  }

  /**
   * Remembers outcomes under the key that was just digested. Returns the entry. An expired key that is used again keeps its place
   * in the queue.
   */
  private putDigested(
    { account, fingerprint }: Command,
    hash: number,
    sequence: number,
    atEpochMs: number,
    outcomes: ReadonlyArray<Packed>,
    entries: number
  ): number {
    assert(entries > 0, "a command comes to something")
    const known = this.slotAt(account, hash)
    if (known !== none) this.drop(known)
    const entry = known === none ? this.allocate(sequence) : known
    if (known === none) this.table.put(hash, this.freePlace, entry)
    this.held.add(account, entries)
    const { digest, numbers, words } = this
    const row = entry * entryWords
    words[row + word.key] = digest.a
    words[row + word.key + 1] = digest.b
    words[row + word.key + 2] = digest.c
    words[row + word.key + 3] = digest.d
    words[row + word.body] = fingerprint.a
    words[row + word.body + 1] = fingerprint.b
    words[row + word.body + 2] = fingerprint.c
    words[row + word.body + 3] = fingerprint.d
    words[row + word.account] = account
    words[row + word.more] = none
    words[row + word.flags] = this.retentionMinutes << retentionShift
    words[row + word.hash] = hash
    numbers[entry * entryNumbers + number.sequence] = sequence
    numbers[entry * entryNumbers + number.at] = atEpochMs
    for (let index = entries - 1; index > 0; index--) {
      words[row + word.more] = this.putMore(outcomes[index]!, words[row + word.more]!)
    }
    const first = outcomes[0]!
    words[row + word.codes] = first.codes
    const at = entry * entryNumbers + number.outcome
    for (let index = 0; index < packedNumbers; index++) numbers[at + index] = first.numbers[index]!
    if (known === none) this.enqueue(entry, atEpochMs)
    return entry
  }

  /**
   * Notes an entry as the last amendment of its order, provided that left the order open: the previous amendment is kept for its
   * retention only.
   */
  private supersede(entry: number): void {
    const { amendments, words } = this
    const row = entry * entryWords
    if (!mayEndLater(words[row + word.codes]!)) return
    const order = this.orderOf(entry)
    const before = amendments.get(order)
    if (before !== undefined) words[before * entryWords + word.flags]! |= flag.superseded
    words[row + word.flags]! |= flag.amendment
    amendments.set(order, entry)
  }

  /** The order number in an entry's first outcome. */
  private orderOf(entry: number): number {
    return this.numbers[entry * entryNumbers + number.outcome + orderNumberAt[this.words[entry * entryWords + word.codes]! & 0xff]!]!
  }

  /** Releases the outcomes of a key: rows of further outcomes, counts, and the note of an amendment. */
  private drop(entry: number): void {
    const { words } = this
    const row = entry * entryWords
    let entries = 1
    for (let at = this.moreOf(entry); at !== none; entries++) {
      const following = this.nextMore(at)
      this.moreCodes[at * moreWords + moreWord.next] = this.freeMore
      this.freeMore = at
      at = following
    }
    this.moreUsed -= entries - 1
    this.held.add(this.accountOf(entry), -entries)
    if ((words[row + word.flags]! & (flag.amendment | flag.superseded)) === flag.amendment) this.amendments.delete(this.orderOf(entry))
  }

  /** Stores a further outcome in front of `next`. Returns its row. */
  private putMore({ codes, numbers }: Packed, next: number): number {
    const slot = this.allocateMore()
    this.moreCodes[slot * moreWords + moreWord.codes] = codes
    this.moreCodes[slot * moreWords + moreWord.next] = next
    const at = slot * moreNumbers + moreNumber.outcome
    for (let index = 0; index < packedNumbers; index++) this.more[at + index] = numbers[index]!
    return slot
  }

  /**
   * Forgets expired keys from the oldest on. A key that an open order or a longer retention keeps is requeued and examined a
   * retention later. A bounded number of keys is examined at once.
   */
  expire(atEpochMs: number, endOf: EndOf, readAhead: ReadAhead, forgotten: (account: number) => void): void {
    for (let at = 0; at < this.atOnce && this.isDue(this.oldest, atEpochMs); at++) {
      const entry = this.oldest
      if (at % readAtOnce === 0) this.readOldest(readAhead)
      if (this.expiry(entry, endOf) <= atEpochMs) {
        forgotten(this.accountOf(entry))
        this.forgetOldest()
      } else {
        this.oldest = this.nextOf(entry)
        if (this.oldest === none) this.newest = none
        this.enqueue(entry, atEpochMs)
      }
    }
  }

  /**
   * Reads ahead what forgetting the oldest keys needs. Rows as old as the retention are in no cache: read together, their cache
   * misses overlap, while one key after the other would wait for each of its own.
   */
  private readOldest(readAhead: ReadAhead): void {
    const { numbers, table, words } = this
    let seen = 0
    let entry = this.oldest
    for (let count = 0; count < readAtOnce && entry !== none; count++) {
      const row = entry * entryWords
      seen ^= table.readAhead(words[row + word.hash]!)
      const codes = words[row + word.codes]!
      if (mayEndLater(codes)) seen ^= readAhead(numbers[entry * entryNumbers + number.outcome + orderNumberAt[codes & 0xff]!]!)
      entry = words[row + word.next]!
    }
    this.seen = seen
  }

  private enqueue(entry: number, atEpochMs: number): void {
    this.numbers[entry * entryNumbers + number.queuedAt] = atEpochMs
    this.setNext(entry, none)
    if (this.newest === none) this.oldest = entry
    else this.setNext(this.newest, entry)
    this.newest = entry
  }

  private forgetOldest(): void {
    const entry = this.oldest
    this.oldest = this.nextOf(entry)
    if (this.oldest === none) this.newest = none
    this.table.remove(this.words[entry * entryWords + word.hash]!, entry)
    this.drop(entry)
    this.words[entry * entryWords + word.account] = -2
    this.setNext(entry, this.free)
    this.free = entry
    this.used--
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

  private allocateMore(): number {
    this.moreUsed++
    if (this.freeMore !== none) {
      const slot = this.freeMore
      this.freeMore = this.nextMore(slot)
      return slot
    }
    if (this.moreEnd * moreNumbers === this.more.length) this.growMore(grownLength(this.moreEnd, this.moreEnd + 1))
    return this.moreEnd++
  }

  private grow(entries: number): void {
    this.numbers = growRows(this.numbers, entries * entryNumbers)
    this.words = wordsOf(this.numbers)
  }

  private growMore(outcomes: number): void {
    this.more = growFloats(this.more, outcomes * moreNumbers)
    this.moreCodes = wordsOf(this.more)
  }

  /** Feeds the content, oldest key first. */
  canonical(feed: (line: string) => void): void {
    for (let entry = this.oldest; entry !== none; entry = this.nextOf(entry)) {
      const row = entry * entryWords
      // The digests of key and body are adjacent.
      const digests = this.words.subarray(row + word.key, row + word.body + 4).join(" ")
      const isSuperseded = (this.words[row + word.flags]! & flag.superseded) !== 0
      const outcome = asDigested(this.outcome(entry))
      const kept = isSuperseded ? { ...outcome, superseded: true } : outcome
      feed(`key ${this.accountOf(entry)} ${digests} ${this.queuedAtOf(entry)} ${this.retentionOf(entry)} ${JSON.stringify(kept)}`)
    }
  }

  private copyRows(from: number, to: number, into: Float64Array): void {
    const words = wordsOf(into)
    words.set(this.words.subarray(from * entryWords, to * entryWords))
    for (let at = word.hash; at < words.length; at += entryWords) words[at] = 0
  }

  encode(into: SectionWriter): void {
    into.rows("idempotency.rows", this.highWater, entryBytes, (from, to, rows) => this.copyRows(from, to, rows))
    into.rows("idempotency.more", this.moreEnd, moreNumbers * 8, (from, to, rows) => {
      wordsOf(rows).set(this.moreCodes.subarray(from * moreNumbers * 2, to * moreNumbers * 2))
    })
    into.column("idempotency.heads", Int32Array.of(this.oldest, this.newest, this.free, this.freeMore, this.used))
  }

  static decode(from: SectionReader, { accountParts, forgottenAtOnce, hashKey, idempotencyKeys: capacity }: Bounds): Idempotency {
    const restored = new Idempotency(capacity, hashKey, accountParts, forgottenAtOnce)
    const [rows, more] = [from.bytes("idempotency.rows"), from.bytes("idempotency.more")]
    const end = rows.length / entryBytes
    const moreEnd = more.length / (moreNumbers * 8)
    assert(Number.isInteger(end) && Number.isInteger(moreEnd), "a snapshot's table is whole rows")
    assert(end <= capacity, "a snapshot's table fits the capacity it is restored to")
    if (end * entryNumbers > restored.numbers.length) restored.grow(end)
    if (moreEnd * moreNumbers > restored.more.length) restored.growMore(moreEnd)
    restored.numbers = from.rows("idempotency.rows", restored.numbers)
    restored.words = wordsOf(restored.numbers)
    bytesOf(restored.more).set(more)
    restored.highWater = end
    restored.moreEnd = moreEnd
    const [oldest, newest, free, freeMore, used] = from.ints("idempotency.heads")
    restored.oldest = oldest!
    restored.newest = newest!
    restored.free = free!
    restored.freeMore = freeMore!
    restored.used = used!
    for (let entry = 0; entry < end; entry++) if (restored.accountOf(entry) !== -2) restored.count(entry)
    return restored
  }

  /** Adds a restored entry to the hash table and to the counts. */
  private count(entry: number): void {
    this.index(entry)
    const further = this.furtherOf(entry)
    this.moreUsed += further
    this.held.add(this.accountOf(entry), 1 + further)
    const flags = this.words[entry * entryWords + word.flags]!
    if ((flags & (flag.amendment | flag.superseded)) === flag.amendment) this.amendments.set(this.orderOf(entry), entry)
  }
}

/** Whether any of the outcomes is not a refusal. */
const didAnything = (outcomes: ReadonlyArray<Packed>, entries: number): boolean => {
  for (let index = 0; index < entries; index++) if ((outcomes[index]!.codes & 0xff) !== refusedCode) return true
  return false
}

const laterEnd = (end: number, endOf: EndOf, orderNumber: number): number => orderNumber < 0 ? end : Math.max(end, endOf(orderNumber))

/**
 * An outcome as the state digests it: without the nearest quantity that margin would back. That value only explains a refusal, and
 * journals of these rules were written before it existed.
 */
const asDigested = (outcome: Outcome): Outcome => ({
  ...outcome,
  entries: outcome.entries.map((entry) =>
    entry._tag === "Refused" && entry.refusal === Refusal.marginInsufficient ? { ...entry, nearest: Number.NaN } : entry
  )
})
