/** An exact sum of money atoms, kept in two limbs since it outgrows the safe integers in time. */

const limb = 2 ** 40

export class Total {
  /** The sum is `high` times 2^40 plus `low`, both whole; `low` stays under 2^40. Public for snapshots. */
  low = 0
  high = 0

  static of(atoms: number): Total {
    const total = new Total()
    total.add(atoms)
    return total
  }

  /** Adds a whole number of atoms, of either sign. */
  add(atoms: number): void {
    const sum = this.low + atoms
    if (sum < limb && sum > -limb) {
      this.low = sum
      return
    }
    // The sum of the two may be no safe integer: what the amount has in whole limbs goes to the high one by itself.
    const whole = Math.floor(atoms / limb)
    const low = this.low + (atoms - whole * limb)
    const carry = Math.floor(low / limb)
    this.high += whole + carry
    this.low = low - carry * limb
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
