/**
 * Compares a prepared transaction with what was planned, before it is journaled or signed: its bytes are decoded completely, the hash is
 * theirs and covers until when they may be recorded, the command is the planned one, and all its effects on contracts follow from that
 * command: nothing else is created or archived, and no atom goes elsewhere. Anything that is not understood counts as a difference.
 */
import type { Custody, Facts, PlannedCommand } from "../Planned.js"
import { paysItself, templates } from "../Planned.js"
import * as Templates from "../Templates.js"
import * as Hash from "./Hash.js"
import * as Prepared from "./PreparedTransaction.js"
import { Malformed } from "./Wire.js"

/** The first difference between a prepared transaction and the planned one. */
export class Mismatch {
  readonly _tag = "Mismatch"
  constructor(
    /** Where: `hash`, `command id`, `root`, `amount of the offer`, ... */
    readonly what: string,
    readonly expected: string,
    readonly found: string
  ) {}

  get text(): string {
    return `${this.what} is ${this.found}, not ${this.expected}`
  }
}

/** A transaction as the ledger returned it, and the maximum record time that was requested. */
export interface Claimed {
  readonly preparedTransaction: Uint8Array
  readonly hash: Uint8Array
  readonly scheme: Prepared.HashingScheme
  readonly maxRecordTimeEpochMs: number
}

/** Thrown and caught within this file alone. */
class Differs extends Error {
  constructor(readonly mismatch: Mismatch) {
    super(mismatch.text)
  }
}

const differs = (what: string, expected: string, found: string): never => {
  throw new Differs(new Mismatch(what, expected, found))
}

const same = (what: string, expected: string | number | bigint | boolean | undefined, found: typeof expected): void => {
  if (expected !== found) differs(what, String(expected), String(found))
}

const sameParties = (what: string, expected: ReadonlyArray<string>, found: ReadonlyArray<string>): void =>
  same(what, expected.join(", "), found.join(", "))

const sameTemplate = (what: string, expected: Prepared.Identifier, found: Prepared.Identifier | undefined): void =>
  same(what, Templates.templateText(expected), found && Templates.templateText(found))

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

/** A value as a record of the given type. */
const recordOf = <A>(what: string, type: Templates.RecordType<A>, id: Prepared.Identifier, value: Prepared.Value): A => {
  const read = type.read(value) ?? differs(what, `the fields of ${Templates.templateText(id)}`, "another value")
  // The type id may be omitted where the record's position implies it.
  if (value.case === "record" && value.value.id !== undefined) sameTemplate(`type of ${what}`, id, value.value.id)
  return read
}

/** The ledger's times are in microseconds. */
const microsecondsOf = (epochMs: number): bigint => BigInt(epochMs) * 1000n

/** From protocol version 35 on, a transaction appends the protocol version and a serial to the synchronizer's id. */
const isSynchronizer = (planned: string, found: string): boolean =>
  found === planned || (found.startsWith(`${planned}::`) && /^[1-9][0-9]{0,9}-[0-9]{1,10}$/.test(found.slice(planned.length + 2)))

const checkMetadata = (metadata: Prepared.Metadata, planned: PlannedCommand, maxRecordTimeEpochMs: number): void => {
  sameParties("acting parties", [planned.actAs], metadata.submitterInfo.actAs)
  same("command id", planned.commandId, metadata.submitterInfo.commandId)
  if (!isSynchronizer(planned.synchronizerId, metadata.synchronizerId)) {
    differs("synchronizer", planned.synchronizerId, metadata.synchronizerId)
  }
  same("maximum record time", microsecondsOf(maxRecordTimeEpochMs), metadata.maxRecordTime)
  // None of the planned commands depends on the time.
  same("least ledger time", undefined, metadata.minLedgerEffectiveTime)
  same("greatest ledger time", undefined, metadata.maxLedgerEffectiveTime)
}

/** Which parties may spend how much of the settlement asset, and who receives it. */
interface Payment {
  readonly sender: string
  readonly receiver: string
  readonly amountAtoms: bigint
  readonly reference: string
}

const paymentOf = (facts: Exclude<Facts, { readonly step: "owner_account_acceptance" }>, custody: Custody): Payment => ({
  ...(facts.step === "treasury_withdrawal"
    ? { sender: custody.treasury, receiver: facts.receiver }
    : { sender: facts.owner, receiver: custody.treasury }),
  amountAtoms: BigInt(facts.amountAtoms),
  reference: facts.transferId
})

/** One transaction being checked, with the parts of it that are accounted for so far. */
class Check {
  private readonly nodes: ReadonlyMap<string, Prepared.Node>
  private readonly inputs: Map<string, Prepared.Create>
  private readonly templates: ReturnType<typeof templates>

  constructor(private readonly prepared: Prepared.PreparedTransaction, private readonly planned: PlannedCommand) {
    this.nodes = new Map(prepared.transaction.nodes.map(({ nodeId, v1 }) => [nodeId, v1]))
    this.inputs = new Map(prepared.metadata.inputContracts.map(({ v1 }) => [v1.contractId, v1]))
    same("number of different input contracts", prepared.metadata.inputContracts.length, this.inputs.size)
    this.templates = templates(planned.custody)
  }

