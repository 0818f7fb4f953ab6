/** The engine and the naive model get the same records and must reach the same results, checked by properties that know neither of them. */
import { isDeepStrictEqual } from "node:util"
import { expect, test } from "vitest"
import { noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { type Command, Operation, type Outcome } from "../../src/operations/Operations.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import type { NaiveMarket, NaiveOutcome } from "../../sim/model/NaiveState.js"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { isStopped } from "../../sim/reading/Halts.js"
import { watchers } from "../../sim/properties/All.js"
import { awaited } from "../../sim/properties/marksBehind.js"
import { Glance } from "../../sim/properties/Glance.js"
import { simMarkets } from "../../sim/workload/SimMarkets.js"
import { versions } from "../../src/sequencer/Versions.js"
import { type AnyGiven, completeAny, grant } from "../engine/commands.js"
import * as SimRandom from "../../sim/world/SimRandom.js"
import { few } from "../Depth.js"

const accounts = 6

/** Commands drawn so that fills, flips, margins near their limit and every status are frequent. */
const nextCommand = (random: SimRandom.SimRandom, model: NaiveVenue, count: number): Command => completeAny(nextGiven(random, model, count))

/** An order at prices around the mark, often one that closes a position. */
const drawEntry = (
  random: SimRandom.SimRandom,
  model: NaiveVenue,
  market: NaiveMarket,
  account: number,
  count: number
): PlaceEntry => {
  const held = model.accounts[account]!.positions.get(market.index)?.quantity ?? 0
  const closing = held !== 0 && random.chance(0.4)
  const side: Order.Side = closing ? (held > 0 ? Order.sell : Order.buy) : random.pick([Order.buy, Order.sell] as const)
  const type: Order.Type = random.chance(0.15) ? Order.market : Order.limit
  const tick = Math.max(1, Math.round(market.mark / 1_000))
  const away = random.between(-6, 6) * tick * (side === Order.buy ? -1 : 1)
  const unit = Math.max(1, Math.floor(2e11 / (market.mark * Number(market.factor))))
  const quantity = closing && random.chance(0.6)
    ? Math.max(1, Math.floor(Math.abs(held) * random.pick([0.5, 1, 1, 2])))
    : Math.max(1, Math.floor(unit * random.next() ** 2 * random.pick([1, 1, 1, 12])))
  const timeInForce: Order.TimeInForce = type === Order.market || random.chance(0.15) ? Order.ioc : Order.gtc
  return {
    market: market.index,
    clientOrderId: random.chance(0.05)
      ? random.pick(["again", `e${random.below(60)}`])
      : random.chance(0.1)
      ? ""
      : `c${count}.${random.below(1e9)}`,
    side,
    type,
    timeInForce,
    priceAtoms: type === Order.market && random.chance(0.7) ? 0 : Math.max(1, market.mark + away),
    quantityAtoms: quantity,
    postOnly: timeInForce === Order.gtc && random.chance(0.1),
    reduceOnly: random.chance(closing ? 0.6 : 0.05),
    selfTradePrevention: random.pick([0, 1, 2] as const),
    expiresAtEpochMs: type === Order.limit && timeInForce === Order.gtc && random.chance(0.2)
      ? Math.max(1, model.atEpochMs + random.between(-20, 3_000))
      : 0,
    fault: 0,
    raw: "",
    autoClose: noAutoClose
  }
}

const nextGiven = (random: SimRandom.SimRandom, model: NaiveVenue, count: number): AnyGiven => {
  const account = random.below(accounts)
  const market: NaiveMarket = random.pick(model.markets)
  const idempotencyKey = `k${count}`
  const kind = random.next()
  if (kind < 0.03 || market.mark === 0) {
    const step = Math.max(1, Math.round((market.mark * random.below(random.chance(0.2) ? 1_500 : 60)) / 10_000))
    const priceAtoms = Math.max(market.parameters.minPriceAtoms, market.mark + (random.chance(0.5) ? step : -step))
    return { kind: "SetIndexPrice", idempotencyKey, market: market.index, priceAtoms, sourceEpochMs: 0 }
  }
  if (kind < 0.04 || market.status !== "open" && kind < 0.3) {
    const odd = random.pick(["reduce_only", "reduce_only", "paused", "halted", "cancel_only"] as const)
    const status = market.status === "open" ? odd : "open"
    return { kind: "SetMarketStatus", idempotencyKey, market: market.index, status }
  }
  const anyOrder = (): number => {
    const orders = [...model.orders.keys()]
    return orders.length === 0 || random.chance(0.05) ? 7 : random.pick(orders.slice(-60))
  }
  if (kind < 0.045) return { kind: model.halted ? "ResumeEngine" : random.chance(0.3) ? "HaltEngine" : "ResumeEngine", idempotencyKey }
  if (model.halted && kind < 0.2) return { kind: "ResumeEngine", idempotencyKey }
  if (kind < 0.055) {
    const marketNamed = random.pick([-2, -2, market.index, -1])
    const raw = marketNamed === -1 ? random.pick(["NONE", "NULL"]) : ""
    return { kind: "CancelAllOrders", operation: Operation.cancelAllV1, account, idempotencyKey, market: marketNamed, raw }
  }
  if (kind < 0.07) {
    const timeoutMs = random.pick([0, 1_000, 1_000, 2_000])
    return { kind: "SetCancelAllAfter", operation: Operation.cancelAllAfterV1, account, idempotencyKey, timeoutMs }
  }
  if (kind < 0.073) {
    const leverageX = random.pick([0, 1, 1, 2, 3, 5, 10, 20, 50, 51])
    return { kind: "SetLeverage", operation: Operation.setLeverageV1, account, idempotencyKey, market: market.index, leverageX }
  }
  if (kind < 0.075) {
    const fencedKey = random.pick(["", `k${count + random.below(20)}`, `k${random.below(count + 1)}`])
    const fencedClientOrderId = fencedKey === "" ? random.pick(["again", `e${random.below(60)}`]) : ""
    return { kind: "FenceOutcome", operation: Operation.fenceV1, account, idempotencyKey, fencedKey, fencedClientOrderId }
  }
  if (kind < 0.08) return { kind: "PassTime" }
  if (kind < 0.085) {
    const meant = random.pick([{ orderNumber: anyOrder() }, { ofAccount: account }, { ofAccount: account, market: market.index }, {
      market: market.index
    }])
    return { kind: "CancelByOperator", idempotencyKey, orderNumber: -1, ofAccount: -1, market: -2, ...meant }
  }
  if (kind < 0.16) {
    const { open } = model.accounts[account]!
    const order = open.length === 0 || random.chance(0.1) ? undefined : random.pick(open)
    const tick = Math.max(1, Math.round((model.markets[order?.market ?? 0]!.mark) / 1_000))
    return {
      kind: "AmendOrder",
      operation: Operation.amendV1,
      account,
      idempotencyKey,
      market: order === undefined || random.chance(0.05) ? market.index : order.market,
      orderNumber: order?.number ?? anyOrder(),
      priceAtoms: order === undefined || random.chance(0.4) ? 0 : Math.max(1, order.price + random.between(-4, 4) * tick),
      quantityAtoms: order === undefined || random.chance(0.3)
        ? -1
        : Math.max(0, Math.floor(order.quantity * random.pick([0, 0.5, 0.9, 1, 1, 1.2, 3])) + random.between(-1, 1)),
      fault: 0,
      raw: ""
    }
  }
  if (kind < 0.24) {
    const entries = Array.from({ length: random.between(1, 3) }, () => ({
      market: random.chance(0.1) ? market.index : -2,
      orderNumber: anyOrder(),
      raw: ""
    }))
    return { kind: "CancelOrders", operation: Operation.cancelBatchV1, account, idempotencyKey, entries }
  }
  const entries = Array.from({ length: random.chance(0.1) ? random.between(2, 8) : 1 },
    () => drawEntry(random, model, market, account, count))
  return { kind: "PlaceOrders", operation: Operation.placeBatchV1, account, idempotencyKey, entries }
}

const opening = (collateralAtoms: number): ReadonlyArray<Command> => {
  const givens: ReadonlyArray<AnyGiven> = [
    { kind: "OpenVenue", environment: "development", ...versions },
    ...simMarkets.flatMap(({ parameters, developmentIndexPriceAtoms: startPriceAtoms }, market): ReadonlyArray<AnyGiven> => [
      { kind: "PutMarket", idempotencyKey: `put${market}`, parameters },
      { kind: "SetMarketStatus", idempotencyKey: `back${market}`, market, status: "backfilling" },
      { kind: "SetMarketStatus", idempotencyKey: `open${market}`, market, status: "open" },
      { kind: "SetIndexPrice", idempotencyKey: `index${market}`, market, priceAtoms: startPriceAtoms, sourceEpochMs: 0 }
    ]),
    {
      kind: "OpenDemoAccounts",
      idempotencyKey: "accounts",
      collateralAtoms,
      keys: Array.from({ length: accounts }, (_, index) => grant(`key_${index}`))
    }
  ]
  return givens.map(completeAny)
}

/** What engine and model must agree on: all of an order, the code and order of a refusal, the count of a cancel-all. */
const simplified = (outcome: Outcome) =>
  outcome.entries.map((entry) => {
    switch (entry._tag) {
      case "Refused":
        return [entry.refusal, entry.orderNumber]
      case "OrderDecided":
        return [
          Refusal.none,
          entry.orderNumber,
          entry.status,
          entry.cancelReason,
          entry.filledAtoms,
          String(entry.filledNotionalAtoms),
          entry.canceledAtoms,
          entry.priceAtoms,
          entry.quantityAtoms
        ]
      case "OrdersCanceled":
        return [Refusal.none, entry.canceledOrders]
      case "OrdersCanceledByOperator":
        return [Refusal.none, entry.canceledOrders, entry.remainingOrders]
      default:
        return [Refusal.none]
    }
  })

/** The same parts of the model's decision. */
const modelled = (command: Command, entries: ReadonlyArray<NaiveOutcome>) =>
  entries.map((entry) => {
    const ofOrder = command.kind === "PlaceOrders" || command.kind === "CancelOrders" || command.kind === "AmendOrder"
    const namesOrder = ofOrder || command.kind === "CancelByOperator"
    if (entry.refusal !== Refusal.none) return [entry.refusal, namesOrder ? entry.orderNumber : -1]
    if (command.kind === "CancelAllOrders") return [Refusal.none, entry.canceled]
    if (command.kind === "CancelByOperator") return [Refusal.none, entry.canceled, entry.left]
    if (!ofOrder) return [Refusal.none]
    return [
      Refusal.none,
      entry.orderNumber,
      entry.status,
      entry.cancelReason,
      entry.filled,
      String(entry.filledNotional),
      entry.canceled,
      entry.price,
      entry.quantity
    ]
  })

/** The whole state of the model, as text. */
const drawn = (model: NaiveVenue): string =>
  [
    ...model.markets.map((market) =>
      `\nmarket ${market.index} ${market.status} mark ${market.mark}` + market.resting.map((order) =>
        `\n  ${order.number} of ${order.account} ${Order.sides[order.side]} ${order.quantity - order.filled - order.canceled} `
        + `at ${order.price}${order.reduceOnly ? " reduce-only" : ""}`
      ).join("")
    ),
    ...model.accounts.map((account) =>
      `\naccount ${account.index} collateral ${account.collateral} positions `
      + [...account.positions].map(([market, position]) => `${market}: ${position.quantity} for ${position.entryNotional}`).join(", ")
    )
  ].join("")

/**
 * Properties of requests, starts and the writer, which orders the records: there are none here. So commands also come before the first
 * mark of a market that is back, which the writer makes first.
 */
const ofWriter: ReadonlySet<string> = new Set([
  "every-record-has-a-cause",
  "commands-and-answers-are-as-asked",
  "a-market-that-is-back-is-marked-first"
])

const run = (seed: string, commands: number): number => {
  const random = SimRandom.make(seed)
  const ofTicks = random.split("ticks")
  const model = new NaiveVenue()
  const engine = Engine.make({ orders: 20_000, idempotencyKeys: 20_000 })
  const watching = watchers().filter(({ name }) => !ofWriter.has(name))
  let sequence = 0
  let atEpochMs = 1_700_000_000_000
  let fills = 0
  const apply = (command: Command): void => {
    atEpochMs += random.chance(0.002) ? random.pick([86_400_000, 86_340_000, 86_460_000, 3_600_000]) : random.below(50)
    const without = engine.admit(command, atEpochMs)
    const expected = isStopped(command) && "account" in command && model.isFenced(command.account, "key", command.idempotencyKey, atEpochMs)
      ? Refusal.fenceStands
      : isStopped(command) && model.halted
      ? Refusal.engineHalted
      : awaited({ atEpochMs, command }, model) !== undefined
      ? Refusal.markBehind
      : undefined
    // An assertion costs more than a decision, so it is made only on a failure.
    if (without?.refusal !== expected) expect(without?.refusal, `seed ${seed}, ${JSON.stringify(command)}`).toBe(expected)
    if (without !== undefined) return
    sequence++
    const before = process.env["MODEL_TRACE"] === undefined ? "" : drawn(model)
    const outcome = engine.apply(command, sequence, atEpochMs)
    engine.state.events.clear()
    const decision = model.apply({ sequence, atEpochMs, command })
    fills += decision.fills.length
    const where = (): string => `seed ${seed}, record ${sequence}: ${JSON.stringify(command)}${before}`
    const [said, meant] = [simplified(outcome), modelled(command, decision.outcomes)]
    if (!isDeepStrictEqual(said, meant)) expect(said, where()).toEqual(meant)
    const reads = new Glance(engine)
    for (const watcher of watching) {
      const verdict = watcher.observe({
        _tag: "Committed",
        record: { sequence, atEpochMs, command },
        decision,
        model,
        block: { epoch: 1, digest: "", firstSequence: sequence, count: 1, bytes: 512, misread: undefined }
      })
        ?? watcher.observe({ _tag: "Inspected", reads, model, decision, whole: sequence % 97 === 0 })
      if (verdict !== undefined) expect(verdict, `${where()}\n${watcher.name}`).toBe(undefined)
    }
  }
  for (const command of opening(random.pick([2e9, 2e10, 1e12]))) apply(command)
  for (let count = 0; count < commands; count++) {
    // Until its next mark, a market that has come back opens no positions.
    // Under a halt it is one sent before the halt.
    if ((model.halted || engine.nextTickEpochMs(atEpochMs) <= atEpochMs) && ofTicks.chance(0.3)) apply(completeAny({ kind: "MarkTick" }))
    apply(nextCommand(random, model, count))
  }
  return fills
}

test("engine and model come to the same on random records, and trade a lot", () => {
  const seeds = Number(process.env["MODEL_SEEDS"] ?? few(2, 4))
  const first = Number(process.env["MODEL_FIRST"] ?? 0)
  let fills = 0
  for (let seed = first; seed < first + seeds; seed++) fills += run(String(seed), 800)
  expect(fills).toBeGreaterThan(seeds * 100)
})
