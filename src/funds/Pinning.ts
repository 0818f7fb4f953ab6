/** Passkeys that the signer is to take approvals by, while they come and go. */
import { Multimap } from "../domain/Multimap.js"

/**
 * Accounts whose first key the signer is being asked for, with the passkeys that they had when that began. Until the signer is known to
 * have it, none of their passkeys is removed: it could be the only one that is pinned a moment later, and nobody could approve anything of
 * the account's on the ledger any more. A removal that was decided before is known by then.
 */
export class Pinning {
  private readonly making = new Set<number>()
  private readonly leaving = new Multimap<number, string>()

  /** The account's passkeys are about to be pinned. */
  begin(account: number): void {
    this.making.add(account)
  }

  /** Whether they may be pinned at any moment, given whether the signer has a key of the account by now. */
  isUnderWay(account: number, hasKey: boolean): boolean {
    if (hasKey) this.making.delete(account)
    return this.making.has(account)
  }

  /** A passkey is about to be removed, until it is known whether it was: others are removed as if it were gone already. */
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
