/** Which differences between books and ledger stop withdrawals: if two comparisons differ, the one with the smaller deficit counts. */
import { Effect, Fiber, Logger, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Driver } from "../../src/funds/Driver.js"
import type { Parts } from "../../src/funds/Parts.js"
import { reconcile } from "../../src/funds/Reconciliation.js"

const owedAtoms = 1_000_000n

interface Came {
  readonly told: bigint
  readonly stopped: number | undefined
}

/** The result of two comparisons at which the treasury's holdings differ from what is owed by these amounts. */
const compare = (differences: ReadonlyArray<bigint>, acceptedAtoms = 0): Promise<Came> => {
  let asked = 0
  let stopped: number | undefined
  const parts = {
    ledger: {
      end: Effect.succeed({ offset: 1 }),
      holdings: () => Effect.sync(() => ({ atoms: owedAtoms + differences[asked++]!, offset: 1, pieces: 1, seen: 1 }))
    },
    reads: { funds: { depositedAtoms: owedAtoms, withdrawnAtoms: 0n, acceptedAtoms, stop: undefined }, openTransfers: () => [] },
    submit: (command: { readonly differenceAtoms: number }, then: (outcome: unknown) => void) => {
      stopped = command.differenceAtoms
      then({ entries: [{ _tag: "Done" }], refusal: Refusal.none })
    }
  }
  const driver = { binding: Effect.succeed({ custody: { treasury: "t" } }), readThrough: () => Effect.void }
  return Effect.runPromise(
    Effect.gen(function*() {
      const fiber = yield* Effect.fork(reconcile(parts as unknown as Parts, driver as unknown as Driver))
      yield* TestClock.adjust(2_000)
      return { told: (yield* Fiber.join(fiber)).differenceAtoms, stopped }
    }).pipe(Effect.provide(TestContext.TestContext), Effect.provide(Logger.remove(Logger.defaultLogger)))
  )
}

const rows: ReadonlyArray<readonly [why: string, differences: ReadonlyArray<bigint>, accepted: number, stopped: number | undefined]> = [
  ["nothing is lacking", [0n], 0, undefined],
  ["what is lacking stays the same", [-50n, -50n], 0, -50],
  ["somebody gives an atom meanwhile", [-50n, -49n], 0, -49],
  ["somebody takes more meanwhile", [-50n, -60n], 0, -50],
  ["it is there again", [-50n, 0n], 0, undefined],
  ["it is there again with more beside it", [-50n, 3n], 0, undefined],
  ["something beyond is gone, and more", [5n, -5n], 0, undefined],
  ["something beyond grows", [5n, 6n], 0, undefined],
  ["as much is accepted", [-50n, -49n], -50, undefined],
  ["less is accepted than either lacks", [-52n, -51n], -50, -51],
  ["the better of both is accepted", [-51n, -50n], -50, undefined]
]

test.each(rows)("where %s", async (_, differences, accepted, stopped) => {
  expect(await compare(differences, accepted)).toEqual({ told: differences.at(-1), stopped })
})
