/**
 * Random transfers of several owners, compared with the naive model: for any order of commands both refuse the same and reach the same
 * state; and a state restored from a snapshot continues as if nothing had happened.
 */
import { expect, test } from "vitest"
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import * as Snapshot from "../../src/engine/Snapshot.js"
import { stepNames } from "../../src/operations/funds/Transfers.js"
import { generator } from "./drive.js"
import type { Owner } from "./FundsDriver.js"
import { FundsTwin } from "./FundsTwin.js"

const hourMs = 3_600_000

const lines = ({ state }: Engine): ReadonlyArray<string> => {
  const fed: Array<string> = []
  Snapshot.canonical(state, (line) => fed.push(line))
  return fed
}

/** Sends random commands; returns how many were accepted, by kind. */
const play = (seed: number, commands: number): ReadonlyMap<string, number> => {
  const next = generator(seed)
  const random = (below: number): number => next() % below
  const pick = <A>(all: ReadonlyArray<A>): A => all[random(all.length)]!
  const twin = new FundsTwin({ withdrawalsOfAccount: 3, submissions: 3, expiredAtOnce: 2 })
  const owners: Array<Owner> = [twin.funded(20_000_000), twin.owner(), twin.owner()]
  const numbers: Array<number> = twin.engine.transfersOf(owners[0]!.account, "deposit", Infinity, 1).map(({ number }) => number)
  const taken = new Map<string, number>()
  const count = (name: string): void => {
    if (twin.refused === Refusal.none) taken.set(name, (taken.get(name) ?? 0) + 1)
  }
  const ask = (name: string, owner: Owner): void => {
    const amount = pick([-1, 0, 999_999, 1_000_000, 2_500_000, 7_000_000, 2 ** 52])
    const asset = random(20) === 0 ? "unsupported" : "USDC"
    const given = name === "deposit"
      ? twin.askDeposit(owner, amount, asset)
      : name === "withdrawal"
      ? twin.askWithdrawal(owner, amount, asset)
      : twin.askPartyChange(owner)
    const { transfer } = twin.ask(given)
    if (transfer !== undefined) numbers.push(transfer)
    count(name)
  }
  const drive = (number: number): void => {
    const transfer = twin.transfer(number)
    const name = random(8) === 0 ? pick(stepNames) : transfer.stepAtHand?.name ?? transfer.steps.at(-1)!.name
    const owner = owners.find(({ account }) => account === transfer.account)!
    const id = `${name}-${number}-${random(4)}`
    const acts: Readonly<Record<string, () => void>> = {
      prepare: () => void twin.prepare(number, name, { hashingScheme: random(5) === 0 ? 2 : 3, participantId: `p${random(12) === 0}` }),
      approve: () => void twin.approve(random(9) === 0 ? pick(owners) : owner, number, name),
      begin: () => void twin.begin(number, id, name),
      note: () => void twin.note(number, name, id, pick(["accepted", "unknown", "refused", "not_sent", "duplicate"]), "G"),
      accept: () => void twin.complete(number, name, id, { offset: 100 + random(5) }),
      refuse: () => void twin.complete(number, name, id, { outcome: pick(["refused", "duplicate"]), guard: "G" }),
      scan: () => void twin.scan(number, name, pick([0, twin.atEpochMs + 700_000]), pick([10, 60, 1_000_000])),
      reject: () => {
        twin.refusal({ kind: "RejectStep", transfer: number, step: name, stage: "approval", guard: "prepared_mismatch" })
      },
      cancel: () => {
        twin.refusal({ kind: "CancelTransfer", ...twin.by(owner), transfer: number })
      }
    }
    // Commands that continue a transfer are more likely than those that end it.
    const act = pick([...Object.keys(acts), "prepare", "prepare", "approve", "approve", "begin", "begin", "begin", "note", "accept",
      "accept"])
    acts[act]!()
    count(act)
  }
  /** Replaces a passkey: the approvals it gave to withdrawals not yet begun become void. */
  const replacePasskey = (at: number): void => {
    const before = owners[at]!
    const anew = twin.addPasskey(before)
    const removal = { kind: "RemovePasskey", ...twin.by(anew), credentialId: before.passkey, provedBy: anew.passkey } as const
    twin.refusal({ ...removal, signCount: 0, remoteAddress: "" })
    owners[at] = anew
  }
  for (let at = 0; at < commands; at++) {
    const dice = random(100)
    if (dice < 3) ask("deposit", pick(owners))
    else if (dice < 8) ask("withdrawal", pick(owners))
    else if (dice < 9) ask("party", pick(owners))
    else if (dice < 13) twin.bind(pick(owners), random(2) === 0 ? -1 : pick(numbers))
    else if (dice < 14) {
      twin.atEpochMs += pick([1, hourMs, 7 * hourMs, 24 * hourMs])
      twin.send({ kind: "PassTime" })
      owners.splice(0, owners.length, ...owners.map((owner) => twin.signIn(owner)))
    } else if (dice === 14) {
      twin.send({ kind: "StopWithdrawals", idempotencyKey: twin.nextKey(), reason: "reconciliation", differenceAtoms: -5, atOffset: 7 })
    } else if (dice < 20) twin.send({ kind: "AllowWithdrawals", idempotencyKey: twin.nextKey() })
    else if (dice === 20 && random(3) === 0) replacePasskey(random(owners.length))
    else if (dice < 22) twin.refusal({ kind: "NoteLedgerOffset", offset: random(1_000), recordTimeEpochMs: twin.atEpochMs })
    else drive(pick(numbers.slice(-5)))
    if (at % 10 === 0) twin.check()
  }
  twin.check()
  const kept = Snapshot.unsafeDecode(Snapshot.encode(twin.engine.state), twin.engine.state.capacity)
  expect(lines(new Engine(kept))).toEqual(lines(twin.engine))
  return taken
}

