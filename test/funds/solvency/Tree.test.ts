/** The tree and its proofs compared with a naively built one, and the verifier with altered proofs. */
import * as fc from "fast-check"
import * as fs from "node:fs"
import * as path from "node:path"
import { expect, test } from "vitest"
import { type SolvencyProof, verifyProof, verifyPublished } from "../../../src/client/solvency/Solvency.js"
import { leaf, parent } from "../../../src/funds/solvency/Hashing.js"
import { Salts } from "../../../src/funds/solvency/Salts.js"
import { Tree } from "../../../src/funds/solvency/Tree.js"
import { leafOf, levelsOf, type NaiveNode, parentOf, rootOf } from "./NaiveTree.js"

const hex = (given: Uint8Array): string => Buffer.from(given).toString("hex")
const accountIdOf = (account: number): string => `acc_${account}`
const secret = "secret-of-the-tests"
const nowEpochMs = Date.UTC(2026, 10, 30, 12)

/** The tree of these balances, and of what withdrawals hold of the accounts, as far as it is given. */
const treeOf = (balances: ReadonlyArray<number>, held: ReadonlyArray<number> = [], sequence = 7): Tree => {
  const heldByAccount = new Map(held.flatMap((atoms, account) => atoms === 0 ? [] : [[account, BigInt(atoms)] as const]))
  const tree = new Tree(sequence, Float64Array.from(balances), heldByAccount, accountIdOf, new Salts(secret, sequence))
  for (const _ of tree.making());
  return tree
}

const proofOf = (tree: Tree, account: number): SolvencyProof => {
  const { balanceAtoms, heldAtoms, index, salt, siblings } = tree.pathOf(account)!
  return {
    version: "external-solvency-proof/v2",
    accountId: accountIdOf(account),
    journalSequence: tree.sequence,
    rootHash: hex(tree.rootHash),
    leafCount: tree.leafCount,
    balancesAtoms: String(tree.sum),
    reservedAtoms: String(tree.held),
    leafIndex: index,
    balanceAtoms: String(balanceAtoms),
    heldAtoms: String(heldAtoms),
    salt: hex(salt),
    siblings: siblings.map(({ hash, held, sum }) => ({ hash: hex(hash), sumAtoms: String(sum), heldAtoms: String(held) }))
  }
}

/** What a venue with only these accounts publishes. */
const publishedOf = ({ balancesAtoms, journalSequence, leafCount, reservedAtoms, rootHash }: Omit<SolvencyProof, "version">) => ({
  version: "external-solvency/v2",
  asset: "USDC",
  journalSequence,
  atEpochMs: nowEpochMs - 9_000,
  rootHash,
  leafCount,
  balancesAtoms,
  shortfallAtoms: "0",
  collateralAtoms: balancesAtoms,
  entryImbalanceAtoms: "0",
  reservedAtoms,
  feesAtoms: "0",
  fundingPoolAtoms: "0",
  creditedAtoms: "0",
  confirmedDepositsAtoms: String(BigInt(balancesAtoms) + BigInt(reservedAtoms)),
  confirmedWithdrawalsAtoms: "0",
  treasury: {
    partyId: "treasury",
    ledgerOffset: 5,
    comparedAtEpochMs: nowEpochMs - 5_000,
    heldAtoms: String(BigInt(balancesAtoms) + BigInt(reservedAtoms)),
    uncreditedDepositsAtoms: "0",
    unattributedAtoms: "0"
  }
})

const atoms = fc.oneof(fc.constant(0), fc.maxSafeNat())
const balances = fc.array(atoms, { minLength: 1, maxLength: 70 })

