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
  readonly version: "external-solvency-proof/v2"
  readonly accountId: string
  readonly journalSequence: number
  readonly rootHash: string
  readonly leafCount: number
  readonly balancesAtoms: string
  readonly reservedAtoms: string
  readonly leafIndex: number
  readonly balanceAtoms: string
  readonly heldAtoms: string
  readonly salt: string
  readonly siblings: ReadonlyArray<{ readonly hash: string; readonly sumAtoms: string; readonly heldAtoms: string }>
}

/**
 * What venues publish, and what they published before 0.8.0: then no leaf had what pending withdrawals hold of its account, so that
 * `reservedAtoms` was a word of the venue's that nobody could check.
 */
type Version = "external-solvency/v2" | "external-solvency/v1"

/** The answer of `GET /v1/solvency`. */
export interface PublishedSolvency {
  readonly version: Version
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
  /** What the balances below come to, and what withdrawals hold of their accounts. */
  readonly sum: bigint
  readonly held: bigint
}

/** How the nodes of a version are hashed. */
interface Hashing {
  readonly ofTag: (tag: string, ...parts: ReadonlyArray<Buffer>) => Buffer
  /** The numbers of a leaf or node. */
  readonly numbers: (node: Omit<Node, "hash">) => Buffer
}

const hashPattern = /^[0-9a-f]{64}$/
const unsignedPattern = /^(?:0|[1-9][0-9]{0,59})$/
const signedPattern = /^(?:0|-?[1-9][0-9]{0,59})$/
const idPattern = /^[\x21-\x7e]{1,128}$/
const mostLeaves = 2 ** 32

const zero = Buffer.alloc(1)

/** A text terminated by a zero byte, which it cannot contain itself. */
const ended = (text: string): Buffer => Buffer.concat([Buffer.from(text), zero])

const hashing = (version: "v1" | "v2", numbers: Hashing["numbers"]): Hashing => ({
  ofTag: (tag, ...parts) =>
    createHash("sha256").update(Buffer.concat([Buffer.from(`perpetuum/solvency/${tag}/${version}`), zero, ...parts])).digest(),
  numbers
})

const second = hashing("v2", ({ held, sum }) => Buffer.concat([ended(String(sum)), ended(String(held))]))
const first = hashing("v1", ({ sum }) => ended(String(sum)))

const parent = ({ numbers, ofTag }: Hashing, left: Node, right: Node): Node => ({
  hash: ofTag("node", left.hash, numbers(left), right.hash, numbers(right)),
  sum: left.sum + right.sum,
  held: left.held + right.held
})

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0

/** A time that a date can have. */
const isTime = (value: unknown): boolean => isCount(value) && value <= 8.64e15

/** Whether every member of an object passes its check. */
const isShaped = (value: unknown, checks: Readonly<Record<string, (member: unknown) => boolean>>): boolean =>
  typeof value === "object" && value !== null
  && Object.entries(checks).every(([name, check]) => check((value as Readonly<Record<string, unknown>>)[name]))

const matches = (pattern: RegExp) => (value: unknown): boolean => typeof value === "string" && pattern.test(value)
const is = (...expected: ReadonlyArray<string>) => (value: unknown): boolean => expected.some((each) => value === each)

const siblingChecks = { hash: matches(hashPattern), sumAtoms: matches(unsignedPattern) }
const rootChecks = {
  journalSequence: isCount,
  rootHash: matches(hashPattern),
  leafCount: (value: unknown) => isCount(value) && value <= mostLeaves,
  balancesAtoms: matches(unsignedPattern)
}

const areShaped = (checks: Readonly<Record<string, (member: unknown) => boolean>>) => (value: unknown): boolean =>
  Array.isArray(value) && value.length <= 32 && value.every((one) => isShaped(one, checks))

const proofChecks = {
  accountId: matches(idPattern),
  ...rootChecks,
  leafIndex: isCount,
  balanceAtoms: matches(unsignedPattern),
  salt: matches(hashPattern)
}

const heldChecks = { heldAtoms: matches(unsignedPattern) }

const isProof = (value: unknown): value is SolvencyProof =>
  isShaped(value, {
    version: is("external-solvency-proof/v2"),
    ...proofChecks,
    ...heldChecks,
    reservedAtoms: matches(unsignedPattern),
    siblings: areShaped({ ...siblingChecks, ...heldChecks })
  })

type WithoutHeld<A> = Omit<A, "heldAtoms">

/** A proof of the first version. */
interface FirstProof extends WithoutHeld<Omit<SolvencyProof, "version" | "reservedAtoms" | "siblings">> {
  readonly siblings: ReadonlyArray<WithoutHeld<SolvencyProof["siblings"][number]>>
}

const isFirstProof = (value: unknown): value is FirstProof =>
  isShaped(value, { version: is("external-solvency-proof/v1"), ...proofChecks, siblings: areShaped(siblingChecks) })

const isOfFirst = ({ version }: PublishedSolvency): boolean => version === "external-solvency/v1"

