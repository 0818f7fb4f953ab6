/**
 * Faults that exactly one guard of the start detects: each is planted on the disk of a venue that stopped gracefully, or in the settings
 * of the next start. Without its guard, the venue would serve what it must not.
 */
import { Effect } from "effect"
import { entryBytes } from "../../src/engine/Idempotency.js"
import { rowBytes } from "../../src/engine/Orders.js"
import * as EngineSnapshot from "../../src/engine/Snapshot.js"
import type { Capacity } from "../../src/engine/State.js"
import * as Block from "../../src/journal/Block.js"
import type { Corrupt } from "../../src/journal/Journal.js"
import * as Segment from "../../src/journal/Segment.js"
import type { Disk, DiskError } from "../../src/journal/Disk.js"
import { SnapshotStore, type Stored } from "../../src/journal/SnapshotStore.js"
import type * as Venue from "../../src/Venue.js"
import { roomy } from "../faults/Options.js"
import * as Forgery from "../world/Forgery.js"
import type * as SimDisk from "../world/SimDisk.js"
import type { SimRandom } from "../world/SimRandom.js"

/** What a fault is planted in. */
export interface Ground {
  readonly disk: SimDisk.SimDisk
  readonly random: SimRandom
  readonly capacity: Capacity
  /** The journal's blocks, oldest first. */
  readonly blocks: ReadonlyArray<Forgery.Placed>
  /** The newest snapshot, taken at the journal's end. */
  readonly newest: Stored
  /** Works on the snapshots on the disk. */
  readonly onSnapshots: <A>(work: Effect.Effect<A, Corrupt | DiskError, SnapshotStore | Disk>) => A
}

/** The required result of the next start: it serves the journal's own state, or is refused under a name. */
export type Must =
  | "serve"
  | "ReplayDiverged"
  | "MigrationDiffers"
  | "JournalBehind"
  | "JournalCorrupt"
  | "JournalNewerFormat"
  | "WrongEnvironment"
  | "CapacityTooSmall"

/** A planted fault, and the settings of the start over it. */
export interface Planted {
  readonly must: Must
  readonly set?: Partial<Venue.Options>
  /** The first record that can no longer be read, where it is known. */
  readonly lost?: number
  /** Whether what this start writes could stop the one after it. */
  readonly again?: boolean
}

export interface Plant {
  readonly what: string
  /** Plants the fault; undefined where this journal has no place for it. */
  readonly plant: (ground: Ground) => Planted | undefined
}

const snapshotPaths = ({ disk }: Ground): ReadonlyArray<string> => disk.files().filter((path) => path.endsWith(".snap"))

const removeSnapshots = (ground: Ground): void => {
  for (const path of snapshotPaths(ground)) ground.disk.remove(path)
}

/** The index of the last block that begins with a step to other rules; -1 for none. */
const lastStep = (blocks: ReadonlyArray<Forgery.Placed>): number =>
  blocks.findLastIndex(({ block: { records } }) => {
    const { command } = records[0]!
    return command.kind === "StartVenue" && command.stateBefore !== ""
  })

/** Segments by their first sequence, ascending. */
const segmentsOf = ({ blocks }: Ground): ReadonlyArray<number> => [...new Set(blocks.map(({ header }) => header.position.segment))]

/**
 * The index of the first block that every start replays, whatever snapshots it finds: after the last step to other rules, and after the
 * newest state that was saved for a step. A version that ended before it journaled its step leaves such a state, and the version before it
 * continues from there.
 */
export const firstDecidedAgain = ({ blocks, onSnapshots }: Ground): number => {
  const stepped = lastStep(blocks)
  const kept = onSnapshots(Effect.flatMap(SnapshotStore, ({ names }) => names))?.steps.at(-1) ?? 0
  const behind = blocks.findIndex(({ block }) => block.firstSequence > kept)
  return Math.max(0, stepped, behind < 0 ? blocks.length : behind)
}

