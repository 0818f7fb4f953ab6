/**
 * Accounts whose first key the signer is being asked for, with the passkeys that they had when that began. Until the signer is known to
 * have it, none of their passkeys is removed: it could be the only one that is pinned a moment later, and nobody could approve anything of
 * the account's on the ledger any more. A removal that was decided before is known by then.
 */
export class Pinning {
  private readonly making = new Set<number>()

  /** The account's passkeys are about to be pinned. */
  begin(account: number): void {
    this.making.add(account)
  }

  /** Whether they may be pinned at any moment, given whether the signer has a key of the account by now. */
  isUnderWay(account: number, hasKey: boolean): boolean {
    if (hasKey) this.making.delete(account)
    return this.making.has(account)
  }
}
