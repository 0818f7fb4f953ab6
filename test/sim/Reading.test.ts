/** The simulator's own parsing of requests: numbers, bodies and what counts as a request, by worked cases of the contract. */
import { Effect } from "effect"
import { describe, expect, test } from "vitest"
import * as Contract from "../../src/edge/Contract.js"
import { prometheus, type Metric } from "../../src/edge/http/Exposition.js"
import * as Exposition from "../../sim/reading/Exposition.js"
import { expose } from "../../sim/world/SimExposition.js"
import * as Bodies from "../../sim/reading/Bodies.js"
import * as Commands from "../../sim/reading/Commands.js"
import * as Lookups from "../../sim/reading/Lookups.js"
import * as Numbers from "../../sim/reading/Numbers.js"
import * as Queries from "../../sim/reading/Queries.js"
import * as Requests from "../../sim/reading/Requests.js"
import { lookupNames, Operation } from "../../src/operations/Operations.js"

describe("numbers", () => {
  test.each([
    ["0.5", 1, 5],
    ["0.05", 2, 5],
    ["60000", 1, 600_000],
    ["0.000001", 6, 1],
    ["1.50", 1, "too fine"],
    ["7.0", 0, 7],
    ["7.00", 0, "too fine"],
    ["0.05", 1, "too fine"],
    ["9007199254740991", 0, Number.MAX_SAFE_INTEGER],
    ["9007199254740992", 0, "too large"]
  ])("%s at %i decimals is %s atoms", (text, scale, atoms) => {
    expect(Numbers.atomsOf(text, scale)).toBe(atoms)
  })

  test.each([[5, 3, "0.005"], [12_345, 3, "12.345"], [7, 0, "7.0"], [0, 2, "0.00"]])("%i atoms at %i decimals are %s",
    (atoms, scale, text) => {
      expect(Numbers.decimalOf(atoms, scale)).toBe(text)
    })

  test.each([[1e-7, "0.0000001"], [1.5e-8, "0.000000015"], [1e21, `1${"0".repeat(21)}`], [-0, "0"], [0.1, "0.1"]])("%d is %s",
    (value, text) => {
      expect(Numbers.plainOf(value)).toBe(text)
    })

  test.each(["0", "0.5", "10", "1.00"])("%s is a decimal", (text) => {
    expect(Numbers.isDecimal(text)).toBe(true)
  })

  test.each(["", "01", ".5", "5.", "-1", "+1", "1e5", "1 ", "1".repeat(41)])("%j is none", (text) => {
    expect(Numbers.isDecimal(text)).toBe(false)
  })
})

test("a member given twice is seen in any object, and nowhere else", () => {
  expect(Bodies.parse("{\"a\":1, \"a\":2}")).toBe(undefined)
  expect(Bodies.parse("[{\"a\":{\"b\":1 , \"\\u0062\" : 1}}]")).toBe(undefined)
  expect(Bodies.parse("{ \"a\":[{\"a\":1},{\"a\":\"a\\\":\"}],\"b\":\"a\"}")).toBeDefined()
})

describe("metrics", () => {
  const thing: Metric = { name: "venue_thing", help: "A thing.", type: "gauge", labels: [], read: () => [{ labels: {}, value: 0.5 }] }
  const things: Metric = {
    name: "venue_things_total",
    help: "Things, by market.",
    type: "counter",
    labels: ["market", "side"],
    read: () => [{ labels: { market: "A", side: "a \"b\", c" }, value: 3 }, { labels: { market: "B", side: "" }, value: 0 }]
  }
  const nothing: Metric = { ...thing, name: "venue_nothing", read: () => [] }

  test("are read alike, whoever writes them", async () => {
    const [theirs, ours] = [await Effect.runPromise(prometheus([thing, things, nothing])), Effect.runSync(expose([thing, things, nothing]))]
    const read = Exposition.read(ours)
    expect(Exposition.read(theirs)).toEqual(read)
    if (typeof read === "string") throw new Error(read)
    expect([...read.keys()]).toEqual(["venue_thing", "venue_things_total", "venue_nothing"])
    expect(read.get("venue_thing")?.samples.get("venue_thing")).toEqual([{ labels: new Map(), value: 0.5 }])
    expect(read.get("venue_things_total")?.samples.get("venue_things_total")?.map(({ value }) => value)).toEqual([3, 0])
    expect(read.get("venue_nothing")?.samples.size).toBe(0)
  })

  test.each([
    ["a value twice", "# HELP a A.\n# TYPE a gauge\na 1\na 1\n", "a 1 is told twice"],
    ["a family twice", "# HELP a A.\n# TYPE a gauge\n# HELP a A.\n", "a is told of twice"],
    ["a value of no family", "# HELP a A.\n# TYPE a gauge\nb 1\n", "the line \"b 1\""],
    ["a value that is no number", "# HELP a A.\n# TYPE a gauge\na x\n", "the line \"a x\""],
    ["labels that are none", "# HELP a A.\n# TYPE a gauge\na{b=c} 1\n", "the line \"a{b=c} 1\""]
  ])("with %s are none", (_, text, why) => {
    expect(Exposition.read(text)).toBe(why)
  })
})

