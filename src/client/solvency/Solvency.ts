/**
 * Verifies a venue's published solvency, and that one's own balance is included in it, using nothing from the venue but the two answers
 * themselves. It needs only `node:crypto`.
 *
 * Only what follows from an answer is trusted: each sibling's side is computed from the leaf's position and the number of leaves, every sum
 * is checked to be non-negative, and both children's sums are part of each node's hash.
 */
import { createHash } from "node:crypto"

/** The answer of `GET /v1/accounts/{accountId}/solvency-proof`. */
export interface SolvencyProof {
  readonly version: "external-solvency-proof/v1"
  readonly accountId: string
  readonly journalSequence: number
  readonly rootHash: string
  readonly leafCount: number
  readonly balancesAtoms: string
  readonly leafIndex: number
  readonly balanceAtoms: string
  readonly salt: string
  readonly siblings: ReadonlyArray<{ readonly hash: string; readonly sumAtoms: string }>
}

/** The answer of `GET /v1/solvency`. */
export interface PublishedSolvency {
  readonly version: "external-solvency/v1"
  readonly asset: string
  readonly journalSequence: number
  readonly atEpochMs: number
  readonly rootHash: string
  readonly leafCount: number
  readonly balancesAtoms: string
  readonly shortfallAtoms: string
  readonly collateralAtoms: string
  readonly entryImbalanceAtoms: string
  readonly reservedAtoms: string
  readonly feesAtoms: string
  readonly fundingPoolAtoms: string
  readonly creditedAtoms: string
  readonly confirmedDepositsAtoms: string
  readonly confirmedWithdrawalsAtoms: string
  readonly treasury: {
    readonly partyId: string
    readonly ledgerOffset: number
    readonly comparedAtEpochMs: number
    readonly heldAtoms: string
    readonly uncreditedDepositsAtoms: string
    readonly unattributedAtoms: string
  } | null
}

/** One finding, in words. */
export interface Finding {
  readonly holds: boolean
  readonly text: string
}

export interface Verdict {
  /** Whether all findings hold. */
  readonly holds: boolean
  readonly findings: ReadonlyArray<Finding>
}

interface Node {
  readonly hash: Buffer
  readonly sum: bigint
}

const hashPattern = /^[0-9a-f]{64}$/
const unsignedPattern = /^(?:0|[1-9][0-9]{0,59})$/
const signedPattern = /^(?:0|-?[1-9][0-9]{0,59})$/
const idPattern = /^[\x21-\x7e]{1,128}$/
const mostLeaves = 2 ** 32

const zero = Buffer.alloc(1)
const sha256 = (tag: string, ...parts: ReadonlyArray<Buffer>): Buffer =>
  createHash("sha256").update(Buffer.concat([Buffer.from(`perpetuum/solvency/${tag}/v1`), zero, ...parts])).digest()

/** A text terminated by a zero byte, which it cannot contain itself. */
const ended = (text: string): Buffer => Buffer.concat([Buffer.from(text), zero])

const parent = (left: Node, right: Node): Node => ({
  hash: sha256("node", left.hash, ended(String(left.sum)), right.hash, ended(String(right.sum))),
  sum: left.sum + right.sum
})

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** A time that a date can have. */
const isTime = (value: unknown): boolean => isCount(value) && value <= 8.64e15

/** Whether every member of an object passes its check. */
const isShaped = (value: unknown, checks: Readonly<Record<string, (member: unknown) => boolean>>): boolean =>
  typeof value === "object" && value !== null
  && Object.entries(checks).every(([name, check]) => check((value as Readonly<Record<string, unknown>>)[name]))

const matches = (pattern: RegExp) => (value: unknown): boolean => typeof value === "string" && pattern.test(value)
const is = (expected: string) => (value: unknown): boolean => value === expected

const siblingChecks = { hash: matches(hashPattern), sumAtoms: matches(unsignedPattern) }
const rootChecks = {
  journalSequence: isCount,
  rootHash: matches(hashPattern),
  leafCount: (value: unknown) => isCount(value) && value <= mostLeaves,
  balancesAtoms: matches(unsignedPattern)
}

const isProof = (value: unknown): value is SolvencyProof =>
  isShaped(value, {
    version: is("external-solvency-proof/v1"),
    accountId: matches(idPattern),
    ...rootChecks,
    leafIndex: isCount,
    balanceAtoms: matches(unsignedPattern),
    salt: matches(hashPattern),
    siblings: (siblings) => Array.isArray(siblings) && siblings.length <= 32 && siblings.every((one) => isShaped(one, siblingChecks))
  })

const treasuryChecks = {
  partyId: (value: unknown) => typeof value === "string",
  ledgerOffset: isCount,
  comparedAtEpochMs: isTime,
  heldAtoms: matches(unsignedPattern),
  uncreditedDepositsAtoms: matches(unsignedPattern),
  unattributedAtoms: matches(signedPattern)
}

