/**
 * What a treasury with a daily limit has signed on each day, counted from the records that its signer writes, by the days that these name.
 * No day's withdrawals may come to more than the limit, days never go back, and a withdrawal may be refused for the limit only where it
 * would have exceeded that of the latest day.
 */

/** A withdrawal that a treasury has signed. */
interface Given {
  readonly hash: string
  readonly amountAtoms: number
}

interface Day {
  readonly day: number
  readonly atoms: number
}

export class GivenByDay {
  /** The first thing that may not be. */
  fault: string | undefined = undefined
  /** The latest day and what it has given, after each withdrawal. */
  readonly #days: Array<Day> = [{ day: 0, atoms: 0 }]
  readonly #known = new Set<string>()

  constructor(readonly dailyAtoms: number) {}

  /** How often the treasury has signed. */
  get count(): number {
    return this.#days.length - 1
  }

  /** Notes the treasury's record as the signer writes it. */
  wrote(record: string): void {
    const { day, withdrawals } = JSON.parse(record) as { readonly day: number; readonly withdrawals: ReadonlyArray<Given> }
    for (const { amountAtoms, hash } of withdrawals) {
      if (this.#known.has(hash)) continue
      this.#known.add(hash)
      const last = this.#days.at(-1)!
      const atoms = amountAtoms + (day === last.day ? last.atoms : 0)
      this.#days.push({ day, atoms })
      if (day < last.day) this.fault ??= `a withdrawal counts for day ${day}, after one that counts for day ${last.day}`
      if (atoms > this.dailyAtoms) this.fault ??= `the treasury has given ${atoms} atoms on day ${day}, and may give ${this.dailyAtoms}`
    }
  }

  /** Notes that a withdrawal of an amount was refused for the limit, and how often the treasury had signed when it was asked for. */
  refused(amountAtoms: number, count: number): void {
    const since = this.#days.slice(count)
    if (since.some(({ atoms }) => atoms + amountAtoms > this.dailyAtoms)) return
    const { atoms, day } = since.at(-1)!
    this.fault ??= `${amountAtoms} atoms more are refused where ${atoms} of ${this.dailyAtoms} were given on day ${day}`
  }
}
