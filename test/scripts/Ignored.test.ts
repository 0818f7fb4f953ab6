/** Files that hold a key, a token or a secret, at the places where the tools and the documents put them, are ignored by git. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { expect, test } from "vitest"

const holding = [
  "data/accounts.json",
  "data/operator-token",
  "data/signer/header.json",
  "accounts.json",
  "keys.json",
  "maker-keys.json",
  "signer-data/header.json",
  "ledger-data/ledger.sqlite",
  "backup/journal/00000000000000000001.seg",
  ".env",
  "venue.env",
  "incident.bundle"
]

test("files with keys in them are ignored", ({ skip }) => {
  const { status, stdout } = spawnSync("git", ["check-ignore", "--no-index", ...holding], { encoding: "utf8" })
  if (status === null || status === 128) skip("there is no repository here")
  expect(stdout.trim().split("\n")).toEqual(holding)
})

/** The patterns of an ignore file, without the slashes that only git needs. */
const patterns = (file: string): ReadonlyArray<string> =>
  fs.readFileSync(file, "utf8").split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) =>
    line.replace(/^\/|\/$/g, "")
  )

test("whatever git ignores stays out of what the image is built from", () => {
  const kept = new Set(patterns(".dockerignore"))
  expect(patterns(".gitignore").filter((pattern) => !kept.has(pattern))).toEqual([])
})

test("README and OPERATIONS write keys nowhere else", () => {
  const text = ["README.md", "OPERATIONS.md"].map((file) => fs.readFileSync(file, "utf8")).join("\n")
  const written = text.split("\n").filter((line) => line.includes("--json >")).map((line) => / > (\S+)/.exec(line)?.[1])
  expect(written).not.toEqual([])
  expect(written.filter((file) => file !== undefined && !holding.includes(file) && file !== "market.json")).toEqual(
    []
  )
})
