/** The rules in the document beside the engine: the worked numbers are computed again, and the invariants have properties. */
import * as fs from "node:fs"
import { describe, expect, it, test } from "vitest"
import { watchers } from "../../sim/properties/All.js"
import type * as Market from "../../src/domain/Market.js"
import { notionalFactor } from "../../src/domain/Market.js"
import * as Order from "../../src/domain/Order.js"
import { none } from "../../src/domain/None.js"
import { describe as describeRefusal, Refusal } from "../../src/domain/Refusal.js"
import type * as Session from "../../src/domain/Session.js"
import { formatDecimal, moneyScale, parseDecimal } from "../../src/domain/Units.js"
import { type AutoClose, noAutoClose } from "../../src/operations/accounts/AutoClose.js"
import { Operation } from "../../src/operations/Operations.js"
import { Accounts } from "../../src/engine/Accounts.js"
import { Bracket, Brackets } from "../../src/engine/accounts/Brackets.js"
import { type Direction, long, short } from "../../src/engine/accounts/Triggers.js"
import * as Bankruptcy from "../../src/engine/accounts/Bankruptcy.js"
import { equities } from "../../src/engine/accounts/Equities.js"
import { scoreOf } from "../../src/engine/accounts/Deleveraging.js"
import { priceOf } from "../../src/engine/accounts/LiquidationPrice.js"
import * as Margin from "../../src/engine/Margin.js"
import { finalPriceAt } from "../../src/engine/markets/FinalPrice.js"
import { owed } from "../../src/engine/markets/Funding.js"
import { inputs, ofInputs } from "../../src/engine/markets/Mark.js"
import { MarketState } from "../../src/engine/Markets.js"
import * as Positions from "../../src/engine/Positions.js"
import { orderAnswerOf } from "./commands.js"
import { Driver, parameters } from "./drive.js"
import { KeyOwner } from "./KeyOwner.js"
import * as WorkedRisk from "./WorkedRisk.js"

const rules = fs.readFileSync("src/engine/RULES.md", "utf8")

/** A row of a table, by column names. */
type Row = Readonly<Record<string, string>>

const cells = (line: string): ReadonlyArray<string> => line.split("|").slice(1, -1).map((cell) => cell.trim())

/** The table under a heading of the rules. */
const worked = (title: string): ReadonlyArray<Row> => {
  const [, behind] = rules.split(`**Worked: ${title}**`)
  const lines = behind!.split("\n").slice(1)
  const start = lines.findIndex((line) => line.startsWith("|"))
  const end = lines.findIndex((line, index) => index > start && !line.startsWith("|"))
  const [header, , ...rows] = lines.slice(start, end).map(cells)
  return rows.map((row) => Object.fromEntries(header!.map((name, column) => [name, row[column]!])))
}

const atoms = (text: string, scale: number): number => {
  const parsed = parseDecimal(text, scale)
  if (typeof parsed === "string") throw new Error(`${text} is ${parsed} at scale ${scale}`)
  return parsed
}

const money = (row: Row, column: string): number => atoms(row[column]!, moneyScale)
const whole = (row: Row, column: string): number => {
  const text = row[column]!
  return text.startsWith("-") ? -atoms(text.slice(1), 0) : atoms(text, 0)
}
const shown = (moneyAtoms: number): string => formatDecimal(moneyAtoms, moneyScale)

/** The equity of an account that is alone in its market, and its leaf. */
const solvencyOf = (row: Row): Row => {
  const accounts = new Accounts()
  accounts.setCollateral(accounts.open(1, 1), whole(row, "Collateral"))
  const held = new Positions.Positions()
  const slot = held.touch(accounts, 0, 0)
  held.setQuantity(slot, whole(row, "Size"))
  held.setEntryNotional(slot, whole(row, "Entry notional"))
  const view = equities({ accounts, positions: held, markets: [{ mark: whole(row, "Mark"), factor: 1 }], settling: 0 })
  const equity = view!.equityAtoms[0]!
  return { Equity: String(equity), Leaf: String(Math.max(0, equity)) }
}

/** The tiers, read from the text of the rules: thresholds in USDC. */
const tiers: Market.Parameters["maintenanceMarginTiers"] = [...rules.matchAll(/from (\d+)(?: USDC)? at (\d+) bps/g)].map((match) => ({
  notionalThresholdAtoms: atoms(match[1]!, moneyScale),
  maintenanceMarginBps: Number(match[2])
}))

