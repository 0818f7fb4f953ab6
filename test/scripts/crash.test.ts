/** The checks of the crash run can fail: each kind of loss or duplication that a crash could cause is presented to them once. */
import { describe, expect, test } from "vitest"
import type { Call, Operation } from "../../scripts/crash/Calls.js"
import * as Checks from "../../scripts/crash/Checks.js"
import * as Decision from "../../scripts/crash/Decision.js"
import { differences } from "../../scripts/crash/Follower.js"
import { Journaled } from "../../scripts/crash/Journaled.js"
import { type Known, misbelieved } from "../../scripts/crash/Send.js"
import type { Noted } from "../../scripts/crash/Wire.js"
import { Refusal } from "../../src/client/venue/Refusal.js"
import type * as Contract from "../../src/client/venue/Contract.js"
import { Principal } from "../../src/operations/Header.js"

const key = (operation: Operation, serial: number, orderId = ""): Call => ({
  serial,
  operation,
  account: { accountId: "acc_1", apiKey: "pk" },
  path: "/v1/orders",
  key: `acc_1-${serial}`,
  body: "{}",
  orderId
})

const ok = (value: unknown) => ({ status: 200, body: JSON.stringify(value) })

/** A native order or entry in an answer, of 0.003 in total. */
const native = (orderId: string, lastSequence: number, status: string, more: object = {}) => ({
  orderId,
  status,
  lastSequence,
  clientOrderId: `c-${orderId}`,
  price: "59000.0",
  quantity: "0.003",
  filledQuantity: "0.000",
  canceledQuantity: "0.000",
  ...more
})

/** Quantities of a record, in atoms of 0.001. */
const atoms = (quantity: number, filled: number, canceled: number) => {
  const size = (count: number) => (count / 1000).toFixed(3)
  return {
    quantity: size(quantity),
    quantityAtoms: `${quantity}`,
    filledQuantity: size(filled),
    filledQuantityAtoms: `${filled}`,
    remainingQuantityAtoms: `${quantity - filled - canceled}`,
    canceledQuantity: size(canceled),
    canceledQuantityAtoms: `${canceled}`
  }
}

/** The present record of an order placed under a serial's key; of 0.003, open and unfilled by default. */
const record = (
  orderId: string,
  serial: number,
  lastSequence: number,
  status: string,
  more: object = {}
): Checks.OrderRecord => ({
  orderId,
  status,
  lastSequence,
  idempotencyKey: `acc_1-${serial}`,
  clientOrderId: `c-${orderId}`,
  price: "59000.0",
  ...atoms(3, 0, 0),
  ...more
})

const fill = (tradeId: string, orderId: string, sizeAtoms: string, more: object = {}): Checks.Fill => ({
  tradeId,
  orderId,
  marketId: "BTC-USDC-PERP",
  side: "buy",
  liquidity: "taker",
  priceAtoms: "590000",
  sizeAtoms,
  feeAtoms: "7",
  ...more
})

const user = { cancelReason: "user" }

/**
 * The answers to one account: an order filled at once, a batch of two and a refusal, an amendment, a cancel of each family, a batch cancel
 * that is refused in part, a placement in minimal form, a cancel-all, and an order after it.
 */
const decisions: ReadonlyArray<Decision.Decision> = [
  Decision.read(key("place_order", 1), ok(native("ord_a", 11, "closed", { filledQuantity: "0.003" }))),
  Decision.read(key("place_order_batch", 2), ok({
    outcomes: [
      { accepted: true, ...native("ord_b", 12, "open") },
      { accepted: true, ...native("ord_c", 12, "open") },
      { accepted: false, ...native("ord_x", 12, "canceled"), code: "client_order_id_in_use" }
    ]
  })),
  Decision.read(
    key("amend_order", 3, "ord_b"),
    ok({ accepted: true, ...native("ord_b", 13, "open", { price: "58000.0", quantity: "0.004" }) })
  ),
  Decision.read(
    key("cancel_order", 4, "ord_c"),
    ok({
      accepted: true,
      orderId: "ord_c",
      status: "canceled",
      ...user,
      lastSequence: 14,
      filledQuantity: "0.001",
      canceledQuantity: "0.002"
    })
  ),
  Decision.read(key("create_order", 5), ok({
    id: "ord_d",
    clientOrderId: "c-ord_d",
    price: 59000,
    amount: 0.003,
    filled: 0,
    info: { status: "open", lastSequence: 15 }
  })),
  Decision.read(key("cancel_compat_order", 6, "ord_o"), ok({
    id: "ord_o",
    amount: 0.003,
    filled: 0.001,
    info: { status: "canceled", ...user, lastSequence: 16 }
  })),
  Decision.read(key("cancel_order_batch", 7), ok({
    outcomes: [{ accepted: false, orderId: "ord_c", status: "canceled", lastSequence: 17, code: "not_found" }]
  })),
  Decision.read(key("cancel_all_orders", 8), ok({ canceledOrders: 1, lastSequence: 18 })),
  Decision.read(key("place_order", 9), ok(native("ord_e", 19, "open")))
]

