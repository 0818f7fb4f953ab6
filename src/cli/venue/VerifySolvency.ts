/** What was checked of a proof of solvency, as whoever checks it reads it. */
import { verifyProof, verifyPublished } from "../../client/solvency/Solvency.js"

/** The sequence that a proof says it is of; 0, at which nothing was ever published, where it says none. */
export const sequenceOf = (proof: unknown): number => {
  const { journalSequence } = Object(proof) as { readonly journalSequence?: unknown }
  return Number.isSafeInteger(journalSequence) && Number(journalSequence) > 0 ? Number(journalSequence) : 0
}

/** All findings, a line each, and whether all of them hold. */
export const told = (proof: unknown, published: unknown): { readonly holds: boolean; readonly lines: ReadonlyArray<string> } => {
  const findings = [...verifyProof(proof, published).findings, ...verifyPublished(published).findings]
  return {
    holds: findings.every(({ holds }) => holds),
    lines: [...new Set(findings.map(({ holds, text }) => `${holds ? "holds" : "FAILS"}  ${text}`))]
  }
}
