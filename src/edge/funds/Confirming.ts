/**
 * The loop in which an owner approves a transfer step by step. `initiate` continues it as far as the venue can and asks for the
 * next approval; `complete` takes an approval and submits what it approves. Both may be repeated after any lost answer.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Refusal } from "../../domain/Refusal.js"
import type { SessionView, TransferView } from "../../engine/Reads.js"
import type { Question } from "../../funds/Approvals.js"
import type { StepQuestion } from "../../funds/Funds.js"
import { Operation } from "../../operations/Operations.js"
import { approvalChallenge } from "../../signer/Approval.js"
import type { Services } from "../http/Call.js"
import { decidedAt } from "../http/JournalTime.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Fields from "../http/Fields.js"
import * as Submission from "../http/Submission.js"
import { owned } from "../identity/Sent.js"
import * as Factor from "./Factor.js"
import { findTransfer, type Found, shownOf } from "./TransferHistory.js"
import { type Shown, SigningStep } from "./TransferRecord.js"
import { failureOf } from "./Troubles.js"

type SigningStep = typeof SigningStep.Type

/** The fields of `complete` besides those that name the transfer. */
export const completion = {
  action: Schema.Literal("complete").annotations({
    description: "May be sent again: while the first one is being decided it waits for that, and an accepted one is answered by how things "
      + "stand. Any answer ends its challenge, except one that there is no room for (503, \"Nothing was done\"), and `initiate` is "
      + "answered 503 `overloaded` until it is decided."
  }),
  signingStep: SigningStep,
  challengeIdentifier: Fields.Name,
  firstFactor: Factor.FirstFactor
}
export type Completion = Schema.Schema.Type<Schema.Struct<typeof completion>>

export const initiation = {
  action: Schema.Literal("initiate"),
  signingStep: Fields.optional(SigningStep).annotations({
    description: "The step that is expected; 409 where the transfer is at another one."
  })
}

/** The state of the transfer, and the approval that is due, if any. */
export interface Confirmed {
  readonly transfer: Shown
  readonly due: { readonly signingStep: SigningStep; readonly challenge: Factor.Challenge } | undefined
}

const conflict = Errors.refused(Refusal.stepConflict)

const notFound = Errors.refused(Refusal.transferNotFound)

/** A transfer of the account by its number. Unknown ones and those of other accounts get the same answer. */
export const withTransfer = <A>(
  services: Services,
  { account }: Pick<SessionView, "account">,
  kind: TransferView["kind"],
  number: number | undefined,
  then: (found: Found) => Effect.Effect<A, Errors.Failure>
): Effect.Effect<A, Errors.Failure> =>
  Effect.flatMap(
    number === undefined ? Effect.succeed(undefined) : findTransfer(services, account, kind, number),
    (found) => found === undefined ? fail(notFound) : then(found)
  )

/** The present state of a transfer, which may have finished and been forgotten since it was last read. */
const standing = (services: Services, { account, kind, number }: Shown): Effect.Effect<Found, Errors.Failure> =>
  Effect.flatMap(findTransfer(services, account, kind, number), (found) => found === undefined ? fail(notFound) : Effect.succeed(found))

/** Why a transfer is not given up whose step at hand is approved. */
const approvedAlready = "It is approved already: the venue carries it out as soon as it can, and it cannot be given up meanwhile. If it "
  + "cannot be done within ten minutes, it asks for an approval again: look at it later."

/** Cancels a transfer. Returns its state afterwards. */
export const giveUp = (services: Services, trader: SessionView, found: Found): Effect.Effect<Shown, Errors.Failure> => {
  if ("over" in found) return fail(conflict)
  const { kept: transfer } = found
  const command = owned("CancelTransfer", trader, Operation.cancelTransfer, { transfer: transfer.number })
  return Submission.submitted(services, command).pipe(
    Effect.mapError((failure) => {
      const approval = services.state.transfer(transfer.number)?.stepAtHand?.approval ?? null
      return failure.description === conflict.description && approval !== null ? { ...failure, message: approvedAlready } : failure
    }),
    Effect.zipRight(Effect.map(standing(services, transfer), shownOf))
  )
}

/** The step that waits for its owner, with the transaction that was prepared for it. */
const awaited = ({ awaits, stepAtHand: step }: TransferView) => {
  if (awaits !== "approval" || step === undefined || step.name === "treasury_offer_withdrawal") return undefined
  const { binding, name, preparation } = step
  return binding === null || preparation === null ? undefined : { name, commandId: binding.commandId, hash: preparation.hash }
}

/** Whether the venue has to do something before the owner can be asked. Nothing is asked about a finished transfer anyway. */
const isVenues = ({ awaits, end }: TransferView): boolean => end === null && (awaits === "party" || awaits === "preparation")

/** The open challenge for what is prepared, or a new one. */
const question = (services: Services, transfer: TransferView): Effect.Effect<Confirmed, Errors.Failure> =>
  Effect.gen(function*() {
    const { funds, now, state } = services
    const step = awaited(transfer)
    if (step === undefined) return { transfer, due: undefined }
    const { commandId, hash, name } = step
    const { id, kind, number } = transfer
    const at = now()
    const about = { transfer: number, step: name, hash }
    const open = funds.steps.ask(transfer.account, `${number}/${name}/${hash}`, about,
      (nonce) => approvalChallenge({ kind, id, step: name, commandId, hash: Buffer.from(hash, "hex"), nonce }), at)
    if (open === undefined) return yield* fail(Errors.identityBusy)
    const may = Factor.approving(state.passkeys(transfer.account), kind === "deposit", decidedAt(services))
    // If the signer cannot be asked now, it is asked when the approval arrives.
    const keys = yield* Effect.orElseSucceed(funds.accountKeys(state.accountId(transfer.account)), () => undefined)
    const allowed = keys === undefined ? may : may.filter((each) => keys.credentialIds.includes(each))
    return { transfer, due: { signingStep: name, challenge: Factor.asked(services, open, allowed) } }
  })

