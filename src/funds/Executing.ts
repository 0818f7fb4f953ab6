/**
 * Submits the current step: has it signed, journals the submission, executes it, and journals the answer. A crash in between leaves
 * a submission without a known result, which is what the journal then shows.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { TransferView } from "../engine/Reads.js"
import * as Ledger from "../ledger/Ledger.js"
import { isOwners } from "../ledger/Planned.js"
import type { submissionOutcomes } from "../operations/funds/NoteSubmission.js"
import type { Signed } from "../signer/Requests.js"
import { elsewhere, here, placeOf } from "./Elsewhere.js"
import { factsOf, type PreparationView, type StepView } from "./Facts.js"
import { note, settled } from "./Journaled.js"
import { actorOf } from "./Looking.js"
import { type Bound, endBehind, ofLedger, ofSigner, type Parts } from "./Parts.js"
import { Stopped, type Trouble, Unreachable } from "./Trouble.js"
import { approvedBefore, counterOf } from "./Unsigned.js"

/** A prepared step, approved where it has to be. */
export interface Prepared {
  readonly transfer: TransferView
  readonly step: StepView
  readonly preparation: PreparationView
}

const submissionIdBytes = 16

type Outcome = (typeof submissionOutcomes)[number]

/** Errors that say something about the transaction, although a ledger counts them among those of its own state. */
const ofTransaction: ReadonlySet<string> = new Set([
  Ledger.codes.duplicate,
  Ledger.codes.inFlight,
  Ledger.codes.period,
  Ledger.codes.locked
])

/** The trouble where the ledger definitely did nothing, for a reason of its own: another submission may succeed. */
const ownTrouble = (error: Ledger.LedgerError): Unreachable | undefined =>
  error._tag === "Refused" && error.isOfLedger === true && !ofTransaction.has(error.code) ? ofLedger(error) : undefined

interface Answered {
  readonly outcome: Outcome
  readonly guard: string
  readonly trouble?: Unreachable | undefined
}

/**
 * What an execution error says about its submission. The ledger's own trouble says no more than if it had not been reached: a refusal would
 * count against the transfer, and end one that its owner has approved.
 */
const answerOf = (error: Ledger.LedgerError): Answered => {
  const trouble = ownTrouble(error)
  if (trouble !== undefined) return { outcome: "not_sent", guard: "", trouble }
  switch (error._tag) {
    case "Unavailable":
      return { outcome: "not_sent", guard: "" }
    case "Unknown":
      return { outcome: "unknown", guard: error.code ?? "" }
    case "Refused":
      return {
        outcome: error.code === Ledger.codes.duplicate || error.code === Ledger.codes.inFlight ? "duplicate" : "refused",
        guard: error.code
      }
  }
}

/** Whether nothing of a step's transaction was submitted, as far as is known. */
const isFirst = ({ submissions, unlisted }: StepView): boolean => submissions.length + unlisted === 0

/** Whether a withdrawal may not be paid at present, and nothing of its payment was submitted: nobody is to sign it then. */
const isHeld = ({ reads }: Parts, { step, transfer: { kind, number } }: Prepared): boolean =>
  isFirst(step) && kind === "withdrawal" && (reads.funds.stop !== undefined || reads.withheldFor(number) !== undefined)

/**
 * The signature of the step's transaction; undefined where it may not be signed at present, or the signer refuses for good and the step was
 * rejected.
 */
