/** The writer over a journal controlled by the test: what is decided when, and who is told of it when. */
import { describe, expect, test } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Refusal } from "../../src/domain/Refusal.js"
import * as Stages from "../../src/domain/Stages.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { ShownTicket } from "../../src/engine/Reads.js"
import { Unknown } from "../../src/journal/Journal.js"
import { defaultOptions, type Failure, type Options, Sequencer } from "../../src/sequencer/Sequencer.js"
import { type Command, Operation, type Outcome } from "../../src/operations/Operations.js"
import { type AnyGiven, complete, completeAny, grant, orderAnswerOf } from "../engine/commands.js"
import { parameters, plain } from "../engine/drive.js"
import { FundsDriver } from "../engine/FundsDriver.js"
import { FakeJournal } from "./FakeJournal.js"

/** A sequencer, with everything around it accessible. */
class Bench {
  readonly journal = new FakeJournal()
  readonly engine: Engine
  readonly failures: Array<Failure> = []
  readonly heard: Array<string> = []
  readonly committed: Array<number> = []
  clockMs = 1_700_000_000_000
  readonly stages = Stages.make()
  readonly sequencer: Sequencer
  private turns: Array<() => void> = []
  private keys = 0

  constructor(options: Partial<Options> = {}, engine = Engine.make({ orders: 10_000, idempotencyKeys: 10_000 })) {
    this.engine = engine
    this.journal.goOnBehind(engine.sequence)
    this.sequencer = new Sequencer({
      engine: this.engine,
      journal: this.journal.service,
      turns: { schedule: (turn) => void this.turns.push(turn) },
      now: () => this.clockMs,
      monotonicNanos: () => this.clockMs * 1e6,
      stages: this.stages,
      failed: (failure) => void this.failures.push(failure),
      built: (block) => expect(this.engine.sequence).toBe(block.lastSequence),
      committed: (lastSequence) => void this.committed.push(lastSequence)
    }, { ...defaultOptions, ...options })
  }

  /** Runs the requested turn; false if none was requested. */
  turn(): boolean {
    const [turn, ...others] = this.turns
    expect(others).toEqual([])
    this.turns = []
    turn?.()
    return turn !== undefined
  }

  /** Runs turns and makes blocks durable until nothing is left to do. */
  finish(): void {
    for (;;) {
      if (this.turn()) continue
      if (this.journal.outstanding === 0) return
      this.journal.settle()
    }
  }

  /** Submits a command in short form. */
  send(name: string, given: AnyGiven): void {
    this.submit(name, completeAny(given))
  }

  /** Submits, and notes the answer under a name. */
  submit(name: string, command: Command, then: (outcome: Outcome) => void = () => {}, shown?: ShownTicket): void {
    this.sequencer.submit(command, (outcome) => {
      this.heard.push(name)
      this.outcomes.set(name, outcome)
      then(outcome)
    }, shown)
  }

  readonly outcomes = new Map<string, Outcome>()

  /** Adds an open market and an account with money, all durable. */
  open(): this {
    this.send("market", { kind: "PutMarket", idempotencyKey: "m", parameters: parameters("AAA") })
    for (const status of ["backfilling", "open"] as const) {
      this.send(status, { kind: "SetMarketStatus", idempotencyKey: status, market: 0, status })
    }
    this.send("index", { kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1000, sourceEpochMs: 0 })
    this.send("account", {
      kind: "OpenDemoAccounts",
      idempotencyKey: "a",
      collateralAtoms: 1_000_000_000,
      keys: [grant("key_1")]
    })
    this.finish()
    this.heard.length = 0
    this.committed.length = 0
    this.journal.begun.length = 0
    return this
  }

  place(idempotencyKey = `k${++this.keys}`, quantityAtoms = 10): Command {
    return complete({
      kind: "PlaceOrders",
      operation: Operation.placeBatchV1,
      account: 0,
      idempotencyKey,
      entries: [{ ...plain, quantityAtoms }]
    })
  }

  cancel(): Command {
    return complete({
      kind: "CancelOrders",
      operation: Operation.cancelV1,
      account: 0,
      idempotencyKey: `c${++this.keys}`,
      entries: [{ market: -2, orderNumber: 1, raw: "" }]
    })
  }
}

