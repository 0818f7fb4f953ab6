/**
 * Worst: the most expensive single command. Every kind that a client could send to hold up others is sent repeatedly to a full venue:
 * `admit` and `apply` of one record. For each kind the fastest repetition counts, so that only the command itself is measured, and among
 * the kinds the slowest. The limit is 1 ms.
 *
 * `--only worst` lists all kinds; the table has only the slowest.
 */
import { anyMarket, none } from "../../src/domain/None.js"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { maxDemoAccounts, usualDemoKeySeconds } from "../../src/operations/accounts/OpenDemoAccounts.js"
import { type Command, Operation, withFields } from "../../src/operations/Operations.js"
import { mid, parameters } from "./EngineCommands.js"
import { type Options, result, type Result, type Section } from "./Section.js"
import { accountOrders, batch, deep, entry, held, hoarder, low, penniless, rich, shape, sweep, World } from "./WorstWorld.js"

const allowedUs = 1000
/** Fewest and most repetitions of a kind: V8 has compiled a command's code after a few dozen runs. */
const fewest = 7
const most = 60
/** The time after which a kind is no longer repeated, if it has run often enough, in milliseconds. */
const longMs = 4_000
/** A timeout for dead-man switches, in milliseconds. */
const timeoutMs = 10_000
const hourMs = 3_600_000
/** Accounts whose switches fire at once, each with as many orders as a market allows. */
const switched = 200
/** Orders that expire at one time. */
const expiring = 20_000

/** A kind of command, with the preparation of each repetition. */
interface Kind {
  readonly name: string
  readonly command: (world: World) => Command
  /** Restores what a repetition has used up. */
  readonly after?: (world: World) => void
  /** Whether each repetition ends tens of thousands of orders, which stay in the tables for a day: then only a few are made. */
  readonly fillsTables?: true
}

const cancelAll = (world: World, account: number, market: number): Command => ({
  kind: "CancelAllOrders",
  ...world.byClient(Operation.cancelAllV1, account),
  market,
  raw: ""
})

const setSwitch = (world: World, account: number, ms: number): Command => ({
  kind: "SetCancelAllAfter",
  ...world.byClient(Operation.cancelAllAfterV1, account),
  timeoutMs: ms
})

/** Places as many bids as a market allows for an account, far below the mark. */
const restMany = (world: World, account: number, count: number, expiresAtEpochMs = 0): void => {
  for (let at = 0; at < count; at += batch) {
    const size = Math.min(batch, count - at)
    world.do(
      world.place(account, Array.from({ length: size }, (_, index) =>
        entry({ market: 2, side: Order.buy, priceAtoms: mid - 1000 - index, expiresAtEpochMs })))
    )
  }
}

const armMany = (world: World): Command => {
  for (let account = 0; account < switched; account++) {
    restMany(world, account, accountOrders)
    world.do(setSwitch(world, account, timeoutMs))
  }
  world.later(timeoutMs + 1)
  return world.passTime()
}

const expireMany = (world: World): Command => {
  const at = world.atEpochMs + timeoutMs
  for (let account = 0; account * accountOrders < expiring; account++) restMany(world, account, accountOrders, at)
  world.later(timeoutMs + 1)
  return world.passTime()
}

/** Moves every mark, so that all cached margins are outdated, and the hoarder's bids lie beyond the mark. */
const moveMarks = (world: World): void => {
  const to = world.engine.state.markets[deep]!.mark === low ? low + 1 : low
  for (let market = 0; market < shape.markets; market++) world.do(world.setIndex(market, to))
  world.tick()
}

const marksBack = (world: World): void => {
  for (let market = 0; market < shape.markets; market++) world.do(world.setIndex(market, mid))
  world.tick()
  world.settle()
}

/** The hoarder's newest order. */
const hoarded = ({ engine: { state } }: World): number =>
  state.orders.number(state.positions.lastOrder(state.positions.find(hoarder, deep)))

