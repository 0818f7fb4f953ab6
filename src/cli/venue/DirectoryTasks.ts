/** Tasks for a data directory's journal. */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as fs from "node:fs"
import * as path from "node:path"
import { keysDirectory } from "../../identity/NodeSecrets.js"
import type { Disk, DiskError } from "../../journal/Disk.js"
import { Corrupt, Replaced } from "../../journal/Journal.js"
import * as NodeDisk from "../../journal/NodeDisk.js"
import * as Scan from "../../journal/Scan.js"
import * as Segment from "../../journal/Segment.js"
import * as SnapshotStore from "../../journal/SnapshotStore.js"
import { capacity, settingTooSmall } from "../Capacity.js"
import { Ended, endedUnreadable, missingEnd, unreadable, unreadableCode, usage } from "../Exit.js"
import { refusedCode } from "./Against.js"
import * as Audit from "./Audit.js"
import * as BundleTask from "./BundleTask.js"
import * as NodeHistories from "../../readmodel/NodeHistories.js"
import { wrongPlace, wrongToWrite } from "../Place.js"
import * as Stretch from "../replay/Stretch.js"
import * as Histories from "./Histories.js"
import * as JournalTasks from "./JournalTasks.js"
import type * as Options from "./Options.js"
import { beSure } from "./Sure.js"
import * as Tail from "./Tail.js"

/** Runs a task on an existing data directory. */
const onDisk = <A, E>(
  dataDir: string,
  task: Effect.Effect<A, E, Disk | SnapshotStore.SnapshotStore>
): Effect.Effect<A, E | DiskError | Ended> =>
  // Opening the disk would create the directory.
  Effect.suspend((): Effect.Effect<A, E | DiskError | Ended> =>
    wrongPlace(dataDir) ?? Effect.provide(task, Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(dataDir)))
  )

/** Runs a task that writes to a disk, as the directory's owner, since the venue could not open another user's files. */
const onOwnDisk = <A, E>(dataDir: string, task: Effect.Effect<A, E, Disk | SnapshotStore.SnapshotStore>) =>
  Effect.suspend((): Effect.Effect<A, E | DiskError | Ended> => {
    const owner = fs.existsSync(dataDir) ? fs.statSync(dataDir).uid : process.geteuid?.()
    return owner === process.geteuid?.()
      ? wrongToWrite(dataDir) ?? onDisk(dataDir, task)
      : usage(
        `${dataDir} belongs to the user ${owner}: run this as that user, since the venue could not open what another one writes there`
      )
  })

const sayLines = (lines: ReadonlyArray<string>) => Console.log(lines.join("\n"))

/** Prints a report, and ends with what it says is missing. */
const sayReport = ({ lines, missing }: JournalTasks.Report) =>
  Effect.zipRight(sayLines(lines), missing === undefined ? Effect.void : missingEnd(missing))

/** Prints where a journal ends. */
export const info = (parsed: Options.Of<typeof Options.info>) =>
  onDisk(parsed.data, JournalTasks.info).pipe(
    Effect.flatMap(sayReport),
    Effect.catchTags({ ...endedUnreadable, JournalUnknown: unreadable })
  )

const lockedError = () => new Ended({ code: refusedCode, text: "refused: a venue is running on this data directory" })

/** Discards everything from a sequence on. */
export const cut = (parsed: Options.Of<typeof Options.cut>) =>
  Effect.gen(function*() {
    if (parsed.at < 1) return yield* usage("--at is a sequence, from 1")
    yield* onOwnDisk(parsed.data, JournalTasks.unlocked)
    if (!parsed.yes) {
      const { firstSequence, readable } = yield* onDisk(parsed.data, JournalTasks.givenUp(parsed.at))
      const block = firstSequence === parsed.at
        ? ""
        : `Sequence ${parsed.at} is in a block that begins with sequence ${firstSequence}, and a block is given up as a whole. `
      const question = `${block}Give up everything from sequence ${firstSequence} on in ${parsed.data}, for good? ${readable}.`
      yield* beSure(question, "cuts", "nothing was cut")
    }
    yield* sayLines(yield* onOwnDisk(parsed.data, JournalTasks.cut(parsed.at)))
  }).pipe(Effect.catchTags({ Locked: lockedError, ...endedUnreadable }))

