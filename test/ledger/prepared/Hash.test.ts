/**
 * Hashes compared with those that others compute: of participants' own transactions, of Canton's tests of its hashing (its values, nodes
 * and metadata, written here anew), and of Canton's published Python example for a transaction of the venue's.
 */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { describe, expect, test } from "vitest"
import * as Hash from "../../../src/ledger/prepared/Hash.js"
import * as Prepared from "../../../src/ledger/prepared/PreparedTransaction.js"
import { fingerprint, multiHash } from "../../../src/ledger/prepared/Topology.js"
import { Malformed } from "../../../src/ledger/prepared/Wire.js"

interface Vectors {
  readonly participants: ReadonlyArray<{ readonly preparedTransaction: string; readonly scheme: 2 | 3; readonly hash: string }>
  readonly acceptance: { readonly preparedTransaction: string; readonly hashes: Readonly<Record<"2" | "3", string>> }
  readonly topology: {
    readonly transactions: ReadonlyArray<string>
    readonly multiHash: string
    readonly publicKey: string
    readonly fingerprint: string
  }
}
const vectors = JSON.parse(fs.readFileSync("fixtures/ledger/hashes.json", "utf8")) as Vectors

const bytes = (base64: string): Uint8Array => Uint8Array.from(Buffer.from(base64, "base64"))
const hex = (hash: Uint8Array | Hash.Unhashable): string =>
  hash instanceof Hash.Unhashable ? hash.reason : Buffer.from(hash).toString("hex")
const decoded = (base64: string): Prepared.PreparedTransaction => {
  const prepared = Prepared.decode(bytes(base64))
  if (prepared instanceof Malformed) throw new Error(prepared.reason)
  return prepared
}

describe("transactions of participants", () => {
  for (const [index, { hash, preparedTransaction, scheme }] of vectors.participants.entries()) {
    test(`have the hash that their participant says (${index + 1}), and come to the same bytes again`, () => {
      const prepared = decoded(preparedTransaction)
      expect(hex(Hash.hash(prepared, scheme))).toBe(Buffer.from(hash, "base64").toString("hex"))
      expect(Buffer.from(Prepared.encode(prepared)).toString("base64")).toBe(preparedTransaction)
    })
  }

  test("of the venue's have the hash that Canton's example computes, by both schemes", () => {
    const prepared = decoded(vectors.acceptance.preparedTransaction)
    expect(hex(Hash.hash(prepared, 2))).toBe(vectors.acceptance.hashes[2])
    expect(hex(Hash.hash(prepared, 3))).toBe(vectors.acceptance.hashes[3])
  })
})

const identifier = (moduleName: string, entityName: string, packageId = "package"): Prepared.Identifier => ({
  packageId,
  moduleName,
  entityName
})
const text = (value: string): Prepared.Value => ({ case: "text", value })
const int64 = (value: bigint): Prepared.Value => ({ case: "int64", value })
const yes: Prepared.Value = { case: "bool", value: true }

const contractId1 = "0007e7b5534931dfca8e1b485c105bae4e10808bd13ddc8e897f258015f9d921c5"
const contractId2 = "0059b59ad7a6b6066e77b91ced54b8282f0e24e7089944685cb8f22f32fcbc4e1b"