describe("turns and blocks", () => {
  test("what waits is decided in one turn and one block, and answered in order when that is durable", () => {
    const bench = new Bench().open()
    for (const name of ["a", "b", "c"]) bench.submit(name, bench.place())
    expect(bench.sequencer.inboxDepth).toBe(3)
    expect(bench.turn()).toBe(true)
    expect(bench.journal.begun).toHaveLength(1)
    expect(bench.journal.begun[0]!.records).toHaveLength(3)
    expect(bench.heard).toEqual([])
    expect(bench.sequencer.durableSequence).toBe(bench.engine.sequence - 3)
    bench.journal.settle()
    expect(bench.heard).toEqual(["a", "b", "c"])
    expect(bench.sequencer.durableSequence).toBe(bench.engine.sequence)
    expect(bench.committed).toEqual([bench.engine.sequence])
    expect(["a", "b", "c"].map((name) => bench.outcomes.get(name)!.sequence)).toEqual([6, 7, 8])
  })

  test("nothing is decided before a turn, and one turn is asked for however many wait", () => {
    const bench = new Bench().open()
    bench.submit("a", bench.place())
    bench.submit("b", bench.place())
    expect(bench.engine.sequence).toBe(5)
    expect(bench.turn()).toBe(true)
    expect(bench.turn()).toBe(false)
  })

  test("at most four blocks are in flight; the next turn waits for one of them", () => {
    const bench = new Bench().open()
    for (let block = 1; block <= 4; block++) {
      bench.submit(`b${block}`, bench.place())
      expect(bench.turn()).toBe(true)
    }
    bench.submit("b5", bench.place())
    bench.submit("b6", bench.place())
    expect(bench.turn()).toBe(false)
    expect([bench.sequencer.blocksInFlight, bench.sequencer.inboxDepth]).toEqual([4, 2])
    bench.journal.settle()
    expect(bench.heard).toEqual(["b1"])
    expect(bench.turn()).toBe(true)
    expect(bench.journal.begun.map(({ records }) => records.length)).toEqual([1, 1, 1, 1, 2])
    bench.finish()
    expect(bench.heard).toEqual(["b1", "b2", "b3", "b4", "b5", "b6"])
  })

  test("a block takes no more than its records, and the rest comes in the next turn", () => {
    const bench = new Bench({ maxRecords: 3 }).open()
    for (let count = 0; count < 7; count++) bench.submit(`${count}`, bench.place())
    bench.finish()
    expect(bench.journal.begun.map(({ records }) => records.length)).toEqual([3, 3, 1])
    expect(bench.heard).toEqual(["0", "1", "2", "3", "4", "5", "6"])
  })

  test("a turn takes no more once it has its entries, however few the commands; what came meanwhile and is no placement is first in the next", () => {
    const bench = new Bench({ maxEntries: 6 }).open()
    const batch = (name: string): Command =>
      complete({
        kind: "PlaceOrders",
        operation: Operation.placeBatchV1,
        account: 0,
        idempotencyKey: name,
        entries: Array.from({ length: 4 }, () => plain)
      })
    for (const name of ["a", "b", "c"]) bench.submit(name, batch(name))
    expect(bench.turn()).toBe(true)
    bench.send("price", { kind: "SetIndexPrice", idempotencyKey: "", market: 0, priceAtoms: 1001, sourceEpochMs: 1 })
    bench.finish()
    expect(bench.journal.begun.map(({ records }) => records.length)).toEqual([2, 2])
    expect(bench.heard).toEqual(["a", "b", "price", "c"])
  })

  test("a block takes no more once it is full", () => {
    const bench = new Bench({ fullBytes: 1024 }).open()
    for (let count = 0; count < 40; count++) bench.submit(`${count}`, bench.place())
    bench.finish()
    expect(bench.journal.begun.length).toBeGreaterThan(1)
    for (const { block } of bench.journal.begun) expect(block.bytes.length).toBeLessThanOrEqual(1024 + 512)
  })

  test("a turn in which nothing needed a record writes no block", () => {
    const bench = new Bench().open()
    const command = bench.place("same")
    bench.submit("first", command)
    bench.finish()
    bench.submit("again", command)
    bench.turn()
    expect(bench.heard).toEqual(["first", "again"])
    expect(bench.journal.begun).toHaveLength(1)
  })

  test("the digest of a block's outcome is of what its records decided, and of nothing else", () => {
    const run = (together: boolean) => {
      const bench = new Bench().open()
      bench.submit("a", bench.place("a"))
      if (!together) bench.finish()
      bench.submit("b", bench.place("b"))
      bench.finish()
      return bench.journal.begun.map(({ block }) => Buffer.from(block.outcomeDigest).toString("hex"))
    }
    const [both] = run(true)
    const [one, other] = run(false)
    expect(new Set([both, one, other]).size).toBe(3)
    expect(run(true)).toEqual([both])
  })
})

