/** What is lacking in the treasury, and what of that an operator has accepted. Amounts are atoms, and 0 or below. */

/** What a stop of withdrawals says: who or what stopped them, and what the ledger holds less what is owed. */
export interface Stopped {
  readonly reason: string
  readonly differenceAtoms: number
}

/**
 * What counts as accepted once an operator lets stopped withdrawals go on: the difference that the stop reported, since that is what has
 * been investigated. A stop by an operator says nothing about the ledger, and resets what was accepted before.
 */
export const acceptedBy = ({ differenceAtoms, reason }: Stopped, acceptedAtoms: number): number =>
  reason === "operator" ? 0 : Math.min(acceptedAtoms, differenceAtoms)

/** A stop with the ledger offset at which was compared. */
export interface Stop extends Stopped {
  readonly reason: "operator" | "reconciliation" | "contradiction"
  readonly atOffset: number
}

/**
 * The stop that stands once another one comes, and what counts as accepted then. The first reason stays, except that a contradiction
 * replaces any other, with the larger of the two deficits, and what a comparison of the books has found replaces an operator's own stop
 * and what an earlier comparison had found: an operator who resumes withdrawals has to have been shown it. An operator's own stop takes
 * back what was accepted before, also where a comparison replaces it.
 */
export const stoppedAgain = <S extends Stop>(before: S, { atOffset, differenceAtoms, reason }: Stop, acceptedAtoms: number) => {
  const isContradiction = reason === "contradiction"
  const wasContradiction = before.reason === "contradiction"
  if (reason === "operator" || (isContradiction && wasContradiction)) return { stop: before, acceptedAtoms }
  if (isContradiction || wasContradiction) {
    const most = Math.min(before.differenceAtoms, differenceAtoms)
    return { stop: { ...before, reason: "contradiction" as const, differenceAtoms: most }, acceptedAtoms }
  }
  return { stop: { ...before, reason, differenceAtoms, atOffset }, acceptedAtoms: before.reason === "operator" ? 0 : acceptedAtoms }
}
