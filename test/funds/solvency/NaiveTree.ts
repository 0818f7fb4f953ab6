/** A Merkle sum tree built in the simplest way, level by level, from its definition: the venue's tree is compared with it. */
import { createHash } from "node:crypto"

export interface NaiveNode {
  readonly hash: string
  readonly sum: bigint
  readonly held: bigint
}

const sha256 = (parts: ReadonlyArray<string | Buffer>): string => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return hash.digest("hex")
}

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex")

export const leafOf = (accountId: string, balanceAtoms: bigint, heldAtoms: bigint, salt: string): NaiveNode => ({
  hash: sha256(["perpetuum/solvency/leaf/v2\0", `${accountId}\0`, `${balanceAtoms}\0`, `${heldAtoms}\0`, bytes(salt)]),
  sum: balanceAtoms,
  held: heldAtoms
})

export const parentOf = (left: NaiveNode, right: NaiveNode): NaiveNode => ({
  hash: sha256(["perpetuum/solvency/node/v2\0", ...[left, right].flatMap(({ hash, held, sum }) => [bytes(hash), `${sum}\0`, `${held}\0`])]),
  sum: left.sum + right.sum,
  held: left.held + right.held
})

export const rootOf = (sequence: number, leafCount: number, top: NaiveNode): string =>
  sha256(["perpetuum/solvency/root/v2\0", `${sequence}\0`, `${leafCount}\0`, `${top.sum}\0`, `${top.held}\0`, bytes(top.hash)])

/** All levels, from the leaves to the root. */
export const levelsOf = (leaves: ReadonlyArray<NaiveNode>): ReadonlyArray<ReadonlyArray<NaiveNode>> => {
  const levels = [leaves]
  for (let level = leaves; level.length > 1; levels.push(level)) {
    const above: Array<NaiveNode> = []
    for (let index = 0; index + 1 < level.length; index += 2) above.push(parentOf(level[index]!, level[index + 1]!))
    if (level.length % 2 === 1) above.push(level.at(-1)!)
    level = above
  }
  return levels
}