describe("duplicates", () => {
  test("in the same turn: one record, and the second hears the same after the first", () => {
    const bench = new Bench().open()
    const command = bench.place("same")
    bench.submit("first", command)
    bench.submit("second", command)
    bench.turn()
    expect(bench.heard).toEqual([])
    bench.journal.settle()
    expect(bench.heard).toEqual(["first", "second"])
    expect(bench.journal.begun[0]!.records).toHaveLength(1)
    expect(bench.outcomes.get("second")).toEqual({ ...bench.outcomes.get("first"), replayed: true })
  })

  test("in a later turn, before the first is durable: the second waits for it", () => {
    const bench = new Bench().open()
    const command = bench.place("same")
    bench.submit("first", command)
    bench.turn()
    bench.submit("second", command)
    bench.submit("other", bench.place())
    bench.turn()
    expect(bench.heard).toEqual([])
    bench.journal.settle()
    expect(bench.heard).toEqual(["first", "second"])
    bench.journal.settle()
    expect(bench.heard).toEqual(["first", "second", "other"])
  })

  test("twenty at once and twenty more are one record and forty equal answers", () => {
    const bench = new Bench().open()
    const command = bench.place("same")
    for (let count = 0; count < 20; count++) bench.submit(`${count}`, command)
    bench.turn()
    for (let count = 20; count < 40; count++) bench.submit(`${count}`, command)
    bench.finish()
    expect(bench.journal.begun.flatMap(({ records }) => records)).toHaveLength(1)
    expect(bench.heard).toHaveLength(40)
    const numbers = new Set(
      [...bench.outcomes.entries()].filter(([name]) => /^\d+$/.test(name)).map(([, one]) => orderAnswerOf(one.entries[0]).orderNumber)
    )
    expect(numbers.size).toBe(1)
  })
})

describe("what writes nothing", () => {
  test("a refusal waits until the state it was decided on is durable", () => {
    const bench = new Bench().open()
    bench.send("halt", { kind: "HaltEngine", idempotencyKey: "h" })
    bench.submit("refused", bench.place())
    bench.turn()
    expect(bench.heard).toEqual([])
    bench.journal.settle()
    expect(bench.heard).toEqual(["halt", "refused"])
    expect(bench.outcomes.get("refused")).toMatchObject({ refusal: Refusal.engineHalted, sequence: bench.engine.sequence })
  })

  test("and so does one in a later turn, on blocks still in flight", () => {
    const bench = new Bench().open()
    bench.send("halt", { kind: "HaltEngine", idempotencyKey: "h" })
    bench.turn()
    bench.submit("refused", bench.place())
    bench.turn()
    expect(bench.heard).toEqual([])
    bench.finish()
    expect(bench.heard).toEqual(["halt", "refused"])
  })

  test("a conflict is answered in its turn when everything is durable", () => {
    const bench = new Bench().open()
    bench.submit("first", bench.place("same", 10))
    bench.finish()
    bench.submit("conflict", bench.place("same", 11))
    bench.turn()
    expect(bench.outcomes.get("conflict")?.refusal).toBe(Refusal.idempotencyConflict)
  })
})

