/** The nightly loop reads what simulations print: this test keeps the two consistent. */
import { expect, test } from "vitest"
import * as Loop from "../../sim/report/Loop.js"

const ok = (seed: number) =>
  `seed ${seed} ok: 800 calls, 600 records, 200 fills, 3 crashes, 9000 ms simulated in 500 ms, digest 0123456789abcdef`
const failed = (seed: number, amount: number) =>
  [
    `FAILED seed ${seed}: safety I1 money-is-conserved, positions-are-zero-sum at step 117`,
    `money-is-conserved: collateral ${amount} is not right`,
    "positions-are-zero-sum: neither",
    `repeat: npm run sim -- --seed ${seed} --profile calm --steps 800 --trace`
  ].join("\n")

test("counts what ran, and each failure once by its signature", () => {
  const loop = Loop.make(["calm", "swarm"])
  expect(loop.hear("calm", `${ok(1)}\n${ok(2)}\n`)).toEqual({ ran: 2, failedSeed: undefined, told: "" })
  const first = loop.hear("calm", `${ok(3)}\n${failed(4, 17)}\nkept: bugs/money-is-conserved-4.json\n`)
  expect(first.ran).toBe(2)
  expect(first.failedSeed).toBe("4")
  expect(loop.hear("swarm", `${failed(9, 23)}\nknown: money-is-conserved: collateral N is not right\n`).failedSeed).toBe("9")
  expect(loop.hear("swarm", failed(11, 5)).failedSeed).toBe("11")
  expect(loop.findings()).toEqual([
    {
      signature: "money-is-conserved: collateral N is not right",
      times: 3,
      profile: "calm",
      seed: "4",
      file: "bugs/money-is-conserved-4.json"
    }
  ])
  expect(loop.profiles()).toEqual([
    { profile: "calm", seeds: 4, calls: 2400, records: 1800, crashes: 9, failures: 1 },
    { profile: "swarm", seeds: 2, calls: 0, records: 0, crashes: 0, failures: 2 }
  ])
})

test("hears a program's own failure, which has no invariant", () => {
  const loop = Loop.make(["disk"])
  const heard = loop.hear("disk", "FAILED seed 5: crash  no-crash at step 3\nError: it threw at 12\n    at somewhere")
  expect(heard.failedSeed).toBe("5")
  expect(loop.findings()[0]?.signature).toBe("no-crash: Error: it threw at N")
})

test("says nothing of what it was told nothing about", () => {
  expect(Loop.make(["calm"]).hear("calm", "SyntaxError")).toEqual({ ran: 0, failedSeed: undefined, told: "" })
})
