import { none } from "../../src/domain/None.js"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as Order from "../../src/domain/Order.js"
import { Orders, packFlags } from "../../src/engine/Orders.js"
import { encoded, told } from "./Sections.js"
import { few } from "../Depth.js"

const capacity = 24

/** Takes a slot for an order and indexes it. */
const place = (orders: Orders, number: number, account = 0, clientOrderId = ""): number => {
  const slot = orders.allocate()
  if (slot === none) return none
  orders.setNumber(slot, number)
  orders.setAccount(slot, account)
  orders.clientOrderId.put(slot, clientOrderId)
  orders.idempotencyKey.put(slot, `key of ${number}`)
  orders.index(slot)
  if (clientOrderId !== "") orders.indexClient(slot)
  return slot
}

const drop = (orders: Orders, slot: number): void => {
  orders.unindex(slot)
  if (orders.clientOrderId.at(slot) !== "") orders.unindexClient(slot)
  orders.release(slot)
}

describe("Orders", () => {
  it.each([
    { side: Order.buy, type: Order.limit, timeInForce: Order.gtc, postOnly: false, reduceOnly: false, stp: Order.cancelResting },
    { side: Order.sell, type: Order.market, timeInForce: Order.ioc, postOnly: true, reduceOnly: true, stp: Order.cancelBoth },
    { side: Order.buy, type: Order.limit, timeInForce: Order.ioc, postOnly: true, reduceOnly: false, stp: Order.cancelIncoming },
    { side: Order.sell, type: Order.limit, timeInForce: Order.gtc, postOnly: false, reduceOnly: true, stp: Order.cancelResting }
  ] as const)("keeps flags apart: %o", ({ postOnly, reduceOnly, side, stp, timeInForce, type }) => {
    const orders = new Orders(1)
    const slot = orders.allocate()
    orders.setFlags(slot, packFlags(side, type, timeInForce, postOnly, reduceOnly, stp))
    for (const status of [Order.canceled, Order.closed, Order.open] as const) {
      for (const reason of Object.values(Order.CancelReason)) {
        orders.setStatus(slot, status)
        orders.setCancelReason(slot, reason)
        expect(orders.status(slot)).toBe(status)
        expect(orders.cancelReason(slot)).toBe(reason)
        expect(orders.side(slot)).toBe(side)
        expect(orders.type(slot)).toBe(type)
        expect(orders.timeInForce(slot)).toBe(timeInForce)
        expect(orders.postOnly(slot)).toBe(postOnly)
        expect(orders.reduceOnly(slot)).toBe(reduceOnly)
        expect(orders.selfTradePrevention(slot)).toBe(stp)
      }
    }
  })

  it("hands out the slot released last first, and none when full", () => {
    const orders = new Orders(3)
    expect([orders.allocate(), orders.allocate(), orders.allocate(), orders.allocate()]).toEqual([0, 1, 2, none])
    orders.release(0)
    orders.release(2)
    expect(orders.size).toBe(1)
    expect([orders.allocate(), orders.allocate(), orders.allocate()]).toEqual([2, 0, none])
  })

  it("hands out a slot without the number, the strings or the place of its last order", () => {
    const orders = new Orders(1)
    const slot = place(orders, 7, 3, "mine")
    drop(orders, slot)
    expect(orders.allocate()).toBe(slot)
    expect(orders.number(slot)).toBe(0)
    expect(orders.level(slot)).toBe(none)
    expect(orders.clientOrderId.at(slot)).toBe("")
    expect(orders.idempotencyKey.at(slot)).toBe("")
  })

  it("grows to its capacity without losing anything, and comes back as large", () => {
    const count = 40_000
    const orders = new Orders(count)
    let wrongSlots = 0
    for (let at = 0; at < count; at++) if (place(orders, at * 64, at % 7, `c${at}`) !== at) wrongSlots++
    expect(wrongSlots).toBe(0)
    expect(orders.allocate()).toBe(none)
    const restored = Orders.decode(encoded(orders), count)
    expect(told(encoded(restored))).toEqual(told(encoded(orders)))
    for (const pool of [orders, restored]) {
      const missed: Array<number> = []
      for (let at = 0; at < count; at++) {
        const found = pool.find(at * 64) === at && pool.findClient(at % 7, `c${at}`) === at
        if (!found || pool.find(at * 64 + 1) !== none || pool.findClient((at + 1) % 7, `c${at}`) !== none) missed.push(at)
      }
      expect(missed).toEqual([])
    }
  })

  it("finds numbers up to the largest safe integer", () => {
    const numbers = [0, 1, 63, 64, 2 ** 31, 2 ** 32, 2 ** 32 + 64, 2 ** 38, 2 ** 45 + 64, 2 ** 53 - 1]
    const orders = new Orders(numbers.length)
    const slots = numbers.map((number) => place(orders, number))
    expect(numbers.map((number) => orders.find(number))).toEqual(slots)
    expect(orders.find(2 ** 53 - 2)).toBe(none)
  })

  it("finds clientOrderIds of every length, told apart by their last character", () => {
    const orders = new Orders(200)
    const ids = Array.from({ length: 64 }, (_, length) => [`${"x".repeat(length)}a`, `${"x".repeat(length)}b`]).flat()
    const slots = ids.map((id, at) => place(orders, at, 1, id))
    expect(ids.map((id) => orders.findClient(1, id))).toEqual(slots)
    expect(orders.findClient(1, "x")).toBe(none)
  })

  it("refuses to index twice, to unindex what is not, and to release what is free", () => {
    const orders = new Orders(8)
    const slot = place(orders, 1, 1, "a")
    expect(() => orders.index(slot)).toThrow("an order number is indexed once")
    expect(() => orders.indexClient(slot)).toThrow("an account's clientOrderId is indexed once")
    const other = orders.allocate()
    orders.setNumber(other, 2)
    expect(() => orders.unindex(other)).toThrow("only an indexed order is unindexed")
    expect(() => orders.unindexClient(other)).toThrow("only an entry that is in is taken out")
    expect(() => orders.indexClient(other)).toThrow("an empty clientOrderId is not indexed")
    orders.release(other)
    expect(() => orders.release(other)).toThrow("only a slot that holds an order is released")
    expect(() => orders.release(5)).toThrow("only a slot that holds an order is released")
  })

  it("refuses a snapshot larger than the capacity", () => {
    const orders = new Orders(4)
    for (let at = 0; at < 4; at++) place(orders, at)
    const sections = encoded(orders)
    // One more slot is reserved for the venue's own order.
    expect(() => Orders.decode(sections, 3)).not.toThrow()
    expect(() => Orders.decode(sections, 2)).toThrow("a snapshot's pool fits the capacity")
  })

  it("takes at most 168 bytes an order beside its strings' own bytes", () => {
    const count = 2 ** 18
    const orders = new Orders(count)
    for (let at = 0; at < count; at++) orders.allocate()
    const buffers = new Set(Object.values(orders).flatMap((value) => ArrayBuffer.isView(value) ? [value.buffer] : []))
    const bytes = [...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0)
    expect(bytes / count + 2 * 8).toBeLessThanOrEqual(168)
  })

  it("finds exactly what a map would, through reuse, a full pool and restores", () => {
    const Step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("place" as const), account: fc.nat(2), client: fc.nat(12) }) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("drop" as const), pick: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("restore" as const), key: fc.tuple(fc.integer(), fc.integer()) }) }
    )
    fc.assert(fc.property(fc.array(Step, { maxLength: 200, size: "max" }), fc.tuple(fc.integer(), fc.integer()), (steps, key) => {
      let orders = new Orders(capacity, key)
      /** The same calls without any restore must give the same slots. */
      const straight = new Orders(capacity)
      const byNumber = new Map<number, number>()
      const byClient = new Map<string, number>()
      let number = 0
      for (const step of steps) {
        if (step.kind === "restore") {
          const sections = encoded(orders)
          orders = Orders.decode(sections, capacity, step.key)
          expect(told(encoded(orders))).toEqual(told(sections))
        } else if (step.kind === "drop") {
          const entries = [...byNumber]
          if (entries.length === 0) continue
          const [dropped, slot] = entries[step.pick % entries.length]!
          byNumber.delete(dropped)
          byClient.delete(`${orders.account(slot)} ${orders.clientOrderId.at(slot)}`)
          drop(orders, slot)
          drop(straight, slot)
        } else {
          // A clientOrderId in use is refused before a slot is taken; 0 stands for none.
          const clientOrderId = step.client === 0 ? "" : `c${step.client}`
          const taken = byClient.get(`${step.account} ${clientOrderId}`)
          if (clientOrderId !== "") expect(orders.findClient(step.account, clientOrderId)).toBe(taken ?? none)
          if (taken !== undefined) continue
          number += 64
          const slot = place(orders, number, step.account, clientOrderId)
          expect(slot).toBe(place(straight, number, step.account, clientOrderId))
          expect(slot === none).toBe(byNumber.size === capacity)
          if (slot === none) continue
          byNumber.set(number, slot)
          if (clientOrderId !== "") byClient.set(`${step.account} ${clientOrderId}`, slot)
        }
        expect(orders.size).toBe(byNumber.size)
        for (let sought = 64; sought <= number; sought += 64) expect(orders.find(sought)).toBe(byNumber.get(sought) ?? none)
        for (let account = 0; account <= 2; account++) {
          for (let client = 1; client <= 12; client++) {
            expect(orders.findClient(account, `c${client}`)).toBe(byClient.get(`${account} c${client}`) ?? none)
          }
        }
      }
    }), { numRuns: few(12, 30) })
  })
})
