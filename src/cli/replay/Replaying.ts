/** `npm run replay`: opens a journal or a bundle, replays it, and answers the questions asked. */
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Context from "effect/Context"
import * as NodeDisk from "../../journal/NodeDisk.js"
import * as SnapshotStore from "../../journal/SnapshotStore.js"
import type * as Bundle from "../bundle/Bundle.js"
import { endedOutOfRoom, settingTooSmall } from "../Capacity.js"
import { shownBehind } from "../../sequencer/Recovery.js"
import { Ended, endedUnreadable, missingEnd, unreadable, unreadableCode, usage } from "../Exit.js"
import { usualData } from "../Options.js"
import { wrongPlace } from "../Place.js"
import * as Diff from "./Diff.js"
import * as Format from "./Format.js"
import { bundleSubject, dataSubject, differsCode, divergedError, readBundle, type Subject, withProgress } from "./Opening.js"
import type { Parsed } from "./Options.js"
import { questions, say } from "./Questions.js"
import * as Verify from "./Verify.js"

/** Verifies a data directory's journal and its snapshots. */
const verify = ({ invariantsEvery, json }: Parsed) =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    // Listed before the journal is opened: see `Verify.verify`.
    const sequences = yield* snapshots.list
    const kept = yield* SnapshotStore.keptBefore(snapshots, Number.POSITIVE_INFINITY)
    const started = yield* Clock.currentTimeMillis
    const subject = yield* dataSubject
    const later = sequences.filter((sequence) => sequence >= subject.firstSequence)
    const report = yield* prove(subject, { snapshots, sequences: later, everyBlocks: invariantsEvery, started, json })
    const missing = yield* shownBehind(kept, subject.journal.opened.nextSequence - 1)
    if (missing !== undefined) return yield* missingEnd(missing)
    if (report.snapshots.some(({ found }) => found === "damaged" || found === "foreign")) {
      const text = "the journal is whole; a venue passes over the snapshots that are not proven"
      return yield* new Ended({ code: unreadableCode, text })
    }
  })

/** How a subject is verified and reported. */
interface Proving {
  readonly snapshots: SnapshotsService
  readonly sequences: ReadonlyArray<number>
  readonly everyBlocks: number
  /** When the verification began. */
  readonly started: number
  readonly json: boolean
  /** The digest that the final state must have, where it is known. */
  readonly expectedStateDigest?: string
  /** The manifest, where the subject is a bundle. */
  readonly manifest?: Bundle.Manifest
}

/** Verifies a subject and reports the result. */
const prove = (subject: Subject, { everyBlocks, expectedStateDigest, json, manifest, sequences, snapshots, started }: Proving) =>
  Effect.gen(function*() {
    const { capacity, journal } = subject
    const expected = expectedStateDigest === undefined ? {} : { expectedStateDigest }
    const report = yield* withProgress(subject, (progress) =>
      Verify.verify(journal, snapshots, sequences, { capacity, invariantsEveryBlocks: everyBlocks, progress, ...expected }))
    const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
    const told = { ...report, firstSequence: subject.firstSequence, torn: journal.opened.torn ?? null, seconds }
    yield* say(json, () => ({ report: "verify", holds: true, ...told, ...bundleTold(manifest) }), () =>
      drawReport(report, subject, manifest !== undefined, seconds))
    return report
  }).pipe(
    Effect.catchTag("ReplayDiffers", ({ decided, message, reason, sequence }) =>
      Effect.zipRight(
        json
          ? say(json, () => ({ report: "verify", holds: false, sequence, reason, decided, ...bundleTold(manifest) }), () => "")
          : Effect.void,
        new Ended({ code: differsCode, text: [`diverged: ${message}`, ...(json ? [] : decided.slice(0, decidedLines))].join("\n") })
      ))
  )

/** The part of a report that describes the verified bundle. */
const bundleTold = (manifest: Bundle.Manifest | undefined): object => {
  if (manifest === undefined) return {}
  const { sections: _, bodyBytes: __, ...bundle } = manifest
  return { bundle }
}

type SnapshotsService = Context.Tag.Service<typeof SnapshotStore.SnapshotStore>

/** Most lines shown of a diverged block. */
const decidedLines = 400

const drawReport = (report: Verify.Report, { firstSequence, journal }: Subject, isBundle: boolean, seconds: number): string => {
  const rate = seconds > 0 ? ` (${Format.count(Math.round(report.records / seconds))} records/s)` : ""
  const { torn } = journal.opened
  const before = isBundle
    ? "are not in the bundle, which begins with the state behind them"
    : "are verified by their chain: an earlier version decided them"
  return [
    ...(firstSequence === 1 || journal.opened.nextSequence <= firstSequence
      ? []
      : [`before        sequences 1 to ${firstSequence - 1} ${before}`]),
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

const diff = ({ json, limit, snapshot: only }: Parsed) =>
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
    yield* say(json, () => ({ report: "diff", snapshots: findings.map((finding) => boundedFinding(finding, limit)) }),
      () => findings.flatMap((finding) => drawFinding(finding, limit)).join("\n"))
    if (findings.some(({ found }) => found === "differs")) {
      return yield* new Ended({ code: differsCode, text: "a snapshot differs from replay" })
    }
    if (findings.some(({ found }) => found === "unusable")) {
      return yield* new Ended({ code: unreadableCode, text: "a snapshot cannot be compared; a venue passes over it" })
    }
  }).pipe(Effect.catchTag("ReplayDiverged", divergedError))