/** A proof that belongs to what was published: one of the first version is read as one in which nothing is held. */
const proofOf = (value: unknown, published: PublishedSolvency): SolvencyProof | undefined => {
  if (!isOfFirst(published)) return isProof(value) ? value : undefined
  if (!isFirstProof(value)) return undefined
  const siblings = value.siblings.map((one) => ({ ...one, heldAtoms: "0" }))
  const { reservedAtoms } = published
  return { ...value, version: "external-solvency-proof/v2", heldAtoms: "0", reservedAtoms, siblings }
}

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
    version: is("external-solvency/v2", "external-solvency/v1"),
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
const topOf = (
  hashed: Hashing,
  { accountId, balanceAtoms, heldAtoms, leafCount, leafIndex, salt, siblings }: SolvencyProof
): Node | undefined => {
  const sums = { sum: BigInt(balanceAtoms), held: BigInt(heldAtoms) }
  let node: Node = { ...sums, hash: hashed.ofTag("leaf", ended(accountId), hashed.numbers(sums), Buffer.from(salt, "hex")) }
  let used = 0
  for (let index = leafIndex, width = leafCount; width > 1; index = Math.floor(index / 2), width = Math.ceil(width / 2)) {
    const isRight = index % 2 === 1
    // Without a sibling, the last node of an odd level moves up unchanged.
    if (!isRight && index + 1 === width) continue
    const sibling = siblings[used++]
    if (sibling === undefined) return undefined
    const beside = { hash: Buffer.from(sibling.hash, "hex"), sum: BigInt(sibling.sumAtoms), held: BigInt(sibling.heldAtoms) }
    node = isRight ? parent(hashed, beside, node) : parent(hashed, node, beside)
  }
  return used === siblings.length ? node : undefined
}

const rootOf = ({ numbers, ofTag }: Hashing, { journalSequence, leafCount }: SolvencyProof, top: Node): string =>
  ofTag("root", ended(String(journalSequence)), ended(String(leafCount)), numbers(top), top.hash).toString("hex")

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
  /**
   * Whether they may be of any age, and of the first version: of answers that were kept. Otherwise what is of more than an hour ago
   * does not hold, nor does what leaves out what pending withdrawals hold.
   */
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
  return verdict([...versionFindings(published, judged), ...findings, ...treasuryFindings(published, judged)])
}

/** What a verifier has to know of the first version, in which a venue could leave out a pending withdrawal unnoticed. */
const versionFindings = (published: PublishedSolvency, { ofAnyAge = false }: Judged): ReadonlyArray<Finding> =>
  isOfFirst(published)
    ? [{
      holds: ofAnyAge,
      text: "it is of the first version, of venues before 0.8.0: what pending withdrawals hold is in no leaf, and is the venue's word alone"
    }]
    : []

/** Oldest that figures may be, ms, and furthest ahead of the verifier's clock. */
const mostAgeMs = 3_600_000
const mostAheadMs = 600_000

/**
 * Whether the figures are of now: of when the ledger was asked, since the last record before that may be older. A time that has not come
 * is none: a venue could serve such figures until then. The times are the venue's word: what shows them wrong is the ledger's own time at
 * `ledgerOffset`.
 */
const ageFinding = (
  { atEpochMs, journalSequence }: PublishedSolvency,
  comparedAtEpochMs: number,
  { nowEpochMs, ofAnyAge = false }: Judged
): Finding => {
  const of = `it is of sequence ${journalSequence}, written at ${time(atEpochMs)}, and is said to have been compared with the ledger at ${
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
 * Whether a proof's balance, and what withdrawals hold of the account, are included in the published totals. Give the account that the
 * proof has to be of: anybody's proof leads to the root, and a venue could answer with another's.
 */
export const verifyProof = (answer: unknown, published: unknown, accountId?: string, judged: Judged = {}): Verdict => {
  if (!isPublished(published)) return verifyPublished(published)
  const proof = proofOf(answer, published)
  if (proof === undefined) {
    const which = "an answer of GET /v1/accounts/{accountId}/solvency-proof of the version that was published"
    return verdict([{ holds: false, text: `the proof is not ${which}` }])
  }
  const isFirst = isOfFirst(published)
  const hashed = isFirst ? first : second
  const held = isFirst ? "" : `, and ${usdc(BigInt(proof.heldAtoms))} that pending withdrawals hold,`
  const isOthers = accountId !== undefined && proof.accountId !== accountId
  const { journalSequence, leafCount, leafIndex } = proof
  const isSame = journalSequence === published.journalSequence
    && leafCount === published.leafCount
    && proof.rootHash === published.rootHash
    && proof.balancesAtoms === published.balancesAtoms
    && proof.reservedAtoms === published.reservedAtoms
  const top = leafIndex < leafCount ? topOf(hashed, proof) : undefined
  const isUnder = top !== undefined && rootOf(hashed, proof, top) === published.rootHash
  return verdict([
    ...versionFindings(published, judged),
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
      `the leaf of ${proof.accountId} with ${usdc(BigInt(proof.balanceAtoms))}${held} is under the published root`,
      "the leaf is not under the published root"
    ),
    finding(
      top !== undefined && String(top.sum) === published.balancesAtoms && (isFirst || String(top.held) === published.reservedAtoms),
      isFirst
        ? "the sums along the path come to the published sum, so that the balance is counted in it"
        : "the sums along the path come to the published ones, so that the balance and what is held are counted in them",
      "the sums along the path do not come to the published ones"
    )
  ])
}
