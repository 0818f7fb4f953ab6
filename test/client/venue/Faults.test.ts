/**
 * The client's outcomes compared with the venue's, over a network that loses requests, answers and connections, and delivers requests long
 * after they were given up: every outcome the client states is true once everything under way has arrived.
 */
import { expect, test } from "vitest"
import { Client } from "../../../src/client/venue/Client.js"
import type { HttpAnswer, HttpRequest } from "../../../src/client/venue/Platform.js"
import * as SimRandom from "../../../sim/world/SimRandom.js"
import { LiveVenue, marketId, type Trader } from "../../edge/LiveVenue.js"
import { LivePlatform, origin } from "./LivePlatform.js"

const commands = 400

/** A network with faults: of requests by chance, of connections when the test cuts them. */
class Faulty extends LivePlatform {
  /** Requests that were given up, but are still under way. */
  private late: Array<() => Promise<unknown>> = []
  faults = 0
  calm = false

  constructor(venue: LiveVenue, private readonly chance: SimRandom.SimRandom) {
    super(venue)
    const { send } = this
    Object.assign(this, {
      send: async (request: HttpRequest): Promise<HttpAnswer> => {
        // Late requests arrive among others, in any order.
        if (this.late.length > 0 && this.chance.chance(0.3)) await this.late.splice(this.chance.below(this.late.length), 1)[0]!()
        const kind = this.calm || !this.chance.chance(0.5) ? 3 : this.chance.below(3)
        if (kind === 3) return await send(request)
        this.faults++
        if (kind === 0) this.late.push(() => send(request))
        if (kind === 1) await send(request)
        throw new Error("lost")
      }
    })
  }

  /** Delivers everything. */
  async allArrives(): Promise<void> {
    this.calm = true
    for (const arrive of this.late.splice(0)) await arrive()
  }
}

test.each([["by REST", "rest"], ["over the socket", "socket"]] as const)("what is said of a command %s is so", async (_, orders) => {
  const chance = SimRandom.make("11", `faults ${orders}`)
  const venue = LiveVenue.make({ orders: 10_000, idempotencyKeys: 10_000 })
  const [alice] = await venue.traders(1) as [Trader]
  const platform = new Faulty(venue, chance)
  const client = new Client(platform, { url: origin, apiKey: alice.key, accountId: alice.accountId, orders, maxAttempts: 2 })
  const events = client.events("account.orders")
  const said = new Map<string, string>()
  /** The result of work, while frames under way on the socket arrive, or are lost with it. */
  const drive = async <A>(work: Promise<A>): Promise<A> => {
    const isDone = work.then(() => true)
    while (!await Promise.race([isDone, platform.arrive(20).then(() => platform.pass(100)).then(() => false)]));
    return await work
  }
  for (let count = 0; count < commands; count++) {
    const idempotencyKey = `key-${count}`
    const terms = { marketId, side: "buy", orderType: "limit", price: "99.0", quantity: chance.chance(0.1) ? "0.0001" : "0.001" } as const
    const work = client.place({ ...terms, clientOrderId: `c-${count}` }, { idempotencyKey })
    await platform.settle()
    if (chance.chance(0.2)) platform.cut()
    said.set(`c-${count}`, (await drive(work)).kind)
    if (count % 40 === 39) await drive(client.cancelAll(marketId))
  }
  await platform.allArrives()
  const found = new Set<string>()
  for (let cursor: string | undefined, more = true; more;) {
    const page = await client.orders({ limit: 100, ...(cursor === undefined ? undefined : { cursor }) })
    for (const { clientOrderId } of page.orders) {
      expect(found).not.toContain(clientOrderId)
      found.add(clientOrderId!)
    }
    cursor = page.nextCursor ?? undefined
    more = cursor !== undefined
  }
  const kinds = new Map<string, number>()
  for (const [clientOrderId, kind] of said) {
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if (kind !== "unknown") expect([clientOrderId, kind, found.has(clientOrderId)]).toEqual([clientOrderId, kind, kind === "accepted"])
  }
  expect([...kinds.keys()].sort()).toEqual(["accepted", "never_arrived", "refused", "unknown"])
  expect(platform.faults).toBeGreaterThan(commands / 4)
  // Once the venue can be asked, an unknown outcome is found out under the same key.
  for (const [clientOrderId, kind] of said) {
    if (kind !== "unknown") continue
    const { outcome } = await client.lookUp(`key-${clientOrderId.slice(2)}`)
    expect(outcome === "accepted").toBe(found.has(clientOrderId))
  }
  events.close()
})
