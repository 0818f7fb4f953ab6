/**
 * Reads the ledger's completions from where the journal says, page by page, and journals those of the venue's commands. The venue
 * usually learns the results of its submissions in this way; steps without a result are searched for individually (`Looking.ts`).
 */
import * as Effect from "effect/Effect"
import * as Ledger from "../ledger/Ledger.js"
import type { TransferView } from "../engine/Reads.js"
import { Ahead, isFromBefore } from "./Ahead.js"
import { noteCompletion, pageLimit } from "./Completions.js"
import { note } from "./Journaled.js"
import { isUnderWay } from "./Offsets.js"
import { type Bound, endOf, ofLedger, type Parts } from "./Parts.js"
import { Stopped, type Trouble } from "./Trouble.js"

/** Most steps that one line of the log names. */
const mostNamed = 16
/** Most parties whose completions are requested: steps of others are searched for individually. */
const mostParties = 2_048
/**
 * The distance in offsets, or the time in ms, after which the reader's place is journaled even if nothing of the venue's was found.
 */
const journalEveryOffsets = 10_000
const journalEveryMs = 60_000

export class Reader {
  /** The offset up to which everything was read; undefined before the first page. */
  private throughOffset: number | undefined
  /** How often the ledger had gone back when that was read. */
  private times = 0
  /** The ledger's end as last reported. */
  private endOffset = 0
  private journaledAtEpochMs = 0
  /** Parties that act in open or recent transfers, least recently seen first. */
  private readonly parties = new Set<string>()
  /** Completions of commands that are not the venue's. */
  unknownCompletions = 0

  /** `beganAtSequence`: the journal's last sequence when this process began. */
  constructor(private readonly parts: Parts, private readonly bound: Bound, private readonly beganAtSequence: number) {}

  /** The offset reached; undefined before the first page. */
  get offset(): number | undefined {
    return this.throughOffset
  }

  /** How far behind the ledger's end it is, offsets. */
  get lag(): number {
    return Math.max(0, this.endOffset - (this.throughOffset ?? this.parts.reads.funds.offset))
  }

  /** The treasury and the acting parties of open transfers, and the most recent ones of others. */
  private watched(): ReadonlySet<string> {
    for (const { partyId, kind } of this.parts.reads.openTransfers()) {
      if (partyId === "" || kind === "withdrawal") continue
      this.parties.delete(partyId)
      this.parties.add(partyId)
    }
    for (const partyId of this.parties) {
      if (this.parties.size < mostParties) break
      this.parties.delete(partyId)
    }
    return new Set([this.bound.custody.treasury, ...this.parties])
  }

  /**
   * Up to where a page for the parties that were asked for says everything, `end`: the ledger's end before it. Parties that appeared
   * meanwhile have asked for something since, so their steps are bound to that end or a later one, and their completions come behind it:
   * reading goes on however many of them appear. Undefined where a party has a transfer from before this process, of which the ledger may
   * have done a step that is bound to nothing (`Ahead.ts`).
   */
  private knownThrough(throughOffset: number, end: number, asked: ReadonlySet<string>): number | undefined {
    const appeared = new Set([...this.watched()].filter((party) => !asked.has(party)))
    if (appeared.size === 0) return throughOffset
    const isOfThem = ({ kind, number, partyId }: TransferView): boolean =>
      kind !== "withdrawal" && appeared.has(partyId) && isFromBefore(number, this.beganAtSequence)
    return this.parts.reads.openTransfers().some(isOfThem) ? undefined : Math.min(throughOffset, end)
  }

  /** The lowest offset to which an open step is bound; undefined where none is. */
  private firstNeeded(): number | undefined {
    const offsets = this.parts.reads.openTransfers().flatMap(({ steps }) =>
      steps.flatMap(({ binding, confirmation }) => binding === null || confirmation !== null ? [] : [binding.ledgerEndOffset])
    )
    return offsets.length === 0 ? undefined : Math.min(...offsets)
  }

  /** Where to begin: as journaled; a venue that has read nothing yet begins where its first step could be, or at the end. */
  private begin(end: number): number {
    const { offset } = this.parts.reads.funds
    return offset > 0 ? offset : this.firstNeeded() ?? end
  }

  /**
   * Where the ledger went back, what was read is numbered anew: reading begins again where the first open step could be, so that the
   * books can be compared. The steps themselves know of it (`Offsets.ts`).
   */
  private beginAgain(end: number): Effect.Effect<void> {
    const read = this.throughOffset ?? this.parts.reads.funds.offset
    this.times = this.bound.offsets.times
    this.throughOffset = Math.min(end, this.firstNeeded() ?? end)
    const submitted = this.submitted()
    const waiting = submitted.length === 0 ? "" : `; submitted and not decided: ${submitted.slice(0, mostNamed).join(", ")}`
      + `${submitted.length > mostNamed ? `, and ${submitted.length - mostNamed} more` : ""}. Stop withdrawals now, and look on the ledger `
      + "whether these were done: each restart of the venue, after a crash too, trusts the ledger's offsets again"
    return Effect.logError(
      `the ledger went back: its end is ${end}, ${read} was read, and completions are read again from ${this.throughOffset}${waiting}`
    )
  }

