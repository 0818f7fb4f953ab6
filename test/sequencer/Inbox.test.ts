/** The inbox: bounded, with a share that placements cannot use, commands that reduce risk first, and each account in its own order. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { type Command, shareOf } from "../../src/operations/Operations.js"
import { firstInARow, Inbox } from "../../src/sequencer/Inbox.js"
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
  for (let count = 0; count < 3; count++) expect(inbox.offer({ command: placement(false), answer, offeredAtNanos: 0 })).toBe(true)
  expect(inbox.offer({ command, answer, offeredAtNanos: 0 })).toBe(taken)
  expect(inbox.depth).toBe(taken ? 4 : 3)
})

test("is full at its capacity for everyone, and has room again when one is taken", () => {
  const inbox = new Inbox({ capacity: 3, reserved: 1 })
  for (let count = 0; count < 3; count++) expect(inbox.offer({ command: cancel, answer, offeredAtNanos: 0 })).toBe(true)
  expect(inbox.offer({ command: cancel, answer, offeredAtNanos: 0 })).toBe(false)
  inbox.take()
  expect(inbox.offer({ command: placement(false), answer, offeredAtNanos: 0 })).toBe(false)
  expect(inbox.offer({ command: cancel, answer, offeredAtNanos: 0 })).toBe(true)
})

const place = (account: number): Command => complete({ kind: "PlaceOrders", account, idempotencyKey: "k", entries: [plain] })
const cancelOf = (account: number): Command => complete({ kind: "CancelOrders", account, idempotencyKey: "k", entries: [] })

const taken = (inbox: Inbox): Array<Command> => {
  const commands: Array<Command> = []
  for (let waiting = inbox.take(); waiting !== undefined; waiting = inbox.take()) commands.push(waiting.command)
  return commands
}

test("a cancel is taken before the placements of others that came before it, and behind those of its own account", () => {
  const inbox = new Inbox({ capacity: 10, reserved: 2 })
  const [flood, more, own, cancel, ownCancel] = [place(1), place(1), place(2), cancelOf(3), cancelOf(2)]
  for (const command of [flood, more, own, cancel, ownCancel]) expect(inbox.offer({ command, answer, offeredAtNanos: 0 })).toBe(true)
  expect(taken(inbox)).toEqual([cancel, flood, more, own, ownCancel])
  // The account's placements have been taken, so nothing holds its cancels back any more.
  for (const command of [flood, ownCancel]) inbox.offer({ command, answer, offeredAtNanos: 0 })
  expect(taken(inbox)).toEqual([ownCancel, flood])
})

test("many cancels hold placements up and do not stop them", () => {
  const inbox = new Inbox({ capacity: 100, reserved: 2 })
  const placement = place(1)
  for (let count = 0; count < 2; count++) inbox.offer({ command: placement, answer, offeredAtNanos: 0 })
  for (let count = 0; count < 3 * firstInARow; count++) inbox.offer({ command: cancelOf(2), answer, offeredAtNanos: 0 })
  const places = taken(inbox).flatMap((command, at) => command === placement ? [at] : [])
  expect(places).toEqual([firstInARow, 2 * firstInARow + 1])
})

const revokeOf = (account: number): Command => complete({ kind: "RevokeApiKey", account, keyId: "key_1", remoteAddress: "" } as never)

test("a revocation is taken before its own account's placements and what waits for these, and behind all other cancels that came before it", () => {
  const inbox = new Inbox({ capacity: 10, reserved: 2 })
  const [own, ownCancel, cancel, revoke, late] = [place(2), cancelOf(2), cancelOf(3), revokeOf(2), place(2)]
  for (const command of [own, ownCancel, cancel, revoke, late]) expect(inbox.offer({ command, answer, offeredAtNanos: 0 })).toBe(true)
  expect(taken(inbox)).toEqual([cancel, revoke, own, ownCancel, late])
})

test("no placement is taken while a revocation waits, however many cancels are before it", () => {
  const inbox = new Inbox({ capacity: 100, reserved: 2 })
  const revoke = revokeOf(1)
  inbox.offer({ command: place(1), answer, offeredAtNanos: 0 })
  for (let count = 0; count < 2 * firstInARow; count++) inbox.offer({ command: cancelOf(2), answer, offeredAtNanos: 0 })
  inbox.offer({ command: revoke, answer, offeredAtNanos: 0 })
  for (let count = 0; count < 3; count++) inbox.offer({ command: cancelOf(2), answer, offeredAtNanos: 0 })
  const kinds = taken(inbox).map(({ kind }) => kind)
  expect(kinds.indexOf("RevokeApiKey")).toBe(2 * firstInARow)
  // After it comes the placement, whose turn was long due.
  expect(kinds[2 * firstInARow + 1]).toBe("PlaceOrders")
})

test.each([
  ["EndSession", "revocation"],
  ["EndTickets", "revocation"],
  ["RemovePasskey", "revocation"],
  ["RevokeApiKey", "revocation"],
  // It has to come after the approval that it withdraws.
  ["DenyAgent", "reduction"]
] as const)("%s takes the room of a %s", (kind, share) => {
  expect(shareOf({ kind } as Command)).toBe(share)
})

interface Sent {
  readonly command: Command
  readonly ordinal: number
  /** In the queue of the placements: because it is one, or was sent after one of its account that waits there. */
  readonly held: boolean
}

test("takes as a naive model does, each account in its own order", () => {
  const step = fc.oneof(
    fc.constant("take" as const),
    fc.record({ account: fc.integer({ min: 0, max: 3 }), places: fc.boolean() })
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const inbox = new Inbox({ capacity: 40, reserved: 10 })
      const waiting: Array<Sent> = []
      const lastOfAccount = new Map<number, number>()
      let inARow = 0
      steps.forEach((given, ordinal) => {
        if (given !== "take") {
          const command = given.places ? place(given.account) : cancelOf(given.account)
          const held = given.places || waiting.some((other) => other.held && other.command.account === given.account)
          if (inbox.offer({ command, answer, offeredAtNanos: 0 })) waiting.push({ command, ordinal, held })
          return
        }
        const first = waiting.find(({ held }) => !held)
        const rest = waiting.find(({ held }) => held)
        const expected = rest !== undefined && (first === undefined || inARow >= firstInARow) ? rest : first
        expect(inbox.take()?.command).toBe(expected?.command)
        if (expected === undefined) return
        inARow = expected.held || rest === undefined ? 0 : inARow + 1
        waiting.splice(waiting.indexOf(expected), 1)
        const { account } = expected.command
        expect(expected.ordinal).toBeGreaterThan(lastOfAccount.get(account) ?? -1)
        lastOfAccount.set(account, expected.ordinal)
      })
    })
  )
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
          if (inbox.offer({ command, answer, offeredAtNanos: 0 })) expected.push(command)
        }
        expect(inbox.depth).toBe(expected.length)
        expect(inbox.depth).toBeLessThanOrEqual(7)
      }
    })
  )
})
