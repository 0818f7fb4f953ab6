/**
 * One account and the market's book as the stream tells them, followed by the reference client through all lives of the venue. What it
 * holds is held against what the venue then answers: nothing that was told is gone, nothing is told twice, and nothing is missing.
 */
import { Client } from "../../src/client/venue/Client.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import { nodePlatform } from "../../src/client/venue/NodePlatform.js"
import { marketId } from "../load/Orders.js"
import type { DemoAccount } from "../load/VenueProcess.js"

/** How long the stream may take to come to what the venue answers. */
const patienceMs = 20_000
const lookEveryMs = 50

/** An order as far as it is compared. */
const textOf = ({ lastSequence, orderId, remainingQuantityAtoms, status }: Contract.Order): string =>
  `${orderId} ${status} ${remainingQuantityAtoms} as of ${lastSequence}`

export class Follower {
  private readonly client: Client
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
      onNotice: ({ kind, ...more }) => {
        if (kind === "connected") this.connections++
        if (kind === "gap" || kind === "checksum_mismatch") this.found.push(`the stream has a ${kind}: ${JSON.stringify(more)}`)
      }
    })
  }

  /** The venue is at this port from now on. */
  begin(port: number): void {
    const isFirst = this.port === 0
    this.port = port
    if (!isFirst) return
    this.client.book(marketId)
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
    const until = nodePlatform.nowEpochMs() + patienceMs
    for (;;) {
      const differences = [...await this.ofBook(), ...await this.ofOrders()]
      if (differences.length === 0 || nodePlatform.nowEpochMs() > until) return [...this.found.splice(0), ...differences]
      await new Promise<void>((resolve) => nodePlatform.after(lookEveryMs, resolve))
    }
  }

  async close(): Promise<void> {
    await this.client.close()
  }

  private async ofBook(): Promise<ReadonlyArray<string>> {
    const feed = this.client.book(marketId)
    const { checksum, snapshotSequence } = await this.client.rest.get<Contract.Book>(`/v1/markets/${marketId}/book`)
    if (feed.isCurrent && feed.book.sequence === snapshotSequence && feed.book.checksum() === checksum) return []
    return [`the book of the stream is not that of the venue: ${feed.book.sequence} beside ${snapshotSequence}, current: ${feed.isCurrent}`]
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