test("a full inbox refuses at once, placements before cancels, and what it took is answered", () => {
  const bench = new Bench({ inbox: { capacity: 6, reserved: 2 } }).open()
  for (let count = 0; count < 6; count++) bench.submit(`place${count}`, bench.place())
  expect(bench.heard).toEqual(["place4", "place5"])
  expect(bench.outcomes.get("place4")).toMatchObject({ refusal: Refusal.inboxFull, entries: [] })
  for (let count = 0; count < 3; count++) bench.submit(`cancel${count}`, bench.cancel())
  expect(bench.heard).toEqual(["place4", "place5", "cancel2"])
  bench.finish()
  expect(bench.heard).toEqual(["place4", "place5", "cancel2", "place0", "place1", "place2", "place3", "cancel0", "cancel1"])
})

test("what came by a ticket does nothing once the ticket has ended ahead of it, or is over by its time", () => {
  const bench = new Bench().open()
  bench.send("mint", { kind: "MintTicket", account: 0, credential: 0, scopes: 3 })
  bench.finish()
  const shown = { family: 0, expiresAtEpochMs: bench.clockMs + 1_000 }
  const { sequence } = bench.engine
  bench.submit("before", bench.place("before"), () => {}, shown)
  bench.clockMs += 1_000
  bench.submit("late", bench.place("late"), () => {}, shown)
  bench.finish()
  expect([bench.outcomes.get("before")!.refusal, bench.outcomes.get("late")!.refusal]).toEqual([Refusal.ticketExpired,
    Refusal.ticketExpired])
  const standing = { ...shown, expiresAtEpochMs: bench.clockMs + 1_000 }
  bench.submit("waits", bench.place("waits"), () => {}, standing)
  bench.send("end", { kind: "EndTickets", family: 0, generation: 0 })
  bench.finish()
  expect(bench.outcomes.get("waits")).toMatchObject({ refusal: Refusal.ticketRevoked, entries: [] })
  expect(bench.engine.sequence).toBe(sequence + 1)
  // Its key is unused, and a command without a ticket goes on.
  bench.submit("again", bench.place("waits"))
  bench.finish()
  expect(bench.outcomes.get("again")!.refusal).toBe(Refusal.none)
})

describe("fail-stop", () => {
  const lost = new Unknown({ cause: "EIO" })

  test("after a failed block nothing is answered, let out or decided any more", () => {
    const bench = new Bench().open()
    for (const name of ["a", "b", "c"]) {
      bench.submit(name, bench.place())
      bench.turn()
    }
    bench.submit("waiting", bench.place())
    let drained = false
    bench.sequencer.whenDurable(bench.engine.sequence, () => bench.heard.push("read"))
    bench.journal.settle()
    bench.journal.fail(lost)
    expect(bench.failures).toEqual([lost])
    bench.journal.settle()
    bench.submit("late", bench.place())
    bench.sequencer.whenDurable(0, () => bench.heard.push("old read"))
    bench.sequencer.drain(() => {
      drained = true
    })
    const { sequence } = bench.engine
    bench.turn()
    expect(bench.heard).toEqual(["a"])
    expect([bench.engine.sequence, drained, bench.failures.length]).toEqual([sequence, false, 1])
    expect(bench.committed).toEqual([6])
  })

  test("a second failure is not told", () => {
    const bench = new Bench().open()
    for (const name of ["a", "b"]) {
      bench.submit(name, bench.place())
      bench.turn()
    }
    bench.journal.fail(lost)
    bench.journal.fail(new Unknown({ cause: "EIO again" }))
    expect(bench.failures).toEqual([lost])
  })

  test("a defect in the engine stops the writer, and nothing of that turn is written or answered", () => {
    const bench = new Bench().open()
    bench.submit("before", bench.place())
    bench.send("defect", { ...bench.place(), credential: 99 } as Command)
    bench.submit("after", bench.place())
    bench.turn()
    expect(bench.failures).toMatchObject([{ _tag: "Defect", cause: { message: "a command names a key that was issued" } }])
    expect(bench.journal.begun).toEqual([])
    expect(bench.turn()).toBe(false)
    expect(bench.heard).toEqual([])
  })

  test("what cannot be journaled stops the writer before it is decided", () => {
    const bench = new Bench().open()
    bench.submit("defect", bench.place("k", 0.5))
    bench.turn()
    expect(bench.failures).toMatchObject([{ _tag: "Defect" }])
    expect([bench.journal.begun.length, bench.engine.sequence]).toEqual([0, 5])
  })

  test("an answer that throws stops the writer", () => {
    const bench = new Bench().open()
    bench.submit("a", bench.place(), () => {
      throw new Error("a broken client")
    })
    bench.submit("b", bench.place())
    bench.turn()
    bench.journal.settle()
    expect(bench.heard).toEqual(["a"])
    expect(bench.failures).toMatchObject([{ _tag: "Defect", cause: { message: "a broken client" } }])
  })
})

