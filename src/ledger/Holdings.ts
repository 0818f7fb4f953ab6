/** Which of a party's holdings a transaction spends: pure choices among them, and what is said where none will do. */
import { type Claims, codes, Refused } from "./Ledger.js"

export interface Held {
  readonly contractId: string
  readonly atoms: bigint
}

/** Holdings that one transfer spends, at most. */
export const mostSpent = 12
/**
 * Holdings that one transfer spends where fewer would do. An owner's spends small ones along up to the first number, so that they do not
 * pile up; the treasury's up to the second, but only while it has more than the third: each is what a withdrawal of its own can be paid
 * from. As many as the second are in a transaction that is well below its greatest length, however long the names of parties are.
 */
const ownersSpent = 4
export const sweptSpent = 6
const keptPieces = 32

export const worthOf = (held: ReadonlyArray<Held>): bigint => held.reduce((sum, { atoms }) => sum + atoms, 0n)

/** Holdings with the smallest first. */
export const leastFirst = (held: ReadonlyArray<Held>): ReadonlyArray<Held> =>
  held.toSorted((a, b) => a.atoms < b.atoms || (a.atoms === b.atoms && a.contractId < b.contractId) ? -1 : 1)

/**
 * Of holdings, smallest first, those to spend for an amount: the smallest that suffices alone, so that larger ones are left for others, or
 * else the largest; and with them the smallest, up to so many. Undefined where as many as one transfer spends do not suffice.
 */
const chosenOf = (least: ReadonlyArray<Held>, amountAtoms: bigint, wanted: number): ReadonlyArray<Held> | undefined => {
  const alone = least.findIndex(({ atoms }) => atoms >= amountAtoms)
  if (alone >= 0) {
    const others = least.filter((_, at) => at !== alone)
    return [least[alone]!, ...others.slice(0, Math.max(0, wanted - 1))]
  }
  let count = 0
  let worth = 0n
  while (worth < amountAtoms && count < Math.min(mostSpent, least.length)) worth += least.at(-++count)!.atoms
  if (worth < amountAtoms) return undefined
  return [...least.slice(-count).reverse(), ...least.slice(0, Math.min(least.length - count, Math.max(0, wanted - count)))]
}

/**
 * What can be spent for an amount, the best first: of what nobody claims where that suffices, with small ones along; then as few as the
 * amount needs; then as few as it needs of what others have only asked for too. Each has fewer holdings than the one before it, for the
 * case that the transaction becomes too long.
 */
export const choicesOf = (least: ReadonlyArray<Held>, amountAtoms: bigint, claims?: Claims): ReadonlyArray<ReadonlyArray<Held>> => {
  const free = least.filter(({ contractId }) => claims?.underWay.has(contractId) !== true)
  const unasked = free.filter(({ contractId }) => claims?.asked.has(contractId) !== true)
  const wanted = claims === undefined ? ownersSpent : unasked.length > keptPieces ? sweptSpent : 0
  const all = [chosenOf(unasked, amountAtoms, wanted), chosenOf(unasked, amountAtoms, 0), chosenOf(free, amountAtoms, 0)]
  const choices: Array<ReadonlyArray<Held>> = []
  for (const chosen of all) if (chosen !== undefined && chosen.length < (choices.at(-1)?.length ?? Infinity)) choices.push(chosen)
  return choices
}

/** How many of the largest are worth an amount. */
export const neededOf = (least: ReadonlyArray<Held>, amountAtoms: bigint): number => {
  let count = 0
  for (let worth = 0n; worth < amountAtoms && count < least.length;) worth += least.at(-++count)!.atoms
  return count
}

/** Why an amount is not paid, where as many as the given number of holdings are in one transaction. */
export const refusalOf = (party: string, least: ReadonlyArray<Held>, amountAtoms: bigint, most: number): Refused => {
  const largest = worthOf(least.slice(least.length - Math.min(most, least.length)))
  return largest >= amountAtoms
    ? new Refused({ code: codes.inUse, cause: `what ${party} holds is under way with others`, context: {} })
    : new Refused({
      code: codes.pieces,
      cause: `${party} holds the amount in more than ${most} pieces`,
      context: { largestAtoms: String(largest) }
    })
}