test("every account's proof leads to the root of a tree that was made in the plainest way", () => {
  fc.assert(fc.property(balances, fc.infiniteStream(atoms), (given, stream) => {
    const held = [...stream.take(given.length)]
    const tree = treeOf(given, held)
    const proofs = given.map((_, account) => proofOf(tree, account))
    const leaves: Array<NaiveNode> = []
    for (const proof of proofs)
      leaves[proof.leafIndex] = leafOf(proof.accountId, BigInt(proof.balanceAtoms), BigInt(proof.heldAtoms), proof.salt)
    expect(proofs.map(({ heldAtoms }) => Number(heldAtoms))).toEqual(held)
    expect(Object.keys(leaves)).toHaveLength(given.length)
    const levels = levelsOf(leaves)
    const [top] = levels.at(-1)!
    const total = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, each) => sum + BigInt(each), 0n)
    expect([tree.sum, tree.held]).toEqual([total(given), total(held)])
    expect([top!.sum, top!.held]).toEqual([tree.sum, tree.held])
    expect(hex(tree.rootHash)).toBe(rootOf(7, given.length, top!))
    for (const proof of proofs) {
      const siblings = levels.flatMap((level, height) => level[(proof.leafIndex >> height) ^ 1] ?? [])
      expect(proof.siblings).toEqual(siblings.map(({ hash, held: of, sum }) => ({ hash, sumAtoms: String(sum), heldAtoms: String(of) })))
      expect(verifyProof(proof, publishedOf(proof))).toMatchObject({ holds: true })
    }
    expect(verifyPublished(publishedOf(proofs[0]!), { nowEpochMs })).toMatchObject({ holds: true })
    expect(tree.pathOf(given.length)).toBeUndefined()
  }), { numRuns: 60 })
})

test("the same secret and sequence make the same tree, another sequence other leaves in another order", () => {
  const given = Array.from({ length: 100 }, (_, account) => account)
  const [one, again, later] = [treeOf(given), treeOf(given), treeOf(given, [], 8)]
  expect(again.rootHash).toEqual(one.rootHash)
  const salts = (tree: Tree) => given.map((account) => hex(tree.pathOf(account)!.salt))
  expect(new Set([...salts(one), ...salts(later)]).size).toBe(200)
  const order = (tree: Tree) => given.map((account) => tree.pathOf(account)!.index)
  expect(order(later)).not.toEqual(order(one))
  expect([...order(later)].sort((left, right) => left - right)).toEqual(given)
})

type Forgery = (proof: SolvencyProof) => SolvencyProof | undefined

const withSibling = (change: (sibling: SolvencyProof["siblings"][number]) => SolvencyProof["siblings"][number]): Forgery => (proof) =>
  proof.siblings.length === 0 ? undefined : { ...proof, siblings: proof.siblings.map((one, at) => at === 0 ? change(one) : one) }

/** Presents an inner node as a leaf. */
const raised: Forgery = (proof) =>
  proof.siblings.length < 2
    ? undefined
    : { ...proof, leafIndex: proof.leafIndex >> 1, leafCount: Math.ceil(proof.leafCount / 2), siblings: proof.siblings.slice(1) }

