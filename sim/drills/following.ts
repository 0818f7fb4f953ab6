/**
 * Following a journal while it is written: the blocks of a known one appear on the disk step by step, and after each look the follower
 * counts as durable exactly what a later block, a later segment or an earlier look shows to be, and gives every block of that once.
 */
import { Effect, Stream } from "effect"
import * as Following from "../../src/journal/Following.js"
import * as Segment from "../../src/journal/Segment.js"
import * as Block from "../../src/journal/Block.js"
import { endingOf, endOf, type Judge, type Laid, Yard } from "./Yard.js"

/** Where the writer is: how many blocks are whole on the disk, and whether the next segment has its name already. */
interface Written {
  blocks: number
  isNamed: boolean
}

/** Puts segments on the disk as they were when only the first so many blocks had been written. */
const begin = (from: Yard, blocks: number, onto: Yard): void => {
  for (const { bytes, first } of from.segments) {
    if (first > (from.blocks[blocks - 1]?.lastSequence ?? 0)) return
    const file = from.fileOf(first)
    const here = from.blocks.slice(0, blocks).filter(({ segment }) => segment === first)
    onto.disk.create(Segment.pathOf(first), file.fill(0, here.length === 0 ? Block.sectorBytes : endOf(here.at(-1)!), bytes))
  }
}

const nameSegment = (from: Yard, first: number, onto: Yard): void => {
  const { bytes } = from.segments.find((each) => each.first === first)!
  onto.disk.create(Segment.pathOf(first), from.fileOf(first).fill(0, Block.sectorBytes, bytes))
}

/** Writes the next block, or only a part of it or its segment's name. Returns the number of sectors that are missing. */
const writeOn = (from: Yard, written: Written, onto: Yard, part: number): void => {
  const block = from.blocks[written.blocks]
  if (block === undefined) return
  const isFirst = from.blocks[written.blocks - 1]?.segment !== block.segment
  if (isFirst && !written.isNamed) {
    nameSegment(from, block.segment, onto)
    written.isNamed = true
    if (part < 0.2) return
  }
  const path = Segment.pathOf(block.segment)
  if (part < 0.3 && block.bytes.length > Block.sectorBytes) {
    onto.disk.overwrite(path, block.offset, block.bytes.subarray(0, Block.sectorBytes))
    return
  }
  onto.disk.overwrite(path, block.offset, block.bytes)
  written.blocks++
  written.isNamed = false
}

const mostLooks = 10

/** Follows from outside, where nobody says what is durable. */
export const following = (judge: Judge, from: Yard): void => {
  const { blocks, random } = from
  const yard = new Yard(random.split("followed"), from.samples)
  const written: Written = { blocks: random.between(1, blocks.length - 1), isNamed: false }
  begin(from, written.blocks, yard)
  const work = Effect.gen(function*() {
    const followed = yield* Following.open
    judge.equal("what counts as durable before the first look", followed.durableSequence(), 0)
    let read = written.blocks
    let durable = 0
    for (let look = 0; look < mostLooks; look++) {
      for (let more = random.below(3); more > 0; more--) writeOn(from, written, yard, random.next())
      const stood = blocks[read - 1]!.lastSequence
      const fresh = blocks.slice(read, written.blocks)
      read = written.blocks
      yield* followed.look
      const shown = fresh.map((block, index) =>
        blocks[blocks.indexOf(fresh[0]!) + index - 1]?.segment !== block.segment
          ? Math.max(block.synced, block.firstSequence - 1)
          : block.synced
      )
      // The next segment is begun only when all before it is durable, even while it holds no block.
      durable = Math.max(durable, stood, ...shown, written.isNamed ? blocks[read - 1]!.lastSequence : 0)
      judge.equal(`what counts as durable after look ${look}, with ${written.blocks} blocks written`, followed.durableSequence(), durable)
      const at = random.between(1, durable)
      const due = blocks.filter(({ firstSequence, lastSequence }) => lastSequence >= at && firstSequence <= durable)
      const given = yield* Stream.runCollect(followed.journal.links(at))
      judge.equal(`the blocks from ${at} on after look ${look}`, [...given].map(({ firstSequence }) => firstSequence),
        due.map(({ firstSequence }) => firstSequence))
      if (judge.fault !== undefined) return
    }
    yield* replacedOrDamaged(judge, from, written, yard, followed)
  })
  judge.equal("who follows the journal", endingOf(yard.run(work)), "done")
}

