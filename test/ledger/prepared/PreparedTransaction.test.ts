/** Prepared transactions encoded and decoded, and bytes that are none. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as Hash from "../../../src/ledger/prepared/Hash.js"
import * as Prepared from "../../../src/ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../../../src/ledger/prepared/Wire.js"
import { prepared } from "./arbitraries.js"

const runs = { numRuns: 300 }

const hex = (hash: Uint8Array | Hash.Unhashable): string =>
  hash instanceof Hash.Unhashable ? hash.reason : Buffer.from(hash).toString("hex")
const reasonOf = (result: Prepared.PreparedTransaction | Malformed): string => result instanceof Malformed ? result.reason : "none"

describe("a transaction", () => {
  test("comes back from its bytes the same, with the same hash", () => {
    fc.assert(
      fc.property(prepared, (one) => {
        const encoded = Prepared.encode(one)
        fc.pre(encoded.length <= Prepared.maxBytes)
        const again = Prepared.decode(encoded)
        expect(again).toStrictEqual(one)
        for (const scheme of [2, 3] as const) {
          expect(hex(Hash.hash(again as Prepared.PreparedTransaction, scheme))).toBe(hex(Hash.hash(one, scheme)))
        }
      }),
      runs
    )
  })

  test("has a hash of its own: any other one has another, but for what scheme V2 does not sign", () => {
    fc.assert(
      fc.property(prepared, prepared, (one, other) => {
        const unsigned = (of: Prepared.PreparedTransaction, withMaximum: boolean): string =>
          Buffer.from(Prepared.encode({
            transaction: { ...of.transaction, nodeSeeds: [] },
            metadata: {
              ...of.metadata,
              maxRecordTime: withMaximum ? of.metadata.maxRecordTime : undefined,
              inputContracts: of.metadata.inputContracts.map((input) => ({ ...input, eventBlob: new Uint8Array() }))
            }
          })).toString("hex")
        if (unsigned(one, true) !== unsigned(other, true)) expect(hex(Hash.hash(one, 3))).not.toBe(hex(Hash.hash(other, 3)))
        const later = { ...one, metadata: { ...one.metadata, maxRecordTime: (one.metadata.maxRecordTime ?? 0n) ^ 1n } }
        expect(hex(Hash.hash(later, 2))).toBe(hex(Hash.hash(one, 2)))
        expect(hex(Hash.hash(later, 3))).not.toBe(hex(Hash.hash(one, 3)))
      }),
      runs
    )
  })

  test("is not read where anything is changed, left out or added that could not be told afterwards", () => {
    fc.assert(
      fc.property(prepared, fc.nat(), fc.integer({ min: 1, max: 255 }), (one, position, change) => {
        const encoded = Prepared.encode(one)
        fc.pre(encoded.length > 0 && encoded.length <= Prepared.maxBytes)
        const at = position % encoded.length
        const changed = Uint8Array.from(encoded)
        changed[at]! ^= change
        for (const bytes of [changed, encoded.subarray(0, at)]) {
          const read = Prepared.decode(bytes)
          // Whatever is decoded is decoded completely: encoding it again loses nothing.
          if (!(read instanceof Malformed)) expect(Prepared.decode(Prepared.encode(read))).toStrictEqual(read)
        }
      }),
      runs
    )
  })

  test("is never read from chance, and reading never throws", () => {
    fc.assert(fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
      const read = Prepared.decode(bytes)
      if (!(read instanceof Malformed)) expect(read.transaction).toBeDefined()
    }), runs)
  })
})

const [sample] = fc.sample(prepared, { seed: 1, numRuns: 1 })
const sound = Prepared.encode(sample!)
const appended = (write: (writer: BinaryWriter) => BinaryWriter): Uint8Array => Buffer.concat([sound, write(new BinaryWriter()).finish()])

describe("bytes are refused", () => {
  const rows: ReadonlyArray<readonly [name: string, bytes: Uint8Array, reason: RegExp]> = [
    ["with an unknown field", appended((writer) => writer.tag(3, WireType.Varint).uint32(1)),
      /^PreparedTransaction has an unknown field 3$/],
    ["with a field twice", appended((writer) => writer.tag(2, WireType.LengthDelimited).bytes(new Uint8Array())),
      /^field 2 |is missing|comes twice/],
    ["with another wire type", appended((writer) => writer.tag(1, WireType.Varint).uint32(1)),
      /^field 1 of PreparedTransaction has wire type 0$/],
    ["that end too early", sound.subarray(0, sound.length - 1), /./],
    ["of nothing", new Uint8Array(), /^field 1 is missing$/],
    ["that are too many", new Uint8Array(Prepared.maxBytes + 1), /^32769 bytes of at most 32768$/]
  ]
  for (const [name, bytes, reason] of rows) test(name, () => expect(reasonOf(Prepared.decode(bytes))).toMatch(reason))

  test("where values are nested without end", () => {
    let nested: Prepared.Value = { case: "unit", value: {} }
    for (let depth = 0; depth < 200; depth++) nested = { case: "optional", value: { value: nested } }
    const create: Prepared.Create = {
      lfVersion: "2.1",
      contractId: "00",
      packageName: "",
      templateId: { packageId: "", moduleName: "", entityName: "" },
      argument: nested,
      signatories: [],
      stakeholders: []
    }
    const deep = {
      ...sample!,
      transaction: { ...sample!.transaction, nodes: [{ nodeId: "0", v1: { case: "create" as const, value: create } }] }
    }
    expect(reasonOf(Prepared.decode(Prepared.encode(deep)))).toBe("messages are nested deeper than 48")
  })

  test("where text is no UTF-8", () => {
    const text = Buffer.from(sound)
    const metadata = new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(new Uint8Array()).tag(2, WireType.LengthDelimited).fork()
      .tag(2, WireType.LengthDelimited).bytes(new Uint8Array()).tag(3, WireType.LengthDelimited).bytes(Uint8Array.of(0xff)).join().finish()
    expect(reasonOf(Prepared.decode(metadata))).toMatch(/UTF-8|encoded data was not valid/i)
    expect(reasonOf(Prepared.decode(text))).toBe("none")
  })
})
