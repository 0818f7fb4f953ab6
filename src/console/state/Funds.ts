/** Money in and out: deposits, withdrawals, the account's party on the ledger, and the passkeys that approve there. */
import type { Client } from "./Client.js"
import { approve } from "./Approving.js"
import * as Desk from "./Desk.js"
import { hasFailed } from "./Failure.js"
import type { Outside } from "./Outside.js"
import { Reading, Task } from "./Task.js"
import { isOver } from "./Transfer.js"
import { Transfers } from "./Transfers.js"
import { heard } from "./Turns.js"

export class Funds {
  readonly balance
  readonly party
  /** Whether the passkeys that approve on the ledger are the account's current ones. */
  readonly pins
  readonly pinning = new Task()
  readonly deposits
  readonly withdrawals

  constructor(private readonly client: Client, private readonly outside: Pick<Outside, "nextKey" | "now" | "usePasskey">) {
    this.balance = new Reading(() => client.balance())
    this.party = new Reading(() => client.ledgerParty())
    this.pins = new Reading(() => client.pinPasskeys({ action: "initiate" }))
    this.deposits = new Transfers(Desk.deposits(client), outside)
    this.withdrawals = new Transfers(Desk.withdrawals(client), outside)
  }

  /** The account's party, as its own route reports it; undefined while it has none, or that is not known. */
  get partyId(): string | undefined {
    return this.party.value.value?.partyId ?? undefined
  }

  async load(): Promise<void> {
    await Promise.all([this.balance.load(), this.party.load(), this.deposits.list.load(), this.withdrawals.list.load()])
    await this.lookAtPins()
  }

  /** Refreshes unfinished transfers, and then the balance: what may be withdrawn also moves with the marks of positions. */
  async refresh(): Promise<void> {
    const before = this.settled
    await Promise.all([this.deposits.refresh(), this.withdrawals.refresh()])
    const isRead = this.settled !== before || this.balance.isBusy.value
    await Promise.all([...(isRead ? [] : [this.balance.load()]), this.follow(before)])
  }

  async deposit(amountAtoms: string): Promise<boolean> {
    const made = await this.deposits.request({ amountAtoms, destinationPartyId: "" })
    // The first deposit may have created the party.
    if (made) await this.follow(this.settled)
    return made
  }

  async withdraw(amountAtoms: string, destinationPartyId: string): Promise<boolean> {
    const made = await this.withdrawals.request({ amountAtoms, destinationPartyId })
    // From here on the amount is reserved.
    if (made) await this.balance.load()
    return made
  }

  /** Cancels a transfer that has not been approved; returns whether it has ended. */
  async giveUp(transfers: Transfers, id: string): Promise<boolean> {
    const ended = await transfers.giveUp(id)
    if (ended) await this.balance.load()
    return ended
  }

  /** Approves the pending change of pins with a passkey that the ledger's signer knows already; then the next, if there is one. */
  async pin(): Promise<void> {
    const changed = await this.pinning.run(async (goesOn) => {
      const asked = heard(goesOn, await this.client.pinPasskeys({ action: "initiate" }))
      if (hasFailed(asked) || asked.value.challenge === undefined) return asked
      const { challenge } = asked.value
      const factor = await approve(this.outside, challenge, goesOn)
      if (hasFailed(factor)) return factor
      return this.client.pinPasskeys({ action: "complete", challengeIdentifier: challenge.challengeIdentifier, firstFactor: factor.value })
    })
    if (changed !== undefined) this.pins.value.value = changed
  }

  clear(): void {
    for (const part of [this.balance, this.party, this.pins, this.deposits, this.withdrawals]) part.clear()
    this.pinning.forget()
  }

  /** How many of the shown transfers have ended. */
  private get settled(): number {
    return [this.deposits, this.withdrawals].reduce(
      (sum, { list }) => sum + (list.value.value?.transfers.filter(isOver).length ?? 0),
      0
    )
  }

  private async follow(before: number): Promise<void> {
    const isSettled = this.settled !== before
    // A deposit that names a party has created it; only the party's own route says that it is the account's.
    const isParty = this.partyId === undefined && !this.party.isBusy.value
      && this.deposits.unfinished.some(({ partyId }) => partyId !== undefined)
    await Promise.all([...(isSettled ? [this.balance.load()] : []), ...(isSettled || isParty ? [this.party.load()] : [])])
  }

  /** An account without a party has no passkeys on the ledger that could differ. */
  private async lookAtPins(): Promise<void> {
    const party = this.party.value.value
    if (party !== undefined && party.partyId !== null) await this.pins.load()
  }
}
