/**
 * The hash of a prepared transaction, which its party signs: Canton's external signing hashing algorithm, schemes V2 and V3. Scheme V3
 * drops the encoding versions of V2, states for each node that it has no contract key, and covers the maximum record time.
 */
import { createHash } from "node:crypto"
import type * as Prepared from "./PreparedTransaction.js"

/** Why a transaction cannot be hashed: which part of it is invalid. */
export class Unhashable {
  readonly _tag = "Unhashable"
  constructor(readonly reason: string) {}
}

/** Separates these hashes from everything else that Canton hashes. */
const purpose = Uint8Array.of(0, 0, 0, 0x30)
const seedBytes = 32

const fail = (reason: string): never => {
  throw new Error(reason)
}

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const digest = createHash("sha256")
  for (const part of parts) digest.update(part)
  return Uint8Array.from(digest.digest())
}

/** The bytes to be hashed, put together piece by piece; numbers are big-endian. */
export class Encoding {
  private readonly parts: Array<Uint8Array> = []

  get bytes(): Uint8Array {
    return Buffer.concat(this.parts)
  }

  raw(bytes: Uint8Array): this {
    this.parts.push(bytes)
    return this
  }

  byte(value: number): this {
    return this.raw(Uint8Array.of(value))
  }

  bool(value: boolean): this {
    return this.byte(value ? 1 : 0)
  }

  int32(value: number): this {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32BE(value | 0)
    return this.raw(bytes)
  }

  /** Unsigned numbers are hashed as the signed numbers with the same bits. */
  int64(value: bigint): this {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64BE(BigInt.asIntN(64, value))
    return this.raw(bytes)
  }

  sized(bytes: Uint8Array): this {
    return this.int32(bytes.length).raw(bytes)
  }

  text(value: string): this {
    return this.sized(Buffer.from(value, "utf8"))
  }

  contractId(value: string): this {
    if (!/^(?:[0-9a-f]{2})+$/.test(value)) fail("a contract id is not hexadecimal")
    return this.sized(Buffer.from(value, "hex"))
  }

  optional<A>(value: A | undefined, one: (value: A) => void): this {
    this.bool(value !== undefined)
    if (value !== undefined) one(value)
    return this
  }

  repeated<A>(values: ReadonlyArray<A>, one: (value: A) => void): this {
    this.int32(values.length)
    for (const value of values) one(value)
    return this
  }

  texts(values: ReadonlyArray<string>): this {
    return this.repeated(values, (value) => this.text(value))
  }

  identifier({ entityName, moduleName, packageId }: Prepared.Identifier): this {
    return this.text(packageId).texts(moduleName.split(".")).texts(entityName.split("."))
  }

  value(value: Prepared.Value): this {
    switch (value.case) {
      case "unit":
        return this.byte(0x00)
      case "bool":
        return this.byte(0x01).bool(value.value)
      case "int64":
        return this.byte(0x02).int64(value.value)
      case "numeric":
        return this.byte(0x03).text(value.value)
      case "timestamp":
        return this.byte(0x04).int64(value.value)
      case "date":
        return this.byte(0x05).int32(value.value)
      case "party":
        return this.byte(0x06).text(value.value)
      case "text":
        return this.byte(0x07).text(value.value)
      case "contractId":
        return this.byte(0x08).contractId(value.value)
      default:
        return this.composite(value)
    }
  }

  private composite(value: Exclude<Prepared.Value, { readonly case: ScalarCase }>): this {
    switch (value.case) {
      case "optional":
        return this.byte(0x09).optional(value.value.value, (inner) => this.value(inner))
      case "list":
        return this.byte(0x0a).repeated(value.value.elements, (element) => this.value(element))
      case "textMap":
        return this.byte(0x0b).repeated(value.value.entries, (entry) => this.text(entry.key).value(entry.value))
      case "record":
        return this.byte(0x0c).optional(value.value.id, (id) => this.identifier(id)).repeated(value.value.fields, (field) =>
          // A label is hashed as present even where it is empty.
          this.byte(1).text(field.label).value(field.value))
      case "variant":
        return this.byte(0x0d).optional(value.value.id, (id) => this.identifier(id)).text(value.value.alternative).value(value.value.value)
      case "enum":
        return this.byte(0x0e).optional(value.value.id, (id) => this.identifier(id)).text(value.value.alternative)
      case "genMap":
        return this.byte(0x0f).repeated(value.value.entries, (entry) => this.value(entry.key).value(entry.value))
    }
  }
}

type ScalarCase = "unit" | "bool" | "int64" | "numeric" | "timestamp" | "date" | "party" | "text" | "contractId"

/** Hashes the nodes of one transaction; each once, as part of its parent. */
class Nodes {
  private readonly nodes = new Map<string, Prepared.Node>()
  private readonly seeds = new Map<string, Uint8Array>()
  private readonly reached = new Set<string>()

  constructor(transaction: Prepared.DamlTransaction, private readonly scheme: Prepared.HashingScheme) {
    for (const { nodeId, v1 } of transaction.nodes) {
      if (this.nodes.has(nodeId)) fail(`node ${nodeId} is there twice`)
      this.nodes.set(nodeId, v1)
    }
    for (const { nodeId, seed } of transaction.nodeSeeds) {
      const id = String(nodeId)
      if (this.seeds.has(id)) fail(`node ${id} has two seeds`)
      if (seed.length !== seedBytes) fail(`the seed of node ${id} has ${seed.length} bytes`)
      this.seeds.set(id, seed)
    }
  }

