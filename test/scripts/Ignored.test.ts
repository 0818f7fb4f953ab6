/** Files that hold a key, a token or a secret, at the places where the tools and the README put them, are ignored by git. */
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
  ".env"
]

test("files with keys in them are ignored", ({ skip }) => {
  const { status, stdout } = spawnSync("git", ["check-ignore", "--no-index", ...holding], { encoding: "utf8" })
  if (status === null || status === 128) skip("there is no repository here")
  expect(stdout.trim().split("\n")).toEqual(holding)
})

test("the README writes keys nowhere else", () => {
  const text = fs.readFileSync("README.md", "utf8")
  const written = text.split("\n").filter((line) => line.includes("--json >")).map((line) => / > (\S+)/.exec(line)?.[1])
  expect(written).not.toEqual([])
  expect(written.filter((file) => file !== undefined && !holding.includes(file) && file !== "market.json")).toEqual(
    []
  )
})
