/**
 * `npm run replay`: what a journal says, by running it again. Reads only, also beside a running venue.
 *
 * Exit codes: 0 done; 1 replay differs from the journal, or an invariant is broken; 2 the journal or a
 * snapshot is damaged, or cannot be read; 3 the command line is wrong, or names something the journal does
 * not know.
 */
import * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { SingleBar } from "cli-progress"
import { Clock, Config, Console, Effect, Layer, Option } from "effect"
import * as fs from "node:fs"
import * as Ids from "../domain/Ids.js"
import type * as Block from "../journal/Block.js"
import type { Disk, DiskError } from "../journal/Disk.js"
import { type Corrupt, Journal, type Unknown } from "../journal/Journal.js"
import * as NodeDisk from "../journal/NodeDisk.js"
import * as SegmentJournal from "../journal/SegmentJournal.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import type { Diverged } from "../sequencer/Recovery.js"
import { defaultCapacity } from "../Venue.js"
import { Ended, settle, teardown, unreadable, unreadableCode, usage } from "./Exit.js"
import type { JournalService } from "./replay/Follow.js"
import * as Format from "./replay/Format.js"
import * as StateAt from "./replay/StateAt.js"
import * as Story from "./replay/Story.js"
import * as Verify from "./replay/Verify.js"

const differsCode = 1

const options = {
  data: CliOptions.text("data").pipe(
    CliOptions.withDescription("The venue's data directory (DATA_DIR, or ./data)"),
    CliOptions.withFallbackConfig(Config.nonEmptyString("DATA_DIR").pipe(Config.withDefault("./data")))
  ),
  verify: CliOptions.boolean("verify").pipe(
    CliOptions.withDescription("Replays everything and compares every digest, proves every snapshot, checks the invariants")
  ),
  at: CliOptions.text("at").pipe(
    CliOptions.withDescription("The state after a sequence, or at a time (ISO or epoch ms)"),
    CliOptions.optional
  ),
  order: CliOptions.text("order").pipe(CliOptions.withDescription("The life of an order (ord_...)"), CliOptions.optional),
  account: CliOptions.text("account").pipe(CliOptions.withDescription("The life of an account (acc_...)"), CliOptions.optional),
  market: CliOptions.text("market").pipe(CliOptions.withDescription("The life of a market (BTC-USDC-PERP)"), CliOptions.optional),
  from: CliOptions.integer("from").pipe(CliOptions.withDescription("A story's first sequence"), CliOptions.withDefault(1)),
  to: CliOptions.integer("to").pipe(
    CliOptions.withDescription("A story's last sequence"),
    CliOptions.withDefault(Number.MAX_SAFE_INTEGER)
  ),
  limit: CliOptions.integer("limit").pipe(
    CliOptions.withDescription("Most lines of a story, and most rows of a table"),
    CliOptions.withDefault(200)
  ),
  invariantsEvery: CliOptions.integer("invariants-every").pipe(
    CliOptions.withDescription("With --verify: blocks between two checks of the invariants"),
    CliOptions.withDefault(10_000)
  )
}

/** The bounds that the venue ran under, by its own settings: a replay must not run out of room before it did. */
const capacity = Config.all({
  orders: Config.integer("ORDER_CAPACITY").pipe(Config.withDefault(defaultCapacity.orders)),
  idempotencyKeys: Config.integer("IDEMPOTENCY_CAPACITY").pipe(Config.withDefault(defaultCapacity.idempotencyKeys))
}).pipe(Effect.mapError((error) => usage(error.message)))

/** A bar on standard error, where a person looks on. */
const withProgress = <A, E, R>(
  journal: JournalService,
  use: (progress: (block: Block.Block) => void) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const last = journal.opened.nextSequence - 1
  if (!process.stderr.isTTY || last === 0) return use(() => {})
  return Effect.acquireUseRelease(
    Effect.sync(() => {
      const bar = new SingleBar({
        format: "{bar} {percentage}% | {value} of {total} records | {eta_formatted} left",
        stream: process.stderr,
        hideCursor: true,
        clearOnComplete: true,
        fps: 10
      })
      bar.start(last, 0)
      return bar
    }),
    (bar) => use((block) => bar.update(block.lastSequence)),
    (bar) => Effect.sync(() => bar.stop())
  )
}

const divergedError = (error: Diverged): Ended =>
  new Ended({ code: differsCode, text: `diverged: ${error.message}\nrun --verify for what was decided there` })

