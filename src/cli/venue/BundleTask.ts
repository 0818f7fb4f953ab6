/** `venue bundle`: writes an incident bundle of a data directory's journal to a file. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as Order from "../../domain/Order.js"
import type { Capacity } from "../../engine/State.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Journal, type Unknown, type Unreadable } from "../../journal/Journal.js"
import * as SegmentJournal from "../../journal/SegmentJournal.js"
import type { SnapshotStore } from "../../journal/SnapshotStore.js"
import type { Diverged } from "../../sequencer/Recovery.js"
import * as Bundle from "../bundle/Bundle.js"
import * as Collect from "../bundle/Collect.js"
import * as Redact from "../bundle/Redact.js"
import { settingTooSmall } from "../Capacity.js"
import { behindEnd, Ended, usage } from "../Exit.js"
import * as Others from "../Others.js"
import * as Format from "../replay/Format.js"
import * as Lookup from "../replay/Lookup.js"
import { dataSubject, lastBefore, unfoundError } from "../replay/Opening.js"
import * as Story from "../replay/Story.js"
import * as Stretch from "../replay/Stretch.js"

/** The requested bundle. */
export interface Asked {
  readonly file: string
  /** By sequences or times; or an order by any of its names, with its account where that is needed. */
  readonly range: Stretch.Stretch | { readonly order: string; readonly accountId: string | undefined }
  /** The account to redact for; undefined for none. */
  readonly redact: string | undefined
  readonly capacity: Capacity
}

const refusedCode = 1

