/**
 * What is known of mutants, in a file that a broken-off run goes on from: one verdict a line, appended as it comes. A
 * verdict counts as long as everything that it was reached with is the same to the byte; others are dropped when the
 * file is opened.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

/** What the seeds, or the unit tests, say of a mutant. */
export type Verdict =
  /** `by` names the property that broke or the test that failed; `at` the seed. */
  | { readonly outcome: "killed"; readonly by: string; readonly at: string; readonly what: string }
  /** It ran into the time limit, or ended the process. */
  | { readonly outcome: "ended"; readonly by: string; readonly at: string; readonly what: string }
  /** `seen` is whether a run differed from the unmutated one in anything that the simulator digests. */
  | { readonly outcome: "survived"; readonly seen: boolean }
  | { readonly outcome: "unreached" }

export type Judge = "seeds" | "tests"

interface Line {
  readonly key: string
  readonly judge: Judge
  /** What it was reached with. */
  readonly of: string
  readonly verdict: Verdict
}

/** A digest over these compiled files, and those of these folders, and whatever else matters. */
export const fingerprint = (root: string, paths: ReadonlyArray<string>, more: ReadonlyArray<string>): string => {
  const hash = crypto.createHash("sha256")
  const files = paths.flatMap((each) =>
    each.endsWith(".js") ? [each] : fs.readdirSync(path.join(root, each), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js"))
      .map((name) => `${each}/${name}`)
      .sort()
  )
  for (const file of files) hash.update(`${file}\0`).update(fs.readFileSync(path.join(root, file)))
  return hash.update(JSON.stringify(more)).digest("hex").slice(0, 20)
}

const isLine = (value: unknown): value is Line =>
  typeof value === "object" && value !== null && "key" in value && "judge" in value && "of" in value && "verdict" in value

/** The whole lines of a file; a last one that was cut short is nothing. */
const linesOf = (file: string): ReadonlyArray<Line> => {
  if (!fs.existsSync(file)) return []
  const texts = fs.readFileSync(file, "utf8").split("\n")
  texts.pop()
  return texts.map((text, index): Line => {
    const line: unknown = JSON.parse(text)
    if (!isLine(line)) throw new Error(`${file}:${index + 1} is no verdict`)
    return line
  })
}

export class State {
  private readonly known: ReadonlyMap<Judge, Map<string, Verdict>> = new Map([["seeds", new Map()], ["tests", new Map()]])
  /** Verdicts that were found in the file and counted, and those that did not. */
  readonly kept: number
  readonly dropped: number

  /** Opens or makes the file; `of` tells what verdicts are reached with now, by who judges. */
  constructor(private readonly file: string, private readonly of: Readonly<Record<Judge, string>>) {
    const all = linesOf(file)
    const valid = all.filter(({ judge, of: reachedWith }) => of[judge] === reachedWith)
    for (const { judge, key, verdict } of valid) this.known.get(judge)!.set(key, verdict)
    this.kept = valid.length
    this.dropped = all.length - valid.length
    fs.mkdirSync(path.dirname(file), { recursive: true })
    // Also takes away a line that was cut short, so that the next one stands by itself.
    const whole = `${file}.new`
    fs.writeFileSync(whole, valid.map((line) => `${JSON.stringify(line)}\n`).join(""))
    fs.renameSync(whole, file)
  }

  verdict(judge: Judge, key: string): Verdict | undefined {
    return this.known.get(judge)!.get(key)
  }

  put(judge: Judge, key: string, verdict: Verdict): void {
    this.known.get(judge)!.set(key, verdict)
    fs.appendFileSync(this.file, `${JSON.stringify({ key, judge, of: this.of[judge], verdict } satisfies Line)}\n`)
  }
}