const forgeries: Readonly<Record<string, Forgery>> = {
  "another balance": (proof) => ({ ...proof, balanceAtoms: String(BigInt(proof.balanceAtoms) + 1n) }),
  "another held amount": (proof) => ({ ...proof, heldAtoms: String(BigInt(proof.heldAtoms) + 1n) }),
  "a held amount under nothing": (proof) => ({ ...proof, heldAtoms: "-1" }),
  "a held amount told as a balance": (proof) => ({
    ...proof,
    balanceAtoms: String(BigInt(proof.balanceAtoms) + BigInt(proof.heldAtoms) + 1n),
    heldAtoms: "0"
  }),
  "a balance under nothing": (proof) => ({ ...proof, balanceAtoms: "-1" }),
  "another account": (proof) => ({ ...proof, accountId: `${proof.accountId}0` }),
  "another salt": (proof) => ({ ...proof, salt: "5a".repeat(32) }),
  "another place": (proof) => proof.leafCount === 1 ? undefined : { ...proof, leafIndex: (proof.leafIndex + 1) % proof.leafCount },
  "a place behind the last": (proof) => ({ ...proof, leafIndex: proof.leafCount }),
  "another number of leaves": (proof) => ({ ...proof, leafCount: proof.leafCount + 1 }),
  "siblings in another order": (proof) =>
    proof.siblings.length < 2 ? undefined : { ...proof, siblings: [proof.siblings[1]!, proof.siblings[0]!, ...proof.siblings.slice(2)] },
  "a path cut at the top": (proof) => proof.siblings.length === 0 ? undefined : { ...proof, siblings: proof.siblings.slice(0, -1) },
  "a path cut at the leaf": (proof) => proof.siblings.length === 0 ? undefined : { ...proof, siblings: proof.siblings.slice(1) },
  "a path that goes on": (proof) => ({ ...proof, siblings: [...proof.siblings, { hash: proof.rootHash, sumAtoms: "0", heldAtoms: "0" }] }),
  "a node for a leaf": raised,
  "a sibling's sum": withSibling((one) => ({ ...one, sumAtoms: String(BigInt(one.sumAtoms) + 1n) })),
  "a sibling's held sum": withSibling((one) => ({ ...one, heldAtoms: String(BigInt(one.heldAtoms) + 1n) })),
  "a sibling's held sum under nothing": withSibling((one) => ({ ...one, heldAtoms: `-${one.heldAtoms}1` })),
  "a sibling's sum under nothing": withSibling((one) => ({ ...one, sumAtoms: `-${one.sumAtoms}1` })),
  "a sibling's hash": withSibling((one) => ({ ...one, hash: "5a".repeat(32) })),
  "another sequence": (proof) => ({ ...proof, journalSequence: proof.journalSequence + 1 }),
  "another sum": (proof) => ({ ...proof, balancesAtoms: String(BigInt(proof.balancesAtoms) + 1n) }),
  "another held sum": (proof) => ({ ...proof, reservedAtoms: String(BigInt(proof.reservedAtoms) + 1n) })
}

test.each(Object.entries(forgeries))("%s is refused, also where the venue publishes it so", (_, forge) => {
  let forged = 0
  fc.assert(fc.property(balances, balances, fc.nat(), (given, held, chosen) => {
    const proof = proofOf(treeOf(given, held.slice(0, given.length)), chosen % given.length)
    const changed = forge(proof)
    if (changed === undefined) return
    forged++
    expect(verifyProof(changed, publishedOf(proof)).holds).toBe(false)
    expect(verifyProof(changed, { ...publishedOf(changed), rootHash: proof.rootHash }).holds).toBe(false)
  }), { numRuns: 40 })
  expect(forged).toBeGreaterThan(0)
})

test("a leaf that is counted twice makes another root: the last of an odd level is not repeated", () => {
  const [one, two, three] = [1, 2, 3].map((each) => leafOf(`acc_${each}`, BigInt(each), 0n, "5a".repeat(32))) as [
    NaiveNode,
    NaiveNode,
    NaiveNode
  ]
  const odd = levelsOf([one, two, three]).at(-1)![0]!
  const repeated = levelsOf([one, two, three, three]).at(-1)![0]!
  expect(odd).toEqual(parentOf(parentOf(one, two), three))
  expect(repeated.hash).not.toBe(odd.hash)
  expect(rootOf(7, 3, odd)).not.toBe(rootOf(7, 4, odd))
  // The venue's tree of three accounts has the root of three leaves, and exactly their sum.
  const tree = treeOf([1, 2, 3])
  expect(tree.sum).toBe(6n)
  for (const account of [0, 1, 2]) expect(proofOf(tree, account).siblings.length).toBe(tree.pathOf(account)!.index === 2 ? 1 : 2)
})

test("a node binds each child's sum: the same total split otherwise is another node", () => {
  const [left, right] = [{ hash: new Uint8Array(32).fill(1), sum: 5n, held: 9n }, { hash: new Uint8Array(32).fill(2), sum: 7n, held: 8n }]
  const whole = parent(left, right)
  expect(whole.sum).toBe(12n)
  for (const by of [1n, -1n, 5n]) {
    const moved = parent({ ...left, sum: left.sum - by }, { ...right, sum: right.sum + by })
    expect(moved.sum).toBe(whole.sum)
    expect(moved.hash).not.toEqual(whole.hash)
    const held = parent({ ...left, held: left.held - by }, { ...right, held: right.held + by })
    expect(held.held).toBe(17n)
    expect(held.hash).not.toEqual(whole.hash)
  }
  expect(parent(right, left).hash).not.toEqual(whole.hash)
})

