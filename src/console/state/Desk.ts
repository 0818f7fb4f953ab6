/** One interface for deposits and withdrawals over the venue's routes for each. */
import type { Client } from "./Client.js"
import type { ApprovalChallenge, DepositConfirmed, FirstFactor, SigningStep, WithdrawalConfirmed } from "./Contract.js"
import { hasFailed, type Result } from "./Failure.js"
import { ofDeposit, ofWithdrawal, type Transfer } from "./Transfer.js"

export interface Page {
  /** Newest first. */
  readonly transfers: ReadonlyArray<Transfer>
  readonly nextCursor: string | null
}

/** A transfer's state, and the challenge for its owner, if any. */
export interface Confirmed {
  readonly transfer: Transfer
  readonly due: { readonly signingStep: SigningStep; readonly challenge: ApprovalChallenge } | undefined
}

export interface Approved {
  readonly signingStep: SigningStep
  readonly challengeIdentifier: string
  readonly firstFactor: FirstFactor
}

export interface Wish {
  readonly amountAtoms: string
  /** The party that a withdrawal pays; empty for a deposit, which the account's own party pays. */
  readonly destinationPartyId: string
}

export interface Desk {
  readonly create: (wish: Wish, idempotencyKey: string) => Promise<Result<Transfer>>
  readonly page: (cursor: string | undefined) => Promise<Result<Page>>
  readonly show: (id: string) => Promise<Result<Transfer>>
  readonly giveUp: (id: string) => Promise<Result<Transfer>>
  /** Continues a transfer that is expected to be at a step. */
  readonly initiate: (id: string, signingStep: SigningStep) => Promise<Result<Confirmed>>
  readonly complete: (id: string, approved: Approved) => Promise<Result<Confirmed>>
}

const map = <A, B>(result: Result<A>, made: (value: A) => B): Result<B> => hasFailed(result) ? result : { value: made(result.value) }

const dueOf = ({ challenge, signingStep }: Pick<DepositConfirmed | WithdrawalConfirmed, "challenge" | "signingStep">): Confirmed["due"] =>
  challenge === undefined || signingStep === undefined ? undefined : { challenge, signingStep }

const asset = "USDC"

export const deposits = (client: Client): Desk => {
  const confirmed = (answer: DepositConfirmed): Confirmed => ({ transfer: ofDeposit(answer.deposit), due: dueOf(answer) })
  return {
    create: async ({ amountAtoms }, idempotencyKey) => map(await client.createDeposit({ asset, amountAtoms }, idempotencyKey), ofDeposit),
    page: async (cursor) =>
      map(await client.deposits(cursor), (page) => ({ transfers: page.deposits.map(ofDeposit), nextCursor: page.nextCursor })),
    show: async (depositId) => map(await client.deposit(depositId), ofDeposit),
    giveUp: async (depositId) => map(await client.cancelDeposit(depositId), ofDeposit),
    initiate: async (depositId, signingStep) => map(await client.confirmDeposit({ action: "initiate", depositId, signingStep }), confirmed),
    complete: async (depositId, approved) => map(await client.confirmDeposit({ action: "complete", depositId, ...approved }), confirmed)
  }
}

export const withdrawals = (client: Client): Desk => {
  const confirmed = (answer: WithdrawalConfirmed): Confirmed => ({ transfer: ofWithdrawal(answer.withdrawal), due: dueOf(answer) })
  return {
    create: async (wish, idempotencyKey) => map(await client.createWithdrawal({ asset, ...wish }, idempotencyKey), ofWithdrawal),
    page: async (cursor) =>
      map(await client.withdrawals(cursor), (page) => ({ transfers: page.withdrawals.map(ofWithdrawal), nextCursor: page.nextCursor })),
    show: async (withdrawalId) => map(await client.withdrawal(withdrawalId), ofWithdrawal),
    giveUp: async (withdrawalId) => map(await client.cancelWithdrawal(withdrawalId), ofWithdrawal),
    initiate: async (withdrawalId, signingStep) =>
      map(await client.confirmWithdrawal({ action: "initiate", withdrawalId, signingStep }), confirmed),
    complete: async (withdrawalId, approved) =>
      map(await client.confirmWithdrawal({ action: "complete", withdrawalId, ...approved }), confirmed)
  }
}