const market = (markAtoms: number, change: Partial<Market.Parameters> = {}): MarketState => {
  const state = new MarketState(
    0,
    parameters("BTC", { priceScale: 2, quantityScale: 4, initialMarginBps: 100, maintenanceMarginTiers: tiers, ...change })
  )
  state.setMark(markAtoms)
  return state
}

const liquidationPrice = (row: Row): Row => {
  const { parameters: rules } = market(1)
  const at = priceOf({ factor: 1, parameters: rules }, whole(row, "Size"), whole(row, "Entry notional"), whole(row, "Beside"))
  return { "Liquidation price": at === 0 ? "none" : String(at) }
}

const bracketOf = (number: number, slot: number, direction: Direction, triggers: Partial<AutoClose>): Bracket =>
  new Bracket(number, 0, 0, slot, direction, { ...noAutoClose, ...triggers }, false, 0, 0)

/** An account's position against another, with brackets of these sizes, after a further fill. */
const bracketsAfter = (position: number, brackets: ReadonlyArray<number>, fill: number): ReadonlyArray<number> => {
  const driver = new Driver()
  driver.market(parameters("BTC"), 1000)
  const [account, other] = [driver.account(1_000_000_000), driver.account(1_000_000_000)]
  const trade = (size: number): void => {
    driver.place(other, { side: size > 0 ? Order.sell : Order.buy, quantityAtoms: Math.abs(size) })
    driver.place(account, { side: size > 0 ? Order.buy : Order.sell, quantityAtoms: Math.abs(size) })
  }
  trade(position)
  const { state } = driver.engine
  brackets.forEach((quantity, index) => {
    const bracket = bracketOf(index + 1, state.positions.find(account, 0), position > 0 ? long : short, {})
    state.brackets.add(bracket)
    bracket.quantityAtoms = quantity
  })
  trade(fill)
  return state.brackets.all().map(({ quantityAtoms }) => quantityAtoms)
}

const firing = (row: Row): Row => {
  const brackets = new Brackets()
  const trigger = { priceAtoms: whole(row, "Price"), by: 0, limitAtoms: 0 } as const
  const triggers = row["Trigger"] === "take-profit" ? { takeProfit: trigger } : { stopLoss: trigger }
  const bracket = bracketOf(1, 0, row["Position"] === "long" ? long : short, triggers)
  brackets.add(bracket)
  brackets.arm(bracket)
  brackets.note(0, 0, whole(row, "Named price"))
  return { Fires: brackets.isBehind ? "yes" : "no" }
}

const trimming = (row: Row): Row => {
  const position = whole(row, "Position before")
  const fill = whole(row, "Fill")
  const after = bracketsAfter(position, row["Brackets"]!.split(", ").map(Number), fill)
  return { "Position after": String(position + fill), "Brackets after": after.join(", ") }
}

const announcedMargins = (row: Row): Row => {
  const [collateral, notional] = [money(row, "Collateral, USDC"), money(row, "Notional, USDC")]
  const announced = parameters("BTC", {
    initialMarginBps: whole(row, "initialMarginBps"),
    maintenanceMarginTiers: [{ notionalThresholdAtoms: 0, maintenanceMarginBps: whole(row, "maintenanceMarginBps") }]
  })
  const [asked, needed] = [Margin.initial(announced, notional, 0), Margin.maintenance(announced.maintenanceMarginTiers, notional)]
  return {
    "Initial margin, USDC": shown(asked),
    "Maintenance margin, USDC": shown(needed),
    "Under initial": collateral < asked ? "yes" : "no",
    "Under maintenance": collateral < needed ? "yes" : "no"
  }
}

const scores = (row: Row): Row => {
  const score = scoreOf({
    account: 0,
    unrealizedPnlAtoms: whole(row, "Profit"),
    entryNotionalAtoms: whole(row, "Entry notional"),
    notionalAtoms: whole(row, "Notional at mark"),
    equityAtoms: whole(row, "Equity")
  })
  return { Score: String(Number(score.toFixed(4))) }
}

const finalPrices = (row: Row): Row => {
  const state = market(1, { minPriceAtoms: whole(row, "minPrice"), maxPriceAtoms: whole(row, "maxPrice") })
  state.indexPrice = whole(row, "Index")
  state.indexMinutes = [...row["Minutes"]!.matchAll(/(\d+): (\d+) in (\d+)/g)]
    .map(([, minute, sum, ticks]) => ({ minute: Number(minute), sum: Number(sum), ticks: Number(ticks) }))
  return { "Final price": String(finalPriceAt(state, whole(row, "Minute of the record") * 60_000 + 59_999)) }
}

