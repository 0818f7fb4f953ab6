/**
 * The hashes of the nodes of a Merkle sum tree. Leaves, inner nodes and roots begin with different tags, so that none can be taken
 * for another, and an inner node binds both children's hashes and sums.
 */
import { createHash } from "node:crypto"

export const hashBytes = 32

const leafTag = Buffer.from("perpetuum/solvency/leaf/v1\0")
const nodeTag = Buffer.from("perpetuum/solvency/node/v1\0")
const rootTag = Buffer.from("perpetuum/solvency/root/v1\0")

export interface Node {
  readonly hash: Uint8Array
  readonly sum: bigint
}

/** The top of a tree without leaves. */
export const nothing: Node = { hash: new Uint8Array(hashBytes), sum: 0n }

const sha256 = (...parts: ReadonlyArray<Uint8Array>): Buffer => createHash("sha256").update(Buffer.concat(parts)).digest()

/** Ids and numbers have no zero byte, which therefore ends them; hashes and salts are 32 bytes. */
const ended = (text: string | bigint | number): Buffer => Buffer.from(`${text}\0`)

export const leaf = (accountId: string, balanceAtoms: number, salt: Uint8Array): Node => ({
  hash: sha256(leafTag, ended(accountId), ended(BigInt(balanceAtoms)), salt),
  sum: BigInt(balanceAtoms)
})

export const parent = (left: Node, right: Node): Node => ({
  hash: sha256(nodeTag, left.hash, ended(left.sum), right.hash, ended(right.sum)),
  sum: left.sum + right.sum
})

/** The published root: it binds the sequence, the number of leaves, and their sum. */
export const rootHash = (sequence: number, leafCount: number, top: Node): Buffer =>
  sha256(rootTag, ended(sequence), ended(leafCount), ended(top.sum), top.hash)
