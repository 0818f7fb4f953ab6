/**
 * What hides the leaves of one tree: a salt for each account, so that nobody finds a leaf out by guessing whose it is and what it
 * holds, and an order drawn anew for each tree, so that the balance beside one's own is anybody's. Both follow from a secret and the
 * tree's sequence: nothing is stored, and whoever has not the secret learns nothing.
 */
import { createHash, createHmac } from "node:crypto"

/** Of each draw 48 bits are read: against at most 2^32 places the bias is below 2^-16. */
const drawBytes = 6
const drawsOfAHash = 5

export class Salts {
  private readonly key: Buffer

  constructor(secret: string, private readonly sequence: number) {
    this.key = createHmac("sha256", secret).update("perpetuum/solvency/v1").digest()
  }

  /** The salt of an account's leaf, 32 bytes. */
  of(accountId: string): Uint8Array {
    return createHmac("sha256", this.key).update(`salt\0${accountId}\0${this.sequence}`).digest()
  }

  /** Numbers that follow from the secret and the sequence, each of which is below what is asked for. */
  draws(): (below: number) => number {
    const seed = createHmac("sha256", this.key).update(`order\0${this.sequence}`).digest()
    let block = Buffer.alloc(0)
    let used = drawsOfAHash
    let blocks = 0
    return (below) => {
      if (used === drawsOfAHash) {
        block = createHash("sha256").update(seed).update(`${blocks++}`).digest()
        used = 0
      }
      return block.readUIntBE(used++ * drawBytes, drawBytes) % below
    }
  }
}
