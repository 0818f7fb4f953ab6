/**
 * A Merkle sum tree over the balances of all accounts at one sequence, and over what withdrawals hold of them, which is in no
 * balance. It is built in slices and takes about 24 bytes per account: nodes below groups of leaves are recomputed when a proof is
 * requested.
 *
 * Every level halves the one below. An odd node at the end moves up unchanged: duplicating it would let a tree that counts a leaf
 * twice have the hash of one that does not.
 */
import { assert } from "../../domain/Assert.js"
import { hashBytes, leaf, type Node, nothing, parent, rootHash } from "./Hashing.js"
import type { Salts } from "./Salts.js"

/** Levels that are not kept, and the leaves in a group: those under one kept node. */
const unkeptLevels = 4
const groupLeaves = 2 ** unkeptLevels

/** Work per slice: each well below a millisecond. */
const drawsInSlice = 1024
const groupsInSlice = 4
const nodesInSlice = 128

const low64 = (1n << 64n) - 1n

/** The nodes of one level. Sums are 128 bits: 2^32 leaves of some safe integers each are far below. */
class Level {
  private readonly hashes: Uint8Array
  /** Of each node two: of the balances and of what is held, the lower 64 bits before the higher. */
  private readonly sums: BigUint64Array

  constructor(readonly count: number) {
    this.hashes = new Uint8Array(count * hashBytes)
    this.sums = new BigUint64Array(count * 4)
  }

  at(index: number): Node {
    return {
      hash: this.hashes.subarray(index * hashBytes, (index + 1) * hashBytes),
      sum: this.sumAt(index * 4),
      held: this.sumAt(index * 4 + 2)
    }
  }

  set(index: number, { hash, held, sum }: Node): void {
    this.hashes.set(hash, index * hashBytes)
    this.setSum(index * 4, sum)
    this.setSum(index * 4 + 2, held)
  }

  private sumAt(place: number): bigint {
    return this.sums[place]! | this.sums[place + 1]! << 64n
  }

  private setSum(place: number, sum: bigint): void {
    this.sums[place] = sum & low64
    this.sums[place + 1] = sum >> 64n
  }
}

/** The level above: the last of an odd number goes up as it is. */
const above = (level: ReadonlyArray<Node>): ReadonlyArray<Node> => {
  const made: Array<Node> = []
  for (let index = 0; index < level.length; index += 2) {
    const right = level[index + 1]
    made.push(right === undefined ? level[index]! : parent(level[index]!, right))
  }
  return made
}

/** The path that proves that a leaf is under the root. */
export interface Path {
  readonly index: number
  readonly balanceAtoms: number
  readonly heldAtoms: bigint
  readonly salt: Uint8Array
  /** The siblings of the leaf and of each node above it, from below; levels at which the node moves up unchanged have none. */
  readonly siblings: ReadonlyArray<Node>
}

export class Tree {
  /** The account at each leaf, and the leaf of each account. */
  private readonly order: Uint32Array
  private readonly places: Uint32Array
  /** The kept levels, from below; the last has one node. */
  private readonly levels: Array<Level> = []
  private top: Node = nothing

  /**
   * Takes one non-negative balance per account, and what withdrawals hold of those of which they hold anything. Account ids are
   * requested as needed.
   */
  constructor(
    readonly sequence: number,
    private readonly balances: Float64Array,
    private readonly heldByAccount: ReadonlyMap<number, bigint>,
    private readonly accountIdOf: (account: number) => string,
    private readonly salts: Salts
  ) {
    this.order = new Uint32Array(balances.length)
    this.places = new Uint32Array(balances.length)
  }

  get leafCount(): number {
    return this.balances.length
  }

  /** What all balances come to. */
  get sum(): bigint {
    return this.top.sum
  }

  /** What withdrawals hold of all accounts. */
  get held(): bigint {
    return this.top.held
  }

  get rootHash(): Uint8Array {
    return rootHash(this.sequence, this.leafCount, this.top)
  }

  /** Builds the tree, once: other work may run between two steps. */
  *making(): Generator<void> {
    yield* this.drawing()
    const groups = new Level(Math.ceil(this.leafCount / groupLeaves))
    for (let group = 0; group < groups.count; group++) {
      let nodes = this.leavesOf(group)
      while (nodes.length > 1) nodes = above(nodes)
      groups.set(group, nodes[0]!)
      if (group % groupsInSlice === groupsInSlice - 1) yield
    }
    for (let level = groups; level.count > 0; level = yield* this.halving(level)) {
      this.levels.push(level)
      if (level.count === 1) break
    }
    this.top = this.levels.at(-1)?.at(0) ?? nothing
  }

  /** Draws the order of the leaves. */
  private *drawing(): Generator<void> {
    const { order, places } = this
    const draw = this.salts.draws()
    for (let account = 0; account < order.length; account++) {
      // Each account takes a random place among those before it, and the account that was there moves to the end.
      const place = draw(account + 1)
      if (place !== account) {
        const moved = order[place]!
        order[account] = moved
        places[moved] = account
      }
      order[place] = account
      places[account] = place
      if (account % drawsInSlice === drawsInSlice - 1) yield
    }
  }

  private heldOf(account: number): bigint {
    return this.heldByAccount.get(account) ?? 0n
  }

  private *halving(level: Level): Generator<void, Level> {
    const made = new Level(Math.ceil(level.count / 2))
    for (let index = 0; index < made.count; index++) {
      const left = level.at(index * 2)
      made.set(index, index * 2 + 1 < level.count ? parent(left, level.at(index * 2 + 1)) : left)
      if (index % nodesInSlice === nodesInSlice - 1) yield
    }
    return made
  }

  private leavesOf(group: number): ReadonlyArray<Node> {
    const from = group * groupLeaves
    return Array.from(this.order.subarray(from, from + groupLeaves), (account) => {
      const accountId = this.accountIdOf(account)
      return leaf(accountId, this.balances[account]!, this.heldOf(account), this.salts.of(accountId))
    })
  }

  /** Undefined for an account that was opened later. */
  pathOf(account: number): Path | undefined {
    if (account >= this.leafCount) return undefined
    assert(this.levels.length > 0, "paths are asked for once the tree is made")
    const index = this.places[account]!
    const siblings: Array<Node> = []
    let at = index % groupLeaves
    for (let nodes = this.leavesOf(Math.floor(index / groupLeaves)); nodes.length > 1; nodes = above(nodes)) {
      const beside = nodes[at ^ 1]
      if (beside !== undefined) siblings.push(beside)
      at >>= 1
    }
    at = Math.floor(index / groupLeaves)
    for (const level of this.levels) {
      if ((at ^ 1) < level.count) siblings.push(level.at(at ^ 1))
      at >>= 1
    }
    return {
      index,
      balanceAtoms: this.balances[account]!,
      heldAtoms: this.heldOf(account),
      salt: this.salts.of(this.accountIdOf(account)),
      siblings
    }
  }
}