test("a leaf is hashed as no node is", () => {
  const salt = new Uint8Array(32).fill(3)
  const made = leaf("acc_1", 12, 3n, salt)
  expect(hex(made.hash)).toBe(leafOf("acc_1", 12n, 3n, hex(salt)).hash)
  expect(parent({ hash: salt, sum: 12n, held: 3n }, { hash: salt, sum: 0n, held: 0n }).hash).not.toEqual(made.hash)
})

test("a pending withdrawal that is left out of the figures is missing in its owner's proof, or the proof fails", () => {
  const [owed, hidden] = [treeOf([900, 0], [100]), treeOf([900, 0])]
  expect(verifyProof(proofOf(owed, 0), publishedOf(proofOf(owed, 0))).findings.map(({ text }) => text)).toContain(
    "the leaf of acc_0 with 0.000900 USDC, and 0.000100 USDC that pending withdrawals hold, is under the published root"
  )
  // The venue says that it was paid already.
  const published = { ...publishedOf(proofOf(hidden, 0)), confirmedDepositsAtoms: "1000", confirmedWithdrawalsAtoms: "100" }
  expect(verifyPublished(published, { nowEpochMs })).toMatchObject({ holds: true })
  expect(verifyProof(proofOf(hidden, 0), published).findings.map(({ text }) => text)).toContain(
    "the leaf of acc_0 with 0.000900 USDC, and 0.000000 USDC that pending withdrawals hold, is under the published root"
  )
  for (const account of [0, 1]) {
    const proof = proofOf(owed, account)
    expect(verifyProof(proof, published).holds).toBe(false)
    expect(verifyProof({ ...proof, reservedAtoms: "0" }, { ...published, rootHash: proof.rootHash }).findings.at(-1)).toEqual({
      holds: false,
      text: "the sums along the path do not come to the published ones"
    })
  }
})

/** What a venue of 0.7.0 answered for accounts of 5, 7 and 1.5 USDC. */
const first = {
  version: "external-solvency-proof/v1",
  accountId: "acc_1",
  journalSequence: 7,
  rootHash: "91b454b1bfe95f5d563e66f153ebd06f74e11e16c5607650fc85d80155980078",
  leafCount: 3,
  balancesAtoms: "13500000",
  leafIndex: 1,
  balanceAtoms: "7000000",
  salt: "8de02875b5094db967e3d9f476446b45e8bc6f482fb1c4db8b993aeb73f35e72",
  siblings: [
    { hash: "338cd9c73ecdc669704c52edb72ae4a2ef3ab244a026f065b650878e716f8b36", sumAtoms: "5000000" },
    { hash: "65c8138fe56d2d667efdcf74677213518a363ebb86ebfc2551fe31657cc8dc52", sumAtoms: "1500000" }
  ]
}

test("what venues published before is checked as it was, and holds only for those who say that they kept it", () => {
  const published = { ...publishedOf({ ...first, heldAtoms: "0", reservedAtoms: "2", siblings: [] }), version: "external-solvency/v1" }
  const kept = { ofAnyAge: true }
  const both = [...verifyPublished(published, kept).findings, ...verifyProof(first, published, "acc_1", kept).findings]
  expect(both.filter(({ holds }) => !holds)).toEqual([])
  const word =
    "it is of the first version, of venues before 0.8.0: what pending withdrawals hold is in no leaf, and is the venue's word alone"
  expect(both.filter(({ text }) => text === word)).toHaveLength(2)
  for (const { findings } of [verifyPublished(published, { nowEpochMs }), verifyProof(first, published)])
    expect(findings.filter(({ holds }) => !holds)).toEqual([{ holds: false, text: word }])
  // A proof of one version is none of what was published of the other.
  expect(verifyProof(first, { ...published, version: "external-solvency/v2" }, "acc_1", kept).holds).toBe(false)
  expect(verifyProof(proofOf(treeOf([5, 7]), 0), { ...publishedOf(proofOf(treeOf([5, 7]), 0)), version: "external-solvency/v1" }).holds)
    .toBe(false)
  expect(verifyProof({ ...first, balanceAtoms: "7000001" }, published, "acc_1", kept).holds).toBe(false)
})