const verify = (everyBlocks: number) =>
  Effect.gen(function*() {
    const snapshots = yield* SnapshotStore.SnapshotStore
    // Before the journal is opened: see `Verify.verify`.
    const sequences = yield* snapshots.list
    const started = yield* Clock.currentTimeMillis
    const { journal, report } = yield* Effect.gen(function*() {
      const journal = yield* Journal
      const report = yield* Effect.flatMap(capacity, (capacity) =>
        withProgress(journal, (progress) =>
          Verify.verify(journal, snapshots, sequences, { capacity, invariantsEveryBlocks: everyBlocks, progress })))
      return { journal, report }
    }).pipe(Effect.provide(SegmentJournal.layerReadOnly))
    const seconds = ((yield* Clock.currentTimeMillis) - started) / 1000
    yield* Console.log(drawReport(report, journal, seconds))
    if (report.snapshots.some(({ found }) => found === "damaged" || found === "foreign")) {
      const text = "the journal is whole; a venue passes over the snapshots that are not proven"
      return yield* new Ended({ code: unreadableCode, text })
    }
  }).pipe(
    Effect.catchTag("ReplayDiffers", (error) =>
      new Ended({ code: differsCode, text: [`diverged: ${error.message}`, ...error.decided.slice(0, decidedLines)].join("\n") }))
  )

/** Lines of a diverged block that are shown. */
const decidedLines = 400

const drawReport = (report: Verify.Report, journal: JournalService, seconds: number): string => {
  const rate = seconds > 0 ? ` (${Format.count(Math.round(report.records / seconds))} records/s)` : ""
  const { torn } = journal.opened
  return [
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

const stateAt = (text: string, limit: number) =>
  Effect.gen(function*() {
    const moment = StateAt.parseMoment(text)
    if (moment === undefined) return yield* usage(`--at takes a sequence from 1, an ISO time or epoch ms, and not ${text}`)
    const journal = yield* Journal
    const last = journal.opened.nextSequence - 1
    if (moment._tag === "Sequence" && moment.sequence > last) return yield* usage(`the journal ends at sequence ${last}`)
    const bounds = yield* capacity
    const engine = yield* withProgress(journal, (block) => StateAt.engineAt(journal, bounds, moment, { block }))
    yield* Console.log(StateAt.draw(engine, limit))
  }).pipe(Effect.provide(SegmentJournal.layerReadOnly), Effect.catchTag("ReplayDiverged", divergedError))

const story = (subject: Story.Subject, name: string, bounds: Story.Bounds) =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const within = yield* capacity
    const told = yield* withProgress(journal, (block) => Story.tell(journal, within, subject, bounds, { block }))
    if (!told.known) return yield* usage(`the journal knows no ${name}`)
    yield* Console.log([...told.lines.map(drawLine), ...notes(told)].join("\n"))
  }).pipe(Effect.provide(SegmentJournal.layerReadOnly), Effect.catchTag("ReplayDiverged", divergedError))

const drawLine = ({ atEpochMs, sequence, text }: Story.Line): string =>
  `${Format.time(atEpochMs)}  ${String(sequence).padStart(10)}  ${text}`

const notes = ({ feedSamples, lines, more }: Story.Story): ReadonlyArray<string> => [
  ...(lines.length === 0 ? ["nothing in these sequences"] : []),
  ...(more > 0 ? [`... and ${Format.count(more)} more lines (--limit, --from)`] : []),
  ...(feedSamples > 0 ? [`(${Format.count(feedSamples)} samples of the index feed are left out)`] : [])
]

/** The one thing asked for. */
const task = (
  parsed: Cli.Command.ParseConfig<typeof options>
): Effect.Effect<void, Ended | Corrupt | Unknown | DiskError, Disk | SnapshotStore.SnapshotStore> => {
  const asked: ReadonlyArray<ReturnType<typeof task>> = [
    ...(parsed.verify ? [verify(parsed.invariantsEvery)] : []),
    ...Option.toArray(parsed.at).map((text) => stateAt(text, parsed.limit)),
    ...Option.toArray(parsed.order).map((id) => {
      const orderNumber = Ids.parseOrderId(id)
      return orderNumber === undefined
        ? usage(`${id} is not an order's id`)
        : story({ _tag: "Order", orderNumber }, `order ${id}`, parsed)
    }),
    ...Option.toArray(parsed.account).map((accountId) => story({ _tag: "Account", accountId }, `account ${accountId}`, parsed)),
    ...Option.toArray(parsed.market).map((marketId) => story({ _tag: "Market", marketId }, `market ${marketId}`, parsed))
  ]
  const [only] = asked
  return only === undefined || asked.length > 1
    ? usage("ask for one of --verify, --at, --order, --account, --market")
    : only
}

const command = Cli.make("replay", options, (parsed) =>
  Effect.gen(function*() {
    if (parsed.limit < 1 || parsed.from < 1 || parsed.invariantsEvery < 1) {
      return yield* usage("--limit, --from and --invariants-every are at least 1")
    }
    // The disk would make the directory.
    if (!fs.existsSync(parsed.data)) return yield* usage(`there is no directory ${parsed.data}`)
    yield* task(parsed).pipe(
      Effect.provide(Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(parsed.data))),
      Effect.catchTags({ JournalCorrupt: unreadable, JournalUnknown: unreadable, DiskError: unreadable })
    )
  })).pipe(Cli.withDescription("What a journal says, by running it again. Reads only, also beside a running venue."))

const run = Cli.run(command, { name: "replay", version: "0.1.0" })

run(process.argv).pipe(settle, Effect.provide(NodeContext.layer), NodeRuntime.runMain({ teardown, disableErrorReporting: true }))
