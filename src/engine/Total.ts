/** An exact sum of money atoms, kept in two limbs since it outgrows the safe integers in time. */

const limb = 2 ** 40

export class Total {
  /** The sum is `high` times 2^40 plus `low`, both whole; `low` stays under 2^40. Public for snapshots. */
  low = 0
  high = 0

  /** Adds a safe integer of atoms, of either sign. */
  add(atoms: number): void {
    this.low += atoms
    if (this.low >= limb || this.low <= -limb) {
      const carry = Math.floor(this.low / limb)
      this.high += carry
      this.low -= carry * limb
    }
  }

  /** Adds a whole number of atoms of any size. */
  addAny(atoms: number): void {
    const rest = atoms % limb
    this.high += (atoms - rest) / limb
    this.add(rest)
  }

  addTotal({ high, low }: Total): void {
    this.high += high
    this.add(low)
  }

  /** The number nearest to the sum: it is rounded once, whatever it was added up from. */
  get nearest(): number {
    return this.high * limb + this.low
  }

  /** The sum, exactly. */
  get atoms(): bigint {
    return BigInt(this.high) * BigInt(limb) + BigInt(this.low)
  }
}
