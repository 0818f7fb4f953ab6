/**
 * All orders that the venue remembers, open or ended, by integer slot, with indexes by order number and by an account's
 * clientOrderId.
 *
 * An order is two rows of 64 bytes, each one cache line: one with what the book, matching and the tables use, and one with its past
 * and its owner. Access to a random order thus costs two cache misses rather than one per field, and a book that only matches keeps
 * twice as many orders in a cache. Each kind of row has a buffer with two views, of 8-byte numbers and of 4-byte words, which the
 * accessors below read and write by name. The links between an account's remembered orders lie beside the rows, 8 bytes per order,
 * so that linking an order touches no row of a neighbour.
 *
 * The last slot released is reused first, so that the same calls always give the same slots. A pool restored from a snapshot
 * continues exactly where the original stood. The hash tables only locate slots: neither their layout nor their key decides
 * anything or is in a snapshot.
 */
import { assert } from "../domain/Assert.js"
import { idsPerRecord, sequenceOf } from "../domain/Ids.js"
import { none } from "../domain/None.js"
import type * as Order from "../domain/Order.js"
import { growInts, grownLength, growRows, newRows, wordsOf } from "./Columns.js"
import { Levels } from "./Levels.js"
import type { Positions } from "./Positions.js"
import { ProbingTable } from "./ProbingTable.js"
import type { SectionReader, SectionWriter } from "./Sections.js"
import { Held } from "./Share.js"
import { type HashKey, hashText } from "./SipHash.js"
import { Texts } from "./Texts.js"

export type { HashKey } from "./SipHash.js"

const sideBit = 1
const typeBit = 1 << 1
const timeInForceBit = 1 << 2
const postOnlyBit = 1 << 3
const reduceOnlyBit = 1 << 4
const selfTradePreventionShift = 5
const selfTradePreventionMask = 3 << selfTradePreventionShift
const statusShift = 7
const statusMask = 3 << statusShift
const cancelReasonShift = 9
const cancelReasonMask = 15 << cancelReasonShift
const requeuedBit = 1 << 13
/** The bits of the flags from here on hold the order's retention. */
const retentionShift = 14

/** The flags word of a new order: status open, no cancel reason. */
export const packFlags = (
  side: Order.Side,
  type: Order.Type,
  timeInForce: Order.TimeInForce,
  postOnly: boolean,
  reduceOnly: boolean,
  selfTradePrevention: Order.SelfTradePrevention
): number =>
  side
  | (type << 1)
  | (timeInForce << 2)
  | (postOnly ? postOnlyBit : 0)
  | (reduceOnly ? reduceOnlyBit : 0)
  | (selfTradePrevention << selfTradePreventionShift)

/** A row is 8 numbers of 8 bytes, or 16 words of 4: the accessors shift slots by 3 and by 4. */
export const rowBytes = 64
const rowNumbers = 8
const rowWords = 16

/**
 * Indexes, in a snapshot's row of the past, of the links between an account's remembered orders, which the pool keeps beside its
 * rows.
 */
const keptOwnOlder = 13
const keptOwnNewer = 14
/** Words per slot in these links. */
const linkWords = 2
/** The position slot of the order's pair, to save a hash lookup; in no snapshot. */
const positionWord = 15

/** Words of a row with its place in tables and books, which restoring rebuilds. */
const levelWord = 9
const numberChainWord = 14
const clientHashWord = 15

/** The initial number of rows unless given, 2 MB; it doubles with use. */
export const initialSlots = 16_384

export class Orders {
  /** Most orders that the pool holds at once, besides the venue's own. */
  readonly capacity: number
  /** The number of slots: one more than the capacity, for an order of the venue's own, which exists only within its record. */
  private readonly slots: number

  /** Rows with what matching uses: numbers 0 to 2, words 6 to 15. */
  private numbers: Float64Array<ArrayBuffer>
  private words: Int32Array
  /** The next older and the next younger of the account's remembered orders, by slot. */
  private ownLinks: Int32Array
  /** Rows with past and owner: numbers 0 to 5, words 12 to 15. */
  private pastNumbers: Float64Array<ArrayBuffer>
  private pastWords: Int32Array
  /** The client's own id; empty where it gave none. */
  readonly clientOrderId: Texts
  /** The idempotency key it was placed under; empty where there was none. */
  readonly idempotencyKey: Texts

