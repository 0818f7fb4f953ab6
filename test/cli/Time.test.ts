/** Times on a command line. */
import * as Either from "effect/Either"
import { expect, test } from "vitest"
import * as Time from "../../src/cli/Time.js"

test("a time is in UTC unless it names a zone, and one that does not exist is not taken for another", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["2027-03-01", "2027-03-01T00:00:00.000Z"],
    ["2027-03-01T12:00", "2027-03-01T12:00:00.000Z"],
    ["2027-03-01T12:00:30.5", "2027-03-01T12:00:30.500Z"],
    ["2027-03-01T12:00:00Z", "2027-03-01T12:00:00.000Z"],
    ["2027-03-01T12:00-05:00", "2027-03-01T17:00:00.000Z"],
    ["2027-12-31T23:30+00:30", "2027-12-31T23:00:00.000Z"],
    ["2028-02-29", "2028-02-29T00:00:00.000Z"],
    ...["2027-02-29", "2027-02-30T12:00:00Z", "2027-04-31T00:00-05:00", "2027-13-01", "2027-00-10", "2027-01-01T24:00Z", "2027-01-01T12:60"]
      .map((text) => [text, `${text} does not exist`] as const),
    ...["", "soon", "2027-3-1", "2027-03-01 12:00", "2027-03-01T12", "2027-03-01Z", "2027-03-01T12:00+25:00", "2027-03-01T12:00 GMT"]
      .map((text) => [text, `${text} is no time as 2026-03-01T12:00:00Z (UTC where no zone is written)`] as const)
  ]
  const read = cases.map(([text]) => [text, Either.merge(Either.map(Time.parse(text), (epochMs) => new Date(epochMs).toISOString()))])
  expect(read).toEqual(cases)
})
