/** What `npm run replay` does: it opens a journal or a bundle, runs it again, and says what was asked. */
import { SingleBar } from "cli-progress"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Context from "effect/Context"
import * as fs from "node:fs"
import * as Ids from "../../domain/Ids.js"
import * as Snapshot from "../../engine/Snapshot.js"
import type { Capacity } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Corrupt, Journal, type Unreadable } from "../../journal/Journal.js"
import * as NodeDisk from "../../journal/NodeDisk.js"
import * as SegmentJournal from "../../journal/SegmentJournal.js"
import * as SnapshotStore from "../../journal/SnapshotStore.js"
import { type Diverged, engineOf } from "../../sequencer/Recovery.js"
import * as Bundle from "../bundle/Bundle.js"
import * as BundleSource from "../bundle/Source.js"
import { capacity, settingTooSmall } from "../Capacity.js"
import { Ended, unreadable, unreadableCode, usage } from "../Exit.js"
import * as Diff from "./Diff.js"
import type { Source } from "./Follow.js"
import * as Format from "./Format.js"
import * as StateAt from "./StateAt.js"
import * as Story from "./Story.js"
import * as Verify from "./Verify.js"
import type { Parsed } from "./Options.js"

const differsCode = 1

/** What is replayed, and the bounds that it ran under. */
interface Subject {
  readonly journal: Source
  readonly capacity: Capacity
  /** The first sequence there is. */
  readonly firstSequence: number
}

/**
 * A data directory's journal, from its start, or from the state that its last step to other rules began with: what is
 * before that is verified by its chain alone, and replayed by the version that wrote it.
 */
const dataSubject: Effect.Effect<Subject, Ended | Unreadable | DiskError, Disk> = Effect.gen(function*() {
  const journal = yield* Effect.provide(Journal, SegmentJournal.layerReadOnly)
  const within = yield* capacity
  const store = yield* Effect.provide(SnapshotStore.SnapshotStore, SnapshotStore.layerReadOnly)
  const step = yield* store.latestStep
  if (step === undefined) return { journal, capacity: within, firstSequence: 1 }
  if (typeof step === "string") {
    return yield* new Ended({ code: unreadableCode, text: `the state that the last step began with is damaged: ${step}` })
  }
  if (!Snapshot.isKnown(step.schema)) {
    const text = `the state that the last step began with is of schema ${step.schema}, and this program reads ${Snapshot.schema}: `
      + "replay it with the version that made the step"
    return yield* new Ended({ code: unreadableCode, text })
  }
  const base = engineOf(step, within).pipe(
    Effect.mapError(({ message }) =>
      new Corrupt({ segment: "the state of the last step", offset: 0, sequence: step.sequence, reason: message })
    )
  )
  return { journal: { ...journal, base }, capacity: within, firstSequence: step.sequence + 1 }
})

/** Where a replay gets what it replays. */
type Open<R> = Effect.Effect<Subject, Ended | Unreadable | DiskError, R>

/** A bar on standard error, where a person looks on. */
const withProgress = <A, E, R>(
  { firstSequence, journal }: Subject,
  use: (progress: (block: Block.Block) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const before = firstSequence - 1
  const records = journal.opened.nextSequence - 1 - before
  if (!process.stderr.isTTY || records === 0) return use(() => {})
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const bar = new SingleBar({
        format: "{bar} {percentage}% | {value} of {total} records | {eta_formatted} left",
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true,
        fps: 10
      })
      bar.start(records, 0)
      return bar
    }),
    (bar) => use((block) => bar.update(block.lastSequence - before)),
    (bar) => Effect.sync(() => bar.stop())
  )
}

const divergedError = (error: Diverged): Ended =>
  new Ended({ code: differsCode, text: `diverged: ${error.message}\nrun --verify for what was decided there` })

/** Proves a data directory's journal and its snapshots. */
const verify = (everyBlocks: number) =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    // Before the journal is opened: see `Verify.verify`.
    const sequences = yield* snapshots.list
    const started = yield* Clock.currentTimeMillis
    const subject = yield* dataSubject
    const later = sequences.filter((sequence) => sequence >= subject.firstSequence)
    const report = yield* prove(subject, snapshots, later, everyBlocks, started)
    if (report.snapshots.some(({ found }) => found === "damaged" || found === "foreign")) {
      const text = "the journal is whole; a venue passes over the snapshots that are not proven"
      return yield* new Ended({ code: unreadableCode, text })
    }
  })

