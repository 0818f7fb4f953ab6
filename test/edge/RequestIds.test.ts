/** Request ids reveal nothing about other requests: two of them must not show how busy the venue was in between. */
import { expect, test } from "vitest"
import { LiveVenue } from "./LiveVenue.js"

/** Bits of an id, all of them random. */
const idBits = 96

/** Requests that no record decides: reads of what exists and what does not, and malformed requests. */
const undecided = [
  { target: "/v2/time" },
  { target: "/healthz" },
  { target: "/v1/nowhere" },
  { target: "/v1/markets/NOWHERE" },
  { target: "/v1/orders", body: "neither an order nor with a key" }
]

/** The ids of `count` answers, as numbers. */
const idsOf = async (venue: LiveVenue, count: number): Promise<ReadonlyArray<bigint>> => {
  const ids: Array<bigint> = []
  while (ids.length < count) {
    const { headers } = await venue.ask(undecided[ids.length % undecided.length]!)
    const id = headers["x-request-id"]!
    expect(id).toMatch(/^req_[0-9a-f]{24}$/)
    ids.push(BigInt(`0x${id.slice("req_".length)}`))
  }
  return ids
}

test("of answers that no record decided each bit of an id differs from the one before as often as not", async () => {
  const venue = LiveVenue.make()
  const { length } = undecided
  const ids = await idsOf(venue, 500)
  expect(new Set(ids).size).toBe(ids.length)
  // A bit of a counter would change with every request or hardly ever, and padding or a process number never.
  const changes = Array.from({ length: idBits },
    (_, bit) => ids.filter((id, at) => at > 0 && ((id ^ ids[at - 1]!) >> BigInt(bit) & 1n) === 1n).length)
  expect(Math.min(...changes)).toBeGreaterThan(180)
  expect(Math.max(...changes)).toBeLessThan(320)
  // Nor do they rise or fall over time, for one kind of request or for all.
  for (const step of [1, length]) {
    const later = ids.slice(step)
    const rises = later.filter((id, at) => id > ids[at]!).length
    expect(rises / later.length).toBeGreaterThan(0.35)
    expect(rises / later.length).toBeLessThan(0.65)
    // A difference that occurs twice would point to a counter.
    expect(new Set(later.map((id, at) => id - ids[at]!)).size).toBe(later.length)
  }
})

test("a venue that starts again does not begin anew with its ids", async () => {
  const venue = LiveVenue.make()
  const before = await idsOf(venue, 50)
  venue.restart()
  const behind = await idsOf(venue, 50)
  expect(new Set([...before, ...behind]).size).toBe(100)
})