  run(): void {
    const { facts } = this.planned
    if (paysItself(this.planned.custody.treasury, facts)) differs("whom the treasury deals with", "somebody else", "itself")
    const { roots } = this.prepared.transaction
    same("number of roots", 1, roots.length)
    const root = this.node(roots[0]!)
    if (facts.step === "owner_account_acceptance") this.account(root, facts)
    else this.money(root, facts.step, paymentOf(facts, this.planned.custody))
    // A contract that the command does not use has no place in the transaction.
    for (const unused of this.inputs.keys()) differs("input contracts", "those that the command needs", `${unused} as well`)
  }

  private node(id: string): Prepared.Node {
    return this.nodes.get(id) ?? differs("nodes", `one of ${id}`, "none")
  }

  private account(root: Prepared.Node, facts: { readonly owner: string; readonly accountId: string }): void {
    const expected = { treasury: this.planned.custody.treasury, owner: facts.owner, accountId: facts.accountId }
    const found = this.created("account", root, this.templates.account, Templates.venueAccount, Templates.stakesOf.venueAccount)
    this.sameFields("account", expected, found)
  }

  private money(root: Prepared.Node, step: Exclude<Facts["step"], "owner_account_acceptance">, payment: Payment): void {
    switch (step) {
      case "treasury_offer": {
        const found = this.created("offer", root, this.templates.offer, Templates.custodyOffer, Templates.stakesOf.custodyOffer)
        return this.sameFields("offer", this.offerOf(payment), found)
      }
      case "treasury_offer_withdrawal": {
        const node = this.ofOffer(root, payment, Templates.choices.withdrawOffer)
        recordOf("choice argument", Templates.offerWithdrawal, this.argumentType(this.templates.offer, Templates.choices.withdrawOffer),
          node.chosenValue)
        return same("number of consequences", 0, node.children.length)
      }
      case "owner_offer_acceptance": {
        const node = this.ofOffer(root, payment, Templates.choices.acceptOffer)
        const type = this.argumentType(this.templates.offer, Templates.choices.acceptOffer)
        const { holdings } = recordOf("choice argument", Templates.offerAcceptance, type, node.chosenValue)
        same("number of consequences", 1, node.children.length)
        const spent = this.transfer(this.node(node.children[0]!), payment)
        return sameParties("holdings that are given", spent, holdings)
      }
      case "treasury_withdrawal":
        this.transfer(root, payment)
    }
  }

  private offerOf(payment: Payment): Templates.CustodyOffer {
    const { token, treasury } = this.planned.custody
    return {
      treasury,
      owner: payment.sender,
      admin: token.admin,
      instrument: token.id,
      amountAtoms: payment.amountAtoms,
      reference: payment.reference
    }
  }

  /** A choice on the planned offer: the offer's create node, as an input contract, is covered by the signature too. */
  private ofOffer(root: Prepared.Node, payment: Payment, choice: string): Prepared.Exercise {
    const node = this.exercised("offer", root, this.templates.offer, choice, this.planned.actAs)
    const input = this.input("offer", node.contractId)
    const offer = this.contract("offer", input, this.templates.offer, Templates.custodyOffer, Templates.stakesOf.custodyOffer)
    this.sameFields("offer", this.offerOf(payment), offer)
    return node
  }

  /**
   * Checks a whole transfer: the holdings spent, what the receiver gets, and that the sender keeps the rest. Returns the contract ids of
   * the holdings spent.
   */
  private transfer(node: Prepared.Node, payment: Payment): ReadonlyArray<string> {
    const exercise = this.exercised("transfer", node, this.templates.holding, Templates.choices.transfer, payment.sender)
    const type = this.argumentType(this.templates.holding, Templates.choices.transfer)
    const argument = recordOf("transfer", Templates.transfer, type, exercise.chosenValue)
    this.sameFields(
      "transfer",
      { receiver: payment.receiver, amountAtoms: payment.amountAtoms, reference: payment.reference },
      { receiver: argument.receiver, amountAtoms: argument.amountAtoms, reference: argument.reference }
    )
    let left = this.spent(exercise.contractId, payment.sender)
    const consequences = exercise.children.map((id) => this.node(id))
    argument.others.forEach((other, index) => {
      const ended = consequences[index] ?? differs("consequences of the transfer", `the end of ${other}`, "nothing")
      const archive = this.exercised("spent holding", ended, this.templates.holding, Templates.choices.archive,
        this.planned.custody.token.admin)
      same("spent holding", other, archive.contractId)
      if (Templates.archive.read(archive.chosenValue) === undefined) differs("choice argument", "an empty record", "another value")
      same("number of consequences of a spent holding", 0, archive.children.length)
      left += this.spent(other, payment.sender)
    })
    const created = consequences.slice(argument.others.length)
    left -= payment.amountAtoms
    if (left < 0n) differs("amount that is spent", `at least ${payment.amountAtoms} atoms`, `${left + payment.amountAtoms}`)
    same("number of created holdings", left === 0n ? 1 : 2, created.length)
    this.received(created[0]!, payment.receiver, payment.amountAtoms)
    if (left > 0n) this.received(created[1]!, payment.sender, left)
    return [exercise.contractId, ...argument.others]
  }

