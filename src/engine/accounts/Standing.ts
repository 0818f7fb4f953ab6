/**
 * Facts about accounts other than their money: whether they may trade, the operator's flags, favorites, affiliates. Most accounts
 * have none of these, so they are stored only where there are any.
 */
import { StepwiseMap } from "../../domain/Stepwise.js"
import { flagBit } from "../../operations/accounts/SetAccountFlags.js"

const disabled = flagBit("disabled")

/** The standing of all accounts as a snapshot holds it. */
export interface StandingDump {
  readonly flags: ReadonlyArray<readonly [account: number, flags: number]>
  readonly notEnabled: ReadonlyArray<number>
  readonly favorites: ReadonlyArray<readonly [account: number, markets: ReadonlyArray<number>]>
  readonly affiliates: ReadonlyArray<readonly [account: number, registeredAtEpochMs: number]>
}

const byAccount = <A>(entries: Iterable<readonly [number, A]>): ReadonlyArray<readonly [number, A]> =>
  [...entries].sort(([one], [other]) => one - other)

const ascending = (numbers: Iterable<number>): ReadonlyArray<number> => [...numbers].sort((one, other) => one - other)

export class Standing {
  private readonly flags = new StepwiseMap<number, number>()
  private readonly notEnabled = new StepwiseMap<number, true>()
  /** Accounts that are disabled or not enabled: nearly always none, and every placement checks it. */
  private readonly barred = new StepwiseMap<number, true>()
  private readonly favorites = new StepwiseMap<number, Set<number>>()
  private readonly affiliates = new StepwiseMap<number, number>()

  /** Whether an account may open and grow positions. */
  mayTrade(account: number): boolean {
    return this.barred.size === 0 || !this.barred.has(account)
  }

  flagsOf(account: number): number {
    return this.flags.get(account) ?? 0
  }

  setFlags(account: number, flags: number): void {
    if (flags === 0) this.flags.delete(account)
    else this.flags.set(account, flags)
    this.judge(account)
  }

  /** Marks an account that was opened without money: it may not trade until it is credited. */
  waitForCredit(account: number): void {
    this.notEnabled.set(account, true)
    this.judge(account)
  }

  /** Whether the account was opened with money or has been credited since. */
  isEnabled(account: number): boolean {
    return !this.notEnabled.has(account)
  }

  enable(account: number): void {
    this.notEnabled.delete(account)
    this.judge(account)
  }

  private judge(account: number): void {
    if (this.notEnabled.has(account) || (this.flagsOf(account) & disabled) !== 0) this.barred.set(account, true)
    else this.barred.delete(account)
  }

  isFavorite(account: number, market: number): boolean {
    return this.favorites.get(account)?.has(market) ?? false
  }

  setFavorite(account: number, market: number, isFavorite: boolean): void {
    const own = this.favorites.get(account) ?? new Set<number>()
    if (isFavorite) own.add(market)
    else own.delete(market)
    if (own.size === 0) this.favorites.delete(account)
    else this.favorites.set(account, own)
  }

  /** When an account became an affiliate; 0 where it is not one. */
  affiliateSince(account: number): number {
    return this.affiliates.get(account) ?? 0
  }

  register(account: number, atEpochMs: number): void {
    this.affiliates.set(account, atEpochMs)
  }

  /** Undefined where there is nothing. */
  dump(): StandingDump | undefined {
    const { affiliates, favorites, flags, notEnabled } = this
    if (affiliates.size + favorites.size + flags.size + notEnabled.size === 0) return undefined
    return {
      flags: byAccount(flags),
      notEnabled: ascending(notEnabled.keys()),
      favorites: byAccount([...favorites].map(([account, markets]) => [account, ascending(markets)] as const)),
      affiliates: byAccount(affiliates)
    }
  }

  restore(dump: StandingDump): void {
    for (const [account, flags] of dump.flags) this.setFlags(account, flags)
    for (const account of dump.notEnabled) this.waitForCredit(account)
    for (const [account, markets] of dump.favorites) for (const market of markets) this.setFavorite(account, market, true)
    for (const [account, atEpochMs] of dump.affiliates) this.register(account, atEpochMs)
  }

  /** Feeds one line for each fact about an account. */
  canonical(feed: (line: string) => void): void {
    const dump = this.dump()
    if (dump === undefined) return
    for (const [account, flags] of dump.flags) feed(`flags ${account} ${flags}`)
    for (const account of dump.notEnabled) feed(`not enabled ${account}`)
    for (const [account, markets] of dump.favorites) feed(`favorites ${account} ${markets.join(" ")}`)
    for (const [account, atEpochMs] of dump.affiliates) feed(`affiliate ${account} ${atEpochMs}`)
  }
}