const orders: ReadonlyArray<Checks.OrderRecord> = [
  record("ord_e", 9, 21, "open", atoms(3, 1, 0)),
  record("ord_d", 5, 15, "closed", atoms(3, 3, 0)),
  record("ord_c", 2, 14, "canceled", { ...atoms(3, 1, 2), ...user }),
  record("ord_b", 2, 18, "canceled", { ...atoms(4, 0, 4), price: "58000.0", ...user }),
  record("ord_a", 1, 11, "closed", atoms(3, 3, 0)),
  record("ord_o", 0, 16, "canceled", { ...atoms(3, 1, 2), ...user })
]

const evidence: Checks.Evidence = {
  decisions,
  carried: [record("ord_o", 0, 5, "open")],
  orders,
  fills: [
    fill("t1", "ord_a", "3"),
    fill("t2", "ord_c", "1"),
    fill("t3", "ord_d", "2"),
    fill("t4", "ord_d", "1"),
    fill("t5", "ord_o", "1"),
    fill("t6", "ord_e", "1")
  ]
}

/** The evidence with one order's record changed. */
const altered = (orderId: string, more: object): Checks.Evidence => ({
  ...evidence,
  orders: orders.map((order) => order.orderId === orderId ? { ...order, ...more } : order)
})

const extra = (order: Checks.OrderRecord): Checks.Evidence => ({ ...evidence, orders: [order, ...orders] })

const without = (orderId: string): Checks.Evidence => ({
  ...evidence,
  orders: orders.filter((order) => order.orderId !== orderId),
  fills: evidence.fills.filter((one) => one.orderId !== orderId)
})

/** The evidence with the first entry of one key's decision changed, or its record. */
const redecided = (serial: number, change: (entry: Decision.Entry) => Decision.Entry, sequence?: number): Checks.Evidence => ({
  ...evidence,
  decisions: decisions.map((decision) => {
    if (decision.call.key !== `acc_1-${serial}`) return decision
    const [first, ...others] = decision.entries
    return { ...decision, entries: [change(first!), ...others], ...(sequence === undefined ? undefined : { sequence }) }
  })
})

