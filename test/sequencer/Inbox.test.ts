/** The inbox: first in first out, bounded, with a share that placements do not get. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import type { Command } from "../../src/operations/Operations.js"
import { Inbox } from "../../src/sequencer/Inbox.js"
import { complete } from "../engine/commands.js"
import { plain } from "../engine/drive.js"

const answer = () => {}

const placement = (...reduceOnly: ReadonlyArray<boolean>): Command =>
  complete({
    kind: "PlaceOrders",
    account: 0,
    idempotencyKey: "k",
    entries: reduceOnly.map((reduce) => ({ ...plain, reduceOnly: reduce }))
  })

const cancel = complete({ kind: "CancelOrders", account: 0, idempotencyKey: "k", entries: [] })

test.each<[string, Command, boolean]>([
  ["a placement", placement(false), false],
  ["a batch that also reduces", placement(true, false), false],
  ["a reduce-only placement", placement(true), true],
  ["a batch that only reduces", placement(true, true), true],
  ["a cancel", cancel, true],
  ["a halt", complete({ kind: "HaltEngine", idempotencyKey: "k" }), true],
  ["the passing of time", complete({ kind: "PassTime" }), true],
  ["an index price", complete({ kind: "SetIndexPrice", market: 0, priceAtoms: 1, sourceEpochMs: 0 }), true]
])("%s, when only the reserved share is left: %j, taken %s", (_, command, taken) => {
  const inbox = new Inbox({ capacity: 5, reserved: 2 })
  for (let count = 0; count < 3; count++) expect(inbox.offer({ command: placement(false), answer })).toBe(true)
  expect(inbox.offer({ command, answer })).toBe(taken)
  expect(inbox.depth).toBe(taken ? 4 : 3)
})

test("is full at its capacity for everyone, and has room again when one is taken", () => {
  const inbox = new Inbox({ capacity: 3, reserved: 1 })
  for (let count = 0; count < 3; count++) expect(inbox.offer({ command: cancel, answer })).toBe(true)
  expect(inbox.offer({ command: cancel, answer })).toBe(false)
  inbox.take()
  expect(inbox.offer({ command: placement(false), answer })).toBe(false)
  expect(inbox.offer({ command: cancel, answer })).toBe(true)
})

test("gives back what it took, in order, round and round", () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 200 }), (steps) => {
      const inbox = new Inbox({ capacity: 7, reserved: 2 })
      const expected: Array<Command> = []
      let count = 0
      for (const takes of steps) {
        if (takes) expect(inbox.take()?.command).toBe(expected.shift())
        else {
          const command = complete({ kind: "HaltEngine", idempotencyKey: String(count++) })
          if (inbox.offer({ command, answer })) expected.push(command)
        }
        expect(inbox.depth).toBe(expected.length)
        expect(inbox.depth).toBeLessThanOrEqual(7)
      }
    })
  )
})
