/** The index stream by itself: numbers, repeats, sessions and limits, with a venue that decides when the test says so. */
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Reads } from "../../src/engine/Reads.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { type Acknowledged, IndexStream, maxSamples, type StreamedPrice } from "../../src/oracle/IndexStream.js"

const marketId = "BTC-USDC-PERP"

const make = () => {
  const submitted: Array<Command & { readonly decide: () => void }> = []
  const refused: Array<number> = []
  let sessions = 0
  const time = { nowMs: 1_000_000 }
  const reads = {
    findMarket: (id: string) => id === marketId ? 4 : -1,
    market: () => ({ parameters: { priceScale: 1 } })
  } as unknown as Reads
  const stream = new IndexStream(
    reads,
    (command, answer) => {
      const outcome: Outcome = { sequence: submitted.length + 1, atEpochMs: 1, refusal: 0, replayed: false, entries: [] }
      submitted.push({ ...command, decide: () => answer(outcome) })
    },
    () => time.nowMs,
    () => `session-${++sessions}`,
    (market) => refused.push(market)
  )
  const acknowledged: Array<Acknowledged> = []
  const offer = (session: string, sequence: number, prices: ReadonlyArray<StreamedPrice> = [price(60_000)]) =>
    stream.offer(session, sequence, prices, (ack) => acknowledged.push(ack))
  return { stream, submitted, acknowledged, offer, refused, time }
}

const price = (of: number, id = marketId): StreamedPrice => ({ marketId: id, price: of, sourceEpochMs: 7 })

describe("a batch", () => {
  test("is acknowledged once all of it is decided, in its own order", () => {
    const { acknowledged, offer, refused, stream, submitted } = make()
    const { session } = stream.open()
    expect(offer(session, 1, [price(60_000.04), price(1, "NONE"), price(0.01), price(61_000)])).toBeUndefined()
    expect(refused).toEqual([4])
    expect(submitted.map((command) => command.kind === "SetIndexPrice" && [command.market, command.priceAtoms, command.sourceEpochMs]))
      .toEqual([
        [4, 600_000, 7],
        [4, 610_000, 7]
      ])
    submitted[1]!.decide()
    expect(acknowledged).toEqual([])
    submitted[0]!.decide()
    expect(acknowledged).toHaveLength(1)
    expect(acknowledged[0]).toMatchObject({ session, lastSequence: 1, repeated: false })
    expect(acknowledged[0]!.decided.map(({ outcome }) => typeof outcome === "string" ? outcome : outcome.sequence)).toEqual([
      1,
      "market_unknown",
      "price_invalid",
      2
    ])
  })

  test("that was taken before does nothing again; the last one tells what it came to, once that is decided", () => {
    const { acknowledged, offer, stream, submitted } = make()
    const { session } = stream.open()
    offer(session, 1)
    offer(session, 2)
    offer(session, 2)
    offer(session, 1)
    expect([submitted.length, acknowledged.length]).toEqual([2, 0])
    for (const { decide } of submitted) decide()
    expect(acknowledged.map(({ decided, lastSequence, repeated }) => [lastSequence, repeated, decided.length])).toEqual([
      [1, false, 1],
      [2, false, 1],
      [2, true, 1],
      [2, true, 0]
    ])
  })

  test("behind a gap is not taken, and the number that is expected is said", () => {
    const { offer, stream, submitted } = make()
    const { session } = stream.open()
    expect(offer(session, 2)).toEqual({ reason: "gap", expected: 1 })
    offer(session, 1)
    expect(offer(session, 3)).toEqual({ reason: "gap", expected: 2 })
    expect(submitted).toHaveLength(1)
    expect(stream.position).toEqual({ session, lastSequence: 1 })
  })

  test("of a session that has ended, or was never opened, is not taken", () => {
    const { offer, stream, submitted } = make()
    expect([stream.position, offer("session-1", 1)]).toEqual([undefined, { reason: "session_ended" }])
    const { session } = stream.open()
    offer(session, 1)
    expect(stream.open()).toEqual({ session: "session-2", lastSequence: 0 })
    expect(offer(session, 2)).toEqual({ reason: "session_ended" })
    expect(offer("session-2", 1)).toBeUndefined()
    expect(submitted).toHaveLength(2)
  })
})

describe("bounds", () => {
  const full = Array.from({ length: 200 }, () => price(60_000))

  test("a burst is taken, then a thousand prices a second; a batch that is not taken keeps its number", () => {
    const { offer, stream, submitted, time } = make()
    const { session } = stream.open()
    for (let sequence = 1; sequence <= 10; sequence++) expect(offer(session, sequence, full)).toBeUndefined()
    for (const { decide } of submitted) decide()
    expect(offer(session, 11, full)).toEqual({ reason: "too_much" })
    time.nowMs += 199
    expect(offer(session, 11, full)).toEqual({ reason: "too_much" })
    time.nowMs += 1
    expect(offer(session, 11, full)).toBeUndefined()
    time.nowMs -= 500_000
    expect(offer(session, 12, full)).toEqual({ reason: "too_much" })
    time.nowMs += 200
    expect(offer(session, 12, full)).toBeUndefined()
  })

  test("no more than 2,048 are on their way, however slowly they are sent", () => {
    const { offer, stream, submitted, time } = make()
    const { session } = stream.open()
    const send = (sequence: number) => {
      time.nowMs += 1_000
      return offer(session, sequence, full)
    }
    for (let sequence = 1; sequence <= 10; sequence++) expect(send(sequence)).toBeUndefined()
    expect(send(11)).toEqual({ reason: "too_much" })
    for (const { decide } of submitted.slice(0, 200)) decide()
    expect(send(11)).toBeUndefined()
  })

  test("a batch is smaller than what a quiet stream may send", () => {
    expect(maxSamples).toBeLessThan(2_000)
  })
})

test("whatever a process repeats or leaves out, each number is taken once and in order", () => {
  const numbers = fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 60 })
  fc.assert(fc.property(numbers, fc.infiniteStream(fc.boolean()), (sent, decides) => {
    const { acknowledged, offer, stream, submitted } = make()
    const { session } = stream.open()
    let [last, taken] = [0, 0]
    for (const sequence of sent) {
      const notTaken = offer(session, sequence, [price(sequence)])
      expect(notTaken).toEqual(sequence > last + 1 ? { reason: "gap", expected: last + 1 } : undefined)
      if (notTaken === undefined) taken++
      last = Math.max(last, notTaken === undefined ? sequence : 0)
      expect(stream.position).toEqual({ session, lastSequence: last })
      if (decides.next().value === true) submitted.splice(0).forEach(({ decide }) => decide())
    }
    for (const { decide } of submitted.splice(0)) decide()
    expect(acknowledged).toHaveLength(taken)
    expect(acknowledged.filter(({ repeated }) => !repeated).map(({ lastSequence }) => lastSequence)).toEqual(
      Array.from({ length: last }, (_, index) => index + 1)
    )
  }))
})
