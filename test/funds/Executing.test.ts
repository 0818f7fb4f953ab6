/** What has to be so before a payment is signed of which nothing was submitted, at each of the moments at which it could change. */
import { Effect, Fiber } from "effect"
import { expect, test } from "vitest"
import { nextTurn } from "../Turn.js"
import { execute, type Prepared } from "../../src/funds/Executing.js"
import { Offsets } from "../../src/funds/Offsets.js"
import type { Bound, Parts } from "../../src/funds/Parts.js"
import { SignerUnavailable } from "../../src/signer/PartySigner.js"

const binding = { participantId: "participant", synchronizerId: "synchronizer", ledgerEndOffset: 7, commandId: "command", userId: "user" }

const prepared = {
  transfer: { number: 1, id: "wdr_1", kind: "withdrawal", account: 1, keyId: "", partyId: "", amountAtoms: 5, end: null },
  step: { name: "treasury_withdrawal", approval: null, binding, preparation: null, submissions: [], unlisted: 0 },
  preparation: { preparedTransaction: "", hash: "", hashingScheme: 3, maxRecordTimeEpochMs: 1 }
} as unknown as Prepared

/** A withdrawal that is about to be signed: the ledger answers, and what was read is durable, when the test says so. */
const scene = () => {
  const reads = {
    sequence: 1,
    funds: { offset: 0, stop: undefined as object | undefined },
    withheldFor: (): string | undefined => undefined,
    accountId: () => "acc_1"
  }
  let answer = () => {}
  const durable: Array<() => void> = []
  const seen = { asked: 0, signed: 0, awaited: [] as Array<number> }
  const parts = {
    reads,
    barrier: {
      whenDurable: (sequence: number, callback: () => void) => {
        seen.awaited.push(sequence)
        durable.push(callback)
      }
    },
    ledger: {
      end: Effect.async<{ readonly offset: number }>((resume) => {
        seen.asked++
        answer = () => resume(Effect.succeed({ offset: 7 }))
      })
    },
    signer: {
      sign: () =>
        Effect.suspend(() => {
          seen.signed++
          return new SignerUnavailable({ detail: "it only counts" })
        })
    }
  } as unknown as Parts
  const bound = { custody: binding, participantId: "participant", treasuryKeyId: "", offsets: new Offsets(parts.reads) } as unknown as Bound
  const run = Effect.runFork(execute(parts, bound, prepared))
  const goOn = async (then: () => void) => {
    await nextTurn()
    then()
    await nextTurn()
  }
  return {
    reads,
    seen,
    answered: () => goOn(() => answer()),
    written: () => goOn(() => durable.splice(0).forEach((callback) => callback())),
    ended: () => Effect.runPromise(Fiber.interrupt(run))
  }
}

test("it is signed only once it is durable that withdrawals are allowed", async () => {
  const { answered, ended, reads, seen, written } = scene()
  reads.sequence = 41
  await answered()
  expect(seen).toEqual({ asked: 1, signed: 0, awaited: [41] })
  await written()
  await ended()
  expect(seen.signed).toBe(1)
})

const changes = {
  "withdrawals are stopped": ({ reads }: ReturnType<typeof scene>) => void (reads.funds.stop = {}),
  "its account is disabled": ({ reads }: ReturnType<typeof scene>) => void (reads.withheldFor = () => "account_disabled")
}

test.each(Object.entries(changes))("it is not signed where %s before the ledger answers, or before that is durable", async (_, change) => {
  const before = scene()
  change(before)
  await before.answered()
  await before.ended()
  // Nothing is waited for that is not going to be signed.
  expect(before.seen).toEqual({ asked: 1, signed: 0, awaited: [] })
  const between = scene()
  await between.answered()
  change(between)
  await between.written()
  await between.ended()
  expect(between.seen).toEqual({ asked: 1, signed: 0, awaited: [1] })
})