/** Verifies a subject and says what it is; `expectedStateDigest` is what it must come to, where that is known. */
const prove = (
  subject: Subject,
  snapshots: SnapshotsService,
  sequences: ReadonlyArray<number>,
  everyBlocks: number,
  started: number,
  expectedStateDigest?: string
) =>
  Effect.gen(function*() {
    const { capacity, journal } = subject
    const expected = expectedStateDigest === undefined ? {} : { expectedStateDigest }
    const report = yield* withProgress(subject,
      (progress) => Verify.verify(journal, snapshots, sequences, { capacity, invariantsEveryBlocks: everyBlocks, progress, ...expected }))
    const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
    yield* Console.log(drawReport(report, subject, seconds))
    return report
  }).pipe(
    Effect.catchTag("ReplayDiffers",
      (error) => new Ended({ code: differsCode, text: [`diverged: ${error.message}`, ...error.decided.slice(0, decidedLines)].join("\n") }))
  )

type SnapshotsService = Context.Tag.Service<typeof SnapshotStore.SnapshotStore>

/** Lines of a diverged block that are shown. */
const decidedLines = 400

const drawReport = (report: Verify.Report, { firstSequence, journal }: Subject, seconds: number): string => {
  const rate = seconds > 0 ? ` (${Format.count(Math.round(report.records / seconds))} records/s)` : ""
  const { torn } = journal.opened
  return [
    ...(firstSequence === 1 || journal.opened.nextSequence <= firstSequence
      ? []
      : [`before        sequences 1 to ${firstSequence - 1} are verified by their chain: an earlier version decided them`]),
    `records       ${Format.count(report.records)}`,
    `blocks        ${Format.count(report.blocks)}`,
    `epochs        ${report.epochs}${report.epochs === 0 ? "" : ` (${report.firstEpoch} to ${report.lastEpoch})`}`,
    `time          ${Format.time(report.firstAtEpochMs)} to ${Format.time(report.lastAtEpochMs)}`,
    `state digest  ${report.stateDigest}`,
    `invariants    hold (${report.invariantChecks} checks)`,
    ...(report.snapshots.length === 0 ? ["snapshots     none"] : []),
    ...report.snapshots.map(({ detail, found, sequence }) => `snapshot      ${sequence} ${found}: ${detail}`),
    ...(torn === undefined ? [] : [`torn          ${torn.bytes} bytes of an unfinished write at ${torn.segment}:${torn.offset}`]),
    `replayed in   ${seconds.toFixed(1)} s${rate}`
  ].join("\n")
}

const diff = (only: Option.Option<number>, limit: number) =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    const listed = yield* snapshots.list
    const sequences = Option.match(only, {
      onNone: () => listed,
      onSome: (sequence) => listed.filter((each) => each === sequence)
    })
    if (sequences.length === 0) {
      const which = Option.match(only, { onNone: () => "", onSome: (sequence) => ` at ${sequence}` })
      return yield* usage(`there is no snapshot${which}${listed.length === 0 ? "" : `; there are those at ${listed.join(", ")}`}`)
    }
    const subject = yield* dataSubject
    const later = sequences.filter((sequence) => sequence >= subject.firstSequence)
    if (later.length === 0) {
      return yield* usage(`there is no snapshot behind sequence ${subject.firstSequence - 1}, where what is replayed begins`)
    }
    const findings = yield* withProgress(subject,
      (progress) => Diff.compareAll(subject.journal, snapshots, later, subject.capacity, progress))
    yield* Console.log(findings.flatMap((finding) => drawFinding(finding, limit)).join("\n"))
    if (findings.some(({ found }) => found === "differs")) {
      return yield* new Ended({ code: differsCode, text: "a snapshot differs from replay" })
    }
    if (findings.some(({ found }) => found === "unusable")) {
      return yield* new Ended({ code: unreadableCode, text: "a snapshot cannot be compared; a venue passes over it" })
    }
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

/** A finding, with at most `limit` lines of each group. */
const drawFinding = ({ detail, found, groups, sequence }: Diff.Finding, limit: number): ReadonlyArray<string> => [
  `snapshot ${sequence} ${found}: ${detail}`,
  ...groups.flatMap(({ lines, name }) => [
    `  ${name}`,
    ...lines.slice(0, limit).map((line) => `    ${line}`),
    ...(lines.length > limit ? [`    ... and ${Format.count(lines.length - limit)} more (--limit)`] : [])
  ])
]

