/** How the reader of completions goes on: over what it journals, what the ledger has pruned, and a ledger that went back. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { Offsets } from "../../src/funds/Offsets.js"
import type { Bound, Parts } from "../../src/funds/Parts.js"
import { Reader } from "../../src/funds/Reader.js"
import * as Ledger from "../../src/ledger/Ledger.js"

/** A partial object in place of what the reader depends on. */
// oxlint-disable-next-line typescript/no-explicit-any -- parts of the parts
const partOf = <A>(given: any): A => given

/** A venue's places and turns on the ledger, as far as its reader needs them. */
const boundOf = ({ reads }: Pick<Parts, "reads">): Bound =>
  partOf<Bound>({ custody: { treasury: "t", userId: "u" }, offsets: new Offsets(reads), completing: Effect.unsafeMakeSemaphore(1) })

const accepted = (offset: number) => ({
  commandId: `cmd_${offset}`,
  submissionId: "",
  actAs: ["t"],
  offset,
  recordTimeEpochMs: 1,
  outcome: { _tag: "Accepted", updateId: "u" }
})

/** A reader over a journal that has read up to 5, and a ledger with completions of lost commands at some offsets. */
const scene = (
  end: number,
  unknownAt: ReadonlyArray<number>,
  boundAt: ReadonlyArray<number> = [],
  pruned?: Readonly<Record<string, string>>
) => {
  const ledger = { end, asked: [] as Array<number>, pruned }
  const journaled: Array<number> = []
  const reads = {
    funds: { offset: 5, alarms: {} },
    openTransfers: () =>
      boundAt.map((ledgerEndOffset, number) => ({
        kind: "withdrawal",
        number,
        steps: [{ binding: { commandId: `${number}`, ledgerEndOffset }, confirmation: null, submissions: [{}], unlisted: 0 }]
      }))
  }
  const parts = partOf<Parts>({
    reads,
    ledger: {
      end: Effect.sync(() => ({ offset: ledger.end, recordTimeEpochMs: 1 })),
      completions: ({ beginExclusive }: { readonly beginExclusive: number }) =>
        Effect.suspend((): Effect.Effect<unknown, Ledger.Refused> => {
          ledger.asked.push(beginExclusive)
          if (ledger.pruned !== undefined) return new Ledger.Refused({ code: Ledger.codes.pruned, cause: "pruned", context: ledger.pruned })
          const completions = unknownAt.filter((offset) => offset > beginExclusive).map(accepted)
          return Effect.succeed({ completions, throughOffset: ledger.end, recordTimeEpochMs: 1 })
        })
    },
    submit: (command: { readonly kind: string; readonly offset: number }, then: (outcome: unknown) => void) => {
      if (command.kind === "NoteCompletion") return then({ entries: [], refusal: Refusal.transferNotFound })
      journaled.push(command.offset)
      reads.funds.offset = command.offset
      then({ entries: [{ _tag: "Done" }], refusal: Refusal.none })
    }
  })
  const bound = boundOf(parts)
  const reader = new Reader(parts, bound, 0)
  // So soon after the epoch that nothing is journaled for the time that has passed.
  const page = (atEpochMs = 1_000) => Effect.runPromise(reader.page(atEpochMs))
  return { bound, journaled, ledger, page, reader }
}

test("its place is journaled behind an acceptance that nobody knows, so that no later process reads it again", async () => {
  const without = scene(9, [])
  await without.page()
  expect(without.journaled).toEqual([])
  const behind = scene(9, [8])
  await behind.page()
  expect([behind.journaled, behind.reader.unknownCompletions]).toEqual([[9], 1])
})

test("a clock that was set back does not keep its place from being journaled for as long", async () => {
  const { journaled, ledger, page } = scene(9, [])
  await page(7_200_000)
  ledger.end = 10
  await page(7_259_999)
  expect(journaled).toEqual([9])
  await page(3_600_000)
  expect(journaled).toEqual([9, 10])
  ledger.end = 11
  await page(3_659_999)
  expect(journaled).toEqual([9, 10])
})

const prunings: ReadonlyArray<
  readonly [why: string, boundAt: ReadonlyArray<number>, context: Readonly<Record<string, string>>, next: number]
> = [
  ["at the first open step, where that is behind them", [7, 8], { earliest_offset: "6" }, 7],
  ["at the earliest that the ledger has, where an open step is among them", [4, 8], { earliest_offset: "6" }, 6],
  ["at the end, where the ledger does not tell the earliest", [4, 8], {}, 9],
  ["at the end, where that tells nothing new", [4, 8], { earliest_offset: "5" }, 9],
  ["at the end, where nothing is open", [], { earliest_offset: "6" }, 9]
]

