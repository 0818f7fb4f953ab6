/**
 * Plays a crash like that of 10 October 2025 on the engine and sums up the results: `node dist/scripts/cascade.js [--accounts 10000]
 * [--seed 1] [--fund 200000]`. Exits with 1 where a sum is not exact, or where any account's equity, or the insurance fund's, was below
 * zero after the examinations of a second.
 */
import { formatDecimal, moneyScale } from "../src/domain/Units.js"
import { fall } from "./cascade/Fall.js"
import { parsed } from "./Usage.js"

const values = parsed("cascade [--accounts 10000] [--seed 1] [--fund 200000]", {
  options: {
    accounts: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
    fund: { type: "string", default: "200000" }
  }
})

const from = performance.now()
const report = fall({
  accounts: Number(values.accounts),
  seed: Number(values.seed),
  fallBps: [2_000, 2_500, 4_000],
  fundUsdc: Number(values.fund)
})

const money = (atoms: bigint): string => `${formatDecimal(Number(atoms), moneyScale)} USDC`
const lines: ReadonlyArray<readonly [string, string]> = [
  ["accounts", values.accounts],
  ["records", String(report.records)],
  ["liquidated", `${report.liquidated} accounts`],
  ["parts sent", `${report.parts}, of which ${report.filledParts} paid a fee, ${money(report.feesToFund)} together`],
  ["taken over", `${report.takeovers} positions`],
  ["deleveraged", `${report.deleveraged} positions in ${report.deleveragings} steps`],
  ["markets halted", String(report.exhausted)],
  ["cancels meanwhile", String(report.cancels)],
  ["most records", `${report.longestWaitRecords} for one second`],
  ["insurance fund", `${money(report.fundLowest)} at its lowest, ${money(report.fundAtTheEnd)} at the end`],
  ["lowest equity", money(report.lowestEquity)],
  ["left under margin", String(report.leftUnder)],
  ["missing", `${report.missingAtoms} money atoms`],
  ["longs less shorts", `${report.unbalancedSize} size atoms`],
  ["invariants", report.brokenInvariant ?? "hold"],
  ["took", `${((performance.now() - from) / 1000).toFixed(1)} s`]
]
for (const [name, text] of lines) process.stdout.write(`${name.padEnd(20)}${text}\n`)

const isWhole = report.missingAtoms === 0n && report.unbalancedSize === 0 && report.brokenInvariant === undefined
const isSolvent = report.fundLowest >= 0n && report.lowestEquity >= 0n
process.exitCode = isWhole && isSolvent ? 0 : 1
