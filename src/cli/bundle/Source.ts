/** A bundle as a journal that can be replayed: its blocks after its first state. Nothing can be appended to it. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { Engine } from "../../engine/Engine.js"
import * as Snapshot from "../../engine/Snapshot.js"
import * as Block from "../../journal/Block.js"
import { Corrupt, Fenced, Journal, type Unreadable } from "../../journal/Journal.js"
import type { Source } from "../replay/Follow.js"
import * as Bundle from "./Bundle.js"

/** The location named in reports of damage, where a journal would name a segment. */
const place = "the bundle"

/** The bundle as a journal. A block or a state that this program could not have written is `Corrupt`. */
export const make = (bundle: Bundle.Bundle): Source => {
  const { base, blocks, capacity, manifest } = bundle
  const last = blocks.at(-1)!
  const refusal = new Fenced({ reason: "a bundle is only read" })
  const source: Source = {
    ...Journal.of({
      opened: {
        epoch: last.header.epoch + 1,
        nextSequence: manifest.lastSequence + 1,
        atEpochMs: Block.checkRecords(last.bytes, 0, last.header, 0),
        digest: last.digest,
        starts: [],
        torn: undefined
      },
      settle: Effect.void,
      room: () => "nothing",
      space: () => ({ room: "nothing", freeBytes: 0, shortage: refusal.reason }),
      whenRoom: () => {},
      append: () => Effect.fail(refusal),
      begin: (_block, _fence, done) => done(refusal),
      before: () => Effect.succeed(manifest.firstSequence - 1),
      replay: (fromSequence) =>
        Stream.fromIterable(blocks).pipe(
          Stream.filter((block) => block.header.lastSequence >= fromSequence),
          Stream.mapEffect(decode)
        ),
      links: (fromSequence) =>
        Stream.fromIterable(blocks).pipe(
          Stream.filter((block) => block.header.lastSequence >= fromSequence),
          Stream.map(({ digest, header: { codec, firstSequence, lastSequence } }) => ({ firstSequence, lastSequence, digest, codec }))
        )
    })
  }
  if (base === undefined) return source
  return {
    ...source,
    base: Effect.try({
      try: () => new Engine(Snapshot.unsafeDecode(Snapshot.migrate(base.sections, base.schema), capacity)),
      catch: (error) => {
        const reason = `its state cannot be loaded: ${String(error)}`
        return new Corrupt({ segment: place, offset: 0, sequence: base.sequence, reason })
      }
    })
  }
}

const decode = (block: Bundle.Sealed): Effect.Effect<Block.Block, Unreadable> =>
  Effect.try({
    try: () => Bundle.decode(block),
    catch: (error) => {
      if (!(error instanceof Block.Malformed)) throw error
      return new Corrupt({ segment: place, offset: 0, sequence: error.sequence, reason: error.message })
    }
  })
