/** The nightly loop's evaluation of its simulations' output: how much ran, and each failure once by its signature. */
import * as Failures from "../shrink/Failures.js"

export interface Ran {
  readonly profile: string
  readonly seeds: number
  readonly calls: number
  readonly records: number
  readonly crashes: number
  readonly failures: number
}

/** A kind of failure, and where it was first found. `file` is empty where it was not kept. */
export interface Finding {
  readonly signature: string
  readonly times: number
  readonly profile: string
  readonly seed: string
  readonly file: string
}

export interface Heard {
  /** Seeds reported in the output, including the failed one. */
  readonly ran: number
  readonly failedSeed: string | undefined
  /** The failure in one line. */
  readonly told: string
}

export interface Loop {
  /** Evaluates the output of one simulation. */
  readonly hear: (profile: string, output: string) => Heard
  readonly profiles: () => ReadonlyArray<Ran>
  readonly findings: () => ReadonlyArray<Finding>
}

const okLine = /^seed (\S+) ok: ([0-9]+) calls, ([0-9]+) records, [0-9]+ fills, ([0-9]+) crashes,/gm
const failedLine = /^FAILED seed (\S+): (\S+) (\S*) ?(.+) at step [0-9]+\n(.*)$/m
const keptLine = /^kept: (.+)$/m
const knownLine = /^known: (.+)$/m

/** A loop without any results yet. */
export const make = (profiles: ReadonlyArray<string>): Loop => {
  const ran = new Map(profiles.map((profile) => [profile, { profile, seeds: 0, calls: 0, records: 0, crashes: 0, failures: 0 }]))
  const found = new Map<string, Finding>()
  return {
    hear: (profile, output) => {
      const row = ran.get(profile)
      if (row === undefined) throw new Error(`there is no profile ${profile}`)
      let seeds = 0
      for (const [, , calls, records, crashes] of output.matchAll(okLine)) {
        seeds++
        row.calls += Number(calls)
        row.records += Number(records)
        row.crashes += Number(crashes)
      }
      const failed = failedLine.exec(output)
      if (failed !== null) {
        seeds++
        row.failures++
      }
      row.seeds += seeds
      if (failed === null) return { ran: seeds, failedSeed: undefined, told: "" }
      const [, seed = "", , , properties = "", message = ""] = failed
      const signature = knownLine.exec(output)?.[1] ?? Failures.signatureOf(properties.split(", ")[0]!, message)
      const file = keptLine.exec(output)?.[1] ?? ""
      const before = found.get(signature)
      found.set(signature, {
        signature,
        times: (before?.times ?? 0) + 1,
        profile: before?.profile ?? profile,
        seed: before?.seed ?? seed,
        file: before?.file || file
      })
      return { ran: seeds, failedSeed: seed, told: `seed ${seed}: ${signature}${file === "" ? "" : `, kept as ${file}`}` }
    },
    profiles: () => [...ran.values()],
    findings: () => [...found.values()]
  }
}