/** Four accounts with the trades and balances of the rules, in a market that is then delisted. */
const settlements = (row: Row): Row => {
  const driver = new Driver()
  driver.market(parameters("BTC", { priceScale: 2, quantityScale: 4, makerFeeBps: 0, takerFeeBps: 0, minQuantityAtoms: 1 }), 1000)
  const accounts = ["A", "B", "C", "D"].map(() => driver.account(1_000_000_000))
  const [a, b, c, d] = accounts as [number, number, number, number]
  const trade = (buyer: number, seller: number, quantityAtoms: number, priceAtoms: number): void => {
    driver.place(seller, { side: Order.sell, quantityAtoms, priceAtoms })
    driver.place(buyer, { quantityAtoms, priceAtoms })
  }
  trade(a, b, 6, 1005)
  trade(a, c, 4, 1015)
  trade(d, c, 4, 985)
  const { engine } = driver
  const { state } = engine
  worked("settlement").forEach((each, index) => state.accounts.setCollateral(accounts[index]!, whole(each, "Collateral")))
  const account = accounts["ABCD".indexOf(row["Account"]!)]!
  const before = engine.balance(account)
  const [held] = engine.positions(account)
  driver.send({ kind: "DelistMarket", idempotencyKey: "d", market: 0, action: "delist", effectiveAtEpochMs: 0 })
  driver.pass()
  const closedAt = (price: number): string =>
    String(
      engine.liquidationsOf(account, 0, 10).filter(({ priceAtoms }) => priceAtoms === price).reduce(
        (sum, { filledAtoms }) => sum + filledAtoms,
        0
      )
    )
  return {
    Size: String(held!.quantityAtoms),
    "Entry notional": String(held!.entryNotionalAtoms),
    Equity: String(before.equityAtoms),
    "Closed at 1004": closedAt(1004),
    "Closed at 1000": closedAt(1000),
    "Collateral after": String(engine.balance(account).collateralAtoms)
  }
}

const funding = (row: Row): Row => {
  const payment = { indexAtoms: whole(row, "Index"), rate8hE9: whole(row, "Rate"), intervalMs: 3_600_000 }
  return { Paid: String(owed({ factor: 1 }, payment, whole(row, "Size"))) }
}

const minuteMs = 60_000
const minutesAt = (text: string): number => {
  const [hours, minutes] = text.split(":").map(Number)
  return hours! * 60 + minutes!
}

/** What is remembered of a placement and its cancel after `minute` minutes, under the retentions of the rules. */
const rememberedAt = (row: Row, minute: number): Row => {
  const driver = new Driver()
  driver.market(parameters("BTC"), 1000)
  const [account, beginMs] = [driver.account(1_000_000_000), driver.atEpochMs]
  const placement = { ...driver.placement(account, {}), operation: Operation.placeV1 }
  let orderNumber = none
  const acts: ReadonlyArray<readonly [minute: number, act: () => void]> = [
    [10 * 60, () => void driver.retain(60 * minuteMs)],
    [20 * 60, () => void driver.retain(48 * 60 * minuteMs)],
    [minutesAt(row["Placed"]!), () => {
      orderNumber = orderAnswerOf(driver.run(placement).entries[0]).orderNumber!
    }],
    [minutesAt(row["Canceled"]!), () =>
      void driver.send({
        kind: "CancelOrders",
        operation: Operation.cancelV1,
        account,
        idempotencyKey: "cancel",
        entries: [{ market: 0, orderNumber, raw: "" }]
      })],
    [minute, () => void driver.send({ kind: "PassTime" })]
  ]
  for (const [at, act] of acts.toSorted(([one], [other]) => one - other)) {
    if (at > minute) break
    driver.atEpochMs = Math.max(driver.atEpochMs, beginMs + at * minuteMs)
    act()
  }
  const { engine } = driver
  return {
    "Key of the placement until": String(engine.findOutcomes(account, placement.idempotencyKey).length > 0),
    "Key of the cancel until": String(engine.findOutcomes(account, "cancel").length > 0),
    "Order until": String(engine.findOrder(account, orderNumber) !== undefined)
  }
}

