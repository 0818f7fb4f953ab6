/**
 * The ledger party of each account: bound when the signer has created it, and confirmed once the ledger has its contract with the
 * venue.
 */
import { assert } from "../../domain/Assert.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

export interface Party {
  readonly account: number
  readonly partyId: string
  /** The signer's id of the party's key; empty where the signer does not hold it. */
  readonly keyId: string
  readonly boundAtEpochMs: number
  /** 0 until the ledger has confirmed the party's contract. */
  readonly confirmedAtEpochMs: number
}

export class Parties {
  private readonly byAccount = new StepwiseMap<number, Party>()
  private readonly byId = new StepwiseMap<string, number>()

  get count(): number {
    return this.byAccount.size
  }

  of(account: number): Party | undefined {
    return this.byAccount.get(account)
  }

  /** The account that a party belongs to or is reserved for; -1 where there is none. */
  accountOf(partyId: string): number {
    return this.byId.get(partyId) ?? -1
  }

  /** Gives an account its party, in place of the one that it had. */
  set(party: Party): void {
    const { account, partyId } = party
    assert(this.accountOf(partyId) === -1 || this.accountOf(partyId) === account, "a party is of one account")
    const before = this.byAccount.get(account)
    if (before !== undefined) this.byId.delete(before.partyId)
    this.byAccount.set(account, party)
    this.byId.set(partyId, account)
  }

  /** Reserves a party for an account that is changing to it. */
  claim(partyId: string, account: number): void {
    assert(!this.byId.has(partyId), "a party is of one account")
    this.byId.set(partyId, account)
  }

  /** Releases a reserved party. */
  release(partyId: string): void {
    this.byId.delete(partyId)
  }

  /** All parties, by account. */
  all(): ReadonlyArray<Party> {
    return [...this.byAccount.values()].sort((one, other) => one.account - other.account)
  }
}