const isPublished = (value: unknown): value is PublishedSolvency =>
  isShaped(value, {
    version: is("external-solvency/v1"),
    asset: is("USDC"),
    ...rootChecks,
    atEpochMs: isTime,
    shortfallAtoms: matches(unsignedPattern),
    collateralAtoms: matches(signedPattern),
    entryImbalanceAtoms: matches(signedPattern),
    reservedAtoms: matches(unsignedPattern),
    feesAtoms: matches(signedPattern),
    // A negative pool would conceal an equal amount of liabilities.
    fundingPoolAtoms: matches(unsignedPattern),
    creditedAtoms: matches(signedPattern),
    confirmedDepositsAtoms: matches(unsignedPattern),
    confirmedWithdrawalsAtoms: matches(unsignedPattern),
    treasury: (treasury) => treasury === null || isShaped(treasury, treasuryChecks)
  })

/** The root of the tree according to a proof; undefined where its path is not as long as its position requires. */
const topOf = ({ accountId, balanceAtoms, leafCount, leafIndex, salt, siblings }: SolvencyProof): Node | undefined => {
  let node: Node = {
    hash: sha256("leaf", ended(accountId), ended(balanceAtoms), Buffer.from(salt, "hex")),
    sum: BigInt(balanceAtoms)
  }
  let used = 0
  for (let index = leafIndex, width = leafCount; width > 1; index = Math.floor(index / 2), width = Math.ceil(width / 2)) {
    const isRight = index % 2 === 1
    // Without a sibling, the last node of an odd level moves up unchanged.
    if (!isRight && index + 1 === width) continue
    const sibling = siblings[used++]
    if (sibling === undefined) return undefined
    const beside = { hash: Buffer.from(sibling.hash, "hex"), sum: BigInt(sibling.sumAtoms) }
    node = isRight ? parent(beside, node) : parent(node, beside)
  }
  return used === siblings.length ? node : undefined
}

const rootOf = ({ journalSequence, leafCount }: SolvencyProof, { hash, sum }: Node): string =>
  sha256("root", ended(String(journalSequence)), ended(String(leafCount)), ended(String(sum)), hash).toString("hex")

const usdc = (atoms: bigint): string => {
  const digits = String(atoms < 0n ? -atoms : atoms).padStart(7, "0")
  return `${atoms < 0n ? "-" : ""}${digits.slice(0, -6)}.${digits.slice(-6)} USDC`
}

const time = (epochMs: number): string => new Date(epochMs).toISOString()

const verdict = (findings: ReadonlyArray<Finding>): Verdict => ({ holds: findings.every(({ holds }) => holds), findings })

const finding = (holds: boolean, text: string, otherwise: string): Finding => ({ holds, text: holds ? text : otherwise })

/** How published figures are judged. */
export interface Judged {
  /** The time now, by the verifier's own clock: `Date.now()`. Without it only what may be of any age holds. */
  readonly nowEpochMs?: number
  /** Whether they may be of any age: of answers that were kept. Otherwise what is of more than an hour ago does not hold. */
  readonly ofAnyAge?: boolean
  /**
   * Whether what was credited without a deposit counts like money in the treasury: of a venue with test money. By default it does not,
   * since nothing but the venue's word stands behind it.
   */
  readonly acceptsCredits?: boolean
}

/** Whether the published figures are consistent, and whether the treasury covers the liabilities. */
export const verifyPublished = (published: unknown, judged: Judged = {}): Verdict => {
  if (!isPublished(published)) return verdict([{ holds: false, text: "what was published is not an answer of GET /v1/solvency" }])
  const atoms = (name: Exclude<keyof PublishedSolvency, "treasury">): bigint => BigInt(published[name])
  const equities = atoms("collateralAtoms") + atoms("entryImbalanceAtoms")
  const inside = equities + atoms("reservedAtoms") + atoms("feesAtoms") + atoms("fundingPoolAtoms")
  const brought = atoms("creditedAtoms") + atoms("confirmedDepositsAtoms") - atoms("confirmedWithdrawalsAtoms")
  const findings = [
    finding(
      atoms("balancesAtoms") - atoms("shortfallAtoms") === equities,
      `the balances come to ${usdc(atoms("balancesAtoms"))}, which is the collaterals with the profit not realised yet`,
      "the balances are not the collaterals with the profit not realised yet"
    ),
    finding(
      inside === brought,
      "what is inside the venue is what came in less what went out, to the atom",
      `what is inside the venue differs from what came in less what went out by ${usdc(inside - brought)}`
    )
  ]
  return verdict([...findings, ...treasuryFindings(published, judged)])
}

/** Oldest that figures may be, ms, and furthest ahead of the verifier's clock. */
const mostAgeMs = 3_600_000
const mostAheadMs = 600_000

/**
 * Whether the figures are of now: of when the ledger was asked, since the last record before that may be older. A time that has not come
 * is none: a venue could serve such figures until then.
 */
