/** Pages of accounts' security events that begin in the engine's memory and continue in the histories, compared with all there were. */
import { Effect, Either } from "effect"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { securityEventsBefore } from "../../../src/edge/identity/SecurityHistory.js"
import { type KindName, type SecurityEvent, SecurityLog } from "../../../src/engine/identity/SecurityLog.js"
import type { Reads } from "../../../src/engine/Reads.js"
import * as SecurityTables from "../../../src/readmodel/SecurityTables.js"
import { withRows, written } from "../HistoriesOfRows.js"

const kinds: ReadonlyArray<KindName> = ["signed_in", "sign_in_failed", "key_issued"]

const run = fc.record({
  events: fc.array(fc.record({ account: fc.nat(2), kind: fc.constantFrom(...kinds), isNewRecord: fc.boolean() }), { maxLength: 60 }),
  own: fc.integer({ min: 1, max: 6 }),
  inAll: fc.integer({ min: 1, max: 12 }),
  /** Records that the histories have not taken in yet, and events from before the histories began. */
  behind: fc.nat(12),
  begunAt: fc.constantFrom(0, 0, 0, 5),
  restores: fc.boolean(),
  account: fc.nat(3),
  limit: fc.integer({ min: 1, max: 5 })
})

type Run = typeof run extends fc.Arbitrary<infer A> ? A : never

const readsOf = (log: SecurityLog, sequence: number): Reads =>
  ({
    sequence,
    securityEvents: (account: number, before: number, limit: number) => log.of(account, before, limit),
    securityStanding: (account: number) => ({ count: log.countOf(account), oldestSequence: log.oldestSequence })
  }) as unknown as Reads

const made = ({ events, inAll, own, restores }: Run) => {
  const log = new SecurityLog({ events: own, frequentEvents: 16, eventsInAll: inAll })
  let sequence = 1
  const all = events.map(({ account, isNewRecord, kind }): SecurityEvent => {
    if (isNewRecord) sequence++
    return log.add({ account, kind, sequence, atEpochMs: sequence, credentialId: "", remoteAddress: "", detail: `${kind} of ${account}` })
  })
  if (!restores) return { all, log, sequence }
  const restored = new SecurityLog({ events: own, frequentEvents: 16, eventsInAll: inAll })
  restored.restore(JSON.parse(JSON.stringify(log.dump())))
  return { all, log: restored, sequence }
}

test("each event is shown once and in its order, or nothing is, while the histories may lack what the engine has forgotten", () => {
  let [refused, whole, unneeded] = [0, 0, 0]
  fc.assert(
    fc.property(run, (given) => {
      const { account, begunAt, behind, limit } = given
      const { all, log, sequence } = made(given)
      const known = Math.max(0, sequence - behind)
      const had = all.filter((event) => event.sequence <= known && event.sequence > begunAt)
      withRows((sql, at) => {
        written(sql, SecurityTables.write(sql, had))
        const services = { histories: at({ sequence: known }), state: readsOf(log, sequence) }
        const shown: Array<SecurityEvent> = []
        for (;;) {
          const before = shown.at(-1)?.ordinal ?? Infinity
          const page = Effect.runSync(Effect.either(securityEventsBefore(services, { account, before, limit }, (rows) => rows)))
          if (Either.isLeft(page)) {
            refused++
            // A refusal is needed if an older event is in neither place; it is unneeded where only the event's record is unknown.
            const lacking = all.some((event) =>
              event.account === account && event.ordinal < before && !had.includes(event)
              && !log.of(account, Infinity, Infinity).some(({ ordinal }) => ordinal === event.ordinal)
            )
            if (!lacking) unneeded++
            return expect(page.left.description.name).toBe("HistoriesUnavailable")
          }
          shown.push(...page.right)
          if (page.right.length < limit) break
        }
        whole++
        // Events from before the histories began are listed as far as the engine still has them.
        const kept = log.of(account, Infinity, Infinity).map(({ ordinal }) => ordinal)
        expect(shown).toEqual(
          all.filter((event) => event.account === account && (event.sequence > begunAt || kept.includes(event.ordinal))).toReversed()
        )
      })
    }),
    { numRuns: 90, seed: 3 }
  )
  expect(refused).toBeGreaterThan(10)
  expect(whole).toBeGreaterThan(30)
  expect(unneeded).toBeLessThan(refused / 2)
})