describe("values have the hashes that Canton tests for", () => {
  const id = identifier("module", "name")
  const rows: ReadonlyArray<readonly [name: string, value: Prepared.Value, hash: string]> = [
    ["unit", { case: "unit", value: {} }, "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"],
    ["true", yes, "9dcf97a184f32623d11a73124ceb99a5709b083721e878a16d78f596718ba7b2"],
    ["false", { case: "bool", value: false }, "47dc540c94ceb704a23875c11273e16bb0b8a87aed84de911f2133568115f254"],
    ["text", text("hello world!"), "a24821b4741b3616920a37dfccf3b1e271184c82fc89377ab22e5d96d9330e5c"],
    ["numeric", { case: "numeric", value: "125.1002" }, "fd23ea3b05b8b0e1d15902cccf7c6c0e6e292f0ae3e96513c8d8cec9d4f9bda9"],
    ["contract id", { case: "contractId", value: contractId2 }, "6a3e241cebc1dc5e7574be0cf122edc9cb65ffc3fa59fb069c5ab3bbb4598414"],
    ["enum", { case: "enum", value: { id, alternative: "ENUM" } }, "9c8f627c22d6871e111e1f5d1980a6a24bcc6311bbc73fd3932a4d79fa9c09f2"],
    ["int64", int64(10n), "a74730eb88baf5118934d3675ccf50eac1e4e873000ecd75b5917c78ee30ef26"],
    ["variant", { case: "variant", value: { id, alternative: "ENUM", value: yes } },
      "bceee77c48d80db35f237c3877c6711db19a8c135d2d0323c21f01afc2eb7612"],
    ["list", { case: "list", value: { elements: [text("five"), int64(5n), yes] } },
      "6049408351d7be2c9d6ae7a1beecf08676fa72955c376c89571a1c5f04f272bd"],
    [
      "text map",
      {
        case: "textMap",
        value: { entries: [{ key: "bar", value: text("1284") }, { key: "foo", value: { case: "numeric", value: "31380.0" } }] }
      },
      "b318100aac8cde766598a0a5bc05451feaec7c90400f75de93100d0c87ec24cf"
    ],
    [
      "map",
      { case: "genMap", value: { entries: [{ key: int64(5n), value: text("five") }, { key: int64(10n), value: text("ten") }] } },
      "523c5247ed42efa40dd6b0165a01c1b14dcede7b39a1f33a3590fc7defc4a610"
    ],
    ["nothing", { case: "optional", value: { value: undefined } }, "a2c4aed1cf757cd9a509734a267ffc7b1166b55f4c8f9c3e3550c56e743328fc"],
    ["something", { case: "optional", value: { value: text("hello") } },
      "dfba7295cf094b6b3ffdf3e44411793264882b38c810f9dff63148890a466171"],
    ["timestamp", { case: "timestamp", value: 1_729_788_226_000_000n }, "18efa9ad9adfa83fc3e84cdbe9c4b9f0e7305376e858e5bd909117209111c9d5"],
    ["date", { case: "date", value: 20_020 }, "6892b74f329df4e0fd850c0e4d35384d3a4aef0a2f0f32070172c1f121ff632f"],
    [
      "record",
      { case: "record", value: { id, fields: [{ label: "field1", value: yes }, { label: "field2", value: text("hello") }] } },
      "ae594f7684700c299af9bc0b83758f2d71836ae6d9ea628d310f0305698df6f2"
    ]
  ]
  for (const [name, value, hash] of rows) {
    test(name, () => expect(createHash("sha256").update(new Hash.Encoding().value(value).bytes).digest("hex")).toBe(hash))
  }
})

const create = (contractId: string): Prepared.Create => ({
  lfVersion: "2.1",
  contractId,
  packageName: "package-name-0",
  templateId: identifier("module", "name"),
  argument: text("hello"),
  signatories: ["alice", "bob"],
  stakeholders: ["alice", "charlie"]
})

const fetched: Prepared.Fetch = {
  lfVersion: "2.1",
  contractId: contractId1,
  packageName: "package-name-0",
  templateId: identifier("module", "name"),
  signatories: ["alice"],
  stakeholders: ["charlie"],
  actingParties: ["alice", "bob"],
  interfaceId: undefined
}

const exercised: Prepared.Exercise = {
  ...fetched,
  interfaceId: identifier("interface_module", "interface_name"),
  choiceId: "choice",
  chosenValue: int64(31_380n),
  consuming: true,
  children: ["2", "3"],
  exerciseResult: text("result"),
  choiceObservers: ["david"]
}

const seedOf = (seed: string): Uint8Array => Buffer.from(seed, "hex")
const createSeed = seedOf("926bbb6f341bc0092ae65d06c6e284024907148cc29543ef6bff0930f5d52c19")
const exerciseSeed = seedOf("a867edafa1277f46f879ab92c373a15c2d75c5d86fec741705cee1eb01ef8c9e")

/** A create, and beside it a rollback with a fetch and an exercise that creates and fetches. Every kind of node occurs. */
const transaction: Prepared.DamlTransaction = {
  version: "2.1",
  roots: ["0", "5"],
  nodes: [
    { nodeId: "0", v1: { case: "create", value: create(contractId1) } },
    { nodeId: "5", v1: { case: "rollback", value: { children: ["1", "4"] } } },
    { nodeId: "1", v1: { case: "fetch", value: fetched } },
    { nodeId: "4", v1: { case: "exercise", value: exercised } },
    { nodeId: "2", v1: { case: "create", value: create(contractId1) } },
    { nodeId: "3", v1: { case: "fetch", value: fetched } }
  ],
  nodeSeeds: [{ nodeId: 0, seed: createSeed }, { nodeId: 2, seed: createSeed }, { nodeId: 4, seed: exerciseSeed }]
}

const input = (contractId: string, party: string, lfVersion: string): Prepared.Create => ({
  lfVersion,
  contractId,
  packageName: "PkgName",
  templateId: identifier("DummyModule", "dummyName", "-dummyPkg-"),
  argument: { case: "contractId", value: "0097a092402108f5593bac7fb3c909cd316910197dd98d603042a45ab85c81e0fd" },
  signatories: [party],
  stakeholders: [party]
})