test("by chance, both come to the same, and everything that can be done is done", () => {
  const taken = new Map<string, number>()
  for (let seed = 1; seed <= 24; seed++) {
    try {
      for (const [name, count] of play(seed, 500)) taken.set(name, (taken.get(name) ?? 0) + count)
    } catch (error) {
      throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  expect([...taken.keys()].sort()).toEqual(
    ["accept", "approve", "begin", "cancel", "deposit", "note", "party", "prepare", "refuse", "reject", "scan", "withdrawal"]
  )
})

test("an engine that begins with a kept state decides what follows as the one that kept it", () => {
  const twin = new FundsTwin()
  const owner = twin.funded(20_000_000)
  const withdrawal = twin.withdrawal(owner, 4_000_000)
  const deposit = twin.deposit(owner, 5_000_000)
  twin.prepare(deposit)
  twin.approve(owner, deposit)
  twin.begin(deposit, "one")
  twin.note(deposit, "treasury_offer", "one", "unknown")
  twin.prepare(withdrawal)
  const { state } = twin.engine
  const restored = new Engine(Snapshot.unsafeDecode(Snapshot.encode(state), state.capacity))
  const commandId = twin.commandOf(deposit, "treasury_offer")
  const came = [twin.engine, restored].map((engine) => {
    const outcomes = [
      engine.apply({ ...completion, commandId }, engine.sequence + 1, twin.atEpochMs),
      engine.apply(passTime, engine.sequence + 1, twin.atEpochMs + 24 * hourMs)
    ]
    return { outcomes, lines: lines(engine), transfers: engine.openTransfers() }
  })
  expect(came[1]).toEqual(came[0])
  expect(came[0]!.transfers).toEqual([expect.objectContaining({ number: deposit, end: "expired", awaits: "preparation" })])
})

const none = { a: 0, b: 0, c: 0, d: 0 }
const header = { account: -1, credential: -1, operation: 0, idempotencyKey: "", fingerprint: none }
const passTime = { kind: "PassTime", principal: 2, ...header } as const
const completion = {
  kind: "NoteCompletion",
  principal: 7,
  ...header,
  submissionId: "one",
  outcome: "accepted",
  guard: "",
  updateId: "update",
  offset: 300,
  recordTimeEpochMs: 0
} as const
