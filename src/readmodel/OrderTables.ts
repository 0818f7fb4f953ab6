/**
 * The table of orders: every order ever accepted, with its final state. A row is written when the order is placed, which fixes its
 * index entries, and once more when the order ends; in between it only shows that the order is open. The order's place in every
 * list is thus known from the beginning, and no index entry is written twice.
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Order from "../domain/Order.js"
import type { Ended, OrderChange, OrderRow } from "./Orders.js"
import { firstKeySince, put, putEach, run, table } from "./Sql.js"

export const statements: ReadonlyArray<string> = [
  `CREATE TABLE orders (
    number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
    side INTEGER NOT NULL, type INTEGER NOT NULL, time_in_force INTEGER NOT NULL, post_only INTEGER NOT NULL,
    reduce_only INTEGER NOT NULL, self_trade_prevention INTEGER NOT NULL, client_order_id TEXT NOT NULL, idempotency_key TEXT NOT NULL,
    created_at INTEGER NOT NULL, price INTEGER NOT NULL, quantity INTEGER NOT NULL, filled_notional INTEGER NOT NULL,
    status INTEGER NOT NULL, cancel_reason INTEGER NOT NULL, filled INTEGER NOT NULL, canceled INTEGER NOT NULL,
    updated_at INTEGER NOT NULL, last_sequence INTEGER NOT NULL
  ) STRICT`,
  "CREATE INDEX orders_of_account ON orders (account, number)",
  "CREATE INDEX orders_of_market ON orders (account, market, number)",
  "CREATE INDEX orders_by_client ON orders (account, client_order_id, number) WHERE client_order_id <> ''"
]

const flag = (is: boolean): number => is ? 1 : 0

const columns = (row: OrderRow): ReadonlyArray<string | number> => [
  row.orderNumber,
  row.account,
  row.market,
  row.side,
  row.type,
  row.timeInForce,
  flag(row.postOnly),
  flag(row.reduceOnly),
  row.selfTradePrevention,
  row.clientOrderId,
  row.idempotencyKey,
  row.createdAtEpochMs,
  row.priceAtoms,
  row.quantityAtoms,
  row.filledNotionalAtoms,
  row.status,
  row.cancelReason,
  row.filledAtoms,
  row.canceledAtoms,
  row.updatedAtEpochMs,
  row.lastSequence
]

const orderTable = table("orders", 21, columns)

const endColumns = ({ cancelReason, canceledAtoms, filledAtoms, lastSequence, status, updatedAtEpochMs }: Ended): ReadonlyArray<number> => [
  status,
  cancelReason,
  filledAtoms,
  canceledAtoms,
  updatedAtEpochMs,
  lastSequence
]

/** A column that a change may leave unchanged. */
const kept = (column: string, index: number): string => `${column} = coalesce(change.value ->> ${index}, orders.${column})`

const update = `UPDATE orders SET ${kept("price", 1)}, ${kept("quantity", 2)},
  filled_notional = orders.filled_notional + (change.value ->> 3),
  ${kept("status", 4)}, ${kept("cancel_reason", 5)}, ${kept("filled", 6)}, ${kept("canceled", 7)}, ${kept("updated_at", 8)},
  ${kept("last_sequence", 9)}
  FROM jsonb_each(?) AS change WHERE orders.number = change.value ->> 0`

/** Writes orders that were placed, and what has changed of others; within the transaction of their batch. */
export const write = (
  sql: SqlClient.SqlClient,
  { changed, placed }: { readonly placed: Iterable<OrderRow>; readonly changed: Iterable<OrderChange> }
): Effect.Effect<void, SqlError> =>
  Effect.gen(function*() {
    yield* put(sql, orderTable, placed)
    yield* putEach(sql, update, changed, ({ ended, filledNotionalAtoms, orderNumber, priceAtoms, quantityAtoms }) => [
      orderNumber,
      priceAtoms ?? null,
      quantityAtoms ?? null,
      filledNotionalAtoms,
      ...(ended === undefined ? [] : endColumns(ended))
    ])
  })

interface Stored {
  readonly number: number
  readonly account: number
  readonly market: number
  readonly side: Order.Side
  readonly type: Order.Type
  readonly time_in_force: Order.TimeInForce
  readonly post_only: number
  readonly reduce_only: number
  readonly self_trade_prevention: Order.SelfTradePrevention
  readonly client_order_id: string
  readonly idempotency_key: string
  readonly created_at: number
  readonly price: number
  readonly quantity: number
  readonly filled_notional: number
  readonly status: Order.Status
  readonly cancel_reason: Order.CancelReason
  readonly filled: number
  readonly canceled: number
  readonly updated_at: number
  readonly last_sequence: number
}