const kinds: ReadonlyArray<Kind> = [
  {
    name: "a batch of sweeps refused for margin",
    command: (world) => world.place(penniless, Array.from({ length: batch }, () => sweep(Order.buy)))
  },
  {
    name: "a sweep as all marks have moved",
    command: (world) => {
      for (let market = 1; market < shape.markets; market++) world.do(world.setIndex(market, mid + 1))
      world.tick()
      return world.place(rich, [sweep(Order.buy, 5_000)])
    },
    after: marksBack
  },
  { name: "a sweep", command: (world) => world.place(rich, [sweep(Order.buy, 5_000)]) },
  { name: "a batch of sweeps", command: (world) => world.place(rich, Array.from({ length: batch }, () => sweep(Order.buy, 1_000))) },
  {
    name: "a sweep of one who has as many orders in every market",
    command: (world) => {
      moveMarks(world)
      return world.place(rich, [{ ...sweep(Order.sell, 1_000), market: held }])
    },
    after: (world) => {
      marksBack(world)
      world.hoard(2)
    }
  },
  {
    name: "a sweep of those who have an order in every market, as all marks have moved",
    command: (world) => {
      world.syndicateOffers()
      moveMarks(world)
      return world.place(rich, [sweep(Order.buy, 1_024)])
    },
    after: marksBack
  },
  {
    name: "an order of an account with orders in every market, as all marks have moved",
    command: (world) => {
      moveMarks(world)
      return world.place(hoarder, [entry({ market: deep, side: Order.buy, priceAtoms: 90_000 })])
    },
    after: marksBack
  },
  {
    name: "a cancel of all orders",
    command: (world) => cancelAll(world, hoarder, anyMarket),
    after: (world) => {
      world.settle()
      world.hoard()
    },
    fillsTables: true
  },
  {
    name: "a cancel of all orders in a market",
    command: (world) => cancelAll(world, hoarder, deep),
    after: (world) => {
      world.settle()
      world.hoard(1)
    }
  },
  { name: "dead-man switches of many accounts", command: armMany, after: (world) => world.settle(), fillsTables: true },
  { name: "many orders that expire", command: expireMany, after: (world) => world.settle(), fillsTables: true },
  {
    name: "an operator's cancel of a market",
    command: (world) =>
      withFields("CancelByOperator", world.byOperator(Operation.cancelByOperator), {
        market: deep,
        ofAccount: none,
        orderNumber: none,
        tellsOwner: true
      }),
    after: (world) => world.hoard(1)
  },
  {
    name: "a mark with everything outside the band",
    command: (world) => {
      world.do(world.setIndex(deep, mid * 2))
      world.later(1_000)
      return world.markTick()
    },
    // The remaining orders are more than enough.
    after: (world) => world.moveMark(deep, mid)
  },
  {
    name: "a minimum that would strand 100,000 positions",
    command: (world) =>
      withFields("PutMarket", world.byOperator(Operation.putMarket), {
        parameters: { ...parameters(held), minQuantityAtoms: 3 },
        effectiveAtEpochMs: 0
      })
  },
  {
    name: "a maximum that would strand 100,000 positions",
    command: (world) =>
      withFields("PutMarket", world.byOperator(Operation.putMarket), {
        parameters: { ...parameters(held), maxQuantityAtoms: 1 },
        effectiveAtEpochMs: 0
      })
  },
  {
    name: "an amendment",
    command: (world) => {
      moveMarks(world)
      return {
        kind: "AmendOrder",
        ...world.byClient(Operation.amendV1, hoarder),
        market: deep,
        orderNumber: hoarded(world),
        priceAtoms: mid - 2,
        quantityAtoms: none,
        fault: Refusal.none,
        raw: ""
      }
    },
    after: marksBack
  },
  {
    name: "a leverage of one who has orders in every market, as all marks have moved",
    command: (world) => {
      moveMarks(world)
      return { kind: "SetLeverage", ...world.byClient(Operation.setLeverageV1, hoarder), market: deep, leverageX: 7 }
    },
    after: marksBack
  },
  {
    name: "a take-profit and stop-loss of one who has orders in every market, as all marks have moved",
    command: (world) => {
      moveMarks(world)
      const trigger = (priceAtoms: number) => ({ priceAtoms, by: 0, limitAtoms: 0 }) as const
      return {
        kind: "SetAutoClose",
        ...world.byClient(Operation.setAutoCloseV1, hoarder),
        market: held,
        takeProfit: trigger(mid * 2),
        stopLoss: trigger(1),
        fault: Refusal.none,
        raw: ""
      }
    },
    after: marksBack
  },
  {
    name: "an announcement that looks at 100,000 positions",
    command: (world) =>
      withFields("PutMarket", world.byOperator(Operation.putMarket), {
        parameters: { ...parameters(held), initialMarginBps: 300, maxLeverageX: 33 },
        effectiveAtEpochMs: world.atEpochMs + 25 * hourMs
      })
  },
  {
    name: "an announcement as all marks have moved",
    command: (world) => {
      moveMarks(world)
      return withFields("PutMarket", world.byOperator(Operation.putMarket), {
        parameters: { ...parameters(held), initialMarginBps: 301, maxLeverageX: 33 },
        effectiveAtEpochMs: world.atEpochMs + 25 * hourMs
      })
    },
    after: marksBack
  },
  {
    name: "a retention",
    command: (world) => withFields("SetLimits", world.byOperator(Operation.setLimits), { retentionMs: 24 * hourMs })
  },
  {
    name: "a fence",
    command: (world) => ({
      kind: "FenceOutcome",
      ...world.byClient(Operation.fenceV1, rich),
      fencedKey: "a".repeat(255),
      fencedClientOrderId: ""
    })
  },
  {
    name: "an opening of accounts",
    command: (world) => {
      const header = world.byOperator(Operation.openDemoAccounts)
      const keys = Array.from({ length: maxDemoAccounts }, (_, index) => ({
        keyId: `${header.idempotencyKey}-${index}`,
        displayPrefix: `${index}`,
        secretSha256: index.toString(16).padStart(64, "0"),
        scopes: 3,
        expiresAtEpochMs: 2 ** 52
      }))
      return withFields("OpenDemoAccounts", header, { collateralAtoms: 1, keys, lifetimeSeconds: usualDemoKeySeconds })
    }
  },
  {
    name: "the lifting of a halt with much that is due",
    command: (world) => {
      const at = world.atEpochMs + timeoutMs
      for (let account = 0; account * accountOrders < expiring; account++) restMany(world, account, accountOrders, at)
      world.do(withFields("HaltEngine", world.byOperator(Operation.haltEngine), {}))
      world.later(timeoutMs + 1)
      return withFields("ResumeEngine", world.byOperator(Operation.resumeEngine), {})
    },
    after: (world) => world.settle(),
    fillsTables: true
  }
]