  private spent(contractId: string, owner: string): bigint {
    const input = this.input("spent holding", contractId)
    const holding = this.contract("spent holding", input, this.templates.holding, Templates.holding, Templates.stakesOf.holding)
    this.sameFields("spent holding", this.holdingOf(owner, holding.amountAtoms), holding)
    return holding.amountAtoms
  }

  private received(node: Prepared.Node, owner: string, amountAtoms: bigint): void {
    const holding = this.created("created holding", node, this.templates.holding, Templates.holding, Templates.stakesOf.holding)
    this.sameFields("created holding", this.holdingOf(owner, amountAtoms), holding)
  }

  private holdingOf(owner: string, amountAtoms: bigint): Templates.Holding {
    const { token } = this.planned.custody
    return { admin: token.admin, owner, instrument: token.id, amountAtoms }
  }

  private created<A>(
    what: string,
    node: Prepared.Node,
    template: Prepared.Identifier,
    type: Templates.RecordType<A>,
    stakesOf: (value: A) => Templates.Stakes
  ): A {
    return node.case === "create"
      ? this.contract(what, node.value, template, type, stakesOf)
      : differs(`node of the ${what}`, "a create", `a ${node.case}`)
  }

  /** The contract that a create node creates, or that an input contract was created with. */
  private contract<A>(
    what: string,
    create: Prepared.Create,
    template: Prepared.Identifier,
    type: Templates.RecordType<A>,
    stakesOf: (value: A) => Templates.Stakes
  ): A {
    this.ofPackage(what, template, create)
    const value = recordOf(what, type, template, create.argument)
    const stakes = stakesOf(value)
    sameParties(`signatories of the ${what}`, stakes.signatories, create.signatories)
    sameParties(`stakeholders of the ${what}`, stakes.stakeholders, create.stakeholders)
    return value
  }

  private exercised(what: string, node: Prepared.Node, template: Prepared.Identifier, choice: string, by: string): Prepared.Exercise {
    if (node.case !== "exercise") return differs(`node of the ${what}`, "an exercise", `a ${node.case}`)
    const exercise = node.value
    this.ofPackage(what, template, exercise)
    same("interface", undefined, exercise.interfaceId && Templates.templateText(exercise.interfaceId))
    same("choice", choice, exercise.choiceId)
    sameParties(`parties that exercise ${choice}`, [by], exercise.actingParties)
    same(`consuming of ${choice}`, true, exercise.consuming)
    sameParties(`observers of ${choice}`, [], exercise.choiceObservers)
    return exercise
  }

  private ofPackage(what: string, template: Prepared.Identifier, node: Prepared.Create | Prepared.Exercise): void {
    sameTemplate(`template of the ${what}`, template, node.templateId)
    const isToken = template.packageId === this.planned.custody.token.packageId && template.moduleName === Templates.moduleNames.token
    same(`package of the ${what}`, isToken ? Templates.packageNames.token : Templates.packageNames.custody, node.packageName)
  }

  /** Takes an input contract, which thereby counts as used: no other part of the transaction may use it. */
  private input(what: string, contractId: string): Prepared.Create {
    const input = this.inputs.get(contractId) ?? differs(`input contract of the ${what}`, contractId, "none")
    this.inputs.delete(contractId)
    return input
  }

  private argumentType(template: Prepared.Identifier, choice: string): Prepared.Identifier {
    return { ...template, entityName: choice }
  }

  private sameFields<A extends object>(what: string, expected: A, found: A): void {
    for (const key of Object.keys(expected) as Array<keyof A & string>) {
      same(`${key} of the ${what}`, expected[key] as string | bigint, found[key] as string | bigint)
    }
  }
}

/** The transaction, if it is exactly what was planned; otherwise the first difference. */
export const check = (claimed: Claimed, planned: PlannedCommand): Prepared.PreparedTransaction | Mismatch => {
  const prepared = Prepared.decode(claimed.preparedTransaction)
  if (prepared instanceof Malformed) return new Mismatch("transaction", "one that is understood", prepared.reason)
  // Whoever has bytes that are signed under scheme 2 chooses until when they may be recorded: the maximum record time means nothing there.
  if (claimed.scheme !== 3) return new Mismatch("hashing scheme", "3, which covers the maximum record time", String(claimed.scheme))
  const hash = Hash.hash(prepared, claimed.scheme)
  if (hash instanceof Hash.Unhashable) return new Mismatch("transaction", "one that has a hash", hash.reason)
  if (hex(hash) !== hex(claimed.hash)) return new Mismatch("hash", hex(hash), hex(claimed.hash))
  try {
    checkMetadata(prepared.metadata, planned, claimed.maxRecordTimeEpochMs)
    new Check(prepared, planned).run()
    return prepared
  } catch (error) {
    if (error instanceof Differs) return error.mismatch
    throw error
  }
}
