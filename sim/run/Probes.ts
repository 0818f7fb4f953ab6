/**
 * Checks of parts of a venue that a start alone does not test: whether the readers of the journal beside the writer notice that a block
 * was decided otherwise than it states, and whether the journal accepts a block that does not follow its last one.
 */
import { Effect, Exit, Stream } from "effect"
import * as Block from "../../src/journal/Block.js"
import type { Disk } from "../../src/journal/Disk.js"
import { type Fence, Journal } from "../../src/journal/Journal.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { SnapshotStore } from "../../src/journal/SnapshotStore.js"
import type { Feed, ReadError } from "../../src/sequencer/Feed.js"
import * as Forgery from "../world/Forgery.js"
import type { SimRandom } from "../world/SimRandom.js"
import { firstDecidedAgain, type Ground } from "./Plants.js"

/** The check of a part, the text that its result must contain, and the result. */
export interface Probed {
  readonly what: string
  readonly must: string
  readonly came: string
}

/**
 * Forges the digest of a block's outcomes, with a newest snapshot that vouches for it, so that a start does not replay the block. Returns
 * the block; undefined where the journal has none decided under the next start's rules.
 */
export const forgeBehindSnapshot = (ground: Ground): Block.Block | undefined => {
  const { blocks, disk, newest: { schema, sections, sequence }, onSnapshots, random } = ground
  const first = firstDecidedAgain(ground)
  if (first >= blocks.length || blocks.at(-1)!.block.lastSequence !== sequence) return undefined
  const at = random.between(first, blocks.length - 1)
  const { block } = blocks[at]!
  Forgery.rewriteFrom(disk, blocks, at, { ...block, outcomeDigest: Forgery.another(block.outcomeDigest) })
  const blockDigest = Forgery.blocksOf(disk).at(-1)!.block.digest
  onSnapshots(Effect.flatMap(SnapshotStore, (store) => store.save({ sequence, blockDigest, schema, sections })))
  return block
}

/** A way of reading a feed over a block; its result fails where the block must not be served. */
type ReadingOver = (feed: Feed["Type"], block: Block.Block) => Effect.Effect<unknown, ReadError>

const isOver = ({ lastSequence }: Block.Block) => ({ block }: { readonly block: Block.Block }): boolean =>
  block.lastSequence >= lastSequence

const readings: ReadonlyArray<readonly [what: string, read: ReadingOver]> = [
  ["who reads on", (feed, block) => Stream.runDrain(Stream.takeUntil(feed.from(block.firstSequence), isOver(block)))],
  ["who reads with a state", (feed, block) => Stream.runDrain(Stream.takeUntil(feed.standingFrom(block.firstSequence), isOver(block)))],
  ["who runs records again",
    (feed, block) =>
      Effect.flatMap(feed.rerun(block.firstSequence - 1, [], Effect.void), (rerun) =>
        Effect.ensuring(
          Effect.repeat(Effect.suspend(() => rerun.next(() => {})), { while: () => rerun.sequence() < block.lastSequence }),
          rerun.close
        ))]
]

/** Reads a feed, in one of its ways, over a block that was forged before the snapshot. */
export const readOver = (random: SimRandom, block: Block.Block, told: (probed: Probed) => void) => {
  const [who, read] = random.pick(readings)
  return (feed: Feed["Type"]): Effect.Effect<void> =>
    Effect.map(Effect.exit(read(feed, block)), (exit) => {
      const failure = Exit.isFailure(exit) ? String(exit.cause) : "it was given as decided"
      const must = `replaying sequences ${block.firstSequence} to ${block.lastSequence} decides`
      told({ what: `${who} over a block that names another digest of what it decided`, must, came: failure })
    })
}

/** A block offered to the journal, by its header's values, and the fence that it is written with. */
interface Offer {
  readonly what: string
  readonly epoch: number
  readonly firstSequence: number
  readonly previousDigest: Uint8Array
  readonly fence: Fence
}

/** One block that follows the journal, offered last, and others that do not. */
const offers = ({ digest, epoch, nextSequence }: Journal["Type"]["opened"], random: SimRandom): ReadonlyArray<Offer> => {
  const fence: Fence = { epoch, previousDigest: digest }
  const proper: Offer = { what: "a block that follows the journal", epoch, firstSequence: nextSequence, previousDigest: digest, fence }
  const otherEpoch = epoch > 1 && random.chance(0.5) ? epoch - 1 : epoch + 1
  const otherSequence = random.chance(0.5) ? nextSequence - 1 : nextSequence + 1
  const otherDigest = Forgery.another(digest)
  return [
    { ...proper, what: "a block by a writer of another epoch", fence: { ...fence, epoch: otherEpoch } },
    { ...proper, what: "a block of another epoch", epoch: otherEpoch },
    { ...proper, what: "a writer of another epoch and its block", epoch: otherEpoch, fence: { ...fence, epoch: otherEpoch } },
    { ...proper, what: "a block by a writer that stands behind another block", fence: { ...fence, previousDigest: otherDigest } },
    { ...proper, what: "a block that names another one before it", previousDigest: otherDigest },
    { ...proper, what: "a block of another sequence", firstSequence: otherSequence },
    proper
  ]
}

/** Offers the journal blocks that do not follow it, and one that does: `last` is the journal's last block. */
export const fences = (
  options: SegmentJournal.Options,
  last: Block.Block,
  random: SimRandom
): Effect.Effect<ReadonlyArray<Probed>, unknown, Disk> =>
  Effect.flatMap(Journal, (journal) => {
    const each = offers(journal.opened, random)
    return Effect.forEach(each, ({ epoch, fence, firstSequence, previousDigest, what }, index) => {
      const builder = new Block.Builder()
      builder.begin({ epoch, firstSequence, previousDigest })
      for (const [at, { command }] of last.records.entries()) builder.add(firstSequence + at, journal.opened.atEpochMs, command)
      return Effect.map(Effect.exit(journal.append(builder.finish(last.outcomeDigest), fence)), (exit): Probed => ({
        what: `the journal when it is offered ${what}`,
        must: index < each.length - 1 ? "Fenced" : "it took it",
        came: Exit.isSuccess(exit) ? "it took it" : String(exit.cause)
      }))
    })
  }).pipe(Effect.provide(SegmentJournal.layer(options)))