const anotherDigest: Plant = {
  what: "a block that names another digest of what it decided",
  plant: (ground) => {
    const { blocks, disk, random } = ground
    const first = firstDecidedAgain(ground)
    if (first >= blocks.length) return undefined
    const at = random.between(first, blocks.length - 1)
    const { block } = blocks[at]!
    Forgery.rewriteFrom(disk, blocks, at, { ...block, outcomeDigest: Forgery.another(block.outcomeDigest) })
    return { must: "ReplayDiverged" }
  }
}

/** Saves a forged variant of the newest snapshot's state under a sequence and the digest of a block. */
const saveOther = ({ newest, onSnapshots }: Ground, sequence: number, blockDigest: Uint8Array): void => {
  const state = EngineSnapshot.unsafeDecode(newest.sections, { orders: roomy.orders, idempotencyKeys: roomy.idempotencyKeys })
  state.halted = !state.halted
  state.sequence = sequence
  const sections = EngineSnapshot.encode(state)
  onSnapshots(Effect.flatMap(SnapshotStore, (store) => store.save({ sequence, blockDigest, schema: EngineSnapshot.schema, sections })))
}

const anotherHistory: Plant = {
  what: "a snapshot of another history",
  plant: (ground) => {
    saveOther(ground, ground.newest.sequence, Forgery.another(ground.newest.blockDigest))
    return { must: "serve" }
  }
}

const withinBlock: Plant = {
  what: "a snapshot from within a block",
  plant: (ground) => {
    const placed = ground.blocks.at(-1)!
    const { block } = placed
    const several = block.records.length > 1 ? placed : ground.blocks.findLast((each) => each.block.records.length > 1)
    if (several === undefined) return undefined
    removeSnapshots(ground)
    // The start would begin with a later snapshot, and records before a step to other rules can only be skipped by beginning at the step.
    if (ground.blocks.indexOf(several) < firstDecidedAgain(ground)) return undefined
    saveOther(ground, several.block.lastSequence - 1, several.block.digest)
    return { must: "serve" }
  }
}

const justAhead: Plant = {
  what: "a snapshot of a record or two more than the journal has",
  plant: (ground) => {
    saveOther(ground, ground.newest.sequence + ground.random.pick([1, 1, 2]), ground.newest.blockDigest)
    return { must: "JournalBehind" }
  }
}

/** Leaves the journal as it was when one of its blocks was the last, without any trace of a later one. */
const cutBehind = (ground: Ground, last: Forgery.Placed): void => {
  const { disk } = ground
  const { firstSequence } = last.block
  for (const path of disk.files()) {
    const segment = path.startsWith(`${Segment.directory}/`) ? Segment.firstSequenceOf(path.split("/").at(-1)!) : undefined
    if (segment !== undefined && segment > firstSequence) disk.remove(path)
  }
  const path = Forgery.pathOf(last)
  Forgery.zero(disk, path, Forgery.endOf(last), disk.bytes(path).length)
  removeSnapshots(ground)
}

const lostBlocks: Plant = {
  what: "a journal that lost its last blocks, behind its snapshot",
  plant: (ground) => {
    const { blocks, disk, random } = ground
    const segment = blocks.at(-1)!.header.position.segment
    const inLast = blocks.filter(({ header }) => header.position.segment === segment)
    const first = inLast.at(-random.between(1, Math.min(3, inLast.length)))!
    Forgery.zero(disk, Forgery.pathOf(first), first.header.position.offset, Forgery.endOf(inLast.at(-1)!))
    return { must: "JournalBehind" }
  }
}

const lostSegment: Plant = {
  what: "a journal whose last segment is gone, behind its snapshot",
  plant: (ground) => {
    if (segmentsOf(ground).length < 2) return undefined
    ground.disk.remove(Forgery.pathOf(ground.blocks.at(-1)!))
    return { must: "JournalBehind" }
  }
}