/** Ends the following by a cut, or by damage behind what was read. */
const replacedOrDamaged = (
  judge: Judge,
  { blocks, random }: Yard,
  written: Written,
  yard: Yard,
  { look }: Following.Following
): Effect.Effect<void, never> =>
  Effect.gen(function*() {
    const last = blocks[written.blocks - 1]!
    const path = Segment.pathOf(last.segment)
    const size = yard.disk.bytes(path).length
    if (written.isNamed) return
    const kind = random.pick(["cut", "removed", "damaged", "other"] as const)
    if (kind === "cut") yard.disk.overwrite(path, last.offset, Buffer.alloc(size - last.offset))
    if (kind === "removed") yard.disk.remove(path)
    if (kind === "other") yard.disk.overwrite(path, endOf(last) - 40, random.bytes(32))
    const damaged = kind === "damaged" && endOf(last) < size
    if (damaged) yard.disk.overwrite(path, endOf(last), Buffer.alloc(size - endOf(last)).fill(0x11, 0, 20))
    if (kind === "damaged" && !damaged) return
    const [first, second] = [yield* Effect.exit(look), yield* Effect.exit(look)]
    const replaced = { _tag: "JournalReplaced", sequence: last.lastSequence }
    if (kind !== "damaged") {
      judge.equal(`a look after the last block was ${kind}`, endingOf(first), replaced)
      return
    }
    // It may be the beginning of a block, until another look still finds it.
    const damage = { _tag: "JournalCorrupt", segment: path, offset: endOf(last), sequence: last.lastSequence + 1 }
    judge.equal("a look at damage behind the last block", endingOf(second), damage)
  })

/**
 * Follows a writer that says what is durable: nothing else is given, whatever can be read. A look reads what is there of one segment, and
 * gives its blocks from memory.
 */
export const followingTold = (judge: Judge, from: Yard): void => {
  const { blocks, random } = from
  const yard = new Yard(random.split("told"), from.samples)
  const written: Written = { blocks: random.between(1, blocks.length - 1), isNamed: false }
  begin(from, written.blocks, yard)
  let told = 0
  const work = Effect.gen(function*() {
    const followed = yield* Following.openTold(() => told)
    let read = written.blocks
    for (let step = 0; step < mostLooks; step++) {
      for (let more = random.below(3); more > 0; more--) writeOn(from, written, yard, random.next())
      const next = blocks[read]
      const held = blocks.slice(read, written.blocks).filter(({ segment }) => segment === next!.segment)
      yield* followed.look
      read += held.length
      for (let times = 2; times > 0; times--) {
        told = Math.max(told,
          random.chance(0.5) ? blocks[written.blocks - 1]!.lastSequence : blocks[random.below(written.blocks)]!.lastSequence)
        const durable = Math.min(told, blocks[read - 1]!.lastSequence)
        judge.equal("what is durable for who is told", followed.durableSequence(), durable)
        if (held.length > 0) judgeHeld(judge, from, followed, held, told, times === 1)
        const at = random.between(1, durable)
        const due = blocks.filter(({ firstSequence, lastSequence }) => lastSequence >= at && firstSequence <= durable)
        const found = yield* Stream.runCollect(followed.journal.links(at))
        judge.equal(`the blocks from ${at} on, told ${told}`, [...found].map(({ firstSequence }) => firstSequence),
          due.map(({ firstSequence }) => firstSequence))
      }
      if (judge.fault !== undefined) return
    }
  })
  judge.equal("who is told what is durable", endingOf(yard.run(work)), "done")
}

/** What the last look has read is given from memory once it is durable, and nothing else. */
const judgeHeld = (
  judge: Judge,
  { random }: Yard,
  { blockAt }: Following.Following,
  held: ReadonlyArray<Laid>,
  told: number,
  toTheEnd: boolean
): void => {
  const [block, later] = [random.pick(held), held.at(-1)!]
  if (!toTheEnd)
    judge.equal("the block before those of the last look", blockAt(held[0]!.firstSequence - 1)?.firstSequence ?? "none", "none")
  // Readers never go back.
  for (const each of !toTheEnd ? [held[0]!] : block === later ? [later] : [block, later]) {
    const sequence = random.between(each.firstSequence, each.lastSequence)
    const given = blockAt(sequence)
    judge.equal(`the block at ${sequence}, told ${told}`,
      given === undefined ? "none" : [given.firstSequence, given.lastSequence, given.digest],
      each.lastSequence > told ? "none" : [each.firstSequence, each.lastSequence, each.digest])
  }
  if (toTheEnd) judge.equal("a block behind those of the last look", blockAt(later.lastSequence + 1)?.firstSequence ?? "none", "none")
}