  /** Number of remembered orders by account. */
  readonly held = new Held()

  private readonly key0: number
  private readonly key1: number
  /** Number of slots that have rows. */
  private allocated: number
  /** Slots ever used; those from here on never were. */
  private highWater = 0
  private freeHead = none
  private used = 0
  /** The memory in which the books keep their prices. In no snapshot. */
  readonly levels: Levels
  /** Slot + 1 of the first slot in each chain, by hash of the order number; 0 is empty. At least three entries for two slots. */
  private numberTable: Int32Array
  /** Slots by hash of account and clientOrderId. */
  private readonly clientTable: ProbingTable
  private tableMask: number

  // The clientOrderId that was read ahead last, and its hash.
  private hashedAccount = none
  private hashedText = ""
  private hashed = 0

  /** `initial` rows are allocated at the start: a pool that begins at full capacity never stops to copy its rows. */
  constructor(
    capacity: number,
    hashKey: HashKey = [0, 0],
    initial = initialSlots,
    clientOrderId: Texts = new Texts(),
    idempotencyKey: Texts = new Texts()
  ) {
    this.clientOrderId = clientOrderId
    this.idempotencyKey = idempotencyKey
    assert(Number.isInteger(capacity) && capacity > 0 && capacity <= 2 ** 26, "a pool holds between 1 and 2^26 orders")
    this.capacity = capacity
    this.slots = capacity + 1
    this.key0 = hashKey[0] | 0
    this.key1 = hashKey[1] | 0
    const slots = initial >= capacity ? this.slots : initial
    this.allocated = slots
    this.numbers = newRows(slots * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.pastNumbers = newRows(slots * rowNumbers)
    this.pastWords = wordsOf(this.pastNumbers)
    this.ownLinks = new Int32Array(slots * linkWords)
    this.levels = new Levels(this.slots)
    const tableSize = tableSizeFor(slots)
    this.numberTable = new Int32Array(tableSize)
    this.clientTable = new ProbingTable(this.slots, slots, (slot) => this.clientHash(slot))
    this.tableMask = tableSize - 1
  }

  /** The length of the rows of a pool that is allocated in full. */
  static rowsLength(capacity: number): number {
    return (capacity + 1) * rowNumbers
  }

  /** The number of slots in use. */
  get size(): number {
    return this.used
  }

  /** One more than the largest slot ever used: the end of an iteration over all slots. */
  get end(): number {
    return this.highWater
  }

  /** Whether a slot below `end` holds an order. */
  holds(slot: number): boolean {
    return slot >= 0 && slot < this.highWater && this.number(slot) >= 0
  }

  /**
   * Takes a free slot, or returns -1 when the pool is full. Its number is 0, its strings are empty, and it is in no book; the
   * caller sets every other field.
   */
  allocate(): number {
    return this.used >= this.capacity ? none : this.take()
  }

  /** Takes a slot for the venue's own order, of which there is one at a time: there is always one free. */
  allocateOwn(): number {
    assert(this.used <= this.capacity, "one order of the venue's own is at work at a time")
    return this.take()
  }

  private take(): number {
    let slot = this.freeHead
    if (slot !== none) {
      this.freeHead = this.next(slot)
    } else {
      if (this.highWater === this.allocated) this.grow(grownLength(this.allocated, this.allocated + 1, this.slots))
      slot = this.highWater++
      this.clientOrderId.put(slot, "")
      this.idempotencyKey.put(slot, "")
    }
    this.used++
    this.setNumber(slot, 0)
    this.setLevel(slot, none)
    return slot
  }

  /** Initialises a slot as a new open order: nothing filled or cancelled, in no chain, its whole quantity remaining. */
  write(
    slot: number,
    number: number,
    account: number,
    market: number,
    flags: number,
    priceAtoms: number,
    quantityAtoms: number,
    atEpochMs: number,
    sequence: number
  ): void {
    this.setNumber(slot, number)
    this.setRemaining(slot, quantityAtoms)
    this.setQuantity(slot, quantityAtoms)
    this.setPriceAtoms(slot, priceAtoms)
    this.setFlags(slot, flags)
    this.setAccount(slot, account)
    this.setNext(slot, none)
    this.setPrev(slot, none)
    this.setAccountNext(slot, none)
    this.setAccountPrev(slot, none)
    this.setFilled(slot, 0)
    this.setFilledNotional(slot, 0)
    this.setCanceled(slot, 0)
    this.setCreatedAt(slot, atEpochMs)
    this.setUpdatedAt(slot, atEpochMs)
    this.setLastSequence(slot, sequence)
    this.setMarket(slot, market)
    this.setOwnOlder(slot, none)
    this.setOwnNewer(slot, none)
    this.pastWords[slot << 4 | positionWord] = 0
    this.words[slot << 4 | clientHashWord] = 0
  }

  /** Releases a slot. The order must have left its book, both indexes and its account's chain. */
  release(slot: number): void {
    assert(slot < this.highWater && this.number(slot) >= 0, "only a slot that holds an order is released")
    assert(this.level(slot) === none, "an order leaves its book before its slot is released")
    this.setNumber(slot, -1)
    this.clientOrderId.put(slot, "")
    this.idempotencyKey.put(slot, "")
    this.setNext(slot, this.freeHead)
    this.freeHead = slot
    this.used--
  }

  /** Order number; -1 in a free slot. */
  number(slot: number): number {
    return this.numbers[slot << 3 | 0]!
  }

  setNumber(slot: number, value: number): void {
    this.numbers[slot << 3 | 0] = value
  }

  /** Size atoms still to be filled. While the order rests, only the book changes it. */
  remaining(slot: number): number {
    return this.numbers[slot << 3 | 1]!
  }

  setRemaining(slot: number, value: number): void {
    this.numbers[slot << 3 | 1] = value
  }

  /** Size atoms ordered. */
  quantity(slot: number): number {
    return this.numbers[slot << 3 | 2]!
  }

  setQuantity(slot: number, value: number): void {
    this.numbers[slot << 3 | 2] = value
  }

  /** Price atoms; 0 for a market order without a worst price. */
  priceAtoms(slot: number): number {
    return this.words[slot << 4 | 6]!
  }

  setPriceAtoms(slot: number, value: number): void {
    this.words[slot << 4 | 6] = value
  }

  /** Side, type, time in force, post-only, reduce-only, self-trade prevention, status, cancel reason, retention: see the getters below. */
  flags(slot: number): number {
    return this.words[slot << 4 | 7]!
  }

  setFlags(slot: number, value: number): void {
    this.words[slot << 4 | 7] = value
  }

  /** Account index. */
  account(slot: number): number {
    return this.words[slot << 4 | 8]!
  }

  setAccount(slot: number, value: number): void {
    this.words[slot << 4 | 8] = value
  }

  /** The book level at which the order rests, or -1. Only the book writes it; in no snapshot. */
  level(slot: number): number {
    return this.words[slot << 4 | 9]!
  }

  setLevel(slot: number, value: number): void {
    this.words[slot << 4 | 9] = value
  }

  /** Next younger order of the same price level, or -1. Only the book writes it. */
  next(slot: number): number {
    return this.words[slot << 4 | 10]!
  }

  setNext(slot: number, value: number): void {
    this.words[slot << 4 | 10] = value
  }

  /** Next older order of the same price level, or -1. Only the book writes it. */
  prev(slot: number): number {
    return this.words[slot << 4 | 11]!
  }

  setPrev(slot: number, value: number): void {
    this.words[slot << 4 | 11] = value
  }

  /** Next younger open order of the account in the market, or -1. */
  accountNext(slot: number): number {
    return this.words[slot << 4 | 12]!
  }

  setAccountNext(slot: number, value: number): void {
    this.words[slot << 4 | 12] = value
  }

  /** Next older open order of the account in the market, or -1. */
  accountPrev(slot: number): number {
    return this.words[slot << 4 | 13]!
  }

  setAccountPrev(slot: number, value: number): void {
    this.words[slot << 4 | 13] = value
  }

  /** Size atoms filled. */
  filled(slot: number): number {
    return this.pastNumbers[slot << 3 | 0]!
  }

  setFilled(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 0] = value
  }

