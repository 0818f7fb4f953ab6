/** What holds for the bytes of every block, whatever its records. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Block from "../../src/journal/Block.js"
import { complete } from "../engine/commands.js"
import * as arbitraries from "./arbitraries.js"

const outcome = Buffer.alloc(32, 7)
const previous = Buffer.alloc(32, 9)

const blockOf = (commands: ReadonlyArray<Parameters<Block.Builder["add"]>[2]>, builder = new Block.Builder(512)): Block.Encoded => {
  builder.begin({ epoch: 3, firstSequence: 2 ** 40, previousDigest: previous })
  commands.forEach((command, index) => builder.add(2 ** 40 + index, 1_700_000_000_000 + index, command))
  const { byteLength } = builder
  const block = builder.finish(outcome)
  expect(block.bytes.length).toBe(byteLength)
  return block
}

const readBack = (block: Block.Encoded): Block.Block => {
  const header = Block.readHeader(block.bytes, 0)
  if (header === undefined) throw new Error("the header is not intact")
  const digest = Block.verifiedDigest(block.bytes, 0, header)
  if (digest === undefined) throw new Error("the digest does not match")
  expect(Block.checkRecords(block.bytes, 0, header, 0)).toBe(block.atEpochMs)
  return Block.read(block.bytes, 0, header, digest)
}

const commands = fc.array(arbitraries.command, { minLength: 1, maxLength: 12 })

describe("Block", () => {
  test("is read back as it was built", () => {
    const builder = new Block.Builder()
    fc.assert(fc.property(commands, (added) => {
      const block = blockOf(added, builder)
      Block.place(block, { segment: 5, offset: 2 ** 33 }, 2 ** 40 - 1)
      const read = readBack(block)
      expect(read.records.map((record) => record.command)).toStrictEqual(added)
      expect(read.records.map((record) => record.sequence)).toStrictEqual(added.map((_, index) => 2 ** 40 + index))
      expect(read).toMatchObject({ epoch: 3, firstSequence: block.firstSequence, lastSequence: block.lastSequence })
      expect(Buffer.from(read.previousDigest)).toStrictEqual(previous)
      expect(Buffer.from(read.outcomeDigest)).toStrictEqual(outcome)
      expect(Buffer.from(read.digest)).toStrictEqual(block.digest)
    }))
  })

  test("has whole sectors with at least 32 bytes that are not zero in each", () => {
    fc.assert(fc.property(commands, (added) => {
      const { bytes } = blockOf(added)
      expect(bytes.length % Block.sectorBytes).toBe(0)
      for (let at = 0; at < bytes.length; at += Block.sectorBytes) {
        expect(bytes.subarray(at, at + Block.sectorBytes).filter((byte) => byte !== 0).length).toBeGreaterThanOrEqual(32)
      }
    }))
  })

  test("has a digest that does not depend on where it lies, and a checksum that does", () => {
    const one = blockOf([complete({ kind: "HaltEngine", idempotencyKey: "k" })])
    const other = blockOf([complete({ kind: "HaltEngine", idempotencyKey: "k" })])
    Block.place(one, { segment: 1, offset: 512 }, 0)
    Block.place(other, { segment: 1, offset: 1024 }, 0)
    expect(readBack(one).digest).toStrictEqual(readBack(other).digest)
    expect(Block.readHeader(one.bytes, 0)?.position).toStrictEqual({ segment: 1, offset: 512 })
    expect(Block.readHeader(other.bytes, 0)?.position).toStrictEqual({ segment: 1, offset: 1024 })
  })

  test("no longer verifies with any bit of it flipped", () => {
    const block = blockOf([complete({ kind: "HaltEngine", idempotencyKey: "k" }), complete({ kind: "ResumeEngine", idempotencyKey: "l" })])
    Block.place(block, { segment: 1, offset: 512 }, 0)
    for (let bit = 0; bit < block.bytes.length * 8; bit++) {
      block.bytes[bit >> 3]! ^= 1 << (bit & 7)
      const header = Block.readHeader(block.bytes, 0)
      expect(header !== undefined && Block.verifiedDigest(block.bytes, 0, header) !== undefined).toBe(false)
      block.bytes[bit >> 3]! ^= 1 << (bit & 7)
    }
    readBack(block)
  })

  test("refuses gaps and time going back", () => {
    const builder = new Block.Builder()
    builder.begin({ epoch: 1, firstSequence: 5, previousDigest: previous })
    expect(() => builder.add(6, 10, complete({ kind: "HaltEngine", idempotencyKey: "k" }))).toThrow("gapless")
    builder.add(5, 10, complete({ kind: "HaltEngine", idempotencyKey: "k" }))
    expect(() => builder.add(6, 9, complete({ kind: "HaltEngine", idempotencyKey: "k" }))).toThrow("never goes back")
    expect(() => new Block.Builder().finish(outcome)).toThrow("at least one record")
  })

  test("can be built again while the one before is still being written", () => {
    const builder = new Block.Builder()
    const first = blockOf([complete({ kind: "HaltEngine", idempotencyKey: "first" })], builder)
    const before = Buffer.from(first.bytes)
    blockOf([complete({ kind: "HaltEngine", idempotencyKey: "second" })], builder)
    expect(first.bytes.equals(before)).toBe(true)
  })
})
