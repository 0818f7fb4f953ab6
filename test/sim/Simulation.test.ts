/** Whole runs: without failures under every profile, equal for equal seeds, different for different ones. */
import { describe, expect, test } from "vitest"
import * as Options from "../../sim/faults/Options.js"
import { isCall, type Script } from "../../sim/run/Script.js"
import * as Simulation from "../../sim/Simulation.js"
import { few } from "../Depth.js"

/** A run without the proofs at its end. */
const unproven = (seed: string, profile: Options.Profile, steps: number): Simulation.Report =>
  Simulation.run({ seed, profile, steps, unproven: true })

/** The seeds of short runs that trade, and reach much of the venue's code together. */
const seeds: Readonly<Record<Options.Profile, string>> = { calm: "9", network: "6", disk: "2", crash: "5", swarm: "2", ruin: "3" }
const steps = 25

/** Profiles whose runs are proven at their end, as the fixed seeds of `npm test` are, too: the proofs take longer than all before them. */
const proven: ReadonlySet<Options.Profile> = new Set(few<ReadonlyArray<Options.Profile>>(["crash", "swarm"], Options.profiles))

/** A recorded run, and how many prices its feed and its operator have set. */
interface Played {
  readonly report: Simulation.Report
  readonly fed: number
  readonly set: number
}

const play = (profile: Options.Profile): Played => {
  let fed = 0
  let set = 0
  const report = Simulation.run({
    seed: seeds[profile],
    profile,
    steps,
    record: true,
    unproven: !proven.has(profile),
    listen: (_, seen) => {
      if (seen._tag !== "Committed" || seen.record.command.kind !== "SetIndexPrice") return
      if (seen.record.command.idempotencyKey === "") fed++
      else set++
    }
  })
  return { report, fed, set }
}

/** The run of each profile, made once: several tests examine it. */
const known = new Map<Options.Profile, Played>()
const played = (profile: Options.Profile): Played => {
  const made = known.get(profile) ?? play(profile)
  known.set(profile, made)
  return made
}

describe("a run", () => {
  for (const profile of Options.profiles) {
    const isPlayedAgain = profile === "crash" || few(false, true)
    test(`breaks no property under the profile ${profile}${isPlayedAgain ? ", and sees the same again from its script" : ""}`, () => {
      const { report: first } = played(profile)
      expect(first.failure).toBe(undefined)
      expect(first.records).toBeGreaterThan(50)
      expect(first.fills).toBeGreaterThan(0)
      // Under this profile the process crashes often, and is restarted.
      if (profile === "crash") expect(first.crashes).toBeGreaterThan(2)
      const script = JSON.parse(JSON.stringify(first.script)) as Script
      expect(script.steps.filter(isCall).length).toBeGreaterThan(profile === "calm" ? 20 : 60)
      // Every kept failure is a run from its script, too.
      if (!isPlayedAgain) return
      const again = Simulation.run({ seed: seeds[profile], profile, steps, options: first.options, script })
      expect(again.failure).toBe(undefined)
      expect(again.digest).toBe(first.digest)
    })
  }

  test("puts the markets of its file once, wherever starts are cut off, and again from its script", () => {
    // Only what strikes a start is drawn: owners, tickets and streams would have no part in it.
    const { bounds: drawn, clock, disk, network, process, workload } = Simulation.optionsOf({ seed: "9", profile: "crash" })
    // The file grows, so there has to be room for one market more.
    const { markets: _markets, ...bounds } = drawn!
    const listing = { crashShare: 0.9, crashTasks: 240, blockRecords: 1, growsAtMs: 200 }
    const options = { bounds, clock, disk, listing, network, process, workload }
    const cutAt = new Set<number>()
    let sequence = 0
    let ready = false
    const puts: Array<string> = []
    const request = { seed: "12", profile: "crash", steps: 3, options, unproven: few(true, false) } as const
    const report = Simulation.run({
      ...request,
      record: true,
      listen: (_, seen) => {
        if (seen._tag === "Ready") ready = true
        if (seen._tag === "Crashed" && !ready) cutAt.add(sequence)
        if (seen._tag !== "Committed") return
        ;({ record: { sequence } } = seen)
        const { command } = seen.record
        // Markets that its operator puts later do not come from the file.
        if (command.kind === "PutMarket" && command.idempotencyKey.startsWith("bootstrap/")) puts.push(command.parameters.marketId)
      }
    })
    expect(report.failure).toBe(undefined)
    expect(puts.slice(0, 3)).toEqual(["BTC-USDC-PERP", "ETH-USDC-PERP", "TINY-USDC-PERP"])
    expect([3, 4]).toContain(puts.length)
    const { script } = report
    expect(Simulation.run({ ...request, ...(script === undefined ? {} : { script }) }).digest).toBe(report.digest)
    // A start was cut off before the first record, between markets, and within one.
    expect(cutAt.has(0)).toBe(true)
    expect([...cutAt].some((sequence) => sequence > 1 && sequence % 3 !== 1)).toBe(true)
  })

  test("hears its feed beside its operator", () => {
    const { fed, report, set } = played("swarm")
    expect(report.failure).toBe(undefined)
    expect([fed > 3, set > 3]).toEqual([true, true])
  })

  test("sees and reaches the same again for the same seed, something else for another, and what it had reached by where it ends sooner",
    () => {
      const { report: first } = played("swarm")
      expect(first.failure).toBe(undefined)
      // The proofs at a run's end come to the same again, too: a run under another profile is played again with them.
      const [short, again, other] = [seeds.swarm, seeds.swarm, "8"].map((seed) => unproven(seed, "swarm", 15))
      expect([again!.digest, again!.marks, again!.callsUntil]).toEqual([short!.digest, short!.marks, short!.callsUntil])
      expect(other!.digest).not.toBe(short!.digest)
      const sooner = Object.entries(first.callsUntil).filter(([, calls]) => calls <= 15).map(([mark]) => mark)
      expect(sooner.length).toBeGreaterThan(2)
      // More is reached behind it, so that it does matter where a run ends.
      expect(sooner.length).toBeLessThan(Object.keys(first.marks).length)
      // What was reached by then does not depend on the proofs at a run's end.
      expect(Object.keys(short!.marks)).toEqual(expect.arrayContaining(sooner))
    })

  test("puts back what it took from the JavaScript world", () => {
    const before = [Date.now, Math.random, setTimeout]
    unproven("1", "calm", 1)
    expect([Date.now, Math.random, setTimeout]).toEqual(before)
    expect(Math.abs(Date.now() - new Date().getTime())).toBeLessThan(1_000)
  })
})
