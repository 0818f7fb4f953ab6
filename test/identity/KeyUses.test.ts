/** When keys were used, and from where: what of that is journaled, and how rarely. */
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import type { ApiKeyView, SecurityEventView } from "../../src/engine/Reads.js"
import * as KeyUses from "../../src/identity/KeyUses.js"
import { Principal } from "../../src/operations/Header.js"
import { type Command, type Outcome, refuse } from "../../src/operations/Operations.js"
import { done } from "../../src/operations/Outcome.js"

const key = (credential: number): ApiKeyView => ({
  principal: Principal.key,
  credential,
  keyId: `key_${credential}`,
  account: credential,
  displayPrefix: "pk",
  secretSha256: "0".repeat(64),
  scopes: 3,
  createdAtEpochMs: 1,
  expiresAtEpochMs: 1_000_000,
  revokedAtEpochMs: 0
})

const taken: Outcome = { sequence: 1, atEpochMs: 1, refusal: Refusal.none, replayed: false, entries: [done] }

/** Keys below 100 have names; `known`: the addresses that the state has for each. */
interface Given {
  readonly known?: ReadonlyArray<string>
  readonly most?: number
  readonly mostInAll?: number
  readonly told?: ReadonlyArray<SecurityEventView>
}

const setUp = ({ known = [], most, mostInAll, told = [] }: Given = {}) => {
  const sent: Array<Command> = []
  /** Answers that are yet to come, oldest first. */
  const late: Array<() => void> = []
  const venue = { outcome: taken, isLate: false }
  const reads = {
    clientName: (credential: number) => credential < 100 ? "a client" : undefined,
    keyAddresses: () => known,
    keyLastUsedAt: () => 7,
    securityEvents: () => told
  }
  const submit = {
    submit: (command: Command, answer: (outcome: Outcome) => void) => {
      sent.push(command)
      if (venue.isLate) late.push(() => answer(venue.outcome))
      else answer(venue.outcome)
    }
  }
  return { late, sent, uses: KeyUses.make(reads, submit, most, mostInAll), venue }
}

const usesOf = (commands: ReadonlyArray<Command>) => commands.flatMap((command) => command.kind === "NoteKeyUses" ? [command.uses] : [])
const addressesOf = (commands: ReadonlyArray<Command>) =>
  commands.flatMap((command) => command.kind === "NoteSecurity" ? [[command.credentialId, command.remoteAddress, command.what]] : [])

test("of many uses the last is journaled, a minute after the first, and nothing while nothing is used", async () => {
  const { sent, uses } = setUp({ known: ["a"] })
  await Effect.runPromise(Effect.gen(function*() {
    const driver = yield* Effect.fork(uses.drive)
    yield* TestClock.adjust("1 hour")
    expect(sent).toEqual([])
    for (const at of [100, 200, 300]) uses.note(key(1), "a", at)
    uses.note(key(2), "a", 150)
    yield* TestClock.adjust("59 seconds")
    expect(sent).toEqual([])
    yield* TestClock.adjust("1 second")
    expect(usesOf(sent)).toEqual([[{ apiKey: 1, usedAtEpochMs: 300 }, { apiKey: 2, usedAtEpochMs: 150 }]])
    yield* TestClock.adjust("1 hour")
    expect(usesOf(sent)).toHaveLength(1)
    uses.note(key(2), "a", 400)
    yield* TestClock.adjust("1 minute")
    expect(usesOf(sent)[1]).toEqual([{ apiKey: 2, usedAtEpochMs: 400 }])
    yield* Fiber.interrupt(driver)
  }).pipe(Effect.provide(TestContext.TestContext)))
})

test("no record has more than 64 uses", () => {
  const { sent, uses } = setUp({ known: ["a"] })
  for (let credential = 0; credential < 70; credential++) uses.note(key(credential), "a", 10)
  Effect.runSync(uses.flush)
  expect(usesOf(sent).map(({ length }) => length)).toEqual([64, 6])
})

test("what was refused for want of room is journaled the next time", () => {
  const { sent, uses, venue } = setUp({ known: ["a"] })
  uses.note(key(1), "a", 10)
  venue.outcome = refuse(Refusal.journalFull, 0, 0)
  Effect.runSync(uses.flush)
  venue.outcome = taken
  Effect.runSync(uses.flush)
  Effect.runSync(uses.flush)
  expect(usesOf(sent)).toHaveLength(2)
})

test("a key is told of at once where it comes from an address that it was not known to come from", () => {
  const { sent, uses } = setUp({ known: ["a"] })
  for (const address of ["a", "a", "b", "b", "a"]) uses.note(key(1), address, 10)
  expect(addressesOf(sent)).toEqual([["key_1", "b", "key_used_from_new_address"]])
})

test("the first use of all is from a new address", () => {
  const { sent, uses } = setUp()
  uses.note(key(1), "a", 10)
  expect(addressesOf(sent)).toEqual([["key_1", "a", "key_used_from_new_address"]])
})

test("whoever changes addresses again and again fills nobody's journal", () => {
  const { sent, uses } = setUp()
  for (let count = 0; count < 100; count++) uses.note(key(1), `address ${count}`, 10)
  expect(addressesOf(sent)).toHaveLength(10)
})

