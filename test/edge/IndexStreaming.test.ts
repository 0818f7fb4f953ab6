/** The index stream over HTTP and the real engine: the answers to a feed process, and how it resumes after a loss. */
import { expect, test } from "vitest"
import { parameters } from "../engine/drive.js"
import * as Fake from "./FakeVenue.js"
import { LiveVenue, marketId } from "./LiveVenue.js"

const pricesTarget = "/v1/operator/index-stream/prices"

const make = async () => {
  const venue = LiveVenue.make()
  venue.market({ ...parameters("BBB"), indexStepMaxBps: 500 })
  const key = Fake.operatorToken
  const open = async (): Promise<string> => Fake.json(await venue.ask({ target: "/v1/operator/index-stream", method: "POST", key })).session
  const position = () => venue.ask({ target: "/v1/operator/index-stream", key })
  const told = (price: string, more: object = {}) => ({ marketId: "BBB-USDC-PERP", price, sourceEpochMs: venue.atEpochMs, ...more })
  const send = (session: string, sequence: number, ...prices: ReadonlyArray<object>) =>
    venue.ask({ target: pricesTarget, method: "POST", body: { session, sequence, prices }, key })
  return { venue, open, position, told, send }
}

test("each price of a batch is judged by itself, as the engine judges every sample", async () => {
  const { open, send, told, venue } = await make()
  const session = await open()
  venue.atEpochMs += 1_000
  const batch = [
    told("100.04"),
    told("120.0"),
    told("100.0", { sourceEpochMs: venue.atEpochMs - 500 }),
    told("0.01"),
    told("1", { marketId: "NONE-USDC-PERP" })
  ]
  const response = await send(session, 1, ...batch)
  expect(response.status).toBe(200)
  const at = venue.engine.sequence
  expect(Fake.json(response)).toEqual({
    version: "index-prices/v1",
    session,
    sequence: 1,
    lastSequence: 1,
    repeated: false,
    prices: [
      { marketId: "BBB-USDC-PERP", outcome: "taken", sequence: at - 2 },
      { marketId: "BBB-USDC-PERP", outcome: "held", code: "invalid_request", sequence: at - 1 },
      { marketId: "BBB-USDC-PERP", outcome: "out_of_order", code: "invalid_request", sequence: at },
      { marketId: "BBB-USDC-PERP", outcome: "refused", code: "invalid_request" },
      { marketId: "NONE-USDC-PERP", outcome: "refused", code: "market_not_found" }
    ]
  })
  expect(venue.engine.market(venue.engine.findMarket("BBB-USDC-PERP")).indexPriceAtoms).toBe(1_000)
})

test("a batch that was taken is told again and journaled once; a gap names what is expected", async () => {
  const { open, position, send, told, venue } = await make()
  const session = await open()
  const first = Fake.json(await send(session, 1, told("101.0")))
  const { records } = venue
  expect(Fake.json(await send(session, 1, told("101.0")))).toEqual({ ...first, repeated: true })
  expect(venue.records).toBe(records)
  const gap = await send(session, 3, told("102.0"))
  expect([gap.status, Fake.json(gap)]).toMatchObject([409, { code: "index_stream_conflict", actual: "3", nearest: "2" }])
  expect(venue.records).toBe(records)
  expect(Fake.json(await position())).toEqual({ version: "index-stream/v1", session, lastSequence: 1 })
})

test("a new session ends the one before, and an old price in it moves nothing back", async () => {
  const { open, send, told, venue } = await make()
  const first = await open()
  const old = told("99.0")
  venue.atEpochMs += 1_000
  await send(first, 1, told("101.0"))
  const second = await open()
  const ended = await send(first, 2, told("102.0"))
  expect([ended.status, Fake.json(ended).code]).toEqual([409, "index_stream_conflict"])
  expect(Fake.json(await send(second, 1, old)).prices[0].outcome).toBe("out_of_order")
  expect(venue.engine.market(venue.engine.findMarket("BBB-USDC-PERP")).indexPriceAtoms).toBe(1_010)
})

test("before a session is opened there is none", async () => {
  const { position } = await make()
  const response = await position()
  expect([response.status, Fake.json(response).code]).toEqual([409, "index_stream_conflict"])
})

test("a stream that sends too much is told to wait a second", async () => {
  const { open, send, told } = await make()
  const session = await open()
  const prices = Array.from({ length: 250 }, () => told("100.0"))
  const statuses: Array<number> = []
  for (let sequence = 1; sequence <= 8; sequence++) statuses.push((await send(session, sequence, ...prices)).status)
  const response = await send(session, 9, ...prices)
  expect([statuses, response.status, response.headers["retry-after"]]).toEqual([Array.from({ length: 8 }, () => 200), 429, "1"])
})

test.each([
  ["a price that is no number", { price: "NaN" }],
  ["a negative price", { price: "-1" }],
  ["a price as a number", { price: 100 }],
  ["no time of the source", { sourceEpochMs: undefined }],
  ["a time that is none", { sourceEpochMs: 0 }],
  ["a member that is unknown", { weight: 1 }]
])("%s is refused, and takes no number", async (_, more) => {
  const { open, position, send, told, venue } = await make()
  const session = await open()
  const { records } = venue
  expect((await send(session, 1, told("100.0"), told("100.0", more))).status).toBe(400)
  expect([venue.records, Fake.json(await position()).lastSequence]).toEqual([records, 0])
})

test("it needs the operator's token, and a venue whose feed is push", async () => {
  const { open, told, venue } = await make()
  const session = await open()
  const body = { session, sequence: 1, prices: [told("100.0", { marketId })] }
  expect((await venue.ask({ target: pricesTarget, body })).status).toBe(401)
  const elsewhere = Fake.make({ streams: false })
  for (
    const [method, target] of [["POST", "/v1/operator/index-stream"], ["GET", "/v1/operator/index-stream"], ["POST", pricesTarget]] as const
  ) {
    const response = await elsewhere.ask({ target, method, key: Fake.operatorToken, ...(target === pricesTarget ? { body } : {}) })
    expect([response.status, Fake.json(response).code]).toEqual([400, "operation_not_available"])
  }
  expect(elsewhere.commands).toEqual([])
})
