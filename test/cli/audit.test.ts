/** `venue audit` as a process: what operators did and who may act, one line per record, without anybody's secrets. */
import * as fs from "node:fs"
import { afterAll, expect, test } from "vitest"
import * as Format from "../../src/cli/replay/Format.js"
import { anyMarket } from "../../src/domain/None.js"
import { versions } from "../../src/sequencer/Versions.js"
import { Driver, parameters } from "../engine/drive.js"
import { FundsDriver } from "../engine/FundsDriver.js"
import * as Recorded from "./Recorded.js"
import { run } from "./Tool.js"

const folder = Recorded.newFolder()
afterAll(() => fs.rmSync(folder, { recursive: true }))

const secrets = ["a".repeat(64), "b".repeat(64), "the-public-key", "the-code-challenge-of-the-agent"]
/** A journal of an owner's and an operator's actions; returns the owner's account, another one, and the time of each record. */
const written = async () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new Driver(recording)
  driver.send({ kind: "OpenVenue", environment: "development", ...versions, program: "tests" })
  const market = driver.market(parameters("AAA"), 1000)
  const other = driver.account(1_000_000_000)
  const opened = driver.ask({
    kind: "OpenOwnerAccount",
    credentialId: "the-credential",
    userHandle: "the-user-handle",
    publicKey: secrets[2]!,
    signCount: 0,
    transports: "internal",
    displayName: "My phone",
    tokenSha256: secrets[0]!,
    remoteAddress: "192.0.2.1"
  })
  const { account, session } = opened as { readonly account: number; readonly session: number }
  const keys = [{ keyId: "key_of_a_day", displayPrefix: "pk_of_a_day", secretSha256: secrets[0]!, scopes: 3, expiresAtEpochMs: 0 }]
  driver.send({ kind: "OpenDemoAccounts", idempotencyKey: "lasting", collateralAtoms: 1_000_000, keys, lifetimeSeconds: 300 })
  driver.send({
    kind: "ApproveAgent",
    account,
    credential: session,
    deviceSha256: secrets[1]!,
    codeChallenge: secrets[3]!,
    clientName: "maker",
    scopes: 3,
    keyLifetimeSeconds: 300,
    grantMs: 1_000,
    remoteAddress: "192.0.2.1"
  })
  // The second changes nothing, and is listed for the key's account all the same.
  for (const idempotencyKey of ["ended", "ended again"]) driver.send({ kind: "RevokeKeyByOperator", idempotencyKey, keyId: "key_of_a_day" })
  const day = driver.engine.findApiKey("key_of_a_day")!.account
  const usedAtEpochMs = driver.atEpochMs - 7_000
  const uses = [other, day].map((of) => ({ apiKey: [...recording.state.apiKeys.of(of)][0]!, usedAtEpochMs }))
  driver.send({ kind: "NoteKeyUses", uses })
  driver.send({ kind: "SetAccountFlags", idempotencyKey: "flags", ofAccount: account, set: 4, clear: 0 })
  driver.send({ kind: "CancelByOperator", idempotencyKey: "orders", orderNumber: -1, ofAccount: account, market: anyMarket })
  driver.send({ kind: "CreditAccount", idempotencyKey: "credit", ofAccount: account, amountAtoms: 5_000_000 })
  driver.send({ kind: "CreditAccount", idempotencyKey: "too much", ofAccount: account, amountAtoms: 2 ** 52 })
  driver.place(other, { market, priceAtoms: 1000, quantityAtoms: 1 })
  await Recorded.write(recording, folder)
  return {
    accountId: driver.engine.accountId(account),
    otherId: driver.engine.accountId(other),
    dayId: driver.engine.accountId(day),
    usedAt: Format.time(usedAtEpochMs),
    times: new Map(recording.taken.map(({ record }) => [record.sequence, Format.time(record.atEpochMs)]))
  }
}

const audit = (...args: ReadonlyArray<string>) => run("dist/tools/venue.js", ["audit", "--data", folder, ...args])

