/** Whatever can be asked of the engine can be journaled and read back as it was; anything else is refused. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Command } from "../../src/operations/Operations.js"
import * as CommandCodec from "../../src/journal/CommandCodec.js"
import * as arbitraries from "./arbitraries.js"

/** Through the journal's bytes, not only through a string. */
const throughBytes = (text: string): string => Buffer.from(text, "utf8").toString("utf8")

/** Read where it lies among other bytes, as a block is. */
const decodedAt = (code: number, text: string): Command => {
  const bytes = Buffer.from(`"]${text},"`, "utf8")
  return CommandCodec.decodeAt(code, bytes, 2, bytes.length - 2)
}

const attempted = (read: () => Command): Command | string => {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(CommandCodec.Malformed)
    return (error as Error).message
  }
}

describe("CommandCodec", () => {
  test("every command is read back as it was written", () => {
    fc.assert(
      fc.property(arbitraries.command, (command) => {
        const text = CommandCodec.encode(command)
        expect(text).not.toContain("\0")
        expect(CommandCodec.decode(CommandCodec.kindCode(command), throughBytes(text))).toStrictEqual(command)
        expect(decodedAt(CommandCodec.kindCode(command), text)).toStrictEqual(command)
      }),
      { numRuns: 2_000 }
    )
  })

  test("a payload is read from its bytes exactly as from its text, whatever is wrong with it", () => {
    const Part = fc.constantFrom("[", "]", ",", "\"", "\\", "-", "0", "1", "7", ".", "e", " ", "a", "\u00e9", "\n", "null", "999999999999999", "1000000")
    fc.assert(
      fc.property(arbitraries.command, fc.nat(), fc.nat(3), fc.array(Part, { maxLength: 4 }), (command, place, dropped, parts) => {
        const code = CommandCodec.kindCode(command)
        const whole = CommandCodec.encode(command)
        const at = place % (whole.length + 1)
        const text = throughBytes(whole.slice(0, at) + parts.join("") + whole.slice(at + dropped))
        expect(attempted(() => decodedAt(code, text))).toStrictEqual(attempted(() => CommandCodec.decode(code, text)))
      }),
      { numRuns: 5_000 }
    )
  })

  test.each([
    "[1,5,5,\"k\",0,7,\"\"]",
    "[1,5,5,\"k\",0,-7,\"\"]",
    "[1,5,5,\"k\",0,-0,\"\"]",
    "[1,5,5,\"k\",0,07,\"\"]",
    "[1,5,5,\"k\",0,9007199254740991,\"\"]",
    "[1,5,5,\"k\",0,9007199254740992,\"\"]",
    "[1,5,5,\"k\",0,7,\"a\\n\"]",
    "[1,5,5,\"k\",0,7,\"\u00e9\"]",
    "[1,5,5,\"k\",0,7,\"\"",
    "[1,5,5,\"k\",0,7,\"",
    "[1,5,5,\"k\",0,7,]",
    "[1,5,5,\"k\",0,7,\"\"]]",
    "[ 1,5,5,\"k\",0,7,\"\"]",
    "[1]",
    "[]",
    "[",
    ""
  ])("from bytes as from text: %s", (text) => {
    expect(attempted(() => decodedAt(2, text))).toStrictEqual(attempted(() => CommandCodec.decode(2, text)))
  })

  test("different commands of a kind have different payloads", () => {
    fc.assert(
      fc.property(arbitraries.placeOrders, arbitraries.placeOrders, (one, other) => {
        const same = JSON.stringify(one) === JSON.stringify(other)
        expect(CommandCodec.encode(one) === CommandCodec.encode(other)).toBe(same)
      })
    )
  })

  const place = (priceAtoms: number): Command => ({
    kind: "PlaceOrders",
    operation: 3,
    account: 1,
    apiKey: 2,
    idempotencyKey: "k",
    entries: [{
      market: 0,
      clientOrderId: "c",
      side: 1,
      type: 0,
      timeInForce: 1,
      priceAtoms,
      quantityAtoms: 5,
      postOnly: false,
      reduceOnly: true,
      selfTradePrevention: 2,
        expiresAtEpochMs: 0,
      fault: 0,
      raw: ""
    }]
  })

  test("the format of the hot path stays what journals on disks have", () => {
    expect(CommandCodec.encode(place(100))).toBe("[3,1,2,\"k\",0,\"c\",149,100,5]")
    expect(CommandCodec.kindCode(place(100))).toBe(1)
  })

  test("a zero keeps its sign, so that replay decides on the same bits", () => {
    const price: Command = { kind: "SetIndexPrice", idempotencyKey: "k", market: 0, priceAtoms: 100, sourceEpochMs: -0 }
    const read = CommandCodec.decode(CommandCodec.kindCode(price), CommandCodec.encode(price))
    expect(read).toStrictEqual(price)
    expect(CommandCodec.decode(1, CommandCodec.encode(place(-0)))).toStrictEqual(place(-0))
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53])("%d is never journaled", (value) => {
    expect(() => CommandCodec.encode(place(value))).toThrow("safe integer")
  })

  test.each<[name: string, code: number, text: string]>([
    ["an unknown kind", 200, "[]"],
    ["no kind", 0, "[]"],
    ["no JSON", 7, "[\"k\""],
    ["an object", 7, "{}"],
    ["null", 7, "null"],
    ["too few items", 7, "[]"],
    ["too many items", 7, "[\"k\",1]"],
    ["a number for a string", 7, "[1]"],
    ["a string for a number", 3, "[\"development\",\"1\"]"],
    ["a fraction", 3, "[\"development\",1.5]"],
    ["an unsafe integer", 3, "[\"development\",9007199254740993]"],
    ["null for a number", 3, "[\"development\",null]"],
    ["an unknown market status", 5, "[\"k\",0,7]"],
    ["a negative market status", 5, "[\"k\",0,-1]"],
    ["an unknown operation", 1, "[99,1,2,\"k\"]"],
    ["an entry cut short", 1, "[3,1,2,\"k\",0,\"c\",149,100]"],
    ["an unknown self-trade prevention", 1, "[3,1,2,\"k\",0,\"c\",213,100,5]"],
    ["flags of no entry", 1, "[3,1,2,\"k\",0,\"c\",-1,100,5]"],
    ["an unknown refusal", 1, "[3,1,2,\"k\",0,\"c\",181,100,5,9999,\"\"]"],
    ["a cancel cut short", 2, "[5,1,2,\"k\",0,7]"],
    ["a key grant cut short", 9, "[\"k\",1,\"id\",\"prefix\",\"hash\",3]"]
  ])("%s is refused", (_name, code, text) => {
    expect(() => CommandCodec.decode(code, text)).toThrow(CommandCodec.Malformed)
  })
})
