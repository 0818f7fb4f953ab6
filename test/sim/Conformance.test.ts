/** The simulator holds every answer to its own endpoint's statuses and envelopes. */
import { expect, test } from "vitest"
import { NaiveVenue } from "../../sim/model/NaiveVenue.js"
import * as Property from "../../sim/properties/Property.js"
import { schemaConformance } from "../../sim/properties/schemaConformance.js"
import * as Calls from "../../sim/workload/Calls.js"
import * as Errors from "../../src/edge/http/Errors.js"

const who: Calls.Identity = { client: "c", account: 0, accountId: "acc_1", apiKey: "pk" }

/** What the property says of a read that is answered with an envelope. */
const verdict = (endpoint: string, target: string, failure: Errors.Failure): Property.Verdict => {
  const { body, headers, status } = Errors.response(target.startsWith("/v2/") ? "compat" : "native", failure, "req_1", 1_700_000_000_000)
  return Property.watch(schemaConformance).observe({
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
