/** A bounded number of places open to anybody: which one is freed when an address has too many, and when all are taken. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { type Crowd, FairPlaces, networkOf } from "../../src/domain/FairPlaces.js"

test.each([
  ["2001:db8:7:1::/64", "2001:db8:7::/48"],
  ["2001:db8:7:ffff::/64", "2001:db8:7::/48"],
  ["0:0:0:0::/64", "0:0:0::/48"],
  ["192.0.2.1", "192.0.2.1"],
  ["", ""]
])("%s is of the network %s", (address, network) => expect(networkOf(address)).toBe(network))

/** The same in the simplest way: a list of those who hold places, searched each time. */
class Naive {
  held: Array<readonly [id: number, address: string]> = []

  take(id: number, address: string, most: number, mostOfAddress: number): ReadonlyArray<readonly [number, Crowd]> {
    const own = this.held.filter(([, other]) => other === address)
    const sizes = new Map<string, number>()
    for (const [, other] of this.held) sizes.set(networkOf(other), (sizes.get(networkOf(other)) ?? 0) + 1)
    const largest = Math.max(...sizes.values())
    const crowded = own.length >= mostOfAddress
      ? own.slice(0, 1).map(([other]) => [other, "address"] as const)
      : this.held.length >= most
      ? this.held.filter(([, other]) => sizes.get(networkOf(other)) === largest).map(([other]) => [other, "all"] as const)
      : []
    this.held.push([id, address])
    return crowded
  }
}

test("no more are taken than there are, by nobody more than one may, and who holds most loses his oldest", () => {
  const address = fc.tuple(fc.nat(3), fc.nat(2)).map(([network, low]) => `2001:db8:${network}:${low}::/64`)
  const step = fc.oneof({ weight: 4, arbitrary: address }, { weight: 1, arbitrary: fc.nat(40) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 4 }),
      (steps, most, mostOfAddress) => {
        const places = new FairPlaces<number>(most, mostOfAddress)
        const naive = new Naive()
        steps.forEach((next, id) => {
          if (typeof next === "number") {
            places.leave(next)
            naive.held = naive.held.filter(([other]) => other !== next)
            return
          }
          const left: Array<readonly [number, Crowd]> = []
          places.take(id, next, (other, crowd) => left.push([other, crowd]))
          const crowded = naive.take(id, next, most, mostOfAddress)
          // If several networks hold equally many, the oldest of any of them may be the one to leave.
          expect(left.length).toBe(Math.min(1, crowded.length))
          for (const one of left) {
            const network = networkOf(naive.held.find(([other]) => other === one[0])![1])
            const oldest = crowded.find(([other]) => networkOf(naive.held.find(([held]) => held === other)![1]) === network)
            expect(one).toEqual(oldest)
          }
          naive.held = naive.held.filter(([other]) => left.every(([gone]) => gone !== other))
          expect(naive.held.length).toBeLessThanOrEqual(most)
        })
      })
  )
})

test("a crowd of networks shares what there is, and who came first and alone keeps his place", () => {
  const places = new FairPlaces<string>(1_024, 64)
  const held = new Set(["alone"])
  places.take("alone", "192.0.2.1", () => expect.unreachable("there is room"))
  for (let count = 0; count < 64; count++) {
    // All addresses of one /54, 64 in each /64: more than there are places.
    for (let low = 0; low < 32; low++) {
      const id = `${count} ${low}`
      places.take(id, `2001:db8:1:${low.toString(16)}::/64`, (left) => held.delete(left))
      held.add(id)
    }
  }
  expect([held.size, held.has("alone")]).toEqual([1_024, true])
})
