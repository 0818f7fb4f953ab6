/** Symbols asked for in one request of an exchange that refuses the whole request for one of them. */
import { expect, test } from "vitest"
import { Batches, longestRestMs } from "../../src/oracle/Batches.js"

class Refused extends Error {
  override name = "Refused"
}

/** An error that does not tell whether it is for a symbol or for the exchange. */
class Unclear extends Error {
  override name = "ExchangeNotAvailable"
}

class TooMany extends Error {}

/** For how long a poll begins further requests. */
const apartMs = 1_000

class Exchange {
  readonly gone = new Set<string>()
  /** Set where it answers nothing at all. */
  down = false
  /** Set where it answers only so many requests of a poll, and none before it is asked less. */
  mostRequests = Number.POSITIVE_INFINITY
  /** A symbol that is never answered where it is asked for alone. */
  hanging: string | undefined
  /** The errors of symbols that are gone and asked for alone, and of other requests for such, where it is not a refusal. */
  readonly alone = new Map<string, Error>()
  joint: Error | undefined
  /** How long it takes to answer a request, in milliseconds. */
  answerMs = 0
  asked: Array<ReadonlyArray<string>> = []
  nowEpochMs = 1_000_000
  private readonly timers = new Set<{ leftMs: number; readonly run: () => void }>()
  readonly batches: Batches<number>

  constructor(readonly symbols: Array<string>, mostApart = 16) {
    this.batches = new Batches({
      find: (asked) => this.answer(asked),
      findAlone: (symbol) => symbol === this.hanging ? this.never(symbol) : this.answer([symbol]),
      faultOf: (cause) => cause instanceof Refused ? "symbol" : cause instanceof TooMany ? "haste" : "unclear",
      mostApart,
      apartMs,
      after: (leftMs) => new Promise((resolve) => void this.timers.add({ leftMs, run: resolve }))
    })
  }

  private async answer(symbols: ReadonlyArray<string>): Promise<ReadonlyArray<readonly [string, number]>> {
    this.asked.push(symbols)
    this.pass(this.answerMs)
    await Promise.resolve()
    if (this.down) throw new Unclear("no route")
    if (this.asked.length > this.mostRequests) throw new TooMany("too many requests")
    const gone = symbols.filter((symbol) => this.gone.has(symbol))
    if (gone.length > 0) throw (symbols.length === 1 ? this.alone.get(gone[0]!) : this.joint) ?? new Refused("unknown pair")
    return symbols.map((symbol) => [symbol, 1])
  }

  private never(symbol: string): Promise<never> {
    this.asked.push([symbol])
    return new Promise(() => {})
  }

  /** Lets time pass for what waits. */
  pass(millis: number): void {
    for (const timer of this.timers) {
      timer.leftMs -= millis
      if (timer.leftMs > 0) continue
      this.timers.delete(timer)
      timer.run()
    }
  }

  /** Polls a second later: which symbols were answered, which are refused or open, and how many requests it took. */
  async poll(afterMs = 1_000) {
    this.asked = []
    this.nowEpochMs += afterMs
    const { found, open, refused } = await this.batches.ask(this.symbols, this.nowEpochMs)
    // What goes on behind the answer ends before the next poll.
    for (let step = 0; step < 200; step++) await Promise.resolve()
    return { found: found.map(([symbol]) => symbol).sort(), refused: refused.map(([symbol]) => symbol), open, requests: this.asked.length }
  }
}

const named = (count: number): Array<string> => Array.from({ length: count }, (_, index) => `S${String(index).padStart(4, "0")}`)
const without = (symbols: ReadonlyArray<string>, ...gone: ReadonlyArray<string>) => symbols.filter((symbol) => !gone.includes(symbol))

test("a symbol that is gone costs no other its answer, and is asked for alone from then on", async () => {
  const exchange = new Exchange(named(4))
  expect(await exchange.poll()).toMatchObject({ found: exchange.symbols, requests: 1 })
  exchange.gone.add("S0002")
  const rest = without(exchange.symbols, "S0002")
  expect(await exchange.poll()).toEqual({ found: rest, refused: ["S0002"], open: [], requests: 5 })
  expect(await exchange.poll()).toEqual({ found: rest, refused: ["S0002"], open: [], requests: 2 })
  expect(exchange.asked).toEqual([rest, ["S0002"]])
})

