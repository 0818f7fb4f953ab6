/** Failures are distinguished by what matters, told as stories, and kept as files that can be run again. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import * as BugFile from "../../sim/report/BugFile.js"
import * as Failures from "../../sim/shrink/Failures.js"
import * as Filing from "../../sim/report/Filing.js"
import * as Simulation from "../../sim/Simulation.js"
import { oftenCrashing } from "./Crashing.js"
import * as Bundle from "../../src/cli/bundle/Bundle.js"

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bug-files-"))
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

const failure = (what: string, kind: Simulation.Failure["kind"] = "safety", properties = ["a-claim"]): Simulation.Failure => ({
  kind,
  properties,
  invariant: "I1",
  what,
  step: 9,
  atMs: 1_500,
  unproven: true
})

describe("signatures", () => {
  const equal: ReadonlyArray<readonly [string, string]> = [
    ["a-claim: collateral 500 + fees 7", "a-claim: collateral 1,200 + fees 0.5"],
    ["a-claim: order ord_qo of acc_ow is gone", "a-claim: order ord_1zz of acc_a is gone"],
    ["a-claim: trader-1-k0 was told", "a-claim: trader-9-k712 was told"],
    ["a-claim: first\nanother-claim: x", "a-claim: first"]
  ]
  for (const [one, other] of equal) {
    test(`${JSON.stringify(one)} and ${JSON.stringify(other)} are one`, () => {
      expect(Failures.signature(failure(one))).toBe(Failures.signature(failure(other)))
    })
  }

  test("other words or another property are another", () => {
    expect(Failures.signature(failure("a-claim: fees are gone"))).not.toBe(Failures.signature(failure("a-claim: money is gone")))
    expect(Failures.signature(failure("it is"))).not.toBe(Failures.signature(failure("it is", "safety", ["b-claim"])))
  })

  const same: ReadonlyArray<readonly [Simulation.Failure, Simulation.Failure | undefined, boolean]> = [
    [failure("x"), undefined, false],
    [failure("x"), failure("y"), true],
    [failure("x"), failure("x", "safety", ["b-claim"]), false],
    [failure("x"), failure("x", "safety", ["b-claim", "a-claim"]), true],
    [failure("x"), failure("x", "liveness"), false],
    [failure("Error: a at 5", "crash"), failure("Error: a at 6", "crash"), true],
    [failure("Error: a", "crash"), failure("Error: b", "crash"), false]
  ]
  same.forEach(([original, candidate, expected], index) => {
    test(`row ${index}: ${expected ? "the same" : "another"}`, () => {
      expect(Failures.same(original, candidate)).toBe(expected)
    })
  })
})

describe("a story", () => {
  const { report, story } = Filing.tell({ seed: "3", profile: "crash", steps: 30, options: oftenCrashing("3") })
  const text = story.join("\n")

  test("numbers every step and names actors, orders and what came of them", () => {
    expect(report.failure).toBe(undefined)
    const numbers = [...text.matchAll(/^ *([0-9]+)\. +\+/gm)].map(([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, index) => index + 1))
    expect(numbers.length).toBeGreaterThanOrEqual(report.script!.steps.length - 1)
    expect(text).toMatch(/trader-[0-9]+ (buys|sells) [0-9.]+ (BTC|ETH|TINY)-USDC-PERP at [0-9.]+/)
    expect(text).toMatch(/trades [0-9.]+ \S+ at [0-9.]+: account [0-9]+ (buys from|sells to) account [0-9]+/)
    expect(text).toMatch(/is answered 200: orderId ord_[0-9a-z]+, status/)
  })

  test("tells of faults and of what they did to the process", () => {
    expect(text).toMatch(/FAULT: (the power fails|the process is killed)/)
    expect(text).toMatch(/the process dies \(incarnation [0-9]+/)
    expect(text).toMatch(/the venue is ready, at record [0-9]+/)
    expect(text).toContain("all faults stop")
  })
})

describe("a bug file", () => {
  const request = { seed: "2", profile: "crash", steps: 10 } as const
  const recorded = Simulation.run({ ...request, options: oftenCrashing("2"), record: true })
  const made = BugFile.make(request, {
    subject: { script: recorded.script!, options: recorded.options },
    found: failure("a-claim: first 5"),
    failure: failure("b-claim: then 6", "safety", ["b-claim", "a-claim"]),
    runs: 3,
    stepsBefore: 100,
    stepsAfter: recorded.script!.steps.length,
    minimal: true
  })
  const paths = BugFile.write(folder, made, recorded.blocks)

  test("is named by property and seed, and comes back as it was written", () => {
    expect(path.basename(paths[0]!)).toBe("a-claim-2.json")
    expect(BugFile.names(folder)).toEqual([paths[0]])
    expect(BugFile.read(paths[0]!)).toEqual(JSON.parse(JSON.stringify(made)))
    expect([...BugFile.signatures(folder)]).toEqual(["a-claim: first N", "b-claim: then N"])
  })

  test("runs as the run that it was made from", () => {
    expect(Simulation.run(BugFile.request(BugFile.read(paths[0]!))).digest).toBe(recorded.digest)
  })

  test("has a bundle beside it, of the whole journal, that replays to the digests it names", () => {
    const bundle = Bundle.read(fs.readFileSync(paths[1]!))
    expect(bundle.manifest.blocks).toBe(recorded.blocks.length)
    expect(bundle.manifest.lastSequence).toBeGreaterThan(14)
    expect(bundle.manifest.divergedAt).toBe(null)
    expect(bundle.manifest.notes["property"]).toBe("a-claim")
  })

  test("is refused where it is something else", () => {
    const odd = path.join(folder, "odd.jsonx")
    fs.writeFileSync(odd, JSON.stringify({ ...made, format: 2 }))
    expect(() => BugFile.read(odd)).toThrow(/format/)
    fs.writeFileSync(odd, "[]")
    expect(() => BugFile.read(odd)).toThrow()
  })
})
