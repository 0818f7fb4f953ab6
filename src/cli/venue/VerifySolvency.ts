/** The findings on a proof of solvency, formatted for a reader. */
import { type Judged, verifyProof, verifyPublished } from "../../client/solvency/Solvency.js"

/** The sequence stated in a proof; 0, for which nothing was ever published, where there is none. */
export const sequenceOf = (proof: unknown): number => {
  const { journalSequence } = Object(proof) as { readonly journalSequence?: unknown }
  return Number.isSafeInteger(journalSequence) && Number(journalSequence) > 0 ? Number(journalSequence) : 0
}

/** The account that the proof has to be of, undefined for any, and how the figures are judged. */
interface Expected extends Judged {
  readonly accountId: string | undefined
}

/** All findings, one line each, and whether all of them hold. */
export const told = (
  proof: unknown,
  published: unknown,
  { accountId, ...judged }: Expected
): { readonly holds: boolean; readonly lines: ReadonlyArray<string> } => {
  const findings = [...verifyProof(proof, published, accountId, judged).findings, ...verifyPublished(published, judged).findings]
  return {
    holds: findings.every(({ holds }) => holds),
    lines: [...new Set(findings.map(({ holds, text }) => `${holds ? "holds" : "FAILS"}  ${text}`))]
  }
}