  /** The open steps that were submitted and are not confirmed, by their transfers' ids. */
  private submitted(): ReadonlyArray<string> {
    return this.parts.reads.openTransfers().flatMap(({ id, steps }) => steps.filter(isUnderWay).map(({ name }) => `${name} of ${id}`))
  }

  /** Reads one page. Returns whether there may be more at once. */
  page(nowEpochMs: number): Effect.Effect<boolean, Trouble> {
    return Effect.gen(this, function*() {
      const { ledger } = this.parts
      const { offsets } = this.bound
      const end = yield* endOf(this.parts, this.bound)
      this.endOffset = end.offset
      if (end.offset < (this.throughOffset ??= this.begin(end.offset)) || offsets.times > this.times) yield* this.beginAgain(end.offset)
      const from = this.throughOffset
      const asked = this.watched()
      const page = yield* ledger.completions({
        userId: this.bound.custody.userId,
        parties: [...asked],
        beginExclusive: from,
        limit: pageLimit
      }).pipe(Effect.catchAll((error) => this.pruned(error, from, end.offset)))
      if (page === undefined) return true
      const through = this.knownThrough(page.throughOffset, end.offset, asked)
      // A step that such a party's lost transfer has done would be missed: its page is read again.
      if (through === undefined) return true
      const place = Math.max(from, through)
      const ahead = new Ahead(this.parts, this.bound, this.beganAtSequence)
      let isToJournal = false
      for (const completion of page.completions) {
        const known = yield* noteCompletion(this.parts, this.bound, completion)
        // What lies behind the place is read once more: of what the venue knows, noting it again changes nothing.
        if (known === "unknown" && completion.offset > place) continue
        const noted = known === "unknown" ? yield* ahead.note(completion) : known
        if (noted === "unknown") this.unknownCompletions++
        // One that nobody knows may be of a lost transfer, whose id a new one will get: no later process may read it again, and take it
        // for the new one's.
        isToJournal ||= noted === "noted" || (noted === "unknown" && completion.outcome._tag === "Accepted")
      }
      this.throughOffset = place
      yield* this.journal(isToJournal, page.recordTimeEpochMs ?? 0, nowEpochMs)
      return place < page.throughOffset || (page.completions.length > 0 && place > from)
    })
  }

  /**
   * Skips completions that the ledger has pruned. Where one of them can belong to an open step, that step is searched for individually
   * and stops; all other transfers, and the comparison of books, depend on what comes after.
   */
  private pruned(error: Ledger.LedgerError, from: number, end: number): Effect.Effect<undefined, Trouble> {
    if (error._tag !== "Refused" || error.code !== Ledger.codes.pruned) return ofLedger(error)
    const needed = this.firstNeeded() ?? end
    const earliest = Number(error.context["earliest_offset"])
    const next = needed > from ? needed : Number.isSafeInteger(earliest) && earliest > from ? Math.min(earliest, end) : end
    if (next <= from) return new Stopped({ reason: "completions_pruned", detail: error.message })
    const said = `the ledger has forgotten completions behind ${from}:`
    const told = needed > from
      ? Effect.logWarning(`${said} none is of a step that is prepared, and reading goes on at ${next}`)
      : Effect.logError(`${said} some may be of open steps, which wait for an operator, and reading goes on at ${next}`)
    return Effect.as(Effect.tap(told, () => Effect.sync(() => void (this.throughOffset = next))), undefined)
  }

  /** Journals the place reached: with anything found, and otherwise now and then. */
  private journal(isFound: boolean, recordTimeEpochMs: number, nowEpochMs: number): Effect.Effect<void, Trouble> {
    const { reads, submit } = this.parts
    const offset = this.throughOffset ?? 0
    const ahead = offset - reads.funds.offset
    const sinceMs = nowEpochMs - this.journaledAtEpochMs
    // A place that was journaled later than now was so before the clock was set back.
    const isDue = isFound || ahead >= journalEveryOffsets || sinceMs < 0 || sinceMs >= journalEveryMs
    if (ahead <= 0 || !isDue) return Effect.void
    this.journaledAtEpochMs = nowEpochMs
    return Effect.asVoid(note({ submit }, "NoteLedgerOffset", { offset, recordTimeEpochMs }))
  }
}
