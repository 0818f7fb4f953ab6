/** `venue withdrawals`: what an operator is told before and after withdrawals are let go on, by a venue that a test scripts. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, expect, test } from "vitest"
import * as Withdrawals from "../../src/cli/venue/Withdrawals.js"
import { line, runAll } from "./Tool.js"

const open = "open"
const own = "stopped: operator"
const short = "stopped: reconciliation, differs by -40000000 atoms"
const paidTwice = "stopped: contradiction, differs by -41000000 atoms"

test.each([
  [own, undefined, undefined],
  [own, 0, undefined],
  // Whether what is named is what is lacking, the venue says.
  [own, 40_000_000, undefined],
  // Older journals have stops because of a surplus.
  ["stopped: reconciliation, differs by 5 atoms", undefined, undefined],
  [short, undefined, /accepts that the treasury lacks 40\.000000 USDC; once that is explained, --accept 40\.000000$/],
  [short, 40_000_000, undefined],
  [paidTwice, undefined, /stopped: contradiction.*lacks 41\.000000 USDC; once that is explained, --accept 41\.000000$/],
  [open, undefined, undefined],
  // A command that got no answer may have been done.
  [open, 40_000_000, undefined]
])("where they are %s, and %s is accepted", (withdrawals, accepted, refusal) => {
  const told = Withdrawals.refusalOf({ withdrawals, acceptedAtoms: 0 }, accepted)
  if (refusal === undefined) expect(told).toBe(undefined)
  else expect(told).toMatch(refusal)
})

test.each([
  [own, -5, undefined, 0, false],
  [own, -5, undefined, -5, true],
  [own, 0, 5, -5, false],
  [own, 0, 5, -6, true],
  [short, 0, undefined, -40_000_000, false],
  [short, -50_000_000, undefined, -50_000_000, false],
  [short, 0, 40_000_000, -41_000_000, true],
  [short, 0, 41_000_000, -41_000_000, false],
  [open, -5, 7, -5, false],
  [open, 0, undefined, -5, true]
])("where they were %s with %d accepted, %s was named, and then %d is", (withdrawals, before, named, after, isMore) => {
  const told = Withdrawals.ofAllow({ withdrawals, acceptedAtoms: before }, { withdrawals: open, acceptedAtoms: after }, named)
  expect(told.isMore).toBe(isMore)
  const usdc = `${-after / 1_000_000}`.slice(0, 2)
  expect(told.text).toContain(after === 0 ? "no shortfall is accepted" : "it is accepted that the treasury lacks")
  if (after <= -1_000_000) expect(told.text).toContain(`lacks ${usdc}.000000 USDC`)
})

/** How the scripted venue's withdrawals stand, and what it was asked. */
const scripted: { standing: { withdrawals?: string; acceptedAtoms?: number }; seen: Array<string>; refusal?: object | undefined } = {
  standing: {},
  seen: []
}

const refusal = {
  version: "external-rest-error/v1",
  requestId: "req_1",
  code: "invalid_request",
  safeMessage: "Withdrawals stay stopped.",
  retryable: false,
  recoveryActions: ["fix_request"],
  occurredAtEpochMs: 1,
  rejectionGuard: "shortfall_not_accepted"
}

const server = http.createServer((request, response) => {
  const { headers, method, url } = request
  scripted.seen.push(`${method} ${url}`)
  const answer = (body: object): void => {
    response.setHeader("content-type", "application/json")
    response.end(JSON.stringify(body))
  }
  if (url === "/readyz") {
    return answer({ version: "readiness/v1", status: "ready", durableSequence: 7, details: scripted.standing, markets: [] })
  }
  if (method === "DELETE" && scripted.refusal !== undefined) {
    response.statusCode = 400
    return answer({ ...refusal, ...scripted.refusal })
  }
  if (method === "DELETE") {
    const lacking = / by (-\d+) atoms/.exec(scripted.standing.withdrawals ?? "")?.[1]
    scripted.standing = { withdrawals: open, ...(lacking === undefined ? {} : { acceptedAtoms: Number(lacking) }) }
  }
  const operation = method === "PUT" ? "stop_withdrawals" : "allow_withdrawals"
  answer({ version: "operator-result/v1", operation, idempotencyKey: headers["idempotency-key"], sequence: 7, decidedAtEpochMs: 1 })
})

