/** Attributes of accounts beside their money, by the rules: one row for each flag that is set, and one for each affiliate. */

interface NaiveFlag {
  readonly account: number
  readonly bit: number
}

interface NaiveAffiliate {
  readonly account: number
  readonly registeredAtEpochMs: number
}

/** The bits of the flags: bot, load harness, disabled. */
const bits = [1, 2, 4]
const disabled = 4

export class NaiveStandings {
  flags: ReadonlyArray<NaiveFlag> = []
  affiliates: ReadonlyArray<NaiveAffiliate> = []

  /** Flags in neither mask stay as they are; a flag in both is set. */
  set(account: number, set: number, clear: number): void {
    for (const bit of bits) {
      const isNamed = (of: number): boolean => Math.floor(of / bit) % 2 === 1
      if (!isNamed(set) && !isNamed(clear)) continue
      const others = this.flags.filter((flag) => flag.account !== account || flag.bit !== bit)
      this.flags = isNamed(set) ? [...others, { account, bit }] : others
    }
  }

  flagsOf(account: number): number {
    return this.flags.filter((flag) => flag.account === account).reduce((sum, { bit }) => sum + bit, 0)
  }

  isDisabled(account: number): boolean {
    return this.flags.some((flag) => flag.account === account && flag.bit === disabled)
  }

  /** Only the first registration counts. */
  register(account: number, atEpochMs: number): void {
    if (this.affiliateSince(account) === 0) this.affiliates = [...this.affiliates, { account, registeredAtEpochMs: atEpochMs }]
  }

  /** When an account became an affiliate; 0 where it is none. */
  affiliateSince(account: number): number {
    return this.affiliates.find((affiliate) => affiliate.account === account)?.registeredAtEpochMs ?? 0
  }
}
