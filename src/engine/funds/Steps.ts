/**
 * What becomes of one step of a transfer: a command to the ledger that is prepared, approved, executed as often as it takes, and
 * decided by the ledger once. Plain functions of a step and a fact; what follows from them for money is the business of others.
 *
 * Three rules hold all of it together. A step is over for the good only by a completion that accepts its command. It can come to
 * nothing only where every submission of it was refused, each by an answer of its own, or where nothing was executed. And what was
 * executed is forgotten only where the ledger's own record time has passed what its hash allows.
 */
import type { completionOutcomes } from "../../operations/funds/NoteCompletion.js"
import type { submissionOutcomes } from "../../operations/funds/NoteSubmission.js"
import type { StepName } from "../../operations/funds/Transfers.js"

/** What of a step never changes once it was prepared for the first time. */
export interface Binding {
  readonly commandId: string
  readonly userId: string
  readonly synchronizerId: string
  readonly participantId: string
  /** The ledger's end before the step was first prepared: behind it its completions are looked for. */
  readonly ledgerEndOffset: number
}

/** A transaction as it was prepared. */
export interface Preparation {
  /** Base64; empty once the step is over. */
  readonly preparedTransaction: string
  /** Lowercase hex. */
  readonly hash: string
  readonly hashingScheme: number
  readonly maxRecordTimeEpochMs: number
  readonly preparedAtEpochMs: number
}

/** The owner's approval of that transaction: the assertion's parts are base64url, and empty once the step is over. */
export interface Approval {
  readonly credentialId: string
  readonly clientData: string
  readonly authenticatorData: string
  readonly signature: string
  readonly nonce: string
  readonly approvedAtEpochMs: number
}

type Answered = (typeof submissionOutcomes)[number]

/** `pending` is one of which nobody has noted anything yet: the ledger may have it. */
export interface Submission {
  readonly submissionId: string
  readonly outcome: "pending" | Exclude<Answered, "not_sent">
  /** The ledger's code where it refused it; otherwise empty. */
  readonly guard: string
  readonly begunAtEpochMs: number
  /** Of the completion that refused it; 0 where none did. */
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
  /** Of this preparation, oldest first: those that are kept. */
  readonly submissions: ReadonlyArray<Submission>
  /** Submissions of which nothing is known and that are not kept any more: each of them may yet be accepted. */
  readonly unlisted: number
  /** How often it was prepared. */
  readonly preparations: number
  readonly confirmation: Confirmation | null
  /** The offset up to which completions that contradict the first have been counted. */
  readonly alarmedOffset: number
}

/**
 * Where a step stands. `due`: nothing is prepared. `prepared`: its approval is waited for. `approved`: nothing was executed yet.
 * `executed`: the ledger may have it. `refused`: every submission was refused, and the completions have yet to say that there was
 * no other. `confirmed`: it is done.
 */
export type Phase = "due" | "prepared" | "approved" | "executed" | "refused" | "confirmed"

/** What a fact does to a step: what it becomes; or nothing, since it is known, or cannot be. */
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

/** Whether an owner has to approve it: the venue withdraws its own offers without. */
const needsApproval = ({ name }: Pick<Step, "name">): boolean => name !== "treasury_offer_withdrawal"

export const phaseOf = (step: Step): Phase => {
  if (step.confirmation !== null) return "confirmed"
  if (step.preparation === null) return "due"
  if (step.submissions.length + step.unlisted > 0) return isRefused(step) ? "refused" : "executed"
  return step.approval === null && needsApproval(step) ? "prepared" : "approved"
}

/** Whether every single submission was refused. */
const isRefused = ({ submissions, unlisted }: Step): boolean =>
  unlisted === 0 && submissions.length > 0 && submissions.every(({ outcome }) => outcome === "refused")

/** Whether the ledger has taken one in, as far as anybody was told. */
export const isTakenIn = ({ submissions }: Step): boolean => submissions.some(({ outcome }) => outcome === "accepted")