const lostMiddle: Plant = {
  what: "a segment in the midst of the journal that is gone",
  plant: (ground) => {
    const segments = segmentsOf(ground)
    if (segments.length < 2) return undefined
    const gone = ground.random.pick(segments.slice(0, -1))
    ground.disk.remove(Forgery.pathOf(ground.blocks.find(({ header }) => header.position.segment === gone)!))
    removeSnapshots(ground)
    return { must: "JournalCorrupt", lost: gone }
  }
}

const hole: Plant = {
  what: "a sector that was durable and reads as zeros, so that its block looks unfinished",
  plant: (ground) => {
    const { blocks, disk, random } = ground
    const places = blocks.filter(({ block, header }) =>
      blocks.some((later) =>
        later.header.position.segment > header.position.segment || (
          later.header.position.segment === header.position.segment && later.header.syncedSequence >= block.firstSequence
        )
      )
    )
    if (places.length === 0) return undefined
    // The hardest case is a block whose durability only the single next block attests.
    const edges = blocks.slice(1).filter(({ header }, index) => {
      const before = blocks[index]!
      return header.position.segment === before.header.position.segment && header.syncedSequence === before.block.firstSequence
    })
    const edge = edges.length > 0 && random.chance(0.5) ? random.pick(edges) : undefined
    const placed = edge === undefined ? random.pick(places) : blocks[blocks.indexOf(edge) - 1]!
    if (edge !== undefined) cutBehind(ground, edge)
    const at = placed.header.position.offset + random.below(placed.header.blockBytes / Block.sectorBytes) * Block.sectorBytes
    Forgery.zero(disk, Forgery.pathOf(placed), at, at + Block.sectorBytes)
    removeSnapshots(ground)
    return { must: "JournalCorrupt", lost: placed.block.firstSequence }
  }
}

const damagedLast: Plant = {
  what: "a last block in which a bit is another",
  plant: (ground) => {
    const { blocks, disk, random } = ground
    const short = blocks.filter(({ header }) => header.blockBytes === Block.sectorBytes)
    const last = random.pick(short.length > 0 && random.chance(0.75) ? short : blocks)
    cutBehind(ground, last)
    disk.flip(Forgery.pathOf(last), last.header.position.offset + random.below(last.header.blockBytes), random.below(8))
    return { must: "JournalCorrupt", lost: last.block.firstSequence }
  }
}

const anotherHeader: Plant = {
  what: "a segment whose header continues another journal",
  plant: (ground) => {
    const segment = ground.random.pick(segmentsOf(ground))
    Forgery.rewriteHeader(ground.disk, segment, (header) => ({ ...header, previousDigest: Forgery.another(header.previousDigest) }))
    return { must: "JournalCorrupt", lost: segment }
  }
}

const anotherSize: Plant = {
  what: "a segment that is longer than its header says",
  plant: ({ blocks, disk, random }) => {
    const placed = random.pick(blocks)
    const path = Forgery.pathOf(placed)
    disk.overwrite(path, disk.bytes(path).length, Buffer.alloc(Block.sectorBytes))
    // All its blocks are there: cutting the journal at this place loses none of them.
    const { segment } = placed.header.position
    return { must: "JournalCorrupt", lost: blocks.findLast(({ header }) => header.position.segment === segment)!.header.lastSequence + 1 }
  }
}

const earlierTime: Plant = {
  what: "a record whose time lies before that of the record before it",
  plant: ({ blocks, disk, random }) => {
    const at = random.between(1, blocks.length - 1)
    const before = blocks[at - 1]!.block.records.at(-1)!
    const { block } = blocks[at]!
    const [first, ...rest] = block.records
    Forgery.rewriteFrom(disk, blocks, at, { ...block, records: [{ ...first!, atEpochMs: before.atEpochMs - 1 }, ...rest] })
    return { must: "JournalCorrupt" }
  }
}

