/** A command's header is read back from a record unchanged; bytes that no writer writes are refused. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Malformed } from "../../src/journal/Malformed.js"
import * as RecordHeader from "../../src/journal/RecordHeader.js"
import { type Header, internal, Principal } from "../../src/operations/Header.js"
import { Operation } from "../../src/operations/Operations.js"
import { complete } from "../engine/commands.js"
import * as arbitraries from "./arbitraries.js"

/** A header among other bytes, and where it ends. */
const written = (header: Header): { readonly bytes: Buffer; readonly end: number } => {
  const bytes = Buffer.alloc(RecordHeader.maxBytes + 20, 0xa5)
  return { bytes, end: 7 + RecordHeader.write(bytes, 7, header) }
}

const cancel = arbitraries.headerOf(complete({
  kind: "CancelOrders",
  operation: Operation.cancelV1,
  account: 0x0102,
  credential: 3,
  idempotencyKey: "key",
  entries: []
}))

describe("RecordHeader", () => {
  test("every header is read back as it was written, from where it lies, in as many bytes as it says", () => {
    fc.assert(
      fc.property(arbitraries.command, (command) => {
        const header = arbitraries.headerOf(command)
        const { bytes, end } = written(header)
        expect(RecordHeader.endOf(bytes, 7, bytes.length)).toBe(end)
        expect(RecordHeader.endOf(bytes, 7, end)).toBe(end)
        expect(RecordHeader.read(bytes, 7)).toStrictEqual(header)
        expect(end - 7).toBeLessThanOrEqual(RecordHeader.maxBytes)
        expect(bytes.subarray(end).every((byte) => byte === 0xa5)).toBe(true)
      }),
      { numRuns: 1_000 }
    )
  })

  test("cut off anywhere it is refused", () => {
    const { bytes, end } = written(cancel)
    for (let at = 7; at < end; at++) expect(() => RecordHeader.endOf(bytes, 7, at)).toThrow(Malformed)
    const short = written(internal(Principal.timer))
    expect(short.end).toBe(10)
    for (let at = 7; at < 10; at++) expect(() => RecordHeader.endOf(short.bytes, 7, at)).toThrow(Malformed)
  })

  test("its bytes stay what journals on disks have", () => {
    const { bytes, end } = written({ ...cancel, fingerprint: { a: 1, b: -1, c: 0x7fff_ffff, d: 2 } })
    expect(bytes.toString("hex", 7, end)).toBe("050503020100000300000001000000ffffffffffffff7f020000006b6579")
    expect(written(internal(Principal.feed)).bytes.toString("hex", 7, 10)).toBe("030000")
  })

  test.each<[name: string, at: number, value: number, reason: string]>([
    ["a principal that nobody is", 0, 11, "unknown principal 11"],
    ["no principal", 0, 0, "unknown principal 0"],
    ["a request that there is none of", 1, 99, "unknown request 99"]
  ])("%s is refused", (_, at, value, reason) => {
    const { bytes } = written(cancel)
    bytes[7 + at] = value
    expect(() => RecordHeader.read(bytes, 7)).toThrow(reason)
    expect(() => RecordHeader.read(bytes, 7)).toThrow(Malformed)
  })

  test.each<[name: string, bytes: ReadonlyArray<number>, reason: string]>([
    ["a key without a request", [Principal.operator, 0, 1], "an Idempotency-Key without a request"],
    ["an API key without a request", [Principal.key, 0, 0], "a client without a request"],
    ["an owner without a request", [Principal.session, 0, 0], "a client without a request"]
  ])("%s is refused", (_, bytes, reason) => {
    expect(() => RecordHeader.read(Buffer.from(bytes), 0)).toThrow(reason)
  })

  test("what could not be read back is never written", () => {
    const bytes = Buffer.alloc(1024)
    expect(() => RecordHeader.write(bytes, 0, { ...cancel, idempotencyKey: "k".repeat(256) })).toThrow("at most 255")
    expect(() => RecordHeader.write(bytes, 0, { ...cancel, operation: 0 })).toThrow("came by no request")
    expect(() => RecordHeader.write(bytes, 0, { ...internal(Principal.feed), account: 1 })).toThrow("came by no request")
  })
})
