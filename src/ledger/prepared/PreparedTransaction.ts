/**
 * Canton's `com.daml.ledger.api.v2.interactive.PreparedTransaction`, as far as the venue understands it: creates, fetches and exercises of
 * version 1 nodes without contract keys. A transaction that contains anything else is `Malformed`: the signature of a hash covers
 * everything in it.
 */
import * as Wire from "./Wire.js"

/** The longest prepared transaction that the venue stores, sends and reads, in bytes. */
export const maxBytes = 32 * 1024

/** Versions of Canton's transaction hashing. Version 3 covers the maximum record time. */
export type HashingScheme = 2 | 3

/** A template, a choice's interface or a record's type: `PACKAGE:Module:Entity`. */
const identifierKind = Wire.message("Identifier", {
  packageId: Wire.plain(1, Wire.text, ""),
  moduleName: Wire.plain(2, Wire.text, ""),
  entityName: Wire.plain(3, Wire.text, "")
})
export type Identifier = typeof identifierKind extends Wire.Kind<infer A> ? A : never

/** The kinds of values on the ledger. */
interface Sum {
  readonly unit: object
  readonly bool: boolean
  readonly int64: bigint
  /** Days since 1970. */
  readonly date: number
  /** Microseconds since 1970. */
  readonly timestamp: bigint
  /** A decimal number in the ledger's notation. */
  readonly numeric: string
  readonly party: string
  readonly text: string
  readonly contractId: string
  readonly optional: { readonly value: Value | undefined }
  readonly list: { readonly elements: ReadonlyArray<Value> }
  readonly textMap: { readonly entries: ReadonlyArray<{ readonly key: string; readonly value: Value }> }
  readonly genMap: { readonly entries: ReadonlyArray<{ readonly key: Value; readonly value: Value }> }
  readonly record: Record
  readonly variant: { readonly id: Identifier | undefined; readonly alternative: string; readonly value: Value }
  readonly enum: { readonly id: Identifier | undefined; readonly alternative: string }
}
export type Value = Wire.Case<Sum>

export interface Record {
  readonly id: Identifier | undefined
  readonly fields: ReadonlyArray<{ readonly label: string; readonly value: Value }>
}

const value: Wire.Kind<Value> = Wire.later((): Wire.Kind<Value> => sum)

const sum: Wire.Kind<Value> = Wire.alternatives<Sum>("Value", {
  unit: [1, Wire.message("Empty", {})],
  bool: [2, Wire.bool],
  int64: [3, Wire.sint64],
  date: [4, Wire.int32],
  timestamp: [5, Wire.sfixed64],
  numeric: [6, Wire.text],
  party: [7, Wire.text],
  text: [8, Wire.text],
  contractId: [9, Wire.text],
  optional: [10, Wire.message("Optional", { value: Wire.optional(1, value) })],
  list: [11, Wire.message("List", { elements: Wire.repeated(1, value) })],
  textMap: [
    12,
    Wire.message("TextMap", {
      entries: Wire.repeated(1, Wire.message("TextMap.Entry", { key: Wire.plain(1, Wire.text, ""), value: Wire.required(2, value) }))
    })
  ],
  genMap: [
    13,
    Wire.message("GenMap", {
      entries: Wire.repeated(1, Wire.message("GenMap.Entry", { key: Wire.required(1, value), value: Wire.required(2, value) }))
    })
  ],
  record: [
    14,
    Wire.message("Record", {
      id: Wire.optional(1, identifierKind),
      fields: Wire.repeated(2, Wire.message("RecordField", { label: Wire.plain(1, Wire.text, ""), value: Wire.required(2, value) }))
    })
  ],
  variant: [
    15,
    Wire.message("Variant", {
      id: Wire.optional(1, identifierKind),
      alternative: Wire.plain(2, Wire.text, ""),
      value: Wire.required(3, value)
    })
  ],
  enum: [16, Wire.message("Enum", { id: Wire.optional(1, identifierKind), alternative: Wire.plain(2, Wire.text, "") })]
})

const createKind = Wire.message("Create", {
  lfVersion: Wire.plain(1, Wire.text, ""),
  contractId: Wire.plain(2, Wire.text, ""),
  packageName: Wire.plain(3, Wire.text, ""),
  templateId: Wire.required(4, identifierKind),
  argument: Wire.required(5, value),
  signatories: Wire.repeated(6, Wire.text),
  stakeholders: Wire.repeated(7, Wire.text)
})
export type Create = typeof createKind extends Wire.Kind<infer A> ? A : never

