/** A member that occurs twice in a body is refused, wherever it is, and nothing else is mistaken for such a duplicate. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import * as Requests from "../../../src/edge/http/Requests.js"
import * as Fake from "../FakeVenue.js"

const parse = (text: string) => Requests.parseJson(Buffer.from(text, "utf8"))

test.each([
  `{"a":1,"a":2}`,
  `{"a":1,"\\u0061":2}`,
  `{"a":1,"b":{"c":[{"d":1,"d":1}]}}`,
  `{"":1,"":1}`,
  `{"__proto__":1,"__proto__":2}`,
  `{"a:\\"":1,"a:\\"":1}`
])("%s has a member twice", (text) => {
  expect(parse(text)).toBe(Requests.memberTwice)
})

test("every JSON value that has none twice is read as it is", () => {
  fc.assert(fc.property(fc.json(), (text) => {
    expect(parse(text)).toEqual({ value: JSON.parse(text) })
  }))
  expect(parse(`{"a":":\\\\","b:\\"":{"__proto__":":"}}`)).not.toBe(Requests.memberTwice)
})

test("an order that gives its side twice is told so, and nothing is done", async () => {
  const fake = Fake.make()
  const text = JSON.stringify(Fake.order(fake)).replace("{", `{"side":"sell",`)
  for (const target of ["/v1/orders", "/v2/orders"]) {
    const response = await fake.ask({ target, bytes: Buffer.from(text), key: fake.keys.alice, idempotencyKey: "k" })
    expect(response.status).toBe(400)
    expect(response.body).toContain("given twice")
  }
  expect(fake.commands).toEqual([])
})
