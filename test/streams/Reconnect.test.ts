/** A client that is disconnected again and again while others trade, ten thousand times with `DISCONNECTS=10000`: it has every event of its account once, and a right book. */
import { createHash } from "node:crypto"
import { expect, test } from "vitest"
import { LiveVenue, marketId, type Trader } from "../edge/LiveVenue.js"
import { Client } from "../edge/socket/Client.js"
import * as SimRandom from "../../sim/world/SimRandom.js"

const disconnects = Number(process.env["DISCONNECTS"] ?? 2_000)

/** What a client keeps of a book, and of its account's orders: the sequence of each change. */
class Kept {
  readonly levels = new Map<string, string>()
  readonly orders: Array<string> = []
  readonly last = new Map<string, number>()
  proofs = 0

  hear(frame: any): void {
    const { channel, checksum, data, previousSequence, sequence, type } = frame
    if (type === "snapshot" && channel === "market.book") {
      this.levels.clear()
      for (const [side, levels] of [["b", data.bids], ["a", data.asks]] as const) {
        for (const { priceAtoms, sizeAtoms } of levels) this.levels.set(`${side}|${priceAtoms}`, sizeAtoms)
      }
      this.prove(data.checksum)
    }
    if (type === "update") {
      expect(previousSequence).toBe(this.last.get(channel))
      if (channel === "market.book") {
        for (const { priceAtoms, side, sizeAtoms } of data) {
          if (sizeAtoms === "0") this.levels.delete(`${side[0]}|${priceAtoms}`)
          else this.levels.set(`${side[0]}|${priceAtoms}`, sizeAtoms)
        }
        if (checksum !== undefined) this.prove(checksum)
      } else for (const { orderId, status } of data) this.orders.push(`${sequence} ${orderId} ${status}`)
    }
    if (type === "snapshot" || type === "update") this.last.set(channel, sequence)
  }

  /** The checksum as the reference tells a client to make it. */
  private prove(checksum: string): void {
    this.proofs++
    const side = (name: string, sign: number): ReadonlyArray<string> =>
      [...this.levels].filter(([level]) => level.startsWith(name)).map(([level, size]) => [Number(level.slice(2)), size] as const)
        .sort(([left], [right]) => sign * (left - right)).slice(0, 25).map(([price, size]) => `${name}|${price}|${size}`)
    expect(checksum).toBe(`sha256:${createHash("sha256").update([...side("b", -1), ...side("a", 1)].join("\n")).digest("hex")}`)
  }
}

test("misses nothing and is told nothing twice, and each checksum is that of its book", async () => {
  const random = SimRandom.make("7", "reconnects")
  const venue = LiveVenue.make({ orders: 100_000, idempotencyKeys: 100_000 })
  const [alice, bob] = await venue.traders(2) as [Trader, Trader]
  const kept = new Kept()
  const whole = new Client(venue)
  const ticket = await whole.ticket(alice)
  const connect = (client: Client, resumes: boolean): void => {
    client.fresh()
    client.say({ op: "auth", ticket })
    for (const stream of [{ channel: "account.orders" }, { channel: "market.book", marketId }]) {
      client.say({ op: "subscribe", ...stream, ...(resumes ? { fromSequence: kept.last.get(stream.channel)! } : {}) })
    }
  }
  let client = new Client(venue)
  connect(client, false)
  connect(whole, false)
  let heard = 0
  const listen = (most: number): void => {
    // Of what is on its way some is lost with the connection.
    for (let left = most; left > 0 && heard < client.frames.length; heard++) {
      const frame = client.frames[heard]
      kept.hear(frame)
      if (frame.type === "update" || frame.type === "snapshot") left--
    }
  }
  const open: Array<readonly [Trader, string]> = []
  const trade = (): void => {
    const trader = random.chance(0.5) ? alice : bob
    const place = (): void => {
      const side = random.chance(0.5) ? "buy" : "sell"
      const price = (95 + random.below(100) / 10).toFixed(1)
      void venue.place(trader, { side, price, quantity: "0.100", timeInForce: random.chance(0.1) ? "IOC" : "GTC" }).then(
        ({ orderId, status }) => {
          if (status === "open") open.push([trader, orderId])
        }
      )
    }
    const [owner, orderId] = open.length > 40 ? open.splice(random.below(open.length), 1)[0]! : []
    if (owner === undefined) place()
    else void venue.post(owner, `/v1/orders/${orderId}/cancel`, { accountId: owner.accountId, marketId })
  }
  for (let count = 0; count < disconnects; count++) {
    for (let trades = random.below(3); trades > 0; trades--) trade()
    await Promise.resolve()
    listen(random.below(4))
    client.leave()
    for (let trades = random.below(2); trades > 0; trades--) trade()
    client = new Client(venue)
    heard = 0
    connect(client, kept.last.size === 2)
  }
  listen(client.frames.length)
  const told = new Kept()
  for (const frame of whole.frames) told.hear(frame)
  expect(kept.orders).toEqual(told.orders)
  expect(kept.orders.length).toBeGreaterThan(disconnects / 4)
  expect(new Set(kept.orders).size).toBe(kept.orders.length)
  expect([...kept.levels].sort()).toEqual([...told.levels].sort())
  expect(kept.proofs).toBeGreaterThan(disconnects / 400)
})
