/** What the simulator's clients change under a key: every operation of theirs, and always to another request. */
import { expect, test } from "vitest"
import * as Twist from "../../sim/workload/Twist.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as Contract from "../../src/edge/Contract.js"
import * as Fake from "../edge/FakeVenue.js"
import { LiveVenue, marketId, order, symbol, type Trader } from "../edge/LiveVenue.js"

test("every operation of a client has another body, and what an operator repeats", () => {
  expect([...Twist.operations].sort()).toEqual([...Contract.commandNames, ...byOperator].sort())
})

const byOperator = ["putMarket", "setMarketStatus", "setIndexPrice"] as const

test.each(byOperator)("%s: the other body is refused and the first keeps its answer", async (name) => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1)
  const { body, target } = example(name, alice!)
  const ask = (sent: unknown) => venue.ask({ method: "PUT", target, body: sent, key: Fake.operatorToken, idempotencyKey: "k" })
  const first = await ask(body)
  expect(first.status).toBe(200)
  const refused = await ask(Twist.anotherBody(name, body, SimRandom.make("1")))
  expect([refused.status, Fake.json(refused).code]).toEqual([409, "idempotency_key_conflict"])
  expect((await ask(body)).body).toBe(first.body)
})

/** The reference's example of an endpoint, for a trader and a market that exist. */
const example = (name: Contract.Name, trader: Trader, orderId = "ord_1s"): { readonly target: string; readonly body: Twist.Body } => {
  const { body, target } = Contract.examples[name]
  const real = (text: string): string =>
    text.replaceAll("acc_1s", trader.accountId).replaceAll(/ord_[0-9a-z]+/g, orderId).replaceAll("BTC-USDC-PERP", marketId).replaceAll(
      "BTC/USDC:USDC",
      symbol
    )
      .replaceAll("60000", "100")
  return { target: real(target), body: JSON.parse(real(JSON.stringify(body))) as Twist.Body }
}

test.each(Contract.commandNames)("%s: the other body is refused and the first keeps its answer", async (name) => {
  const method = Contract.endpoints.find((endpoint) => endpoint.name === name)!.method
  for (let seed = 0; seed < 20; seed++) {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    // There is an order to cancel: what a cancel does not find is not remembered.
    const resting = await venue.ask({
      method: "POST",
      target: "/v1/orders",
      body: order(alice!),
      key: alice!.key,
      idempotencyKey: "resting"
    })
    const { body, target } = example(name, alice!, (Fake.json(resting) as { readonly orderId: string }).orderId)
    const entries = Array.isArray(body) ? body as ReadonlyArray<{ readonly [name: string]: unknown }> : undefined
    const bodies = entries !== undefined && seed % 2 === 0 ? [...entries, ...entries] : body
    const send = (sent: unknown) => venue.ask({ method, target, body: sent, key: alice!.key, idempotencyKey: "k" })
    const first = await send(bodies)
    expect([200, 404, 422]).toContain(first.status)
    const { records } = venue
    const changed = Twist.anotherBody(name, bodies, SimRandom.make(String(seed)))
    const refused = await send(changed)
    expect([refused.status, Fake.json(refused).code]).toEqual([409, "idempotency_key_conflict"])
    const again = await send(bodies)
    expect([again.status, venue.records]).toEqual([first.status, records])
  }
})
