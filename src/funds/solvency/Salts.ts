/**
 * Hides the leaves of one tree: a salt per account, so that nobody can find out a leaf by guessing its account and balance, and a
 * new random order for each tree, so that the balance next to one's own may be anybody's. Both are derived from a secret and the
 * tree's sequence: nothing is stored, and nobody learns anything without the secret.
 */
import { createHash, createHmac } from "node:crypto"

/** Each draw reads 48 bits: for at most 2^32 places the bias is below 2^-16. */
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

  /** Pseudorandom numbers from the secret and the sequence, each below the requested bound. */
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