test("a symbol that stays gone is asked for more and more seldom, at last once a minute, and is back a minute later at most", async () => {
  const exchange = new Exchange(named(3))
  exchange.gone.add("S0000")
  const requestsIn = async (polls: number): Promise<number> => {
    let requests = 0
    for (let poll = 0; poll < polls; poll++) requests += (await exchange.poll()).requests
    return requests
  }
  expect(await requestsIn(120)).toBeLessThan(120 + 3 + 8)
  expect(await requestsIn(600)).toBe(600 + 10)
  exchange.gone.clear()
  let waited = 0
  while ((await exchange.poll()).found.length < 3) waited++
  expect(waited).toBeLessThanOrEqual(longestRestMs / 1_000 + 1)
  expect(await exchange.poll()).toEqual({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test("one answer that went wrong leaves its symbol out of two polls only", async () => {
  const exchange = new Exchange(named(3))
  exchange.gone.add("S0001")
  await exchange.poll()
  exchange.gone.clear()
  expect(await exchange.poll()).toMatchObject({ found: without(exchange.symbols, "S0001"), requests: 2 })
  expect(await exchange.poll()).toEqual({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test.each([[2, 2], [40, 2], [40, 16], [1_024, 2], [1_024, 16]])("of %i symbols, several are found with at most %i further requests a poll",
  async (count, most) => {
    const exchange = new Exchange(named(count), most)
    const gone = exchange.symbols.filter((_, index) => index % 300 === 1)
    for (const symbol of gone) exchange.gone.add(symbol)
    const rest = without(exchange.symbols, ...gone)
    let polls = 0
    for (let answered: ReadonlyArray<string> = []; answered.length < rest.length; polls++) {
      const { found, open, refused, requests } = await exchange.poll().catch(() => ({ found: [], open: [], refused: [], requests: 0 }))
      expect(exchange.asked.length).toBeLessThanOrEqual(most + 1)
      if (requests > 0) expect(new Set([...found, ...open, ...refused]).size).toBe(count)
      answered = found
    }
    expect(polls).toBeLessThan(most === 2 ? 64 : 16)
    expect((await exchange.poll(longestRestMs)).found).toEqual(rest)
  })

test("an exchange that refuses everything fails, however often it is asked, and costs few requests", async () => {
  const exchange = new Exchange(named(8))
  for (const symbol of exchange.symbols) exchange.gone.add(symbol)
  let requests = 0
  for (let poll = 0; poll < 60; poll++) {
    await expect(exchange.poll()).rejects.toThrow("unknown pair")
    requests += exchange.asked.length
  }
  expect(requests).toBeLessThan(60 + 8 * 8)
  const many = new Exchange(named(200))
  for (const symbol of many.symbols) many.gone.add(symbol)
  for (let poll = 0; poll < 100; poll++) {
    await expect(many.poll(15_000)).rejects.toThrow("unknown pair")
    if (poll > 0) expect(many.asked.length).toBeLessThanOrEqual(2)
  }
  exchange.gone.clear()
  expect(await exchange.poll()).toMatchObject({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test("an exchange that is down or wants fewer requests fails, costs one request more at most, and nothing is left out for it", async () => {
  const exchange = new Exchange(named(8))
  exchange.down = true
  for (let poll = 0; poll < 5; poll++) {
    await expect(exchange.poll()).rejects.toThrow("no route")
    expect(exchange.asked.length).toBe(2)
  }
  exchange.down = false
  exchange.mostRequests = 0
  await expect(exchange.poll()).rejects.toThrow("too many requests")
  expect(exchange.asked.length).toBe(1)
  exchange.mostRequests = Number.POSITIVE_INFINITY
  expect(await exchange.poll()).toEqual({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test.each([2, 4, 16])("a symbol that fails alone as if the exchange were down is refused as any other, with %i requests apart",
  async (most) => {
    for (const place of [0, 3]) {
      const exchange = new Exchange(named(4), most)
      const [stuck, gone] = [exchange.symbols[place]!, exchange.symbols[2]!]
      exchange.gone.add(stuck).add(gone)
      exchange.alone.set(stuck, new Unclear("404"))
      for (let poll = 0; poll < 5; poll++) await exchange.poll().catch(() => undefined)
      const { found, open, refused } = await exchange.poll()
      expect([found, [...refused].sort(), open]).toEqual([without(exchange.symbols, stuck, gone), [stuck, gone].sort(), []])
      let requests = 0
      for (let poll = 0; poll < 300; poll++) requests += (await exchange.poll()).requests
      expect(requests).toBeLessThan(300 + 2 * 10)
      exchange.gone.delete(gone)
      await exchange.poll(longestRestMs)
      expect((await exchange.poll()).found).toEqual(without(exchange.symbols, stuck))
    }
  })

test("symbols whose requests cannot be understood together or alone hold up none of those behind them", async () => {
  const exchange = new Exchange(named(6), 2)
  for (const symbol of ["S0000", "S0001", "S0002"]) exchange.gone.add(symbol)
  exchange.joint = new Unclear("cannot read properties")
  for (const symbol of ["S0000", "S0001"]) exchange.alone.set(symbol, new Unclear("cannot read properties"))
  let polls = 0
  while ((await exchange.poll().catch(() => ({ refused: [] }))).refused.length < 3) expect(polls++).toBeLessThan(12)
  expect(await exchange.poll()).toMatchObject({ found: named(6).slice(3), open: [] })
})

test("requests that fail for a symbol as if the exchange were down are split where the exchange answers others", async () => {
  const exchange = new Exchange(named(40))
  exchange.gone.add("S0000")
  exchange.joint = new Unclear("500")
  exchange.alone.set("S0000", exchange.joint)
  const rest = without(exchange.symbols, "S0000")
  const most = []
  for (let poll = 0; poll < 4; poll++) {
    await exchange.poll().catch(() => undefined)
    most.push(exchange.asked.length)
  }
  expect(Math.max(...most)).toBeLessThanOrEqual(18)
  expect(await exchange.poll(5_000)).toMatchObject({ found: rest, refused: ["S0000"], open: [] })
  exchange.gone.clear()
  await exchange.poll(longestRestMs)
  expect(await exchange.poll()).toEqual({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test("requests that take long end with the time for them, and so does the wait for one that is not answered", async () => {
  const exchange = new Exchange(named(6))
  exchange.answerMs = 600
  exchange.gone.add("S0005")
  expect(await exchange.poll()).toMatchObject({ found: named(2), requests: 3 })
  for (let poll = 0; poll < 3; poll++) await exchange.poll()
  expect(await exchange.poll(5_000)).toMatchObject({ found: named(5), refused: ["S0005"], open: [] })

  const hanging = new Exchange(named(4))
  hanging.gone.add("S0000")
  hanging.hanging = "S0000"
  const first = hanging.poll().catch((cause: unknown) => cause)
  for (let step = 0; step < 200; step++) await Promise.resolve()
  hanging.pass(2 * apartMs)
  expect(await first).toBeInstanceOf(Refused)
  expect(await hanging.poll()).toMatchObject({ found: named(4).slice(1), open: ["S0000"] })
})

test("polls that overlap split the same symbols once", async () => {
  const exchange = new Exchange(named(4))
  exchange.gone.add("S0001")
  const { batches, symbols } = exchange
  await Promise.all([1, 2, 3, 4].map((afterMs) => batches.ask(symbols, exchange.nowEpochMs + afterMs).catch(() => undefined)))
  let requests = 0
  for (let poll = 0; poll < 300; poll++) requests += (await exchange.poll()).requests
  expect(requests).toBeLessThan(300 + 12)
  expect((await exchange.poll()).refused).toEqual(["S0001"])
})

test("an exchange that wants fewer requests meanwhile is asked for nothing else in that poll, and what it answered counts", async () => {
  const exchange = new Exchange(named(8))
  exchange.gone.add("S0007")
  exchange.mostRequests = 4
  const { found, open, refused, requests } = await exchange.poll()
  expect([found, refused, [...open].sort(), requests]).toEqual([named(3), [], named(8).slice(3), 5])
  expect(await exchange.poll()).toMatchObject({ found: named(3), requests: 5 })
  expect(await exchange.poll()).toMatchObject({ found: without(named(7), "S0003"), requests: 3 })
  expect(await exchange.poll()).toMatchObject({ found: named(7), refused: ["S0007"], open: [], requests: 2 })
  // With symbols left out, an exchange that fails is still one that fails.
  exchange.down = true
  await expect(exchange.poll(longestRestMs)).rejects.toThrow("no route")
  expect(exchange.asked.length).toBe(2)
})

test("the only symbol is asked for at each poll, and symbols that are no longer wanted are forgotten", async () => {
  const exchange = new Exchange(["S0000"])
  exchange.gone.add("S0000")
  for (let poll = 0; poll < 3; poll++) {
    await expect(exchange.poll()).rejects.toThrow("unknown pair")
    expect(exchange.asked.length).toBe(1)
  }
  exchange.symbols.push("S0001")
  expect(await exchange.poll()).toMatchObject({ found: ["S0001"], refused: ["S0000"] })
  exchange.symbols.shift()
  expect(await exchange.poll(longestRestMs)).toEqual({ found: ["S0001"], refused: [], open: [], requests: 1 })
})

test("a clock that is set back does not leave a symbol out for as long as it was ahead", async () => {
  const exchange = new Exchange(named(2))
  exchange.gone.add("S0000")
  for (let poll = 0; poll < 3; poll++) await exchange.poll()
  exchange.gone.clear()
  await exchange.poll(-3_600_000)
  expect((await exchange.poll()).found).toEqual(exchange.symbols)
})

test("a refused symbol that is never answered holds up neither the others nor the polls after it", async () => {
  const exchange = new Exchange(named(6))
  exchange.gone.add("S0003")
  await exchange.poll()
  exchange.hanging = "S0003"
  const rest = without(exchange.symbols, "S0003")
  for (const requests of [2, 1, 1]) expect(await exchange.poll()).toEqual({ found: rest, refused: ["S0003"], open: [], requests })
})
