/** `venue verify-solvency` with files: its output and exit codes. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { leafOf, rootOf } from "../funds/solvency/NaiveTree.js"
import { run } from "./Tool.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "verify-solvency-"))
afterAll(() => fs.rmSync(directory, { recursive: true }))

const salt = "5a".repeat(32)
const rootHash = rootOf(7, 1, leafOf("acc_1s", 5_000_000n, 2_000_000n, salt))
const root = { journalSequence: 7, rootHash, leafCount: 1, balancesAtoms: "5000000", reservedAtoms: "2000000" }
const proof = {
  version: "external-solvency-proof/v2",
  accountId: "acc_1s",
  ...root,
  leafIndex: 0,
  balanceAtoms: "5000000",
  heldAtoms: "2000000",
  salt,
  siblings: []
}
const atEpochMs = Date.UTC(2026, 0, 2, 3, 4, 5)
const published = {
  version: "external-solvency/v2",
  asset: "USDC",
  ...root,
  atEpochMs,
  shortfallAtoms: "0",
  collateralAtoms: "5000000",
  entryImbalanceAtoms: "0",
  feesAtoms: "0",
  fundingPoolAtoms: "0",
  creditedAtoms: "0",
  confirmedDepositsAtoms: "7000000",
  confirmedWithdrawalsAtoms: "0",
  treasury: {
    partyId: "treasury::1220",
    ledgerOffset: 9,
    comparedAtEpochMs: atEpochMs,
    heldAtoms: "7000000",
    uncreditedDepositsAtoms: "0",
    unattributedAtoms: "0"
  }
}

const fileOf = (name: string, value: unknown): string => {
  const file = path.join(directory, name)
  fs.writeFileSync(file, JSON.stringify(value))
  return file
}

const verify = (...args: ReadonlyArray<string>) => run("dist/tools/venue.js", ["verify-solvency", ...args])

describe("verify-solvency", () => {
  test("says what it checked, and ends with 0 where all of it holds", async () => {
    const files = ["--proof", fileOf("proof.json", proof), "--published", fileOf("published.json", published)]
    const { code, stdout } = await verify(...files, "--any-age")
    const when =
      "it is of sequence 7, written at 2026-01-02T03:04:05.000Z, and is said to have been compared with the ledger at 2026-01-02T03:04:05.000Z"
    expect(stdout).toContain(`holds  ${when}\n`)
    const old = await verify(...files)
    expect([old.code, old.stdout.includes(`FAILS  ${when}, more than an hour ago: it says nothing of now`)]).toEqual([1, true])
    expect(stdout).toContain(
      "holds  the leaf of acc_1s with 5.000000 USDC, and 2.000000 USDC that pending withdrawals hold, is under the published root"
    )
    expect(stdout).toContain(
      "holds  at ledger offset 9 treasury::1220 is said to hold 7.000000 USDC: all of 7.000000 USDC that is owed is covered"
    )
    expect([code, stdout.includes("FAILS")]).toEqual([0, false])
  })

  test("ends with 1 where a balance was changed", async () => {
    const changed = fileOf("changed.json", { ...proof, balanceAtoms: "6000000" })
    const { code, stdout } = await verify("--proof", changed, "--published", fileOf("published.json", published))
    expect(stdout).toContain("FAILS  the leaf is not under the published root")
    expect(code).toBe(1)
  })

  test("ends with 1 where credits stand for money, unless it is test money, and where the proof is another's", async () => {
    const held = { ...published.treasury, heldAtoms: "0" }
    const lost = fileOf("lost.json", { ...published, creditedAtoms: "7000000", confirmedDepositsAtoms: "0", treasury: held })
    const file = fileOf("proof.json", proof)
    const { code, stdout } = await verify("--proof", file, "--published", lost)
    expect(stdout).toContain("FAILS  7.000000 USDC are owed, and only 0.000000 USDC stand behind it; 7.000000 USDC were credited without")
    expect(code).toBe(1)
    expect((await verify("--proof", file, "--published", lost, "--test-money", "--account", "acc_1s", "--any-age")).code).toBe(0)
    const others = await verify("--proof", file, "--published", lost, "--test-money", "--account", "acc_2s")
    expect([others.code, others.stdout.split("\n")[0]]).toEqual([1, "FAILS  the proof is of acc_1s, and not of acc_2s"])
  })

  test("ends with 3 without a place where something was published, and where a file is none", async () => {
    const file = fileOf("proof.json", proof)
    expect((await verify("--proof", file)).code).toBe(3)
    expect((await verify("--proof", path.join(directory, "none.json"), "--published", file)).code).toBe(3)
  })
})
