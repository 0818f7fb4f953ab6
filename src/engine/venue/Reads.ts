/** Reads about the venue as a whole. */
import * as Ids from "../../domain/Ids.js"
import { minuteMs } from "../../domain/Durations.js"
import { mostBracketsOf } from "../accounts/Brackets.js"
import { depositsOfAccount } from "../funds/Bounds.js"
import { noticeMs } from "../markets/Announced.js"
import { metAtOnce } from "../Matching.js"
import { maxOpenOrders } from "../orders/Checks.js"
import { orderGraceMinutes } from "../orders/Forgetting.js"
import type { LimitsView, Occupancy } from "../Reads.js"
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
      apiKeys: state.apiKeys.kept,
      underLiquidation: state.liquidations.size - (state.liquidations.has(state.accounts.find(Ids.insuranceFundId)) ? 1 : 0)
    }
  }

  get limits(): LimitsView {
    const { capacity, fills, funds, identity, retentionMinutes, retentionSinceEpochMs } = this.state
    return {
      retentionMs: retentionMinutes * minuteMs,
      retentionSinceEpochMs,
      endedOrderExtraMs: orderGraceMinutes * minuteMs,
      openOrders: maxOpenOrders,
      brackets: mostBracketsOf(capacity),
      ordersMet: capacity.metAtOnce ?? metAtOnce,
      noticeMs: capacity.noticeMs ?? noticeMs,
      fillsKept: fills.capacity,
      keys: identity.bounds.keys,
      ticketFamilies: identity.bounds.familiesOfKey,
      openDeposits: depositsOfAccount,
      openWithdrawals: funds.bounds.withdrawalsOfAccount
    }
  }
}
