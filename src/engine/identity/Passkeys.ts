/**
 * Passkeys: what the venue knows of each, by the credential's id, and the passkeys of each account in the order in which
 * they came. A credential's id is known to one account only, for as long as the passkey stands.
 */
import { assert } from "../../domain/Assert.js"
import { StepwiseMap } from "../../domain/Stepwise.js"

export interface Passkey {
  /** As the authenticator names it, base64url. */
  readonly credentialId: string
  readonly account: number
  /** What the authenticator gives back for the account, base64url. */
  readonly userHandle: string
  /** COSE, base64url. */
  readonly publicKey: string
  /** The counter in the last assertion; 0 of authenticators that count nothing. */
  readonly signCount: number
  /** Parted by commas. */
  readonly transports: string
  readonly displayName: string
  readonly createdAtEpochMs: number
  /** 0 before it was used. */
  readonly lastUsedAtEpochMs: number
  /** From when on it may approve withdrawals and changes of the ledger party. */
  readonly approvesFromEpochMs: number
}

export class Passkeys {
  private readonly byId = new StepwiseMap<string, Passkey>()
  private readonly byAccount = new StepwiseMap<number, ReadonlyArray<string>>()

  find(credentialId: string): Passkey | undefined {
    return this.byId.get(credentialId)
  }

  /** Those of an account, oldest first. */
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

  /** All of them, by account, oldest first. */
  all(): ReadonlyArray<Passkey> {
    return [...this.byAccount.keys()].sort((one, other) => one - other).flatMap((account) => this.of(account))
  }
}
