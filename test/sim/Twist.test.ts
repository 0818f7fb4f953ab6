/**
 * How the simulator's clients vary a request under the same key: every member of every command's body and every part of its path, as in the
 * contract; together the variations reach every field that the operations declare.
 */
import { describe, expect, test } from "vitest"
import type { Reading } from "../../sim/reading/Asked.js"
import { unspelled } from "../../sim/reading/Answers.js"
import { isAskedFor } from "../../sim/reading/Commands.js"
import * as Requests from "../../sim/reading/Requests.js"
import type { Draft } from "../../sim/workload/Calls.js"
import * as Twist from "../../sim/workload/Twist.js"
import * as Variations from "../../sim/workload/Variations.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import * as Contract from "../../src/edge/Contract.js"
import type { Fields } from "../../src/operations/Field.js"
import { grantFields } from "../../src/operations/identity/KeyGrant.js"
import { all, type Command } from "../../src/operations/Operations.js"
import { parameters } from "../engine/drive.js"
import * as Fake from "../edge/FakeVenue.js"
import { valid } from "../edge/http/Bodies.js"
import { LiveVenue, marketId, order, symbol, type Trader } from "../edge/LiveVenue.js"
import { few } from "../Depth.js"

const operatorNames = ["putMarket", "setMarketStatus", "setIndexPrice", "openDemoAccounts", "haltEngine", "resumeEngine",
  "cancelByOperator", "addToFund", "setLimits", "delistMarket", "withdrawDelisting", "creditAccount", "setAccountFlags",
  "revokeKeyByOperator", "stopWithdrawals", "allowWithdrawals"] as const
/** Cancels of an account that have no body. */
const bodylessNames = ["cancelAutoClose", "cancelTriggers"] as const
const names: ReadonlyArray<Contract.Name> = [...Object.keys(valid) as ReadonlyArray<Contract.CommandName>, ...bodylessNames,
  ...operatorNames]

/** Both triggers with all their members, for an order at 100. */
const autoClose = {
  takeProfit: { triggerPrice: "110", triggerBy: "last", limitPrice: "109" },
  stopLoss: { triggerPrice: "90", triggerBy: "index", limitPrice: "89" }
}

/** A body of the reference with the members that only some requests have. */
const filled = (name: Contract.Name, shown: unknown): unknown => {
  if (name === "placeOrder") return { ...shown as object, autoClose }
  if (name === "setAutoClose") return autoClose
  if (name === "placeOrderBatch") {
    return { orders: (shown as { readonly orders: ReadonlyArray<object> }).orders.map((each) => ({ ...each, autoClose })) }
  }
  // The threshold of a single tier is fixed.
  return name === "putMarket" ? { ...shown as object, maintenanceMarginTiers: tiers } : shown
}

const tiers = [
  { notionalThresholdAtoms: "0", maintenanceMarginBps: 250 },
  { notionalThresholdAtoms: "1000000", maintenanceMarginBps: 300 }
]

/** The reference's example of an endpoint as a draft, for an existing trader and market. */
const example = (name: Contract.Name, trader: Trader, orderId = "ord_1s"): Draft => {
  const { body: shown, target } = Contract.examples[name]
  const body = filled(name, shown)
  const real = (text: string): string =>
    text.replaceAll("acc_1s", trader.accountId).replaceAll(/ord_[0-9a-z]+/g, orderId).replaceAll("BTC-USDC-PERP", marketId).replaceAll(
      "BTC/USDC:USDC",
      symbol
    )
      .replaceAll("60000", "100")
  const byOperator = (operatorNames as ReadonlyArray<string>).includes(name)
  return {
    client: "c",
    endpoint: name,
    method: Contract.endpoints.find((endpoint) => endpoint.name === name)!.method,
    target: real(target),
    body: body === undefined ? "" : real(JSON.stringify(body)),
    credential: byOperator ? "operator" : "trader",
    token: byOperator ? Fake.operatorToken : trader.key,
    account: byOperator ? -1 : trader.account,
    accountId: byOperator ? "" : trader.accountId,
    idempotencyKey: "k",
    scope: undefined,
    intent: "make",
    persistent: true
  }
}

