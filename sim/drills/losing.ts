/**
 * The segment that is being written loses its name: it is removed, or moved, or `journal/` is moved, between blocks or with blocks in
 * flight, while the disk fails, is full, or another file takes the name, and a crash or a stop comes at any point of what follows. Nothing
 * is acknowledged from then on. What was acknowledged is what the next start finds, unless the end said that it could not be saved, and
 * nothing else loses its name to it.
 *
 * A segment that loses its name in the moment in which the next one is named counts as one of those that are full: no writer looks at them.
 */
import { Effect } from "effect"
import * as Block from "../../src/journal/Block.js"
import { type Fenced, type Full, Journal, type SegmentGone, segmentSaved, Unknown } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import * as SimDisk from "../world/SimDisk.js"
import type { SimRandom } from "../world/SimRandom.js"
import { endingOf, type Judge, mostUnderWay, Yard } from "./Yard.js"
import { type End, next, sizeOf, type Written } from "./writing.js"

const sector = Block.sectorBytes

/** Where the operator moves the segment or its directory, and a file of his own. */
const away = "away"
const others = "others"

const mostErrors = 2

/** Longer than from one attempt to save a segment to the end of the next. */
const attemptMs = 1_200

/** What happens in one drill. Numbers of calls count the disk's operations since the name was lost. */
const planOf = (random: SimRandom) => {
  const how = random.pick(["removed", "moved", "moved with its directory"] as const)
  return {
    how,
    /** Blocks that are acknowledged before, at least. */
    blocks: random.between(0, 8),
    /** Operations from a group of blocks on, after which the name is lost; undefined: between blocks. */
    inFlightAfter: random.chance(0.6) ? random.between(0, 12) : undefined,
    isTaken: how !== "moved with its directory" && random.chance(0.15),
    isFull: random.chance(0.2),
    errors: random.chance(0.4) ? random.between(1, mostErrors) : 0,
    /** The operation that fails so often. */
    failing: random.pick(["list", "open", "readAt", "writeAt", "rename", "syncDirectory", "syncDirectory"] as const),
    /** Blocks that are offered afterwards. */
    further: random.between(0, 2),
    backMs: random.chance(0.5) ? random.between(60, 2_500) : undefined,
    crashAfter: random.chance(0.35) ? random.between(0, 40) : undefined,
    crash: random.pick(["power", "power", "kill"] as const),
    stopAfter: random.chance(0.5) ? random.between(0, 16) : undefined,
    stopMs: random.between(0, 6_000)
  }
}

/** A writer, and what becomes of the segment that it writes. */
class Loss {
  readonly plan: ReturnType<typeof planOf>
  readonly disk: SimDisk.SimDisk
  readonly written: Array<Written> = []
  readonly failures: Array<Fenced | Unknown | Full> = []
  readonly gone: Array<SegmentGone> = []
  readonly stranger: Uint8Array
  /** The segment that was lost, and when. */
  lost: { readonly path: string; readonly atMs: number } | undefined
  /** Whether a block was called durable although it was lost before. */
  isLate = false
  isBack = false
  /** Since when nothing but errors of the disk may be in the way. */
  freeMs: number | undefined
  stoppedMs = 0
  finished = 0
  calls = 0
  errorsLeft = 0
  /** The size of the first segment. */
  firstBytes = 0
  /** Operations left until the name is lost. */
  left: number | undefined
  wake = (): void => {}

  constructor(readonly yard: Yard, readonly random: SimRandom) {
    this.plan = planOf(random.split("plan"))
    this.stranger = random.bytes(sector)
    this.disk = SimDisk.make({
      random: random.split("disk").next,
      latencyMs: { min: 1, max: 4 },
      inject: (call) => this.inject(call)
    })
  }

  inject({ operation, path }: SimDisk.Call): SimDisk.Injected | undefined {
    const { crash, crashAfter, failing } = this.plan
    if (this.left !== undefined && this.left-- === 0) this.lose()
    if (this.lost === undefined) return undefined
    this.calls++
    if (this.calls - 1 === crashAfter && this.disk.crashes() === 0) this.disk.crash(crash)
    this.wake()
    const isOfSaved = path === Segment.savedPath || !["open", "writeAt"].includes(operation)
    if (operation !== failing || !isOfSaved || this.errorsLeft === 0) return undefined
    this.errorsLeft--
    return "EIO"
  }

  /** Waits until something is so, at most this long. */
  until(isSo: () => boolean, ms: number): Effect.Effect<void> {
    if (isSo()) return Effect.void
    return Effect.asVoid(Effect.timeoutOption(
      Effect.async<void>((resume) => {
        this.wake = () => {
          if (isSo()) resume(Effect.void)
        }
      }),
      ms
    ))
  }

