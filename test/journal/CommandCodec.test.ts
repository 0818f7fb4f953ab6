/** Every command that may be sent to the engine can be journaled and read back unchanged; anything else is refused. */
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"
import * as CommandCodec from "../../src/journal/CommandCodec.js"
import { Malformed } from "../../src/journal/Malformed.js"
import { type Header, internal, Principal } from "../../src/operations/Header.js"
import type { Fields } from "../../src/operations/Field.js"
import { all, type Command, declarations } from "../../src/operations/Operations.js"
import { complete } from "../engine/commands.js"
import { plain } from "../engine/drive.js"
import * as arbitraries from "./arbitraries.js"

/** Through UTF-8 bytes, as in a journal, and not only through a string. */
const throughBytes = (text: string): string => Buffer.from(text, "utf8").toString("utf8")

/** The header for payloads that are no command. */
const anybody = internal(Principal.venue)

/** Decodes a payload among other bytes, as in a block. */
const decodedAt = (code: number, header: Header, text: string): Command => {
  const bytes = Buffer.from(`"]${text},"`, "utf8")
  return CommandCodec.decodeAt(code, header, bytes, 2, bytes.length - 2)
}

const attempted = (read: () => Command): Command | string => {
  try {
    return read()
  } catch (error) {
    expect(error).toBeInstanceOf(Malformed)
    return (error as Error).message
  }
}