const metadata = (lfVersion: string): Prepared.Metadata => ({
  submitterInfo: { actAs: ["alice", "bob"], commandId: "command-id" },
  synchronizerId: "synchronizer::id",
  mediatorGroup: 0,
  transactionUuid: "4c6471d3-4e09-49dd-addf-6cd90e19c583",
  preparationTime: 0n,
  inputContracts: [
    { v1: input(contractId1, "alice", lfVersion), createdAt: 864_000_000_000n, eventBlob: Uint8Array.of(0, 0x10) },
    { v1: input(contractId2, "bob", lfVersion), createdAt: 1_728_000_000_000n, eventBlob: Uint8Array.of(0, 0x50) }
  ],
  minLedgerEffectiveTime: 0xaaaan,
  maxLedgerEffectiveTime: 0xbbbbn,
  maxRecordTime: 2_592_000_000_000n
})

describe("transactions have the hashes that Canton tests for", () => {
  test("what a transaction does, by scheme V2", () =>
    expect(hex(Hash.hashTransaction(transaction, 2))).toBe("154f334d24a8a5e4d0ce51ac87d93821b3256f885f21d3f779a1640abf481983"))

  test("its metadata, by scheme V2: without the maximum record time", () => {
    const expected = "6e89fcbcc9605179a47919b5e65a864e470e7a133f4f9f39b1e4545b223db769"
    expect(hex(Hash.hashMetadata(metadata("2.1"), 2))).toBe(expected)
    expect(hex(Hash.hashMetadata({ ...metadata("2.1"), maxRecordTime: undefined }, 2))).toBe(expected)
  })

  test("its metadata, by scheme V3: with the maximum record time", () => {
    const expected = "5a4c6aa89bb80d0af05a3f0614ba07bc7469795fff66d7b9e87c876eb0137e0a"
    expect(hex(Hash.hashMetadata(metadata("2"), 3))).toBe(expected)
    expect(hex(Hash.hashMetadata({ ...metadata("2"), maxRecordTime: undefined }, 3))).not.toBe(expected)
  })

  test("the whole, by scheme V2", () =>
    expect(hex(Hash.hash({ transaction, metadata: metadata("2.1") }, 2))).toBe(
      "8c311c848db25d36b36fbd59f9483714a11688c2214e3c7cae3e028763520250"
    ))

  test("nodes are hashed for what they are, not for what they are called", () => {
    const renamed = (id: string): string => String(Number(id) + 40)
    const other: Prepared.DamlTransaction = {
      ...transaction,
      roots: transaction.roots.map(renamed),
      nodes: transaction.nodes.map(({ nodeId, v1 }) => ({
        nodeId: renamed(nodeId),
        v1: v1.case === "rollback"
          ? { case: "rollback", value: { children: v1.value.children.map(renamed) } }
          : v1.case === "exercise"
          ? { case: "exercise", value: { ...v1.value, children: v1.value.children.map(renamed) } }
          : v1
      })),
      nodeSeeds: transaction.nodeSeeds.map(({ nodeId, seed }) => ({ nodeId: nodeId + 40, seed }))
    }
    expect(hex(Hash.hashTransaction(other, 3))).toBe(hex(Hash.hashTransaction(transaction, 3)))
  })
})

describe("a transaction that is no forest has no hash", () => {
  const rows: ReadonlyArray<readonly [name: string, other: Partial<Prepared.DamlTransaction>, reason: string]> = [
    ["a root that is missing", { roots: ["0", "9"] }, "node 9 is missing"],
    ["a node under two others", { roots: ["0", "5", "2"] }, "node 2 is under two others"],
    ["a node under no root", { roots: ["5"] }, "node 0 is under no root"],
    ["two nodes of one name", { nodes: [...transaction.nodes, transaction.nodes[0]!] }, "node 0 is there twice"],
    ["an exercise without a seed", { nodeSeeds: [] }, "exercise node 4 has no seed"],
    ["two seeds of one node", { nodeSeeds: [...transaction.nodeSeeds, transaction.nodeSeeds[0]!] }, "node 0 has two seeds"],
    ["a seed that is too short", { nodeSeeds: [{ nodeId: 0, seed: new Uint8Array(31) }] }, "the seed of node 0 has 31 bytes"]
  ]
  for (const [name, other, reason] of rows) {
    test(name, () => expect(hex(Hash.hash({ transaction: { ...transaction, ...other }, metadata: metadata("2.1") }, 3))).toBe(reason))
  }

  test("a contract id that is no hexadecimal", () => {
    const nodes = [{ nodeId: "0", v1: { case: "create" as const, value: create("00zz") } }]
    expect(hex(Hash.hash({ transaction: { ...transaction, roots: ["0"], nodes }, metadata: metadata("2.1") }, 3))).toBe(
      "a contract id is not hexadecimal"
    )
  })
})

describe("topologies", () => {
  const { fingerprint: print, multiHash: expected, publicKey, transactions } = vectors.topology
  test("have the hash that Canton's wallet signs, in whatever order they are", () => {
    const all = transactions.map(bytes)
    expect(Buffer.from(multiHash(all)).toString("base64")).toBe(expected)
    expect(Buffer.from(multiHash(all.toReversed())).toString("base64")).toBe(expected)
  })
  test("name a key by the fingerprint that participants give it", () => expect(fingerprint(bytes(publicKey))).toBe(print))
})