const fetchKind = Wire.message("Fetch", {
  lfVersion: Wire.plain(1, Wire.text, ""),
  contractId: Wire.plain(2, Wire.text, ""),
  packageName: Wire.plain(3, Wire.text, ""),
  templateId: Wire.required(4, identifierKind),
  signatories: Wire.repeated(5, Wire.text),
  stakeholders: Wire.repeated(6, Wire.text),
  actingParties: Wire.repeated(7, Wire.text),
  interfaceId: Wire.optional(8, identifierKind)
})
export type Fetch = typeof fetchKind extends Wire.Kind<infer A> ? A : never

const exerciseKind = Wire.message("Exercise", {
  lfVersion: Wire.plain(1, Wire.text, ""),
  contractId: Wire.plain(2, Wire.text, ""),
  packageName: Wire.plain(3, Wire.text, ""),
  templateId: Wire.required(4, identifierKind),
  signatories: Wire.repeated(5, Wire.text),
  stakeholders: Wire.repeated(6, Wire.text),
  actingParties: Wire.repeated(7, Wire.text),
  interfaceId: Wire.optional(8, identifierKind),
  choiceId: Wire.plain(9, Wire.text, ""),
  chosenValue: Wire.required(10, value),
  consuming: Wire.plain(11, Wire.bool, false),
  children: Wire.repeated(12, Wire.text),
  exerciseResult: Wire.optional(13, value),
  choiceObservers: Wire.repeated(14, Wire.text)
})
export type Exercise = typeof exerciseKind extends Wire.Kind<infer A> ? A : never

const rollbackKind = Wire.message("Rollback", { children: Wire.repeated(1, Wire.text) })
type Rollback = typeof rollbackKind extends Wire.Kind<infer A> ? A : never

interface NodeTypes {
  readonly create: Create
  readonly fetch: Fetch
  readonly exercise: Exercise
  readonly rollback: Rollback
}
export type Node = Wire.Case<NodeTypes>

const nodeKind = Wire.alternatives<NodeTypes>("Node", {
  create: [1, createKind],
  fetch: [2, fetchKind],
  exercise: [3, exerciseKind],
  rollback: [4, rollbackKind]
})

const inputContractKind = Wire.message("InputContract", {
  v1: Wire.required(1, createKind),
  /** Microseconds since 1970. */
  createdAt: Wire.plain(1000, Wire.uint64, 0n),
  eventBlob: Wire.plain(1002, Wire.bytes, new Uint8Array())
})

const preparedKind = Wire.message("PreparedTransaction", {
  transaction: Wire.required(
    1,
    Wire.message("DamlTransaction", {
      version: Wire.plain(1, Wire.text, ""),
      roots: Wire.repeated(2, Wire.text),
      nodes: Wire.repeated(
        3,
        Wire.message("DamlTransaction.Node", { nodeId: Wire.plain(1, Wire.text, ""), v1: Wire.required(1000, nodeKind) })
      ),
      nodeSeeds: Wire.repeated(
        4,
        Wire.message("NodeSeed", { nodeId: Wire.plain(1, Wire.int32, 0), seed: Wire.plain(2, Wire.bytes, new Uint8Array()) })
      )
    })
  ),
  metadata: Wire.required(
    2,
    Wire.message("Metadata", {
      submitterInfo: Wire.required(
        2,
        Wire.message("SubmitterInfo", { actAs: Wire.repeated(1, Wire.text), commandId: Wire.plain(2, Wire.text, "") })
      ),
      synchronizerId: Wire.plain(3, Wire.text, ""),
      mediatorGroup: Wire.plain(4, Wire.uint32, 0),
      transactionUuid: Wire.plain(5, Wire.text, ""),
      /** This and the times below: microseconds since 1970. */
      preparationTime: Wire.plain(6, Wire.uint64, 0n),
      inputContracts: Wire.repeated(7, inputContractKind),
      minLedgerEffectiveTime: Wire.optional(9, Wire.uint64),
      maxLedgerEffectiveTime: Wire.optional(10, Wire.uint64),
      maxRecordTime: Wire.optional(11, Wire.uint64)
    })
  )
})
export type PreparedTransaction = typeof preparedKind extends Wire.Kind<infer A> ? A : never
export type DamlTransaction = PreparedTransaction["transaction"]
export type Metadata = PreparedTransaction["metadata"]
export type InputContract = Metadata["inputContracts"][number]

/** The transaction encoded by these bytes, decoded completely, or `Malformed`. */
export const decode = (encoded: Uint8Array): PreparedTransaction | Wire.Malformed =>
  encoded.length > maxBytes
    ? new Wire.Malformed(`${encoded.length} bytes of at most ${maxBytes}`)
    : Wire.decode(preparedKind, encoded)

export const encode = (prepared: PreparedTransaction): Uint8Array => Wire.encode(preparedKind, prepared)

/** A single node as bytes. */
export const encodeNode = (node: Node): Uint8Array => Wire.encode(nodeKind, node)
export const decodeNode = (encoded: Uint8Array): Node | Wire.Malformed => Wire.decode(nodeKind, encoded)