test("it tells operators' commands and those of who may act, with who sent them and what came of them, of all or of an account", async () => {
  const { accountId, dayId, otherId, times, usedAt } = await written()
  const { code, stderr, stdout } = await audit()
  expect([code, stderr]).toEqual([0, ""])
  for (const secret of secrets) expect(stdout).not.toContain(secret)
  const lines = stdout.trimEnd().split("\n").map((line) => {
    const [, time, sequence, text] = /^(\S+)\s+(\d+)  (.*)$/.exec(line)!
    expect(time).toBe(times.get(Number(sequence)))
    return text!
  })
  expect(lines.some((line) => line.includes("placement"))).toBe(false)
  const about = (what: string) => lines.filter((line) => line.includes(what))
  expect(about("demo accounts")).toEqual([
    expect.stringContaining(`${otherId}: demo accounts (collateral 1000.000000, lifetimeSeconds 0) asked by the operator`),
    expect.stringMatching(/demo accounts \(collateral 1\.000000, lifetimeSeconds 300\) asked by .*: done \[noted: key issued\]$/)
  ])
  expect(about("owner account")).toEqual([
    `${accountId}: owner account (credentialId the-credential, userHandle the-user-handle, signCount 0, transports internal, displayName My phone, `
    + `remoteAddress 192.0.2.1) asked by the holder of a passkey (openOwnerAccount): done [noted: account opened]`
  ])
  expect(about("agent approval")[0]).toMatch(
    /clientName maker.*asked by acc_.* in session 0 \(approveAgent\): done \[noted: agent approved\]$/
  )
  expect(about("account flags")).toEqual([
    expect.stringContaining(
      `account flags (ofAccount ${accountId}, set disabled) asked by the operator (setAccountFlags, idempotency key flags): done`
    )
  ])
  expect(about("cancel by an operator")).toEqual([
    expect.stringContaining(`cancel by an operator (ofAccount ${accountId}, market all) asked by the operator`)
  ])
  expect(about("credit (")).toEqual([
    expect.stringContaining(`${accountId}: credit (ofAccount ${accountId}, amount 5.000000) asked by the operator`),
    expect.stringContaining("refused: AccountTotalLimit")
  ])

  expect(about("note of key uses")).toEqual([`${otherId}, ${dayId}: note of key uses asked by the venue: done`])

  // The report can be limited to an account, and to records from a sequence on.
  const own = (await audit("--account", accountId)).stdout.trimEnd().split("\n")
  expect(own).toHaveLength(6)
  expect(own.every((line) => line.includes(accountId))).toBe(true)
  const revoked = (await audit("--account", dayId)).stdout.split("\n").filter((line) => line.includes("revocation"))
  expect(revoked.map((line) => /idempotency key ([^)]*)/.exec(line)![1])).toEqual(["ended", "ended again"])
  const used = (await audit("--account", dayId)).stdout.split("\n").filter((line) => line.includes("note of key uses"))
  expect(used).toEqual([
    expect.stringMatching(new RegExp(`  ${dayId}: note of key uses asked by the venue: done \\[used: key_of_a_day at ${usedAt}\\]$`))
  ])
  const tail = await run("dist/tools/venue.js", ["journal", "tail", "--data", folder, "--json", "--from", "1", "--account", dayId])
  expect(tail.stdout.split("\n").filter((line) => line.includes("\"RevokeKeyByOperator\""))).toHaveLength(2)
  const [from] = own.at(-1)!.match(/\d+(?=  acc)/)!
  expect((await audit("--from", from!)).stdout.trimEnd().split("\n")).toHaveLength(1)
  expect((await audit("--account", "acc_nobody")).code).toBe(3)
  expect((await audit("--from", "0")).code).toBe(3)
})