const rowOf = (row: Stored): OrderRow => ({
  orderNumber: row.number,
  account: row.account,
  market: row.market,
  side: row.side,
  type: row.type,
  timeInForce: row.time_in_force,
  postOnly: row.post_only === 1,
  reduceOnly: row.reduce_only === 1,
  selfTradePrevention: row.self_trade_prevention,
  clientOrderId: row.client_order_id,
  idempotencyKey: row.idempotency_key,
  createdAtEpochMs: row.created_at,
  priceAtoms: row.price,
  quantityAtoms: row.quantity,
  filledNotionalAtoms: row.filled_notional,
  status: row.status,
  cancelReason: row.cancel_reason,
  filledAtoms: row.filled,
  canceledAtoms: row.canceled,
  updatedAtEpochMs: row.updated_at,
  lastSequence: row.last_sequence
})

const first = (found: ReadonlyArray<Stored>): OrderRow | undefined => found[0] === undefined ? undefined : rowOf(found[0])

/** An account's order by its number. */
export const order = (sql: SqlClient.SqlClient, account: number, orderNumber: number): Effect.Effect<OrderRow | undefined, SqlError> =>
  Effect.map(run<Stored>(sql, "SELECT * FROM orders WHERE number = ? AND account = ?", [orderNumber, account]), first)

/** An account's last order with a clientOrderId. */
export const clientOrder = (
  sql: SqlClient.SqlClient,
  account: number,
  clientOrderId: string
): Effect.Effect<OrderRow | undefined, SqlError> =>
  Effect.map(
    run<Stored>(
      sql,
      `SELECT * FROM orders WHERE account = ? AND client_order_id = ? AND client_order_id <> '' ORDER BY number DESC LIMIT 1`,
      [account, clientOrderId]
    ),
    first
  )

/** Selects an account's orders. */
export interface OrdersAsked {
  readonly account: number
  /** Undefined for all. */
  readonly market: number | undefined
  /** Undefined for all. Orders that were last known as open are included, since they may have ended since. */
  readonly status: Order.Status | undefined
  /** An order number, exclusive: orders placed before or after it. */
  readonly from: number
  readonly limit: number
}

/** A part of an account's orders. */
export interface OrdersPart {
  readonly orders: ReadonlyArray<OrderRow>
  /** The last order examined, from which the next part continues; undefined where there are no more. */
  readonly goesOn: number | undefined
  /** The account's first order; undefined where it has none. */
  readonly oldest: number | undefined
}

/** Orders that one part examines, however many match, so that a part takes equally long with ten orders and with ten million. */
const ordersLookedAt = 5_000

const part = (
  sql: SqlClient.SqlClient,
  { account, from, limit, market, status }: OrdersAsked,
  towards: "older" | "younger",
  lookedAtOnce: number
): Effect.Effect<OrdersPart, SqlError> =>
  Effect.gen(function*() {
    // The index is named, since the planner cannot guess which of the two is the shorter.
    const [index, of] = market === undefined ? ["orders_of_account", "account = ?"] : ["orders_of_market", "account = ? AND market = ?"]
    const [beyond, within, order] = towards === "older" ? ["<", ">=", "DESC"] : [">", "<=", "ASC"]
    const named = [account, ...(market === undefined ? [] : [market])]
    const [oldest] = yield* run<{ readonly number: number | null }>(
      sql,
      "SELECT min(number) AS number FROM orders WHERE account = ?",
      [account]
    )
    const [last] = status === undefined ? [] : yield* run<{ readonly number: number }>(
      sql,
      `SELECT number FROM orders INDEXED BY ${index} WHERE ${of} AND number ${beyond} ?
        ORDER BY number ${order} LIMIT 1 OFFSET ${lookedAtOnce - 1}`,
      [...named, from]
    )
    const found = yield* run<Stored>(
      sql,
      `SELECT * FROM orders INDEXED BY ${index} WHERE ${of} AND number ${beyond} ? ${last === undefined ? "" : `AND number ${within} ?`}
        ${status === undefined ? "" : `AND status IN (${Order.open}, ?)`} ORDER BY number ${order} LIMIT ?`,
      [...named, from, ...(last === undefined ? [] : [last.number]), ...(status === undefined ? [] : [status]), limit]
    )
    const orders = found.map(rowOf)
    return {
      orders,
      goesOn: orders.length === limit ? orders.at(-1)!.orderNumber : last?.number,
      oldest: oldest?.number ?? undefined
    }
  })

/** Orders placed before the given one, newest first. */
export const ordersBefore = (
  sql: SqlClient.SqlClient,
  asked: OrdersAsked,
  lookedAtOnce = ordersLookedAt
): Effect.Effect<OrdersPart, SqlError> => part(sql, asked, "older", lookedAtOnce)

/** Orders placed after the given one, oldest first. */
export const ordersBehind = (
  sql: SqlClient.SqlClient,
  asked: OrdersAsked,
  lookedAtOnce = ordersLookedAt
): Effect.Effect<OrdersPart, SqlError> => part(sql, asked, "younger", lookedAtOnce)

/**
 * The lowest order number among those placed at or after a time, or above all earlier ones; undefined where all orders are earlier.
 */
export const firstSince = (sql: SqlClient.SqlClient, sinceEpochMs: number): Effect.Effect<number | undefined, SqlError> =>
  firstKeySince(sql, { table: "orders", key: "number", time: "created_at" }, sinceEpochMs)
