/** What is read of the venue as a whole. */
import type { Occupancy } from "../Reads.js"
import type { State } from "../State.js"

export class VenueReads {
  constructor(readonly state: State) {}

  get sequence(): number {
    return this.state.sequence
  }

  get atEpochMs(): number {
    return this.state.atEpochMs
  }

  get environment(): string {
    return this.state.environment
  }

  get rules(): number {
    return this.state.rules
  }

  get halted(): boolean {
    return this.state.halted
  }

  get occupancy(): Occupancy {
    const { state } = this
    return {
      orders: state.orders.size,
      orderCapacity: state.capacity.orders,
      openOrders: state.openOrders,
      idempotencyEntries: state.idempotency.size,
      idempotencyCapacity: state.capacity.idempotencyKeys,
      accounts: state.accounts.count,
      apiKeys: state.apiKeys.count
    }
  }
}
