/** Passkeys whose approvals the signer accepts, while they are being added and removed. */
import { Multimap } from "../domain/Multimap.js"

/**
 * Accounts for which the signer is being asked for a first key, with the passkeys they had when that began. Until the signer is
 * known to have it, none of their passkeys may be removed: it might be the only one that is pinned a moment later, and nobody could
 * approve anything for the account any more. A removal decided before is known by then.
 */
export class Pinning {
  private readonly making = new Set<number>()
  private readonly leaving = new Multimap<number, string>()

  /** The account's passkeys are about to be pinned. */
  begin(account: number): void {
    this.making.add(account)
  }

  /** Whether they may be pinned at any moment, given whether the signer has a key for the account by now. */
  isUnderWay(account: number, hasKey: boolean): boolean {
    if (hasKey) this.making.delete(account)
    return this.making.has(account)
  }

  /** A passkey is about to be removed: until the result is known, other removals treat it as gone. */
  beginRemoval(account: number, credentialId: string): void {
    this.leaving.add(account, credentialId)
  }

  endRemoval(account: number, credentialId: string): void {
    this.leaving.remove(account, credentialId)
  }

  /** Passkeys of an account whose removal is under way. */
  removals(account: number): ReadonlyArray<string> {
    return this.leaving.of(account)
  }
}
