/**
 * The feed's memory of the latest blocks, against a list of all of them: it gives a block or a run exactly as it was decided, as soon as it
 * is durable and never before, and forgets the oldest alone.
 */
import * as Block from "../../src/journal/Block.js"
import { readRun, Recent } from "../../src/sequencer/Recent.js"
import type { Judge, Laid, Yard } from "./Yard.js"

interface Told {
  readonly block: Pick<Block.Block, "firstSequence" | "lastSequence" | "digest">
  readonly events: Float64Array
  readonly told: Float64Array
  /** All their bytes. */
  readonly size: number
}

const partsOf = (
  { block: { digest, firstSequence, lastSequence }, events, told }: Omit<Told, "size">
): unknown => [firstSequence, lastSequence, digest, [...events], [...told]]

/** The events that a block's records have, all of them different. */
const eventsOf = ({ random }: Yard, most: number): Float64Array =>
  Float64Array.from({ length: random.below(most) }, () => random.below(1 << 30))

/** Blocks beyond the places that the memory keeps for forgotten ones. */
const manyBlocks = 1_100
/** One of so many blocks is looked at where there are many. */
const lookedAt = 97

/** Blocks that follow each other and lie nowhere. */
const manyOf = (yard: Yard): ReadonlyArray<Laid> => {
  const made: Array<Laid> = []
  while (made.length < manyBlocks) made.push(yard.successor(made.at(-1), { segment: 1, offset: Block.sectorBytes }, 1, 1, 0))
  return made
}

export const memory = (judge: Judge, yard: Yard): void => {
  const { random } = yard
  const many = random.chance(0.2)
  const blocks = many ? manyOf(yard) : yard.blocks
  const bounds = { blocks: random.pick([0, 1, 3, 8, 64]), bytes: random.pick([2_000, 5_000, 20_000, 60_000]) }
  const recent = new Recent(bounds, 0)
  const decided: Array<Told> = []
  let committed = 0
  let woken = 0
  for (const block of blocks) {
    const { bytes, digest, epoch, firstSequence, lastSequence, outcomeDigest, previousDigest } = block
    const [events, told] = [eventsOf(yard, 40), eventsOf(yard, 10)]
    const encoded = {
      bytes: Buffer.from(bytes),
      epoch,
      firstSequence,
      lastSequence,
      atEpochMs: block.atEpochMs,
      previousDigest,
      outcomeDigest,
      digest
    }
    recent.take(encoded, events, told)
    const size = bytes.length + events.byteLength + told.byteLength
    decided.push({ block: { firstSequence, lastSequence, digest }, events: Float64Array.from(events), told: Float64Array.from(told), size })
    // What was copied is not touched by whoever goes on with the arrays.
    events.fill(-1)
    told.fill(-1)
    if (random.chance(0.6)) {
      const next = random.pick(decided.slice(committed))
      recent.whenCommitted(() => void woken++)
      const callOff = recent.whenCommitted(() => void (woken += 100))
      callOff()
      const before = woken
      recent.commit(next.block.lastSequence)
      committed = decided.indexOf(next) + 1
      judge.equal("who waits for a commit is called once", woken, before + 1)
      judge.equal("what is durable in memory", recent.durableSequence, next.block.lastSequence)
    }
    judge.holds(`memory holds ${recent.length} blocks of ${bounds.blocks}`, recent.length <= bounds.blocks)
    if (many && random.below(lookedAt) > 0) continue
    look(judge, yard, recent, decided, committed, bounds)
    const under = decided[committed]
    if (under !== undefined) {
      judge.equal("a block that is not durable", [recent.at(under.block.firstSequence) ?? "none",
        recent.run(under.block.lastSequence, 1) ?? "none"], ["none", "none"])
    }
  }
}

/** Looks at one block and one run. */
const look = (
  judge: Judge,
  { random }: Yard,
  recent: Recent,
  decided: ReadonlyArray<Told>,
  committed: number,
  bounds: { readonly blocks: number; readonly bytes: number }
): void => {
  if (committed === 0) return
  const durable = decided.slice(0, committed)
  const at = Math.max(0, committed - 1 - random.below(6))
  const { block: { firstSequence, lastSequence } } = durable[at]!
  const sequence = random.between(firstSequence, lastSequence)
  // Where it and all after it take no more than half of the memory, nothing of them has been forgotten.
  const later = decided.slice(at)
  const isThere = later.length <= bounds.blocks && later.reduce((sum, { size }) => sum + size, 0) <= bounds.bytes / 2
  const found = recent.at(sequence)
  if (found !== undefined) judge.equal(`the block at ${sequence} in memory`, partsOf(found), partsOf(durable[at]!))
  judge.holds(`the block at ${sequence} was forgotten`, !isThere || found !== undefined)
  const records = random.between(1, 12)
  const run = recent.run(sequence, records)
  judge.equal(`whether a run begins at ${sequence}`, run !== undefined, found !== undefined)
  if (run === undefined) return
  const given = readRun(run).map(partsOf)
  judge.equal(`a run of ${records} from ${sequence}`, given, durable.slice(at, at + given.length).map(partsOf))
  const before = durable[at + given.length - 2]?.block.lastSequence ?? 0
  judge.holds(`a run of ${records} from ${sequence} has ${given.length} blocks`, given.length === 1 || before - sequence < records)
  // All of it is in memory, and lies there in one piece.
  const isOnePiece = decided.length <= bounds.blocks && decided.reduce((sum, { size }) => sum + size, 0) <= bounds.bytes
  const end = durable[at + given.length - 1]!.block.lastSequence
  judge.holds(`a run of ${records} from ${sequence} ends with ${end}`,
    !isOnePiece || at + given.length === committed || end - sequence >= records)
}
