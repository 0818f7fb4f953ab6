/**
 * Scenarios as a trader would draw them (fixtures/scenarios/README.md has the notation): reads one, runs it against an engine, and renders
 * what happened in the same notation, so that a failure reads as a picture.
 */
import * as Market from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { describe, Refusal } from "../../src/domain/Refusal.js"
import * as Units from "../../src/domain/Units.js"
import * as EventLog from "../../src/engine/EventLog.js"
import * as Invariants from "../../src/engine/Invariants.js"
import type { PlaceEntry } from "../../src/operations/orders/PlaceOrders.js"
import type { Answer, OrderAnswer } from "./commands.js"
import { Driver, parameters } from "./drive.js"

export interface Scenario {
  readonly title: string
  readonly given: ReadonlyArray<string>
  /** Steps without their results. */
  readonly when: ReadonlyArray<string>
  /** Everything expected, line by line, in the notation of `render`. */
  readonly expected: ReadonlyArray<string>
}

const sections = ["given", "when", "trades", "cancelled", "after"] as const
type Section = (typeof sections)[number]

const priceScale = 1
const sizeScale = 3

/** One space between words, none at the ends; a ladder's cells likewise. */
const tidy = (line: string): string =>
  line.trim().startsWith("|")
    ? `| ${line.trim().slice(1, -1).split("|").map((cell) => cell.trim().replace(/\s+/g, " ")).join(" | ")} |`
    : line.trim().replace(/\s+/g, " ")

const fail = (line: string): never => {
  throw new Error(`a scenario cannot say: ${line}`)
}

/** Reads a scenario's text. */
export const parse = (text: string): Scenario => {
  const lines: Record<Section, Array<string>> = { given: [], when: [], trades: [], cancelled: [], after: [] }
  const title: Array<string> = []
  let section: Section | undefined
  for (const raw of text.split("\n")) {
    const line = tidy(raw)
    if (line === "") continue
    if (!raw.startsWith(" ") && sections.includes(line as Section)) section = line as Section
    else if (section === undefined) title.push(line)
    else lines[section].push(line)
  }
  const steps = lines.when.map((line) => line.split(" -> "))
  return {
    title: title[0] ?? fail("nothing"),
    given: lines.given,
    when: steps.map(([step]) => step!),
    expected: [
      "when",
      ...lines.when,
      "trades",
      ...lines.trades,
      "cancelled",
      ...lines.cancelled,
      "after",
      ...lines.after.filter((line) => line !== heading)
    ]
  }
}

const heading = "| bids | price | asks |"

const atoms = (text: string | undefined, scale: number): number => {
  const parsed = Units.parseDecimal(text ?? "", scale)
  return typeof parsed === "number" ? parsed : fail(`${text}: ${parsed}`)
}

const trimmed = (value: number, scale: number): string => Units.formatDecimal(value, scale).replace(/\.?0+$/, "")
const price = (value: number): string => Units.formatDecimal(value, priceScale)
const size = (value: number): string => Units.formatDecimal(value, sizeScale)
const money = (value: number): string => trimmed(value, Units.moneyScale)

const rulePattern = /^(mark|band|initial margin|maintenance margin|fees|largest position) ([\d.]+)(?: %)?(?:, ([\d.]+) %)?$/
const optionPattern = /\bworst [\d.]+|\bioc\b|\bpost-only\b|\breduce-only\b|\bcancel_(resting|incoming|both)\b/g

/** A scenario under way. */
class Stage {
  readonly driver = new Driver()
  private readonly accounts = new Map<string, number>()
  private readonly house: number
  private readonly owners = new Map<number, string>()
  private market: Market.Parameters = parameters("AAA")
  private mark = 1000
  private readonly trades: Array<string> = []
  private readonly cancelled: Array<string> = []
  private readonly results: Array<string> = []
  /** Quantities already cancelled of orders that stay open, by order number. */
  private readonly trimmed = new Map<number, number>()

  constructor() {
    this.house = this.driver.account(2 ** 50)
  }

  private account(name: string, collateral = "1000000"): number {
    const known = this.accounts.get(name)
    if (known !== undefined) return known
    const account = this.driver.account(atoms(collateral, Units.moneyScale))
    this.accounts.set(name, account)
    this.owners.set(account, name)
    return account
  }

  private done<A extends Answer>(entry: A): A {
    if (entry.refusal !== Refusal.none) fail(`a beginning that is refused: ${describe(entry.refusal).name}`)
    return entry
  }