describe("draining", () => {
  test("answers what was taken, takes nothing more, and calls back once all is durable", () => {
    const bench = new Bench({ maxRecords: 2 }).open()
    for (const name of ["a", "b", "c"]) bench.submit(name, bench.place())
    bench.sequencer.drain(() => bench.heard.push("drained"))
    bench.submit("late", bench.place())
    expect(bench.outcomes.get("late")?.refusal).toBe(Refusal.inboxFull)
    bench.finish()
    expect(bench.heard).toEqual(["late", "a", "b", "c", "drained"])
  })

  test("calls back at once when there is nothing to do", () => {
    const bench = new Bench().open()
    bench.sequencer.drain(() => bench.heard.push("drained"))
    expect(bench.heard).toEqual(["drained"])
  })

  test("asked for inside a turn, waits for the block of that turn", () => {
    const bench = new Bench().open()
    const command = bench.place("same")
    bench.submit("first", command)
    bench.finish()
    bench.submit("record", bench.place())
    bench.submit("again", command, () => bench.sequencer.drain(() => bench.heard.push("drained")))
    bench.turn()
    expect(bench.heard).toEqual(["first", "again"])
    bench.finish()
    expect(bench.heard).toEqual(["first", "again", "record", "drained"])
  })
})

describe("the barrier", () => {
  test("lets out at once what is durable, and the rest in the order of blocks", () => {
    const bench = new Bench().open()
    bench.sequencer.whenDurable(0, () => bench.heard.push("0"))
    bench.sequencer.whenDurable(5, () => bench.heard.push("5"))
    expect(bench.heard).toEqual(["0", "5"])
    bench.submit("a", bench.place())
    bench.submit("b", bench.place())
    bench.turn()
    bench.submit("c", bench.place())
    bench.turn()
    bench.sequencer.whenDurable(8, () => bench.heard.push("8"))
    bench.sequencer.whenDurable(6, () => bench.heard.push("6"))
    bench.sequencer.whenDurable(5, () => bench.heard.push("5 again"))
    bench.journal.settle()
    expect(bench.heard).toEqual(["0", "5", "5 again", "a", "b", "6"])
    bench.journal.settle()
    expect(bench.heard).toEqual(["0", "5", "5 again", "a", "b", "6", "c", "8"])
  })

  test("no read holds at a sequence that the engine has not reached", () => {
    const bench = new Bench().open()
    expect(() => bench.sequencer.whenDurable(6, () => {})).toThrow("the engine has reached")
  })

  test("an answer may submit and read again", () => {
    const bench = new Bench().open()
    bench.submit("a", bench.place(), () => {
      bench.sequencer.whenDurable(bench.engine.sequence, () => bench.heard.push("read"))
      bench.submit("b", bench.place())
    })
    bench.finish()
    expect(bench.heard).toEqual(["a", "read", "b"])
  })
})

test("times in records never go back, whatever the clock does, and are the clock's when it goes on", () => {
  const bench = new Bench().open()
  const start = bench.clockMs
  const times: Array<number> = []
  for (const offset of [1000, -5_000_000, 500, 1000, 1001]) {
    bench.clockMs = start + offset
    bench.submit(`${offset}`, bench.place())
    bench.finish()
    times.push(bench.journal.begun.at(-1)!.records[0]!.atEpochMs - start)
  }
  expect(times).toEqual([1000, 1000, 1000, 1000, 1001])
  expect(bench.engine.atEpochMs).toBe(start + 1001)
})

