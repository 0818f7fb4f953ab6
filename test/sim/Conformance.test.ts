/** The simulator checks every answer against its endpoint's statuses and envelopes, and for the required headers. */
import { expect, test } from "vitest"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import { failures } from "../../sim/properties/failures.js"
import * as Property from "../../sim/properties/Property.js"
import { schemaConformance } from "../../sim/properties/schemaConformance.js"
import { waits } from "../../sim/properties/waits.js"
import * as Calls from "../../sim/workload/Calls.js"
import * as Errors from "../../src/edge/http/Errors.js"

const who: Calls.Identity = { client: "c", account: 0, accountId: "acc_1", apiKey: "pk" }

const requestId = "req_000000000000000000000001"
const kept = { "cache-control": "max-age=60" }

/** A property's verdict on a read that is answered with an envelope. */
const verdict = <S>(
  endpoint: string,
  target: string,
  failure: Errors.Failure,
  more: Readonly<Record<string, string>> = {},
  property: Property.Property<S> | typeof schemaConformance = schemaConformance
): Property.Verdict => {
  const family = target.startsWith("/v2/") ? "compat" : "native"
  const { body, headers: own, status } = Errors.response(family, failure, requestId, 1_700_000_000_000)
  const headers = { ...own, ...more }
  return Property.watch(property as Property.Property<S>).observe({
    _tag: "Answered",
    call: { ...Calls.read(who, endpoint, target, "none"), id: 0, reading: { _tag: "other" } },
    attempt: 1,
    answer: { status, headers, text: body, json: JSON.parse(body) },
    memory: undefined,
    sequence: 1,
    leftBehind: 1,
    atEpochMs: 1_700_000_000_000,
    clock: undefined,
    model: new NaiveVenue()
  })
}

test.each([
  ["getCompatTime", "/v2/time", Errors.starting, Property.holds],
  ["getCompatTime", "/v2/time", Errors.notSupported("It is not."), expect.stringContaining("which getCompatTime does not declare")],
  ["getCompatTime", "/v2/time", Errors.keyRejected("missing"), expect.stringContaining("which getCompatTime does not declare")],
  ["getBalance", "/v1/accounts/acc_1/balance", Errors.accountNotFound, Property.holds],
  ["getBalance", "/v1/accounts/acc_1/balance", Errors.payloadTooLarge, expect.stringContaining("which getBalance does not declare")],
  ["", "/v1/nowhere", Errors.routeNotFound, Property.holds],
  ["", "/v2/nowhere", Errors.keyRejected("missing"), expect.stringContaining("which compat does not declare")]
])("%s: %s answered with %o", (endpoint, target, failure, expected) => {
  expect(verdict(endpoint, target, failure)).toEqual(expected)
})

test("what is somebody's own, and what has failed, is kept by nobody on its way", () => {
  const balance = "/v1/accounts/acc_1/balance"
  expect(verdict("getBalance", balance, Errors.accountNotFound, kept)).toContain("may be kept")
  expect(verdict("beginAuthentication", "/v1/sessions", Errors.starting, kept)).toContain("may be kept")
  expect(verdict("getCompatTime", "/v2/time", Errors.starting, kept)).toContain("may be kept")
  expect(verdict("", "/v1/nowhere", Errors.routeNotFound, kept)).toContain("may be kept")
})

test.each<[Errors.Failure, Readonly<Record<string, string>>, unknown]>([
  [Errors.methodNotAllowed, { allow: "GET, HEAD" }, Property.holds],
  [Errors.methodNotAllowed, { allow: "GET, HEAD, POST, PUT, DELETE" }, expect.stringContaining("must be GET, HEAD")],
  [Errors.waitsOfAccount, { "retry-after": "1" }, Property.holds],
  [Errors.waitsOfAccount, { "retry-after": "60000" }, expect.stringContaining("after 60000 s")],
  [Errors.starting, { "retry-after": "1" }, expect.stringContaining("after 1 s")]
])("the failure %o with the headers %o", (failure, headers, expected) => {
  expect(verdict("getBalance", "/v1/accounts/acc_1/balance", failure, headers, failures)).toEqual(expected)
})

test("who waits is sent away for four others of his account, and not for those of another", () => {
  const watcher = Property.watch(waits)
  const read = (accountId: string): Calls.Draft =>
    Calls.read(who, "listChanges", `/v1/accounts/${accountId}/changes?fromSequence=1&waitMs=100`, "trader")
  const answer = { status: 429, headers: {}, text: "{\"rejectionGuard\":\"waits_per_account\"}" }
  const handled = (id: number, accountId: string, isSentAway: boolean): Property.Verdict =>
    watcher.observe({
      _tag: "Handled",
      call: { ...read(accountId), id, reading: { _tag: "other" } },
      atEpochMs: 1,
      lowestEpochMs: 1,
      highestEpochMs: 1,
      answer: isSentAway ? answer : undefined,
      hungMs: 0
    })
  for (let id = 0; id < 4; id++) expect(handled(id, "acc_1", false)).toBe(Property.holds)
  expect(handled(4, "acc_1", true)).toBe(Property.holds)
  expect(handled(5, "acc_2", false)).toBe(Property.holds)
  expect(handled(6, "acc_2", true)).toContain("1 others may")
})
