/**
 * The life of one step of a transfer: a ledger command that is prepared, approved, submitted as often as needed, and decided by the
 * ledger once. These are pure functions of a step and a fact; what follows for money is decided elsewhere.
 *
 * Three rules hold it together. A step succeeds only by a completion that accepts its command. It fails only where every submission
 * was refused by an answer of its own, or where nothing was submitted. A submission is forgotten only once the ledger's record time
 * has passed the latest time at which its hash is valid.
 */
import type { completionOutcomes } from "../../operations/funds/NoteCompletion.js"
import type { submissionOutcomes } from "../../operations/funds/NoteSubmission.js"
import type { StepName } from "../../operations/funds/Transfers.js"

/** What stays the same however often a step is prepared. */
export interface Binding {
  readonly commandId: string
  readonly userId: string
  readonly synchronizerId: string
  readonly participantId: string
  /** The ledger's end offset before the step was first prepared: its completions can only come after it. */
  readonly ledgerEndOffset: number
}

/** A prepared transaction. */
export interface Preparation {
  /** Base64; empty once the step is finished. */
  readonly preparedTransaction: string
  /** Lowercase hex. */
  readonly hash: string
  readonly hashingScheme: number
  readonly maxRecordTimeEpochMs: number
  readonly preparedAtEpochMs: number
}

/** The owner's approval of the transaction. The assertion's parts are base64url, and empty once the step is finished. */
export interface Approval {
  readonly credentialId: string
  readonly clientData: string
  readonly authenticatorData: string
  readonly signature: string
  readonly nonce: string
  readonly approvedAtEpochMs: number
}

type Answered = (typeof submissionOutcomes)[number]

/** A submission that is `pending` has no answer noted yet: the ledger may have it. */
export interface Submission {
  readonly submissionId: string
  readonly outcome: "pending" | Exclude<Answered, "not_sent">
  /** The ledger's error code where it refused the submission; otherwise empty. */
  readonly guard: string
  readonly begunAtEpochMs: number
  /** The offset of the completion that refused the submission; 0 where none did. */
  readonly offset: number
}

/** The completion that accepted the step's command. */
export interface Confirmation {
  readonly updateId: string
  readonly offset: number
  readonly confirmedAtEpochMs: number
}

export interface Step {
  readonly name: StepName
  readonly binding: Binding | null
  readonly preparation: Preparation | null
  readonly approval: Approval | null
  /** Submissions of the current preparation that are kept, oldest first. */
  readonly submissions: ReadonlyArray<Submission>
  /** Submissions without a known result that are no longer listed: each may still be accepted. */
  readonly unlisted: number
  /** How often the step was prepared. */
  readonly preparations: number
  readonly confirmation: Confirmation | null
  /** The offset up to which completions that contradict the first have been counted. */
  readonly alarmedOffset: number
}

/**
 * The phase of a step. `due`: not prepared. `prepared`: waits for its approval. `approved`: not submitted yet. `executed`:
 * submitted, so the ledger may have it. `refused`: every submission was refused, but the completions have yet to show that there
 * was no other. `confirmed`: done.
 */
export type Phase = "due" | "prepared" | "approved" | "executed" | "refused" | "confirmed"

/**
 * The result of applying a fact to a step: the new step; `known` where the fact changes nothing; `conflict` where it is impossible.
 */
export type Taken = Step | "known" | "conflict"

export const newStep = (name: StepName): Step => ({
  name,
  binding: null,
  preparation: null,
  approval: null,
  submissions: [],
  unlisted: 0,
  preparations: 0,
  confirmation: null,
  alarmedOffset: 0
})

/** Whether the step needs the owner's approval: the venue withdraws its own offers without it. */
const needsApproval = ({ name }: Pick<Step, "name">): boolean => name !== "treasury_offer_withdrawal"

export const phaseOf = (step: Step): Phase => {
  if (step.confirmation !== null) return "confirmed"
  if (step.preparation === null) return "due"
  if (step.submissions.length + step.unlisted > 0) return isRefused(step) ? "refused" : "executed"
  return step.approval === null && needsApproval(step) ? "prepared" : "approved"
}

/** Whether every submission was refused. */
const isRefused = ({ submissions, unlisted }: Step): boolean =>
  unlisted === 0 && submissions.length > 0 && submissions.every(({ outcome }) => outcome === "refused")

/** Whether the ledger is known to have accepted a submission for processing. */
export const isTakenIn = ({ submissions }: Step): boolean => submissions.some(({ outcome }) => outcome === "accepted")

const isSame = (one: Binding, other: Binding): boolean =>
  one.commandId === other.commandId && one.userId === other.userId && one.synchronizerId === other.synchronizerId
  && one.participantId === other.participantId

/** Prepares the step: the first time, which binds it, or again under the same command. */
export const prepare = (step: Step, binding: Binding, preparation: Preparation): Taken => {
  if (phaseOf(step) !== "due") return step.preparation?.hash === preparation.hash ? "known" : "conflict"
  if (step.binding !== null && !isSame(step.binding, binding)) return "conflict"
  return { ...step, binding: step.binding ?? binding, preparation, preparations: step.preparations + 1 }
}

