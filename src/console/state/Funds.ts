/** Money in and out: deposits, withdrawals, the account's party on the ledger, and which passkeys approve there. */
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
  /** Whether the passkeys that approve on the ledger are those of the account. */
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

  /** The account's party, by its own reading alone; undefined while it has none, or that is not known. */
  get partyId(): string | undefined {
    return this.party.value.value?.partyId ?? undefined
  }

  async load(): Promise<void> {
    await Promise.all([this.balance.load(), this.party.load(), this.deposits.list.load(), this.withdrawals.list.load()])
    await this.lookAtPins()
  }

  /** Looks how what is unfinished stands; what has come to its end has moved money. */
  async refresh(): Promise<void> {
    const before = this.settled
    await Promise.all([this.deposits.refresh(), this.withdrawals.refresh()])
    await this.follow(before)
  }

  async deposit(amountAtoms: string): Promise<boolean> {
    const made = await this.deposits.request({ amountAtoms, destinationPartyId: "" })
    // The first one may have brought the party.
    if (made) await this.follow(this.settled)
    return made
  }

  async withdraw(amountAtoms: string, destinationPartyId: string): Promise<boolean> {
    const made = await this.withdrawals.request({ amountAtoms, destinationPartyId })
    // The amount is held from here on.
    if (made) await this.balance.load()
    return made
  }

  /** Gives a transfer up that is not approved; whether it is over now. */
  async giveUp(transfers: Transfers, id: string): Promise<boolean> {
    const ended = await transfers.giveUp(id)
    if (ended) await this.balance.load()
    return ended
  }

  /** Has a passkey that approves on the ledger already approve the change that is due; then the next, if there is one. */
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

  /** How many of those that are shown are over. */
  private get settled(): number {
    return [this.deposits, this.withdrawals].reduce(
      (sum, { list }) => sum + (list.value.value?.transfers.filter(isOver).length ?? 0),
      0
    )
  }

  private async follow(before: number): Promise<void> {
    const isSettled = this.settled !== before
    // A deposit that has a party has brought it; whose it is only the party's own reading tells.
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