  /** Sets everything up as in the `given` lines: positions first, free of fees, then the mark, then the book from the top. */
  begin(given: ReadonlyArray<string>): void {
    const { driver } = this
    const holdings: Array<readonly [account: number, long: boolean, size: string, price: string]> = []
    const ladder: Array<string> = []
    for (const line of given) {
      const has = /^(\w+) has ([\d.]+)(?:, (long|short) ([\d.]+) at ([\d.]+))?$/.exec(line)
      const rule = rulePattern.exec(line)
      if (has !== null) {
        const account = this.account(has[1]!, has[2]!)
        if (has[3] !== undefined) holdings.push([account, has[3] === "long", has[4]!, has[5]!])
      } else if (rule !== null) this.rule(rule[1]!, rule[2]!, rule[3])
      else if (line.startsWith("|")) ladder.push(line)
      else fail(line)
    }
    driver.market({ ...this.market, makerFeeBps: 0, takerFeeBps: 0, initialMarginBps: this.market.initialMarginBps }, this.mark)
    for (const [account, long, held, at] of holdings) {
      const priceAtoms = atoms(at, priceScale)
      const quantityAtoms = atoms(held, sizeScale)
      driver.index(0, priceAtoms)
      this.done(driver.place(this.house, { side: long ? Order.sell : Order.buy, priceAtoms, quantityAtoms }))
      const taken = this.done(driver.place(account, { side: long ? Order.buy : Order.sell, priceAtoms, quantityAtoms }))
      if (taken.filledAtoms !== quantityAtoms) fail("a position that its account cannot back")
    }
    this.done(driver.ask({ kind: "PutMarket", idempotencyKey: driver.nextKey(), parameters: this.market }))
    driver.index(0, this.mark)
    for (const line of ladder) {
      const [bids = "", at, asks = ""] = line.slice(1, -1).split("|").map((cell) => cell.trim())
      if (at === "price") continue
      for (const [side, cell] of [[Order.buy, bids], [Order.sell, asks]] as const) {
        for (const order of cell === "" ? [] : cell.split(",")) {
          const [name, quantity, flag] = order.trim().split(" ")
          const entry = this.done(driver.place(this.account(name!), {
            side,
            priceAtoms: atoms(at, priceScale),
            quantityAtoms: atoms(quantity, sizeScale),
            reduceOnly: flag === undefined ? false : flag === "ro" || fail(line)
          }))
          if (entry.status !== Order.open || entry.filledAtoms !== 0) fail(`a drawn book that trades: ${line}`)
        }
      }
    }
  }

