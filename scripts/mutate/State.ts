/**
 * The known verdicts, in a file from which an interrupted run continues: one verdict for each line, appended as it comes. A verdict is
 * valid as long as everything that led to it is unchanged to the byte; others are dropped when the file is opened.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"

/** The verdict of the seeds, or of the unit tests, on a mutant. */
export type Verdict =
  /** `by` names the violated property or the failed test; `at` the run, as in `Played`, or the test file. */
  | { readonly outcome: "killed"; readonly by: string; readonly at: string; readonly what: string }
  /** It exceeded the time limit, or ended the process. */
  | { readonly outcome: "ended"; readonly by: string; readonly at: string; readonly what: string }
  /** `seen`: whether a run differed from the unmutated one in anything that the simulator digests. */
  | { readonly outcome: "survived"; readonly seen: boolean }
  | { readonly outcome: "unreached" }

export type Judge = "seeds" | "tests"

interface Line {
  readonly key: string
  readonly judge: Judge
  /** The fingerprint of what led to it. */
  readonly of: string
  readonly verdict: Verdict
}

/** A digest over these compiled files and folders, and any further inputs. */
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

/** The complete lines of a file; a last line that was cut short is ignored. */
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
  /** Verdicts found in the file that are still valid, and those that are not. */
  readonly kept: number
  readonly dropped: number

  /** Opens or creates the file; `of` holds the present fingerprints by judge. */
  constructor(private readonly file: string, private readonly of: Readonly<Record<Judge, string>>) {
    const all = linesOf(file)
    const valid = all.filter(({ judge, of: reachedWith }) => of[judge] === reachedWith)
    for (const { judge, key, verdict } of valid) this.known.get(judge)!.set(key, verdict)
    this.kept = valid.length
    this.dropped = all.length - valid.length
    fs.mkdirSync(path.dirname(file), { recursive: true })
    // This also removes a line that was cut short, so that the next one stands by itself.
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
