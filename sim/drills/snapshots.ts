/**
 * Snapshots of known bytes: what is saved is read back whole, in pieces of any size; what is not as it was saved is passed over, with its
 * reason; a save that fails or is cut off leaves what was there; and of many those are kept that readings need.
 */
import { Effect, Exit, Layer } from "effect"
import { replayedRecords } from "../../src/domain/Retention.js"
import * as Block from "../../src/journal/Block.js"
import { Disk } from "../../src/journal/Disk.js"
import type { Record } from "../../src/journal/Record.js"
import * as Reading from "../../src/journal/Reading.js"
import * as Segment from "../../src/journal/Segment.js"
import * as SnapshotStore from "../../src/journal/SnapshotStore.js"
import { stepLost } from "../../src/sequencer/StepLost.js"
import { versions } from "../../src/sequencer/Versions.js"
import { at, endingOf, type Ending, type Judge, layOut, reseal as resealBlock, wordsOf, Yard } from "./Yard.js"

type Store = SnapshotStore.SnapshotStore["Type"]

const digits = 20
const pathOf = (sequence: number, kind = "snap"): string => `snapshots/${String(sequence).padStart(digits, "0")}.${kind}`

/** A snapshot of this run's random bytes. */
const taken = ({ random }: Yard, sequence: number): SnapshotStore.Taken => {
  const sections = Array.from({ length: random.between(1, 4) },
    (_, index) => ({ name: `part-${index}`, bytes: random.bytes(random.below(400)) }))
  const whole = sections.at(-1)!
  const streamed = { name: "streamed", length: whole.bytes.length, pieces: () => [whole.bytes.subarray(0, 7), whole.bytes.subarray(7)] }
  return {
    sequence,
    blockDigest: random.bytes(32),
    schema: random.between(1, 9),
    sections: random.chance(0.5) ? [...sections, streamed] : sections
  }
}

const sectionsOf = ({ sections }: SnapshotStore.Taken) =>
  sections.map((section) => [section.name, "bytes" in section ? section.bytes : Buffer.concat([...section.pieces()])])

/** What is read back of a snapshot. */
const readOf = (read: SnapshotStore.Stored | string | undefined): unknown =>
  read === undefined || typeof read === "string"
    ? read ?? "none"
    : [read.sequence, read.blockDigest, read.schema, read.sections.map(({ bytes, name }) => [name, Buffer.from(bytes)]), read.digest]

/** The proper result of reading one: the digest at the file's end is over everything before it. */
const dueOf = ({ disk }: Yard, snapshot: SnapshotStore.Taken, path: string): unknown => {
  const bytes = disk.bytes(path)
  const { blockDigest, schema, sequence } = snapshot
  return [sequence, Buffer.from(blockDigest), schema, sectionsOf(snapshot),
    Block.sha256(bytes.subarray(0, bytes.length - Block.digestBytes))]
}

const withStore = <A, E>(
  yard: Yard,
  layer: Layer.Layer<SnapshotStore.SnapshotStore, unknown, Disk>,
  work: (store: Store) => Effect.Effect<A, E>
): Ending<A, unknown> => yard.run(Effect.provide(Effect.flatMap(SnapshotStore.SnapshotStore, work), layer))

/** The way in which the store reads: whole files, or pieces of some bytes. */
const someLayer = ({ random }: Yard): Layer.Layer<SnapshotStore.SnapshotStore, unknown, Disk> => {
  // The head of a file that is read in pieces lies in the first of them.
  const pieceBytes = random.pick([1 << 20, 600, 700, 1_000])
  return random.chance(0.5)
    ? SnapshotStore.layerInto((_, bytes) => ({ bytes: new Uint8Array(bytes) }), pieceBytes)
    : SnapshotStore.layerBesideInto((_, bytes) => ({ bytes: new Uint8Array(bytes) }), pieceBytes)
}

/** Which snapshots of many are kept: the newest two, two around where near readings begin, and older ones at growing distances. */
const keptOf = (all: ReadonlyArray<number>): ReadonlyArray<number> => {
  const newest = all.at(-1) ?? 0
  const newestTwo = all.slice(-2)
  if (newest <= replayedRecords) return newestTwo
  const far = all.filter((each) => each <= newest - replayedRecords)
  const next = all.find((each) => each > newest - replayedRecords)!
  const kept = new Set([...newestTwo, next])
  let near = far.at(-1)
  if (near !== undefined) kept.add(near)
  for (let left = 15; near !== undefined && left > 0; left--) {
    // At most twice as old; where no such one exists, the next older.
    const oldest = newest - 2 * (newest - near)
    const older: ReadonlyArray<number> = far.filter((each) => each < near!)
    if (oldest <= 0 || older.length === 0) break
    near = older.find((each) => each >= oldest) ?? older.at(-1)!
    kept.add(near)
  }
  return all.filter((each) => kept.has(each))
}

