/** A state that is written and read back in the middle of a stream continues as if nothing had happened. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import { Engine } from "../../src/engine/Engine.js"
import * as Invariants from "../../src/engine/Invariants.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { Capacity, State } from "../../src/engine/State.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { Driver, parameters, RandomDriver } from "./drive.js"

interface Run {
  readonly command: Command
  readonly atEpochMs: number
}

/** A random driver that records everything it ran, from its first command on. */
class Recording extends RandomDriver {
  declare noted: Array<Run> | undefined

  get runs(): ReadonlyArray<Run> {
    return this.noted ?? []
  }

  override run(command: Command): Outcome {
    this.noted ??= []
    this.noted.push({ command, atEpochMs: this.atEpochMs })
    return super.run(command)
  }
}

const bytesOf = (state: State): ReadonlyArray<readonly [string, string]> =>
  Snapshot.encode(state).map(({ bytes, name }) => [name, Buffer.from(bytes).toString("base64")])

const linesOf = (state: State): ReadonlyArray<string> => {
  const lines: Array<string> = []
  Snapshot.canonical(state, (line) => lines.push(line))
  return lines
}

/** Runs one command as the sequencer would; returns the outcome and the bytes of its events. */
const step = (engine: Engine, { atEpochMs, command }: Run): readonly [Outcome, string] => {
  engine.state.events.clear()
  const outcome = engine.admit(command, atEpochMs) ?? engine.apply(command, engine.sequence + 1, atEpochMs)
  return [outcome, Buffer.from(engine.state.events.bytes()).toString("base64")]
}

/** Copies of the sections, some of them at offsets at which no typed array may begin. */
const displaced = (sections: ReadonlyArray<Snapshot.Section>): ReadonlyArray<Snapshot.Section> =>
  sections.map(({ bytes, name }, index) => {
    const buffer = new Uint8Array(bytes.length + 8)
    buffer.set(bytes, index % 8)
    return { name, bytes: buffer.subarray(index % 8, (index % 8) + bytes.length) }
  })

/** The sections, read into memory on which a state's tables can continue to work. */
const inRooms = (sections: ReadonlyArray<Snapshot.Section>, capacity: Capacity): ReadonlyArray<Snapshot.Section> => {
  const memoryFor = Snapshot.memoryFor(capacity)
  return sections.map(({ bytes, name }) => {
    const memory = memoryFor(name, bytes.length)
    memory.bytes.set(bytes)
    return { name, ...memory }
  })
}

test("goes on bit for bit from anywhere in a stream", () => {
  const capacity: Capacity = { orders: 600, idempotencyKeys: 700 }
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 300 }), fc.boolean(),
      (seed, before, after, isCopied) => {
        const driver = new Recording(seed, Engine.make(capacity))
        for (let count = 0; count < before; count++) driver.step()
        const cut = driver.runs.length
        const { state } = driver.engine
        const encoded = Snapshot.encode(state)
        const restored = new Engine(Snapshot.unsafeDecode(isCopied ? displaced(encoded) : inRooms(encoded, capacity), capacity))
        expect(bytesOf(restored.state)).toEqual(bytesOf(state))
        expect(linesOf(restored.state)).toEqual(linesOf(state))
        // The original continues at its own time, and the restored engine is given the same commands.
        const reference = Engine.make(capacity)
        for (const run of driver.runs) step(reference, run)
        for (let count = 0; count < after; count++) driver.step()
        for (const run of driver.runs.slice(cut)) expect(step(restored, run)).toEqual(step(reference, run))
        expect(linesOf(restored.state)).toEqual(linesOf(reference.state))
        expect(bytesOf(restored.state)).toEqual(bytesOf(reference.state))
        expect(linesOf(reference.state)).toEqual(linesOf(driver.engine.state))
        expect(Invariants.firstBroken(restored.state)).toBe(undefined)
      }),
    { numRuns: 25 }
  )
})

test("is read back into larger tables, and goes on alike", () => {
  const driver = new Recording(7)
  for (let count = 0; count < 400; count++) driver.step()
  const larger = new Engine(
    Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), { orders: 50_000, idempotencyKeys: 50_000 })
  )
  const cut = driver.runs.length
  for (let count = 0; count < 400; count++) driver.step()
  for (const run of driver.runs.slice(cut)) step(larger, run)
  expect(linesOf(larger.state)).toEqual(linesOf(driver.engine.state))
})

test("more accounts than the first columns hold keep their margins over a restart", () => {
  const driver = new Driver()
  driver.market(parameters("AAA"), 1000)
  for (let count = 0; count < 200; count++) driver.account(1_000_000_000)
  for (let account = 0; account < 200; account++) driver.place(account, { priceAtoms: 900, quantityAtoms: 1 + account })
  const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), driver.engine.state.capacity))
  for (let account = 0; account < 200; account++) {
    expect(restored.balance(account)).toEqual(driver.engine.balance(account))
    expect(restored.balance(account).initialMarginAtoms).toBe((1 + account) * 10_000)
  }
})

test("totals beyond the safe integers come back to the atom", () => {
  const driver = new Driver()
  for (let count = 0; count < 4; count++) driver.account(2 ** 52 - 1)
  driver.engine.state.fees.add(2 ** 50 + 7)
  const restored = Snapshot.unsafeDecode(Snapshot.encode(driver.engine.state), driver.engine.state.capacity)
  expect([restored.credited.atoms, restored.fees.atoms]).toEqual([4n * (2n ** 52n - 1n), 2n ** 50n + 7n])
})

