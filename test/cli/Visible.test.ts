/** Texts chosen by others, as the tools print them. */
import { expect, test } from "vitest"
import { inLine, printed } from "../../src/cli/Visible.js"
import { auditLine } from "../../src/cli/replay/CommandLines.js"
import { linesOf } from "../../src/cli/replay/Lines.js"
import { everyone } from "../../src/cli/replay/Names.js"
import { none } from "../../src/domain/None.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { type Outcome, refuse } from "../../src/operations/Operations.js"
import { complete } from "../engine/commands.js"

test.each([
  ["what is seen", "BTC-USDC-PERP, 60 000.0 Grüße 你好", "BTC-USDC-PERP, 60 000.0 Grüße 你好"],
  ["a line that would be another", "x\n   99  halt", "x\\u000a   99  halt"],
  ["what erases a line", "x\u001b[2K\r", "x\\u001b[2K\\u000d"],
  ["what hides the rest", "\u001b[8m", "\\u001b[8m"],
  ["a title, or a clipboard", "\u001b]52;c;AAAA\u0007", "\\u001b]52;c;AAAA\\u0007"],
  ["the same in one character", "\u009b2J", "\\u009b2J"],
  ["another direction", "a\u202eb\u2066c", "a\\u202eb\\u2066c"],
  ["ends of lines that are none of ASCII", "a\u2028b\u2029c\u0085d", "a\\u2028b\\u2029c\\u0085d"],
  ["half a character", "\ud800", "\\ud800"],
  ["what is unseen beyond 16 bits", "\u{e0041}", "\\udb40\\udc41"],
  ["letters of which nothing is seen", "a\u3164b\u115f\u2800", "a\\u3164b\\u115f\\u2800"],
  ["a note without a head, and what stands for nothing", "\u{1d159}\u{13441}\ufffc", "\\ud834\\udd59\\ud80d\\udc41\\ufffc"],
  ["emoji that are seen, and accents", "\u2764\ufe0f e\u0301", "\u2764\ufe0f e\u0301"]
])("within a line, %s", (_, text, told) => {
  expect(inLine(text)).toBe(told)
})

test("an output keeps its lines, columns and colours, and JSON its texts", () => {
  expect(printed("a\tb\n\u001b[1;31mc\u001b[0m\n")).toBe("a\tb\n\u001b[1;31mc\u001b[0m\n")
  expect(printed("a\u001b[2Kb\rc\u001b]0;x\u0007")).toBe("a\\u001b[2Kb\\u000dc\\u001b]0;x\\u0007")
  const texts = { name: "a\u009b2J\u202e\u001b[8m\n\u{e0041}" }
  expect(JSON.parse(printed(JSON.stringify(texts)))).toEqual(texts)
})

test("a trader's text writes no line of its own into what is told of a journal", () => {
  const { state } = Engine.make({ orders: 64, idempotencyKeys: 64 })
  const raw = "x\u001b[2K\n   99  2026-11-28T09:00:00.000Z  halt asked by the operator: done\u001b]0;owned\u0007"
  const command = complete({ kind: "CancelAllOrders", idempotencyKey: "k", market: none, raw })
  const refused = { refusal: Refusal.marketNotFound, limit: Number.NaN, actual: Number.NaN, nearest: Number.NaN, orderNumber: none }
  const outcome: Outcome = { ...refuse(Refusal.none, 1, 1), entries: [{ _tag: "Refused", ...refused }] }
  const told = [auditLine(state, command, outcome), ...linesOf(state, { sequence: 1, atEpochMs: 1, command }, outcome, [], everyone)]
  expect(told.length).toBeGreaterThan(1)
  for (const line of told) {
    expect(line).toContain("x\\u001b[2K\\u000a   99")
    expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  }
})
