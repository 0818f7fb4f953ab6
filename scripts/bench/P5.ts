/**
 * P5: appending finished blocks of 200-byte records to the journal until they are durable, against writing the
 * same bytes to the end of a fresh file and calling fdatasync, one block after the other, on the same disk.
 */
import * as fs from "node:fs"
import { Effect, Layer } from "effect"
import type { Context } from "effect"
import { none } from "../../src/domain/None.js"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { Principal } from "../../src/operations/Header.js"
import { Operation } from "../../src/operations/Operations.js"
import type { PlaceOrders } from "../../src/operations/orders/PlaceOrders.js"
import * as Block from "../../src/journal/Block.js"
import { Journal } from "../../src/journal/Journal.js"
import * as NodeDisk from "../../src/journal/NodeDisk.js"
import * as SegmentJournal from "../../src/journal/SegmentJournal.js"
import { format, median, type Options, result, type Result, type Section } from "./Section.js"

/** Inside the project, so that it is on a disk and not in memory; removed afterwards. */
const directory = `data/bench-P5-${process.pid}`
const blocksPerRun = 2_000
const sliceBlocks = 100
const recordBytes = 200
/** The bytes around a record's payload: its length, sequence, time and kind, and the header without the key. */
const recordHeaderBytes = 21 + 27
const firstEpochMs = 1_700_000_000_000

/** A placement whose record takes 200 bytes. */
const commandOf = (sequence: number): PlaceOrders => {
  const idempotencyKey = `00000000-0000-4000-8000-${String(sequence).padStart(12, "0")}`
  const known = idempotencyKey.length + `[2,"",9,6512345,250000]`.length
  return {
    kind: "PlaceOrders",
    principal: Principal.key,
    fingerprint: { a: sequence, b: ~sequence, c: Math.imul(sequence, 0x9e3779b1), d: 1 },
    operation: Operation.placeV2,
    account: 41,
    credential: 17,
    idempotencyKey,
    connection: none,
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
      raw: "",
      autoClose: noAutoClose
    }]
  }
}

const outcomeDigest = Buffer.alloc(Block.digestBytes, 1)

/** The consecutive blocks of a new journal. */
const buildBlocks = (records: number): ReadonlyArray<Block.Encoded> => {
  const builder = new Block.Builder()
  let previousDigest = Block.genesisDigest
  return Array.from({ length: blocksPerRun }, (_, index) => {
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

/** Appends blocks with `depth` of them in flight. Returns the milliseconds until all are durable. */
const timeJournal = (journal: Context.Tag.Service<Journal>, appended: ReadonlyArray<Block.Encoded>, depth: number): Promise<number> =>
  new Promise((resolve, reject) => {
    let begun = 0
    let durable = 0
    const startedAt = performance.now()
    const appendNext = (): void => {
      const block = appended[begun++]
      if (block === undefined) return
      journal.begin(block, { epoch: journal.opened.epoch, previousDigest: block.previousDigest }, (failure) => {
        if (failure !== undefined) return reject(failure)
        durable++
        if (durable === appended.length) resolve(performance.now() - startedAt)
        else appendNext()
      })
    }
    for (let flight = 0; flight < depth; flight++) appendNext()
  })

/** Writes the same bytes at the end of a file, with fdatasync after each. Returns the milliseconds that it takes. */
const timeFile = (descriptor: number, appended: ReadonlyArray<Block.Encoded>): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const next = (index: number): void => {
      const block = appended[index]
      if (block === undefined) return resolve(performance.now() - startedAt)
      fs.write(descriptor, block.bytes, 0, block.bytes.length, null, (writeError) => {
        if (writeError) return reject(writeError)
        fs.fdatasync(descriptor, (syncError) => syncError ? reject(syncError) : next(index + 1))
      })
    }
    next(0)
  })

/**
 * One run: both sides are open and take turns with slices of blocks, so that fluctuations of the disk affect both. Returns blocks per
 * second for each.
 */
const timeBoth = (blocks: ReadonlyArray<Block.Encoded>, depth: number): Promise<{ readonly ours: number; readonly reference: number }> =>
  Effect.gen(function*() {
    const journal = yield* Journal
    const descriptor = yield* Effect.acquireRelease(
      Effect.sync(() => fs.openSync(`${directory}/appended`, "ax")),
      (opened) => Effect.sync(() => fs.closeSync(opened))
    )
    let oursMs = 0
    let referenceMs = 0
    for (let from = 0; from < blocks.length; from += sliceBlocks) {
      const slice = blocks.slice(from, from + sliceBlocks)
      referenceMs += yield* Effect.promise(() => timeFile(descriptor, slice))
      oursMs += yield* Effect.promise(() => timeJournal(journal, slice, depth))
    }
    return { ours: blocks.length / (oursMs / 1000), reference: blocks.length / (referenceMs / 1000) }
  }).pipe(
    Effect.scoped,
    Effect.provide(SegmentJournal.layer().pipe(Layer.provide(NodeDisk.layer(directory)))),
    Effect.ensuring(Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))),
    Effect.runPromise
  )

const measure = async (section: string, records: number, depth: number, options: Options): Promise<Result> => {
  const blocks = buildBlocks(records)
  // A first run, which does not count, so that the code on both sides is compiled.
  await timeBoth(blocks, depth)
  const ours: Array<number> = []
  const references: Array<number> = []
  for (let run = 1; run <= options.runs; run++) {
    const timed = await timeBoth(blocks, depth)
    ours.push(timed.ours)
    references.push(timed.reference)
    options.log(`${section} run ${run}: ${format(timed.ours)} against ${format(timed.reference)} blocks/s, ${depth} in flight`)
  }
  return result(section, "blocks/s", median(ours), median(references))
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