  get unreached(): string | undefined {
    return [...this.nodes.keys()].find((id) => !this.reached.has(id))
  }

  hash(id: string): Uint8Array {
    const node = this.nodes.get(id) ?? fail(`node ${id} is missing`)
    // A node with two parents, or one below itself, would be hashed without end.
    if (this.reached.has(id)) fail(`node ${id} is under two others`)
    this.reached.add(id)
    switch (node.case) {
      case "create":
        return sha256(encodeCreate(node.value, this.seeds.get(id), this.scheme).bytes)
      case "fetch":
        return sha256(this.fetch(node.value).bytes)
      case "exercise":
        return sha256(this.exercise(id, node.value).bytes)
      case "rollback":
        return sha256(this.children(begin(this.scheme).byte(0x03), node.value.children).bytes)
    }
  }

  private children(encoding: Encoding, ids: ReadonlyArray<string>): Encoding {
    return encoding.repeated(ids, (id) => encoding.raw(this.hash(id)))
  }

  private fetch(node: Prepared.Fetch): Encoding {
    const encoding = begin(this.scheme).text(node.lfVersion).byte(0x02)
    encoding.contractId(node.contractId).text(node.packageName).identifier(node.templateId)
    encoding.texts(node.signatories).texts(node.stakeholders)
    encoding.optional(node.interfaceId, (id) => encoding.identifier(id)).texts(node.actingParties)
    return notByKey(encoding, this.scheme)
  }

  private exercise(id: string, node: Prepared.Exercise): Encoding {
    const seed = this.seeds.get(id) ?? fail(`exercise node ${id} has no seed`)
    const encoding = begin(this.scheme).text(node.lfVersion).byte(0x01).raw(seed)
    encoding.contractId(node.contractId).text(node.packageName).identifier(node.templateId)
    encoding.texts(node.signatories).texts(node.stakeholders).texts(node.actingParties)
    encoding.optional(node.interfaceId, (interfaceId) => encoding.identifier(interfaceId))
    encoding.text(node.choiceId).value(node.chosenValue).bool(node.consuming)
    encoding.optional(node.exerciseResult, (result) => encoding.value(result)).texts(node.choiceObservers)
    return this.children(notByKey(encoding, this.scheme), node.children)
  }
}

/** Scheme V2 begins every node with the version of its encoding. */
const begin = (scheme: Prepared.HashingScheme): Encoding => scheme === 2 ? new Encoding().byte(0x01) : new Encoding()

/** Scheme V3 covers whether a contract was found by its key, and by which. Here none ever is. */
const notByKey = (encoding: Encoding, scheme: Prepared.HashingScheme): Encoding => scheme === 2 ? encoding : encoding.bool(false).byte(0)

const encodeCreate = (node: Prepared.Create, seed: Uint8Array | undefined, scheme: Prepared.HashingScheme): Encoding => {
  const encoding = begin(scheme).text(node.lfVersion).byte(0x00)
  encoding.optional(seed, (bytes) => encoding.raw(bytes))
  encoding.contractId(node.contractId).text(node.packageName).identifier(node.templateId)
  encoding.value(node.argument).texts(node.signatories).texts(node.stakeholders)
  // No contract key.
  return scheme === 2 ? encoding : encoding.byte(0)
}

/** The hash of the transaction's nodes. Throws where it has none. */
export const hashTransaction = (transaction: Prepared.DamlTransaction, scheme: Prepared.HashingScheme): Uint8Array => {
  const nodes = new Nodes(transaction, scheme)
  const encoding = new Encoding().text(transaction.version)
  encoding.repeated(transaction.roots, (id) => encoding.raw(nodes.hash(id)))
  // A node that belongs to no root would not be covered by the signature, yet might be executed.
  if (nodes.unreached !== undefined) fail(`node ${nodes.unreached} is under no root`)
  return sha256(purpose, encoding.bytes)
}

/** The hash of the metadata. */
export const hashMetadata = (metadata: Prepared.Metadata, scheme: Prepared.HashingScheme): Uint8Array => {
  const encoding = scheme === 2 ? new Encoding().byte(0x01) : new Encoding()
  encoding.texts(metadata.submitterInfo.actAs).text(metadata.submitterInfo.commandId).text(metadata.transactionUuid)
  encoding.int32(metadata.mediatorGroup).text(metadata.synchronizerId)
  encoding.optional(metadata.minLedgerEffectiveTime, (time) => encoding.int64(time))
  encoding.optional(metadata.maxLedgerEffectiveTime, (time) => encoding.int64(time))
  encoding.int64(metadata.preparationTime)
  encoding.repeated(metadata.inputContracts,
    (contract) => encoding.int64(contract.createdAt).raw(sha256(encodeCreate(contract.v1, undefined, scheme).bytes)))
  if (scheme === 3) encoding.optional(metadata.maxRecordTime, (time) => encoding.int64(time))
  return sha256(purpose, encoding.bytes)
}

/** The 32 bytes that the party signs. */
export const hash = (prepared: Prepared.PreparedTransaction, scheme: Prepared.HashingScheme): Uint8Array | Unhashable => {
  try {
    return sha256(purpose, Uint8Array.of(scheme), hashTransaction(prepared.transaction, scheme), hashMetadata(prepared.metadata, scheme))
  } catch (error) {
    return new Unhashable(error instanceof Error ? error.message : String(error))
  }
}
