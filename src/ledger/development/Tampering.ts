/** Prepared transactions that are not what was requested: correct ones with one part altered. */
import type { Part } from "./Faults.js"
import type * as Prepared from "../prepared/PreparedTransaction.js"

/** The party that an altered transaction favours. */
const stranger = `stranger::1220${"0".repeat(64)}`

/** A value in which every amount, or every party, is altered. */
const altered = (value: Prepared.Value, of: "amount" | "receiver"): Prepared.Value => {
  switch (value.case) {
    case "numeric":
      return of === "amount" ? { case: "numeric", value: `1${value.value}` } : value
    case "party":
      return of === "receiver" ? { case: "party", value: stranger } : value
    case "record":
      return {
        case: "record",
        value: { ...value.value, fields: value.value.fields.map((field) => ({ ...field, value: altered(field.value, of) })) }
      }
    default:
      return value
  }
}

/** A node with one part altered. */
const alteredNode = (node: Prepared.Node, part: Part): Prepared.Node => {
  if (node.case !== "create" && node.case !== "exercise") return node
  const templateId = part === "template"
    ? { ...node.value.templateId, entityName: `${node.value.templateId.entityName}2` }
    : node.value.templateId
  const values = part === "amount" || part === "receiver" ? part : undefined
  if (node.case === "create") {
    const argument = values === undefined ? node.value.argument : altered(node.value.argument, values)
    // A create has no choice: it gets an additional signatory instead.
    const signatories = part === "choice" ? [...node.value.signatories, stranger] : node.value.signatories
    return { case: "create", value: { ...node.value, templateId, argument, signatories } }
  }
  const chosenValue = values === undefined ? node.value.chosenValue : altered(node.value.chosenValue, values)
  const choiceId = part === "choice" ? "Archive" : node.value.choiceId
  return { case: "exercise", value: { ...node.value, templateId, chosenValue, choiceId } }
}

const alteredNodes = ({ nodes }: Prepared.DamlTransaction, part: Part): Prepared.DamlTransaction["nodes"] =>
  nodes.map(({ nodeId, v1 }) => ({ nodeId, v1: alteredNode(v1, part) }))

/** A copy of a create node, or else of the first node, with its parties replaced by the stranger. */
const another = (prepared: Prepared.PreparedTransaction): Prepared.DamlTransaction["nodes"][number] => {
  const of = prepared.transaction.nodes.find(({ v1 }) => v1.case === "create") ?? prepared.transaction.nodes[0]!
  return { nodeId: "999", v1: alteredNode(of.v1, "receiver") }
}

const withMetadata = (prepared: Prepared.PreparedTransaction, metadata: Partial<Prepared.Metadata>): Prepared.PreparedTransaction => ({
  ...prepared,
  metadata: { ...prepared.metadata, ...metadata }
})

const withNode = (prepared: Prepared.PreparedTransaction, isRoot: boolean): Prepared.PreparedTransaction => {
  const { transaction } = prepared
  const node = another(prepared)
  const seed = { nodeId: 999, seed: new Uint8Array(32) }
  const under = (one: (typeof transaction.nodes)[number]) =>
    one.v1.case === "exercise" && one.nodeId === transaction.roots[0]
      ? { ...one, v1: { case: "exercise" as const, value: { ...one.v1.value, children: [...one.v1.value.children, node.nodeId] } } }
      : one
  // A create node has no children: where the root is one, the new node can only become another root.
  const root = transaction.nodes.find(({ nodeId }) => nodeId === transaction.roots[0])
  const asRoot = isRoot || root?.v1.case === "create"
  return {
    ...prepared,
    transaction: {
      ...transaction,
      roots: asRoot ? [...transaction.roots, node.nodeId] : transaction.roots,
      nodes: [...(asRoot ? transaction.nodes : transaction.nodes.map(under)), node],
      nodeSeeds: [...transaction.nodeSeeds, seed]
    }
  }
}

const withExtraInput = (prepared: Prepared.PreparedTransaction): Prepared.PreparedTransaction => {
  const create = prepared.transaction.nodes.flatMap(({ v1 }) => v1.case === "create" ? [v1.value] : [])[0]
  const of = create ?? prepared.metadata.inputContracts[0]!.v1
  const extra = { v1: { ...of, contractId: `00${"ee".repeat(32)}` }, createdAt: 0n, eventBlob: new Uint8Array(1) }
  return withMetadata(prepared, { inputContracts: [...prepared.metadata.inputContracts, extra] })
}

/** The transaction with one part altered. */
export const tampered = (prepared: Prepared.PreparedTransaction, part: Part): Prepared.PreparedTransaction => {
  const { metadata, transaction } = prepared
  switch (part) {
    case "party":
      return withMetadata(prepared, { submitterInfo: { ...metadata.submitterInfo, actAs: [stranger] } })
    case "command":
      return withMetadata(prepared, { submitterInfo: { ...metadata.submitterInfo, commandId: `cmd_${"0".repeat(64)}` } })
    case "synchronizer":
      return withMetadata(prepared, { synchronizerId: `elsewhere::1220${"0".repeat(64)}` })
    case "maximum":
      return withMetadata(prepared, { maxRecordTime: (metadata.maxRecordTime ?? 0n) + 86_400_000_000n })
    case "second_root":
      return withNode(prepared, true)
    case "hidden_node":
      return withNode(prepared, false)
    case "extra_input":
      return withExtraInput(prepared)
    case "template":
    case "choice":
      return { ...prepared, transaction: { ...transaction, nodes: alteredNodes(transaction, part) } }
    case "amount":
    case "receiver": {
      // The contracts that are spent contain amounts and parties as well.
      const inputContracts = metadata.inputContracts.map((input) => ({
        ...input,
        v1: { ...input.v1, argument: altered(input.v1.argument, part) }
      }))
      return { transaction: { ...transaction, nodes: alteredNodes(transaction, part) }, metadata: { ...metadata, inputContracts } }
    }
  }
}