const ageFinding = (
  { atEpochMs, journalSequence }: PublishedSolvency,
  comparedAtEpochMs: number,
  { nowEpochMs, ofAnyAge = false }: Judged
): Finding => {
  const of = `it is of sequence ${journalSequence}, written at ${time(atEpochMs)}, and was compared with the ledger at ${
    time(comparedAtEpochMs)
  }`
  if (ofAnyAge) return { holds: true, text: of }
  if (nowEpochMs === undefined) return { holds: false, text: `${of}: nobody said what time it is now` }
  const ageMs = nowEpochMs - comparedAtEpochMs
  if (ageMs > mostAgeMs) return { holds: false, text: `${of}, more than an hour ago: it says nothing of now` }
  return finding(ageMs >= -mostAheadMs, of, `${of}, which is still to come`)
}

/** The treasury's holdings against the liabilities: to owners and the insurance fund, and for funding not yet paid out. */
const treasuryFindings = (published: PublishedSolvency, judged: Judged): ReadonlyArray<Finding> => {
  const { treasury } = published
  const { acceptsCredits = false } = judged
  if (treasury === null) {
    return [{ holds: false, text: "the ledger could not be asked when this was made: nothing is said of what the treasury holds" }]
  }
  const held = BigInt(treasury.heldAtoms)
  const uncredited = BigInt(treasury.uncreditedDepositsAtoms)
  const attributed = BigInt(published.confirmedDepositsAtoms) - BigInt(published.confirmedWithdrawalsAtoms) + uncredited
  const credited = BigInt(published.creditedAtoms)
  const owed = BigInt(published.balancesAtoms) + BigInt(published.reservedAtoms) + BigInt(published.fundingPoolAtoms) + uncredited
  const backed = acceptsCredits ? held + credited : held
  const credits = credited === 0n ? "" : `${usdc(credited)} were credited without a deposit`
  return [
    ageFinding(published, treasury.comparedAtEpochMs, judged),
    // More than that is no fault of the venue's: on the ledger anybody may pay the treasury something, without anybody's consent.
    finding(
      BigInt(treasury.unattributedAtoms) === held - attributed && held >= attributed,
      held === attributed
        ? "what the treasury holds is what the journal accounts for, to the atom"
        : `what the treasury holds is what the journal accounts for, and ${usdc(held - attributed)} more, which came without a deposit`,
      `what the treasury holds differs from what the journal accounts for by ${usdc(held - attributed)}`
    ),
    finding(
      backed >= owed,
      `at ledger offset ${treasury.ledgerOffset} ${treasury.partyId} is said to hold ${usdc(held)}`
        + `${acceptsCredits && credits !== "" ? `, and ${credits}` : ""}: all of ${usdc(owed)} that is owed is covered`,
      `${usdc(owed)} are owed, and only ${usdc(backed)} stand behind it`
        + (acceptsCredits || credits === "" ? "" : `; ${credits}, for which nothing on the ledger stands`)
    )
  ]
}

/**
 * Whether a proof's balance is included in the published total. Give the account that the proof has to be of: anybody's proof leads to the
 * root, and a venue could answer with another's.
 */
export const verifyProof = (proof: unknown, published: unknown, accountId?: string): Verdict => {
  if (!isProof(proof)) {
    return verdict([{ holds: false, text: "the proof is not an answer of GET /v1/accounts/{accountId}/solvency-proof" }])
  }
  if (!isPublished(published)) return verifyPublished(published)
  const isOthers = accountId !== undefined && proof.accountId !== accountId
  const { journalSequence, leafCount, leafIndex } = proof
  const isSame = journalSequence === published.journalSequence
    && leafCount === published.leafCount
    && proof.rootHash === published.rootHash
    && proof.balancesAtoms === published.balancesAtoms
  const top = leafIndex < leafCount ? topOf(proof) : undefined
  const isUnder = top !== undefined && rootOf(proof, top) === published.rootHash
  return verdict([
    ...isOthers ? [{ holds: false, text: `the proof is of ${proof.accountId}, and not of ${accountId}` }] : [],
    finding(
      isSame,
      `the proof is of what was published at sequence ${journalSequence}, a tree of ${leafCount} accounts`,
      "the proof is not of what was published: another sequence, number of accounts, sum or root"
    ),
    finding(
      top !== undefined,
      `its path leads from leaf ${leafIndex} to the top`,
      `its path does not lead from leaf ${leafIndex} of ${leafCount} to the top`
    ),
    finding(
      isUnder,
      `the leaf of ${proof.accountId} with ${usdc(BigInt(proof.balanceAtoms))} is under the published root`,
      "the leaf is not under the published root"
    ),
    finding(
      top !== undefined && String(top.sum) === published.balancesAtoms,
      "the sums along the path come to the published sum, so that the balance is counted in it",
      "the sums along the path do not come to the published sum"
    )
  ])
}
