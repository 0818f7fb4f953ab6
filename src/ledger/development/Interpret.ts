/**
 * Interprets commands as the venue's package and its settlement asset would: which contracts a command archives and creates, as a tree of
 * nodes. A stand-in for the Daml templates, for these five commands only.
 */
import type { Setting } from "./Setting.js"
import { fault, type LedgerFault } from "./LedgerFault.js"
import { templates } from "../Planned.js"
import type * as Prepared from "../prepared/PreparedTransaction.js"
import * as Templates from "../Templates.js"

/** A decoded command. */
export type Command =
  | { readonly _tag: "CreateAccount"; readonly account: Templates.VenueAccount }
  | { readonly _tag: "CreateOffer"; readonly offer: Templates.CustodyOffer }
  | { readonly _tag: "AcceptOffer"; readonly contractId: string; readonly holdings: ReadonlyArray<string> }
  | { readonly _tag: "WithdrawOffer"; readonly contractId: string }
  | { readonly _tag: "Transfer"; readonly contractId: string; readonly transfer: Templates.Transfer }

/** The state against which a command is interpreted. */
export interface Against {
  readonly setting: Setting
  /** The create node of an active contract. */
  readonly contract: (contractId: string) => Prepared.Create | undefined
  /** The id of the contract that node `index` creates, and the seed of that node. */
  readonly contractId: (index: number) => string
  readonly seed: (index: number) => Uint8Array
  readonly isParty: (party: string) => boolean
}

/** A transaction, and the contracts that it takes as inputs. */
export interface Interpretation {
  readonly transaction: Prepared.DamlTransaction
  readonly inputs: ReadonlyArray<Prepared.Create>
}

/** Thrown and caught within this file alone. */
class Refusal extends Error {
  constructor(readonly fault: LedgerFault) {
    super(fault.message)
  }
}

const refuse = (...of: Parameters<typeof fault>): never => {
  throw new Refusal(fault(...of))
}

const lfVersion = "2.1"

type Draft = { -readonly [K in keyof Prepared.Exercise]: Prepared.Exercise[K] }

/** Builds the nodes of one transaction. */
class Interpreter {
  private readonly nodes: Array<Prepared.Node> = []
  private readonly inputs = new Map<string, Prepared.Create>()
  private readonly templates: ReturnType<typeof templates>

  constructor(private readonly actAs: string, private readonly against: Against) {
    this.templates = templates(against.setting)
  }

  run(command: Command): Interpretation {
    this.root(command)
    const seeded = this.nodes.flatMap((_, index) => ({ nodeId: index, seed: this.against.seed(index) }))
    return {
      transaction: {
        version: lfVersion,
        roots: ["0"],
        nodes: this.nodes.map((v1, index) => ({ nodeId: String(index), v1 })),
        nodeSeeds: seeded
      },
      inputs: [...this.inputs.values()]
    }
  }

  private root(command: Command): void {
    switch (command._tag) {
      case "CreateAccount":
        this.authorize(command.account.owner)
        return this.create(this.templates.account, Templates.venueAccount, command.account, Templates.stakesOf.venueAccount)
      case "CreateOffer":
        this.authorize(command.offer.treasury)
        if (command.offer.amountAtoms <= 0n) return refuse("DAML_INTERPRETATION_ERROR", "an offer is of more than nothing")
        return this.create(this.templates.offer, Templates.custodyOffer, command.offer, Templates.stakesOf.custodyOffer)
      case "AcceptOffer": {
        const offer = this.offer(command.contractId)
        this.authorize(offer.owner)
        const node = this.exercise(command.contractId, this.templates.offer, Templates.choices.acceptOffer, offer.owner)
        node.chosenValue = this.argument(this.templates.offer, Templates.choices.acceptOffer, Templates.offerAcceptance, {
          holdings: command.holdings
        })
        const [first, ...others] = command.holdings
        if (first === undefined) return refuse("DAML_INTERPRETATION_ERROR", "an offer is accepted with holdings")
        const transfer = { receiver: offer.treasury, amountAtoms: offer.amountAtoms, reference: offer.reference, others }
        node.children = [this.transfer(first, transfer, offer.owner, offer)]
        return
      }
      case "WithdrawOffer": {
        const offer = this.offer(command.contractId)
        this.authorize(offer.treasury)
        const node = this.exercise(command.contractId, this.templates.offer, Templates.choices.withdrawOffer, offer.treasury)
        node.chosenValue = this.argument(this.templates.offer, Templates.choices.withdrawOffer, Templates.offerWithdrawal, {})
        return
      }
      case "Transfer":
        this.transfer(command.contractId, command.transfer, this.actAs, this.holding(command.contractId))
    }
  }