test("what was published is held against itself and the treasury", () => {
  const published = publishedOf(proofOf(treeOf([5_000_000, 7_000_000]), 0))
  const { treasury } = published
  const failing = (change: object): ReadonlyArray<string> =>
    verifyPublished({ ...published, ...change }, { nowEpochMs }).findings.flatMap(({ holds, text }) => holds ? [] : [text])
  expect(failing({})).toEqual([])
  expect(failing({ shortfallAtoms: "1" })).toEqual(["the balances are not the collaterals with the profit not realised yet"])
  expect(failing({ reservedAtoms: "2" })).toEqual([
    "what is inside the venue differs from what came in less what went out by 0.000002 USDC",
    "12.000002 USDC are owed, and only 12.000000 USDC stand behind it"
  ])
  expect(failing({ treasury: { ...treasury, heldAtoms: "11999999", unattributedAtoms: "-1" } })).toEqual([
    "what the treasury holds differs from what the journal accounts for by -0.000001 USDC",
    "12.000000 USDC are owed, and only 11.999999 USDC stand behind it"
  ])
  expect(failing({ treasury: { ...treasury, heldAtoms: "11999999" } })).toHaveLength(2)
  // A deposit that the ledger has and the journal has not credited yet is held and owed, and so is funding that waits to be paid out.
  const early = { ...treasury, heldAtoms: "12000003", uncreditedDepositsAtoms: "3" }
  expect(failing({ treasury: early })).toEqual([])
  // These three atoms are a surplus where no deposit explains them, and have to be told as one.
  expect(failing({ treasury: { ...early, uncreditedDepositsAtoms: "0" } })).toEqual([
    "what the treasury holds differs from what the journal accounts for by 0.000003 USDC"
  ])
  expect(failing({ treasury: { ...treasury, uncreditedDepositsAtoms: "3", unattributedAtoms: "-3" } })).toEqual([
    "what the treasury holds differs from what the journal accounts for by -0.000003 USDC",
    "12.000003 USDC are owed, and only 12.000000 USDC stand behind it"
  ])
  expect(failing({ fundingPoolAtoms: "4", feesAtoms: "-4" })).toEqual([
    "12.000004 USDC are owed, and only 12.000000 USDC stand behind it"
  ])
  expect(failing({ treasury: null })).toHaveLength(1)
  expect(failing({ collateralAtoms: "1.5" })).toEqual(["what was published is not an answer of GET /v1/solvency"])
  expect(verifyPublished(undefined).holds).toBe(false)
})

test("figures say of when they are, and hold for an hour, unless those who ask say that they may be of any age", () => {
  const published = publishedOf(proofOf(treeOf([5_000_000]), 0))
  const at = (comparedAtEpochMs: number) => ({ ...published, treasury: { ...published.treasury, comparedAtEpochMs } })
  const judged = (comparedAtEpochMs: number, given: object = { nowEpochMs }) => {
    const { findings, holds } = verifyPublished(at(comparedAtEpochMs), given)
    return [holds, findings.filter((finding) => finding.holds === holds && finding.text.includes("compared")).map(({ text }) => text)]
  }
  const of = (compared: string) =>
    `it is of sequence 7, written at 2026-11-30T11:59:51.000Z, and is said to have been compared with the ledger at ${compared}`
  const [hour, minute] = [3_600_000, 60_000]
  expect(judged(nowEpochMs - hour)).toEqual([true, [of("2026-11-30T11:00:00.000Z")]])
  expect(judged(nowEpochMs - hour - 1)).toEqual([false, [
    `${of("2026-11-30T10:59:59.999Z")}, more than an hour ago: it says nothing of now`
  ]])
  // By a venue's clock that is a little ahead; what is of a time to come would hold until then.
  expect(judged(nowEpochMs + 10 * minute)).toEqual([true, [of("2026-11-30T12:10:00.000Z")]])
  expect(judged(nowEpochMs + 11 * minute)).toEqual([false, [`${of("2026-11-30T12:11:00.000Z")}, which is still to come`]])
  expect(judged(0, {})).toEqual([false, [`${of("1970-01-01T00:00:00.000Z")}: nobody said what time it is now`]])
  expect(judged(0, { ofAnyAge: true })).toEqual([true, [of("1970-01-01T00:00:00.000Z")]])
  for (const without of [{ ...published, atEpochMs: undefined }, at(-1), at(8.64e15 + 1)])
    expect(verifyPublished(without, { ofAnyAge: true }).findings).toHaveLength(1)
})