/** The minute from which what a column is about is no longer remembered. */
const rememberedUntil = (row: Row, column: string): string => {
  let [held, gone] = [minutesAt(row["Canceled"]!), 100 * 60]
  while (gone - held > 1) {
    const minute = Math.floor((held + gone) / 2)
    if (rememberedAt(row, minute)[column] === "true") held = minute
    else gone = minute
  }
  return `${Math.floor(gone / 60)}:${String(gone % 60).padStart(2, "0")}`
}

const remembering = (row: Row): Row => {
  const columns = Object.keys(row).filter((column) => column.endsWith("until"))
  return Object.fromEntries(columns.map((column) => [column, rememberedUntil(row, column)]))
}

/** The outcome of two orders of an account that is long, in a record after the one that set a session. */
const sessionAt = (row: Row): Row => {
  const driver = new Driver()
  driver.market(parameters("XAU", { marketType: "commodity" }), 1000)
  const [account, other] = [driver.account(1_000_000_000), driver.account(1_000_000_000)]
  const from = driver.atEpochMs
  const journal = (state: Session.State, closes: number, cutoff: number): void =>
    void driver.send({
      kind: "SetMarketSession",
      market: 0,
      state,
      nextOpenEpochMs: from + 10_000_000,
      nextCloseEpochMs: from + closes * 1_000,
      riskIncreasingOrderCutoffEpochMs: from + cutoff * 1_000
    })
  if (row["Journaled"] !== "none") {
    journal("open", 1_000, 1_000)
    driver.place(other, { side: Order.sell, quantityAtoms: 100 })
    driver.place(account, { quantityAtoms: 100 })
    journal(row["Journaled"] as Session.State, whole(row, "Close"), whole(row, "Cutoff"))
  }
  driver.atEpochMs = from + whole(row, "Record at") * 1_000
  const came = (entry: Parameters<Driver["place"]>[1]): string => {
    const { refusal } = driver.place(account, { quantityAtoms: 10, ...entry })
    return refusal === Refusal.none ? "taken" : describeRefusal(refusal).guard!
  }
  const [grows, reduces] = [came({ priceAtoms: 990 }), came({ side: Order.sell, priceAtoms: 1010, reduceOnly: true })]
  return { Session: driver.engine.market(0).session!.state, Grows: grows, Reduces: reduces }
}

/** An account that makes a number of seven-day keys per day. */
const keysTold = (row: Row): Row => {
  const owner = new KeyOwner()
  for (let day = 1; day <= whole(row, "Days"); day++) {
    owner.atEpochMs += 86_400_000
    const session = owner.signIn()
    for (let count = 0; count < whole(row, "Issued a day"); count++) {
      const keyId = owner.connect(session, 604_800)
      if (row["Revoked at once"] === "yes") owner.revoke(session, keyId)
    }
  }
  const { apiKeys } = owner.engine.state
  const told = owner.engine.apiKeys(0, Number.POSITIVE_INFINITY)
  const acting = told.filter(({ credential }) => apiKeys.actsUntil(credential) > owner.atEpochMs)
  return { Acting: String(acting.length), "Ended and told": String(told.length - acting.length) }
}