/** A finding for a JSON report, with at most `limit` lines for each group. */
const boundedFinding = ({ groups, ...finding }: Diff.Finding, limit: number): object => ({
  ...finding,
  groups: groups.map(({ lines, name }) => ({ name, lines: lines.slice(0, limit), more: Math.max(0, lines.length - limit) }))
})

/** A finding as text, with at most `limit` lines for each group. */
const drawFinding = ({ detail, found, groups, sequence }: Diff.Finding, limit: number): ReadonlyArray<string> => [
  `snapshot ${sequence} ${found}: ${detail}`,
  ...groups.flatMap(({ lines, name }) => [
    `  ${name}`,
    ...lines.slice(0, limit).map((line) => `    ${line}`),
    ...(lines.length > limit ? [`    ... and ${Format.count(lines.length - limit)} more (--limit)`] : [])
  ])
]

/** Options that ask a question about a journal, whatever its source. */
const asking = "--at, --order, --request, --account, --market, --deposit, --statement"

/** The one question asked; fails where there are several. */
const one = <A extends Effect.Effect<void, unknown, unknown>>(asked: ReadonlyArray<A>, names: string): A | Ended => {
  const [only] = asked
  return only === undefined || asked.length > 1 ? usage(`ask for one of ${names}`) : only
}

const replayData = (data: string, parsed: Parsed): Effect.Effect<void, Ended> => {
  // Opening the disk would create the directory.
  const wrong = wrongPlace(data)
  if (wrong !== undefined) return wrong
  const asked = [
    ...(parsed.verify ? [verify(parsed)] : []),
    ...(parsed.diff ? [diff(parsed)] : []),
    ...questions(dataSubject, parsed)
  ]
  return one(asked, `--verify, --diff, ${asking}`).pipe(
    settingTooSmall,
    Effect.provide(Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(data))),
    Effect.catchTags({
      ...endedUnreadable,
      JournalUnknown: unreadable
    })
  )
}

const replayBundle = (file: string, parsed: Parsed): Effect.Effect<void, Ended> =>
  Effect.gen(function*() {
    if (parsed.diff) return yield* usage("--diff holds the snapshots of a data directory to its journal: a bundle has none")
    const open = Effect.map(readBundle(file), (bundle) => ({ ...bundleSubject(bundle), bundle }))
    const asked = [...(parsed.verify ? [verifyBundle(open, parsed)] : []), ...questions(open, parsed)]
    yield* one(asked, `--verify, ${asking}`)
  }).pipe(
    endedOutOfRoom(({ capacity, needed, sequence, table }) => {
      const fault = `its manifest has ${table} ${capacity}, and at sequence ${sequence} its blocks need ${needed}`
      return new Ended({ code: unreadableCode, text: `${file} is refused: ${fault}` })
    }),
    Effect.catchTags({
      ...endedUnreadable,
      JournalCorrupt: (error) => new Ended({ code: unreadableCode, text: `${file} is refused: ${error.message}` }),
      JournalUnknown: unreadable
    })
  )

/** A bundle has no snapshots but its initial state, whose digest was verified when it was read. */
const noSnapshots: SnapshotsService = {
  save: () => Effect.dieMessage("a bundle is only read"),
  latest: Effect.succeed(undefined),
  list: Effect.succeed([]),
  load: () => Effect.succeed("a bundle has no snapshots"),
  saveStep: () => Effect.dieMessage("a bundle is only read"),
  loadStep: () => Effect.succeed("a bundle has no snapshots"),
  removeStep: () => Effect.dieMessage("a bundle is only read"),
  names: Effect.succeed({ snapshots: [], steps: [] })
}

const verifyBundle = (open: Effect.Effect<Subject & { readonly bundle: Bundle.Bundle }, Ended>, { invariantsEvery, json }: Parsed) =>
  Effect.gen(function*() {
    const started = yield* Clock.currentTimeMillis
    const subject = yield* open
    const { manifest } = subject.bundle
    if (!json) yield* Console.log(drawManifest(manifest))
    const { finalStateDigest } = manifest
    const expected = finalStateDigest === null ? {} : { expectedStateDigest: finalStateDigest }
    yield* prove(subject, { snapshots: noSnapshots, sequences: [], everyBlocks: invariantsEvery, started, json, manifest, ...expected })
    if (manifest.divergedAt !== null) {
      const text = `differs: sequence ${manifest.divergedAt} was decided otherwise where the bundle was made (${maker(manifest)}), `
        + "and is not here"
      return yield* new Ended({ code: differsCode, text })
    }
  })

const maker = ({ node, program }: Bundle.Manifest): string => `program ${program}, Node ${node}`

const drawBase = ({ base }: Bundle.Manifest): string => base === null ? "a new journal" : `the state at ${base.sequence}`

/** A bundle may come from anywhere, so its control characters must not reach a terminal. */
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

const dataDir = Effect.mapError(usualData, ({ message }) => usage(message))

/** Runs a command line of `npm run replay`. */
export const replay = (parsed: Parsed): Effect.Effect<void, Ended> =>
  Effect.gen(function*() {
    if (parsed.limit < 1 || parsed.invariantsEvery < 1) return yield* usage("--limit and --invariants-every are at least 1")
    if (Option.isSome(parsed.snapshot) && !parsed.diff) return yield* usage("--snapshot belongs to --diff")
    const { bundle, data } = parsed
    if (Option.isSome(bundle)) {
      yield* Option.isSome(data) ? usage("--bundle is in place of --data: give one of them") : replayBundle(bundle.value, parsed)
      return
    }
    yield* replayData(yield* Option.match(data, { onNone: () => dataDir, onSome: Effect.succeed }), parsed)
  })
