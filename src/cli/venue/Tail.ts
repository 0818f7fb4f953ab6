/**
 * `venue journal tail`: a data directory's journal, record by record, with what each decided; also beside a running
 * venue, and on as its blocks become durable.
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
import { type Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import * as Lines from "../replay/Lines.js"
import { nobody, type Who } from "../replay/Names.js"
import * as Others from "../Others.js"
import { accountOf, leadsOf } from "../Whose.js"

export interface Asked {
  /** The first sequence; undefined for the last few. */
  readonly from: number | undefined
  /** Only what concerns this account. */
  readonly accountId: string | undefined
  /** Only what concerns this market. */
  readonly marketId: string | undefined
  /** One JSON object a record. */
  readonly json: boolean
  /** Goes on with what is written from now on. */
  readonly follow: boolean
  readonly capacity: Capacity
}

/** Records shown where no first one was asked for. */
const lastFew = 20

/** How many of the latest records are looked at for the last few that concern whom was asked for. */
const lookedBack = 20_000

/** The last few of what was told of records, until all that were looked at are. */
class LastFew {
  private readonly held: Array<ReadonlyArray<string>> = []

  take(told: ReadonlyArray<string>): void {
    if (told.length === 0) return
    this.held.push(told)
    if (this.held.length > lastFew) this.held.shift()
  }

  /** All that is held, with a word on how far was looked where there is more from the `first` record on. */
  leave(from: number, first: number): Effect.Effect<ReadonlyArray<string>> {
    const said = this.held.length < lastFew && from > first
      ? Console.error(`${this.held.length} found from record ${from} on; --from looks further back`)
      : Effect.void
    return Effect.as(said, this.held.splice(0).flat())
  }
}

/** How often a running venue's journal is looked at. */
const lookEvery = Duration.millis(250)

export type Failure = Feed.ReadError | Unreadable | DiskError | CapacityTooSmall
export type Needs = Disk | SnapshotStore

/** The lines of all records asked for, oldest first. */
export const lines = (asked: Asked): Stream.Stream<string, Failure | Ended, Needs> =>
  records(asked, (state, told) => linesOf(state, told, asked))

/** What is to be told of, of which `first` are all that this version decided. */
type Wanted = Omit<Asked, "json" | "from"> & { readonly from: number | "first" | undefined }

/**
 * What is told of all records from the first one asked for, oldest first. What another version decided is passed over with a word on
 * whose it is, and refused where it was asked for by its sequence, or is all there is. Without `follow` it ends where the journal ends by
 * now, and an account or a market that is not known there is a wrong command line.
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
    // Only what is known to be durable can be read, and all of it is from here on.
    const feed = yield* Feed.beside(following, snapshots, asked.capacity, lookEvery)
    const others = yield* Others.found(following.journal, asked.capacity)
    const first = Others.firstBehind(others)
    const asksOthers = typeof asked.from === "number" && asked.from < first
    if (others !== undefined && (others.isAll || asksOthers)) return yield* Others.refused(others)
    const wished = asked.from === "first" ? 1 : asked.from ?? Math.max(1, last - (isNarrowed ? lookedBack : lastFew) + 1)
    const from = Math.max(wished, first)
    if (others !== undefined && wished < first) yield* Console.error(others.text)
    let few = asked.from === undefined && isNarrowed ? new LastFew() : undefined
    if (!asked.follow && from > last) return Stream.empty
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

/** What was asked for and does not exist. */
const unknownOf = (state: State, { accountId, marketId }: Pick<Asked, "accountId" | "marketId">): string | undefined => {
  if (accountId !== undefined && state.accounts.find(accountId) < 0) return `account ${accountId}`
  return marketId !== undefined && marketOf(state, marketId) < 0 ? `market ${marketId}` : undefined
}

/** A record with all that is known of it. */
export interface Told extends Feed.Decided {
  readonly outcome: Outcome
}

/** What is told of a record; nothing where it does not concern whom was asked for. */
const linesOf = (state: State, decided: Told, asked: Asked): ReadonlyArray<string> => {
  const told = concerning(state, decided, asked)
  if (told === undefined) return []
  const { events, outcome: { entries }, record: { atEpochMs, command, sequence } } = decided
  if (asked.json) return [JSON.stringify({ sequence, atEpochMs, command: withoutSecrets(command), entries, events })]
  const heading = `${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}`
  return (told.length === 0 ? [command.kind] : told).map((text) => `${heading}  ${text}`)
}

/** The lines that concern whom was asked for; undefined for a record that does not. */
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

/** Whether a command is of an account that was asked for: it is told of also where it changed nothing. */
const isOwn = (state: State, command: Command, { accountId, marketId }: Asked): boolean => {
  if (accountId === undefined || marketId !== undefined) return false
  // What nobody sent has no account, and one that is not there yet is none either.
  const account = state.accounts.find(accountId)
  return account >= 0 && (command.account === account || accountOf(command, leadsOf(state)) === account)
}