const canonicalOf = (reading: Reading): string | undefined => reading._tag === "asked" ? reading.asked.canonical : undefined
const says = (draft: Draft): string | undefined => canonicalOf(Requests.read(draft))

const encoder = new TextEncoder()

/** A venue with a trader and an open order, since a cancel that finds nothing is not remembered. */
const withOrder = async (): Promise<{ readonly venue: LiveVenue; readonly alice: Trader; readonly orderId: string }> => {
  const venue = LiveVenue.make()
  const [alice] = await venue.traders(1)
  const { orderId } = Fake.json(await venue.post(alice!, "/v1/orders", order(alice!), "resting")) as { readonly orderId: string }
  return { venue, alice: alice!, orderId }
}

const ask = (venue: LiveVenue, { body, method, target, token }: Draft, idempotencyKey: string) =>
  venue.ask({ method, target, key: token, idempotencyKey, ...(body === "" ? {} : { bytes: encoder.encode(body) }) })

/** A list body with two entries, so that the list can be varied too. */
const doubled = (draft: Draft): Draft => {
  const body: unknown = draft.body === "" ? undefined : JSON.parse(draft.body)
  const list = Array.isArray(body) ? body : (body as { readonly orders?: ReadonlyArray<unknown> } | undefined)?.orders
  if (list === undefined) return draft
  const twice = [...list, ...list]
  return { ...draft, body: JSON.stringify(Array.isArray(body) ? twice : { orders: twice }) }
}

/** The distinct requests that result from varying a member of the draft. */
const othersOf = (draft: Draft, member: Variations.Member): ReadonlyArray<Draft> => {
  const others = new Map<string, Draft>()
  const random = SimRandom.make(member.place.join("."))
  const keep = (body: unknown): void => {
    const varied = { ...draft, body: JSON.stringify(body) }
    const canonical = says(varied)
    if (canonical !== undefined && canonical !== says(draft)) others.set(canonical, varied)
  }
  const vary = (): unknown => Variations.ofMember(JSON.parse(draft.body), member, random)
  for (let index = 0; index < 30; index++) keep(vary())
  if (others.size > 0) return [...others.values()]
  // Of some members only one at a time may be present.
  for (let index = 0; index < 10; index++) {
    for (const other of Variations.members(draft.endpoint)) if (other !== member) keep(Variations.without(vary(), other, random))
  }
  return [...others.values()]
}

/** The distinct requests that result from varying the draft's path. */
const pathsOf = (draft: Draft, random: SimRandom.SimRandom): ReadonlyArray<Draft> => {
  const others = new Map<string, Draft>()
  for (let index = 0; index < 60; index++) {
    const varied = { ...draft, target: Variations.ofPath(draft.endpoint, draft.target, random) }
    const canonical = says(varied)
    if (canonical !== undefined && canonical !== says(draft)) others.set(varied.target, varied)
  }
  return [...others.values()]
}

/** Members that have only one value, or name the account, which the credential already does. */
const isFixed = (endpoint: string, place: string): boolean =>
  place === "accountId" || place.endsWith("[].accountId") || place === "marketType" || place.startsWith("params.")
  || (endpoint === "createOrders" && place === "[].type")
  // It excludes the two other members, which are present here.
  || (endpoint === "cancelByOperator" && place === "orderId")
  // An empty one has the same meaning as none.
  || place === "params" || place === "[].params"

/** Operator requests about an account that they name. */
const ofAccounts: ReadonlySet<string> = new Set(["cancelByOperator", "creditAccount", "setAccountFlags"])

