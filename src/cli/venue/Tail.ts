/**
 * `venue journal tail`: a data directory's journal, record by record, each with its decision; also beside a running venue, and onwards as
 * its blocks become durable.
 */
import * as Duration from "effect/Duration"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Command, Outcome } from "../../operations/Operations.js"
import { withoutSecrets } from "../../operations/Redaction.js"
import type { Capacity, State } from "../../engine/State.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import * as Following from "../../journal/Following.js"
import type { Unreadable } from "../../journal/Journal.js"
import { SnapshotStore } from "../../journal/SnapshotStore.js"
import * as Feed from "../../sequencer/Feed.js"
import type { CapacityTooSmall } from "../../sequencer/Recovery.js"
import { behindEnd, type Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import * as Lines from "../replay/Lines.js"
import { nobody, type Who } from "../replay/Names.js"
import * as Others from "../Others.js"
import { accountOf, leadsOf } from "../Whose.js"

export interface Asked {
  /** The first sequence; undefined: the last few records. */
  readonly from: number | undefined
  /** Restricts to this account. */
  readonly accountId: string | undefined
  /** Restricts to this market. */
  readonly marketId: string | undefined
  /** One JSON object for each record. */
  readonly json: boolean
  /** Continues with new records as they are written. */
  readonly follow: boolean
  readonly capacity: Capacity
}

/** Records shown where no first sequence was given. */
const lastFew = 20

/** How many of the latest records are searched for the last few of an account or market. */
const lookedBack = 20_000

/** Keeps the last few records' lines until the search is over. */
class LastFew {
  private readonly held: Array<ReadonlyArray<string>> = []

  take(told: ReadonlyArray<string>): void {
    if (told.length === 0) return
    this.held.push(told)
    if (this.held.length > lastFew) this.held.shift()
  }

  /** Everything kept, after a note on how far the search went, where more records begin at `first`. */
  leave(from: number, first: number): Effect.Effect<ReadonlyArray<string>> {
    const said = this.held.length < lastFew && from > first
      ? Console.error(`${this.held.length} found from record ${from} on; --from looks further back`)
      : Effect.void
    return Effect.as(said, this.held.splice(0).flat())
  }
}

/** How often a running venue's journal is checked. */
const lookEvery = Duration.millis(250)

export type Failure = Feed.ReadError | Unreadable | DiskError | CapacityTooSmall
export type Needs = Disk | SnapshotStore

/** The lines of all requested records, oldest first. */
export const lines = (asked: Asked): Stream.Stream<string, Failure | Ended, Needs> =>
  records(asked, (state, told) => linesOf(state, told, asked))

/** What is to be shown; `first` stands for the first record that this version decided. */
type Wanted = Omit<Asked, "json" | "from"> & { readonly from: number | "first" | undefined }

/**
 * The lines of all requested records, oldest first. Records that another version decided are skipped with a note that names it; they are
 * refused where they were asked for by sequence, or where there are no others. Without `follow` the output ends at the journal's present
 * end, and a sequence behind it, or an account or a market unknown there, counts as a wrong command line.
 */
export const records = (
  asked: Wanted,
  tell: (state: State, told: Told) => ReadonlyArray<string>
): Stream.Stream<string, Failure | Ended, Needs> =>
  Stream.unwrap(Effect.gen(function*() {
    const following = yield* Following.open
    const snapshots = yield* SnapshotStore
    const last = following.journal.opened.nextSequence - 1
    const isNarrowed = asked.accountId !== undefined || asked.marketId !== undefined
    // Only what is known to be durable can be read; from here on that is everything.
    const feed = yield* Feed.beside(following, snapshots, asked.capacity, lookEvery)
    const others = yield* Others.found(following.journal, asked.capacity)
    const first = Others.firstBehind(others)
    const asksOthers = typeof asked.from === "number" && asked.from < first
    if (others !== undefined && (others.isAll || asksOthers)) return yield* Others.refused(others)
    const wished = asked.from === "first" ? 1 : asked.from ?? Math.max(1, last - (isNarrowed ? lookedBack : lastFew) + 1)
    const from = Math.max(wished, first)
    if (others !== undefined && wished < first) yield* Console.error(others.text)
    let few = asked.from === undefined && isNarrowed ? new LastFew() : undefined
    // The record that comes next is asked for by whoever has all that there is, which is no mistake.
    if (!asked.follow && from > last) return from > last + 1 && from === asked.from ? yield* behindEnd(last) : Stream.empty
    const standing = feed.standingFrom(from)
    const wanted = asked.follow ? standing : Stream.takeUntil(standing, ({ block }) => block.lastSequence >= last)
    return Stream.mapConcatEffect(wanted, (each) => {
      const { state } = each.engine
      const unknown = !asked.follow && each.block.lastSequence >= last ? unknownOf(state, asked) : undefined
      if (unknown !== undefined) return usage(`the journal knows no ${unknown}`)
      const decidedOnes = Feed.decided(each)
        .map((decided, index): Told => ({ ...decided, outcome: each.outcomes[index]! }))
        .filter(({ record: { sequence } }) => sequence >= from)
      if (few === undefined) return Effect.succeed(decidedOnes.flatMap((told) => tell(state, told)))
      for (const told of decidedOnes) few.take(tell(state, told))
      if (each.block.lastSequence < last) return Effect.succeed([])
      const all = few.leave(from, first)
      few = undefined
      return all
    })
  }))

const marketOf = ({ marketById, marketBySymbol }: State, name: string): number => marketById.get(name) ?? marketBySymbol.get(name) ?? -1

/** The requested thing that does not exist. */
const unknownOf = (state: State, { accountId, marketId }: Pick<Asked, "accountId" | "marketId">): string | undefined => {
  if (accountId !== undefined && state.accounts.find(accountId) < 0) return `account ${accountId}`
  return marketId !== undefined && marketOf(state, marketId) < 0 ? `market ${marketId}` : undefined
}

/** A record with its events and outcome. */
export interface Told extends Feed.Decided {
  readonly outcome: Outcome
}

/** A record's lines; empty where it does not concern the requested account or market. */
const linesOf = (state: State, decided: Told, asked: Asked): ReadonlyArray<string> => {
  const told = concerning(state, decided, asked)
  if (told === undefined) return []
  const { events, outcome: { entries }, record: { atEpochMs, command, sequence } } = decided
  if (asked.json) return [JSON.stringify({ sequence, atEpochMs, command: withoutSecrets(command), entries, events })]
  const heading = `${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}`
  return (told.length === 0 ? [command.kind] : told).map((text) => `${heading}  ${text}`)
}

/** The lines that concern the requested account or market; undefined for a record that does not. */
const concerning = (state: State, { events, outcome, record }: Told, asked: Asked): ReadonlyArray<string> | undefined => {
  const { accountId, marketId } = asked
  if (accountId === undefined && marketId === undefined) return Lines.allLinesOf(state, record, outcome, events)
  const whos: ReadonlyArray<Who> = [
    ...(accountId === undefined ? [] : [{ ...nobody, account: state.accounts.find(accountId) }]),
    ...(marketId === undefined ? [] : [{ ...nobody, market: marketOf(state, marketId) }])
  ]
  const [first, ...others] = whos.map((who) => Lines.linesOf(state, record, outcome, events, who))
  const told = first!.filter((line) => others.every((lines) => lines.includes(line)))
  return told.length === 0 && !isOwn(state, record.command, asked) ? undefined : told
}

/** Whether a command belongs to the requested account: it is shown even where it changed nothing. */
const isOwn = (state: State, command: Command, { accountId, marketId }: Asked): boolean => {
  if (accountId === undefined || marketId !== undefined) return false
  // A command without a sender has no account (-1), and neither has an account that does not exist yet: these must not be taken for equal.
  const account = state.accounts.find(accountId)
  return account >= 0 && (command.account === account || accountOf(command, leadsOf(state)) === account)
}