  /** The name of the segment that is written is taken away. */
  lose(): void {
    this.left = undefined
    const { backMs, errors, how, isFull, isTaken } = this.plan
    const path = this.segments().at(-1)!
    this.lost = { path, atMs: this.yard.time.nowEpochMs() }
    this.errorsLeft = errors
    if (how === "removed") this.disk.takeName(path)
    if (how === "moved") this.disk.takeName(path, away)
    if (how === "moved with its directory") this.disk.moveDirectory(Segment.directory, away)
    if (isTaken) {
      this.disk.create(others, this.stranger)
      this.disk.link(others, path)
    }
    this.disk.setOutOfRoom(isFull)
    if (!isTaken && !isFull && how !== "moved with its directory") this.freeMs = this.lost.atMs
    if (backMs !== undefined) this.yard.time.after(backMs, () => this.back())
  }

  segments(): ReadonlyArray<string> {
    return this.disk.files().filter((path) => path.startsWith(`${Segment.directory}/`) && path.endsWith(".seg"))
  }

  /** The operator ends all that is wrong, and puts back what he moved. */
  back(): void {
    const { path } = this.lost!
    this.isBack = true
    this.freeMs ??= this.yard.time.nowEpochMs()
    this.errorsLeft = 0
    this.disk.setOutOfRoom(false)
    if (this.plan.how === "moved with its directory") {
      if (this.disk.files().some((each) => each.startsWith(`${away}/`))) this.disk.moveDirectory(away, Segment.directory)
      return
    }
    if (this.isStrangers()) this.disk.takeName(path)
    if (this.plan.how === "moved" && !this.segments().includes(path)) this.disk.link(away, path)
  }

  /** Whether the lost name leads to the file that took it. */
  isStrangers(): boolean {
    const { path } = this.lost!
    return this.plan.isTaken && this.segments().includes(path) && Buffer.compare(this.disk.bytes(path), this.stranger) === 0
  }

  get acknowledged(): ReadonlyArray<Written> {
    return this.written.filter(({ isDurable }) => isDurable)
  }

  offer(journal: Journal["Type"], block: Block.Encoded): void {
    journal.begin(block, { epoch: block.epoch, previousDigest: block.previousDigest }, (failure) => {
      this.finished++
      if (failure === undefined) {
        this.written.find((each) => each.block === block)!.isDurable = true
        // Looks take time: only one that ended in this very moment may have come before the loss.
        if (this.lost !== undefined && this.yard.time.nowEpochMs() > this.lost.atMs) this.isLate = true
      } else if (this.disk.crashes() === 0) this.failures.push(failure)
      this.wake()
    })
  }
}

/** Writes until the segment is lost, offers some more, and stops sooner or later. */
const write = (loss: Loss, fits: Yard["samples"], options: SegmentJournal.Options) =>
  Effect.gen(function*() {
    const { plan, random, written, yard } = loss
    const journal = yield* Journal
    const { digest, epoch } = journal.opened
    const end: End = { segment: 1, segmentBytes: loss.firstBytes, offset: sector, sequence: 0, digest, atEpochMs: 0 }
    const offer = (count: number): void => {
      for (let left = count; left > 0; left--) loss.offer(journal, next(yard, fits, end, options, epoch, written))
    }
    const isDone = (): boolean => loss.finished === written.length
    while (loss.lost === undefined && loss.failures.length === 0) {
      if (loss.finished >= plan.blocks) {
        if (plan.inFlightAfter === undefined) loss.lose()
        else loss.left ??= plan.inFlightAfter
      }
      if (loss.lost === undefined) offer(random.between(1, mostUnderWay))
      yield* loss.until(() => isDone() || loss.lost !== undefined, longestMs)
    }
    offer(Math.min(plan.further, mostUnderWay - (written.length - loss.finished)))
    yield* loss.until(() => plan.stopAfter !== undefined && loss.calls > plan.stopAfter, plan.stopMs)
    loss.stoppedMs = yard.time.nowEpochMs()
  })

/** Longer than a group of blocks takes. */
const longestMs = 10_000

