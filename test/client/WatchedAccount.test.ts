/** What can be watched of an account: several loops that ask at the same time, and what ended while the stream was down. */
import ccxt from "ccxt"
import { expect, test } from "vitest"
import { Perpetuum } from "../../src/client/ccxt/Perpetuum.js"
import { market } from "./ScriptedVenue.js"

const bases = ["A", "B", "C", "D"]
const idOf = (base: string): string => `${base}-USDC-PERP`
const symbolOf = (base: string): string => `${base}/USDC:USDC`

const position = (base: string, quantity: string) => ({
  marketId: idOf(base),
  side: "long",
  quantity,
  avgEntryPrice: "10.0",
  markPrice: "10.0"
})
const order = (orderId: string, status: string) => ({
  orderId,
  marketId: idOf("A"),
  status,
  side: "buy",
  type: "limit",
  price: "10.0",
  quantity: "1.000",
  filled: "0.000"
})

interface Listener {
  readonly snapshot: (event: object) => void
  readonly update: (event: object) => void
}

/** An exchange whose single account stream is scripted by the test. */
const setUp = () => {
  const exchange = new Perpetuum({ apiKey: "pk_test_key" })
  exchange.setMarkets(bases.map((base) => exchange.parseMarket({ ...market, id: idOf(base), symbol: symbolOf(base), base })!))
  let listener: Listener | undefined
  let sequence = 0
  // Like the client, which allows one follower of a stream at a time.
  const follow = (_name: object, given: Listener): { readonly close: () => void } => {
    if (listener !== undefined) throw new Error("it is followed already")
    listener = given
    return {
      close: () => {
        listener = undefined
      }
    }
  }
  Object.assign(exchange, { stream: () => ({ follow }) })
  return {
    exchange,
    snapshot: (data: ReadonlyArray<object>): void =>
      listener!.snapshot({ type: "snapshot", reason: "retention", sequence: ++sequence, data }),
    update: (data: ReadonlyArray<object>): void => listener!.update({ type: "update", sequence: ++sequence, data }),
    watched: async (of?: ReadonlyArray<string>): Promise<ReadonlyArray<readonly [string, number]>> =>
      (await exchange.watchPositions(of?.map(symbolOf))).map(({ contracts, symbol }) => [symbol!, contracts!])
  }
}

/** Lets everything that waits go on. */
const turn = async (): Promise<void> => {
  for (let left = 50; left > 0; left--) await Promise.resolve()
}

test("loops that watch other symbols of one account each hear of all that changes of theirs", async () => {
  const { snapshot, update, watched } = setUp()
  const first = [watched(["B", "A"]), watched(["C", "D"]), watched()]
  await turn()
  snapshot(bases.map((base) => position(base, "1.000")))
  expect((await Promise.all(first)).map((told) => told.length)).toEqual([2, 2, 4])
  // The first loop waits while the second and the third are at work.
  let told: ReadonlyArray<readonly [string, number]> | undefined
  const waits = watched(["A", "B"]).then((found) => {
    told = found
  })
  await turn()
  update([position("C", "2.000")])
  update([{ marketId: idOf("C"), closed: true, lastSequence: 2 }])
  await turn()
  expect(told).toBe(undefined)
  expect(await watched(["D", "C"])).toEqual([[symbolOf("C"), 0]])
  expect(await watched()).toEqual([[symbolOf("C"), 0]])
  update([position("B", "3.000")])
  await waits
  expect(told).toEqual([[symbolOf("B"), 3]])
  expect(await watched([])).toEqual([[symbolOf("B"), 3]])
})

