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

/**
 * The same once the stop says what a comparison of the books found lacking, as the engine has it replaced: it is what the stop says then,
 * unless that is a contradiction which says more; behind an operator's own stop nothing that was accepted before counts.
 */
export const acceptedBehind = (stop: Stopped, acceptedAtoms: number, lacking: number): number => {
  if (stop.reason === "operator") return lacking
  const differenceAtoms = stop.reason === "contradiction" ? Math.min(stop.differenceAtoms, lacking) : lacking
  return acceptedBy({ ...stop, differenceAtoms }, acceptedAtoms)
}
