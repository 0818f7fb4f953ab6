/**
 * Keys that owners have approved for agents and that the agents have not fetched yet, by the digest of the device code that fetches
 * each. A grant that has not been fetched ends with the session that approved it.
 */
import { assert } from "../../domain/Assert.js"
import { Multimap } from "../../domain/Multimap.js"
import { StepwiseLine } from "../../domain/Stepwise.js"
import type { IdentityBounds } from "./Bounds.js"

/** Most expired grants that are forgotten with each new one. */
const forgottenAtOnce = 8

export interface Grant {
  /** Lowercase hex. */
  readonly deviceSha256: string
  readonly account: number
  /** The number of the session that approved the grant, which ends with it. */
  readonly session: number
  readonly clientName: string
  /** The S256 challenge of the agent's PKCE verifier, base64url (RFC 7636). */
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

  /** The grants of an account, oldest first. */
  of(account: number): ReadonlyArray<Grant> {
    return this.byAccount.of(account)
  }

  /** How many grants of an account have not expired at a time. */
  liveOf(account: number, atEpochMs: number): number {
    return this.of(account).filter(({ expiresAtEpochMs }) => expiresAtEpochMs > atEpochMs).length
  }

  /**
   * Whether there is no room for another grant at a time. Expired grants count as room, since the next one forgets some of them.
   */
  isFull(atEpochMs: number): boolean {
    return this.byDevice.size >= this.bounds.grants && this.over(atEpochMs).length === 0
  }

  /** Forgets some of the oldest grants that have expired at a time. */
  forget(atEpochMs: number): void {
    for (const grant of this.over(atEpochMs)) this.remove(grant)
  }

  /** The expired ones among the oldest grants. A younger grant may expire before an older one, where its session ended first. */
  private over(atEpochMs: number): ReadonlyArray<Grant> {
    const over: Array<Grant> = []
    let left = forgottenAtOnce
    for (const grant of this.byDevice.values()) {
      if (left-- === 0) break
      if (grant.expiresAtEpochMs <= atEpochMs) over.push(grant)
    }
    return over
  }

  /** All grants, in the order of their approval. */
  all(): ReadonlyArray<Grant> {
    return [...this.byDevice.values()]
  }
}