const keeping = (judge: Judge, { random }: Yard): void => {
  for (let times = 8; times > 0; times--) {
    const step = random.pick([1, 1_000, 100_000, 400_000, 1_000_000])
    const all: Array<number> = []
    for (let left = random.below(40), sequence = 0; left > 0; left--) {
      sequence += random.chance(0.2) ? step * random.between(1, 9) : random.chance(0.5) ? step : random.between(1, step)
      all.push(sequence)
    }
    judge.equal(`what is kept of ${all.join(" ")}`, SnapshotStore.keptOf(all), keptOf(all))
  }
}

/** Saves some, reads them back, and looks what is listed. */
export const snapshots = (judge: Judge, yard: Yard): void => {
  const { disk, random } = yard
  keeping(judge, yard)
  let sequence = 0
  const all = Array.from({ length: random.between(2, 3) }, () => taken(yard, sequence += random.between(1, 5)))
  for (const [index, snapshot] of all.entries()) {
    judge.equal(`the save of ${snapshot.sequence}`, endingOf(withStore(yard, SnapshotStore.layer, ({ save }) => save(snapshot))), "done")
    disk.crash("power")
    judge.equal(`the files after the save of ${snapshot.sequence}`, disk.files().filter((path) => path.startsWith("snapshots/")),
      all.slice(Math.max(0, index - 1), index + 1).map((each) => pathOf(each.sequence)))
  }
  const kept = all.slice(-2)
  for (const snapshot of kept) {
    judge.equal(`the snapshot of ${snapshot.sequence}`, readOf(valueOf(withStore(yard, someLayer(yard), ({ load }) =>
      load(snapshot.sequence)))), dueOf(yard, snapshot, pathOf(snapshot.sequence)))
  }
  judge.equal("the newest snapshot", readOf(valueOf(withStore(yard, someLayer(yard), ({ latest }) => latest))),
    dueOf(yard, kept.at(-1)!, pathOf(sequence)))
  passesOver(judge, yard, kept)
}

const valueOf = <A>(ending: Ending<A, unknown>): A | undefined => ending !== "crashed" && Exit.isSuccess(ending) ? ending.value : undefined

/** The layout of a snapshot's head. */
const versionAt = 8
const lengthAt = 12
const manifestAt = 16

const reseal = (bytes: Buffer): Buffer => {
  Block.sha256(bytes.subarray(0, bytes.length - Block.digestBytes)).copy(bytes, bytes.length - Block.digestBytes)
  return bytes
}

/** Damages the newest one: it is passed over with its reason, and the one before it is the newest. */
const passesOver = (judge: Judge, yard: Yard, [before, newest]: ReadonlyArray<SnapshotStore.Taken>): void => {
  const { disk, random } = yard
  const path = pathOf(newest!.sequence)
  const bytes = Buffer.from(disk.bytes(path))
  const changes: Readonly<globalThis.Record<string, () => readonly [Buffer, string]>> = {
    flip: () => {
      bytes[random.below(bytes.length)]! ^= 1 << random.below(8)
      return [bytes, "its digest does not match its bytes"]
    },
    short: () => [bytes.subarray(0, bytes.length - random.between(1, bytes.length - 1)), "its digest does not match its bytes"],
    rest: () => [bytes.subarray(0, random.below(Block.digestBytes)), "its digest does not match its bytes"],
    long: () => [Buffer.concat([bytes, random.bytes(8)]), "its digest does not match its bytes"],
    newer: () => {
      bytes.writeUInt32LE(4, versionAt)
      return [reseal(bytes), "a newer version wrote it (format 4, and this program reads up to 3)"]
    },
    magic: () => {
      bytes[0]! ^= 1
      return [reseal(bytes), "it has another format"]
    },
    manifest: () => {
      // A section that is longer than the file.
      const length = bytes.readUInt32LE(lengthAt)
      const text = bytes.toString("utf8", manifestAt, manifestAt + length).replace(/\d\]\]\}$/, "")
      bytes.fill(0x20, manifestAt + text.length, manifestAt + length)
      return [reseal(bytes), "it has another format"]
    },
    other: () => [Buffer.from(disk.bytes(pathOf(before!.sequence))), `it is of sequence ${before!.sequence}`]
  }
  const [what, change] = random.pick(Object.entries(changes))
  const [changed, reason] = change()
  disk.remove(path)
  disk.create(path, changed)
  yard.logged.length = 0
  judge.equal(`the snapshot of ${newest!.sequence} with its ${what} changed`,
    readOf(valueOf(withStore(yard, someLayer(yard), ({ load }) => load(newest!.sequence)))), reason)
  judge.equal(`the newest snapshot, behind one with its ${what} changed`,
    readOf(valueOf(withStore(yard, SnapshotStore.layerReadOnly, ({ latest }) => latest))), dueOf(yard, before!, pathOf(before!.sequence)))
  judge.holds(`nothing is logged of the one passed over: ${yard.logged.join(" ")}`,
    yard.logged.some((line) => line.includes(`passed over: ${reason}`)))
}