/** Reads that properties of their own look at: the owner's, those of money on the ledger, and a page of the reference. */
const elsewhere: ReadonlyArray<Contract.Name> = [
  "getCurrentSession",
  "listPasskeys",
  "showAgentConnect",
  "listApiKeys",
  "listSecurityEvents",
  "listDeposits",
  "getDeposit",
  "listWithdrawals",
  "getWithdrawal",
  "getLedgerParty",
  "getDocsPage"
]

test("every other read of the contract is in sim/reading/Queries.ts", () => {
  const missing = Contract.endpoints.filter(({ method }) => method === "GET").map(({ name }) => name as Contract.Name).filter((name) => {
    const reading = Queries.read(Contract.examples[name].target)
    return reading._tag !== "query" || reading.query.endpoint !== name
  })
  expect(missing.toSorted()).toEqual(elsewhere.toSorted())
})

test("every request that lookups tell of has a name", () => {
  const named = Object.values(Operation).flatMap((code) => Lookups.nameOf(code) ?? [])
  expect(named.toSorted()).toEqual(lookupNames.toSorted())
})

test("an order's id is what the venue can have given", () => {
  expect(["ord_0", "ord_1s", "ord_zzzzz"].map(Commands.numberOf)).toEqual([0, 64, 36 ** 5 - 1])
  expect(["ord_", "ord_01", "ord_1S", "nonsense", "ord_zzzzzzzzzzz", "ord_zzzzzzzzzzzz"].map(Commands.numberOf)).toEqual(Array(6).fill(-1))
})

const order = { accountId: "acc_1", marketId: "M", clientOrderId: "c", side: "buy", orderType: "limit", price: "1.50", quantity: "2" }
const read = (more: object, target = "/v1/orders", key: string | undefined = "k") =>
  Requests.read({
    method: "POST",
    target,
    body: JSON.stringify(target.startsWith("/v2") ? more : { ...order, ...more }),
    accountId: "acc_1",
    idempotencyKey: key
  })

test.each([
  ["asked", read({})],
  ["malformed", read({ side: "hold" })],
  ["malformed", read({ price: undefined })],
  ["malformed", read({ timeInForce: "IOC", postOnly: true })],
  ["malformed", read({ orderType: "market", timeInForce: "GTC" })],
  ["malformed", read({ colour: "blue" })],
  ["malformed", read({}, "/v1/orders?a=b")],
  ["malformed", read({}, "/v1/orders", "no spaces")],
  ["malformed", read({ autoClose: {} })],
  ["malformed", read({ reduceOnly: true, autoClose: { stopLoss: { triggerPrice: "1" } } })],
  ["asked",
    read({ autoClose: { stopLoss: { triggerPrice: "1" }, takeProfit: { triggerPrice: "2", triggerBy: "last", limitPrice: "3" } } })],
  ["foreign", read({ accountId: "acc_2" })],
  ["nowhere", read({}, "/v1/nowhere")],
  ["nowhere", read({}, "/v1/%zz")],
  ["asked", read({ symbol: "S", type: "market", side: "sell", amount: 1e-7 }, "/v2/order")],
  ["malformed", read({ symbol: "S", type: "limit", side: "sell", amount: 1 }, "/v2/order")],
  ["unsupported", read({ symbol: "S", params: { timeInForce: "GTC" } }, "/v2/order")]
])("is %s", (tag, reading) => {
  expect(reading._tag).toBe(tag)
})

test("what is meant anyway may be said, and numbers written in any way", () => {
  const canonical = (more: object): string => {
    const reading = read(more)
    return reading._tag === "asked" ? reading.asked.canonical : reading._tag
  }
  const same = {
    price: "1.5",
    quantity: "2.000",
    timeInForce: "GTC",
    postOnly: false,
    reduceOnly: false,
    selfTradePrevention: "cancel_resting"
  }
  expect(canonical(same)).toBe(canonical({}))
  expect(canonical({ price: "1.51" })).not.toBe(canonical({}))
  expect(canonical({ reduceOnly: true })).not.toBe(canonical({}))
})

test.each([
  ["/v1/markets/A/trades?limit=100&cursor=x", "query"],
  ["/v1/markets/A/trades?limit=101", "malformed"],
  ["/v1/markets/A/trades?limit=0", "malformed"],
  ["/v1/markets/A/trades?limit=1&limit=1", "malformed"],
  ["/v1/markets/A/trades?since=0", "malformed"],
  ["/v2/markets/A%2FB%3AC/book?limit=500", "query"],
  ["/v2/markets/A%2FB%3AC/book?limit=501", "malformed"],
  ["/v2/orders?status=open&symbol=A+B&since=0", "query"],
  ["/v2/orders?status=OPEN", "malformed"],
  ["/v1/accounts/acc_1/outcomes?idempotencyKey=a%20b", "malformed"],
  ["/v1/markets//trades", "nowhere"],
  ["/v1/markets/A/nothing", "nowhere"]
])("%s is a read of the kind %s", (target, tag) => {
  expect(Queries.read(target)._tag).toBe(tag)
})

test("a cursor is one only as it is written by the venue", () => {
  const cursor = Queries.cursorOf("fills", 7)
  expect(Queries.numberOf("fills", cursor)).toBe(7)
  expect(Queries.numberOf("trades", cursor)).toBeUndefined()
  expect(Queries.numberOf("fills", `${cursor}=`)).toBeUndefined()
  expect(Queries.numberOf("fills", Buffer.from("{\"before\":7,\"kind\":\"fills\"}").toString("base64url"))).toBeUndefined()
})