  private authorize(party: string): void {
    if (party !== this.actAs) refuse("DAML_AUTHORIZATION_ERROR", `${party} has to act, not ${this.actAs}`)
  }

  private known(party: string): void {
    if (!this.against.isParty(party)) refuse("UNKNOWN_INFORMEES", `the party ${party} is not known`)
  }

  private contract<A>(contractId: string, template: Prepared.Identifier, type: Templates.RecordType<A>): A {
    const create = this.against.contract(contractId)
    if (create === undefined || Templates.templateText(create.templateId) !== Templates.templateText(template)) {
      return refuse("CONTRACT_NOT_FOUND", `Contract could not be found with id ${contractId}`)
    }
    return type.read(create.argument)!
  }

  private offer(contractId: string): Templates.CustodyOffer {
    return this.contract(contractId, this.templates.offer, Templates.custodyOffer)
  }

  private holding(contractId: string): Templates.Holding {
    return this.contract(contractId, this.templates.holding, Templates.holding)
  }

  /**
   * Spends holdings of one owner and one instrument: an amount goes to the receiver, the rest stays with the owner. Returns the node's id.
   */
  private transfer(
    first: string,
    transfer: Templates.Transfer,
    owner: string,
    of: Pick<Templates.Holding, "admin" | "instrument">
  ): string {
    this.known(transfer.receiver)
    const id = String(this.nodes.length)
    const spent = [first, ...transfer.others].map((contractId) => this.holding(contractId))
    for (const holding of spent) {
      if (holding.owner !== owner) refuse("DAML_AUTHORIZATION_ERROR", `a holding is not of ${owner}`)
      if (holding.admin !== of.admin || holding.instrument !== of.instrument) refuse("DAML_INTERPRETATION_ERROR", "another instrument")
    }
    const node = this.exercise(first, this.templates.holding, Templates.choices.transfer, owner)
    node.chosenValue = this.argument(this.templates.holding, Templates.choices.transfer, Templates.transfer, transfer)
    const begun = this.nodes.length
    for (const other of transfer.others) {
      const archive = this.exercise(other, this.templates.holding, Templates.choices.archive, of.admin)
      archive.chosenValue = this.argument(this.templates.holding, Templates.choices.archive, Templates.archive, {})
    }
    const left = spent.reduce((sum, { amountAtoms }) => sum + amountAtoms, 0n) - transfer.amountAtoms
    if (transfer.amountAtoms <= 0n) refuse("DAML_INTERPRETATION_ERROR", "a transfer is of more than nothing")
    if (left < 0n) refuse("DAML_INTERPRETATION_ERROR", "the holdings are not worth the amount")
    this.give(transfer.receiver, transfer.amountAtoms, of)
    if (left > 0n) this.give(owner, left, of)
    node.children = this.nodes.slice(begun).map((_, index) => String(begun + index))
    return id
  }

  private give(owner: string, amountAtoms: bigint, { admin, instrument }: Pick<Templates.Holding, "admin" | "instrument">): void {
    this.create(this.templates.holding, Templates.holding, { admin, owner, instrument, amountAtoms }, Templates.stakesOf.holding)
  }

