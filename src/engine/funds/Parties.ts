/** The ledger party of each account: bound as the signer made it, and confirmed once the ledger has its contract with the venue. */
import { assert } from "../../domain/Assert.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

export interface Party {
  readonly account: number
  readonly partyId: string
  /** By which the signer knows its key; empty where it is not the signer's. */
  readonly keyId: string
  readonly boundAtEpochMs: number
  /** 0 until the ledger has confirmed its contract. */
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

  /** The account that a party is of, or is to be of; -1 where it is nobody's. */
  accountOf(partyId: string): number {
    return this.byId.get(partyId) ?? -1
  }

  /** Makes a party an account's, in the place of the one that it had. */
  set(party: Party): void {
    const { account, partyId } = party
    assert(this.accountOf(partyId) === -1 || this.accountOf(partyId) === account, "a party is of one account")
    const before = this.byAccount.get(account)
    if (before !== undefined) this.byId.delete(before.partyId)
    this.byAccount.set(account, party)
    this.byId.set(partyId, account)
  }

  /** Holds a party for an account that is to change to it. */
  claim(partyId: string, account: number): void {
    assert(!this.byId.has(partyId), "a party is of one account")
    this.byId.set(partyId, account)
  }

  /** Gives up what was claimed. */
  release(partyId: string): void {
    this.byId.delete(partyId)
  }

  /** All of them, by account. */
  all(): ReadonlyArray<Party> {
    return [...this.byAccount.values()].sort((one, other) => one.account - other.account)
  }
}