/**
 * Saves that fail or are cut off by a crash leave those before, and no file in preparation that a later one would not replace. What fails
 * once the new one is there fails no save.
 */
export const savesThatFail = (judge: Judge, yard: Yard): void => {
  const { disk, random } = yard
  const first = taken(yard, 5)
  const isStep = random.chance(0.5)
  const second = taken(yard, 9)
  const save = (snapshot: SnapshotStore.Taken) => ({ save, saveStep }: Store) => isStep ? saveStep(snapshot) : save(snapshot)
  const kind = isStep ? "step" : "snap"
  judge.equal("a save", endingOf(withStore(yard, SnapshotStore.layer, save(first))), "done")
  const before = dueOf(yard, first, pathOf(5, kind))
  let left = random.between(1, 14)
  let failed: string | undefined
  // Once it has its lasting name, what else fails is about older ones alone.
  let isNamed = false
  const crashes = random.chance(0.5)
  yard.inject = ({ operation, path }) => {
    if (!path.startsWith("snapshots") || operation === "remove" || failed !== undefined) return undefined
    if (--left > 0) {
      isNamed ||= operation === "syncDirectory" && disk.files().includes(pathOf(9, kind))
      return undefined
    }
    failed = operation
    if (!crashes) return "EIO"
    disk.crash(random.pick(["power", "kill"] as const))
    return undefined
  }
  const ending = withStore(yard, SnapshotStore.layer, save(second))
  yard.inject = () => undefined
  const names = disk.files().filter((path) => path.startsWith("snapshots/"))
  if (failed !== undefined && ending !== "crashed") {
    const told = endingOf(ending)
    judge.equal("a save of which an operation failed", isNamed ? told : (told as { readonly _tag?: string })._tag,
      isNamed ? "done" : "DiskError")
    // What could not get its name is complete, and is replaced by the next save.
    judge.holds(`a save whose ${failed} failed left ${names.join(" ")}`, failed === "rename" || !names.includes("snapshots/next.tmp"))
  }
  disk.crash("power")
  const load = ({ load, loadStep, names }: Store) => isStep ? Effect.flatMap(names, ({ steps }) => loadStep(steps.at(-1)!)) : load(5)
  const found = readOf(valueOf(withStore(yard, SnapshotStore.layerReadOnly, load)))
  const isSecond = isStep && disk.files().includes(pathOf(9, kind))
  judge.equal("what is stored after a save that did not end", found, isSecond ? dueOf(yard, second, pathOf(9, kind)) : before)
  judge.equal("a save after one that did not end", endingOf(withStore(yard, SnapshotStore.layer, save(second))), "done")
  disk.crash("power")
  judge.equal("the files after both", disk.files().filter((path) => path.startsWith("snapshots/")), [pathOf(5, kind), pathOf(9, kind)])
}