beforeAll(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)))
afterAll(() => server.close())

const venue = async (standing: typeof scripted.standing, ...args: ReadonlyArray<string>) => {
  Object.assign(scripted, { standing, seen: [] })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [told] = await runAll([line("dist/tools/venue.js", ["withdrawals", ...args, "--url", url], { OPERATOR_TOKEN: "a".repeat(32) })])
  return { ...told!, seen: scripted.seen }
}

const readiness = "GET /readyz"
const letGoOn = "DELETE /v1/operator/withdrawals/stop"

test("a stop says where the venue stopped them before, and nothing where it is the only one", async () => {
  const beside = await venue({ withdrawals: short }, "stop")
  expect([beside.code, beside.stdout.split("\n")[1]]).toEqual([0, expect.stringContaining("that stop stands in place of yours")])
  expect(beside.stdout).toContain("would accept that the treasury lacks 40.000000 USDC")
  const alone = await venue({ withdrawals: own }, "stop")
  expect([alone.code, alone.stdout.trimEnd().split("\n").length]).toEqual([0, 1])
})

test("they are not let go on over a shortfall that was not named, and what is accepted is told", async () => {
  const unnamed = await venue({ withdrawals: short }, "allow")
  expect([unnamed.code, unnamed.seen]).toEqual([1, [readiness]])
  expect(unnamed.stderr).toContain("--accept 40.000000")
  const named = await venue({ withdrawals: short }, "allow", "--accept", "40.0")
  expect([named.code, named.seen]).toEqual([0, [readiness, `${letGoOn}?accept=40.0`, readiness]])
  expect(named.stdout).toContain("withdrawals are open, it is accepted that the treasury lacks 40.000000 USDC")
  const revoked = await venue({ withdrawals: own, acceptedAtoms: -5 }, "allow")
  expect([revoked.code, revoked.stdout.includes("no shortfall is accepted")]).toEqual([0, true])
})

test("what was accepted before stays accepted where the venue's own stop found nothing lacking, and an operator's own revokes it", () => {
  const after = { withdrawals: open, acceptedAtoms: -5_000_000 }
  for (const [withdrawals, isMore] of [["stopped: contradiction, differs by 0 atoms", false], [own, true], [short, false]] as const) {
    const before = { withdrawals, acceptedAtoms: -5_000_000 }
    expect([withdrawals, Withdrawals.ofAllow(before, after, undefined).isMore]).toEqual([withdrawals, isMore])
  }
})

test("what the venue refuses tells what --accept would have to say", async () => {
  for (const [nearest, how] of [["50.000000", "--accept 50.000000"], ["0.000000", "--accept 0"]] as const) {
    scripted.refusal = { limit: "40.000000", actual: nearest, nearest }
    const other = await venue({ withdrawals: own }, "allow", "--accept", "40")
    expect([other.code, other.seen]).toEqual([1, [readiness, `${letGoOn}?accept=40`]])
    expect(other.stderr).toContain(`limit 40.000000, actual ${nearest}, would pass: ${nearest}`)
    expect(other.stderr.trimEnd().endsWith(how)).toBe(true)
  }
  scripted.refusal = undefined
})

test("nothing is sent where they are open: a stop that came in between would be lifted unseen", async () => {
  const already = await venue({ withdrawals: open, acceptedAtoms: -5_000_000 }, "allow", "--accept", "5")
  expect([already.code, already.seen]).toEqual([0, [readiness]])
  expect(already.stdout).toContain("nothing was changed: withdrawals are open, it is accepted that the treasury lacks 5.000000 USDC")
})

test("nothing is sent where the venue does not tell how they stand, or where what is accepted is no amount", async () => {
  const starting = await venue({}, "allow")
  expect([starting.code, starting.seen]).toEqual([2, [readiness]])
  for (const accept of ["-40", "4e1", "0.0000001"]) {
    const wrong = await venue({ withdrawals: short }, "allow", `--accept=${accept}`)
    expect([wrong.code, wrong.seen]).toEqual([3, []])
  }
})