test.each(prunings)("it goes on behind pruned completions %s", async (_, boundAt, context, next) => {
  const { ledger, page, reader } = scene(9, [], boundAt, context)
  expect(await page()).toBe(true)
  expect(reader.offset).toBe(next)
  ledger.pruned = undefined
  await page()
  expect([ledger.asked, reader.offset]).toEqual([[5, next], 9])
})

test("it fails where there is nothing behind what is pruned", async () => {
  const { ledger, page, reader } = scene(5, [], [4], {})
  await expect(page()).rejects.toThrow("stopped (completions_pruned)")
  ledger.end = 6
  ledger.pruned = { earliest_offset: "9" }
  await page()
  expect(reader.offset).toBe(6)
})

/** A reader over pages during each of which another party asks for its first deposit. */
const flooded = (beganAtSequence: number, partyAt = (page: number) => `p${page}`) => {
  const noted: Array<number> = []
  const ledger: { end: number; pages: number; asked: ReadonlyArray<string> } = { end: 100, pages: 0, asked: [] }
  const reads = {
    funds: { offset: 100, alarms: {} },
    openTransfers: () => [{ kind: "deposit", number: 64 * 7, partyId: partyAt(ledger.pages), steps: [] }]
  }
  const parts = partOf<Parts>({
    reads,
    ledger: {
      end: Effect.sync(() => ({ offset: ledger.end += 10, recordTimeEpochMs: 1 })),
      completions: ({ parties }: { readonly parties: ReadonlyArray<string> }) =>
        Effect.sync(() => {
          ledger.pages++
          ledger.asked = parties
          const completions = [accepted(ledger.end - 5), accepted(ledger.end + 3)]
          return { completions, throughOffset: ledger.end += 5, recordTimeEpochMs: 1 }
        })
    },
    submit: (command: { readonly kind: string; readonly offset: number }, then: (outcome: unknown) => void) => {
      if (command.kind !== "NoteCompletion") return then({ entries: [{ _tag: "Done" }], refusal: Refusal.none })
      noted.push(command.offset)
      then({ entries: [], refusal: command.offset % 15 === 13 ? Refusal.transferNotFound : Refusal.ledgerFactKnown })
    }
  })
  const bound = boundOf(parts)
  const reader = new Reader(parts, bound, beganAtSequence)
  return { ledger, noted, page: () => Effect.runPromise(reader.page(1_000)), reader }
}

test("it goes on to the end from before the page although a new party appears during each, and notes what the page says", async () => {
  const { ledger, noted, page, reader } = flooded(0)
  for (let pages = 1; pages <= 20; pages++) {
    expect(await page()).toBe(true)
    expect([reader.offset, reader.lag]).toEqual([ledger.end - 5, 0])
    expect(noted.slice(-2)).toEqual([ledger.end - 10, ledger.end - 2])
  }
  // What nobody knows and lies behind the place is counted once it is read again.
  expect(reader.unknownCompletions).toBe(0)
})

test("a page is read again during which a party with a transfer from before this process appeared", async () => {
  const { noted, page, reader } = flooded(7)
  for (let pages = 1; pages <= 5; pages++) expect([await page(), reader.offset]).toEqual([true, 100])
  expect(noted).toEqual([])
})

test("more accounts than it asks for hold it up no more than others: it asks for the treasury and those that came last", async () => {
  const { ledger, page, reader } = flooded(0, (at) => `p${at % 2_100}`)
  for (let pages = 0; pages < 2_200; pages++) await page()
  expect(reader.offset).toBe(ledger.end - 5)
  // At the last page it was the turn of p99.
  const last = Array.from({ length: 2_047 }, (_, ago) => `p${(2_199 - ago) % 2_100}`)
  expect(new Set(ledger.asked)).toEqual(new Set(["t", ...last]))
})

test("it begins again at the first open step where the ledger went back, whoever noticed it", async () => {
  const { bound, ledger, page, reader } = scene(9, [], [4])
  await page()
  ledger.end = 8
  await page()
  expect([ledger.asked, reader.offset, bound.offsets.times]).toEqual([[5, 4], 8, 1])
  // A search for a step has noticed it, and the ledger has grown since.
  bound.offsets.told(7, 8)
  ledger.end = 12
  await page()
  await page()
  expect([ledger.asked, reader.offset, bound.offsets.times]).toEqual([[5, 4, 4, 12], 12, 2])
})

test("it begins again at the end where nothing is open, and where a step is bound behind it", async () => {
  for (const boundAt of [[], [9]]) {
    const { ledger, page, reader } = scene(9, [], boundAt)
    await page()
    ledger.end = 8
    await page()
    expect([ledger.asked, reader.offset]).toEqual([[5, 8], 8])
  }
})
