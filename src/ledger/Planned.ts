/**
 * What each step of a deposit, a withdrawal or a change of party is to do on the ledger, in every field: the template, the choice, who
 * acts, and how much goes where. The venue before it journals a prepared transaction, and the signer before it signs one, each derive the
 * plan from the step's facts and their own settings, and `prepared/Check.ts` compares the transaction with it.
 */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"
import type { Identifier } from "./prepared/PreparedTransaction.js"
import { choices, moduleNames } from "./Templates.js"

/** Party ids in Canton's form: a name, and the fingerprint of the key that controls the party's namespace. */
export const partyIdPattern = /^[A-Za-z0-9_-]{1,185}::1220[0-9a-f]{64}$/
const PartyId = Schema.String.pipe(Schema.pattern(partyIdPattern))
const SubjectId = Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/))
const AmountAtoms = Schema.Number.pipe(Schema.int(), Schema.between(1, Number.MAX_SAFE_INTEGER))

/** The owner's party opens its account contract with the venue. A change of party does the same for another party. */
const OwnerAccountAcceptance = Schema.Struct({
  step: Schema.Literal("owner_account_acceptance"),
  accountId: SubjectId,
  owner: PartyId,
  /** Whether the account has had another party before: each party's command then has an id of its own. */
  isChange: Schema.Boolean
})

/** The treasury offers to take the amount from the owner into custody; the owner accepts; or the treasury withdraws the offer. */
const DepositStep = Schema.Struct({
  step: Schema.Literal("treasury_offer", "owner_offer_acceptance", "treasury_offer_withdrawal"),
  transferId: SubjectId,
  owner: PartyId,
  amountAtoms: AmountAtoms
})

/** The treasury pays out. */
const WithdrawalStep = Schema.Struct({
  step: Schema.Literal("treasury_withdrawal"),
  transferId: SubjectId,
  receiver: PartyId,
  amountAtoms: AmountAtoms
})

/** The facts of a step, which the venue decides; everything else in its plan follows from them and the settings. */
export const Facts = Schema.Union(OwnerAccountAcceptance, DepositStep, WithdrawalStep)
export type Facts = typeof Facts.Type

/** Each step is one command on the ledger. */
export const Step = Schema.Literal(
  "owner_account_acceptance",
  "treasury_offer",
  "owner_offer_acceptance",
  "treasury_offer_withdrawal",
  "treasury_withdrawal"
)
export type Step = typeof Step.Type

/** Whether a step is the owner's party's, rather than the treasury's. */
export const isOwners = (step: Step): boolean => step === "owner_account_acceptance" || step === "owner_offer_acceptance"

/** Where, and under which identity, the venue acts on the ledger. The venue and the signer each have these from their own settings. */
export const Custody = Schema.Struct({
  /**
   * Part of every command id, so that venues of different environments never share one. Two of the same do: what keeps them apart is
   * that each has a treasury, and so a signer, of its own, which a signer sees to except between copies of one data directory.
   */
  environment: Schema.String.pipe(Schema.pattern(/^[a-z0-9_-]{1,64}$/)),
  userId: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9@^$.!`\-#+'~_|:]{1,128}$/)),
  synchronizerId: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9:_-]{1,255}$/)),
  /** The venue's party, which holds deposits in custody and pays withdrawals. */
  treasury: PartyId,
  /** The venue's own package. Pinned by its id, since anyone may publish another under the same name. */
  custodyPackageId: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
  /** The settlement asset: its package, its administrator, and its id there. */
  token: Schema.Struct({
    packageId: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)),
    admin: PartyId,
    id: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/))
  })
})
export type Custody = typeof Custody.Type

/** The templates that the venue uses. */
export const templates = ({ custodyPackageId, token }: Pick<Custody, "custodyPackageId" | "token">) => ({
  account: { packageId: custodyPackageId, moduleName: moduleNames.custody, entityName: "VenueAccount" },
  offer: { packageId: custodyPackageId, moduleName: moduleNames.custody, entityName: "CustodyOffer" },
  holding: { packageId: token.packageId, moduleName: moduleNames.token, entityName: "Holding" }
})

/** One planned command for the ledger. */
export interface PlannedCommand {
  readonly facts: Facts
  readonly custody: Custody
  readonly commandId: string
  readonly userId: string
  readonly synchronizerId: string
  /** The only party that acts and signs. */
  readonly actAs: string
  readonly template: Identifier
  /** Undefined where the command creates a contract of the template. */
  readonly choice: string | undefined
}

/** The subject of a command in its id: an account, or a transfer. */
const subjectOf = (facts: Facts): string => {
  if (facts.step !== "owner_account_acceptance") return facts.transferId
  return facts.isChange ? `${facts.accountId}|${facts.owner}` : facts.accountId
}

/** The id of a step's command: the same whoever computes it, and whenever. */
export const commandId = (environment: string, facts: Facts): string => {
  const text = ["venue/ledger-command/v1", environment, subjectOf(facts), facts.step].join("|")
  return `cmd_${createHash("sha256").update(text).digest("hex")}`
}

/**
 * Whether a step would have the treasury pay itself: the journal would record that the amount has left, but it would still be there and
 * belong to nobody.
 */
export const paysItself = (treasury: string, facts: Facts): boolean =>
  facts.step === "treasury_withdrawal" ? facts.receiver === treasury : facts.owner === treasury

/** The command that a step plans. */
export const plan = (custody: Custody, facts: Facts): PlannedCommand => {
  const { account, holding, offer } = templates(custody)
  const base = {
    facts,
    custody,
    commandId: commandId(custody.environment, facts),
    userId: custody.userId,
    synchronizerId: custody.synchronizerId
  }
  switch (facts.step) {
    case "owner_account_acceptance":
      return { ...base, actAs: facts.owner, template: account, choice: undefined }
    case "treasury_offer":
      return { ...base, actAs: custody.treasury, template: offer, choice: undefined }
    case "owner_offer_acceptance":
      return { ...base, actAs: facts.owner, template: offer, choice: choices.acceptOffer }
    case "treasury_offer_withdrawal":
      return { ...base, actAs: custody.treasury, template: offer, choice: choices.withdrawOffer }
    case "treasury_withdrawal":
      return { ...base, actAs: custody.treasury, template: holding, choice: choices.transfer }
  }
}
