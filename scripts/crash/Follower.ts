/**
 * One account and the market's book as the stream tells them, followed by the reference client through all lives of the venue. What it
 * holds is held against what the venue then answers: nothing that was told is gone, nothing is told twice, and nothing is missing.
 */
import { Client } from "../../src/client/venue/Client.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import { atLast, faultIn, FollowedBook } from "../load/FollowedBook.js"
import { marketId } from "../load/Orders.js"
import type { DemoAccount } from "../load/VenueProcess.js"

/** An order as far as it is compared. */
const textOf = ({ lastSequence, orderId, remainingQuantityAtoms, status }: Contract.Order): string =>
  `${orderId} ${status} ${remainingQuantityAtoms} as of ${lastSequence}`

export class Follower {
  private readonly client: Client
  private book: FollowedBook | undefined
  private readonly open = new Map<string, string>()
  private readonly found: Array<string> = []
  private port = 0
  private sequence = 0
  /** Events of the account that it was told of, and connections that this took. */
  events = 0
  connections = 0

  constructor(account: DemoAccount) {
    // Each life of the venue is at another port.
    const at = (url: string): string => url.replace("venue:1", `127.0.0.1:${this.port}`)
    const platform = {
      ...nodePlatform,
      send: (request: Parameters<typeof nodePlatform.send>[0], signal: AbortSignal) =>
        nodePlatform.send({ ...request, url: at(request.url) }, signal),
      connect: (url: string, events: Parameters<typeof nodePlatform.connect>[1]) => nodePlatform.connect(at(url), events)
    }
    this.client = new Client(platform, {
      url: "http://venue:1",
      apiKey: account.apiKey,
      accountId: account.accountId,
      onNotice: (notice) => {
        if (notice.kind === "connected") this.connections++
        this.found.push(...faultIn(notice))
      }
    })
  }

  /** The venue is at this port from now on. */
  begin(port: number): void {
    const isFirst = this.port === 0
    this.port = port
    if (!isFirst) return
    this.book = new FollowedBook(this.client, marketId)
    this.client.follow({ channel: "account.orders" }, {
      snapshot: ({ data, reason, sequence }) => {
        if (reason !== "first") this.found.push(`the stream of orders began anew for ${reason}`)
        this.sequence = sequence
        this.open.clear()
        for (const order of data) this.open.set(order.orderId, textOf(order))
      },
      update: ({ data, sequence }) => {
        this.events++
        if (sequence <= this.sequence) this.found.push(`the stream of orders told ${sequence} behind ${this.sequence}`)
        this.sequence = sequence
        for (const order of data) {
          if (order.status === "open") this.open.set(order.orderId, textOf(order))
          else this.open.delete(order.orderId)
        }
      },
      ended: (refusal) => {
        if (refusal !== undefined) this.found.push(`the stream of orders was refused: ${refusal.message}`)
      }
    })
  }

  /** What differs from what the venue answers now that nothing changes, and what was found since this was last asked. */
  async check(): Promise<ReadonlyArray<string>> {
    const differences = await atLast(async () => [...await this.book?.differences() ?? [], ...await this.ofOrders()])
    return [...this.found.splice(0), ...differences]
  }

  async close(): Promise<void> {
    await this.client.close()
  }

  private async ofOrders(): Promise<ReadonlyArray<string>> {
    const listed = new Map<string, string>()
    let cursor: string | undefined
    do {
      const page: Contract.OrderList = await this.client.orders({ status: "open", limit: 100, ...(cursor === undefined ? {} : { cursor }) })
      for (const order of page.orders) listed.set(order.orderId, textOf(order))
      cursor = page.nextCursor ?? undefined
    } while (cursor !== undefined)
    return [
      ...[...listed].filter(([orderId, text]) => this.open.get(orderId) !== text).map(([orderId, text]) =>
        `the stream has ${this.open.get(orderId) ?? "nothing"} where the venue has ${text}`
      ),
      ...[...this.open].filter(([orderId]) => !listed.has(orderId)).map(([, text]) => `the stream has ${text}, and the venue does not`)
    ]
  }
}
