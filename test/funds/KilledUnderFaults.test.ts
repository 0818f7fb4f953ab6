/**
 * First deposits at the real process over a separate ledger with faults: at each of the three steps one deposit meets each fault, and the
 * venue is killed while the ledger has it, and before and behind the first one, with `DEPTH=full` every one. Each deposit is credited
 * once, and the books agree with the ledger to the atom. The solvency that the venue then publishes is verified as any owner may do.
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, expect, test } from "vitest"
import { VenueProcess } from "../../scripts/load/VenueProcess.js"
import type { Fault } from "../../src/ledger/development/Faults.js"
import { run } from "../cli/Tool.js"
import { few } from "../Depth.js"
import { betweenQuestions, origin, ProcessOwner } from "./Process.js"

const directory = fs.mkdtempSync(path.join(os.tmpdir(), "venue-killed-"))
const children: Array<ChildProcess> = []
afterAll(() => {
  for (const child of children) child.kill("SIGKILL")
  fs.rmSync(directory, { recursive: true, force: true })
})

const steps = ["owner_account_acceptance", "treasury_offer", "owner_offer_acceptance"] as const

/** The faults of a step's first executions, each of another deposit. */
const faults = (isDone: boolean): ReadonlyArray<Fault> => [
  { name: "drop_answer" },
  { name: "drop_request" },
  { name: "complete_after", afterMs: 500 },
  { name: "refuse_indefinite", isDone }
]
const amountAtoms = 3_000_000

const startLedger = async (): Promise<string> => {
  const words = ["dist/tools/ledger.js", "--port", "0", "--data", path.join(directory, "ledger")]
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] })
  children.push(child)
  return new Promise((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (said: string) => {
      const url = /on (http:\S+),/.exec(said)?.[1]
      if (url !== undefined) resolve(url)
    })
    child.on("exit", (code) => reject(new Error(`the ledger ended with ${code}`)))
  })
}

/** Calls a control route of the ledger. */
const control = async (url: string, name: string, body?: object): Promise<unknown> => {
  const response = await fetch(`${url}/development/${name}`, body === undefined ? {} : {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  return response.json()
}

interface Depositing {
  readonly owner: ProcessOwner
  readonly depositId: string
}

const target = "/v1/accounts/{account}/deposits/confirm"

/** Continues a deposit until its owner is asked to approve a step; without a step, until it is confirmed. */
const until = async ({ depositId, owner }: Depositing, step: string | undefined) => {
  for (;;) {
    const { json } = await owner.ask("POST", target, { action: "initiate", depositId })
    if (json.status === "approval_required" && json.signingStep === step) return json.challenge
    if (json.status === "ledger_confirmed" && step === undefined) return undefined
    if (json.status === "rejected" || json.status === "expired") throw new Error(JSON.stringify(json))
    await betweenQuestions()
  }
}

test("first deposits outlive kills before, within and behind each step, whatever the ledger does wrong", async () => {
  const ledger = await startLedger()
  const start = () => VenueProcess.start(path.join(directory, "venue"), { PUBLIC_ORIGIN: origin, LEDGER_URL: ledger })
  let venue = await start()
  const depositing: Array<Depositing> = []
  const restart = async (): Promise<void> => {
    await venue.kill()
    venue = await start()
    for (const { owner } of depositing) owner.venue = venue
  }
  for (let made = 0; made < faults(true).length; made++) {
    const owner = new ProcessOwner(venue)
    await owner.register()
    const { depositId } = await owner.must("POST", "/v1/accounts/{account}/deposits", { asset: "USDC", amountAtoms: String(amountAtoms) })
    depositing.push({ owner, depositId })
  }
  await Promise.all(depositing.map((each) => until(each, steps[0])))
  await restart()
  for (const [at, step] of steps.entries()) {
    await control(ledger, "script", faults(at % 2 === 0).map((fault) => ({ on: "execute", step, fault })))
    const challenges = await Promise.all(depositing.map((each) => until(each, step)))
    if (at === 0) {
      for (const { owner } of depositing) {
        const { partyId } = await owner.must("GET", "/v1/accounts/{account}/ledger-party")
        await control(ledger, "faucet", { party: partyId, amountAtoms })
      }
    }
    // The answers are not awaited: the venue is killed before them.
    const answers = depositing.map(({ depositId, owner }, index) =>
      owner.ask("POST", target, {
        action: "complete",
        depositId,
        signingStep: step,
        challengeIdentifier: challenges[index].challengeIdentifier,
        firstFactor: owner.factor(challenges[index])
      }).catch(() => undefined)
    )
    // Every fault has occurred: the ledger has what it accepted, and the venue knows of none of it.
    while ((await control(ledger, "script") as ReadonlyArray<unknown>).length > 0) await betweenQuestions()
    await restart()
    await Promise.all(answers)
    // After this step and before the approval of the next one, whose transaction is prepared by then.
    await Promise.all(depositing.map((each) => until(each, steps[at + 1])))
    if (at < few(1, steps.length)) await restart()
  }
  for (const { owner } of depositing) {
    expect(await owner.must("GET", "/v1/accounts/{account}/balance")).toMatchObject({ collateralAtoms: String(amountAtoms) })
  }
  const all = String(depositing.length * amountAtoms)
  const [{ owner }] = depositing as [Depositing]
  expect(await owner.operate("POST", "/v1/operator/reconciliation")).toMatchObject({
    heldAtoms: all,
    confirmedDepositsAtoms: all,
    unattributedAtoms: "0",
    withdrawalsStopped: false
  })
  const proof = path.join(directory, "proof.json")
  let shown = await owner.ask("GET", "/v1/accounts/{account}/solvency-proof")
  // The first request begins the tree of balances, and 503 is answered until it is published.
  while (shown.status === 503) {
    await betweenQuestions()
    shown = await owner.ask("GET", "/v1/accounts/{account}/solvency-proof")
  }
  fs.writeFileSync(proof, JSON.stringify(shown.json))
  const url = `http://127.0.0.1:${venue.port}`
  const verified = await run("dist/tools/venue.js", ["verify-solvency", "--proof", proof, "--url", `${url}/`])
  expect(verified.stdout).toContain(
    `holds  the leaf of ${owner.accountId} with 3.000000 USDC, and 0.000000 USDC that pending withdrawals hold, is under the published root`
  )
  expect([verified.code, verified.stdout.includes("FAILS")]).toEqual([0, false])
  expect(await venue.stop()).toBe(0)
  // The venue is stopped, so nothing published can be read.
  expect((await run("dist/tools/venue.js", ["verify-solvency", "--proof", proof, "--url", url])).code).toBe(2)
})
