/**
 * A first deposit against every fault of the ledger, at every step: it ends credited exactly once or not at all, as the ledger says,
 * and the books agree with the ledger to the atom.
 */
import { describe, expect, test } from "vitest"
import type { Fault, Script } from "../../src/ledger/development/Faults.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 25_000_000
const steps = ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"] as const
type Step = (typeof steps)[number]

interface Row {
  readonly why: string
  readonly script: (step: Step) => Script
  /** What the deposit comes to. */
  readonly ends: "ledger_confirmed" | "rejected" | "submitted_unknown"
  /** How much later what was on its way arrives. */
  readonly afterMs?: number
}

const on = (route: Script[number]["on"], fault: Fault, more: Partial<Script[number]> = {}): Script[number] => ({
  on: route,
  skip: 0,
  times: 1,
  fault,
  ...more
})

const execute = (why: string, fault: Fault, ends: Row["ends"], times = 1): Row => ({
  why,
  script: (step) => [on("execute", fault, { step, times })],
  ends
})

const prepare = (why: string, fault: Fault, ends: Row["ends"]): Row => ({ why, script: (step) => [on("prepare", fault, { step })], ends })

const rows: ReadonlyArray<Row> = [
  execute("nothing goes wrong", { name: "complete_unknown" }, "ledger_confirmed"),
  execute("the answer is late", { name: "answer_late", afterMs: 20_000 }, "ledger_confirmed"),
  execute("the request is lost", { name: "drop_request" }, "ledger_confirmed"),
  execute("the request is lost again and again", { name: "drop_request" }, "ledger_confirmed", 4),
  execute("the answer is lost", { name: "drop_answer" }, "ledger_confirmed"),
  execute("it is told twice", { name: "complete_twice" }, "ledger_confirmed"),
  { ...execute("it is told after minutes", { name: "complete_after", afterMs: 180_000 }, "ledger_confirmed"), afterMs: 200_000 },
  execute("it is refused for certain", { name: "refuse", code: "INCONSISTENT", cause: "no" }, "rejected"),
  execute("it may have been done, and was", { name: "refuse_indefinite", isDone: true }, "ledger_confirmed"),
  execute("it may have been done, and was not", { name: "refuse_indefinite", isDone: false }, "ledger_confirmed"),
  execute("it is said to be under way", { name: "in_flight" }, "ledger_confirmed"),
  execute("the ledger starts again", { name: "restart" }, "ledger_confirmed"),
  execute("the maximum passes before it is in order", { name: "pass_maximum", when: "before" }, "ledger_confirmed"),
  execute("the maximum passes as it is in order", { name: "pass_maximum", when: "at" }, "ledger_confirmed"),
  execute("the maximum passes when it was in order", { name: "pass_maximum", when: "after" }, "ledger_confirmed"),
  {
    why: "the answer is lost, and a resubmission refused since the first won",
    script: (step) => [
      on("execute", { name: "drop_answer" }, { step }),
      on("execute", { name: "refuse_since_first_won", by: "answer" }, { step })
    ],
    ends: "ledger_confirmed"
  },
  {
    why: "the answer is lost, the completion late, and a resubmission rejected since the first won",
    script: (step) => [
      on("execute", { name: "complete_after", afterMs: 120_000 }, { step }),
      on("execute", { name: "refuse_since_first_won", by: "completion" }, { step, times: 3 })
    ],
    ends: "ledger_confirmed"
  },
  {
    why: "completions are forgotten behind an answer that was lost, and none is found by its hash",
    script: (step) => [
      on("execute", { name: "drop_answer" }, { step }),
      on("completion_by_hash", { name: "drop_answer" }, { times: 500 }),
      on("completions", { name: "prune" }, { times: 500, skip: step === "owner_account_acceptance" ? 1 : 4 })
    ],
    ends: "submitted_unknown"
  },
  prepare("another hash", { name: "other_hash" }, "rejected"),
  prepare("other bytes", { name: "other_bytes", part: "second_root" }, "rejected"),
  prepare("no answer to its preparation", { name: "drop_answer" }, "ledger_confirmed"),
  {
    why: "the end of the ledger is not told",
    script: () => [on("ledger_end", { name: "drop_request" }, { times: 5 })],
    ends: "ledger_confirmed"
  },
  {
    why: "completions are not told",
    script: () => [on("completions", { name: "refuse_indefinite", isDone: false }, { times: 5 })],
    ends: "ledger_confirmed"
  },
  {
    why: "no completion is found by its hash",
    script: () => [on("completion_by_hash", { name: "drop_answer" }, { times: 50 })],
    ends: "ledger_confirmed"
  },
  { why: "the party is allocated, and nobody told", script: () => [on("allocate", { name: "drop_answer" })], ends: "ledger_confirmed" }
]

describe.each(steps)("%s", (step) => {
  test.each(rows)("$why: $ends", async ({ afterMs = 10_000, ends, script }) => {
    const bank = await Bank.open()
    await bank.script(script(step))
    const owner = await Owner.open(bank)
    const id = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, amountAtoms)
    const approvals: Array<string> = []
    expect(await owner.confirm("deposit", id, approvals)).toBe(ends)
    await bank.venue.leap(afterMs)
    const credited = ends === "ledger_confirmed" ? amountAtoms : 0
    expect(await owner.collateralAtoms).toBe(credited)
    expect(await bank.reconcile()).toMatchObject({ heldAtoms: String(credited), owedAtoms: String(credited), unattributedAtoms: "0" })
    await bank.venue.stop()
  })
})