/** Stored states before a sequence, newest first, with the state of the last step among them, and its condition. */
export const steps = (judge: Judge, yard: Yard): void => {
  const { disk, random } = yard
  const saved = [...new Set([random.between(1, 9), random.between(1, 9)])].sort((a, b) => a - b).map((each) => taken(yard, each))
  const stepped = random.chance(0.8) ? taken(yard, random.between(1, 9)) : undefined
  judge.equal("the saves", endingOf(withStore(yard, SnapshotStore.layer, (store) =>
    Effect.zipRight(
      Effect.forEach(saved, store.save, { discard: true }),
      stepped === undefined ? Effect.void : store.saveStep(stepped)
    ))), "done")
  const until = random.between(1, 11)
  const step = stepped === undefined ? [] : [{ sequence: stepped.sequence, isStep: true }]
  const due = [...saved.map(({ sequence }) => ({ sequence, isStep: false })), ...step]
    .sort((a, b) => b.sequence - a.sequence || Number(a.isStep) - Number(b.isStep))
    .filter(({ sequence }) => sequence < until)
  const listed = withStore(yard, SnapshotStore.layerReadOnly,
    (store) =>
      Effect.flatMap(SnapshotStore.keptBefore(store, until), (kept) =>
        Effect.forEach(kept, ({ isStep, load, sequence }) =>
          Effect.map(load, (found) => ({ sequence, isStep, found: readOf(found) })))))
  judge.equal(`the states before ${until}`, endingOf(listed), due.map((each) => ({
    ...each,
    found: each.isStep
      ? dueOf(yard, stepped!, pathOf(each.sequence, "step"))
      : dueOf(yard, saved.find(({ sequence }) => sequence === each.sequence)!, pathOf(each.sequence))
  })))
  judge.equal("the states saved for steps",
    endingOf(withStore(yard, SnapshotStore.layerReadOnly, ({ names }) => Effect.map(names, ({ steps }) => steps.join()))),
    stepped === undefined ? "" : String(stepped.sequence))
  const damaged = stepped !== undefined && random.chance(0.5)
  if (damaged) {
    const path = pathOf(stepped.sequence, "step")
    disk.flip(path, random.below(disk.bytes(path).length), random.below(8))
  }
  judge.equal("the condition of the last step's state", endingOf(yard.run(SnapshotStore.stepCondition(stepped?.sequence ?? 1))),
    stepped === undefined ? "missing" : damaged ? "damaged" : "whole")
  if (!damaged) return
  judge.equal("a state of a step that is damaged",
    readOf(valueOf(withStore(yard, SnapshotStore.layerReadOnly, ({ loadStep }) => loadStep(stepped.sequence)))),
    "its digest does not match its bytes")
  disk.create(`${pathOf(11)}/x`, new Uint8Array(0))
  const refused = withStore(yard, SnapshotStore.layerReadOnly, ({ list }) => list)
  judge.equal("snapshots with a directory among them", endingOf(refused), {
    _tag: "JournalCorrupt",
    segment: pathOf(11),
    offset: 0,
    sequence: 11,
    missing: "misplaced"
  })
  judge.holds(`what a directory among snapshots is, is not said: ${wordsOf(refused)}`, wordsOf(refused).includes("it is a directory"))
}

/** A journal that began under other rules needs the state of the step to these, and says so where it is gone. */
export const lostStep = (judge: Judge, yard: Yard): void => {
  const { random } = yard
  const own = new Yard(random.split("began"), yard.samples)
  const opened = yard.samples.find(({ command }) => command.kind === "OpenVenue")
  if (opened?.command.kind !== "OpenVenue") return
  const isOther = random.chance(0.5)
  const record: Record = { ...opened, sequence: 1, command: { ...opened.command, rules: versions.rules - (isOther ? 1 : 0) } }
  const place = { segment: 1, offset: Block.sectorBytes }
  const given = { epoch: 1, synced: 0, previousDigest: Block.genesisDigest, outcomeDigest: random.bytes(32) }
  const { bytes } = layOut(place, [record], given)
  const isOlder = random.chance(0.3)
  if (isOlder) resealBlock(bytes.fill(1, at.codec, at.codec + 1))
  const isEmpty = random.chance(0.1)
  const segmentBytes = Block.sectorBytes + bytes.length + Block.sectorBytes
  const header = Segment.encodeHeader({ firstSequence: 1, previousDigest: Block.genesisDigest, segmentBytes })
  const file = Buffer.concat([header, isEmpty ? Buffer.alloc(bytes.length) : bytes, Buffer.alloc(Block.sectorBytes)])
  own.disk.create(Segment.pathOf(1), file)
  const condition = random.pick(["whole", "missing", "damaged"] as const)
  if (condition !== "missing") {
    judge.equal("the save of a step", endingOf(withStore(own, SnapshotStore.layer, ({ saveStep }) => saveStep(taken(own, 1)))), "done")
    if (condition === "damaged") own.disk.flip(pathOf(1, "step"), random.below(own.disk.bytes(pathOf(1, "step")).length), random.below(8))
  }
  const isLost = condition === "damaged" || condition === "missing" && (isOther || isOlder) && !isEmpty
  const lost = Effect.flatMap(Disk, (disk) => stepLost(Reading.reading(disk, () => [], () => isEmpty ? 0 : 1)))
  const came = endingOf(own.run(Effect.map(Effect.provide(lost, SnapshotStore.layerReadOnly), (text) => text ?? "nothing is lost")))
  judge.equal(`what is said of a step whose state is ${condition}`,
    typeof came === "string" ? [came.includes(`is ${condition}: put it back`), came === "nothing is lost"] : came, [isLost, !isLost])
}