/** Offset of the codec's version in a block, by the published layout. */
const codecAt = 40

const newerFormat: Plant = {
  what: "a last block in a newer format",
  plant: ({ blocks, disk }) => {
    const placed = blocks.at(-1)!
    const { block, header } = placed
    const encoded = Forgery.encode(block, block.previousDigest, header)
    encoded.bytes.writeUInt32LE(Block.codecVersion + 1, codecAt)
    Block.place(encoded, header.position, header.syncedSequence)
    disk.overwrite(Forgery.pathOf(placed), header.position.offset, encoded.bytes)
    return { must: "JournalNewerFormat" }
  }
}

/** Most blocks in progress at once. */
const mostUnderWay = 4

/**
 * Writes blocks after one, as if they had been in progress, with a sector of the first missing. The contents of any earlier records will
 * do, since their results were reported to nobody. Returns how many fitted into the segment.
 */
const leaveRemains = ({ blocks, disk, random }: Ground, behind: Forgery.Placed, most: number): number => {
  const { block, header: { position: { segment } } } = behind
  const path = Forgery.pathOf(behind)
  const size = disk.bytes(path).length
  const { atEpochMs } = block.records.at(-1)!
  let offset = Forgery.endOf(behind)
  let firstSequence = block.lastSequence + 1
  let { digest } = block
  for (let count = 0; count < most; count++) {
    const { block: of } = random.pick(blocks)
    const records = of.records.map((record, index) => ({ ...record, sequence: firstSequence + index, atEpochMs }))
    const header = { ...behind.header, position: { segment, offset }, syncedSequence: block.lastSequence }
    const encoded = Forgery.encode({ ...of, epoch: block.epoch, firstSequence, records }, digest, header)
    if (offset + encoded.bytes.length > size) return count
    const lacks = random.below(encoded.bytes.length / Block.sectorBytes) * Block.sectorBytes
    if (count === 0) encoded.bytes.fill(0, lacks, lacks + Block.sectorBytes)
    disk.overwrite(path, offset, encoded.bytes)
    offset += encoded.bytes.length
    firstSequence = encoded.lastSequence + 1
    ;({ digest } = encoded)
  }
  return most
}

const remains: Plant = {
  what: "remains of unfinished blocks behind the last one",
  plant: (ground) => {
    leaveRemains(ground, ground.blocks.at(-1)!, ground.random.between(1, mostUnderWay))
    return { must: "serve", again: true }
  }
}

const remainsBeforeSegment: Plant = {
  what: "remains of an unfinished block in a segment that others follow",
  plant: (ground) => {
    const { blocks } = ground
    const ends = blocks.filter(({ header }, index) => {
      const next = blocks[index + 1]
      return next !== undefined && next.header.position.segment !== header.position.segment
    })
    // A block of a single sector leaves nothing if that sector is missing, so there would be nothing to find.
    const behind = ends.find((end) => leaveRemains(ground, end, mostUnderWay) > 1)
    return behind === undefined ? undefined : { must: "JournalCorrupt" }
  }
}

const anotherEnvironment: Plant = {
  what: "a start in another environment, also over remains that another start would take away",
  plant: (ground) => {
    if (ground.random.chance(0.75)) leaveRemains(ground, ground.blocks.at(-1)!, ground.random.between(1, mostUnderWay))
    return { must: "WrongEnvironment", set: { environment: "staging" } }
  }
}

const anotherStep: Plant = {
  what: "a step to other rules that names another state behind it",
  plant: (ground) => {
    const { blocks, disk } = ground
    const at = lastStep(blocks)
    if (at < 0 || firstDecidedAgain(ground) !== at) return undefined
    const { block } = blocks[at]!
    const [step, ...rest] = block.records
    if (step?.command.kind !== "StartVenue") return undefined
    const stateAfter = Buffer.from(Forgery.another(Buffer.from(step.command.stateAfter, "hex"))).toString("hex")
    Forgery.rewriteFrom(disk, blocks, at, { ...block, records: [{ ...step, command: { ...step.command, stateAfter } }, ...rest] })
    return { must: "MigrationDiffers" }
  }
}

