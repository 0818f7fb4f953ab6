import { describe, expect, test } from "vitest"
import { Head, headersOf, headersOfSender, lastLine } from "../../../src/edge/http/Head.js"

describe("the last request line in bytes that never became a request", () => {
  test.each([
    ["at their beginning", "GET /v2/time HTTP/1.1\r\nhost: ven", "/v2/time"],
    ["behind a head", "GET /v1/markets HTTP/1.1\r\nhost: venue\r\n\r\nGET /v2/time HTTP/1.1\r\nx", "/v2/time"],
    ["behind a body that is an object", "{\"side\":\"buy\"}GET /v2/time HTTP/1.1\r\nx", "/v2/time"],
    ["behind a body that is a list, as of a batch", "[{\"side\":\"buy\"}]GET /v2/time HTTP/1.1\r\nx", "/v2/time"],
    ["in absolute form", "GET http://venue/v2/time HTTP/1.1\r\nx", "/v2/time"]
  ])("is found %s", (_, bytes, target) => {
    expect(lastLine(Buffer.from(bytes, "latin1"))).toEqual({ method: "GET", target })
  })

  test("is none where there is none", () => {
    expect(lastLine(Buffer.from("\r\n\r\n"))).toBeUndefined()
    expect(lastLine(Buffer.from("[1,2]"))).toBeUndefined()
  })
})

test("what a browser says of the page for which it asks reaches every route, and whoever counts what was no request", () => {
  const head = new Head(["Host", "venue", "Sec-Fetch-Site", "cross-site", "sec-fetch-site", "none", "Content-Length", "2"])
  expect(headersOf(head)).toMatchObject({ "sec-fetch-site": "cross-site" })
  expect(headersOfSender(head)).toEqual({ origin: undefined, "sec-fetch-site": "cross-site", "x-forwarded-for": undefined })
  expect([head.contentLength, headersOfSender(undefined)["sec-fetch-site"]]).toEqual(["2", undefined])
})
