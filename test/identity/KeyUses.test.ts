/** When keys were used, and from where: what of that is journaled, and how rarely. */
import { Effect, Exit, Fiber, TestClock, TestContext } from "effect"
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
  readonly isNamed?: boolean
  /** The key of a number as the state has it. */
  readonly stands?: (credential: number) => ApiKeyView | undefined
}

const setUp = ({ isNamed = false, known = [], most, mostInAll, stands = key, told = [] }: Given = {}) => {
  const sent: Array<Command> = []
  /** Answers that are yet to come, oldest first. */
  const late: Array<() => void> = []
  /** `throwsAt`: the number of the command whose submission throws; 0 for none. */
  const venue = { outcome: taken, isLate: false, submitted: 0, throwsAt: 0 }
  const reads = {
    apiKey: stands,
    clientName: (credential: number) => isNamed || credential < 100 ? "a client" : undefined,
    keyAddresses: () => known,
    keyLastUsedAt: () => 7,
    securityEvents: () => told
  }
  const submit = {
    submit: (command: Command, answer: (outcome: Outcome) => void) => {
      if (++venue.submitted === venue.throwsAt) throw new Error("a defect")
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

/** Uses of a key, one from each of so many addresses, ten of which are recorded at once. */
const roam = ({ uses }: ReturnType<typeof setUp>, used: ApiKeyView, count: number, atEpochMs = 10) => {
  for (let at = 0; at < count; at++) uses.note(used, `address ${at}`, atEpochMs)
}

test("of keys that are not used again others have their part, beyond eight of each key, and it is theirs that come in vain", () => {
  const bench = setUp({ known: ["a"], mostInAll: 20 })
  // Both accounts of a stranger fill all places, and nothing makes them leave.
  for (const credential of [1, 2]) roam(bench, key(credential), 300)
  roam(bench, key(3), 10 + 8 + 6)
  expect(recordedWithin(4, bench, [3]).filter((told) => told.startsWith("key_3"))).toEqual(addressesTo(3, 24))
  // The first of each key wait surely, and the account that holds most makes room with its first beyond these.
  const [one, two] = [1, 2].map((credential) =>
    recordedWithin(9, bench, [credential]).filter((told) => told.startsWith(`key_${credential} `))
  )
  expect([one!.slice(0, 18), two!.slice(0, 18)]).toEqual([addressesTo(1, 18), addressesTo(2, 18)])
  expect(one!.length + two!.length).toBe(2 * 18 + 14)
})

test("an account has no more of the places because it has many keys", () => {
  const bench = setUp({ known: ["a"], mostInAll: 20 })
  for (let credential = 10; credential < 50; credential++) roam(bench, { ...key(credential), account: 1 }, 300)
  roam(bench, key(3), 10 + 8 + 10)
  expect(recordedWithin(5, bench, [3]).filter((told) => told.startsWith("key_3"))).toEqual(addressesTo(3, 28))
})

test("however many places are taken, eight of each key are recorded", () => {
  const bench = setUp({ known: ["a"], mostInAll: 1 })
  for (let credential = 1; credential < 20; credential++) roam(bench, key(credential), 30)
  for (let credential = 1; credential < 20; credential++) {
    const told = recordedWithin(3, bench, [credential]).filter((each) => each.startsWith(`key_${credential} `))
    expect(told.slice(0, 18)).toEqual(addressesTo(credential, 18))
  }
})

const laterMs = 2_000_000

test.each<[string, ApiKeyView | undefined, number]>([
  ["that is forgotten leaves its places to others", undefined, 10],
  ["that was revoked leaves its places to others", { ...key(1), expiresAtEpochMs: laterMs + 1, revokedAtEpochMs: 5 }, 10],
  ["that has expired leaves its places to others", { ...key(1), expiresAtEpochMs: laterMs }, 10],
  // Each gets half of the ten, and the newcomer the first place for which both hold as many.
  ["that acts leaves others their part", { ...key(1), expiresAtEpochMs: laterMs + 1 }, 6]
])("what waits of a key %s", (_, stands, places) => {
  const bench = setUp({ known: ["a"], mostInAll: 10, stands: () => stands })
  roam(bench, key(1), 300)
  bench.uses.note(key(2), "a", laterMs)
  Effect.runSync(bench.uses.flush)
  roam(bench, key(2), 10 + 8 + 10, laterMs)
  for (let minute = 1; minute < 5; minute++) bench.uses.note(key(2), "a", laterMs + minute * 60_000)
  const told = addressesOf(bench.sent).filter(([keyId]) => keyId === "key_2")
  expect(told.length).toBe(10 + 8 + places)
})

test("what waits behind a note that is under way is recorded although its key has ended", () => {
  const bench = setUp({ known: ["a"], stands: () => undefined })
  bench.venue.isLate = true
  roam(bench, key(1), 3)
  bench.venue.isLate = false
  Effect.runSync(bench.uses.flush)
  bench.late.shift()!()
  expect(addressesOf(bench.sent).map(([, address]) => address)).toEqual(["address 0", "address 1", "address 2"])
})

test("the keys of which addresses wait are gone through in turn", () => {
  const [living, ended] = [1_100, 100]
  const stands = (credential: number) => credential >= living && credential < living + ended ? undefined : key(credential)
  const bench = setUp({ known: ["a"], isNamed: true, mostInAll: living + ended, stands })
  for (let credential = 0; credential < living + ended; credential++) roam(bench, key(credential), 10 + 8 + 1)
  const toldOf = (credential: number) => {
    Effect.runSync(bench.uses.flush)
    roam(bench, key(credential), 10 + 8 + 10)
    return recordedWithin(4, bench, [credential]).filter((told) => told.startsWith(`key_${credential} `)).length
  }
  // The places are free once those that ended have had their turn, which is behind the first thousand.
  expect([toldOf(2_000), toldOf(2_001)]).toEqual([20, 28])
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

test("what could not be submitted for a defect is journaled the next time, and nothing twice", () => {
  const { sent, uses, venue } = setUp({ isNamed: true, known: ["a"] })
  for (let credential = 1; credential <= 130; credential++) uses.note(key(credential), "a", credential)
  venue.throwsAt = 2
  expect(Exit.isFailure(Effect.runSyncExit(uses.flush))).toBe(true)
  Effect.runSync(uses.flush)
  Effect.runSync(uses.flush)
  expect(usesOf(sent).map(({ length }) => length)).toEqual([64, 64, 2])
  expect(usesOf(sent).flat().map(({ apiKey }) => apiKey)).toEqual(Array.from({ length: 130 }, (_, index) => index + 1))
})