/** Writes the bundle to a new file, and reports what is in it. */
export const make = (
  { capacity, file, range: wanted, redact }: Asked
): Effect.Effect<ReadonlyArray<string>, Ended | Unreadable | Unknown | DiskError, Disk | SnapshotStore> =>
  Effect.gen(function*() {
    if (fs.existsSync(file)) return yield* usage(`${file} is there already`)
    const journal = yield* Effect.provide(Journal, SegmentJournal.layerReadOnly)
    const last = journal.opened.nextSequence - 1
    if (last === 0) return yield* usage("the journal is empty")
    const others = yield* Others.found(journal, capacity)
    if (others?.isAll === true) return yield* Others.refused(others)
    const first = Others.firstBehind(others)
    const { from, to } = yield* "order" in wanted
      ? lifeOf(wanted.order, wanted.accountId, capacity)
      : within(journal, wanted, first, others)
    if (others !== undefined && (from < first || to < first)) return yield* Others.refused(others)
    if (from > last) return yield* behindEnd(last)
    if (to < from) return yield* usage("no record is in that stretch")
    const range = { from, to: Math.min(to, last) }
    const contents = yield* redact === undefined
      ? Collect.collect(range, capacity)
      : Redact.collect({ range, capacity, accountId: redact, key: crypto.randomBytes(32) }).pipe(
        Effect.catchTag("ReplayDiverged", (error) => unredacted(error, others))
      )
    const bytes = Bundle.write(contents)
    yield* Effect.try({
      try: () => writeNew(file, bytes),
      catch: (error) => usage(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`)
    })
    return describe(file, bytes, contents)
  }).pipe(
    settingTooSmall,
    Effect.catchTags({
      TooLarge: (error) => usage(error.message),
      UnknownAccount: (error) => usage(error.message),
      CapacityTooSmall: (error) => usage(error.message)
    })
  )

/** The first record at or after a time, not before a sequence; the one that comes next where there is none. */
const firstAt = (journal: Context.Tag.Service<typeof Journal>, first: number, atEpochMs: number) =>
  Effect.gen(function*() {
    const before = yield* journal.before(atEpochMs)
    const found = yield* journal.replay(Math.max(first, before + 1)).pipe(
      Stream.mapConcat(({ records }) => records),
      Stream.filter((record) => record.sequence >= first && record.atEpochMs >= atEpochMs),
      Stream.runHead
    )
    return Option.match(found, { onNone: () => journal.opened.nextSequence, onSome: ({ sequence }) => sequence })
  })

/** The sequences of a stretch, which is refused where it begins or ends, by time, with what another version decided. */
const within = (
  journal: Context.Tag.Service<typeof Journal>,
  stretch: Stretch.Stretch,
  first: number,
  others: Others.Others | undefined
) =>
  Effect.gen(function*() {
    const { from, fromEpochMs, to, untilEpochMs } = stretch
    if (others !== undefined && (fromEpochMs !== undefined || untilEpochMs !== undefined)) {
      const before = yield* Effect.flatMap(dataSubject, lastBefore)
      if (before !== undefined && Stretch.asksBefore(stretch, before)) return yield* Others.refused(others)
    }
    return {
      from: fromEpochMs === undefined ? (from === 0 ? first : from) : yield* firstAt(journal, first, fromEpochMs),
      to: untilEpochMs === undefined ? to : (yield* firstAt(journal, first, untilEpochMs)) - 1
    }
  })

/**
 * Writes a file that is not there yet. `wx`: one that another program has created meanwhile is not replaced. Users who may not read the
 * journal may not read a part of it either. What could be written of it, as on a full disk, is removed again.
 */
const writeNew = (file: string, bytes: Uint8Array): void => {
  const descriptor = fs.openSync(file, "wx", 0o600)
  try {
    fs.writeFileSync(descriptor, bytes)
  } catch (error) {
    fs.rmSync(file, { force: true })
    throw error
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Redacting means running the journal from its first record, which only the version that decided all of it can do. */
const unredacted = (error: Diverged, others: Others.Others | undefined): Ended =>
  new Ended({
    code: refusedCode,
    text: `refused: ${others === undefined ? error.message : others.text}\n`
      + "a journal that is decided otherwise cannot be redacted; without --redact a bundle can be made"
  })

/** The records from the placement of the orders that a text names to their end; to the last record while one of them is open. */
const lifeOf = (text: string, accountId: string | undefined, capacity: Capacity) =>
  Effect.gen(function*() {
    const subject = yield* dataSubject
    const { journal } = subject
    const { orderNumbers } = yield* Effect.catchTag(Lookup.find(journal, capacity, text, accountId), "Unfound",
      (error) => unfoundError(subject, error))
    const { engine, first, last } = yield* Story.tell(journal, capacity, { _tag: "Orders", orderNumbers }, { ...Stretch.whole, limit: 0 })
    const { orders } = engine.state
    const isOpen = orderNumbers.some((orderNumber) => {
      const slot = orders.find(orderNumber)
      return slot >= 0 && orders.status(slot) === Order.open
    })
    return { from: first, to: isOpen ? engine.sequence : last }
  }).pipe(
    Effect.catchTag("ReplayDiverged", (error) =>
      new Ended({
        code: refusedCode,
        text: `refused: ${error.message}\n`
          + "an order cannot be looked up in a journal that is decided otherwise; --from and --to make a bundle of it"
      }))
  )

const describe = (file: string, bytes: Buffer, contents: Bundle.Contents): ReadonlyArray<string> => {
  const { manifest } = Bundle.read(bytes)
  return [
    `bundle     ${file}, ${Format.count(bytes.length)} bytes`,
    `sequences  ${manifest.firstSequence} to ${manifest.lastSequence}, in ${Format.count(manifest.blocks)} blocks`,
    `begins     ${manifest.base === null ? "with a new journal" : `with the state at sequence ${manifest.base.sequence}`}`,
    ...(contents.redactedFor === undefined ? [] : [`redacted   for ${contents.redactedFor}: every decision came out the same`]),
    manifest.divergedAt === null
      ? `state      ${manifest.finalStateDigest}`
      : `diverged   at sequence ${manifest.divergedAt}: this program decides otherwise there, and the bundle says so`,
    `replay it  npm run replay -- --bundle ${file} --verify`
  ]
}