/** Whether a directory contains anything but directories, which a failed copy leaves behind. */
const hasFiles = (place: string): Effect.Effect<boolean, Ended> =>
  Effect.try({
    try: () =>
      fs.existsSync(place) && fs.readdirSync(place, { recursive: true, withFileTypes: true }).some((entry) => !entry.isDirectory()),
    // It is a file, or a directory that this user may not read.
    catch: (error) => new Ended({ code: unreadableCode, text: `--out ${place} cannot be used (${(error as NodeJS.ErrnoException).code})` })
  })

/** A place without symbolic links, as far as it is there. */
const real = (place: string): string => {
  const whole = path.resolve(place)
  try {
    return fs.realpathSync(whole)
  } catch {
    const above = path.dirname(whole)
    return above === whole ? whole : path.join(real(above), path.basename(whole))
  }
}

const isWithin = (directory: string, place: string): boolean => place === directory || place.startsWith(`${directory}${path.sep}`)

/** Whether a later version of the rules has taken the journal over. */
const hasStep = (data: string): boolean => {
  const snapshots = path.join(data, SnapshotStore.directory)
  return fs.existsSync(snapshots) && fs.readdirSync(snapshots).some((name) => name.endsWith(".step"))
}

/**
 * Copies the histories, the journal and the snapshots to a directory of their own. The histories come first: the venue sets aside those
 * that are ahead of their journal. Where they cannot be copied, the journal is all the same.
 */
export const copy = ({ data, out }: Options.Of<typeof Options.copy>) =>
  Effect.gen(function*() {
    if (out === "") return yield* usage("--out takes a directory, and not an empty text")
    const place = real(out)
    const part = [Segment.directory, SnapshotStore.directory, keysDirectory].find((name) => isWithin(real(path.join(data, name)), place))
    if (part !== undefined)
      return yield* usage(
        `--out ${out} lies among the venue's own files: a copy is made beside ${part}/, or better on another disk`
      )
    if (yield* hasFiles(out)) return yield* usage(`${out} is not empty: a copy is made into a directory of its own`)
    const histories = yield* Effect.either(NodeHistories.copy(data, out))
    const report = yield* Effect.onError(onDisk(data, JournalTasks.copy(NodeDisk.layer(out))), () => NodeHistories.removeCopy(out))
    const isThere = Either.isLeft(histories) || histories.right
    const { fileName } = NodeHistories
    const copied = isThere ? fileName : `none: ${fileName} is missing or empty, and a start makes one from the journal`
    yield* sayReport({ ...report, lines: Either.isLeft(histories) ? report.lines : [...report.lines, `histories  ${copied}`] })
    const trouble = Either.isLeft(histories)
      ? histories.left.message
      : isThere || !hasStep(data)
      ? undefined
      : "there are none, and the journal has a step to other rules: what the venue has forgotten from before that was in them alone. If "
        + "they were removed or emptied, put them back from an earlier copy, which is to be kept"
    if (trouble === undefined) return
    const text = `the journal is copied, but not the histories (${fileName}): ${trouble}`
    return yield* new Ended({ code: unreadableCode, text })
  }).pipe(Effect.catchTags({ ...endedUnreadable, JournalUnknown: unreadable }))

/** Ends a tool that follows a journal and cannot read any further. */
const endedFollowing = {
  ...endedUnreadable,
  JournalUnknown: unreadable,
  FeedUnread: ({ message }: { readonly message: string }) => new Ended({ code: unreadableCode, text: message }),
  ReplayDiverged: (error: { readonly message: string }) =>
    new Ended({ code: unreadableCode, text: `another version decided this: ${error.message}` }),
  CapacityTooSmall: (error: { readonly message: string }) => usage(error.message)
} as const