test("a position that went flat while nothing could be told is told with the snapshot that follows, once", async () => {
  const { snapshot, watched } = setUp()
  const first = watched()
  await turn()
  snapshot([position("A", "1.000"), position("B", "1.000")])
  await first
  snapshot([position("B", "2.000"), position("C", "1.000")])
  expect(await watched()).toEqual([[symbolOf("A"), 0], [symbolOf("B"), 2], [symbolOf("C"), 1]])
  snapshot([position("B", "2.000"), position("C", "1.000")])
  expect(await watched()).toEqual([[symbolOf("B"), 2], [symbolOf("C"), 1]])
})

test("a time to begin with leaves out older orders, and no position, which has none", async () => {
  const { exchange, snapshot, update } = setUp()
  const positions = exchange.watchPositions(undefined, 1_000)
  await turn()
  snapshot([position("A", "1.000")])
  expect((await positions).map(({ contracts }) => contracts)).toEqual([1])
  update([{ marketId: idOf("A"), closed: true, lastSequence: 2 }])
  expect((await exchange.watchPositions(undefined, 1_000)).map(({ contracts }) => contracts)).toEqual([0])

  const other = setUp()
  const orders = other.exchange.watchOrders(undefined, 1_000)
  await turn()
  other.snapshot([{ ...order("ord_1", "open"), createdAtEpochMs: 999 }, { ...order("ord_2", "open"), createdAtEpochMs: 1_000 }])
  expect((await orders).map(({ id }) => id)).toEqual(["ord_2"])
})

test("orders that ended meanwhile are asked for and told as they ended; one that the venue has forgotten is not", async () => {
  const { exchange, snapshot, update } = setUp()
  const asked: Array<string> = []
  Object.assign(exchange, {
    fetchOrder: async (id: string) => {
      asked.push(id)
      if (id === "ord_2") throw new ccxt.OrderNotFound("it is not known")
      if (id === "ord_3" && asked.length === 3) throw new ccxt.NetworkError("not now")
      return exchange.parseOrder(order(id, "canceled"))
    },
    sleep: turn
  })
  const first = exchange.watchOrders()
  await turn()
  snapshot(["ord_1", "ord_2", "ord_3", "ord_4"].map((id) => order(id, "open")))
  expect(await first).toHaveLength(4)
  update([order("ord_4", "filled")])
  expect(await exchange.watchOrders()).toHaveLength(1)
  snapshot([order("ord_5", "open")])
  const told: Array<readonly [string, string]> = []
  while (told.length < 3) for (const { id, status } of await exchange.watchOrders()) told.push([id!, status!])
  expect(told).toEqual([["ord_5", "open"], ["ord_1", "canceled"], ["ord_3", "canceled"]])
  expect(asked).toEqual(["ord_1", "ord_2", "ord_3", "ord_3"])
  // Nor is it among what is held, where it would seem open for good.
  exchange.newUpdates = false
  update([order("ord_6", "open")])
  expect((await exchange.watchOrders()).map(({ id }) => id)).toEqual(["ord_4", "ord_5", "ord_1", "ord_3", "ord_6"])
})

test("where it is refused to tell how an order ended, that is said once, and watching again begins anew", async () => {
  const { exchange, snapshot } = setUp()
  Object.assign(exchange, {
    fetchOrder: async () => {
      throw new ccxt.ExchangeError("a defect")
    }
  })
  const first = exchange.watchOrders()
  await turn()
  snapshot([order("ord_1", "open")])
  expect(await first).toHaveLength(1)
  const waits = exchange.watchOrders()
  await turn()
  snapshot([])
  await expect(waits).rejects.toThrow("a defect")
  const again = exchange.watchOrders()
  await turn()
  snapshot([order("ord_2", "open")])
  expect(await again).toMatchObject([{ id: "ord_2" }])
})

test("a stream that cannot be followed is said so each time that it is watched", async () => {
  const { exchange } = setUp()
  const follow = (): never => {
    throw new Error("it cannot be followed")
  }
  Object.assign(exchange, { stream: () => ({ follow }) })
  for (let time = 0; time < 2; time++) await expect(exchange.watchOrders()).rejects.toThrow("it cannot be followed")
})