test("it tells withdrawals, approvals and changes of party as their owners are notified of them, and what stops withdrawals and lets them go on", async () => {
  const recording = new Recorded.RecordingEngine()
  const driver = new FundsDriver({}, recording)
  driver.send({ kind: "OpenVenue", environment: "development", ...versions, program: "tests" })
  const [owner, other] = [driver.funded(10_000_000), driver.funded(10_000_000)]
  const deposits = recording.taken.length
  const withdrawal = driver.withdrawal(owner, 4_000_000)
  driver.send(driver.askWithdrawal(other, 40_000_000))
  driver.finish(owner, withdrawal)
  const change = driver.partyChange(owner)
  driver.bind(owner, change)
  driver.finish(owner, change)
  const stop = (reason: "operator" | "reconciliation" | "contradiction", differenceAtoms: number) =>
    driver.send({ kind: "StopWithdrawals", idempotencyKey: driver.nextKey(), reason, differenceAtoms, atOffset: 9 })
  stop("reconciliation", -40_000_000)
  stop("operator", 0)
  stop("contradiction", -4_000_000)
  driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
  const folder = Recorded.newFolder()
  try {
    await Recorded.write(recording, folder)
    const from = String(deposits + 1)
    const of = async (...args: ReadonlyArray<string>) => {
      const { stdout } = await run("dist/tools/venue.js", ["audit", "--data", folder, "--from", from, ...args])
      return stdout.trimEnd().split("\n").map((line) => line.replace(/^\S+ +\d+ {2}/, ""))
    }
    const [ownerId, otherId] = [owner, other].map(({ account }) => driver.engine.accountId(account))
    const told = await of()
    const ofOwner = told.filter((line) => line.startsWith(`${ownerId}:`))
    expect(
      ofOwner.map((
        line
      ) => [/^(withdrawal|approval|change of ledger party|\S+)/.exec(line.slice(ownerId!.length + 2))![1],
        /\[noted: (.*)\]/.exec(line)?.[1]]
      )
    ).toEqual([
      ["withdrawal", "withdrawal requested"],
      ["approval", "ledger step approved"],
      ["change of ledger party", "party change requested"],
      ["approval", "ledger step approved"],
      [expect.any(String), "ledger party changed"]
    ])
    expect(told.find((line) => line.startsWith(`${otherId}:`))).toMatch(/withdrawal \(.*amount 40\.000000.*: refused: /)
    expect(told.slice(-4)).toEqual([
      expect.stringMatching(
        /^stop of withdrawals \(reason reconciliation.*: done \[withdrawals are stopped: the treasury lacks 40\.000000 USDC\]$/
      ),
      expect.stringMatching(/^stop of withdrawals \(reason operator.*: done \[withdrawals were stopped before\]$/),
      expect.stringMatching(
        /: done \[alarm: accepted before its request\] \[withdrawals were stopped before: the treasury may lack 4\.000000 USDC\]$/
      ),
      expect.stringMatching(/: done \[withdrawals go on\]$/)
    ])
    expect(told).toHaveLength(10)
    expect(await of("--account", ownerId!)).toEqual(ofOwner)
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})

test.each([
  ["nothing was stopped", undefined],
  ["an operator had stopped them", ["operator", 0]],
  ["a comparison had", ["reconciliation", -1_000_000]]
] as const)("it tells a payment of what was given back, where %s", async (_, first) => {
  const recording = new Recorded.RecordingEngine()
  const driver = new FundsDriver({}, recording)
  driver.send({ kind: "OpenVenue", environment: "development", ...versions, program: "tests" })
  const owner = driver.funded(10_000_000)
  const withdrawal = driver.withdrawal(owner, 4_000_000)
  const step = "treasury_withdrawal"
  driver.prepare(withdrawal)
  driver.approve(owner, withdrawal)
  driver.begin(withdrawal, "one")
  driver.note(withdrawal, step, "one", "refused", "NO")
  driver.scan(withdrawal)
  if (first !== undefined) {
    const [reason, differenceAtoms] = first
    driver.send({ kind: "StopWithdrawals", idempotencyKey: driver.nextKey(), reason, differenceAtoms, atOffset: 7 })
  }
  driver.complete(withdrawal, step, "one")
  driver.send({ kind: "AllowWithdrawals", idempotencyKey: driver.nextKey() })
  const folder = Recorded.newFolder()
  try {
    await Recorded.write(recording, folder)
    const { stdout } = await run("dist/tools/venue.js", ["audit", "--data", folder])
    expect(stdout.trimEnd().split("\n").slice(-2)).toEqual([
      expect.stringMatching(
        first === undefined
          ? /: done \[alarm: accepted after its end, of 4\.000000 USDC\] \[withdrawals are stopped\]$/
          : /: done \[alarm: accepted after its end, of 4\.000000 USDC\]$/
      ),
      expect.stringMatching(/: done \[withdrawals go on\]$/)
    ])
  } finally {
    fs.rmSync(folder, { recursive: true })
  }
})