test("an address whose note found no room is noted with a later use, and never twice at once", () => {
  const { sent, uses, venue } = setUp()
  venue.outcome = refuse(Refusal.inboxFull, 0, 0)
  uses.note(key(1), "a", 10)
  venue.outcome = taken
  for (const at of [20, 30]) uses.note(key(1), "a", at)
  expect(addressesOf(sent)).toHaveLength(2)
  venue.isLate = true
  for (const at of [40, 50]) uses.note(key(1), "b", at)
  expect(addressesOf(sent)).toHaveLength(3)
})

test("addresses that come while another one is noted are noted one by one, without another use of the key", () => {
  const { late, sent, uses, venue } = setUp({ known: ["a"] })
  venue.isLate = true
  for (const address of ["x", "y", "a", "x", "y", "z"]) uses.note(key(1), address, 10)
  const told = () => addressesOf(sent).map(([, address]) => address)
  expect(told()).toEqual(["x"])
  late.shift()!()
  expect(told()).toEqual(["x", "y"])
  late.shift()!()
  late.shift()!()
  expect(told()).toEqual(["x", "y", "z"])
  expect(late).toEqual([])
})

/** The addresses of which notes are recorded once no answer is late any more and `minutes` have passed with a use in each. */
const recordedWithin = (minutes: number, { late, sent, uses }: ReturnType<typeof setUp>, credentials: ReadonlyArray<number>) => {
  for (let minute = 0; minute < minutes; minute++) {
    if (minute > 0) { for (const each of credentials) uses.note(key(each), "a", 10 + minute * 60_000) }
    while (late.length > 0) late.shift()!()
  }
  return addressesOf(sent).map(([keyId, address]) => `${keyId} ${address}`)
}

const addressesTo = (credential: number, count: number) => Array.from({ length: count }, (_, at) => `key_${credential} address ${at}`)

test("of hundreds of addresses that come at once 256 are recorded, in turn, ten in each minute in which the key is used", () => {
  const bench = setUp({ known: ["a"] })
  bench.venue.isLate = true
  for (let count = 0; count < 300; count++) bench.uses.note(key(1), `address ${count}`, 10)
  expect(recordedWithin(1, bench, [1])).toEqual(addressesTo(1, 10))
  expect(recordedWithin(30, bench, [1])).toEqual(addressesTo(1, 256))
})

test("however many addresses wait of other keys, eight of each are recorded, and more again once the others are", () => {
  const bench = setUp({ known: ["a"], mostInAll: 10 })
  bench.venue.isLate = true
  for (const credential of [1, 2]) for (let count = 0; count < 20; count++) bench.uses.note(key(credential), `address ${count}`, 10)
  expect(recordedWithin(2, bench, [1, 2]).toSorted()).toEqual([...addressesTo(1, 10), ...addressesTo(2, 8)].toSorted())
  for (let count = 0; count < 20; count++) bench.uses.note(key(3), `address ${count}`, 10)
  expect(recordedWithin(3, bench, [3]).filter((told) => told.startsWith("key_3"))).toEqual(addressesTo(3, 10))
})

test("an address whose note found no room is noted with the next use from any other", () => {
  const { sent, uses, venue } = setUp({ known: ["a"] })
  venue.outcome = refuse(Refusal.inboxFull, 0, 0)
  uses.note(key(1), "x", 10)
  venue.outcome = taken
  uses.note(key(1), "a", 20)
  expect(addressesOf(sent).map(([, address]) => address)).toEqual(["x", "x"])
})

test("each of many keys of an account is told of, as soon as it is noted again", () => {
  const { sent, uses } = setUp()
  for (const minute of [0, 1]) {
    for (let credential = 0; credential < 12; credential++) uses.note({ ...key(credential), account: 1 }, "a", minute * 60_000 + 1)
  }
  expect(addressesOf(sent)).toHaveLength(12)
})

test("keys that nobody was given by name are known in the process alone", () => {
  const { sent, uses } = setUp()
  uses.note(key(100), "a", 50)
  Effect.runSync(uses.flush)
  expect(sent).toEqual([])
  expect(uses.lastUsedAt(key(100))).toBe(50)
})

test("the last use is the later of what is known here and what is in the state", () => {
  const { uses } = setUp()
  expect(uses.lastUsedAt(key(1))).toBe(7)
  uses.note(key(1), "a", 9)
  expect(uses.lastUsedAt(key(1))).toBe(9)
})

test("a use whose time was not journaled before a crash is known by what its owner was told of it", () => {
  const event = { ordinal: 0, account: 1, sequence: 1, remoteAddress: "a", detail: "" }
  const { uses } = setUp({
    told: [
      { ...event, kind: "key_used_from_new_address", credentialId: "key_2", atEpochMs: 90 },
      { ...event, kind: "key_revoked", credentialId: "key_1", atEpochMs: 80 },
      { ...event, kind: "key_used_from_new_address", credentialId: "key_1", atEpochMs: 70 },
      { ...event, kind: "key_used_from_new_address", credentialId: "key_1", atEpochMs: 60 }
    ]
  })
  expect([1, 2, 3].map((credential) => uses.lastUsedAt(key(credential)))).toEqual([70, 90, 7])
  uses.note(key(1), "a", 75)
  expect(uses.lastUsedAt(key(1))).toBe(75)
})

test("with more keys than it may know it forgets, and loses nothing that is owed", () => {
  const { sent, uses } = setUp({ known: ["a"], most: 2 })
  for (const credential of [1, 2, 3, 4, 5]) uses.note(key(credential), "a", credential)
  Effect.runSync(uses.flush)
  expect(usesOf(sent).flat().map(({ apiKey }) => apiKey)).toEqual([1, 2, 3, 4, 5])
})