test("records of one turn have one time", () => {
  const bench = new Bench().open()
  for (let count = 0; count < 5; count++) bench.submit(`${count}`, bench.place())
  bench.turn()
  expect(new Set(bench.journal.begun[0]!.records.map((record) => record.atEpochMs)).size).toBe(1)
})

describe("what is told of the writer", () => {
  test("how long commands waited, and how long blocks were decided and on their way, by the clock that nobody sets", () => {
    const bench = new Bench().open()
    const count = (): ReadonlyArray<number> => Stages.stageNames.map((name) => bench.stages[name].count)
    const sum = (name: Stages.Stage): number => bench.stages[name].sumSeconds
    const [edge, inbox, engine, disk, stream] = count()
    const before = [sum("inbox"), sum("disk")]
    bench.submit("a", bench.place())
    bench.submit("b", bench.place())
    bench.clockMs += 20
    bench.turn()
    bench.clockMs += 30
    bench.journal.settle()
    // Both waited in the inbox, and one block was decided and written; times in the edge and the stream are not the writer's.
    expect(count()).toEqual([edge, inbox! + 2, engine! + 1, disk! + 1, stream])
    expect([sum("inbox") - before[0]!, sum("disk") - before[1]!].map((seconds) => Math.round(seconds * 1_000))).toEqual([40, 30])
  })

  test("orders, trades and refusals of each market, once each, and none of a market that there is not", () => {
    const bench = new Bench({ inbox: { capacity: 8, reserved: 5 } }).open()
    const place = (idempotencyKey: string, more: Partial<typeof plain>): Command =>
      complete({ kind: "PlaceOrders", operation: Operation.placeBatchV1, account: 0, idempotencyKey, entries: [{ ...plain, ...more }] })
    const sent = [place("rests", { quantityAtoms: 10 }), place("too little", { quantityAtoms: 0 }), place("nowhere", { market: -1 })]
    for (const [index, command] of sent.entries()) bench.submit(`${index}`, command)
    bench.submit("no room", place("no room", {}))
    bench.finish()
    bench.submit("again", sent[1]!)
    bench.finish()
    const { activity } = bench.sequencer
    expect([activity.orders(0), activity.trades(0), activity.orders(7)]).toEqual([1, 0, 0])
    expect(activity.refusals(0)).toEqual([{ refusal: Refusal.inboxFull, count: 1 }, { refusal: Refusal.quantityOutOfBounds, count: 1 }])
    expect([activity.refusals(-1), activity.refusals(7)]).toEqual([[], []])
  })
})

const parametersOf = (base: string) => parameters(base, { indexStaleMs: 60_000, priceBandBps: 200 })

/**
 * Account 0 is long, and account 1 bids 995 for what it holds, in the first of so many markets. Then the engine was halted, and the
 * index fell to 900, below the band of that bid.
 */
const fallenUnderHalt = (options: Partial<Options> = {}, markets = 1): Bench => {
  const bench = new Bench(options)
  for (let market = 0; market < markets; market++) {
    const base = `A${market}`
    bench.send(base, { kind: "PutMarket", idempotencyKey: base, parameters: parametersOf(base) })
    for (const status of ["backfilling", "open"] as const) {
      bench.send(status, { kind: "SetMarketStatus", idempotencyKey: `${base}/${status}`, market, status })
    }
    bench.send("index", { kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms: 1000, sourceEpochMs: 0 })
  }
  const keys = [grant("key_1"), grant("key_2")]
  bench.send("accounts", { kind: "OpenDemoAccounts", idempotencyKey: "a", collateralAtoms: 1_000_000_000, keys })
  bench.finish()
  bench.clockMs += 1_000
  for (let ticks = 0; ticks < Math.ceil(markets / 16); ticks++) {
    bench.send("tick", { kind: "MarkTick" })
    bench.finish()
  }
  bench.submit("offer", orderOf("offer", 1, { side: Order.sell }))
  bench.submit("long", orderOf("long", 0, {}))
  bench.submit("bid", orderOf("bid", 1, { priceAtoms: 995 }))
  bench.finish()
  bench.send("halt", { kind: "HaltEngine", idempotencyKey: "h" })
  for (let market = 0; market < markets; market++) {
    bench.send("fall", { kind: "SetIndexPrice", idempotencyKey: "", market, priceAtoms: 900, sourceEpochMs: 0 })
  }
  bench.finish()
  bench.clockMs += 2_000
  bench.journal.begun.length = 0
  return bench
}

