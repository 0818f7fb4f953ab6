/**
 * Passkeys, by credential id and by account in the order in which they were added. A credential id belongs to one account only, as
 * long as the passkey exists.
 */
import { assert } from "../../domain/Assert.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

export interface Passkey {
  /** The credential id, as the authenticator names it, base64url. */
  readonly credentialId: string
  readonly account: number
  /** The user handle that the authenticator returns for the account, base64url. */
  readonly userHandle: string
  /** The public key in COSE form, base64url. */
  readonly publicKey: string
  /** The signature counter of the last assertion; 0 for authenticators that do not count. */
  readonly signCount: number
  /** The authenticator's transports, separated by commas. */
  readonly transports: string
  readonly displayName: string
  readonly createdAtEpochMs: number
  /** 0 while it has not been used. */
  readonly lastUsedAtEpochMs: number
  /** From when on the passkey may approve withdrawals and changes of the ledger party. */
  readonly approvesFromEpochMs: number
}

export class Passkeys {
  private readonly byId = new StepwiseMap<string, Passkey>()
  private readonly byAccount = new StepwiseMap<number, ReadonlyArray<string>>()

  find(credentialId: string): Passkey | undefined {
    return this.byId.get(credentialId)
  }

  /** The passkeys of an account, oldest first. */
  of(account: number): ReadonlyArray<Passkey> {
    return (this.byAccount.get(account) ?? []).map((credentialId) => this.byId.get(credentialId)!)
  }

  countOf(account: number): number {
    return this.byAccount.get(account)?.length ?? 0
  }

  get count(): number {
    return this.byId.size
  }

  add(passkey: Passkey): void {
    assert(!this.byId.has(passkey.credentialId), "a credential is known once")
    this.byId.set(passkey.credentialId, passkey)
    this.byAccount.set(passkey.account, [...(this.byAccount.get(passkey.account) ?? []), passkey.credentialId])
  }

  used(passkey: Passkey, signCount: number, atEpochMs: number): void {
    this.byId.set(passkey.credentialId, { ...passkey, signCount, lastUsedAtEpochMs: atEpochMs })
  }

  remove({ account, credentialId }: Passkey): void {
    this.byId.delete(credentialId)
    this.byAccount.set(account, this.byAccount.get(account)!.filter((each) => each !== credentialId))
  }

  /** All passkeys, by account, oldest first. */
  all(): ReadonlyArray<Passkey> {
    return [...this.byAccount.keys()].sort((one, other) => one - other).flatMap((account) => this.of(account))
  }
}