describe("an account's orders against what it was told", () => {
  test("what stands as told is not remarked upon", () => {
    expect(Checks.account(evidence)).toEqual([])
  })

  /** The change, the evidence, and how the findings begin, in order. */
  test.each<readonly [what: string, shown: Checks.Evidence, begins: ReadonlyArray<string>]>([
    ["an acknowledged order is lost", without("ord_d"), ["ord_d of acc_1-5 was told and is gone"]],
    [
      "an accepted entry of a batch is lost",
      without("ord_b"),
      ["acc_1-8 told of 1 orders, and cancelled 0", "ord_b of acc_1-2 was told and is gone"]
    ],
    ["a key made two orders", extra(record("ord_f", 9, 20, "open")), ["ord_f of acc_1-9 is listed and was never told"]],
    [
      "a refused entry of a batch was placed",
      extra(record("ord_x", 2, 12, "open")),
      ["ord_x of acc_1-2 is listed and was never told"]
    ],
    ["an order is listed twice", extra(orders[0]!), ["ord_e is listed twice"]],
    [
      "an id was given twice",
      redecided(9, (entry) => ({ ...entry, orderId: "ord_d" })),
      [
        "ord_d is of acc_1-5, was placed by acc_1-9",
        "ord_d was given to acc_1-5 and to acc_1-9",
        "ord_e of acc_1-9 is listed and was never told"
      ]
    ],
    ["a cancelled order is open again", altered("ord_c", { status: "open", cancelReason: undefined }), ["ord_c was over as"]],
    [
      "a cancelled order was filled after it",
      altered("ord_c", atoms(3, 2, 1)),
      ["ord_c has 2 atoms filled, its fills are 1", "ord_c was over as"]
    ],
    ["a cancel acted twice", altered("ord_c", { lastSequence: 22 }), ["ord_c was over as"]],
    [
      "an order of a life before is open after its cancel",
      altered("ord_o", { status: "open", cancelReason: undefined }),
      ["ord_o was over as"]
    ],
    ["a filled order is open again", altered("ord_a", { status: "open" }), ["ord_a was over as"]],
    ["an amended price does not show", altered("ord_b", { price: "59000.0" }), ["ord_b is at 59000.0, told 58000"]],
    ["an amended quantity does not show", altered("ord_b", atoms(3, 0, 3)), ["ord_b has 0.003 in all, told 0.004"]],
    [
      "a cancel-all left an order open",
      altered("ord_b", { status: "open", cancelReason: undefined, ...atoms(4, 0, 0) }),
      ["acc_1-8 told of 1 orders, and cancelled 0", "ord_b is open after a cancel-all"]
    ],
    [
      "a cancel-all came again and took a later order",
      altered("ord_e", { status: "canceled", ...user, ...atoms(3, 1, 2) }),
      ["ord_e was cancelled (user) in 21 by nothing that the account was told"]
    ],
    [
      "a fill is lost",
      { ...evidence, fills: evidence.fills.filter((one) => one.tradeId !== "t3") },
      ["ord_d has 3 atoms filled, its fills are 1"]
    ],
    [
      "a fill is there twice",
      { ...evidence, fills: [...evidence.fills, fill("t7", "ord_a", "3")] },
      ["ord_a has 3 atoms filled, its fills are 6"]
    ],
    [
      "a fill is of no order",
      { ...evidence, fills: [...evidence.fills, fill("t7", "ord_z", "3")] },
      ["ord_z has fills and is not listed"]
    ],
    [
      "less is filled than was told",
      redecided(9, (entry) => ({ ...entry, filled: 0.002 })),
      ["ord_e has 0.001 filled, told 0.002"]
    ],
    ["an order does not add up", altered("ord_e", { remainingQuantityAtoms: "1" }), ["ord_e does not add up"]],
    [
      "an order is under another key",
      altered("ord_e", { idempotencyKey: "acc_1-77" }),
      ["ord_e is of acc_1-77, was placed by acc_1-9"]
    ],
    ["an order has another name", altered("ord_e", { clientOrderId: "c" }), ["ord_e is called c, was placed as c-ord_e"]],
    [
      "a decision came out of order",
      redecided(9, (entry) => entry, 18),
      ["acc_1-9 was decided in 18, the one before it in 18"]
    ],
    ["an order fell back", altered("ord_e", { lastSequence: 18 }), ["ord_e last changed in 18, told 19"]],
    [
      "what was over was cancelled again",
      redecided(6, (entry) => ({ ...entry, orderId: "ord_a" })),
      [
        "acc_1-6 told less filled of ord_a than was told before",
        "acc_1-6 was accepted for ord_a, which was over",
        "ord_a was over as",
        "ord_o was cancelled (user) in 16 by nothing that the account was told"
      ]
    ]
  ])("%s", (_what, shown, begins) => {
    const found = [...Checks.account(shown)].sort()
    expect(found.map((finding, index) => finding.slice(0, begins[index]?.length))).toEqual(begins)
  })
})

describe("a request sent again", () => {
  const call = key("place_order", 1)
  const refusal = (requestId: string, at: number) => ({
    status: 422,
    body: JSON.stringify({ requestId, code: "order_rejected", occurredAtEpochMs: at })
  })
  const told = Checks.comparable(refusal("req_1", 5))

  test("may differ by the request's own id alone", () => {
    expect(Checks.repeated(call, told, refusal("req_2", 5))).toEqual([])
    expect(Checks.repeated(call, told, refusal("req_2", 6))).toHaveLength(1)
    expect(Checks.repeated(call, told, { ...refusal("req_2", 5), status: 200 })).toHaveLength(1)
  })
})

