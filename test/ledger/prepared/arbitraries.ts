/** Arbitrary prepared transactions with every kind of node and value that the venue reads, not only sensible ones. */
import * as fc from "fast-check"
import type * as Prepared from "../../../src/ledger/prepared/PreparedTransaction.js"

const record = <A>(model: { [K in keyof A]: fc.Arbitrary<A[K]> }): fc.Arbitrary<A> => fc.record<A>(model, { noNullPrototype: true })

const text = fc.oneof(fc.string({ maxLength: 12 }), fc.string({ unit: "grapheme", maxLength: 6 }))
const texts = fc.array(text, { maxLength: 3 })
const hex = fc.uint8Array({ minLength: 1, maxLength: 33 }).map((bytes) => Buffer.from(bytes).toString("hex"))
const uint64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })
const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 })
const maybe = <A>(one: fc.Arbitrary<A>): fc.Arbitrary<A | undefined> => fc.option(one, { nil: undefined })

const identifier = record<Prepared.Identifier>({ packageId: text, moduleName: text, entityName: text })

const { value } = fc.letrec<{ readonly value: Prepared.Value }>((tie) => {
  const of = <K extends Prepared.Value["case"]>(name: K, inner: fc.Arbitrary<Extract<Prepared.Value, { readonly case: K }>["value"]>) =>
    inner.map((one) => ({ case: name, value: one }) as Prepared.Value)
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      of("unit", fc.constant({})),
      of("bool", fc.boolean()),
      of("int64", int64),
      of("date", int32),
      of("timestamp", int64),
      of("numeric", text),
      of("party", text),
      of("text", text),
      of("contractId", hex),
      of("optional", record({ value: maybe(tie("value")) })),
      of("list", record({ elements: fc.array(tie("value"), { maxLength: 3 }) })),
      of("textMap", record({ entries: fc.array(record({ key: text, value: tie("value") }), { maxLength: 2 }) })),
      of("genMap", record({ entries: fc.array(record({ key: tie("value"), value: tie("value") }), { maxLength: 2 }) })),
      of("record", record({ id: maybe(identifier), fields: fc.array(record({ label: text, value: tie("value") }), { maxLength: 3 }) })),
      of("variant", record({ id: maybe(identifier), alternative: text, value: tie("value") })),
      of("enum", record({ id: maybe(identifier), alternative: text }))
    )
  }
})

const create = record<Prepared.Create>({
  lfVersion: text,
  contractId: hex,
  packageName: text,
  templateId: identifier,
  argument: value,
  signatories: texts,
  stakeholders: texts
})

const fetched = record<Prepared.Fetch>({
  lfVersion: text,
  contractId: hex,
  packageName: text,
  templateId: identifier,
  signatories: texts,
  stakeholders: texts,
  actingParties: texts,
  interfaceId: maybe(identifier)
})

const exercised = record<Omit<Prepared.Exercise, "children">>({
  lfVersion: text,
  contractId: hex,
  packageName: text,
  templateId: identifier,
  signatories: texts,
  stakeholders: texts,
  actingParties: texts,
  interfaceId: maybe(identifier),
  choiceId: text,
  chosenValue: value,
  consuming: fc.boolean(),
  exerciseResult: maybe(value),
  choiceObservers: texts
})

/** A node that may have children, and which of the preceding trees it takes as its children. */
const node = fc.oneof(
  create.map((value) => ({ case: "create" as const, value })),
  fetched.map((value) => ({ case: "fetch" as const, value })),
  exercised.map((value) => ({ case: "exercise" as const, value })),
  fc.constant({ case: "rollback" as const, value: {} })
)

/** A forest: each node takes some of the preceding trees as its children; those that are left are the roots. */
const transaction: fc.Arbitrary<Prepared.DamlTransaction> = record({
  version: text,
  nodes: fc.array(fc.tuple(node, fc.nat({ max: 3 })), { minLength: 1, maxLength: 5 }),
  seed: fc.uint8Array({ minLength: 32, maxLength: 32 })
}).map(({ nodes, seed, version }) => {
  const roots: Array<string> = []
  const made = nodes.map(([one, most], index) => {
    const takes = one.case === "exercise" || one.case === "rollback" ? roots.splice(0, most) : []
    roots.push(String(index))
    const v1 = one.case === "exercise" || one.case === "rollback" ? { ...one, value: { ...one.value, children: takes } } : one
    return { nodeId: String(index), v1: v1 as Prepared.Node }
  })
  return { version, roots, nodes: made, nodeSeeds: made.map((_, nodeId) => ({ nodeId, seed })) }
})

export const prepared: fc.Arbitrary<Prepared.PreparedTransaction> = record<Prepared.PreparedTransaction>({
  transaction,
  metadata: record<Prepared.Metadata>({
    submitterInfo: record({ actAs: texts, commandId: text }),
    synchronizerId: text,
    mediatorGroup: fc.nat(),
    transactionUuid: text,
    preparationTime: uint64,
    inputContracts: fc.array(record({ v1: create, createdAt: uint64, eventBlob: fc.uint8Array({ maxLength: 8 }) }), { maxLength: 2 }),
    minLedgerEffectiveTime: maybe(uint64),
    maxLedgerEffectiveTime: maybe(uint64),
    maxRecordTime: maybe(uint64)
  })
})