  private create<A>(
    template: Prepared.Identifier,
    type: Templates.RecordType<A>,
    value: A,
    stakesOf: (value: A) => Templates.Stakes
  ): void {
    const stakes = stakesOf(value)
    for (const party of stakes.stakeholders) this.known(party)
    this.nodes.push({
      case: "create",
      value: {
        lfVersion,
        contractId: this.against.contractId(this.nodes.length),
        packageName: packageNameOf(template),
        templateId: template,
        argument: type.write(template, value),
        ...stakes
      }
    })
  }

  /** The node of a consuming choice, whose argument and children are still to be set. */
  private exercise(contractId: string, template: Prepared.Identifier, choiceId: string, by: string): Draft {
    if (this.inputs.has(contractId)) refuse("DAML_INTERPRETATION_ERROR", `the contract ${contractId} is spent twice`)
    const create = this.against.contract(contractId)!
    this.inputs.set(contractId, create)
    const node: Draft = {
      lfVersion,
      contractId,
      packageName: packageNameOf(template),
      templateId: template,
      signatories: create.signatories,
      stakeholders: create.stakeholders,
      actingParties: [by],
      interfaceId: undefined,
      choiceId,
      chosenValue: { case: "unit", value: {} },
      consuming: true,
      children: [],
      exerciseResult: { case: "unit", value: {} },
      choiceObservers: []
    }
    this.nodes.push({ case: "exercise", value: node })
    return node
  }

  private argument<A>(template: Prepared.Identifier, choice: string, type: Templates.RecordType<A>, value: A): Prepared.Value {
    return type.write({ ...template, entityName: choice }, value)
  }
}

const packageNameOf = (template: Prepared.Identifier): string =>
  template.moduleName === Templates.moduleNames.token ? Templates.packageNames.token : Templates.packageNames.custody

/** The transaction that a command yields, or why it fails. */
export const interpret = (actAs: string, command: Command, against: Against): Interpretation | LedgerFault => {
  try {
    return new Interpreter(actAs, against).run(command)
  } catch (error) {
    if (error instanceof Refusal) return error.fault
    throw error
  }
}

/** The create node of a holding that the faucet gives. */
export const minted = (setting: Setting, contractId: string, owner: string, amountAtoms: bigint): Prepared.Create => {
  const template = templates(setting).holding
  const value = { admin: setting.token.admin, owner, instrument: setting.token.id, amountAtoms }
  return {
    lfVersion,
    contractId,
    packageName: Templates.packageNames.token,
    templateId: template,
    argument: Templates.holding.write(template, value),
    ...Templates.stakesOf.holding(value)
  }
}

/** The command of a transaction's root; undefined where the root is none of these commands. */
export const commandOf = (setting: Setting, { nodes, roots }: Prepared.DamlTransaction): Command | undefined => {
  const root = nodes.find(({ nodeId }) => nodeId === roots[0])?.v1
  const template = templates(setting)
  const isOf = (found: Prepared.Identifier, wanted: Prepared.Identifier): boolean =>
    Templates.templateText(found) === Templates.templateText(wanted)
  if (root?.case === "create") {
    const { argument, templateId } = root.value
    const account = isOf(templateId, template.account) ? Templates.venueAccount.read(argument) : undefined
    const offer = isOf(templateId, template.offer) ? Templates.custodyOffer.read(argument) : undefined
    if (account !== undefined) return { _tag: "CreateAccount", account }
    return offer === undefined ? undefined : { _tag: "CreateOffer", offer }
  }
  if (root?.case !== "exercise") return undefined
  const { choiceId, chosenValue, contractId, templateId } = root.value
  if (isOf(templateId, template.offer) && choiceId === Templates.choices.withdrawOffer) return { _tag: "WithdrawOffer", contractId }
  if (isOf(templateId, template.offer) && choiceId === Templates.choices.acceptOffer) {
    const accepted = Templates.offerAcceptance.read(chosenValue)
    return accepted && { _tag: "AcceptOffer", contractId, holdings: accepted.holdings }
  }
  if (!isOf(templateId, template.holding) || choiceId !== Templates.choices.transfer) return undefined
  const transfer = Templates.transfer.read(chosenValue)
  return transfer && { _tag: "Transfer", contractId, transfer }
}