describe("a key looked up", () => {
  const decision = decisions[1]!
  const entries = [
    { accepted: true, orderId: "ord_b", status: "open" },
    { accepted: true, orderId: "ord_c", status: "open" },
    { accepted: false, orderId: "ord_x", code: "client_order_id_in_use" }
  ]
  const remembered = { operation: "place_order_batch", sequence: 12, entries }
  const lookup = (
    ...kept: ReadonlyArray<object>
  ): Checks.Lookup => ({ outcome: "accepted", fenced: false, decisions: kept } as Checks.Lookup)

  /** The lookup with one entry changed. */
  const changed = (at: number, more: object): Checks.Lookup =>
    lookup({ ...remembered, entries: entries.map((entry, index) => index === at ? { ...entry, ...more } : entry) })

  test("tells what its answer told", () => {
    expect(Checks.lookedUp(decision, lookup(remembered))).toEqual([])
  })

  test.each<readonly [what: string, shown: Checks.Lookup]>([
    ["it is forgotten", { outcome: "never_seen", fenced: false, decisions: [] }],
    ["it was decided twice", lookup(remembered, remembered)],
    ["it was decided in another record", lookup({ ...remembered, sequence: 13 })],
    ["it is of another operation", lookup({ ...remembered, operation: "place_order" })],
    ["it was refused", { ...lookup(remembered), outcome: "refused" }],
    ["an entry is gone", lookup({ ...remembered, entries: entries.slice(1) })],
    ["an entry speaks of another order", changed(0, { orderId: "ord_z" })],
    ["an entry came to something else", changed(0, { status: "closed" })],
    ["a refused entry was accepted", changed(2, { accepted: true })],
    ["an entry was refused for another reason", changed(2, { code: "x" })]
  ])("%s", (_what, shown) => {
    expect(Checks.lookedUp(decision, shown)).toHaveLength(1)
  })
})

describe("a request that never arrived", () => {
  const call = key("place_order", 1)
  const lookup: Checks.Lookup = { outcome: "never_seen", fenced: true, decisions: [] }
  const refused = { status: 409, body: "{}" }

  test.each<readonly [what: string, lookup: Checks.Lookup, again: { readonly status: number; readonly body: string }, findings: number]>([
    ["it is fenced, and refused", lookup, refused, 0],
    ["it was decided", { ...lookup, outcome: "accepted", decisions: [{ operation: "place_order", sequence: 3, entries: [] }] }, refused, 1],
    ["it is not fenced", { ...lookup, fenced: false }, refused, 1],
    ["it is done when it is sent again", lookup, ok({}), 1]
  ])("%s", (_what, shown, again, findings) => {
    expect(Checks.barred(call, shown, again)).toHaveLength(findings)
  })
})

describe("what a client believes against what went by", () => {
  const call = key("place_order", 1)
  const value = { orderId: "ord_a", lastSequence: 11 }
  const accepted: Known = { kind: "accepted", idempotencyKey: call.key, value }
  const never: Known = { kind: "never_arrived", idempotencyKey: call.key, fencedUntilEpochMs: 5, cause: undefined }
  const envelope = { version: "external-rest-error/v1", code: "order_rejected" } as Contract.Envelope
  const refused: Known = { kind: "refused", idempotencyKey: call.key, refusal: new Refusal(422, envelope, undefined) }
  const noted: Noted = { times: 2, bodies: new Set(["{}"]), answer: ok(value), isRepeated: true }
  const lost: Noted = { ...noted, answer: undefined }
  const rejected: Noted = { ...noted, answer: { status: 422, body: JSON.stringify(envelope) } }

  test.each<readonly [what: string, outcome: Known, noted: Noted, findings: number]>([
    ["it was accepted as answered", accepted, noted, 0],
    ["it was refused as answered", refused, rejected, 0],
    ["it never arrived, and was not answered", never, lost, 0],
    ["it is of another key", { ...accepted, idempotencyKey: "another" }, noted, 1],
    ["it was sent with another body behind the first", accepted, { ...noted, bodies: new Set(["{}", "{\"a\":1}"]) }, 1],
    ["it was sent with a body that nobody gave", accepted, { ...noted, bodies: new Set(["{\"a\":1}"]) }, 1],
    ["it was accepted as something else", { ...accepted, value: { ...value, orderId: "ord_b" } }, noted, 1],
    ["it was accepted, and no answer came", accepted, lost, 1],
    ["it was accepted, and answered by a refusal", accepted, rejected, 1],
    ["it was refused, and answered by an order", refused, noted, 1],
    ["it never arrived, and was answered", never, noted, 1]
  ])("%s", (_what, outcome, shown, findings) => {
    expect(misbelieved(call, outcome, shown)).toHaveLength(findings)
  })
})

