/**
 * A journal in memory whose blocks become durable, or fail, when a test says so. It checks the chain as a real one would. Fault model: an
 * answer may come late or never; nothing is torn.
 */
import { Effect, Stream } from "effect"
import type { Context } from "effect"
import * as Block from "../../src/journal/Block.js"
import type { Fence, Fenced, Full, Journal, Room, Unknown } from "../../src/journal/Journal.js"

type Failure = Fenced | Unknown | Full

export interface Begun {
  readonly block: Block.Encoded
  readonly records: ReadonlyArray<{ readonly sequence: number; readonly atEpochMs: number; readonly command: unknown }>
}

export class FakeJournal {
  /** Blocks handed over, oldest first. */
  readonly begun: Array<Begun> = []
  private readonly open: Array<(failure: Failure | undefined) => void> = []
  /** For which commands it claims to have room. */
  private room: Room = "all"
  private roomChanged = (): void => {}
  private previousDigest: Uint8Array = Block.genesisDigest
  private nextSequence = 1

  readonly service: Context.Tag.Service<typeof Journal> = {
    opened: { epoch: 3, nextSequence: 1, atEpochMs: 0, digest: Block.genesisDigest, starts: [], torn: undefined },
    begin: (block, fence, done) => {
      this.check(block, fence)
      this.begun.push({ block, records: recordsOf(block) })
      this.open.push(done)
    },
    settle: Effect.void,
    room: () => this.room,
    space: () => ({ room: this.room, freeBytes: 0, shortage: undefined }),
    whenRoom: (callback) => {
      this.roomChanged = callback
    },
    append: () => Effect.dieMessage("the sequencer appends without a fiber"),
    replay: () => Stream.empty,
    before: () => Effect.succeed(0),
    links: () => Stream.empty
  }

  /** Makes it a journal that was opened behind a sequence. */
  goOnBehind(sequence: number): void {
    this.nextSequence = sequence + 1
    Object.assign(this.service, { opened: { ...this.service.opened, nextSequence: this.nextSequence } })
  }

  /** Changes the room from now on. */
  make(room: Room): void {
    this.room = room
    this.roomChanged()
  }

  /** How many blocks are not durable yet. */
  get outstanding(): number {
    return this.open.length
  }

  private check(block: Block.Encoded, fence: Fence): void {
    if (fence.epoch !== 3 || block.epoch !== 3) throw new Error("a block of another epoch")
    if (!Buffer.from(fence.previousDigest).equals(this.previousDigest)) throw new Error("a fence behind another block")
    if (!Buffer.from(block.previousDigest).equals(this.previousDigest)) throw new Error("a block behind another block")
    if (block.firstSequence !== this.nextSequence) throw new Error("a gap before a block")
    if (this.open.length >= 4) throw new Error("a fifth block in flight")
    this.previousDigest = block.digest
    this.nextSequence = block.lastSequence + 1
  }

  /** Makes the oldest block durable. */
  settle(): void {
    const done = this.open.shift()
    if (done === undefined) throw new Error("nothing is in flight")
    done(undefined)
  }

  /** Makes the oldest block fail. */
  fail(failure: Failure): void {
    const done = this.open.shift()
    if (done === undefined) throw new Error("nothing is in flight")
    done(failure)
  }
}

const recordsOf = (block: Block.Encoded): Block.Block["records"] => {
  const bytes = Buffer.from(block.bytes)
  Block.place({ ...block, bytes }, { segment: 1, offset: 0 }, 0)
  const header = Block.readHeader(bytes, 0)
  if (header === undefined) throw new Error("a block without a header")
  return Block.read(bytes, 0, header, block.digest).records
}
