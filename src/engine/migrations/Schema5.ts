/**
 * Converts sections of schema 5, written under rules 5, to schema 6. Each remembered key and order gets its own retention, which
 * was 24 hours for all; ended orders get the time at which they were queued, which was that of their end; marks become readable
 * with their inputs and balance changes with their causes, neither of which was kept before. Under those rules no market was
 * delisted, kept index sums or had sessions.
 */
import { minutesOf, retentionMs } from "../../domain/Retention.js"
import { BalanceLog } from "../BalanceLog.js"
import { type MarketDump, MarketRisk } from "../Markets.js"
import * as MarkLog from "../MarkLog.js"
import { type Section, SectionReader, SectionWriter } from "../Sections.js"

// Rows of keys: 32 words; a free one has account -2. Rows of orders: 16 words or 8 numbers; a free one has number -1.
const key = { words: 32, account: 8, flags: 11, shift: 8, free: -2 } as const
const order = { words: 16, numbers: 8, number: 0, flags: 7, shift: 14, updatedAt: 4 } as const

const minutes = minutesOf(retentionMs)

const keysOf = (from: SectionReader): Int32Array => {
  const words = from.ints("idempotency.rows").slice()
  for (let at = 0; at < words.length; at += key.words) {
    if (words[at + key.account] !== key.free) words[at + key.flags]! |= minutes << key.shift
  }
  return words
}

const ordersOf = (from: SectionReader): Int32Array => {
  const words = from.ints("orders.rows").slice()
  const numbers = new Float64Array(words.buffer)
  for (let slot = 0; slot * order.words < words.length; slot++) {
    if (numbers[slot * order.numbers + order.number]! >= 0) words[slot * order.words + order.flags]! |= minutes << order.shift
  }
  return words
}

export const toSchema6 = (sections: ReadonlyArray<Section>): ReadonlyArray<Section> => {
  const from = new SectionReader(sections)
  const into = new SectionWriter()
  const changed = new Set(["venue.values", "markets.values", "idempotency.rows", "orders.rows"])
  for (const { bytes, name } of sections) if (!changed.has(name)) into.bytes(name, bytes)
  into.json("venue.values", { ...from.json("venue.values") as object, retentionMinutes: minutes, retentionSinceEpochMs: 0 })
  const markets = from.json("markets.values") as ReadonlyArray<MarketDump>
  into.json("markets.values", markets.map(({ risk, ...market }): MarketDump => ({ ...market, risk: { ...new MarketRisk(), ...risk } })))
  into.column("idempotency.rows", keysOf(from))
  into.column("orders.rows", ordersOf(from))
  const pasts = from.floats("orders.pastRows")
  into.column("endedTimes", from.floats("ended").map((slot) => pasts[slot * order.numbers + order.updatedAt]!))
  const noMarks = MarkLog.make().dump()
  markets.forEach((_, index) => into.column(`markets.marks.${index}`, noMarks))
  into.column("accounts.balances", new BalanceLog().dump())
  return into.sections
}
