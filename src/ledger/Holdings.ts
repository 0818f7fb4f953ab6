/** Which of a party's holdings a transaction spends, and the refusal where no choice of them will do. Pure. */
import { type Claims, codes, Refused } from "./Ledger.js"

export interface Held {
  readonly contractId: string
  readonly atoms: bigint
}

/** Most holdings that one transfer spends. */
export const mostSpent = 12
/**
 * Holdings that one transfer spends where fewer would do, so that small ones do not pile up. An owner's transfer spends up to
 * `ownersSpent`. The treasury's spends up to `sweptSpent`, but only while it has more than `keptPieces`: each holding it keeps can pay for
 * a withdrawal of its own. A transaction with `sweptSpent` holdings stays well below the greatest length, however long the parties' names
 * are.
 */
const ownersSpent = 4
export const sweptSpent = 6
const keptPieces = 32

export const worthOf = (held: ReadonlyArray<Held>): bigint => held.reduce((sum, { atoms }) => sum + atoms, 0n)

/** Holdings, smallest first. */
export const leastFirst = (held: ReadonlyArray<Held>): ReadonlyArray<Held> =>
  held.toSorted((a, b) => a.atoms < b.atoms || (a.atoms === b.atoms && a.contractId < b.contractId) ? -1 : 1)

/**
 * The holdings to spend for an amount, chosen from `least`, which is sorted smallest first: the smallest one that suffices alone, so that
 * larger ones are left for other transfers, or else the largest ones; and with them the smallest, up to `wanted` in all. Undefined where
 * the most that one transfer may spend do not suffice.
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
 * Choices of holdings to spend for an amount, best first: unclaimed ones, with small ones added; then only as few unclaimed ones as the
 * amount needs; then as few as it needs, including those of transactions that still await approval. Each choice has fewer holdings than the
 * one before it, in case the transaction is too long.
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

/** How many of the largest holdings cover an amount. */
export const neededOf = (least: ReadonlyArray<Held>, amountAtoms: bigint): number => {
  let count = 0
  for (let worth = 0n; worth < amountAtoms && count < least.length;) worth += least.at(-++count)!.atoms
  return count
}

/** Why an amount is not paid, where one transaction has room for `most` holdings. */
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
