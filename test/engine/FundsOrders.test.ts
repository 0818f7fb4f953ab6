/**
 * A step under every order of facts. From a transfer that was just requested, every fact is tried in every state to which earlier facts
 * have led, up to a number of facts; equal states are continued only once. In every order the rules about money hold, and the naive model
 * reaches the same state.
 */
import { describe, expect, test } from "vitest"
import { outstanding } from "../../sim/model/NaiveFunds.js"
import type { TransferKind } from "../../src/operations/funds/Transfers.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import type { Owner } from "./FundsDriver.js"
import { FundsTwin } from "./FundsTwin.js"
import { few } from "../Depth.js"

const amountAtoms = 3_000_000
const dayMs = 86_400_000

interface Scene {
  readonly twin: FundsTwin
  owner: Owner
  readonly number: number
}

/** The scene just after the transfer was requested, from which others are forked. */
const first = (kind: TransferKind): Scene => {
  const twin = new FundsTwin()
  const owner = twin.funded(10_000_000)
  if (kind === "deposit") return { twin, owner, number: twin.deposit(owner, amountAtoms) }
  if (kind === "withdrawal") return { twin, owner, number: twin.withdrawal(owner, amountAtoms) }
  const number = twin.partyChange(owner)
  twin.bind(owner, number, "anew::1220")
  return { twin, owner, number }
}

const fork = ({ number, owner, twin }: Scene): Scene => ({ twin: twin.fork(), owner, number })

type Act = (scene: Scene) => void

const hand = ({ number, twin }: Scene) => twin.transfer(number).stepAtHand?.name ?? twin.transfer(number).steps.at(-1)!.name

const note = (name: string, outcome: CommandOfKind<"NoteSubmission">["outcome"]): Act => (scene) => {
  const step = hand(scene)
  scene.twin.note(scene.number, step, `${name}-${step}`, outcome, outcome === "refused" ? "NO" : "")
}

const complete = (name: string, offset: number, more: Partial<CommandOfKind<"NoteCompletion">> = {}): Act => (scene) => {
  const step = hand(scene)
  scene.twin.complete(scene.number, step, `${name}-${step}`, { offset, ...more })
}

/** Repeats the completion of the last step that was carried out. */
const again = (offset: number): Act => ({ number, twin }) => {
  const step = twin.transfer(number).steps.findLast(({ confirmation }) => confirmation !== null)
  if (step !== undefined) twin.complete(number, step.name, "again", { offset })
}

const acts: Readonly<Record<string, Act>> = {
  prepare: (scene) => void scene.twin.prepare(scene.number, hand(scene)),
  prepareUnsigned: (scene) => void scene.twin.prepare(scene.number, hand(scene), { hashingScheme: 2 }),
  approve: (scene) => {
    if (hand(scene) !== "treasury_offer_withdrawal") scene.twin.approve(scene.owner, scene.number, hand(scene))
  },
  beginA: (scene) => void scene.twin.begin(scene.number, `a-${hand(scene)}`, hand(scene)),
  beginB: (scene) => void scene.twin.begin(scene.number, `b-${hand(scene)}`, hand(scene)),
  takenA: note("a", "accepted"),
  unknownA: note("a", "unknown"),
  refusedA: note("a", "refused"),
  unsentA: note("a", "not_sent"),
  refusedB: note("b", "refused"),
  elsewhereB: note("b", "duplicate"),
  acceptA: complete("a", 200),
  acceptAgain: again(201),
  refuseA: complete("a", 202, { outcome: "refused", guard: "NO" }),
  refuseB: complete("b", 203, { outcome: "refused", guard: "NO" }),
  scan: (scene) => void scene.twin.scan(scene.number, hand(scene)),
  scanPassed: (scene) => void scene.twin.scan(scene.number, hand(scene), Number.MAX_SAFE_INTEGER),
  reject: (scene) => {
    scene.twin.refusal({ kind: "RejectStep", transfer: scene.number, step: hand(scene), stage: "approval", guard: "prepared_mismatch" })
  },
  cancel: (scene) => {
    scene.twin.refusal({ kind: "CancelTransfer", ...scene.twin.by(scene.owner), transfer: scene.number })
  },
  day: (scene) => {
    scene.twin.atEpochMs += dayMs
    scene.twin.send({ kind: "PassTime" })
    scene.owner = scene.twin.signIn(scene.owner)
  }
}

