/**
 * P5: appending finished blocks of 200-byte records to the journal until they are durable, against writing the
 * same bytes to the end of a fresh file and calling fdatasync, one block after the other, on the same disk.
 */
import * as fs from "node:fs"
import { Effect, Layer } from "effect"
import * as Command from "../../src/domain/Command.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import type { Fenced, Full, Unknown } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { compare, type Options, type Section } from "./Section.js"

/** Inside the project, so that it is a disk and not memory; removed afterwards. */
const directory = `data/bench-P5-${process.pid}`
const blocks = 2_000
const recordBytes = 200
/** What frames a record's payload. */
const recordHeaderBytes = 21
const firstEpochMs = 1_700_000_000_000

/** A placement whose record takes 200 bytes. */
const commandOf = (sequence: number): Command.PlaceOrders => {
  const idempotencyKey = `00000000-0000-4000-8000-${String(sequence).padStart(12, "0")}`
  const known = `[3,41,17,"${idempotencyKey}",2,"",9,6512345,250000]`.length
  return {
    kind: "PlaceOrders",
    operation: Command.Operation.placeV2,
    account: 41,
    apiKey: 17,
    idempotencyKey,
    entries: [{
      market: 2,
      clientOrderId: String(sequence).padStart(recordBytes - recordHeaderBytes - known, "o"),
      side: 1,
      type: 0,
      timeInForce: 0,
      priceAtoms: 6_512_345,
      quantityAtoms: 250_000,
      postOnly: true,
      reduceOnly: false,
      selfTradePrevention: 0,
      expiresAtEpochMs: 0,
      fault: 0,
      raw: ""
    }]
  }
}

const outcomeDigest = Buffer.alloc(Block.digestBytes, 1)

/** The blocks of a new journal, one after the other. */
const buildBlocks = (records: number): ReadonlyArray<Block.Encoded> => {
  const builder = new Block.Builder()
  let previousDigest = Block.genesisDigest
  return Array.from({ length: blocks }, (_, index) => {
    const firstSequence = index * records + 1
    builder.begin({ epoch: 1, firstSequence, previousDigest })
    for (let sequence = firstSequence; sequence < firstSequence + records; sequence++) {
      builder.add(sequence, firstEpochMs + sequence, commandOf(sequence))
    }
    const block = builder.finish(outcomeDigest)
    previousDigest = block.digest
    return block
  })
}

/** Blocks a second through the journal, with `depth` of them in flight. */
const timeJournal = (appended: ReadonlyArray<Block.Encoded>, depth: number): Promise<number> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    return yield* Effect.async<number, Fenced | Unknown | Full>((resume) => {
      let begun = 0
      let durable = 0
      const startedAt = performance.now()
      const appendNext = (): void => {
        const block = appended[begun++]
        if (block === undefined) return
        journal.begin(block, { epoch: journal.opened.epoch, previousDigest: block.previousDigest }, (failure) => {
          if (failure !== undefined) return resume(Effect.fail(failure))
          durable++
          if (durable === appended.length) resume(Effect.succeed(perSecond(durable, startedAt)))
          else appendNext()
        })
      }
      for (let flight = 0; flight < depth; flight++) appendNext()
    })
  }).pipe(
    Effect.provide(SegmentJournal.layer().pipe(Layer.provide(NodeDisk.layer(directory)))),
    Effect.ensuring(Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))),
    Effect.runPromise
  )

const perSecond = (count: number, startedAt: number): number => count / ((performance.now() - startedAt) / 1000)

/** Writes of the same bytes a second: write at the end, fdatasync, the next. */
const timeFile = (appended: ReadonlyArray<Block.Encoded>): Promise<number> => {
  fs.mkdirSync(directory, { recursive: true })
  const descriptor = fs.openSync(`${directory}/appended`, "wx+")
  return new Promise<number>((resolve, reject) => {
    const startedAt = performance.now()
    const next = (index: number, position: number): void => {
      const block = appended[index]
      if (block === undefined) return resolve(perSecond(index, startedAt))
      fs.write(descriptor, block.bytes, 0, block.bytes.length, position, (writeError) => {
        if (writeError) return reject(writeError)
        fs.fdatasync(descriptor, (syncError) => syncError ? reject(syncError) : next(index + 1, position + block.bytes.length))
      })
    }
    next(0, 0)
  }).finally(() => {
    fs.closeSync(descriptor)
    fs.rmSync(directory, { recursive: true, force: true })
  })
}

const measure = async (section: string, records: number, depth: number, options: Options) => {
  const appended = buildBlocks(records)
  // Once each before it counts: compiled code on both sides.
  await timeFile(appended)
  await timeJournal(appended, depth)
  return compare(section, "blocks/s", options, () => timeFile(appended), () => timeJournal(appended, depth))
}

export const section: Section = {
  name: "P5",
  run: async (options) => [
    await measure("P5-1", 1, 1, options),
    await measure("P5-10", 10, 1, options),
    await measure("P5-100", 100, 1, options),
    await measure("P5-100x2", 100, 2, options)
  ]
}
