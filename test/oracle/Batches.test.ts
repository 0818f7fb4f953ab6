/** Symbols asked for in one request of an exchange that refuses the whole request for one of them. */
import { expect, test } from "vitest"
import { Batches, longestRestMs } from "../../src/oracle/Batches.js"

class Refused extends Error {
  override name = "Refused"
}

class Exchange {
  readonly gone = new Set<string>()
  /** Set where it answers nothing at all. */
  down = false
  /** Set where it answers only so many requests of a poll, and none before it is asked less. */
  mostRequests = Number.POSITIVE_INFINITY
  /** A symbol that is never answered where it is asked for alone. */
  hanging: string | undefined
  asked: Array<ReadonlyArray<string>> = []
  nowEpochMs = 1_000_000
  readonly batches: Batches<number>

  constructor(readonly symbols: Array<string>, mostApart = 16) {
    this.batches = new Batches({
      find: (asked) => this.answer(asked),
      findAlone: (symbol) => symbol === this.hanging ? this.never(symbol) : this.answer([symbol]),
      isOfSymbol: (cause) => cause instanceof Refused,
      mostApart
    })
  }

  private async answer(symbols: ReadonlyArray<string>): Promise<ReadonlyArray<readonly [string, number]>> {
    this.asked.push(symbols)
    await Promise.resolve()
    if (this.down || this.asked.length > this.mostRequests) throw new Error("no route")
    if (symbols.some((symbol) => this.gone.has(symbol))) throw new Refused("unknown pair")
    return symbols.map((symbol) => [symbol, 1])
  }

  private never(symbol: string): Promise<never> {
    this.asked.push([symbol])
    return new Promise(() => {})
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
  exchange.gone.clear()
  expect(await exchange.poll()).toMatchObject({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test("a failure that is no symbol's fails at once, and nothing is left out for it", async () => {
  const exchange = new Exchange(named(8))
  exchange.down = true
  await expect(exchange.poll()).rejects.toThrow("no route")
  expect(exchange.asked.length).toBe(1)
  exchange.down = false
  expect(await exchange.poll()).toEqual({ found: exchange.symbols, refused: [], open: [], requests: 1 })
})

test("an exchange that wants fewer requests meanwhile is asked for nothing else in that poll, and what it answered counts", async () => {
  const exchange = new Exchange(named(8))
  exchange.gone.add("S0007")
  exchange.mostRequests = 4
  const { found, open, refused, requests } = await exchange.poll()
  expect([found, refused, open, requests]).toEqual([named(3), [], named(8).slice(3), 5])
  expect(await exchange.poll()).toMatchObject({ found: named(3), requests: 5 })
  expect(await exchange.poll()).toMatchObject({ found: named(6), requests: 3 })
  expect(await exchange.poll()).toMatchObject({ found: named(7), refused: ["S0007"], open: [], requests: 2 })
  // With symbols left out, an exchange that fails is still one that fails.
  exchange.down = true
  await expect(exchange.poll(longestRestMs)).rejects.toThrow("no route")
  expect(exchange.asked.length).toBe(1)
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