/** Measurements that are not of a single command: the fastest of several repetitions, in microseconds. */
const others: ReadonlyArray<{ readonly name: string; readonly once: (world: World) => number }> = [
  { name: "the slowest tick of all marks", once: (world) => world.tick() },
  {
    name: "the slowest tick as all marks move",
    once: (world) => {
      const to = world.engine.state.markets[deep]!.mark === mid ? mid + 1 : mid
      for (let market = 0; market < shape.markets; market++) world.do(world.setIndex(market, to))
      return world.tick()
    }
  },
  { name: "the slowest tick as the funding interval of every market ends", once: (world) => world.endIntervals() },
  {
    name: "a preview of one who has orders in every market, as all marks have moved",
    once: (world) => {
      moveMarks(world)
      const from = performance.now()
      world.engine.preview(hoarder, entry({ market: deep, side: Order.buy, priceAtoms: 90_000 }), world.atEpochMs)
      const microseconds = (performance.now() - from) * 1000
      marksBack(world)
      return microseconds
    }
  },
  {
    name: "a preview of a sweep",
    once: (world) => {
      const from = performance.now()
      world.engine.preview(rich, sweep(Order.buy, 1_000), world.atEpochMs)
      return (performance.now() - from) * 1000
    }
  }
]

/** The fastest repetition in microseconds: repeated until it is warm, or has taken long enough. */
const fastestOf = (once: () => number, atMost = most): number => {
  const from = performance.now()
  let least = Number.POSITIVE_INFINITY
  for (let at = 0; at < atMost && (at < fewest || performance.now() - from < longMs); at++) least = Math.min(least, once())
  return least
}

/** The fastest of a kind's repetitions, microseconds. */
const fastest = (world: World, { after, command, fillsTables }: Kind): number =>
  fastestOf(() => {
    const microseconds = world.time(command(world))
    after?.(world)
    return microseconds
  }, fillsTables ? fewest : most)

/** The records after the retention was shortened so much that everything kept for a day is examined and rescheduled. */
const afterShortening = (world: World): number => {
  world.do(withFields("SetLimits", world.byOperator(Operation.setLimits), { retentionMs: 10 * 60_000 }))
  world.later(11 * 60_000)
  const least = Math.min(...Array.from({ length: fewest }, () => world.time(world.passTime())))
  world.do(withFields("SetLimits", world.byOperator(Operation.setLimits), { retentionMs: 24 * hourMs }))
  return least
}

/** Commands after everything kept for a day has expired: reusing a key, and the records that forget. */
const afterQuietDay = (world: World, log: Options["log"]): ReadonlyArray<{ readonly name: string; readonly microseconds: number }> => {
  const reused = Array.from({ length: fewest }, () => world.place(rich, [entry({ market: 3, side: Order.buy, priceAtoms: mid - 2_000 })]))
  for (const command of reused) world.do(command)
  world.do(cancelAll(world, rich, anyMarket))
  world.later(25 * hourMs)
  const least = (commands: ReadonlyArray<Command>): number => Math.min(...commands.map((command) => world.time(command)))
  log(`worst: ${world.engine.state.idempotency.size} keys are a day old`)
  return [
    { name: "the first records after a quiet day", microseconds: least(reused.map(() => world.passTime())) },
    { name: "a key used again whose day is over", microseconds: least(reused) }
  ]
}

const run = async ({ log }: Options): Promise<ReadonlyArray<Result>> => {
  const world = new World(1_000_000)
  const { accounts, idempotency, openOrders, positions } = world.engine.state
  log(`worst: ${openOrders} orders rest, ${idempotency.size} keys, ${accounts.count} accounts, ${positions.count} positions`)
  const measured = kinds.map((kind) => {
    const microseconds = fastest(world, kind)
    log(`worst: ${kind.name}: ${microseconds.toFixed(1)} us`)
    return { name: kind.name, microseconds }
  })
  for (const { name, once } of others) {
    const microseconds = fastestOf(() => once(world))
    log(`worst: ${name}: ${microseconds.toFixed(1)} us`)
    measured.push({ name, microseconds })
  }
  const shortened = { name: "the first records under a shorter retention", microseconds: afterShortening(world) }
  for (const each of [shortened, ...afterQuietDay(world, log)]) {
    log(`worst: ${each.name}: ${each.microseconds.toFixed(1)} us`)
    measured.push(each)
  }
  const dearest = measured.reduce((one, other) => other.microseconds > one.microseconds ? other : one)
  return [result("worst", `us, ${dearest.name}`, dearest.microseconds, allowedUs)]
}

export const section: Section = { name: "worst", run }