/** Continues a transfer, and asks for the approval that is due. */
export const initiate = (services: Services, found: Found, signingStep?: SigningStep): Effect.Effect<Confirmed, Errors.Failure> =>
  Effect.gen(function*() {
    // The venue withdraws the offer of a failed deposit by itself: no caller waits for that or is told how it goes.
    const mayGoOn = "kept" in found && found.kept.end === null && found.kept.stepAtHand !== undefined
    const asked = mayGoOn ? yield* Effect.either(services.funds.ask(found.kept.number)) : undefined
    const now = mayGoOn ? yield* standing(services, found.kept) : found
    // No step of a transfer that is finished and forgotten can be continued.
    if ("over" in now) return signingStep === undefined ? { transfer: now.over, due: undefined } : yield* fail(conflict)
    const { kept: transfer } = now
    if (isVenues(transfer)) {
      return yield* fail(asked?._tag === "Left" ? failureOf(asked.left, transfer) : Errors.ledgerUnavailable)
    }
    if (signingStep !== undefined && transfer.stepAtHand?.name !== signingStep) return yield* fail(conflict)
    // What only an operator can resolve would not be submitted even if it were approved, and once approved it could not expire
    // either.
    if (asked?._tag === "Left" && asked.left._tag === "Stopped" && transfer.awaits === "approval") {
      return yield* fail(failureOf(asked.left, transfer))
    }
    return yield* question(services, transfer)
  })

/** Whether this answer approved one of the steps before. */
const isTaken = ({ id, kind, steps }: TransferView, { firstFactor, signingStep }: Completion): boolean =>
  steps.some(({ approval, binding, name, preparation }) => {
    if (name !== signingStep || approval === null || binding === null || preparation === null) return false
    const { credentialId, nonce } = approval
    const { commandId } = binding
    const hash = Buffer.from(preparation.hash, "hex")
    return credentialId === firstFactor.credentialAssertion.credId
      && Factor.answered(firstFactor) === approvalChallenge({ kind, id, step: name, commandId, hash, nonce })
  })

/** The reply to an approval that answers no open challenge: the transfer's state, if it is the approval that was taken before. */
const repeated = (services: Services, transfer: TransferView, body: Completion): Effect.Effect<Confirmed, Errors.Failure> =>
  Effect.flatMap(standing(services, transfer), (found) => {
    if ("over" in found) return fail(conflict)
    return isTaken(found.kept, body)
      ? Effect.succeed({ transfer: found.kept, due: undefined })
      : fail(Factor.over)
  })

/** Verifies the answer to a step's challenge, and journals the approval. */
const approve = (
  services: Services,
  trader: SessionView,
  transfer: TransferView,
  body: Completion,
  { about, challenge, nonce }: Question<StepQuestion>,
  remoteAddress: string
): Effect.Effect<undefined, Errors.Failure> =>
  Effect.gen(function*() {
    const { funds, state } = services
    const { kind, number } = transfer
    const step = awaited(transfer)
    if (about.transfer !== number || about.step !== body.signingStep || step?.hash !== about.hash) return yield* fail(conflict)
    const { passkey: { approvesFromEpochMs, credentialId }, signCount } = yield* Factor.prove(services, trader.account, body.firstFactor,
      challenge, remoteAddress)
    const keys = yield* Effect.orElseSucceed(funds.accountKeys(state.accountId(trader.account)), () => undefined)
    if (keys !== undefined && !keys.credentialIds.includes(credentialId)) return yield* fail(Errors.passkeyNotPinned)
    const at = decidedAt(services)
    if (kind !== "deposit" && approvesFromEpochMs > at) {
      return yield* fail(Errors.refused(Refusal.passkeyTooNew, { limit: String(approvesFromEpochMs), actual: String(at) }))
    }
    const { authenticatorData, clientData, signature } = body.firstFactor.credentialAssertion
    const approval = owned("ApproveStep", trader, Operation.approveStep, {
      transfer: number,
      step: about.step,
      hash: about.hash,
      credentialId,
      signCount,
      clientData,
      authenticatorData,
      signature,
      nonce,
      remoteAddress
    })
    yield* Submission.submitted(services, approval)
    return undefined
  })

/** Takes an approval and submits what it approves. Returns the result as far as it is known. */
export const complete = (
  services: Services,
  trader: SessionView,
  found: Found,
  body: Completion,
  remoteAddress: string
): Effect.Effect<Confirmed, Errors.Failure> =>
  Effect.gen(function*() {
    const { funds, now } = services
    if ("over" in found) return yield* fail(conflict)
    const { kept: transfer, kept: { number } } = found
    const stands = { transfer, due: undefined }
    if (isTaken(transfer, body)) return stands
    const answer = { challengeIdentifier: body.challengeIdentifier, by: `${number}/${body.firstFactor.credentialAssertion.credId}` }
    const came = yield* funds.steps.answered(answer, now(),
      (question) => approve(services, trader, transfer, body, question, remoteAddress), () => repeated(services, transfer, body),
      Errors.maySayAgain)
    if (came !== undefined) return came
    // The approval is final: whatever prevents the submission now, the venue continues by itself.
    yield* Effect.either(funds.ask(number))
    return { transfer: shownOf(yield* standing(services, transfer)), due: undefined }
  })
