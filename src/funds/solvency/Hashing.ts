/**
 * The hashes of the nodes of a Merkle sum tree. Leaves, inner nodes and roots begin with different tags, so that none can be taken
 * for another, and an inner node binds both children's hashes and sums.
 *
 * In the first version a leaf had no held amount, which therefore was in no sum: tags and what follows them are of the second.
 */
import { createHash } from "node:crypto"

export const hashBytes = 32

const leafTag = Buffer.from("perpetuum/solvency/leaf/v2\0")
const nodeTag = Buffer.from("perpetuum/solvency/node/v2\0")
const rootTag = Buffer.from("perpetuum/solvency/root/v2\0")

export interface Node {
  readonly hash: Uint8Array
  /** What the balances below come to, and what withdrawals hold of their accounts, money atoms. */
  readonly sum: bigint
  readonly held: bigint
}

/** The top of a tree without leaves. */
export const nothing: Node = { hash: new Uint8Array(hashBytes), sum: 0n, held: 0n }

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => createHash("sha256").update(Buffer.concat(parts)).digest()

/** Ids and numbers have no zero byte, which therefore ends them; hashes and salts are 32 bytes. */
const ended = (text: string | bigint | number): Buffer => Buffer.from(`${text}\0`)

export const leaf = (accountId: string, balanceAtoms: number, heldAtoms: bigint, salt: Uint8Array): Node => ({
  hash: sha256(leafTag, ended(accountId), ended(BigInt(balanceAtoms)), ended(heldAtoms), salt),
  sum: BigInt(balanceAtoms),
  held: heldAtoms
})

export const parent = (left: Node, right: Node): Node => ({
  hash: sha256(nodeTag, left.hash, ended(left.sum), ended(left.held), right.hash, ended(right.sum), ended(right.held)),
  sum: left.sum + right.sum,
  held: left.held + right.held
})

/** The published root: it binds the sequence, the number of leaves, and their sums. */
export const rootHash = (sequence: number, leafCount: number, top: Node): Buffer =>
  sha256(rootTag, ended(sequence), ended(leafCount), ended(top.sum), ended(top.held), top.hash)