/** The expected values of a row, computed from its inputs. */
const computed: Readonly<Record<string, (row: Row) => Row>> = {
  notional: (row) => {
    const scales = { priceScale: whole(row, "priceScale"), quantityScale: whole(row, "quantityScale") }
    const price = atoms(row["Price"]!, scales.priceScale)
    const quantity = atoms(row["Quantity"]!, scales.quantityScale)
    const factor = notionalFactor(scales)
    return { K: String(factor), "Notional, USDC": shown(price * quantity * factor) }
  },
  fee: (row) => ({ "Fee, USDC": shown(Margin.bpsCeil(money(row, "Notional, USDC"), whole(row, "feeBps"))) }),
  fill: (row) => {
    const into: Positions.Filled = { quantity: 0, entryNotional: 0, realizedPnl: 0, opens: false }
    const [position, fill] = [whole(row, "Position"), whole(row, "Fill")]
    Positions.fill(into, position, whole(row, "Entry notional"), fill > 0, Math.abs(fill), whole(row, "Price"), 1)
    return {
      Profit: String(into.realizedPnl),
      "Position after": String(into.quantity),
      "Entry notional after": String(into.entryNotional)
    }
  },
  "mark band": (row) => {
    const state = market(1, { markBandBps: whole(row, "markBandBps"), maxPriceAtoms: 10_000_000 })
    state.indexPrice = whole(row, "Index")
    const at = (basis: number): string => {
      state.basis = [basis]
      state.lastPrice = Math.max(1, state.indexPrice + basis)
      return String(ofInputs(inputs(state, state.lastPrice, state.lastPrice, 1)))
    }
    return { Lowest: at(-state.indexPrice), Highest: at(state.indexPrice) }
  },
  "mark prices": WorkedRisk.markPrices,
  "impact price": WorkedRisk.impactPrices,
  "another interval": WorkedRisk.otherIntervals,
  "funding rate": WorkedRisk.fundingRates,
  funding,
  "maintenance margin": (row) => ({ "Maintenance margin, USDC": shown(Margin.maintenance(tiers, money(row, "Notional, USDC"))) }),
  "initial margin": (row) => ({
    "Initial margin, USDC": shown(Margin.initial(market(1).parameters, money(row, "Notional, USDC"), 0))
  }),
  leverage: (row) => ({
    "Initial margin, USDC": shown(Margin.initial(market(1).parameters, money(row, "Notional, USDC"), whole(row, "Leverage")))
  }),
  exposure: (row) => {
    const into = new Margin.Requirement()
    const [position, buys, sells] = [whole(row, "Position"), whole(row, "Open buys"), whole(row, "Open sells")]
    Margin.require(into, market(6_000_000), 0, position, 0, buys, sells, 0, 0)
    const alone = new Margin.Requirement()
    Margin.require(alone, market(6_000_000), 0, whole(row, "Exposure"), 0, 0, 0, 0, 0)
    expect(alone.initialMargin).toBe(into.initialMargin)
    return { "Initial margin, USDC": shown(into.initialMargin) }
  },
  "loss at once": (row) => {
    const side = row["Side"] === "buy" ? Order.buy : Order.sell
    const loss = Margin.lossAtOnce(market(whole(row, "Mark")), side, whole(row, "Price"), whole(row, "Size"))
    return { "Loss, USDC": shown(loss) }
  },
  "liquidation price": liquidationPrice,
  withdrawable: WorkedRisk.withdrawables,
  "accept rule": WorkedRisk.accepted,
  "bankruptcy price": (row) => {
    const [mark, equity] = [whole(row, "Mark"), whole(row, "Equity")]
    const [margin, sum] = [whole(row, "MM"), whole(row, "Sum of MM")]
    const allotted = Math.floor((equity * margin) / sum)
    return { E: String(allotted), pb: String(Bankruptcy.price({ factor: 1, mark }, whole(row, "Size"), equity, margin, sum)) }
  },
  takeover: WorkedRisk.takeovers,
  ranking: scores,
  "final price": finalPrices,
  settlement: settlements,
  triggers: firing,
  brackets: trimming,
  band: (row) => {
    const { bandHigh, bandLow } = market(whole(row, "Mark"), { priceBandBps: whole(row, "priceBandBps") })
    return { Lowest: String(bandLow), Highest: String(bandHigh) }
  },
  "announced margins": announcedMargins,
  sessions: sessionAt,
  "ended keys": keysTold,
  solvency: solvencyOf,
  retention: remembering
}

describe("worked numbers", () => {
  it("each table has a computation, and each computation a table", () => {
    const titles = [...rules.matchAll(/\*\*Worked: ([a-z ]+)\*\*/g)].map((match) => match[1])
    expect(titles).toEqual(Object.keys(computed))
  })

  it("the tiers are those of the text", () => {
    expect(tiers.map(({ maintenanceMarginBps }) => maintenanceMarginBps)).toEqual([50, 100, 250])
  })

  it.each(Object.keys(computed))("%s", (title) => {
    const rows = worked(title)
    expect(rows.length).toBeGreaterThan(2)
    for (const row of rows) expect(row).toMatchObject(computed[title]!(row))
  })
})

test("the invariants name every property of the simulator, each under its own number", () => {
  const text = fs.readFileSync("src/engine/INVARIANTS.md", "utf8")
  const named = text.split("\n").filter((line) => line.startsWith("| ")).flatMap((line) => {
    const [number, , properties] = cells(line)
    return [...(properties ?? "").matchAll(/`([a-z-]+)`/g)].map((match) => `${number} ${match[1]}`)
  })
  expect(named.sort()).toEqual(watchers().map(({ invariant, name }) => `${invariant} ${name}`).sort())
})
