/** The log of accounts' security events: bounded per account and in total, and the same after a restore at any moment. */
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { type KindName, SecurityLog } from "../../src/engine/identity/SecurityLog.js"

const event = (account: number, kind: KindName, sequence: number) => ({
  account,
  kind,
  sequence,
  atEpochMs: sequence,
  credentialId: "",
  remoteAddress: "",
  detail: ""
})

const kinds: ReadonlyArray<KindName> = ["signed_in", "sign_in_failed", "key_issued"]

test("a log that was restored is the one that it was, whatever comes", () => {
  const step = fc.record({ account: fc.nat(3), kind: fc.constantFrom(...kinds), restores: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 9 }), (steps, own, all) => {
      const whole = new SecurityLog({ events: own, frequentEvents: 16, eventsInAll: all })
      let again = new SecurityLog({ events: own, frequentEvents: 16, eventsInAll: all })
      steps.forEach(({ account, kind, restores }, sequence) => {
        whole.add(event(account, kind, sequence))
        again.add(event(account, kind, sequence))
        if (!restores) return
        const restored = new SecurityLog({ events: own, frequentEvents: 16, eventsInAll: all })
        restored.restore(JSON.parse(JSON.stringify(again.dump())))
        again = restored
      })
      expect(again.dump()).toEqual(whole.dump())
      expect(whole.dump().events.length).toBeLessThanOrEqual(all)
    })
  )
})

test("keeps the latest of each account, and counts them on", () => {
  const log = new SecurityLog({ events: 2, frequentEvents: 16, eventsInAll: 100 })
  for (let sequence = 0; sequence < 5; sequence++) log.add(event(7, "signed_in", sequence))
  expect(log.of(7, Infinity, 9).map(({ ordinal, sequence }) => [ordinal, sequence])).toEqual([[4, 4], [3, 3]])
  expect(log.of(7, 4, 9).map(({ ordinal }) => ordinal)).toEqual([3])
  expect(log.of(8, Infinity, 9)).toEqual([])
})

/**
 * Failed passkeys, failed approvals, and a key used from more addresses than are remembered; what a read-only key and a session can do
 * again and again.
 */
const atWill = [
  "sign_in_failed",
  "approval_failed",
  "key_used_from_new_address",
  "ticket_family_ended",
  "signed_out_elsewhere",
  "agent_denied",
  "withdrawal_requested",
  "party_change_requested"
] as const

test.each(atWill)("%s pushes out nothing but its like", (kind) => {
  const log = new SecurityLog({ events: 256, frequentEvents: 16, eventsInAll: 10_000 })
  log.add(event(1, "key_issued", 0))
  for (let sequence = 1; sequence <= 1_000; sequence++) log.add(event(1, kind, sequence))
  const kept = log.of(1, Infinity, 300)
  expect(kept).toHaveLength(16 + 1)
  expect(kept.at(-1)!.kind).toBe("key_issued")
  expect(kept[0]!.sequence).toBe(1_000)
})

test("all that can be done at will together leaves what an owner should see", () => {
  const log = new SecurityLog({ events: 256, frequentEvents: 16, eventsInAll: 10_000 })
  log.add(event(1, "agent_approved", 0))
  for (let sequence = 1; sequence <= 1_000; sequence++) log.add(event(1, atWill[sequence % atWill.length]!, sequence))
  expect(log.of(1, Infinity, 300).at(-1)!.kind).toBe("agent_approved")
})

test("one account's many events push out no other's", () => {
  const log = new SecurityLog({ events: 3, frequentEvents: 16, eventsInAll: 10 })
  log.add(event(1, "signed_in", 0))
  for (let sequence = 1; sequence <= 1_000; sequence++) log.add(event(2, "signed_in", sequence))
  expect(log.of(1, Infinity, 9)).toHaveLength(1)
  for (let account = 3; account < 13; account++) log.add(event(account, "signed_in", 2_000 + account))
  expect(log.of(1, Infinity, 9)).toHaveLength(0)
  expect(log.dump().events).toHaveLength(10)
})