const earlierEpoch: Plant = {
  what: "a block of an epoch before that of the block before it",
  plant: ({ blocks, disk, random }) => {
    const places = blocks.flatMap((_, at) => at > 0 && blocks[at - 1]!.block.epoch > 1 ? [at] : [])
    if (places.length === 0) return undefined
    const at = random.pick(places)
    const { block } = blocks[at]!
    Forgery.rewriteFrom(disk, blocks, at, { ...block, epoch: random.between(1, blocks[at - 1]!.block.epoch - 1) })
    return { must: "JournalCorrupt", lost: block.firstSequence }
  }
}

const noJournal: Plant = {
  what: "snapshots whose journal is gone",
  plant: ({ disk }) => {
    for (const path of disk.files()) if (path.endsWith(".seg")) disk.remove(path)
    return { must: "JournalCorrupt", lost: 1 }
  }
}

/** Rows of a table in the newest snapshot: the least size of the table. */
const rowsOf = ({ newest }: Ground, name: string, bytes: number): number =>
  newest.sections.find((section) => section.name === name)!.bytes.length / bytes

/** The least size of the table of orders: its rows, of which one is reserved for the venue's own. */
const ordersOf = (ground: Ground): number => {
  const { bytes } = ground.newest.sections.find(({ name }) => name === "orders.rows")!
  const rows = bytes.length / rowBytes
  const numbers = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  const held = Array.from({ length: rows }, (_, row) => numbers.getFloat64(row * rowBytes, true)).filter((number) => number >= 0)
  return Math.max(held.length, rows - 1)
}

const keysOf = (ground: Ground): number => rowsOf(ground, "idempotency.rows", entryBytes)

/** A start with just enough room for a table's entries, or with room for one fewer. */
const roomFor = (table: "orders" | "idempotencyKeys", what: string, needed: (ground: Ground) => number): Plant => ({
  what: `a start with room for just the ${what} that are remembered, or for one fewer`,
  plant: (ground) => {
    const { capacity, random } = ground
    const least = needed(ground)
    const lacking = least > 1 && random.chance(0.5) ? 1 : 0
    return {
      must: lacking === 0 ? "serve" : "CapacityTooSmall",
      set: { capacity: { ...capacity, [table]: Math.max(1, least - lacking) } }
    }
  }
})

const roomForOrders = roomFor("orders", "orders", ordersOf)
const roomForKeys = roomFor("idempotencyKeys", "keys", keysOf)

/** All plants. */
const plants: ReadonlyArray<Plant> = [
  anotherDigest,
  anotherHistory,
  withinBlock,
  justAhead,
  lostBlocks,
  lostSegment,
  lostMiddle,
  hole,
  damagedLast,
  anotherHeader,
  anotherSize,
  earlierTime,
  newerFormat,
  remains,
  remainsBeforeSegment,
  anotherEnvironment,
  roomForOrders,
  roomForKeys
]

/** Least and most plants of one run: each costs a start or two. */
const fewestPlants = 2
const mostPlants = 4

/** The plants of a run: a few, each at most once. */
export const draw = (random: SimRandom): ReadonlyArray<Plant> => {
  const left = [...plants]
  return Array.from({ length: random.between(fewestPlants, mostPlants) }, () => left.splice(random.below(left.length), 1)[0]!)
}

/** Further plants. */
const further: ReadonlyArray<Plant> = [anotherStep, earlierEpoch, noJournal]

/** The further plants in the order in which a run tries them: it uses the first that its journal has a place for. */
export const drawFurther = (random: SimRandom): ReadonlyArray<Plant> => {
  const left = [...further]
  return further.map(() => left.splice(random.below(left.length), 1)[0]!)
}
