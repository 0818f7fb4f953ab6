/** When each key was last used, as far as that was noted, and the latest addresses that it was used from. */
import { StepwiseMap } from "../../domain/Stepwise.js"

/** Addresses remembered of a key: another one replaces the one that was seen first. */
const knownAddresses = 8

export class KeyUses {
  private readonly lastUsed = new StepwiseMap<number, number>()
  private readonly addresses = new StepwiseMap<number, ReadonlyArray<string>>()

  /** When a key was last used; 0 where no use was noted. */
  lastUsedAt(apiKey: number): number {
    return this.lastUsed.get(apiKey) ?? 0
  }

  /** Uses are noted late and may arrive out of order: an earlier one changes nothing. */
  used(apiKey: number, usedAtEpochMs: number): void {
    if (usedAtEpochMs > this.lastUsedAt(apiKey)) this.lastUsed.set(apiKey, usedAtEpochMs)
  }

  /** Oldest first. */
  addressesOf(apiKey: number): ReadonlyArray<string> {
    return this.addresses.get(apiKey) ?? []
  }

  addAddress(apiKey: number, address: string): void {
    const known = this.addressesOf(apiKey)
    if (!known.includes(address)) this.setAddresses(apiKey, [...known, address].slice(-knownAddresses))
  }

  setAddresses(apiKey: number, addresses: ReadonlyArray<string>): void {
    this.addresses.set(apiKey, addresses)
  }

  /** Forgets the addresses of a key that can no longer act. */
  forgetAddresses(apiKey: number): void {
    this.addresses.delete(apiKey)
  }

  /** Forgets a key and all its uses. */
  forget(apiKey: number): void {
    this.lastUsed.delete(apiKey)
    this.addresses.delete(apiKey)
  }

  allLastUsed(): ReadonlyArray<readonly [number, number]> {
    return [...this.lastUsed].sort(([one], [other]) => one - other)
  }

  allAddresses(): ReadonlyArray<readonly [number, ReadonlyArray<string>]> {
    return [...this.addresses].sort(([one], [other]) => one - other)
  }
}
