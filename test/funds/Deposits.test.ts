/**
 * A first deposit with every fault of the ledger, at every step: it ends credited exactly once or not at all, in accordance with the
 * ledger, and the books agree with the ledger to the atom.
 */
import { describe, expect, test } from "vitest"
import type { Fault, Script } from "../../src/ledger/development/Faults.js"
import { few } from "../Depth.js"
import { Bank, Owner } from "./Bank.js"

const amountAtoms = 25_000_000
const steps = ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"] as const
type Step = (typeof steps)[number]

interface Row {
  readonly why: string
  readonly script: (step: Step) => Script
  /** How the deposit ends. */
  readonly ends: "ledger_confirmed" | "rejected"
  /** How much later messages under way arrive. */
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

/** When the venue restarts during a step: before its approval, as the ledger is asked, or after it has answered. */
const points = ["never", "before", "between", "after"] as const
type Point = (typeof points)[number]

/** What goes wrong with a step, and when the venue restarts during it. */
interface Trial {
  readonly step: Step
  readonly row: Row
  readonly point: Point
}

/** Confirms until the deposit has ended, with a restart at each trial's point of its step; returns its final status. */
const confirmedThrough = (bank: Bank, owner: Owner, id: string, trials: ReadonlyArray<Trial>): Promise<string> => {
  const approvals: Array<string> = []
  const due = new Set(trials.filter(({ point }) => point !== "never"))
  return owner.confirm("deposit", id, approvals, 30, async (here) => {
    // A step may be approved more than once.
    const approved = new Set(approvals).size
    for (const trial of due) {
      if (here !== trial.point || approved !== steps.indexOf(trial.step) + (here === "before" ? 0 : 1)) continue
      due.delete(trial)
      await bank.restart()
    }
  })
}

/** Each fault of each step with each of the points, one for each deposit. */
const each = steps.flatMap((step) => rows.flatMap((row) => points.map((point): ReadonlyArray<Trial> => [{ step, row, point }])))

/**
 * The same, crossed: each fault of each step, and each fault with one of the points at one of its steps. A deposit that goes on behind
 * its faults meets others at its other steps; one that is rejected has no other step to meet any.
 */
const crossed = ((): ReadonlyArray<ReadonlyArray<Trial>> => {
  const [going, ended] = [rows.filter(({ ends }) => ends === "ledger_confirmed"), rows.filter(({ ends }) => ends === "rejected")]
  const point = (index: number): Point => points[index % points.length]!
  const third = Math.ceil(going.length / steps.length)
  return [
    ...going.map((_, index) =>
      steps.map((step, at): Trial => ({
        step,
        row: going[(index + at * third) % going.length]!,
        point: at === index % steps.length ? point(index) : "never"
      }))
    ),
    ...steps.flatMap((step, at) => ended.map((row, index): ReadonlyArray<Trial> => [{ step, row, point: point(index + at) }]))
  ]
})()

const matrix = few(crossed, each).map((trials) => ({
  trials,
  title: trials.map(({ point, row, step }) => `${step}, ${row.why}, started again ${point}`).join("; "),
  ends: trials[0]!.row.ends
}))

describe("a deposit", () => {
  test.each(matrix)("$title: $ends", async ({ ends, trials }) => {
    const bank = await Bank.open()
    await bank.script(trials.flatMap(({ row, step }) => row.script(step)))
    const owner = await Owner.open(bank)
    const id = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, amountAtoms)
    expect(await confirmedThrough(bank, owner, id, trials)).toBe(ends)
    await bank.venue.leap(Math.max(...trials.map(({ row: { afterMs = 10_000 } }) => afterMs)))
    const credited = ends === "ledger_confirmed" ? amountAtoms : 0
    expect(await owner.collateralAtoms).toBe(credited)
    expect(await bank.reconcile()).toMatchObject({ heldAtoms: String(credited), owedAtoms: String(credited), unattributedAtoms: "0" })
    await bank.venue.stop()
  })
})

