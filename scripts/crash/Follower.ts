/**
 * One account as reported by the stream, and for one of the accounts the market's book, followed by the reference client through all lives
 * of the venue. The result is compared with the venue's answers: nothing that was reported is gone, nothing is reported twice, and nothing
 * is missing.
 */
import type { Client } from "../../src/client/venue/Client.js"
import type { AccountChannel, SnapshotEvent, UpdateEvent } from "../../src/client/venue/Channels.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import type { Notice } from "../../src/client/venue/Stream.js"
import { atLast, faultIn, FollowedBook } from "../load/FollowedBook.js"
import { marketId } from "../load/Orders.js"
import type { Fill } from "./Checks.js"

/** The compared members of an order, as text. */
const textOf = ({ lastSequence, orderId, remainingQuantityAtoms, status }: Contract.Order): string =>
  `${orderId} ${status} ${remainingQuantityAtoms} as of ${lastSequence}`

/** The compared members of a fill, as text. */
const fillText = ({ feeAtoms, liquidity, orderId, priceAtoms, side, sizeAtoms, tradeId }: Fill): string =>
  `${tradeId} of ${orderId}: ${liquidity} ${side} ${sizeAtoms} at ${priceAtoms} for ${feeAtoms}`

/** The entries that one list has more often than the other. */
export const differences = (told: ReadonlyArray<string>, listed: ReadonlyArray<string>): ReadonlyArray<string> => {
  const left = new Map<string, number>()
  for (const text of told) left.set(text, (left.get(text) ?? 0) + 1)
  for (const text of listed) left.set(text, (left.get(text) ?? 0) - 1)
  return [...left].filter(([, times]) => times !== 0).map(([text, times]) =>
    times > 0 ? `the stream has ${text}, and the venue does not, or not so often` : `the venue has ${text}, and the stream does not`
  )
}

export class Follower {
  private readonly book: FollowedBook | undefined
  private readonly open = new Map<string, string>()
  /** Fills received since the last comparison. */
  private fills: Array<string> = []
  /** Changes received, and the connections that this took. */
  events = 0
  connections = 0

  /** `fault` is called for errors on the way. */
  constructor(private readonly client: Client, followsBook: boolean, private readonly fault: (text: string) => void) {
    this.book = followsBook ? new FollowedBook(client, marketId) : undefined
    this.follow("account.orders", ({ data, type }) => {
      if (type === "snapshot") this.open.clear()
      for (const order of data) {
        if (order.status === "open") this.open.set(order.orderId, textOf(order))
        else this.open.delete(order.orderId)
      }
    })
    this.follow("account.fills", ({ data }) => void this.fills.push(...data.map(fillText)))
  }

  /** Handles the client's notices about its stream. */
  notice(notice: Notice): void {
    if (notice.kind === "connected") this.connections++
    for (const text of faultIn(notice)) this.fault(text)
  }

  /** The differences from the venue's present answers, while nothing changes; `fills` are those since the last call. */
  async check(fills: ReadonlyArray<Fill>): Promise<ReadonlyArray<string>> {
    const listed = fills.map(fillText)
    const found = await atLast(async () => [
      ...await this.book?.differences() ?? [],
      ...differences([...this.open.values()], await this.listed()),
      ...differences(this.fills, listed)
    ])
    this.fills = []
    return found
  }

  /** Follows a channel of the account, of which only the first snapshot is expected. */
  private follow<C extends AccountChannel>(channel: C, take: (event: SnapshotEvent<C> | UpdateEvent<C>) => void): void {
    let last = 0
    this.client.follow<C>({ channel }, {
      snapshot: (event) => {
        if (event.reason !== "first") this.fault(`${channel} began anew for ${event.reason}`)
        last = event.sequence
        take(event)
      },
      update: (event) => {
        this.events++
        if (event.sequence <= last) this.fault(`${channel} told ${event.sequence} behind ${last}`)
        last = event.sequence
        take(event)
      },
      ended: (refusal) => {
        if (refusal !== undefined) this.fault(`${channel} was refused: ${refusal.message}`)
      }
    })
  }

  /** The open orders as the venue lists them. */
  private async listed(): Promise<ReadonlyArray<string>> {
    const texts: Array<string> = []
    let cursor: string | undefined
    do {
      const page: Contract.OrderList = await this.client.orders({ status: "open", limit: 100, ...(cursor === undefined ? {} : { cursor }) })
      for (const order of page.orders) texts.push(textOf(order))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    return texts
  }
}