test("what somebody sends the treasury is told, and fails nothing; a loss fails whatever else was sent", () => {
  const published = publishedOf(proofOf(treeOf([5_000_000, 7_000_000]), 0))
  const judged = (heldAtoms: string, unattributedAtoms: string) =>
    verifyPublished({ ...published, treasury: { ...published.treasury, heldAtoms, unattributedAtoms } }, { nowEpochMs })
  expect(judged("12000001", "1").findings.map(({ holds, text }) => [holds, text]).slice(-2)).toEqual([
    [true, "what the treasury holds is what the journal accounts for, and 0.000001 USDC more, which came without a deposit"],
    [true, "at ledger offset 5 treasury is said to hold 12.000001 USDC: all of 12.000000 USDC that is owed is covered"]
  ])
  expect(judged("12000001", "1").holds).toBe(true)
  // The venue has to tell exactly the surplus that its other figures come to.
  for (const told of ["0", "2", "-1"]) expect(judged("12000001", told).holds).toBe(false)
  expect(judged("11999999", "-1").holds).toBe(false)
})

test("what was credited without a deposit stands behind nothing, unless whoever asks says that it is test money", () => {
  const published = publishedOf(proofOf(treeOf([5_000_000, 7_000_000]), 0))
  const credited = {
    ...published,
    creditedAtoms: "9000000",
    confirmedDepositsAtoms: "3000000",
    treasury: { ...published.treasury, heldAtoms: "3000000" }
  }
  const failing = (change: object, acceptsCredits: boolean): ReadonlyArray<string> =>
    verifyPublished({ ...credited, ...change }, { acceptsCredits, nowEpochMs }).findings.flatMap(({ holds, text }) => holds ? [] : [text])
  expect(verifyPublished(credited)).toEqual(verifyPublished(credited, { acceptsCredits: false }))
  expect(failing({}, false)).toEqual([
    "12.000000 USDC are owed, and only 3.000000 USDC stand behind it; 9.000000 USDC were credited without a deposit, for which nothing on "
    + "the ledger stands"
  ])
  expect(failing({}, true)).toEqual([])
  expect(verifyPublished(credited, { acceptsCredits: true }).findings.at(-1)!.text).toContain(
    "9.000000 USDC were credited without a deposit"
  )
  expect(failing({ reservedAtoms: "1", feesAtoms: "-1" }, true)).toEqual([
    "12.000001 USDC are owed, and only 12.000000 USDC stand behind it"
  ])
})

test("a proof of another account holds for nobody who says whose it has to be", () => {
  const proof = proofOf(treeOf([5, 7]), 0)
  expect(verifyProof(proof, publishedOf(proof), "acc_0")).toMatchObject({ holds: true })
  const other = verifyProof(proof, publishedOf(proof), "acc_1")
  expect(other.holds).toBe(false)
  expect(other.findings.filter(({ holds }) => !holds).map(({ text }) => text)).toEqual(["the proof is of acc_0, and not of acc_1"])
})

test("what its README says to take along is one file that needs node:crypto alone", () => {
  const readme = fs.readFileSync("src/client/solvency/README.md", "utf8")
  const [, file] = /`(dist\/src\/client\/solvency\/(\w+\.js))`/.exec(readme)!
  expect(readme).toContain(`from "./${path.basename(file!)}"`)
  expect([...fs.readFileSync(file!, "utf8").matchAll(/^import .* from "(.+)"/gm)].map(([, from]) => from)).toEqual(["node:crypto"])
})
