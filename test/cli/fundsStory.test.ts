/**
 * The life of a deposit and of a withdrawal, as reported by `replay --deposit` and `replay --account`; and under pseudonyms, for others.
 */
import { expect, test } from "vitest"
import * as Redact from "../../src/cli/bundle/Redact.js"
import { leadsOf } from "../../src/cli/Whose.js"
import { linesOf } from "../../src/cli/replay/Lines.js"
import { everyone, nobody, type Who } from "../../src/cli/replay/Names.js"
import * as Ids from "../../src/domain/Ids.js"
import { Engine } from "../../src/engine/Engine.js"
import { decode } from "../../src/engine/EventLog.js"
import type { Record } from "../../src/journal/Record.js"
import type { Command, Outcome } from "../../src/operations/Operations.js"
import { FundsDriver } from "../engine/FundsDriver.js"

const usdc = (amount: number): number => amount * 1_000_000
const capacity = { orders: 256, idempotencyKeys: 1_024, fills: 256, rows: 64 }

/** A driver that records its commands. */
class Recording extends FundsDriver {
  readonly records: Array<Record> = []

  override run(command: Command): Outcome {
    const { sequence } = this.engine
    const outcome = super.run(command)
    if (this.engine.sequence !== sequence) this.records.push({ sequence: sequence + 1, atEpochMs: this.atEpochMs, command })
    return outcome
  }
}

/** Replays records, and returns the story of an account or transfer. */
const replayed = (records: ReadonlyArray<Record>, who: Who) => {
  const engine = Engine.make(capacity)
  const lines = records.flatMap((record) => {
    engine.state.events.clear()
    const outcome = engine.apply(record.command, record.sequence, record.atEpochMs)
    return linesOf(engine.state, record, outcome, decode(engine.state.events.words, 0, engine.state.events.length), who)
  })
  return { engine, lines }
}

const withdrawn = () => {
  const driver = new Recording()
  const [owner, other] = [driver.funded(usdc(10)), driver.funded(usdc(20))]
  driver.finish(other, driver.withdrawal(other, usdc(2)))
  const number = driver.withdrawal(owner, usdc(4))
  const step = "treasury_withdrawal"
  driver.prepare(number)
  driver.approve(owner, number)
  driver.begin(number, "sub-1")
  driver.note(number, step, "sub-1", "unknown")
  driver.begin(number, "sub-2")
  driver.note(number, step, "sub-2", "duplicate", "DUPLICATE_COMMAND")
  driver.complete(number, step, "sub-1", { offset: 777, updateId: "upd-1" })
  driver.complete(number, step, "sub-1", { offset: 778, updateId: "upd-2" })
  return { driver, number, owner, other }
}

test("a withdrawal's story tells what was approved by which passkey, each submission, each answer, and where the ledger has it", () => {
  const { driver, number, owner } = withdrawn()
  const { lines } = replayed(driver.records, { ...nobody, transfer: number })
  const [id, acc] = [Ids.withdrawalId(number), Ids.accountId(driver.engine.state.accounts.born(owner.account))]
  const hash = driver.hashOf(number, "treasury_withdrawal", 1)
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(`^withdrawal \\(.*amount 4\\.000000, destinationPartyId elsewhere::1220\\) asked by ${acc} in session .*: done$`)
    ),
    `withdrawal ${id} of 4.000000 USDC stands for ${acc}, to the party elsewhere::1220`,
    `4.000000 USDC held for ${id}`,
    expect.stringMatching(new RegExp(
      `^${id} treasury_withdrawal is prepared as command treasury_withdrawal-${number} with hash ${hash} \\(scheme 3\\), to be recorded by .*`
        + "; its completions are those behind offset 50$"
    )),
    expect.stringMatching(
      new RegExp(`^approval \\(transfer ${id}, .*credentialId ${owner.passkey}.*\\) asked by ${acc} in session .*: done$`)
    ),
    `${id} treasury_withdrawal with hash ${hash} is approved by passkey ${owner.passkey}`,
    `${id} treasury_withdrawal is executed by submission sub-1`,
    `${id} treasury_withdrawal submission sub-1 is unknown`,
    `${id} treasury_withdrawal is executed by submission sub-2`,
    `${id} treasury_withdrawal submission sub-2 is duplicate: DUPLICATE_COMMAND`,
    `${id} treasury_withdrawal is done on the ledger in update upd-1 at offset 777`,
    `4.000000 USDC have left for good for ${id}`,
    `${id} is over: ledger_confirmed`,
    `alarm: treasury_withdrawal of ${id} accepted again in update upd-2 at offset 778`
  ])
})