const signed = (parts: Parts, { treasuryKeyId }: Bound, prepared: Prepared): Effect.Effect<Signed | undefined, Trouble> => {
  if (isHeld(parts, prepared)) return Effect.succeed(undefined)
  const { reads, signer, submit } = parts
  const { preparation, step, transfer } = prepared
  const { approval, binding, name } = step
  const { account, id, keyId, kind, number } = transfer
  const accountId = reads.accountId(account)
  return signer.sign({
    keyId: isOwners(name) ? keyId : treasuryKeyId,
    accountId,
    kind,
    id,
    facts: factsOf(name, { ...transfer, accountId }),
    commandId: binding?.commandId ?? "",
    preparedTransaction: new Uint8Array(Buffer.from(preparation.preparedTransaction, "base64")),
    scheme: preparation.hashingScheme === 3 ? 3 : 2,
    hash: new Uint8Array(Buffer.from(preparation.hash, "hex")),
    maxRecordTimeEpochMs: preparation.maxRecordTimeEpochMs,
    ...(approval === null ? undefined : {
      approval: {
        nonce: approval.nonce,
        assertion: {
          credentialId: approval.credentialId,
          clientDataJSON: approval.clientData,
          authenticatorData: approval.authenticatorData,
          signature: approval.signature
        }
      }
    })
  }).pipe(
    Effect.catchAll((error): Effect.Effect<undefined, Trouble> => {
      if (error._tag !== "SignerRefused") return ofSigner(error)
      // A transaction that may already be on the ledger cannot be rejected: only the ledger can decide it. Nor can the venue's own
      // step after the end of its transfer: the offer stands until it is withdrawn.
      if (!isFirst(step) || transfer.end !== null) return new Stopped({ reason: "signer_refused", detail: error.message })
      return Effect.as(
        Effect.zipRight(
          Effect.logWarning(`${id}: ${error.message}`),
          note({ submit }, "RejectStep", { transfer: number, step: name, stage: "approval", guard: error.reason })
        ),
        undefined
      )
    })
  )
}

/**
 * An earlier transfer of the account approved by the same passkey, whose signature has not been requested yet: it comes first. One
 * bound elsewhere is blocked until somebody intervenes, and must not hold up others.
 */
const before = ({ reads }: Parts, bound: Bound, { step, transfer }: Prepared, nowEpochMs: number): TransferView | undefined => {
  const { approval } = step
  if (approval === null) return undefined
  const { account, number } = transfer
  return approvedBefore(reads, account, approval.credentialId, counterOf(approval.authenticatorData), nowEpochMs).find((other) =>
    other.number !== number && other.stepAtHand !== undefined && elsewhere(placeOf(bound), other.stepAtHand) === undefined
  )
}

/** Submits the same bytes with the same signature as before, as a new submission. */
export const execute = (parts: Parts, bound: Bound, prepared: Prepared): Effect.Effect<void, Trouble> =>
  Effect.gen(function*() {
    const { ledger, random, submit } = parts
    const { preparation, step, transfer } = prepared
    const { binding, name } = step
    if (binding === null) return
    yield* here(bound, step)
    if (isFirst(step)) {
      // An acceptance before that offset would never be found, and what the step has paid would be given back.
      yield* endBehind(parts, bound, binding.ledgerEndOffset)
      if (isHeld(parts, prepared)) return
      // A crash must not undo that withdrawals may be paid once one is signed.
      if (transfer.kind === "withdrawal") yield* settled(parts)
      // Asked last, with no wait behind it: an earlier withdrawal that was held back is waited for as soon as withdrawals are allowed.
      const first = before(parts, bound, prepared, yield* Clock.currentTimeMillis)
      if (first !== undefined) {
        return yield* new Unreachable({
          whom: "signer",
          detail: `${first.id} was approved before it with the same passkey, and is signed first`
        })
      }
    }
    const signature = yield* signed(parts, bound, prepared)
    if (signature === undefined) return
    const submissionId = `sub_${Buffer.from(random.bytes(submissionIdBytes)).toString("hex")}`
    const at = { transfer: transfer.number, step: name, submissionId }
    if ((yield* note({ submit }, "BeginSubmission", at)) !== "noted") return
    const { trouble, ...answered } = yield* ledger.execute({
      preparedTransaction: new Uint8Array(Buffer.from(preparation.preparedTransaction, "base64")),
      scheme: preparation.hashingScheme === 3 ? 3 : 2,
      signature: signature.signature,
      signedBy: signature.signedBy,
      party: actorOf(bound.custody.treasury, transfer, step),
      submissionId,
      userId: binding.userId,
      deduplicateFromOffset: binding.ledgerEndOffset
    }).pipe(
      Effect.as<Answered>({ outcome: "accepted", guard: "" }),
      Effect.catchAll((error) => Effect.as(Effect.logDebug(`${transfer.id}: ${error.message}`), answerOf(error)))
    )
    yield* note({ submit }, "NoteSubmission", { ...at, ...answered })
    if (trouble !== undefined) return yield* trouble
    if (answered.guard === Ledger.codes.period) {
      return yield* new Stopped({
        reason: "deduplication_period",
        detail: "the ledger no longer deduplicates from where the step was bound"
      })
    }
  })