test("is of the moment it was taken, whatever the engine does next", () => {
  const driver = new Recording(11)
  for (let count = 0; count < 200; count++) driver.step()
  const sections = Snapshot.encode(driver.engine.state)
  const before = sections.map(({ bytes }) => Buffer.from(bytes).toString("base64"))
  for (let count = 0; count < 200; count++) driver.step()
  expect(sections.map(({ bytes }) => Buffer.from(bytes).toString("base64"))).toEqual(before)
})

test("an empty state is one too", () => {
  const capacity = { orders: 1, idempotencyKeys: 1 }
  const state = Snapshot.unsafeDecode(Snapshot.encode(Engine.make(capacity).state), capacity)
  expect(linesOf(state)).toEqual(linesOf(Engine.make(capacity).state))
})

describe("what is no state is not read", () => {
  const sections = (() => {
    const driver = new RandomDriver(3)
    for (let count = 0; count < 100; count++) driver.step()
    return Snapshot.encode(driver.engine.state)
  })()
  const capacity = { orders: 10_000, idempotencyKeys: 10_000 }

  // Texts that an earlier program did not write are read as empty.
  const required = sections.filter(({ name }) => name !== "accounts.displayHandles")

  test.each(required.map(({ name }) => name))("without its section %s", (name) => {
    // The log of fills reads whatever sections have its names, and its error names no missing one.
    const message = name.startsWith("fills.") ? undefined : `section ${name}`
    expect(() => Snapshot.unsafeDecode(sections.filter((section) => section.name !== name), capacity)).toThrow(message)
  })

  test("with more orders than there is room for", () => {
    expect(() => Snapshot.unsafeDecode(sections, { ...capacity, orders: 10 })).toThrow("ORDER_CAPACITY is 10, and the orders")
  })

  test("with more keys than there is room for", () => {
    expect(() => Snapshot.unsafeDecode(sections, { ...capacity, idempotencyKeys: 10 })).toThrow(
      "IDEMPOTENCY_CAPACITY is 10, and the idempotency keys"
    )
  })
})

test("texts of any characters come back as they were", () => {
  const engine = Engine.make({ orders: 100, idempotencyKeys: 100 })
  const { accounts, orders } = engine.state
  const account = accounts.open(64, 1)
  const texts = ["", "plain", "caf\u00e9", "\u2603 of three bytes", "\u{1d11e} of four", "\u007f\u0080", "x".repeat(64)]
  texts.forEach((text, at) => {
    const order = orders.allocate()
    orders.write(order, (at + 1) * 64, account, 0, 0, 100, 1, 1, 1)
    orders.clientOrderId.put(order, text)
    orders.idempotencyKey.put(order, `${text}!`)
  })
  const read = Snapshot.unsafeDecode(Snapshot.encode(engine.state), { orders: 100, idempotencyKeys: 100 }).orders
  expect(texts.map((_, order) => read.clientOrderId.at(order))).toEqual(texts)
  expect(texts.map((_, order) => read.idempotencyKey.at(order))).toEqual(texts.map((text) => `${text}!`))
  expect(texts.slice(1).map((text) => read.findClient(account, text))).toEqual([1, 2, 3, 4, 5, 6])
  expect(texts.map((_, at) => read.find((at + 1) * 64))).toEqual([0, 1, 2, 3, 4, 5, 6])
})

test("what tables go on in is given once, and never to a capacity that could not hold it", () => {
  const driver = new Recording(12)
  for (let count = 0; count < 100; count++) driver.step()
  const { capacity } = driver.engine.state
  const sections = inRooms(Snapshot.encode(driver.engine.state), capacity)
  expect(sections.filter(({ room }) => room !== undefined).map(({ name }) => name))
    .toEqual(["orders.rows", "orders.pastRows", "idempotency.rows"])
  expect(linesOf(Snapshot.unsafeDecode(sections, capacity))).toEqual(linesOf(driver.engine.state))
  expect(() => Snapshot.unsafeDecode(sections, capacity)).toThrow("what is in a room is taken once")
  const small = inRooms(Snapshot.encode(driver.engine.state), { orders: 1, idempotencyKeys: 1 })
  expect(small.filter(({ room }) => room !== undefined)).toEqual([])
})

/** What of the state no part writes, and why. */
const unwritten: Readonly<Record<string, ReadonlyArray<string>>> = {
  "what is given at the start, or handed on": ["capacity", "listedFrom", "events", "endOf", "readAhead", "evict"],
  "found again in the markets": ["marketById", "marketBySymbol", "sessions", "announcements", "delistings"],
  "rebuilt from positions, orders and marks": ["triggers", "openLists", "crossing", "clearing", "unawaitedAtEpochMs", "riskEpoch",
    "settled"],
  "of the record that is being decided": ["changedAccounts", "liquidating", "closing", "traded", "settleLeft", "met", "weighed",
    "sampledSequence"],
  "of the last refusal": ["requiredAtoms", "availableAtoms"],
  "of a preview": ["isTrial", "trialFeesAtoms"],
  "read by nobody": ["seen"]
}

test("a part writes and digests each member of the state, or it is said why not", () => {
  const driver = new RandomDriver(1)
  for (let count = 0; count < 200; count++) driver.step()
  // Columns are read where there are rows.
  const { state } = driver.engine
  const untouched = (work: (watched: State) => unknown): ReadonlyArray<string> => {
    const met = new Set<string | symbol>()
    work(new Proxy(state, {
      get: (target, name, receiver) => {
        met.add(name)
        return Reflect.get(target, name, receiver) as unknown
      }
    }))
    return Object.keys(state).filter((name) => !met.has(name)).sort()
  }
  const listed = Object.values(unwritten).flat().sort()
  expect(untouched(bytesOf)).toEqual(listed)
  expect(untouched(linesOf)).toEqual(listed)
})