test("an account's story tells of its transfers and of its party, with the ledger's offsets, and of nobody else's", () => {
  const { driver, owner } = withdrawn()
  const { lines } = replayed(driver.records, { ...nobody, account: owner.account })
  const text = lines.join("\n")
  expect(text).toMatch(/the signer made the ledger party party-0-\d+::1220 for acc_/)
  expect(text).toMatch(/acc_\w+ has the ledger party party-0-\d+::1220/)
  expect(text).toMatch(/dep_\w+ credits acc_\w+ 10\.000000 USDC/)
  expect(text).toMatch(/is done on the ledger in update upd-1 at offset 777/)
  expect(text).not.toMatch(/20\.000000|2\.000000/)
  // The story contains nothing that could be executed or presented.
  expect(text).not.toMatch(/AAAA|authenticator|nonce-/)
})

test("a payment from before its request is an alarm whatever had stopped withdrawals", () => {
  const driver = new Recording()
  const stops = [["operator", 0], ["contradiction", -usdc(4)]] as const
  for (const [reason, differenceAtoms] of stops) {
    driver.send({ kind: "StopWithdrawals", idempotencyKey: "", reason, differenceAtoms, atOffset: 0 })
  }
  const { lines } = replayed(driver.records, everyone)
  expect(lines.filter((line) => line.startsWith("alarm:"))).toEqual(["alarm: accepted before its request, of 4.000000 USDC"])
})

test("what was rejected, given up or voided tells why", () => {
  const driver = new Recording()
  const owner = driver.funded(usdc(10))
  const number = driver.withdrawal(owner, usdc(4))
  const step = "treasury_withdrawal"
  driver.prepare(number)
  driver.approve(owner, number)
  driver.begin(number, "one")
  driver.atEpochMs += 600_001
  driver.scan(number, step, driver.atEpochMs, 900)
  driver.prepare(number)
  driver.approve(owner, number)
  driver.begin(number, "two")
  driver.complete(number, step, "two", { outcome: "refused", guard: "SUBMISSION_INVALID", offset: 950 })
  driver.scan(number, step, 0, 950)
  driver.send({ kind: "StopWithdrawals", idempotencyKey: "", reason: "reconciliation", differenceAtoms: 1, atOffset: 9 })
  const { lines } = replayed(driver.records, { ...nobody, transfer: number })
  const id = Ids.withdrawalId(number)
  expect(lines.slice(-8)).toEqual([
    expect.stringMatching(new RegExp(`^${id} ${step} can take no effect any more: the ledger's time is .* at offset 900$`)),
    expect.stringMatching(new RegExp(`^${id} ${step} is prepared as command .* with hash ${driver.hashOf(number, step, 2)}`)),
    expect.stringMatching(/^approval .*: done$/),
    expect.stringMatching(/is approved by passkey/),
    `${id} ${step} is executed by submission two`,
    `${id} ${step} submission two is refused: SUBMISSION_INVALID at offset 950`,
    `4.000000 USDC given back for ${id}`,
    `${id} is over: rejected (${step}, completion: SUBMISSION_INVALID)`
  ])
})

test("under pseudonyms the same is decided, and nothing of others is left but amounts and moments", () => {
  const { driver, number, other, owner } = withdrawn()
  const pseudonyms = Redact.pseudonymsOf(new Uint8Array(32).fill(7))
  const born = driver.engine.state.accounts.born(owner.account)
  const redacted = Engine.make(capacity)
  const commands = driver.records.map((record) => {
    const kept = redacted.findAccount(Ids.accountId(born))
    const command = Redact.redact(pseudonyms, record, Ids.accountId(born), kept, leadsOf(redacted.state))
    redacted.apply(command, record.sequence, record.atEpochMs)
    return command
  })
  const told = (engine: Engine, account: number) =>
    ["deposit", "withdrawal"].flatMap((kind) => engine.transfersOf(account, kind as "deposit", Infinity, 9))
      .map(({ amountAtoms, status, steps }) => [amountAtoms, status, steps.map(({ confirmation, name }) => [name, confirmation?.offset])])
  for (const account of [owner.account, other.account]) {
    expect(told(redacted, account)).toEqual(told(driver.engine, account))
    expect(redacted.balance(account)).toEqual(driver.engine.balance(account))
  }
  // The account's own texts are unchanged; the other account's party, passkey and bytes are gone.
  expect(redacted.transfer(number)).toEqual(driver.engine.transfer(number))
  const text = JSON.stringify(commands)
  expect(text).toContain(driver.engine.party(owner.account)!.partyId)
  expect(text).not.toContain(driver.engine.party(other.account)!.partyId)
  expect(text).not.toContain(other.passkey)
  expect(text.split("AAAA").length - 1).toBe(4)
})