describe.each(names)("%s", (name) => {
  test("is a request by the contract, and its answer is about it", async () => {
    const venue = LiveVenue.make()
    const [alice] = await venue.traders(1)
    const draft = example(name, alice!)
    expect(Requests.read(draft)._tag).toBe("asked")
    // The venue has collected no fees yet.
    expect(name === "addToFund" ? [400] : [200, 404, 422]).toContain((await ask(venue, draft, "k")).status)
  })

  test("each member said otherwise under its key is refused as a conflict, and nothing is done", async () => {
    const { alice, orderId, venue } = await withOrder()
    const draft = doubled(example(name, alice, orderId))
    const first = await ask(venue, draft, "k")
    const { records } = venue
    const unvaried: Array<string> = []
    for (const member of Variations.members(name)) {
      const others = othersOf(draft, member)
      const place = member.place.join(".")
      let conflicts = 0
      for (const other of others) {
        const refused = await ask(venue, other, "k")
        const { code } = Fake.json(refused)
        if (refused.status === 409 && code === "idempotency_key_conflict") conflicts++
        // A value off the market's grid or rules makes it no request of the market; nor is an operator's request for an unknown account or
        // market one.
        else if (ofAccounts.has(name) && refused.status === 404) expect(code).toMatch(/^(account|market)_not_found$/)
        else expect([other.body, refused.status, code]).toEqual([other.body, 400, "invalid_request"])
      }
      if (conflicts === 0 && !isFixed(name, place)) unvaried.push(place)
    }
    expect(unvaried).toEqual([])
    for (const other of pathsOf(draft, SimRandom.make(name))) {
      const refused = await ask(venue, other, "k")
      const { rejectionGuard } = Fake.json(refused)
      // An operator's request for an unknown market is answered as such, whatever the key was used for; and so is one for a new market
      // that could not be settled by its assets.
      if (rejectionGuard === "market_assets_invalid") expect([name, refused.status]).toEqual(["putMarket", 400])
      else expect([409, ...(draft.credential === "operator" ? [404] : [])]).toContain(refused.status)
    }
    expect(venue.records).toBe(records)
    const again = await ask(venue, draft, "k")
    expect([again.status, again.body.replace(requestId, "")]).toEqual([first.status, first.body.replace(requestId, "")])
  })

  test("the same in other words under its key gets the same answer, and nothing is done", async () => {
    const { alice, orderId, venue } = await withOrder()
    const draft = doubled(example(name, alice, orderId))
    const first = await ask(venue, draft, "k")
    const { records } = venue
    for (let seed = 0; seed < few(10, 30); seed++) {
      const again = await ask(venue, Twist.respelled(draft, SimRandom.make(String(seed))), "k")
      expect([again.status, unspelled(again.body.replace(requestId, ""))]).toEqual([
        first.status,
        unspelled(first.body.replace(requestId, ""))
      ])
    }
    expect(venue.records).toBe(records)
  })
})

const requestId = /"requestId":"[^"]*",?/g

/** The names of all declared fields, and of those within them. */
const declared = (fields: Fields, at = ""): ReadonlyArray<string> =>
  Object.entries(fields).flatMap(([name, { shape }]) => {
    switch (shape.type) {
      case "record":
      case "list":
        return declared(shape.fields, `${at}${name}.`)
      case "choice":
        return shape.names.length === 1 ? [] : [at + name]
      default:
        return [at + name]
    }
  })

/** The first of each list, then the second of each, and so on. */
const inTurn = <A>(lists: ReadonlyArray<ReadonlyArray<A>>): ReadonlyArray<A> =>
  Array.from({ length: Math.max(0, ...lists.map(({ length }) => length)) }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1)))
    .flat()

/** The fields in which two commands differ; lists are compared entry by entry. */
const differences = (one: unknown, other: unknown, at: string, into: Set<string>): void => {
  if (Array.isArray(one) && Array.isArray(other)) {
    for (let index = 0; index < Math.min(one.length, other.length); index++) differences(one[index], other[index], at, into)
  } else if (typeof one === "object" && one !== null && typeof other === "object" && other !== null) {
    for (const [name, value] of Object.entries(one)) {
      differences(value, (other as { readonly [name: string]: unknown })[name], at === "" ? name : `${at}.${name}`, into)
    }
  } else if (one !== other) into.add(at)
}

