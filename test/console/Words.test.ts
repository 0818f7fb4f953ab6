/** Texts for people: amounts, durations, places, and errors. */
import { Schema } from "effect"
import { describe, expect, test } from "vitest"
import * as Failure from "../../src/console/state/Failure.js"
import * as Places from "../../src/console/state/Places.js"
import { longestLabel } from "../../src/console/state/SignIn.js"
import * as Words from "../../src/console/state/Words.js"
import * as Refusal from "../../src/domain/Refusal.js"
import * as Fields from "../../src/edge/http/Fields.js"
import { refused } from "./Outside.js"

test.each([
  ["0", "0"],
  ["999.50", "999.50"],
  ["1000", "1,000"],
  ["1234567.000100", "1,234,567.000100"],
  ["-1234.5", "\u22121,234.5"],
  ["", ""]
])("the decimal %j is read as %j", (text, read) => {
  expect(Words.decimal(text)).toBe(read)
})

test.each([
  ["1000.000000", "1,000.00"],
  ["0.000000", "0.00"],
  ["12.345000", "12.345"],
  ["12.000001", "12.000001"],
  ["-0.500000", "\u22120.50"]
])("the amount %j is read as %j", (text, read) => {
  expect(Words.money(text)).toBe(read)
})

test.each([["0.000000", "flat"], ["-0.00", "flat"], ["0.000001", "up"], ["-3", "down"]])("%j is %s", (text, way) => {
  expect(Words.direction(text)).toBe(way)
})

test.each([
  [0, "0 seconds"],
  [-5, "0 seconds"],
  [1, "1 second"],
  [300, "5 minutes"],
  [3_661, "1 hour 1 minute"],
  [86_400, "1 day"],
  [604_800, "7 days"],
  [90_000, "1 day 1 hour"],
  [86_460, "1 day"]
])("%i seconds are %j", (seconds, read) => {
  expect(Words.duration(seconds)).toBe(read)
})

test("an identifier is shortened only where that makes it shorter", () => {
  expect(Words.short("acc_1s")).toBe("acc_1s")
  expect(Words.short("0123456789abcdef")).toBe("0123456789abcdef")
  expect(Words.short("0123456789abcdefg")).toBe("01234567\u2026bcdefg")
})

test.each([
  ["", "portfolio", ""],
  ["#/keys", "keys", ""],
  ["#/nowhere", "portfolio", ""],
  ["#/connect/bcdfgh23", "connect", "BCDF-GH23"],
  ["#/keys/BCDF-GH23", "keys", ""]
])("the place behind %j is %s %j", (hash, page, userCode) => {
  expect(Places.parse(hash)).toEqual({ page, userCode, marketId: "" })
})

test.each([
  ["/connect", "?code=BCDF-GH23", "", "connect", "BCDF-GH23"],
  ["/connect", "?code=bcdf%20gh23&x=1", "", "connect", "BCDF-GH23"],
  ["/connect", "", "", "connect", ""],
  ["/connect", "?code=BCDF-GH23", "#/keys", "keys", ""],
  ["/", "?code=BCDF-GH23", "", "portfolio", ""],
  ["/connect", "?code=%3Cscript%3E", "", "connect", "SCRI-PT"]
])("%s%s%s opens %s %j", (pathname, search, hash, page, userCode) => {
  expect(Places.opened(pathname, search, hash)).toEqual({ page, userCode, marketId: "" })
})

test("every page's link leads back to it", () => {
  // The market page without a market is the list of markets.
  const alone = Places.pages.filter((page) => page !== "market")
  for (const page of alone) expect(Places.parse(Places.link(page))).toEqual({ page, userCode: "", marketId: "" })
  expect(Places.parse(Places.link("connect", "BCDF-GH23"))).toEqual({ page: "connect", userCode: "BCDF-GH23", marketId: "" })
  expect([Places.isWholeCode("BCDF-GH23"), Places.isWholeCode("BCDF-GH2")]).toEqual([true, false])
})

describe("a failure", () => {
  test.each(Refusal.recoveryActions.filter((action) => action !== "none"))("says what to do where the venue advises %s", (action) => {
    const failure = Failure.ofAnswer(refused(503, "overloaded", { recoveryActions: [action], retryable: true }))
    expect(failure).toMatchObject({ message: "It is overloaded.", code: "overloaded", requestId: "req_body", again: true })
    expect(failure.advice).toMatch(/^[A-Z].*\.$/)
  })

  test("says nothing more where there is nothing to do, or where the advice is not known yet", () => {
    expect(Failure.ofAnswer(refused(400, "x", { recoveryActions: ["none", "dance"] })).advice).toBe("")
  })

  test.each([undefined, "<html>", null, { message: "bad gateway" }])("is told as one where the answer is not the venue's: %j", (body) => {
    const failure = Failure.ofAnswer({ status: 502, requestId: undefined, body })
    expect(failure.message).toContain("502")
    expect(failure).toMatchObject({ code: undefined, again: true })
  })

  test.each([
    ["SecurityError", "ERROR_INVALID_RP_ID", "this address"],
    ["SecurityError", "", "this address"],
    ["InvalidStateError", "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED", "already holds"],
    ["NotSupportedError", "", "no passkeys"],
    ["AbortError", "ERROR_CEREMONY_ABORTED", "closed"],
    ["TypeError", "", "could not use a passkey"]
  ])("of a ceremony (%s, %j) is told in words", (name, code, said) => {
    const failure = Failure.ofTrouble({ name, code })
    expect(failure.message).toContain(said)
    expect(failure.advice).not.toBe("")
  })
})

test("a passkey's name may be as long as the venue takes it", () => {
  const isTaken = Schema.is(Fields.Label)
  expect([isTaken("x".repeat(longestLabel)), isTaken("x".repeat(longestLabel + 1))]).toEqual([true, false])
})
