/** The linter's findings, by the rules of `.oxlintrc.json`: errors that the compiler does not detect. */
import { spawnSync } from "node:child_process"
import type { Violation } from "./Source.js"

interface Diagnostic {
  readonly message: string
  readonly code?: string
  readonly filename: string
  readonly labels: ReadonlyArray<{ readonly span: { readonly line: number } }>
}

/** Violations from the linter's JSON report. */
export const violationsOf = (report: string): ReadonlyArray<Violation> =>
  (JSON.parse(report) as { readonly diagnostics: ReadonlyArray<Diagnostic> }).diagnostics.map(({ code, filename, labels, message }) => ({
    path: filename.replaceAll("\\", "/"),
    line: labels[0]?.span.line ?? 1,
    rule: "lint",
    message: code === undefined ? message : `${code} ${message}`
  }))

/** Lints the repository in the current directory. A linter that fails to run is not a success. */
export const check = (): ReadonlyArray<Violation> => {
  const { error, status, stderr, stdout } = spawnSync(process.execPath, ["node_modules/oxlint/bin/oxlint", "--format=json"], {
    encoding: "utf8",
    maxBuffer: 2 ** 26
  })
  const found = status === 0 || status === 1 ? violationsOf(stdout) : []
  if (error !== undefined || status === null || status > 1 || (status === 1 && found.length === 0)) {
    throw new Error(`the linter did not run: ${error?.message ?? `${stdout}${stderr}`}`)
  }
  return found
}