/** The fields of a stop of withdrawals: the venue itself stops them if books differ. */
const fieldsOfStops = ["reason", "differenceAtoms", "atOffset"]

/** Fields set by the venue itself, including those of keys it issues and of what an owner is told: requests cannot choose them. */
const ofVenue: ReadonlySet<string> = new Set([
  ...Object.keys(grantFields).map((name) => `keys.${name}`),
  ...fieldsOfStops,
  "connection",
  "tellsOwner",
  // A new market is quoted in the asset that it is settled in.
  "parameters.quoteAsset"
])

/**
 * Commands that requests send under a key. Those proved by a credential alone are tested elsewhere, as are bots' keys, which need a token
 * that only a workload platform can make.
 */
const asked = all.filter(({ kind }) => kind !== "IssueBotKey" && isAskedFor({ kind } as Command))
const requests = asked.flatMap(({ fields, kind, requests }) => Object.keys(requests).map((request) => [kind, request, fields] as const))

test("every request that an operation declares is one of the contract's", () => {
  const operations = names.map((name) => {
    const reading = Requests.read(example(name, { account: 0, accountId: "acc_1", key: "" }))
    return reading._tag === "asked" ? reading.asked.operation : undefined
  })
  expect([...operations].sort()).toEqual(asked.flatMap((each) => Object.values(each.requests).map(({ code }) => code)).sort())
})

test.each([...new Map(requests.map(([kind, , fields]) => [kind, fields]))])("%s: requests can say every declared field otherwise",
  async (kind, fields) => {
    const found = new Set<string>()
    const unsaid = () => declared(fields).filter((field) => !found.has(field) && !ofVenue.has(field))
    for (const name of names) {
      const reading = Requests.read(example(name, { account: 0, accountId: "acc_1", key: "" }))
      if (reading._tag !== "asked" || reading.asked.wanted.kind !== kind) continue
      const made = async (draft: Draft): Promise<Command | undefined> => {
        const venue = LiveVenue.make()
        const [alice] = await venue.traders(2)
        venue.market(parameters("BTC"))
        let last: Command | undefined
        const run = venue.run.bind(venue)
        venue.run = (command) => {
          last = command
          return run(command)
        }
        // The ids in the draft belong to an equivalent trader.
        await ask(venue, { ...draft, token: draft.credential === "operator" ? draft.token : alice!.key }, draft.idempotencyKey ?? "")
        return last
      }
      const [alice, bob] = await LiveVenue.make().traders(2)
      const base = doubled(example(name, alice!))
      const expected = await made(base)
      const random = SimRandom.make(name)
      const others = [
        ...inTurn(Variations.members(name).map((member) => othersOf(base, member).slice(0, 9))),
        ...pathsOf(base, random),
        { ...base, idempotencyKey: "another" },
        // The body names the account to credit, and the path the one whose flags are set; it has to exist.
        ...(name === "creditAccount" ? [{ ...base, body: base.body.replace(alice!.accountId, bob!.accountId) }] : []),
        ...(name === "setAccountFlags" ? [{ ...base, target: base.target.replace(alice!.accountId, bob!.accountId) }] : []),
        // A single order in place of an account's or a market's orders is two members away from those.
        ...(name === "cancelByOperator" ? [{ ...base, body: `{"orderId":"ord_1s"}` }] : []),
        // Withdrawing a delisting is another method on the same path.
        ...(name === "delistMarket" ? [{ ...base, endpoint: "withdrawDelisting", method: "DELETE" as const, body: "" }] : [])
      ]
      // Each takes a venue of its own: no more are tried than it takes to find every field.
      for (const other of others) if (unsaid().length > 0) differences(expected, await made(other), "", found)
    }
    expect(unsaid()).toEqual([])
  })