/** Rebuilds the histories. */
export const rebuildHistories = ({ data, fromStep }: Options.Of<typeof Options.rebuild>) =>
  Effect.gen(function*() {
    const task = Histories.rebuilt(yield* capacity, fromStep).pipe(Effect.provide(NodeHistories.layer(data)))
    yield* sayLines(yield* onOwnDisk(data, task))
  }).pipe(Effect.provide(warningsAside), settingTooSmall, Effect.catchTags({ Locked: lockedError, ...endedFollowing }))

/** Standard output is for records only. */
const warningsAside = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger))

/**
 * Prints lines from a journal as they come. What looks damaged to a tool that began before a cut may be whole: it is read once more from
 * its beginning before anything is said that could make somebody cut it again.
 */
export const printed = <E>(dataDir: string, lines: Stream.Stream<string, E | Corrupt, Disk | SnapshotStore.SnapshotStore>) =>
  onDisk(dataDir, Stream.runForEach(lines, (line) => Console.log(line))).pipe(
    // A link or a stray file has a name of its own, which segments do not show.
    Effect.catchIf((error): error is Corrupt => error instanceof Corrupt && error.missing !== "misplaced", (error) =>
      Effect.matchEffect(onDisk(dataDir, Effect.flatMap(Scan.segments, Scan.readAllBeside)), {
        onFailure: () =>
          Effect.fail(error),
        onSuccess: () => Effect.fail(new Replaced({ sequence: error.sequence }))
      }))
  )

/** Prints records with their decisions. */
export const tail = (parsed: Options.Of<typeof Options.tail>) =>
  Effect.gen(function*() {
    const from = Option.getOrUndefined(parsed.from)
    if (from !== undefined && from < 1) return yield* usage("--from is a sequence, from 1")
    const asked: Tail.Asked = {
      from,
      accountId: Option.getOrUndefined(parsed.account),
      marketId: Option.getOrUndefined(parsed.market),
      json: parsed.json,
      follow: parsed.follow,
      capacity: yield* capacity
    }
    yield* printed(parsed.data, Tail.lines(asked))
  }).pipe(
    Effect.provide(warningsAside),
    settingTooSmall,
    Effect.catchTags(endedFollowing)
  )

/** Prints the security events. */
export const audit = (parsed: Options.Of<typeof Options.audit>) =>
  Effect.gen(function*() {
    const from = Option.getOrUndefined(parsed.from)
    if (from !== undefined && from < 1) return yield* usage("--from is a sequence, from 1")
    const asked: Audit.Asked = {
      from,
      accountId: Option.getOrUndefined(parsed.account),
      follow: parsed.follow,
      capacity: yield* capacity
    }
    yield* printed(parsed.data, Audit.lines(asked))
  }).pipe(Effect.provide(warningsAside), settingTooSmall, Effect.catchTags(endedFollowing))

/** Writes an incident bundle. */
export const bundle = (parsed: Options.Of<typeof Options.bundle>) =>
  Effect.gen(function*() {
    const stretch = yield* Stretch.parse(Option.getOrUndefined(parsed.from), Option.getOrUndefined(parsed.to))
    if (Stretch.isBackward(stretch)) return yield* Stretch.backward
    const order = Option.getOrUndefined(parsed.order)
    const accountId = Option.getOrUndefined(parsed.account)
    if (order !== undefined && (Option.isSome(parsed.from) || Option.isSome(parsed.to))) {
      return yield* usage("--order is in place of --from and --to")
    }
    if (order === undefined && accountId !== undefined) return yield* usage("--account says whose order --order names")
    const asked: BundleTask.Asked = {
      file: parsed.out,
      range: order === undefined ? stretch : { order, accountId },
      redact: Option.getOrUndefined(parsed.redact),
      capacity: yield* capacity
    }
    yield* sayLines(yield* onDisk(parsed.data, BundleTask.make(asked)))
  }).pipe(Effect.catchTags({ ...endedUnreadable, JournalUnknown: unreadable }))