const orderOf = (idempotencyKey: string, account: number, entry: Partial<typeof plain>): Command =>
  complete({
    kind: "PlaceOrders",
    operation: Operation.placeBatchV1,
    account,
    idempotencyKey,
    entries: [{ ...plain, quantityAtoms: 10, ...entry }]
  })

/** What the holder sends to sell at the bid before anybody's mark. */
const saleOf = (): Command => orderOf("sale", 0, { side: Order.sell, priceAtoms: 900, reduceOnly: true, timeInForce: Order.ioc })

const resume = { kind: "ResumeEngine", idempotencyKey: "r" } as const
const kinds = ({ journal }: Bench): ReadonlyArray<ReadonlyArray<string>> =>
  journal.begun.map(({ records }) => records.map(({ command }) => (command as Command).kind))

describe("a market that is back has its new mark before anything else", () => {
  test("a holder's reduce-only order queued behind the resume meets the mark of the index that fell under the halt", () => {
    const bench = fallenUnderHalt()
    bench.send("resume", resume)
    bench.submit("sale", saleOf())
    bench.finish()
    expect(kinds(bench)).toEqual([["ResumeEngine", "MarkTick", "PlaceOrders"]])
    expect(orderAnswerOf(bench.outcomes.get("sale")!.entries[0])).toMatchObject({ filledAtoms: 0 })
    expect(bench.engine.stats(0).markPriceAtoms).toBe(900)
    // The bid that nobody could cancel under the halt lies beyond the new band.
    expect(bench.engine.book(0, 5)).toEqual({ bids: [], asks: [] })
  })

  test.each(["halted", "session", "stale"] as const)("also where it was %s, and in the block of its return", (why) => {
    const bench = new Bench()
    const marketType = why === "session" ? "equity" : "crypto"
    bench.send("market", { kind: "PutMarket", idempotencyKey: "m", parameters: { ...parametersOf("A"), marketType } })
    for (const status of ["backfilling", "open"] as const) {
      bench.send(status, { kind: "SetMarketStatus", idempotencyKey: status, market: 0, status })
    }
    const session = (state: "open" | "closed"): AnyGiven => ({
      kind: "SetMarketSession",
      market: 0,
      state,
      nextOpenEpochMs: state === "open" ? 0 : bench.clockMs + 900_000,
      nextCloseEpochMs: state === "open" ? bench.clockMs + 900_000 : 0,
      riskIncreasingOrderCutoffEpochMs: state === "open" ? bench.clockMs + 800_000 : 0
    })
    const price = (priceAtoms: number): AnyGiven => ({
      kind: "SetIndexPrice",
      idempotencyKey: "",
      market: 0,
      priceAtoms,
      sourceEpochMs: bench.clockMs
    })
    if (why === "session") bench.send("open", session("open"))
    bench.send("index", price(1000))
    bench.finish()
    bench.clockMs += 1_000
    bench.send("tick", { kind: "MarkTick" })
    bench.finish()
    if (why === "halted") bench.send("halt", { kind: "SetMarketStatus", idempotencyKey: "h", market: 0, status: "halted" })
    if (why === "session") bench.send("close", session("closed"))
    bench.finish()
    bench.clockMs += 70_000
    bench.journal.begun.length = 0
    bench.send("fall", price(900))
    if (why === "halted") bench.send("back", { kind: "SetMarketStatus", idempotencyKey: "b", market: 0, status: "open" })
    if (why === "session") bench.send("back", session("open"))
    bench.send("next", { kind: "SetLimits", idempotencyKey: "l", retentionMs: 86_400_000 })
    bench.finish()
    const back = { halted: ["SetMarketStatus"], session: ["SetMarketSession"], stale: [] }[why]
    expect(kinds(bench)).toEqual([["SetIndexPrice", ...back, "MarkTick", "SetLimits"]])
  })

  test("the timer's tick for the same marks is answered without a record, and one for later marks has its own", () => {
    const bench = fallenUnderHalt()
    bench.send("resume", resume)
    bench.send("tick", { kind: "MarkTick" })
    bench.send("tick again", { kind: "MarkTick" })
    bench.finish()
    expect(kinds(bench)).toEqual([["ResumeEngine", "MarkTick"]])
    expect(bench.heard.slice(-3)).toEqual(["resume", "tick", "tick again"])
    expect(bench.outcomes.get("tick again")).toMatchObject({ refusal: Refusal.none, sequence: bench.engine.sequence })
    bench.clockMs += 1_000
    bench.send("later", { kind: "MarkTick" })
    bench.finish()
    expect(kinds(bench).at(-1)).toEqual(["MarkTick"])
  })

  test("all markets of a resume, sixteen a record, within the bounds of a block", () => {
    for (const [options, most] of [[{}, 5], [{ maxRecords: 2 }, 2], [{ maxEntries: 2 }, 2]] as const) {
      const bench = fallenUnderHalt(options, 40)
      bench.send("resume", resume)
      bench.submit("sale", saleOf())
      bench.finish()
      expect(kinds(bench).flat()).toEqual(["ResumeEngine", "MarkTick", "MarkTick", "MarkTick", "PlaceOrders"])
      expect(Math.max(...kinds(bench).map((block) => block.length))).toBe(most)
      for (let market = 0; market < 40; market++) expect(bench.engine.stats(market).markPriceAtoms).toBe(900)
    }
  })

  test("a disk without room for marks lets through what has some, and the mark comes first once there is room", () => {
    const bench = fallenUnderHalt()
    bench.journal.make("requests")
    bench.send("resume", resume)
    bench.submit("cancel", bench.cancel())
    bench.finish()
    expect(kinds(bench)).toEqual([["ResumeEngine", "CancelOrders"]])
    bench.journal.make("all")
    bench.submit("sale", saleOf())
    bench.finish()
    expect(kinds(bench).at(-1)).toEqual(["MarkTick", "PlaceOrders"])
  })

  test.each([["reductions", Refusal.none], ["marks", Refusal.journalFull]] as const)(
    "where the journal has room for %s, a withdrawal's preparation is refused as %i, and a stop of them is taken",
    (room, refusal) => {
      const driver = new FundsDriver()
      const number = driver.withdrawal(driver.funded(10_000_000), 4_000_000)
      const bench = new Bench({}, driver.engine)
      bench.clockMs = driver.atEpochMs
      bench.journal.make(room)
      bench.send("prepared", driver.preparation(number))
      bench.send("stopped", { kind: "StopWithdrawals", idempotencyKey: "", reason: "reconciliation", differenceAtoms: -1, atOffset: 9 })
      bench.finish()
      expect(["prepared", "stopped"].map((name) => bench.outcomes.get(name)!.refusal)).toEqual([refusal, Refusal.none])
    }
  )

  test("nothing is marked ahead under a halt, in a market that is still closed, or before a start's own record", () => {
    const bench = fallenUnderHalt({ maxRecords: 1 })
    bench.send("opened", { kind: "OpenVenue", environment: "development", codec: 1, program: "", rules: 8 })
    bench.send("set", { kind: "SetMarketStatus", idempotencyKey: "set", market: 0, status: "halted" })
    bench.send("resume", resume)
    bench.send("limits", { kind: "SetLimits", idempotencyKey: "l", retentionMs: 86_400_000 })
    bench.finish()
    expect(kinds(bench).flat()).toEqual(["OpenVenue", "SetMarketStatus", "ResumeEngine", "SetLimits"])
    bench.send("open", { kind: "SetMarketStatus", idempotencyKey: "open again", market: 0, status: "open" })
    bench.finish()
    // Another process over the same state: its first record is its start's.
    const next = new Bench({}, new Engine(Snapshot.unsafeDecode(Snapshot.encode(bench.engine.state), bench.engine.state.capacity)))
    next.clockMs = bench.clockMs
    next.send("start", { kind: "StartVenue", codec: 1, program: "", rules: 8, stateBefore: "", stateAfter: "" })
    next.finish()
    expect(kinds(next)).toEqual([["StartVenue", "MarkTick"]])
  })
})
