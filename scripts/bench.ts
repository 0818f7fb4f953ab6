/**
 * Measures the venue against its references: `node dist/scripts/bench.js [--only P1[,P5]] [--json FILE] [--runs N]`.
 * Every section brings its own reference and measures it in the same run.
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { section as delay } from "./bench/Delay.js"
import { section as flat } from "./bench/Flat.js"
import { section as memory } from "./bench/Memory.js"
import { section as p1 } from "./bench/P1.js"
import { section as p2 } from "./bench/P2.js"
import { section as p3 } from "./bench/P3.js"
import { section as p3Cancel } from "./bench/P3Cancel.js"
import { section as p3Histories } from "./bench/P3Histories.js"
import { section as p3Limited } from "./bench/P3Limited.js"
import { section as p4 } from "./bench/P4.js"
import { section as p5 } from "./bench/P5.js"
import { section as p6 } from "./bench/P6.js"
import { section as p7 } from "./bench/P7.js"
import { section as p8 } from "./bench/P8.js"
import { section as p9 } from "./bench/P9.js"
import { section as p10 } from "./bench/P10.js"
import { section as p11 } from "./bench/P11.js"
import { section as p12 } from "./bench/P12.js"
import { section as pages } from "./bench/Pages.js"
import { section as resume } from "./bench/Resume.js"
import { section as resumeSockets } from "./bench/ResumeSockets.js"
import { section as worst } from "./bench/Worst.js"
import type { Result, Section } from "./bench/Section.js"
import { table } from "./bench/Targets.js"

/** In the order they run. */
const sections: ReadonlyArray<Section> = [
  p1,
  p2,
  p3,
  p3Histories,
  p3Limited,
  p3Cancel,
  p4,
  p5,
  p6,
  p7,
  p8,
  p9,
  p10,
  p11,
  p12,
  delay,
  resume,
  resumeSockets,
  worst,
  flat,
  pages,
  memory
]

const usage = `usage: bench [--only ${sections.map(({ name }) => name).join(",")}] [--json FILE] [--runs N, at least 3]`

const fail = (message: string): never => {
  process.stderr.write(`${message}\n${usage}\n`)
  process.exit(2)
}

const options = (() => {
  try {
    return parseArgs({
      options: { only: { type: "string" }, json: { type: "string" }, runs: { type: "string", default: "3" } }
    }).values
  } catch (cause) {
    return fail(cause instanceof Error ? cause.message : String(cause))
  }
})()

const runs = Number(options.runs)
if (!Number.isInteger(runs) || runs < 3) fail("--runs takes a whole number of at least 3")

const wanted = options.only?.split(",") ?? sections.map(({ name }) => name)
for (const name of wanted) {
  if (!sections.some((section) => section.name === name)) fail(`there is no section ${name}`)
}

const results: Array<Result> = []
for (const section of sections) {
  if (!wanted.includes(section.name)) continue
  results.push(...await section.run({ runs, log: (line) => process.stderr.write(`${line}\n`) }))
}

process.stdout.write(`${table(results)}\n`)
if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`)
