/**
 * The settings of the tables' sizes. They stand apart from the venue's other settings, because the tools that replay a journal read only
 * these: with the others they would load the whole venue at every start.
 */
import * as Config from "effect/Config"
import type { Capacity } from "./engine/State.js"
import { between } from "./SettingTexts.js"

const defaultCapacity = { orders: 2_000_000, idempotencyKeys: 2_000_000, accountParts: 8 } as const satisfies Capacity

/** Most orders, and most idempotency keys, that a venue may remember. */
export const mostRows = 16_000_000

/**
 * How many orders and idempotency keys are remembered, which a replay of the journal needs as well; and one account's share of what is
 * free.
 */
export const capacity = Config.all({
  orders: between("ORDER_CAPACITY", 1_000, mostRows, defaultCapacity.orders),
  idempotencyKeys: between("IDEMPOTENCY_CAPACITY", 1_000, mostRows, defaultCapacity.idempotencyKeys),
  accountParts: between("ACCOUNT_PARTS", 0, 1_000, defaultCapacity.accountParts)
})
