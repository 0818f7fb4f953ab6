/** The settings of an index's exchanges. */
import { Either } from "effect"
import { expect, test } from "vitest"
import * as Exchanges from "../../src/oracle/Exchanges.js"

test("a list names exchanges, weights and what they quote in", () => {
  expect(Exchanges.parseExchanges("binance:1:USDT, kraken:20,bitstamp")).toEqual(Either.right([
    { id: "binance", weight: 1, quote: "USDT" },
    { id: "kraken", weight: 20, quote: undefined },
    { id: "bitstamp", weight: 1, quote: undefined }
  ]))
})

test.each([
  ["binance", "at least two exchanges are needed: one alone has nobody to contradict it"],
  ["binance,", " is not exchange:weight:quote"],
  ["binance:0,kraken", "binance:0 is not exchange:weight:quote"],
  ["binance:1.5,kraken", "binance:1.5 is not exchange:weight:quote"],
  ["binance:1:usdt,kraken", "binance:1:usdt is not exchange:weight:quote"],
  ["Binance,kraken", "Binance is not exchange:weight:quote"],
  ["kraken,kraken:2", "kraken is named twice"],
  [Array.from({ length: 17 }, (_, index) => `e${index}`).join(), "at most 16 exchanges are asked"]
])("%j is refused: %s", (text, fault) => {
  expect(Exchanges.parseExchanges(text)).toEqual(Either.left(fault))
})

const both = Either.getOrThrow(Exchanges.parseExchanges("binance,kraken"))

test("addresses are of exchanges that are asked", () => {
  const urls = Either.getOrThrow(Exchanges.parseUrls("kraken=http://127.0.0.1:9000/k/, binance=https://mirror.example", both))
  expect([...urls]).toEqual([["kraken", "http://127.0.0.1:9000/k"], ["binance", "https://mirror.example"]])
})

test.each([
  ["okx=http://127.0.0.1", "okx=http://127.0.0.1 names none of the exchanges"],
  ["kraken", "kraken names none of the exchanges"],
  ["kraken=127.0.0.1", "kraken=127.0.0.1 has no http or https address"],
  ["kraken=ftp://127.0.0.1", "kraken=ftp://127.0.0.1 has no http or https address"],
  ["kraken=http://127.0.0.1/?a=1", "kraken=http://127.0.0.1/?a=1 has no http or https address"]
])("%s is refused", (text, fault) => {
  expect(Exchanges.parseUrls(text, both)).toEqual(Either.left(fault))
})

test.each([
  ["BTC/USD", undefined, "BTC/USD"],
  ["BTC/USD", "USDT", "BTC/USDT"],
  ["BTC", undefined, "BTC/USD"],
  ["BTC", "EUR", "BTC/EUR"],
  ["EUR/USD", undefined, "EUR/USD"]
])("%s quoted in %s is %s", (underlying, quote, symbol) => {
  expect(Exchanges.symbolOf({ id: "x", weight: 1, quote }, underlying)).toBe(symbol)
})
