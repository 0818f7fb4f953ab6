/**
 * Converts sections of schema 2, written under rules 1, to schema 3. Rows of accounts, positions and orders stay the same. API keys
 * become rows, scalar values get a section of their own, and the outcome of a remembered key moves into the key's row, tagged with
 * its type.
 *
 * A row of schema 2 does not name the command that it remembers, so the type of the outcome is inferred from its content: see
 * `outcomeOf`.
 */
import { assert } from "../../domain/Assert.js"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import type { CancelReason, Status } from "../../domain/Order.js"
import { Refusal } from "../../domain/Refusal.js"
import { type EntryOutcome, pack } from "../../operations/Operations.js"
import { done, Packed, packedNumbers, refused } from "../../operations/Outcome.js"
import { type ApiKey, ApiKeys } from "../accounts/ApiKeys.js"
import type { MarketDump } from "../Markets.js"
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

/** The values that schema 2 held besides columns. */
interface Meta {
  readonly sequence: number
  readonly atEpochMs: number
  readonly environment: string
  readonly rules: number
  readonly halted: boolean
  readonly registrySequence: number
  readonly episodes: number
  readonly openOrders: number
  readonly hasFences: boolean
  readonly feesLow: number
  readonly feesHigh: number
  readonly creditedLow: number
  readonly creditedHigh: number
  readonly markets: ReadonlyArray<MarketDump>
  readonly apiKeys: ReadonlyArray<ApiKey>
  readonly freeHead: number
}

/** The version that wrote schema 2, and its journal format. */
const program = "0.1.0"
const codec = 1

/** Sections that both schemas have in common. */
const same = ["accounts.rows", "positions.rows", "positions.pastRows", "orders.rows", "orders.pastRows", "orders.clientOrderId",
  "orders.idempotencyKey", "switches", "expiries", "ended"]

export const toSchema3 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  const meta = from.json("meta") as Meta
  for (const name of same) into.bytes(name, from.bytes(name))
  into.json("venue.values", {
    sequence: meta.sequence,
    atEpochMs: meta.atEpochMs,
    environment: meta.environment,
    rules: meta.rules,
    codec,
    program,
    halted: meta.halted,
    registrySequence: meta.registrySequence,
    episodes: meta.episodes,
    openOrders: meta.openOrders,
    hasFences: meta.hasFences
  })
  into.json("markets.values", meta.markets)
  meta.markets.forEach((_, market) => {
    into.bytes(`markets.minutes.${market}`, from.bytes(`minutes.${market}`))
    into.bytes(`book.${market}`, from.bytes(`book.${market}`))
  })
  into.json("accounts.totals", {
    feesLow: meta.feesLow,
    feesHigh: meta.feesHigh,
    creditedLow: meta.creditedLow,
    creditedHigh: meta.creditedHigh
  })
  const keys = new ApiKeys()
  for (const key of meta.apiKeys) keys.issue(key)
  const dump = keys.dump()
  into.bytes("apiKeys.rows", dump.rows)
  into.texts("apiKeys.keyIds", dump.keyIds)
  into.texts("apiKeys.displayPrefixes", dump.displayPrefixes)
  into.json("orders.freeHead", meta.freeHead)
  for (const { bytes, name } of sections) if (name.startsWith("fills.")) into.bytes(name, bytes)
  moveKeys(from, into)
  return into.sections
}

// Rows of keys in schema 2: 9 numbers of 8 bytes, or 18 words of 4.
const old = { numbers: 9, words: 18, account: 8, first: 9, next: 10, sequence: 6, at: 7, queuedAt: 8 } as const
// Rows of their outcomes: 10 numbers, or 20 words.
const oldOutcome = { numbers: 10, words: 20, codes: 0, next: 1 } as const
// Rows of keys in schema 3: 16 numbers, or 32 words; of further outcomes: 7 numbers, or 14 words.
const row = {
  numbers: 16,
  words: 32,
  account: 8,
  next: 9,
  more: 10,
  isBody1: 11,
  codes: 18,
  sequence: 6,
  at: 7,
  queuedAt: 8,
  outcome: 10
} as const
const more = { numbers: 7, words: 14, codes: 0, next: 1, outcome: 1 } as const

const free = -2
/** Numbers in an account's row; its birth ordinal is at index 8. */
const accountNumbers = 16
const bornAt = 8

