/** Families of tickets are shared among accounts: none has more than its share of the free ones. */
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import { bounds } from "../../src/engine/identity/Bounds.js"
import { refusesMint } from "../../src/engine/identity/Ticketing.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import type { State } from "../../src/engine/State.js"

const minute = 60_000
const ticketMs = 5 * minute
const scopes = 1

/**
 * An engine with `families` families, of whose free ones an account may have one in `familyParts`. Each account has `keysOf` keys, numbered
 * from 0 at account 0.
 */
const venueOf = (families: number, keysOf: number, accounts: number, familyParts = 8) => {
  const capacity = { orders: 100, idempotencyKeys: 100, identity: { families, familyParts } }
  const engine = Engine.make(capacity)
  const { apiKeys, identity: { tickets } } = engine.state
  for (let key = 0; key < keysOf * accounts; key++) {
    apiKeys.issue({
      keyId: `key_${key}`,
      account: Math.floor(key / keysOf),
      displayPrefix: "pk_test_",
      secretSha256: key.toString(16).padStart(64, "0"),
      scopes,
      createdAtEpochMs: 0,
      expiresAtEpochMs: 1e12,
      revokedAtEpochMs: 0
    })
  }
  const asks = (account: number, key: number, atEpochMs: number): Refusal =>
    refusesMint(engine.state, { account, credential: account * keysOf + key, scopes } as never, atEpochMs)
  const add = (account: number, key: number, atEpochMs: number): void => {
    tickets.makeRoom(account * keysOf + key, atEpochMs)
    tickets.add({
      family: tickets.total,
      apiKey: account * keysOf + key,
      account,
      scopes,
      begunAtEpochMs: atEpochMs,
      endsAtEpochMs: 1e12,
      generation: 0,
      rotatedAtEpochMs: atEpochMs,
      isRepeated: false,
      isEnded: false
    })
  }
  /** Mints tickets with all keys in turn until one is refused; returns how many were issued, and the refusal. */
  const takeAll = (account: number, atEpochMs: number): readonly [number, Refusal] => {
    let taken = 0
    let refusal: Refusal = Refusal.none
    for (let key = 0; key < keysOf; key++) {
      for (;;) {
        refusal = asks(account, key, atEpochMs)
        if (refusal !== Refusal.none) break
        add(account, key, atEpochMs)
        taken++
      }
    }
    return [taken, refusal]
  }
  return { engine, capacity, asks, add, takeAll }
}

test("many accounts that mint all they can leave tickets to everybody else", () => {
  const { asks, takeAll } = venueOf(bounds.families, bounds.keys, 17, bounds.familyParts)
  const taken = Array.from({ length: 16 }, (_, account) => takeAll(account, 1_000))
  expect(taken[0]).toEqual([Math.floor(bounds.families / (bounds.familyParts + 1)), Refusal.accountShare])
  const all = taken.reduce((sum, [count]) => sum + count, 0)
  expect(all).toBeLessThan(bounds.families / 4)
  expect(asks(16, 0, 1_000)).toBe(Refusal.none)
  expect(takeAll(16, 1_000)[0]).toBe(Math.floor((bounds.families - all) / (bounds.familyParts + 1)))
})

test("an account has its part of what is free when it asks, to the last family, also behind a restart", () => {
  const { asks, capacity, engine, takeAll } = venueOf(80, 2, 2)
  // With eight taken 72 are free, of which nine are an eighth; with nine taken 71 are free, and ten are more than an eighth.
  expect(takeAll(0, 1_000)).toEqual([9, Refusal.accountShare])
  expect(takeAll(1, 1_000)).toEqual([8, Refusal.accountShare])
  const restored: State = Snapshot.unsafeDecode(Snapshot.encode(engine.state), capacity)
  const asked = { account: 0, credential: 0, scopes } as never
  expect([asks(0, 0, 1_000), refusesMint(restored, asked, 1_000)]).toEqual([Refusal.accountShare, Refusal.accountShare])
})

test("what is over counts for nobody", () => {
  const { add, asks, takeAll } = venueOf(80, 2, 2)
  takeAll(0, 1_000)
  expect(asks(0, 0, 1_000 + ticketMs - 1)).toBe(Refusal.accountShare)
  expect(asks(0, 0, 1_000 + ticketMs)).toBe(Refusal.none)
  add(0, 0, 1_000 + ticketMs)
  expect(takeAll(0, 1_000 + ticketMs)).toEqual([8, Refusal.accountShare])
})

test("a key's families are ended in the order in which they were minted, also behind a restart", () => {
  const { add, capacity, engine } = venueOf(80, 1, 1)
  for (let minted = 0; minted < 3; minted++) add(0, 0, 1_000)
  const { tickets } = engine.state.identity
  tickets.rotate(tickets.find(0)!, 2_000)
  const restored: State = Snapshot.unsafeDecode(Snapshot.encode(engine.state), capacity)
  for (const { identity } of [engine.state, restored]) {
    expect(identity.tickets.liveOf(0, 3_000).map(({ family }) => family)).toEqual([0, 1, 2])
  }
})
