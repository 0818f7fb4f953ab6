/** Reads from a venue for the checks: listings back to a mark through the reference client, and single orders as raw bytes without it. */
import type { Client } from "../../src/client/venue/Client.js"
import { type Answer, type Connection, get } from "../load/Connection.js"
import type { DemoAccount } from "../load/VenueProcess.js"
import type { Fill, OrderRecord } from "./Checks.js"

/** Sends one request; rejects with `Lost` when the connection ends first. */
export const ask = (connection: Connection, text: string): Promise<Answer> =>
  new Promise((resolve, reject) => connection.request(text, resolve, reject))

const most = 100

/** A listing's entries, newest first, back to but excluding the one that the mark names. */
const since = async <A>(
  page: (cursor: string | undefined) => Promise<{ readonly entries: ReadonlyArray<A>; readonly nextCursor: string | null | undefined }>,
  isMark: (entry: A) => boolean
): Promise<ReadonlyArray<A>> => {
  const found: Array<A> = []
  for (let cursor: string | undefined;;) {
    const { entries, nextCursor } = await page(cursor)
    for (const entry of entries) {
      if (isMark(entry)) return found
      found.push(entry)
    }
    cursor = nextCursor ?? undefined
    if (cursor === undefined) return found
  }
}

const pageOf = (cursor: string | undefined) => ({ limit: most, ...(cursor === undefined ? undefined : { cursor }) })

/** Orders placed after the one with this id, newest first; all for an empty id. */
export const ordersSince = (client: Client, orderId: string): Promise<ReadonlyArray<OrderRecord>> =>
  since<OrderRecord>(async (cursor) => {
    const { nextCursor, orders } = await client.orders(pageOf(cursor))
    return { entries: orders, nextCursor }
  }, (order) => order.orderId === orderId)

/** Fills after the one of this trade, newest first; all for an empty id. */
export const fillsSince = (client: Client, tradeId: string): Promise<ReadonlyArray<Fill>> =>
  since<Fill>(async (cursor) => {
    const { fills, nextCursor } = await client.fills(pageOf(cursor))
    return { entries: fills, nextCursor }
  }, (fill) => fill.tradeId === tradeId)

/** An order as text: an ended one has the same bytes for good. Undefined where there is none. */
export const order = async (connection: Connection, account: DemoAccount, orderId: string): Promise<string | undefined> => {
  const path = `/v1/orders/${orderId}`
  const answer = await ask(connection, get(path, account.apiKey))
  if (answer.status === 404) return undefined
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status} ${answer.body}`)
  return answer.body
}
