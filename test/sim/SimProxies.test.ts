import { describe, expect, test } from "vitest"
import { clientAddress } from "../../src/edge/http/ClientAddress.js"
import * as SimProxies from "../../sim/world/SimProxies.js"
import * as SimRandom from "../../sim/world/SimRandom.js"

const client = "10.0.0.2"
const sent = { headers: {}, remoteAddress: client }

/** What reaches the venue of many requests that are sent alike, through so many proxies. */
const reached = (count: number, forgedShare: number, spelledShare: number) => {
  const random = SimRandom.make("proxies")
  return Array.from({ length: 500 }, () => SimProxies.through({ count, forgedShare, spelledShare }, sent, random))
}

describe("the simulated proxies", () => {
  test.each([0, 1, 2, 3])("%i of them tell the venue who sends a request, whatever that claims and however they write it", (count) => {
    const others = reached(count, 0.7, 0.7).filter((request) => clientAddress(request, count) !== client)
    expect(others).toEqual([])
  })

  test("hand requests on from addresses of their own, the last from several", () => {
    expect(new Set(reached(0, 1, 0).map(({ remoteAddress }) => remoteAddress))).toEqual(new Set([client]))
    expect(new Set(reached(2, 0, 0).map(({ remoteAddress }) => remoteAddress))).toEqual(new Set(["10.9.2.1", "10.9.2.2"]))
  })

  test("let claims through that a venue would take for an address if it read one entry too many or too few, or the first", () => {
    const taken = (count: number, trusted: number): ReadonlySet<string> =>
      new Set(reached(count, 1, 0).map((request) => clientAddress(request, trusted)))
    expect(taken(0, 1)).toContain("10.0.0.1")
    expect(taken(1, 2)).toContain("10.0.0.1")
    expect(taken(2, 1)).toEqual(new Set(["10.9.1.1"]))
  })

  test("leave a request as it is where there is no proxy and its client claims nothing", () => {
    expect(reached(0, 0, 1).every((request) => request === sent)).toBe(true)
  })
})