  private rule(name: string, value: string, second: string | undefined): void {
    switch (name) {
      case "mark":
        this.mark = atoms(value, priceScale)
        return
      case "band":
        this.market = { ...this.market, priceBandBps: atoms(value, 2) }
        return
      case "initial margin":
        this.market = { ...this.market, initialMarginBps: atoms(value, 2), maxLeverageX: 1 }
        return
      case "maintenance margin":
        this.market = {
          ...this.market,
          maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: atoms(value, 2) }]
        }
        return
      case "fees":
        this.market = { ...this.market, makerFeeBps: atoms(value, 2), takerFeeBps: atoms(second, 2) }
        return
      case "largest position":
        this.market = {
          ...this.market,
          maxPositionQuantityAtoms: atoms(value, sizeScale),
          maxQuantityAtoms: atoms(value, sizeScale)
        }
        return
    }
  }

  /** Runs one step and records its result. */
  step(line: string): void {
    const { driver } = this
    const { events } = driver.engine.state
    events.clear()
    const outcome = this.act(line)
    this.results.push(outcome === undefined ? line : `${line} -> ${resultOf(outcome)}`)
    for (const event of EventLog.decode(events.words, 0, events.length)) {
      if (event.event === "Traded") {
        const verb = event.takerSide === Order.buy ? "buys" : "sells"
        const toward = event.takerSide === Order.buy ? "from" : "to"
        const [taker, maker] = [this.owners.get(event.takerAccount), this.owners.get(event.makerAccount)]
        this.trades.push(`${taker} ${verb} ${size(event.sizeAtoms)} at ${price(event.priceAtoms)} ${toward} ${maker}`)
      }
      if (event.event === "OrderTrimmed" || (event.event === "OrderEnded" && event.status === Order.canceled)) {
        const before = this.trimmed.get(event.orderNumber) ?? 0
        const by = event.event === "OrderTrimmed" ? event.byAtoms : event.canceledAtoms - before
        this.trimmed.set(event.orderNumber, before + by)
        const reason = event.event === "OrderTrimmed" ? "trimmed" : Order.cancelReasons[event.cancelReason]
        const order = [...this.owners.keys()].flatMap((account) => driver.engine.findOrder(account, event.orderNumber) ?? [])[0]!
        const at = order.priceAtoms === 0 ? "market" : price(order.priceAtoms)
        this.cancelled.push(`${this.owners.get(order.account)} ${size(by)} at ${at}, ${reason}`)
      }
    }
    const broken = Invariants.firstBroken(driver.engine.state)
    if (broken !== undefined) throw new Error(`after "${line}": ${broken}`)
  }

  private act(line: string): OrderAnswer | undefined {
    const { driver } = this
    const words = line.split(" ")
    if (words[0] === "mark") return void driver.index(0, atoms(words[1], priceScale))
    if (words[0] === "market") {
      const status = Market.statuses.find((one) => one === words[1]) ?? fail(line)
      driver.send({ kind: "SetMarketStatus", idempotencyKey: driver.nextKey(), market: 0, status })
      return undefined
    }
    const account = this.account(words[0]!)
    if (words[1] === "cancels") {
      const priceAtoms = atoms(words[2], priceScale)
      const order = driver.engine.openOrders(account, 0).find((one) => one.priceAtoms === priceAtoms)
      return driver.cancel(account, order?.orderNumber ?? -1)
    }
    return driver.place(account, this.entry(words.slice(1), line))
  }

  private entry([verb, quantity, at, limit, ...options]: ReadonlyArray<string>, line: string): Partial<PlaceEntry> {
    const text = options.join(" ")
    const market = limit === "market"
    const worst = /\bworst ([\d.]+)/.exec(text)?.[1]
    const rest = text.replace(optionPattern, "").trim()
    if (at !== "at" || (verb !== "buys" && verb !== "sells") || rest !== "") fail(line)
    const mode = Order.selfTradePreventions.findIndex((one) => options.includes(one))
    return {
      side: verb === "buys" ? Order.buy : Order.sell,
      quantityAtoms: atoms(quantity, sizeScale),
      type: market ? Order.market : Order.limit,
      priceAtoms: market ? (worst === undefined ? 0 : atoms(worst, priceScale)) : atoms(limit, priceScale),
      timeInForce: market || options.includes("ioc") ? Order.ioc : Order.gtc,
      postOnly: options.includes("post-only"),
      reduceOnly: options.includes("reduce-only"),
      selfTradePrevention: Math.max(0, mode) as Order.SelfTradePrevention
    }
  }

  /** The results of everything, in the scenario's own notation. */
  render(): ReadonlyArray<string> {
    const events = ["trades", ...this.trades, "cancelled", ...this.cancelled]
    return ["when", ...this.results, ...events, "after", ...this.ladder(), ...this.holdings()]
  }

  private ladder(): ReadonlyArray<string> {
    const { books, orders } = this.driver.engine.state
    const rows = new Map<number, [Array<string>, Array<string>]>()
    for (const side of [Order.buy, Order.sell] as const) {
      for (let order = books[0]!.best(side); order !== -1; order = books[0]!.nextSlot(order)) {
        const at = orders.priceAtoms(order)
        const row = rows.get(at) ?? [[], []]
        const flag = orders.reduceOnly(order) ? " ro" : ""
        row[side].push(`${this.owners.get(orders.account(order))} ${size(orders.remaining(order))}${flag}`)
        rows.set(at, row)
      }
    }
    return [...rows].sort(([one], [other]) => other - one)
      .map(([at, [bids, asks]]) => tidy(`| ${bids.join(", ")} | ${price(at)} | ${asks.join(", ")} |`))
  }

  private holdings(): ReadonlyArray<string> {
    return [...this.accounts].map(([name, account]) => {
      const [position] = this.driver.engine.positions(account)
      const has = `has ${money(this.driver.engine.balance(account).collateralAtoms)}`
      if (position === undefined) return `${name} flat, ${has}`
      const quantity = position.quantityAtoms
      const held = `${quantity > 0 ? "long" : "short"} ${size(Math.abs(quantity))} for ${money(position.entryNotionalAtoms)}`
      return `${name} ${held}, ${has}`
    })
  }
}

/** The result of a step: the order's state and filled quantity, or the refusal with its figures in their units. */
const resultOf = (entry: OrderAnswer): string => {
  if (entry._tag === "OrderDecided") {
    const reason = Order.cancelReasons[entry.cancelReason]
    return [`${Order.statuses[entry.status]}${reason === "" ? "" : ` ${reason}`}`, `${size(entry.filledAtoms)} filled`].join(", ")
  }
  const { code, guard } = describe(entry.refusal)
  const show = (guard ?? "").startsWith("price") || guard === "post_only_would_cross" || guard === "no_liquidity"
    ? price
    : guard === "margin_insufficient"
    ? money
    : guard === "market_not_accepting"
    ? (code: number) => Market.statuses[code]!
    : size
  const figures = (["limit", "actual", "nearest"] as const)
    .flatMap((name) => {
      // If margin is short, the nearest value is a quantity.
      const shown = name === "nearest" && guard === "margin_insufficient" ? size : show
      return Number.isNaN(entry[name]) ? [] : [`${name} ${shown(entry[name])}`]
    })
  return ["refused " + (guard ?? code), ...figures].join(", ")
}

/** Runs a scenario and renders what happened, to be compared with what it expects. */
export const run = (scenario: Scenario): ReadonlyArray<string> => {
  const stage = new Stage()
  stage.begin(scenario.given)
  for (const step of scenario.when) stage.step(step)
  return stage.render()
}