describe("the venue", () => {
  const deposited = async (bank: Bank): Promise<readonly [Owner, string]> => {
    const owner = await Owner.open(bank)
    const id = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.give(await owner.party, amountAtoms)
    return [owner, id]
  }

  test("starts again behind every answer, and goes on by what the journal says", async () => {
    const bank = await Bank.open()
    await bank.script(steps.map((step) => on("execute", { name: "drop_answer" }, { step })))
    const [owner, id] = await deposited(bank)
    const approvals: Array<string> = []
    for (let turn = 0, status = ""; status !== "ledger_confirmed" && turn < 60; turn++) {
      await bank.restart()
      status = await owner.turn("deposit", id, approvals)
      await bank.restart()
      await bank.venue.leap(5_000)
    }
    expect(approvals).toEqual(steps)
    expect(await owner.collateralAtoms).toBe(amountAtoms)
    expect(await bank.reconcile()).toMatchObject({ heldAtoms: String(amountAtoms), unattributedAtoms: "0" })
    await bank.venue.stop()
  })

  test("counts completions of commands that are none of its own, and alarms that the ledger gives", async () => {
    const bank = await Bank.open()
    const [owner, id] = await deposited(bank)
    await bank.script([
      on("execute", { name: "complete_unknown" }, { step: "treasury_offer" }),
      on("execute", { name: "complete_twice" }, { step: "owner_offer_acceptance" })
    ])
    expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
    await bank.venue.leap(60_000)
    const metrics = (await bank.venue.ask("GET", "/metrics")).json
    expect(metrics).toContain("venue_unknown_completions_total 1\n")
    expect(metrics).toContain("venue_ledger_alarms_total{alarm=\"accepted_again\"} 1\n")
    expect(await owner.collateralAtoms).toBe(amountAtoms)
    await bank.venue.stop()
  })

  test("goes on behind completions that the ledger has forgotten, where none could be of an open transfer", async () => {
    const bank = await Bank.open()
    const [owner, id] = await deposited(bank)
    expect(await owner.confirm("deposit", id)).toBe("ledger_confirmed")
    await bank.give(await owner.party, amountAtoms)
    await bank.script([on("completions", { name: "prune" })])
    await bank.venue.leap(60_000)
    expect(await owner.confirm("deposit", await owner.request("deposit", amountAtoms))).toBe("ledger_confirmed")
    expect((await bank.venue.ask("GET", "/readyz")).json.details).toMatchObject({ ledger: "live", transfersForTheOperator: "" })
    await bank.venue.stop()
  })

  test("calls the operator where it cannot be told what became of a step, and touches it no more", async () => {
    const bank = await Bank.open()
    const [owner, id] = await deposited(bank)
    await bank.script([
      on("execute", { name: "drop_answer" }),
      on("completion_by_hash", { name: "drop_answer" }, { times: 500 }),
      on("completions", { name: "prune" }, { times: 500 })
    ])
    expect(await owner.confirm("deposit", id, [], 5)).toBe("submitted_unknown")
    const { details } = (await bank.venue.ask("GET", "/readyz")).json
    expect(details.transfersForTheOperator).toBe(`${id}: completions_pruned`)
    const metrics = (await bank.venue.ask("GET", "/metrics")).json
    expect(metrics).toContain("venue_stopped_transfers 1\n")
    expect(metrics).toContain("venue_unknown_submissions 1\n")
    expect(await owner.collateralAtoms).toBe(0)
    await bank.venue.stop()
  })

  test("takes the offer back of a deposit that is given up", async () => {
    const bank = await Bank.open()
    const [owner, id] = await deposited(bank)
    const approvals: Array<string> = []
    for (let turn = 0; approvals.length < 2 && turn < 30; turn++) {
      await owner.turn("deposit", id, approvals)
      await bank.venue.leap(10_000)
    }
    const target = `/v1/accounts/{account}/deposits/${id}`
    expect(await owner.must("DELETE", target)).toMatchObject({ status: "rejected", ledgerOutcome: { guard: "given_up" } })
    await bank.venue.leap(60_000)
    expect((await bank.venue.ask("GET", "/readyz")).json.details.openTransfers).toBe(0)
    // The withdrawn offer cannot be accepted any more, and the next deposit has an offer of its own.
    expect(await owner.confirm("deposit", await owner.request("deposit", amountAtoms))).toBe("ledger_confirmed")
    expect(await owner.collateralAtoms).toBe(amountAtoms)
    await bank.venue.stop()
  })

  test("that stops while a request waits for the ledger calls that no defect", async () => {
    const bank = await Bank.open()
    const owner = await Owner.open(bank)
    const depositId = await owner.request("deposit", amountAtoms)
    await bank.venue.leap(30_000)
    await bank.script([on("prepare", { name: "answer_late", afterMs: 3_600_000 }, { times: 50 })])
    const asked = bank.venue.ask("POST", `/v1/accounts/${owner.accountId}/deposits/confirm`, {
      key: owner.token,
      body: { action: "initiate", depositId }
    })
    await bank.venue.settle()
    await bank.venue.stop()
    expect(await asked).toMatchObject({ status: 503, json: { code: "dependency_unavailable" } })
  })

  // Loops combined into one effect did not end when they were interrupted while being combined.
  test("that is stopped at any of its first turns ends", async () => {
    for (let turns = 0; turns < 24; turns++) {
      const bank = Bank.begin()
      await bank.venue.started
      await bank.venue.settle(turns)
      expect(await bank.venue.stop()).toMatchObject({ _tag: "Success" })
    }
  })
})
