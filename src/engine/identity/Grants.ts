/**
 * Keys that owners have let agents have and that were not fetched yet, by the digest of the device code that fetches each. What a
 * session has approved ends with it, as long as nobody has fetched it.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseLine } from "../../domain/Stepwise.js"
import type { IdentityBounds } from "./Bounds.js"

/** Grants that are over and forgotten with each new one, at most. */
const forgottenAtOnce = 8

export interface Grant {
  /** Lowercase hex. */
  readonly deviceSha256: string
  readonly account: number
  /** The number of the session that approved it: with that it ends. */
  readonly session: number
  readonly clientName: string
  /** S256 of the agent's verifier, base64url. */
  readonly codeChallenge: string
  readonly scopes: number
  readonly keyLifetimeSeconds: number
  readonly approvedAtEpochMs: number
  readonly expiresAtEpochMs: number
}

export class Grants {
  private readonly byDevice = new StepwiseLine<string, Grant>()
  private readonly byAccount = new Multimap<number, Grant>()

  constructor(private readonly bounds: Pick<IdentityBounds, "grants">) {}

  get count(): number {
    return this.byDevice.size
  }

  find(deviceSha256: string): Grant | undefined {
    return this.byDevice.get(deviceSha256)
  }

  add(grant: Grant): void {
    assert(!this.byDevice.has(grant.deviceSha256), "a device code is approved once")
    this.byDevice.set(grant.deviceSha256, grant)
    this.byAccount.add(grant.account, grant)
  }

  remove(grant: Grant): void {
    this.byDevice.delete(grant.deviceSha256)
    this.byAccount.remove(grant.account, grant)
  }

  /** Those of an account, oldest first. */
  of(account: number): ReadonlyArray<Grant> {
    return this.byAccount.of(account)
  }

  /** How many of an account are not over at a time. */
  liveOf(account: number, atEpochMs: number): number {
    return this.of(account).filter(({ expiresAtEpochMs }) => expiresAtEpochMs > atEpochMs).length
  }

  /** Whether there is no room for another one at a time: the next forgets some of those that are over. */
  isFull(atEpochMs: number): boolean {
    return this.byDevice.size >= this.bounds.grants && this.over(atEpochMs).length === 0
  }

  /** Forgets some of the oldest that are over at a time. */
  forget(atEpochMs: number): void {
    for (const grant of this.over(atEpochMs)) this.remove(grant)
  }

  /** Of the oldest, those that are over at a time: a younger one may be before an older, where its session ended first. */
  private over(atEpochMs: number): ReadonlyArray<Grant> {
    const over: Array<Grant> = []
    let left = forgottenAtOnce
    for (const grant of this.byDevice.values()) {
      if (left-- === 0) break
      if (grant.expiresAtEpochMs <= atEpochMs) over.push(grant)
    }
    return over
  }

  /** All of them, in the order in which they were approved. */
  all(): ReadonlyArray<Grant> {
    return [...this.byDevice.values()]
  }
}