/** Approves the transaction with the given hash. */
export const approve = (step: Step, hash: string, approval: Approval): Taken => {
  if (!needsApproval(step) || step.preparation === null || step.preparation.hash !== hash) return "conflict"
  if (step.approval !== null) return step.approval.nonce === approval.nonce ? "known" : "conflict"
  return phaseOf(step) === "prepared" ? { ...step, approval } : "conflict"
}

/**
 * Begins a submission. Where the list is full, the oldest refused one is dropped; if none was refused, the oldest of all is moved
 * to the count of unlisted ones, whose refusal can never be known.
 */
export const begin = (step: Step, submissionId: string, begunAtEpochMs: number, most: number): Taken => {
  if (step.submissions.some((each) => each.submissionId === submissionId)) return "known"
  const phase = phaseOf(step)
  if (phase !== "approved" && phase !== "executed") return "conflict"
  let { submissions, unlisted } = step
  if (submissions.length >= most) {
    const refused = submissions.findIndex(({ outcome }) => outcome === "refused")
    if (refused < 0) unlisted++
    submissions = submissions.filter((_, index) => index !== Math.max(0, refused))
  }
  return { ...step, submissions: [...submissions, { submissionId, outcome: "pending", guard: "", begunAtEpochMs, offset: 0 }], unlisted }
}

/** Notes the answer to a submission. An answer of acceptance or refusal is final, except that a completion may change it. */
export const note = (step: Step, submissionId: string, outcome: Answered, guard: string): Taken => {
  const submission = step.submissions.find((each) => each.submissionId === submissionId)
  if (step.confirmation !== null || submission === undefined) return "known"
  const before = submission.outcome
  if (before === outcome || before === "refused" || before === "accepted" || before === "duplicate") return "known"
  if (outcome === "not_sent") {
    // Only the caller who has just begun a submission can know that it was never sent.
    if (before !== "pending") return "conflict"
    return { ...step, submissions: step.submissions.filter((each) => each !== submission) }
  }
  return withSubmission(step, submission, { ...submission, outcome, guard })
}

const withSubmission = (step: Step, before: Submission, after: Submission): Step => ({
  ...step,
  submissions: step.submissions.map((each) => each === before ? after : each)
})

/** Applies a completion that refuses a submission. */
export const refuse = (
  step: Step,
  submissionId: string,
  outcome: Exclude<(typeof completionOutcomes)[number], "accepted">,
  guard: string,
  offset: number
): Taken => {
  const submission = step.submissions.find((each) => each.submissionId === submissionId)
  if (step.confirmation !== null || submission === undefined || submission.outcome === "refused") return "known"
  if (submission.outcome === outcome) return "known"
  return withSubmission(step, submission, { ...submission, outcome, guard, offset })
}

/**
 * Applies a completion that accepts the step's command: the confirmed step, `known` for a repetition, or `another` for a second
 * acceptance.
 */
export const confirm = (step: Step, confirmation: Confirmation): Step | "known" | "another" => {
  if (step.confirmation === null) return over({ ...step, confirmation })
  const { offset, updateId } = confirmation
  if (step.confirmation.updateId === updateId && step.confirmation.offset === offset) return "known"
  return offset <= step.alarmedOffset ? "known" : "another"
}

/** The finished step without what is no longer needed: transaction bytes and assertion. */
export const over = (step: Step): Step => ({
  ...step,
  preparation: step.preparation === null ? null : { ...step.preparation, preparedTransaction: "" },
  approval: step.approval === null ? null : { ...step.approval, clientData: "", authenticatorData: "", signature: "" }
})

/**
 * Applies the finding that no completion from the binding's offset through `throughOffset` accepts the command. Returns `refused`
 * where all submissions were refused and there can be no other; a step that keeps nothing but its binding where the transaction can
 * no longer take effect.
 */
export const scan = (step: Step, hash: string, throughOffset: number, recordTimeEpochMs: number): Taken | "refused" => {
  const { binding, confirmation, preparation } = step
  if (confirmation !== null || preparation === null || binding === null || preparation.hash !== hash) return "known"
  if (throughOffset < binding.ledgerEndOffset) return "conflict"
  const lastRefusal = step.submissions.reduce((last, { offset }) => Math.max(last, offset), 0)
  if (phaseOf(step) === "refused" && throughOffset >= lastRefusal) return "refused"
  // Before hashing scheme 3 the maximum record time was not covered by the signature: anybody with the bytes could change it.
  const isPassed = preparation.hashingScheme >= 3 && recordTimeEpochMs > preparation.maxRecordTimeEpochMs
  return isPassed ? voided(step) : "conflict"
}

/** The step as if it had never been prepared, apart from its binding. */
export const voided = (step: Step): Step => ({ ...step, preparation: null, approval: null, submissions: [], unlisted: 0 })
