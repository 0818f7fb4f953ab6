/** Reads a venue for the checks: listings to a mark, lookups and single orders, each on one connection. */
import { type Answer, Connection, get } from "../load/Connection.js"
import type { DemoAccount } from "../load/VenueProcess.js"
import type { Fill, Lookup, OrderRecord, Position } from "./Checks.js"

/** Sends one request; rejects with `Lost` when the connection ends first. */
export const ask = (connection: Connection, text: string): Promise<Answer> =>
  new Promise((resolve, reject) => connection.request(text, resolve, reject))

/** Works through items on a few connections, each item whole before its connection takes the next. */
export const each = async <A>(
  port: number,
  items: ReadonlyArray<A>,
  work: (item: A, connection: Connection) => Promise<void>
): Promise<void> => {
  const left = items.values()
  await Promise.all(Array.from({ length: Math.min(16, items.length) }, async () => {
    const connection = new Connection(port, true)
    for (const item of left) await work(item, connection)
    connection.close()
  }))
}

const expectOk = (path: string, answer: Answer): Answer => {
  if (answer.status !== 200) throw new Error(`GET ${path} was answered ${answer.status} ${answer.body}`)
  return answer
}

const read = async (connection: Connection, account: DemoAccount, path: string): Promise<Answer> =>
  expectOk(path, await ask(connection, get(path, account.apiKey)))

type Page<Name extends string, A> = { readonly [N in Name]: ReadonlyArray<A> } & { readonly nextCursor: string | null }

/** A listing's entries, newest first, down to the one named by the mark and without it. */
const since = async <Name extends string, A>(
  connection: Connection,
  account: DemoAccount,
  name: Name,
  isMark: (entry: A) => boolean
): Promise<ReadonlyArray<A>> => {
  const entries: Array<A> = []
  for (let cursor = "";;) {
    const { body } = await read(connection, account, `/v1/accounts/${account.accountId}/${name}?limit=100${cursor}`)
    const page = JSON.parse(body) as Page<Name, A>
    for (const entry of page[name]) {
      if (isMark(entry)) return entries
      entries.push(entry)
    }
    if (page.nextCursor === null) return entries
    cursor = `&cursor=${page.nextCursor}`
  }
}

/** Orders placed after the one with this id, newest first; all for an empty id. */
export const ordersSince = (connection: Connection, account: DemoAccount, orderId: string): Promise<ReadonlyArray<OrderRecord>> =>
  since<"orders", OrderRecord>(connection, account, "orders", (order) => order.orderId === orderId)

/** Fills after the one of this trade, newest first; all for an empty id. */
export const fillsSince = (connection: Connection, account: DemoAccount, tradeId: string): Promise<ReadonlyArray<Fill>> =>
  since<"fills", Fill>(connection, account, "fills", (fill) => fill.tradeId === tradeId)

/** An order as text: what is over has the same bytes for good. Undefined where there is none. */
export const order = async (connection: Connection, account: DemoAccount, orderId: string): Promise<string | undefined> => {
  const answer = await ask(connection, get(`/v1/orders/${orderId}`, account.apiKey))
  return answer.status === 404 ? undefined : expectOk(`/v1/orders/${orderId}`, answer).body
}

export const lookup = async (connection: Connection, account: DemoAccount, key: string): Promise<Lookup> =>
  JSON.parse((await read(connection, account, `/v1/accounts/${account.accountId}/outcomes?idempotencyKey=${key}`)).body) as Lookup

export const positions = async (connection: Connection, account: DemoAccount): Promise<ReadonlyArray<Position>> => {
  const { body } = await read(connection, account, `/v1/accounts/${account.accountId}/positions`)
  return (JSON.parse(body) as { readonly positions: ReadonlyArray<Position> }).positions
}

/** Money atoms. */
export const collateral = async (connection: Connection, account: DemoAccount): Promise<bigint> => {
  const { body } = await read(connection, account, `/v1/accounts/${account.accountId}/balance`)
  return BigInt((JSON.parse(body) as { readonly collateralAtoms: string }).collateralAtoms)
}
