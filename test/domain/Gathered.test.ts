/** A body's pieces are kept up to a limit, and not beyond it. */
import { expect, test } from "vitest"
import { Gathered } from "../../src/domain/Gathered.js"

test("as many bytes as the limit are taken, and one more is not", () => {
  const gathered = new Gathered(5)
  expect([gathered.take(Buffer.from("abc")), gathered.take(Buffer.from("de"))]).toEqual([true, true])
  expect(gathered.whole().toString()).toBe("abcde")
  expect(gathered.take(Buffer.from("f"))).toBe(false)
  expect(gathered.whole().toString()).toBe("abcde")
})

test("a piece that goes beyond the limit is not taken, nor is any after it", () => {
  const gathered = new Gathered(5)
  expect([gathered.take(Buffer.from("abc")), gathered.take(Buffer.from("def")), gathered.take(Buffer.from("g"))])
    .toEqual([true, false, false])
  expect(gathered.whole().toString()).toBe("abc")
})

test("there may be nothing", () => {
  expect(new Gathered(0).take(Buffer.alloc(0))).toBe(true)
  expect(new Gathered(0).whole()).toHaveLength(0)
})