const isSame = (one: Binding, other: Binding): boolean =>
  one.commandId === other.commandId && one.userId === other.userId && one.synchronizerId === other.synchronizerId
  && one.participantId === other.participantId

/** It is prepared: for the first time, which binds it, or anew under the same command. */
export const prepare = (step: Step, binding: Binding, preparation: Preparation): Taken => {
  if (phaseOf(step) !== "due") return step.preparation?.hash === preparation.hash ? "known" : "conflict"
  if (step.binding !== null && !isSame(step.binding, binding)) return "conflict"
  return { ...step, binding: step.binding ?? binding, preparation, preparations: step.preparations + 1 }
}

/** Its owner approves the transaction with a hash. */
export const approve = (step: Step, hash: string, approval: Approval): Taken => {
  if (!needsApproval(step) || step.preparation === null || step.preparation.hash !== hash) return "conflict"
  if (step.approval !== null) return step.approval.nonce === approval.nonce ? "known" : "conflict"
  return phaseOf(step) === "prepared" ? { ...step, approval } : "conflict"
}

/**
 * A submission is about to be executed. Where there is no room for it, the oldest that was refused is forgotten; if none was, the
 * oldest of all is counted, and will never be known to have been refused.
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

/** What was answered to a submission. Once it was taken in or refused, no answer changes that, but its completion may. */
export const note = (step: Step, submissionId: string, outcome: Answered, guard: string): Taken => {
  const submission = step.submissions.find((each) => each.submissionId === submissionId)
  if (step.confirmation !== null || submission === undefined) return "known"
  const before = submission.outcome
  if (before === outcome || before === "refused" || before === "accepted" || before === "duplicate") return "known"
  if (outcome === "not_sent") {
    // Only who has just begun it can know that it never left.
    if (before !== "pending") return "conflict"
    return { ...step, submissions: step.submissions.filter((each) => each !== submission) }
  }
  return withSubmission(step, submission, { ...submission, outcome, guard })
}

const withSubmission = (step: Step, before: Submission, after: Submission): Step => ({
  ...step,
  submissions: step.submissions.map((each) => each === before ? after : each)
})

/** A completion that refuses a submission. */
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

/** What a completion that accepts the command is to a step: its confirmation, the same again, or another one. */
export const confirm = (step: Step, confirmation: Confirmation): Step | "known" | "another" => {
  if (step.confirmation === null) return over({ ...step, confirmation })
  const { offset, updateId } = confirmation
  if (step.confirmation.updateId === updateId && step.confirmation.offset === offset) return "known"
  return offset <= step.alarmedOffset ? "known" : "another"
}

/** The step without what nobody needs any more once it is over: the bytes, and the assertion. */
export const over = (step: Step): Step => ({
  ...step,
  preparation: step.preparation === null ? null : { ...step.preparation, preparedTransaction: "" },
  approval: step.approval === null ? null : { ...step.approval, clientData: "", authenticatorData: "", signature: "" }
})

/**
 * The completions from its binding's offset through another hold no acceptance. `refused`: all of it was refused, and there is no
 * other. A step: its transaction can take no effect any more, so that nothing is left of it but its binding.
 */
export const scan = (step: Step, hash: string, throughOffset: number, recordTimeEpochMs: number): Taken | "refused" => {
  const { binding, confirmation, preparation } = step
  if (confirmation !== null || preparation === null || binding === null || preparation.hash !== hash) return "known"
  if (throughOffset < binding.ledgerEndOffset) return "conflict"
  const lastRefusal = step.submissions.reduce((last, { offset }) => Math.max(last, offset), 0)
  if (phaseOf(step) === "refused" && throughOffset >= lastRefusal) return "refused"
  // Below the third scheme the largest record time is not part of what is signed: whoever has the bytes could change it.
  const isPassed = preparation.hashingScheme >= 3 && recordTimeEpochMs > preparation.maxRecordTimeEpochMs
  return isPassed ? voided(step) : "conflict"
}

/** The step as if it had never been prepared, but bound as it was. */
export const voided = (step: Step): Step => ({ ...step, preparation: null, approval: null, submissions: [], unlisted: 0 })