export const losing = (judge: Judge, from: Yard): void => {
  const { random } = from
  const fits = from.blocks.flatMap(({ records }) => records).filter(({ command }) => sizeOf(command) <= sector)
  if (fits.length === 0) return
  const yard = new Yard(random.split("lost"), from.samples)
  const loss = new Loss(yard, random.split("loss"))
  const options: SegmentJournal.Options = {
    segmentBytes: sector * random.between(14, 30),
    maxBlockBytes: sector * random.between(1, 2),
    segmentGone: (error) => {
      if (loss.disk.crashes() === 0) loss.gone.push(error)
    }
  }
  // Segments that are there keep their size, whatever later ones have.
  const first = random.split("first size")
  loss.firstBytes = first.chance(0.5) ? sector * first.between(14, 30) : options.segmentBytes
  const begun = Effect.provide(Effect.map(Journal, ({ opened }) => opened.nextSequence),
    SegmentJournal.layer({ ...options, segmentBytes: loss.firstBytes }))
  judge.equal("a new journal", endingOf(yard.run(begun, loss.disk)), 1)
  const ending = yard.run(Effect.provide(write(loss, fits, options), SegmentJournal.layer(options)), loss.disk)
  const isCrashed = loss.disk.crashes() > 0
  judge.holds(`a writer came to ${String(endingOf(ending))}`, isCrashed || endingOf(ending) === "done")
  const { lost } = loss
  if (lost === undefined) return judge.holds("no segment was lost", false)
  if (loss.segments().some((path) => path > lost.path)) return
  const told = JSON.stringify({ ...loss.plan, lost, calls: loss.calls })
  judge.holds(`a block was acknowledged after the loss: ${told}`, !loss.isLate)
  // What was moved is there once it is put back. What was removed is, where it is said to be, or the end was a clean one.
  if (!isCrashed) judgeEnd(judge, loss, told)
  const isWhole = loss.plan.how !== "removed" || isToldSaved(loss) || isClean(loss)
  loss.disk.crash("power")
  loss.back()
  judgeStart(judge, loss, isWhole, options, told)
}

/** Whether somebody was told that the segment is in its place again. */
const isToldSaved = ({ failures, gone, lost }: Loss): boolean =>
  failures.some(({ message }) => message === segmentSaved(lost!.path).message) || gone.some(({ isSaved }) => isSaved)

const isClosed = (failure: Fenced | Unknown | Full): boolean =>
  failure instanceof Unknown && failure.message === new Unknown({ cause: new Error("the journal is closed") }).message

/** Whether nobody can know that something was wrong. */
const isClean = ({ disk, failures, gone }: Loss): boolean => disk.crashes() === 0 && gone.length === 0 && failures.every(isClosed)

/** What a writer leaves that ended by itself. */
const judgeEnd = (judge: Judge, loss: Loss, told: string): void => {
  const { disk, failures, freeMs, gone, isBack, lost, plan, stoppedMs } = loss
  if (plan.isTaken && !isBack) judge.holds(`the file that took the name was touched: ${told}`, loss.isStrangers())
  const isOther = gone.some(({ message }) => message.includes("another file has this name"))
  judge.holds(`it is said that another file has the name: ${told}`, !isOther || plan.isTaken || isBack)
  const hasHeld = failures.some(isClosed) && freeMs !== undefined && stoppedMs - freeMs > attemptMs * (plan.errors + 1)
  judge.holds(`blocks were held although the segment could be saved: ${told}`, !hasHeld)
  judge.holds(`the end told nothing: ${told}`, isBack || !isClean(loss))
  if (!isToldSaved(loss) || isBack && plan.how !== "removed") return
  judge.holds(`it is said to be in its place, and is not: ${told}`, loss.segments().includes(lost!.path))
  if (judge.fault !== undefined) return
  const bytes = disk.bytes(lost!.path)
  const end = Math.max(sector,
    ...loss.acknowledged.filter(({ path }) => path === lost!.path).map(({ block, offset }) => offset + block.bytes.length))
  judge.holds(`what was not acknowledged was saved: ${told}`, bytes.subarray(end).every((byte) => byte === 0))
}

/** What the next start finds. */
const judgeStart = (judge: Judge, loss: Loss, isWhole: boolean, options: SegmentJournal.Options, told: string): void => {
  const { acknowledged, disk, yard } = loss
  if (!isWhole) return
  const reopened = Effect.map(Journal, ({ opened }) => opened.nextSequence).pipe(Effect.provide(SegmentJournal.layer(options)))
  const found = endingOf(yard.run(reopened, disk))
  const last = acknowledged.at(-1)?.block.lastSequence ?? 0
  judge.holds(`a start goes on at ${JSON.stringify(found)} behind ${last}: ${told}`, typeof found === "number" && found > last)
  if (judge.fault !== undefined) return
  for (const { block, offset, path } of acknowledged) {
    judge.equal(`block ${block.firstSequence}, which was acknowledged: ${told}`,
      disk.bytes(path).subarray(offset, offset + block.bytes.length), block.bytes)
  }
}