  /** Money atoms paid or received for what was filled. */
  filledNotional(slot: number): number {
    return this.pastNumbers[slot << 3 | 1]!
  }

  setFilledNotional(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 1] = value
  }

  /** Adds a fill, in size and money atoms. */
  fill(slot: number, sizeAtoms: number, notionalAtoms: number): void {
    const { pastNumbers } = this
    pastNumbers[slot << 3 | 0]! += sizeAtoms
    pastNumbers[slot << 3 | 1]! += notionalAtoms
  }

  /** Size atoms cancelled. */
  canceled(slot: number): number {
    return this.pastNumbers[slot << 3 | 2]!
  }

  setCanceled(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 2] = value
  }

  /** Epoch milliseconds. */
  createdAt(slot: number): number {
    return this.pastNumbers[slot << 3 | 3]!
  }

  setCreatedAt(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 3] = value
  }

  /** Epoch milliseconds. */
  updatedAt(slot: number): number {
    return this.pastNumbers[slot << 3 | 4]!
  }

  setUpdatedAt(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 4] = value
  }

  /** The last record that changed the order. */
  lastSequence(slot: number): number {
    return this.pastNumbers[slot << 3 | 5]!
  }

  setLastSequence(slot: number, value: number): void {
    this.pastNumbers[slot << 3 | 5] = value
  }

  /** Sets when the order was changed, and by which record. */
  touch(slot: number, atEpochMs: number, sequence: number): void {
    const { pastNumbers } = this
    pastNumbers[slot << 3 | 4] = atEpochMs
    pastNumbers[slot << 3 | 5] = sequence
  }

  /** Market index. */
  market(slot: number): number {
    return this.pastWords[slot << 4 | 12]!
  }

  setMarket(slot: number, value: number): void {
    this.pastWords[slot << 4 | 12] = value
  }

  /** The account's next older remembered order, open or ended, or -1. */
  ownOlder(slot: number): number {
    return this.ownLinks[slot << 1]!
  }

  setOwnOlder(slot: number, value: number): void {
    this.ownLinks[slot << 1] = value
  }

  /** The account's next younger remembered order, or -1. */
  ownNewer(slot: number): number {
    return this.ownLinks[slot << 1 | 1]!
  }

  setOwnNewer(slot: number, value: number): void {
    this.ownLinks[slot << 1 | 1] = value
  }

  /**
   * The slot in `Positions` of the order's account and market, if `setPosition` has been called since the pool was created; or -1.
   */
  position(slot: number): number {
    return this.pastWords[slot << 4 | positionWord]! - 1
  }

  setPosition(slot: number, position: number): void {
    this.pastWords[slot << 4 | positionWord] = position + 1
  }

  side(slot: number): Order.Side {
    return (this.flags(slot) & sideBit) as Order.Side
  }

  type(slot: number): Order.Type {
    return ((this.flags(slot) & typeBit) >>> 1) as Order.Type
  }

  timeInForce(slot: number): Order.TimeInForce {
    return ((this.flags(slot) & timeInForceBit) >>> 2) as Order.TimeInForce
  }

  postOnly(slot: number): boolean {
    return (this.flags(slot) & postOnlyBit) !== 0
  }

  reduceOnly(slot: number): boolean {
    return (this.flags(slot) & reduceOnlyBit) !== 0
  }

  selfTradePrevention(slot: number): Order.SelfTradePrevention {
    return ((this.flags(slot) & selfTradePreventionMask) >>> selfTradePreventionShift) as Order.SelfTradePrevention
  }

  /** Whether the order has lost the time priority that its number would give it. */
  requeued(slot: number): boolean {
    return (this.flags(slot) & requeuedBit) !== 0
  }

  setRequeued(slot: number): void {
    this.setFlags(slot, this.flags(slot) | requeuedBit)
  }

  status(slot: number): Order.Status {
    return ((this.flags(slot) & statusMask) >>> statusShift) as Order.Status
  }

  setStatus(slot: number, status: Order.Status): void {
    this.setFlags(slot, (this.flags(slot) & ~statusMask) | (status << statusShift))
  }

  cancelReason(slot: number): Order.CancelReason {
    return ((this.flags(slot) & cancelReasonMask) >>> cancelReasonShift) as Order.CancelReason
  }

  setCancelReason(slot: number, reason: Order.CancelReason): void {
    this.setFlags(slot, (this.flags(slot) & ~cancelReasonMask) | (reason << cancelReasonShift))
  }

  /** The order's retention after it has ended, minutes; `orderGraceMinutes` are added to it. */
  retentionMinutes(slot: number): number {
    return this.flags(slot) >>> retentionShift
  }

  /** Extends the order's retention to the given one, if that is longer. */
  lengthenRetention(slot: number, minutes: number): void {
    const flags = this.flags(slot)
    if (flags >>> retentionShift < minutes) this.setFlags(slot, (flags & ((1 << retentionShift) - 1)) | (minutes << retentionShift))
  }

  /** The slot indexed under an order number, or -1. */
  find(number: number): number {
    let entry = this.numberTable[hashNumber(number) & this.tableMask]!
    while (entry !== 0 && this.number(entry - 1) !== number) entry = this.numberChain(entry - 1)
    return entry - 1
  }

  /**
   * Reads ahead what `find` and a look at the order's end need. A caller that is about to ask for many orders outside the cache
   * lets their misses overlap in this way. The result means nothing.
   */
  readAhead(number: number): number {
    const entry = this.numberTable[hashNumber(number) & this.tableMask]!
    return entry === 0 ? 0 : this.words[(entry - 1) << 4]! ^ this.pastWords[(entry - 1) << 4]!
  }

  /** Reads the hash slot of an account's clientOrderId ahead of a lookup. The result means nothing. */
  readClient(account: number, clientOrderId: string): number {
    const hash = this.hashClient(account, clientOrderId)
    this.hashedAccount = account
    this.hashedText = clientOrderId
    this.hashed = hash
    return this.clientTable.readAhead(hash)
  }

  /** Like `hashClient`, but free for the one that was read ahead last. */
  hashReadClient(account: number, clientOrderId: string): number {
    return clientOrderId === this.hashedText && account === this.hashedAccount ? this.hashed : this.hashClient(account, clientOrderId)
  }

  /** Reads the links of an account's newest order before another is linked. The result means nothing. */
  readNewest(slot: number): number {
    return slot === none ? 0 : this.ownLinks[slot << 1]!
  }

  /**
   * Reads a resting order's rows, those of its neighbours in the book and that of its position before it is removed. The result
   * means nothing.
   */
  readResting(number: number, positions: Positions): number {
    const entry = this.numberTable[hashNumber(number) & this.tableMask]!
    if (entry === 0) return 0
    const slot = entry - 1
    return positions.readRow(this.position(slot)) ^ this.readRow(this.next(slot)) ^ this.readRow(this.prev(slot))
  }

  /** Reads a slot's row ahead of its use; nothing for -1. The result means nothing. */
  private readRow(slot: number): number {
    return slot === none ? 0 : this.words[slot << 4]!
  }

  /** Reads a slot's row of the past ahead of its use. The result means nothing. */
  readPast(slot: number): number {
    return this.pastWords[slot << 4]! ^ this.pastWords[slot << 4 | positionWord]!
  }

  /** Reads ahead what forgetting an order needs. The result means nothing. */
  readForgotten(slot: number): number {
    const { ownLinks } = this
    const older = this.ownOlder(slot)
    const newer = this.ownNewer(slot)
    return this.numberTable[hashNumber(this.number(slot)) & this.tableMask]!
      ^ this.clientTable.readAhead(this.clientHash(slot))
      ^ (older === none ? 0 : ownLinks[older << 1]!)
      ^ (newer === none ? 0 : ownLinks[newer << 1]!)
  }

  /** Indexes a slot by its order number, which no other indexed slot may have. */
  index(slot: number): void {
    const number = this.number(slot)
    assert(number >= 0, "an indexed order has a number")
    assert(this.find(number) === none, "an order number is indexed once")
    this.chain(slot, hashNumber(number) & this.tableMask)
  }

  /** Removes a slot from the index by order number. */
  unindex(slot: number): void {
    const at = hashNumber(this.number(slot)) & this.tableMask
    const after = this.numberChain(slot)
    let before = this.numberTable[at]!
    if (before === slot + 1) {
      this.numberTable[at] = after
      return
    }
    while (before !== 0 && this.numberChain(before - 1) !== slot + 1) before = this.numberChain(before - 1)
    assert(before !== 0, "only an indexed order is unindexed")
    this.words[(before - 1) << 4 | numberChainWord] = after
  }

  /** Slot + 1 of the next in a chain of `numberTable`, or 0. */
  private numberChain(slot: number): number {
    return this.words[slot << 4 | numberChainWord]!
  }

  private chain(slot: number, at: number): void {
    this.words[slot << 4 | numberChainWord] = this.numberTable[at]!
    this.numberTable[at] = slot + 1
  }

  /** The slot indexed under an account's clientOrderId, or -1. `hash` is `hashClient` of both, where the caller has it. */
  findClient(account: number, clientOrderId: string, hash: number = this.hashClient(account, clientOrderId)): number {
    const { clientTable } = this
    for (let place = clientTable.seek(hash, hash);; place = clientTable.seek(hash, place + 1)) {
      const slot = clientTable.entryAt(place)
      if (slot === none || (this.account(slot) === account && this.clientOrderId.at(slot) === clientOrderId)) return slot
    }
  }

  /** Indexes a slot by account and clientOrderId, which no other indexed slot may share. `hash` as in `findClient`. */
  indexClient(slot: number, hash: number = this.hashClient(this.account(slot), this.clientOrderId.at(slot))): void {
    const { clientTable } = this
    assert(!this.clientOrderId.isEmpty(slot), "an empty clientOrderId is not indexed")
    let place = clientTable.seek(hash, hash)
    for (let other = clientTable.entryAt(place); other !== none; other = clientTable.entryAt(place)) {
      assert(!this.isSameClient(other, slot), "an account's clientOrderId is indexed once")
      place = clientTable.seek(hash, place + 1)
    }
    this.words[slot << 4 | clientHashWord] = hash
    clientTable.put(hash, place, slot)
  }

  private isSameClient(one: number, other: number): boolean {
    return this.account(one) === this.account(other) && this.clientOrderId.at(one) === this.clientOrderId.at(other)
  }

  /** Removes a slot from the index by clientOrderId. */
  unindexClient(slot: number): void {
    this.clientTable.remove(this.clientHash(slot), slot)
  }

  /** The hash under which a slot is in the clientOrderId index; 0 for one that is not. */
  private clientHash(slot: number): number {
    return this.words[slot << 4 | clientHashWord]!
  }

  /** Whether a slot is in the clientOrderId index. Its row says so, which saves a look at the string. */
  isClientIndexed(slot: number): boolean {
    return this.clientHash(slot) !== 0
  }

  /** The hash of an account's clientOrderId under the pool's key, never 0: for callers that look for an order and then index it. */
  hashClient(account: number, clientOrderId: string): number {
    const hash = hashText(this.key0, this.key1, account, clientOrderId)
    return hash === 0 ? 1 : hash
  }

  /** Copies rows without the fields that restoring rebuilds: tables and levels. */
  private copyRows(from: number, to: number, into: Float64Array): void {
    const copy = wordsOf(into)
    copy.set(this.words.subarray(from * rowWords, to * rowWords))
    for (let row = 0; row < copy.length; row += rowWords) {
      copy[row + levelWord] = none
      copy[row + numberChainWord] = 0
      copy[row + clientHashWord] = 0
    }
  }

  private copyPastRows(from: number, to: number, into: Float64Array): void {
    const copy = wordsOf(into)
    copy.set(this.pastWords.subarray(from * rowWords, to * rowWords))
    for (let slot = from, row = 0; slot < to; slot++, row += rowWords) {
      copy[row + keptOwnOlder] = this.ownLinks[slot * linkWords]!
      copy[row + keptOwnNewer] = this.ownLinks[slot * linkWords + 1]!
      copy[row + positionWord] = 0
    }
  }

  /** Writes the slots ever used; `next` chains the released ones from `freeHead` on. */
  encode(into: SectionWriter): void {
    into.rows("orders.rows", this.highWater, rowBytes, (from, to, rows) => this.copyRows(from, to, rows))
    into.rows("orders.pastRows", this.highWater, rowBytes, (from, to, rows) => this.copyPastRows(from, to, rows))
    into.json("orders.freeHead", this.freeHead)
    into.textsAt("orders.clientOrderId", this.highWater, (slot) => this.clientOrderId.at(slot))
    into.textsAt("orders.idempotencyKey", this.highWater, (slot) => this.idempotencyKey.at(slot))
  }

  /**
   * Decodes an equal pool: the same slots, and the same free slots in the same order. Orders are indexed by number and, where they
   * have one, by clientOrderId. Books restore their own levels.
   */
  static decode(from: SectionReader, capacity: number, hashKey: HashKey = [0, 0], initial = initialSlots): Orders {
    const [rows, pastRows] = [from.bytes("orders.rows"), from.bytes("orders.pastRows")]
    const [clientOrderId, idempotencyKey] = [from.textsAsWritten("orders.clientOrderId"), from.textsAsWritten("orders.idempotencyKey")]
    const orders = new Orders(capacity, hashKey, initial, clientOrderId, idempotencyKey)
    const end = rows.length / rowBytes
    assert(Number.isInteger(end) && pastRows.length === rows.length, "a snapshot's pool is whole rows, two an order")
    assert(end <= orders.slots, "a snapshot's pool fits the capacity it is restored to")
    assert(clientOrderId.writtenCount === end && idempotencyKey.writtenCount === end, "a snapshot has as many texts as slots")
    if (end > orders.allocated) orders.grow(grownLength(orders.allocated, end, orders.slots))
    orders.numbers = from.rows("orders.rows", orders.numbers)
    orders.words = wordsOf(orders.numbers)
    orders.pastNumbers = from.rows("orders.pastRows", orders.pastNumbers)
    orders.pastWords = wordsOf(orders.pastNumbers)
    for (let slot = 0; slot < end; slot++) {
      orders.setOwnOlder(slot, orders.pastWords[slot << 4 | keptOwnOlder]!)
      orders.setOwnNewer(slot, orders.pastWords[slot << 4 | keptOwnNewer]!)
    }
    orders.highWater = end
    orders.freeHead = from.json("orders.freeHead") as number
    let free = 0
    for (let slot = orders.freeHead; slot !== none; slot = orders.next(slot)) {
      assert(slot >= 0 && slot < end && free < end && orders.number(slot) === -1, "the free chain runs over free slots, once")
      free++
    }
    orders.used = end - free
    for (let slot = 0; slot < end; slot++) {
      if (!orders.holds(slot)) continue
      orders.index(slot)
      orders.held.add(orders.account(slot), 1)
      const text = orders.clientOrderId.at(slot)
      if (text !== "") orders.indexClient(slot, orders.hashClient(orders.account(slot), text))
    }
    return orders
  }

  /** Allocates more rows and larger tables; slots keep their content. */
  private grow(slots: number): void {
    this.numbers = growRows(this.numbers, slots * rowNumbers)
    this.words = wordsOf(this.numbers)
    this.pastNumbers = growRows(this.pastNumbers, slots * rowNumbers)
    this.pastWords = wordsOf(this.pastNumbers)
    this.ownLinks = growInts(this.ownLinks, slots * linkWords)
    this.allocated = slots
    this.clientTable.grow(slots)
    const tableSize = tableSizeFor(slots)
    if (tableSize === this.tableMask + 1) return
    const { numberTable } = this
    this.tableMask = tableSize - 1
    this.numberTable = new Int32Array(tableSize)
    for (const first of numberTable) {
      for (let entry = first; entry !== 0;) {
        const next = this.numberChain(entry - 1)
        this.chain(entry - 1, hashNumber(this.number(entry - 1)) & this.tableMask)
        entry = next
      }
    }
  }
}

/** The power of two with at least three entries for two slots. */
const tableSizeFor = (slots: number): number => {
  let size = 16
  while (size * 2 < slots * 3) size *= 2
  return size
}

/**
 * The hash of an order number: next to that of the previous record, so that consecutive records do not collide, while further
 * orders of a record are spread. Clients do not choose numbers, so no secret key is needed.
 */
const hashNumber = (number: number): number => {
  const sequence = sequenceOf(number)
  return sequence ^ Math.imul(number - sequence * idsPerRecord, 0x9e3779b1)
}