describe("the journal against what clients believe", () => {
  const believed = new Map<string, ReadonlyMap<number, Decision.Believed>>([
    ["acc_1", new Map<number, Decision.Believed>([[1, 11], [2, "refused"], [3, "found nothing"], [4, "never"]])]
  ])
  type Seen = readonly [sequence: number, key: string, kind?: "PlaceOrders" | "FenceOutcome", principal?: Principal]
  const right: ReadonlyArray<Seen> = [
    [3, "load-1", "PlaceOrders", Principal.operator],
    [11, "acc_1-1"],
    [12, "acc_1-2"],
    [13, "acc_1-3"],
    [14, "acc_1-3"],
    [15, "acc_1-made-1", "FenceOutcome"]
  ]

  test.each<readonly [what: string, seen: ReadonlyArray<Seen>, findings: ReadonlyArray<string>]>([
    ["each is where it was told to be", right, []],
    ["one is lost", right.filter(([, idempotencyKey]) => idempotencyKey !== "acc_1-1"), [
      "acc_1-1 was told to be record 11, and no record is of it"
    ]],
    ["one was done twice", [...right, [16, "acc_1-1"]], [
      "acc_1-1 was told to be record 11, and is record 16",
      "acc_1-1 was decided again in record 16"
    ]],
    ["one was refused twice", [...right, [16, "acc_1-2"]], ["acc_1-2 was decided again in record 16"]],
    ["one never arrived, and was done", [...right, [16, "acc_1-4"]], ["acc_1-4 never arrived, says its client, and is record 16"]],
    ["one was sent by nobody", [...right, [16, "acc_1-5"]], ["record 16 is of acc_1-5, which was never sent"]],
    ["one came under a key that the client made", [...right, [16, "acc_1-made-2"]], [
      "record 16 is a PlaceOrders under acc_1-made-2, which nobody gave to anything"
    ]]
  ])("%s", (_what, seen, findings) => {
    const journaled = new Journaled(believed)
    for (const [sequence, idempotencyKey, kind = "PlaceOrders", principal = Principal.key] of seen)
      journaled.take(sequence, { idempotencyKey, kind, principal })
    expect(journaled.end()).toEqual(findings)
  })
})

describe("what a stream told", () => {
  test("is what there is, each as often", () => {
    expect(differences(["a", "b"], ["b", "a"])).toEqual([])
    expect(differences(["a"], ["a", "b"])).toEqual(["the venue has b, and the stream does not"])
    expect(differences(["a", "a"], ["a"])).toEqual(["the stream has a, and the venue does not, or not so often"])
  })
})

describe("over all accounts", () => {
  const taker = fill("t1", "ord_a", "3")
  const maker = fill("t1", "ord_m", "3", { side: "sell", liquidity: "maker" })

  test.each<readonly [what: string, fills: ReadonlyArray<Checks.Fill>, findings: number]>([
    ["a trade has two sides", [taker, maker], 0],
    ["a side is lost", [taker], 1],
    ["a side is doubled", [taker, maker, maker], 1],
    ["the sides are of unlike size", [taker, { ...maker, sizeAtoms: "2" }], 1],
    ["the sides are of unlike price", [taker, { ...maker, priceAtoms: "1" }], 1],
    ["both sides bought", [taker, { ...maker, side: "buy" }], 1]
  ])("%s", (_what, fills, findings) => {
    expect(Checks.trades(fills)).toHaveLength(findings)
  })

  const long = { marketId: "BTC-USDC-PERP", side: "long", quantityAtoms: "3", entryNotionalAtoms: "1800" }
  const short = { marketId: "BTC-USDC-PERP", side: "short", quantityAtoms: "3", entryNotionalAtoms: "1790" }
  const held: Checks.Totals = { creditedAtoms: 1000n, collateralAtoms: 1003n, feesAtoms: 7n, positions: [long, short] }

  test.each<readonly [what: string, held: Checks.Totals, findings: ReadonlyArray<string>]>([
    ["all adds up", held, []],
    ["a fee vanished", { ...held, feesAtoms: 6n }, ["accounts and fees hold 999 money atoms of 1000 put in"]],
    ["an atom was made", { ...held, collateralAtoms: 1004n }, ["accounts and fees hold 1001 money atoms of 1000 put in"]],
    ["a position grew", { ...held, positions: [{ ...long, quantityAtoms: "4" }, short] }, ["positions in BTC-USDC-PERP sum to 1"]]
  ])("%s", (_what, shown, findings) => {
    expect(Checks.totals(shown)).toEqual(findings)
  })
})
