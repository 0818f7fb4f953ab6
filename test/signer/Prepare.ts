/** What an honest ledger prepares for a planned command, and how a lying venue alters it. */
import { createHash } from "node:crypto"
import type { PlannedCommand } from "../../src/ledger/Planned.js"
import { templates } from "../../src/ledger/Planned.js"
import * as Hash from "../../src/ledger/prepared/Hash.js"
import * as Prepared from "../../src/ledger/prepared/PreparedTransaction.js"
import * as Templates from "../../src/ledger/Templates.js"

const digest = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest())
const contractId = (text: string): string => `00${Buffer.from(digest(text)).toString("hex")}`

const create = <A>(
  id: string,
  packageName: string,
  templateId: Prepared.Identifier,
  type: Templates.RecordType<A>,
  stakesOf: (value: A) => Templates.Stakes,
  value: A
): Prepared.Create => ({
  lfVersion: "2.1",
  contractId: contractId(id),
  packageName,
  templateId,
  argument: type.write(templateId, value),
  ...stakesOf(value)
})

interface Exercised {
  readonly of: Prepared.Create
  readonly choice: string
  readonly by: string
  readonly chosen: Prepared.Value
  readonly children: ReadonlyArray<string>
}

const exercise = ({ by, children, choice, chosen, of }: Exercised): Prepared.Node => ({
  case: "exercise",
  value: {
    lfVersion: "2.1",
    contractId: of.contractId,
    packageName: of.packageName,
    templateId: of.templateId,
    signatories: of.signatories,
    stakeholders: of.stakeholders,
    actingParties: [by],
    interfaceId: undefined,
    choiceId: choice,
    chosenValue: chosen,
    consuming: true,
    children,
    exerciseResult: undefined,
    choiceObservers: []
  }
})

/** The nodes of a command, root first, and their input contracts. */
interface Does {
  readonly nodes: ReadonlyArray<Prepared.Node>
  readonly inputs: ReadonlyArray<Prepared.Create>
}

const holding = ({ custody }: PlannedCommand, id: string, owner: string, amountAtoms: bigint): Prepared.Create =>
  create(id, Templates.packageNames.token, templates(custody).holding, Templates.holding, Templates.stakesOf.holding, {
    admin: custody.token.admin,
    owner,
    instrument: custody.token.id,
    amountAtoms
  })

/** A transfer out of one holding that is larger by 5 atoms; its root is node `at`. */
const transferred = (
  planned: PlannedCommand,
  sender: string,
  receiver: string,
  amountAtoms: bigint,
  reference: string,
  at: number
): Does => {
  const spent = holding(planned, "spent", sender, amountAtoms + 5n)
  const { holding: template } = templates(planned.custody)
  const chosen = Templates.transfer.write({ ...template, entityName: Templates.choices.transfer }, {
    receiver,
    amountAtoms,
    reference,
    others: []
  })
  return {
    nodes: [
      exercise({ of: spent, choice: Templates.choices.transfer, by: sender, chosen, children: [String(at + 1), String(at + 2)] }),
      { case: "create", value: holding(planned, "received", receiver, amountAtoms) },
      { case: "create", value: holding(planned, "rest", sender, 5n) }
    ],
    inputs: [spent]
  }
}

const does = (planned: PlannedCommand): Does => {
  const { custody, facts } = planned
  const { account, offer } = templates(custody)
  const { treasury } = custody
  if (facts.step === "owner_account_acceptance") {
    const value = { treasury, owner: facts.owner, accountId: facts.accountId }
    const made = create("account", Templates.packageNames.custody, account, Templates.venueAccount, Templates.stakesOf.venueAccount, value)
    return { nodes: [{ case: "create", value: made }], inputs: [] }
  }
  const amountAtoms = BigInt(facts.amountAtoms)
  if (facts.step === "treasury_withdrawal") return transferred(planned, treasury, facts.receiver, amountAtoms, facts.transferId, 0)
  const offered = create("offer", Templates.packageNames.custody, offer, Templates.custodyOffer, Templates.stakesOf.custodyOffer, {
    treasury,
    owner: facts.owner,
    admin: custody.token.admin,
    instrument: custody.token.id,
    amountAtoms,
    reference: facts.transferId
  })
  if (facts.step === "treasury_offer") return { nodes: [{ case: "create", value: offered }], inputs: [] }
  if (facts.step === "treasury_offer_withdrawal") {
    const chosen = Templates.offerWithdrawal.write({ ...offer, entityName: Templates.choices.withdrawOffer }, {})
    return {
      nodes: [exercise({ of: offered, choice: Templates.choices.withdrawOffer, by: treasury, chosen, children: [] })],
      inputs: [offered]
    }
  }
  const { inputs, nodes } = transferred(planned, facts.owner, treasury, amountAtoms, facts.transferId, 1)
  const chosen = Templates.offerAcceptance.write({ ...offer, entityName: Templates.choices.acceptOffer }, {
    holdings: inputs.map((input) => input.contractId)
  })
  return {
    nodes: [exercise({ of: offered, choice: Templates.choices.acceptOffer, by: facts.owner, chosen, children: ["1"] }), ...nodes],
    inputs: [offered, ...inputs]
  }
}

/** The transaction that a ledger prepares for a plan. */
export const honest = (planned: PlannedCommand, maxRecordTimeEpochMs: number): Prepared.PreparedTransaction => {
  const { inputs, nodes } = does(planned)
  return {
    transaction: {
      version: "2.1",
      roots: ["0"],
      nodes: nodes.map((v1, index) => ({ nodeId: String(index), v1 })),
      nodeSeeds: nodes.map((_, nodeId) => ({ nodeId, seed: digest(`seed ${nodeId}`) }))
    },
    metadata: {
      submitterInfo: { actAs: [planned.actAs], commandId: planned.commandId },
      synchronizerId: planned.synchronizerId,
      mediatorGroup: 0,
      transactionUuid: "7d0b2b2e-31fd-4d0f-9c43-0a5c1a6e8a11",
      preparationTime: BigInt(maxRecordTimeEpochMs - 600_000) * 1000n,
      inputContracts: inputs.map((v1) => ({ v1, createdAt: 1_000_000n, eventBlob: new Uint8Array() })),
      minLedgerEffectiveTime: undefined,
      maxLedgerEffectiveTime: undefined,
      maxRecordTime: BigInt(maxRecordTimeEpochMs) * 1000n
    }
  }
}

/** A transaction's bytes with their own hash. */
export const hashed = (
  prepared: Prepared.PreparedTransaction,
  scheme: Prepared.HashingScheme
): { readonly preparedTransaction: Uint8Array; readonly hash: Uint8Array } => {
  const hash = Hash.hash(prepared, scheme)
  if (hash instanceof Hash.Unhashable) throw new Error(hash.reason)
  return { preparedTransaction: Prepared.encode(prepared), hash }
}