const stateAt = <R>(open: Open<R>, text: string, limit: number) =>
  Effect.gen(function*() {
    const moment = StateAt.parseMoment(text)
    if (moment === undefined) return yield* usage(`--at takes a sequence from 1, an ISO time or epoch ms, and not ${text}`)
    const subject = yield* open
    const { capacity, firstSequence, journal } = subject
    const last = journal.opened.nextSequence - 1
    if (moment._tag === "Sequence" && moment.sequence > last) return yield* usage(`the journal ends at sequence ${last}`)
    if (moment._tag === "Sequence" && moment.sequence < firstSequence - 1) {
      return yield* usage(`what is replayed begins behind sequence ${firstSequence - 1}`)
    }
    const engine = yield* withProgress(subject, (block) => StateAt.engineAt(journal, capacity, moment, { block }))
    yield* Console.log(StateAt.draw(engine, limit))
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

const story = <R>(open: Open<R>, subject: Story.Subject, name: string, bounds: Story.Bounds) =>
  Effect.gen(function*() {
    const opened = yield* open
    const { capacity, firstSequence, journal } = opened
    const told = yield* withProgress(opened, (block) => Story.tell(journal, capacity, subject, bounds, { block }))
    if (!told.known) return yield* usage(`the journal knows no ${name}`)
    if (firstSequence > 1) yield* Console.log(`(what happened up to sequence ${firstSequence - 1} is not replayed here)`)
    yield* Console.log([...told.lines.map(drawLine), ...notes(told)].join("\n"))
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

const drawLine = ({ atEpochMs, sequence, text }: Story.Line): string =>
  `${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}  ${text}`

const notes = ({ feedSamples, lines, more }: Story.Story): ReadonlyArray<string> => [
  ...(lines.length === 0 ? ["nothing in these sequences"] : []),
  ...(more > 0 ? [`... and ${Format.count(more)} more lines (--limit, --from)`] : []),
  ...(feedSamples > 0 ? [`(${Format.count(feedSamples)} samples of the index feed are left out)`] : [])
]

/** What is asked of a journal, wherever it comes from. */
const questions = <R>(open: Open<R>, parsed: Parsed) => [
  ...Option.toArray(parsed.at).map((text) => stateAt(open, text, parsed.limit)),
  ...Option.toArray(parsed.order).map((id) => {
    const orderNumber = Ids.parseOrderId(id)
    return orderNumber === undefined
      ? usage(`${id} is not an order's id`)
      : story(open, { _tag: "Order", orderNumber }, `order ${id}`, parsed)
  }),
  ...Option.toArray(parsed.account).map((accountId) => story(open, { _tag: "Account", accountId }, `account ${accountId}`, parsed)),
  ...Option.toArray(parsed.market).map((marketId) => story(open, { _tag: "Market", marketId }, `market ${marketId}`, parsed)),
  ...Option.toArray(parsed.deposit).map((id) => {
    const number = Ids.parseDepositId(id) ?? Ids.parseWithdrawalId(id) ?? Ids.parsePartyChangeId(id)
    return number === undefined
      ? usage(`${id} is not the id of a deposit, a withdrawal or a change of ledger party`)
      : story(open, { _tag: "Transfer", number }, `transfer ${id}`, parsed)
  })
]

/** The one thing asked for. */
const one = <A extends Effect.Effect<void, unknown, unknown>>(asked: ReadonlyArray<A>, names: string): A | Ended => {
  const [only] = asked
  return only === undefined || asked.length > 1 ? usage(`ask for one of ${names}`) : only
}

const replayData = (parsed: Parsed): Effect.Effect<void, Ended> => {
  // The disk would make the directory.
  if (!fs.existsSync(parsed.data)) return usage(`there is no directory ${parsed.data}`)
  const asked = [
    ...(parsed.verify ? [verify(parsed.invariantsEvery)] : []),
    ...(parsed.diff ? [diff(parsed.snapshot, parsed.limit)] : []),
    ...questions(dataSubject, parsed)
  ]
  return one(asked, "--verify, --diff, --at, --order, --account, --market, --deposit").pipe(
    settingTooSmall,
    Effect.provide(Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(parsed.data))),
    Effect.catchTags({
      JournalCorrupt: unreadable,
      JournalNewerFormat: unreadable,
      JournalOlderFormat: unreadable,
      JournalUnknown: unreadable,
      DiskError: unreadable
    })
  )
}

const readBundle = (file: string): Effect.Effect<Bundle.Bundle, Ended> =>
  Effect.gen(function*() {
    const bytes = yield* Effect.try({
      try: () => fs.readFileSync(file),
      catch: (error) => usage(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    })
    return yield* Effect.try({
      try: () => Bundle.read(bytes),
      catch: (error) => {
        if (!(error instanceof Bundle.Damaged || error instanceof Bundle.OtherVersion)) throw error
        return new Ended({ code: unreadableCode, text: `${file} is refused: ${error.message}` })
      }
    })
  })

const replayBundle = (file: string, parsed: Parsed): Effect.Effect<void, Ended> =>
  Effect.gen(function*() {
    if (parsed.diff) return yield* usage("--diff holds the snapshots of a data directory to its journal: a bundle has none")
    const open = Effect.map(readBundle(file), (bundle) => ({ ...bundleSubject(bundle), bundle }))
    const asked = [...(parsed.verify ? [verifyBundle(open, parsed.invariantsEvery)] : []), ...questions(open, parsed)]
    yield* one(asked, "--verify, --at, --order, --account, --market, --deposit")
  }).pipe(
    Effect.catchTags({
      JournalCorrupt: (error) => new Ended({ code: unreadableCode, text: `${file} is refused: ${error.message}` }),
      JournalNewerFormat: unreadable,
      JournalOlderFormat: unreadable,
      JournalUnknown: unreadable,
      DiskError: unreadable
    })
  )

const bundleSubject = (bundle: Bundle.Bundle): Subject => ({
  journal: BundleSource.make(bundle),
  capacity: bundle.capacity,
  firstSequence: bundle.manifest.firstSequence
})

/** A bundle has no snapshots but the state that it begins with, which reading has held to its digest. */
const noSnapshots: SnapshotsService = {
  save: () => Effect.dieMessage("a bundle is only read"),
  latest: Effect.succeed(undefined),
  list: Effect.succeed([]),
  load: () => Effect.succeed("a bundle has no snapshots"),
  saveStep: () => Effect.dieMessage("a bundle is only read"),
  latestStep: Effect.succeed(undefined)
}

const verifyBundle = (open: Effect.Effect<Subject & { readonly bundle: Bundle.Bundle }, Ended>, everyBlocks: number) =>
  Effect.gen(function*() {
    const started = yield* Clock.currentTimeMillis
    const subject = yield* open
    const { manifest } = subject.bundle
    yield* Console.log(drawManifest(manifest))
    yield* prove(subject, noSnapshots, [], everyBlocks, started, manifest.finalStateDigest ?? undefined)
    if (manifest.divergedAt !== null) {
      const text = `differs: sequence ${manifest.divergedAt} was decided otherwise where the bundle was made (${maker(manifest)}), `
        + "and is not here"
      return yield* new Ended({ code: differsCode, text })
    }
  })

const maker = ({ node, program }: Bundle.Manifest): string => `program ${program}, Node ${node}`

const drawBase = ({ base }: Bundle.Manifest): string => base === null ? "a new journal" : `the state at ${base.sequence}`

/** A bundle may come from anywhere: no control character of it reaches a terminal. */
const drawManifest = (manifest: Bundle.Manifest): string =>
  [
    `made by       ${maker(manifest)}`,
    `environment   ${manifest.environment}, rules ${manifest.rules}`,
    `settings      ${Object.entries(manifest.settings).map(([name, value]) => `${name}=${value}`).join(" ")}`,
    `sequences     ${manifest.firstSequence} to ${manifest.lastSequence} (asked: ${manifest.asked.from} to ${manifest.asked.to})`,
    `begins with   ${drawBase(manifest)}`,
    ...(manifest.redactedFor === null ? [] : [`redacted for  ${manifest.redactedFor}`]),
    ...(manifest.divergedAt === null ? [] : [`diverged at   ${manifest.divergedAt}, when it was made`]),
    ...Object.entries(manifest.notes).map(([name, value]) => `${name.padEnd(13)} ${value}`)
  ].map((line) => line.replace(/\p{Cc}/gu, " ")).join("\n")

/** Does what a command line of `npm run replay` asks for. */
export const replay = (parsed: Parsed): Effect.Effect<void, Ended> =>
  Effect.gen(function*() {
    if (parsed.limit < 1 || parsed.from < 1 || parsed.invariantsEvery < 1) {
      return yield* usage("--limit, --from and --invariants-every are at least 1")
    }
    if (Option.isSome(parsed.snapshot) && !parsed.diff) return yield* usage("--snapshot belongs to --diff")
    yield* Option.match(parsed.bundle, {
      onNone: () => replayData(parsed),
      onSome: (file) => replayBundle(file, parsed)
    })
  })
