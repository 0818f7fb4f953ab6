/** When keys were last used, as far as it was noted, and from where: each key's latest addresses. */
import { StepwiseMap } from "../../domain/Stepwise.js"

/** Addresses of a key that are known: another one takes the place of the one that came first. */
const knownAddresses = 8

export class KeyUses {
  private readonly lastUsed = new StepwiseMap<number, number>()
  private readonly addresses = new StepwiseMap<number, ReadonlyArray<string>>()

  /** 0 where nothing was noted. */
  lastUsedAt(apiKey: number): number {
    return this.lastUsed.get(apiKey) ?? 0
  }

  /** What is noted later may tell of what was earlier. */
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

  /** A key that acts no more is used from nowhere. */
  forgetAddresses(apiKey: number): void {
    this.addresses.delete(apiKey)
  }

  /** A key that is forgotten was never used. */
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