/** Identifies a scene's state, whatever led to it. */
const key = ({ number, twin }: Scene): string =>
  JSON.stringify(
    [twin.transfer(number), twin.engine.funds.stop?.reason, Object.values(twin.engine.funds.alarms).some((count) => count > 0)],
    (name, value: unknown) => /EpochMs$|^lastSequence$|Atoms$|^alarmedOffset$/.test(name) ? undefined : value
  )

/** Checks what must hold after any order of facts. */
const hold = ({ number, twin }: Scene, kind: TransferKind): void => {
  twin.check()
  const transfer = twin.model.find(number)!
  const { end, steps } = transfer
  const isDone = (name: string): boolean => steps.some((step) => step.name === name && step.accepted !== undefined)
  const balance = twin.engine.balance(twin.transfer(number).account).collateralAtoms
  const before = 10_000_000
  if (kind === "deposit") {
    // Credited exactly once if the ledger carried out the last step, and otherwise not at all.
    expect(balance).toBe(isDone("owner_offer_acceptance") ? before + amountAtoms : before)
    expect(end === "ledger_confirmed").toBe(isDone("owner_offer_acceptance"))
  }
  if (kind === "withdrawal") {
    const isBack = end === "rejected" || end === "expired"
    expect(balance).toBe(isBack ? before : before - amountAtoms)
    if (!isBack) expect(end === "ledger_confirmed").toBe(isDone("treasury_withdrawal"))
  }
  // No transfer ends and no step is prepared anew while the ledger may still carry out a submission.
  if (end === "rejected" || end === "expired") {
    for (const step of steps) if (step.name !== "treasury_offer_withdrawal") expect(outstanding(step)).toEqual([])
  }
}

/** A state, and the facts that led to it. */
interface Reached {
  readonly path: ReadonlyArray<string>
  readonly scene: Scene
}

/** Explores `depth` facts after some initial ones; returns the number of different states. */
const explore = (kind: TransferKind, given: ReadonlyArray<string>, depth: number): number => {
  const begun = first(kind)
  for (const name of given) acts[name]!(begun)
  const seen = new Set([key(begun)])
  let frontier: ReadonlyArray<Reached> = [{ path: [], scene: begun }]
  for (let at = 0; at < depth; at++) {
    const next: Array<Reached> = []
    for (const { path, scene: before } of frontier) {
      for (const name of Object.keys(acts)) {
        const scene = fork(before)
        acts[name]!(scene)
        try {
          hold(scene, kind)
        } catch (error) {
          throw new Error(`${[...given, ...path, name].join(", ")}: ${error instanceof Error ? error.message : String(error)}`)
        }
        const found = key(scene)
        if (seen.has(found)) continue
        seen.add(found)
        next.push({ path: [...path, name], scene })
      }
    }
    frontier = next
  }
  return seen.size
}

const executed = ["prepare", "approve", "beginA"]
const step = [...executed, "acceptA"]

describe("every order of facts", () => {
  test.each<[string, TransferKind, ReadonlyArray<string>, number, number]>([
    ["a withdrawal that was asked for", "withdrawal", [], few(3, 4), 10],
    ["one that is being executed", "withdrawal", executed, 3, 60],
    ["one of which two submissions are under way", "withdrawal", [...executed, "beginB"], 2, 30],
    ["one that was refused", "withdrawal", [...executed, "refusedA", "scan"], 2, 1],
    ["one that is done", "withdrawal", step, 2, 1],
    ["a change of party that was asked for", "party_change", [], few(3, 4), 10],
    ["one whose acceptance is being executed", "party_change", executed, 2, 20],
    ["a deposit whose first step is being executed", "deposit", executed, 2, 20],
    ["one whose last step is at hand", "deposit", step, few(2, 3), 5],
    ["one whose last step is being executed", "deposit", [...step, ...executed], few(2, 3), 20],
    ["one that expired while its offer stands", "deposit", [...step, "day"], 3, 10],
    ["one whose offer is being withdrawn", "deposit", [...step, "day", ...executed], 2, 20],
    ["one that is done", "deposit", [...step, ...step], 2, 1]
  ])("of %s", (_, kind, before, depth, least) => {
    expect(explore(kind, before, depth)).toBeGreaterThan(least)
  })
})