describe("CommandCodec", () => {
  test("every command is read back as it was written", () => {
    fc.assert(
      fc.property(arbitraries.command, (command) => {
        const text = CommandCodec.encode(command)
        expect(text).not.toContain("\0")
        const [code, header] = [CommandCodec.kindCode(command), arbitraries.headerOf(command)]
        expect(CommandCodec.decode(code, header, throughBytes(text))).toStrictEqual(command)
        expect(decodedAt(code, header, text)).toStrictEqual(command)
      }),
      { numRuns: 2_000 }
    )
  })

  test("a payload is read from its bytes exactly as from its text, whatever is wrong with it", () => {
    const Part = fc.constantFrom("[", "]", ",", "\"", "\\", "-", "0", "1", "7", ".", "e", " ", "a", "\u00e9", "\n", "null",
      "999999999999999", "1000000")
    fc.assert(
      fc.property(arbitraries.command, fc.nat(), fc.nat(3), fc.array(Part, { maxLength: 4 }), (command, place, dropped, parts) => {
        const code = CommandCodec.kindCode(command)
        const whole = CommandCodec.encode(command)
        const at = place % (whole.length + 1)
        const text = throughBytes(whole.slice(0, at) + parts.join("") + whole.slice(at + dropped))
        const header = arbitraries.headerOf(command)
        expect(attempted(() => decodedAt(code, header, text))).toStrictEqual(attempted(() => CommandCodec.decode(code, header, text)))
      }),
      { numRuns: 5_000 }
    )
  })

  test.each([
    "[0,7,\"\"]",
    "[0,-7,\"\"]",
    "[0,-0,\"\"]",
    "[0,07,\"\"]",
    "[0,9007199254740991,\"\"]",
    "[0,9007199254740992,\"\"]",
    "[0,7,\"a\\n\"]",
    "[0,7,\"\u00e9\"]",
    "[0,7,\"\"",
    "[0,7,\"",
    "[0,7,]",
    "[0,7,\"\"]]",
    "[ 0,7,\"\"]",
    "[1]",
    "[]",
    "[",
    ""
  ])("from bytes as from text: %s", (text) => {
    expect(attempted(() => decodedAt(2, anybody, text))).toStrictEqual(attempted(() => CommandCodec.decode(2, anybody, text)))
  })

  test("different commands of a kind have different payloads", () => {
    fc.assert(
      fc.property(arbitraries.commandOf("PlaceOrders"), arbitraries.commandOf("PlaceOrders"), (one, other) => {
        const same = JSON.stringify(one.entries) === JSON.stringify(other.entries) && Object.is(one.connection, other.connection)
        expect(CommandCodec.encode(one) === CommandCodec.encode(other)).toBe(same)
      })
    )
  })

  test("what a field says as it was before there was such a field, is written as it was then where the field is left out", () => {
    const keys = [{ keyId: "k", displayPrefix: "p", secretSha256: "s", scopes: 3, expiresAtEpochMs: 9 }]
    const opening = (lifetimeSeconds: number): Command =>
      complete({ kind: "OpenDemoAccounts", idempotencyKey: "k", collateralAtoms: 5, keys, lifetimeSeconds })
    const earlier = "[5,[[\"k\",\"p\",\"s\",3,9]]]"
    expect(CommandCodec.encode(opening(0))).toBe(earlier)
    expect(CommandCodec.encode(opening(300))).toBe(`${earlier.slice(0, -1)},300]`)
    for (const command of [opening(0), opening(300)]) {
      const text = CommandCodec.encode(command)
      expect(CommandCodec.decode(CommandCodec.kindCode(command), arbitraries.headerOf(command), text)).toEqual(command)
    }
  })

  test("only the last field of a command may be left out", () => {
    for (const { fields, kind } of all) {
      const leftOut = Object.values(fields as Fields).flatMap(({ isLeftOut }, index) => isLeftOut === true ? [index] : [])
      expect([kind, leftOut.filter((index) => index !== Object.keys(fields).length - 1)]).toEqual([kind, []])
    }
  })

  /** The handwritten encoding must equal the declaration's, and be decoded alike. */
  test.each(["PlaceOrders", "CancelOrders"] as const)("%s, written by hand, is the same command as its declaration writes", (kind) => {
    const declared = CommandCodec.declared(declarations[kind].fields)
    fc.assert(
      fc.property(arbitraries.commandOf(kind), (command) => {
        const [code, header] = [CommandCodec.kindCode(command), arbitraries.headerOf(command)]
        const byHand = CommandCodec.decode(code, header, CommandCodec.encode(command))
        const byDeclaration = { kind, ...header, ...declared.decode(JSON.parse(declared.encode(command)) as ReadonlyArray<unknown>) }
        expect(byHand).toStrictEqual(byDeclaration)
        expect(byHand).toStrictEqual(command)
      }),
      { numRuns: 1_000 }
    )
  })

  const place = (priceAtoms: number): Command =>
    complete({
      kind: "PlaceOrders",
      operation: 3,
      account: 1,
      credential: 2,
      idempotencyKey: "k",
      entries: [{
        ...plain,
        clientOrderId: "c",
        side: 1,
        timeInForce: 1,
        priceAtoms,
        quantityAtoms: 5,
        reduceOnly: true,
        selfTradePrevention: 2
      }]
    })

  test("the format of the hot path stays what journals on disks have", () => {
    expect(CommandCodec.encode(place(100))).toBe("[0,\"c\",149,100,5]")
    expect(CommandCodec.encode({ ...place(100), connection: 77 } as Command)).toBe("[0,\"c\",149,100,5,77]")
    expect(CommandCodec.kindCode(place(100))).toBe(1)
  })

  test("a zero keeps its sign, so that replay decides on the same bits", () => {
    for (const command of [complete({ kind: "SetIndexPrice", market: 0, priceAtoms: 100, sourceEpochMs: -0 }), place(-0)]) {
      const text = CommandCodec.encode(command)
      expect(CommandCodec.decode(CommandCodec.kindCode(command), arbitraries.headerOf(command), text)).toStrictEqual(command)
      expect(decodedAt(CommandCodec.kindCode(command), arbitraries.headerOf(command), text)).toStrictEqual(command)
    }
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 0.5, 2 ** 53])("%d is never journaled", (value) => {
    expect(() => CommandCodec.encode(place(value))).toThrow("safe integer")
  })

  test.each<[name: string, code: number, text: string]>([
    ["an unknown kind", 200, "[]"],
    ["no kind", 0, "[]"],
    ["no JSON", 7, "["],
    ["an object", 7, "{}"],
    ["null", 7, "null"],
    ["too few items", 12, "[]"],
    ["too many items", 7, "[1]"],
    ["a number for a string", 3, "[1,1,2,\"0.1.0\"]"],
    ["a string for a number", 3, "[\"development\",\"1\",2,\"0.1.0\"]"],
    ["a fraction", 3, "[\"development\",1.5,2,\"0.1.0\"]"],
    ["an unsafe integer", 3, "[\"development\",9007199254740993,2,\"0.1.0\"]"],
    ["null for a number", 3, "[\"development\",null,2,\"0.1.0\"]"],
    ["an unknown market status", 5, "[0,7]"],
    ["a negative market status", 5, "[0,-1]"],
    ["a fraction of a market status", 5, "[0,1.5]"],
    ["an entry cut short", 1, "[0,\"c\",149,100]"],
    ["an unknown self-trade prevention", 1, "[0,\"c\",213,100,5]"],
    ["flags of no entry", 1, "[0,\"c\",-1,100,5]"],
    ["an unknown refusal", 1, "[0,\"c\",181,100,5,9999,\"\"]"],
    ["an unknown refusal of a declared code", 10, "[0,64,1000,10,9999,\"\"]"],
    ["a cancel cut short", 2, "[0,7]"],
    ["a list that is none", 9, "[1,7]"],
    ["a list of too many", 9, `[1,[${Array.from({ length: 33 }, () => "[\"id\",\"prefix\",\"hash\",3,1]").join(",")}]]`],
    ["a key grant cut short", 9, "[1,[[\"id\",\"prefix\",\"hash\",3]]]"]
  ])("%s is refused", (_name, code, text) => {
    expect(() => CommandCodec.decode(code, anybody, text)).toThrow(Malformed)
  })
})
