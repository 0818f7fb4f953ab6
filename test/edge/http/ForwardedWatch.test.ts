/** An operator hears that clients cannot be told apart, without a line for each of their requests. */
import { expect, test } from "vitest"
import * as ForwardedWatch from "../../../src/edge/http/ForwardedWatch.js"
import type { Application, Request } from "../../../src/edge/http/Listener.js"

const answer = { status: 200, headers: {}, body: "" }
const application: Required<Application> = {
  handle: (_request, reply) => reply(answer),
  open: () => ({ refused: answer }),
  misframed: () => answer
}
const seconds = (count: number): number => count * 1_000_000_000

/** An application behind so many proxies, with what was warned of so far. */
const watched = (trustedProxies: number) => {
  const warnings: Array<string> = []
  const time = { nanos: 0 }
  const over = ForwardedWatch.over(application, { trustedProxies, monotonicNanos: () => time.nanos }, (words) => void warnings.push(words))
  let answered = 0
  const ask = (header: string | undefined): void => {
    const request: Request = {
      method: "GET",
      target: "/v2/time",
      headers: { "x-forwarded-for": header },
      body: new Uint8Array(0),
      remoteAddress: "203.0.113.9"
    }
    over.handle(request, () => answered++)
  }
  return { answered: () => answered, ask, over, time, warnings }
}

test("an entry that is no address is warned of once in ten seconds, with how many requests had one", () => {
  const { answered, ask, time, warnings } = watched(1)
  for (const header of ["unknown", "192.0.2.1, _hidden", "192.0.2.1,"]) ask(header)
  time.nanos = seconds(10) - 1
  ask("x".repeat(1_000))
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain("of 1 requests, the last from 203.0.113.9, which has \"unknown\" there")
  time.nanos = seconds(10)
  ask("y\n".repeat(1_000))
  expect(warnings).toHaveLength(2)
  expect(warnings[1]).toContain(`of 4 requests, the last from 203.0.113.9, which has ${JSON.stringify("y\n".repeat(32))} there`)
  expect(answered()).toBe(5)
})

test("so is a list that is shorter than the row of proxies, and a WebSocket's", () => {
  const { over, warnings } = watched(2)
  over.open({ target: "/streams/v1/ws", headers: { "x-forwarded-for": "192.0.2.1" }, remoteAddress: "203.0.113.9" })
  expect(warnings).toEqual([expect.stringContaining("has fewer than 2 entries")])
})

test("addresses in any form are not, nor requests that no proxy forwarded", () => {
  const { ask, warnings } = watched(1)
  for (const header of ["192.0.2.1", "_hidden, 192.0.2.1:80", "[2001:db8::1]:80", "[::1]", "::ffff:c000:201", undefined]) ask(header)
  expect(warnings).toEqual([])
  const open = watched(0)
  open.ask("unknown")
  expect(open.warnings).toEqual([])
  expect(open.over).toBe(application)
})