const moveKeys = (from: SectionReader, into: SectionWriter): void => {
  const numbers = from.floats("idempotency.rows")
  const words = from.ints("idempotency.rows")
  const outcomes = from.floats("idempotency.outcomes")
  const outcomeWords = from.ints("idempotency.outcomes")
  const accounts = from.floats("accounts.rows")
  const [oldest, newest, firstFree, , used] = from.ints("idempotency.heads")
  const count = numbers.length / old.numbers
  const rows = new Float64Array(count * row.numbers)
  const rowWords = new Int32Array(rows.buffer)
  const furthers: Array<{ readonly packed: Packed; readonly next: number }> = []
  for (let entry = 0; entry < count; entry++) {
    const at = entry * old.words
    const to = entry * row.words
    // The digests of key and body stay where they were.
    for (let word = 0; word < old.account; word++) rowWords[to + word] = words[at + word]!
    rowWords[to + row.account] = words[at + old.account]!
    rowWords[to + row.next] = words[at + old.next]!
    rowWords[to + row.more] = none
    if (words[at + old.account] === free) continue
    rowWords[to + row.isBody1] = 1
    rows[entry * row.numbers + row.sequence] = numbers[entry * old.numbers + old.sequence]!
    rows[entry * row.numbers + row.at] = numbers[entry * old.numbers + old.at]!
    rows[entry * row.numbers + row.queuedAt] = numbers[entry * old.numbers + old.queuedAt]!
    const entries: Array<EntryOutcome> = []
    for (let outcome = words[at + old.first]!; outcome !== none; outcome = outcomeWords[outcome * oldOutcome.words + oldOutcome.next]!) {
      const sequence = numbers[entry * old.numbers + old.sequence]!
      entries.push(outcomeOf(outcomes, outcomeWords, outcome, words[at + old.account]!, sequence, accounts))
    }
    assert(entries.length > 0, "a remembered key has an outcome")
    for (let index = entries.length - 1; index > 0; index--) {
      furthers.push({ packed: packed(entries[index]!), next: rowWords[to + row.more]! })
      rowWords[to + row.more] = furthers.length - 1
    }
    const first = packed(entries[0]!)
    rowWords[to + row.codes] = first.codes
    rows.set(first.numbers, entry * row.numbers + row.outcome)
  }
  const moreRows = new Float64Array(furthers.length * more.numbers)
  const moreWords = new Int32Array(moreRows.buffer)
  furthers.forEach(({ next, packed: outcome }, slot) => {
    moreWords[slot * more.words + more.codes] = outcome.codes
    moreWords[slot * more.words + more.next] = next
    moreRows.set(outcome.numbers, slot * more.numbers + more.outcome)
  })
  into.column("idempotency.rows", rows)
  into.column("idempotency.more", moreRows)
  into.column("idempotency.heads", Int32Array.of(oldest!, newest!, firstFree!, none, used!))
}

const packed = (outcome: EntryOutcome): Packed => {
  const into = new Packed()
  pack(outcome, into)
  assert(into.numbers.length === packedNumbers, "a packed outcome has its numbers")
  return into
}

/**
 * Infers the type of an outcome. A refusal is marked as such. Of a client's other outcomes, one with a quantity is an order's; one
 * without is either a cancellation of all orders, with the number cancelled, or a dead-man switch or fence, of which nothing
 * further is reported. Of the operator's, a number that is an account created by the same record is the outcome that opened it; any
 * other number is a market's.
 */
const outcomeOf = (
  outcomes: Float64Array,
  words: Int32Array,
  slot: number,
  account: number,
  sequence: number,
  accounts: Float64Array
): EntryOutcome => {
  const codes = words[slot * oldOutcome.words + oldOutcome.codes]!
  const [, orderNumber, filledAtoms, filledNotionalAtoms, canceledAtoms, priceAtoms, quantityAtoms, limit, actual, nearest] = outcomes
    .subarray(slot * oldOutcome.numbers, (slot + 1) * oldOutcome.numbers) as unknown as ReadonlyArray<number>
  const refusal = (codes & 0xff) as Refusal
  if (refusal !== Refusal.none) return refused(refusal, account === none ? none : orderNumber!, limit, actual, nearest)
  if (account === none) {
    if (orderNumber! < 0) return done
    const born = accounts[orderNumber! * accountNumbers + bornAt]
    return born !== undefined && Ids.sequenceOf(born) === sequence
      ? { _tag: "AccountOpened", account: orderNumber! }
      : { _tag: "MarketChanged", market: orderNumber!, effectiveAtEpochMs: 0, underInitialMargin: 0, underMaintenanceMargin: 0 }
  }
  if (quantityAtoms! > 0) {
    return {
      _tag: "OrderDecided",
      status: ((codes >>> 8) & 0xff) as Status,
      cancelReason: (codes >>> 16) as CancelReason,
      orderNumber: orderNumber!,
      filledAtoms: filledAtoms!,
      filledNotionalAtoms: filledNotionalAtoms!,
      canceledAtoms: canceledAtoms!,
      priceAtoms: priceAtoms!,
      quantityAtoms: quantityAtoms!
    }
  }
  return { _tag: "OrdersCanceled", canceledOrders: canceledAtoms! }
}
