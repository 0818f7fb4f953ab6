/**
 * What the ledger holds for the venue against what the journal says that it owes, to the atom, at one offset of the ledger. What is
 * owed is what came in by confirmed deposits less what went out by confirmed withdrawals; it is compared only where nothing of that
 * moved while the ledger was asked.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import type { Driver } from "./Driver.js"
import { note } from "./Journaled.js"
import { ofLedger, type Parts } from "./Parts.js"
import { type Trouble, Unreachable } from "./Trouble.js"

/** How often it is tried while money moves. */
const mostTries = 5
/** How long before a difference is looked at once more. */
const againMs = 1_000

/** What the journal says, money atoms. */
export interface Owed {
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  /** Of deposits that the ledger has confirmed and whose account has no room for the amount yet. */
  readonly uncreditedAtoms: bigint
}

export interface Report extends Owed {
  readonly treasury: string
  readonly atOffset: number
  readonly atEpochMs: number
  readonly heldAtoms: bigint
  /** How many holdings that is, of whole atoms, and how many the treasury sees of whatever asset. */
  readonly pieces: number
  readonly seen: number
  readonly owedAtoms: bigint
  /** What is held less what is owed: what nothing in the journal accounts for. */
  readonly differenceAtoms: bigint
}

/** What the state says now. */
export const owedBy = (reads: Pick<Reads, "funds" | "openTransfers">): Owed => {
  const { depositedAtoms, withdrawnAtoms } = reads.funds
  let uncreditedAtoms = 0n
  for (const { amountAtoms, isSettled, kind, status } of reads.openTransfers()) {
    if (kind === "deposit" && status === "ledger_confirmed" && !isSettled) uncreditedAtoms += BigInt(amountAtoms)
  }
  return { depositedAtoms, withdrawnAtoms, uncreditedAtoms }
}

const owedAtoms = ({ depositedAtoms, uncreditedAtoms, withdrawnAtoms }: Owed): bigint => depositedAtoms + uncreditedAtoms - withdrawnAtoms

const isSame = (one: Owed, other: Owed): boolean =>
  one.depositedAtoms === other.depositedAtoms && one.withdrawnAtoms === other.withdrawnAtoms
  && one.uncreditedAtoms === other.uncreditedAtoms

/** Compares once: what was read of the ledger up to the offset of its answer is the journal's. */
const compare = (parts: Parts, driver: Driver): Effect.Effect<Report, Trouble> =>
  Effect.gen(function*() {
    const { ledger, reads } = parts
    const { custody: { treasury } } = yield* driver.binding
    for (let tries = 0; tries < mostTries; tries++) {
      const end = yield* Effect.mapError(ledger.end, ofLedger)
      yield* driver.readThrough(end.offset)
      const before = owedBy(reads)
      const { atoms: heldAtoms, offset: atOffset, pieces, seen } = yield* Effect.mapError(ledger.holdings(treasury), ofLedger)
      yield* driver.readThrough(atOffset)
      const owed = owedBy(reads)
      if (!isSame(before, owed)) continue
      const atEpochMs = yield* Clock.currentTimeMillis
      return {
        ...owed,
        treasury,
        atOffset,
        atEpochMs,
        heldAtoms,
        pieces,
        seen,
        owedAtoms: owedAtoms(owed),
        differenceAtoms: heldAtoms - owedAtoms(owed)
      }
    }
    return yield* new Unreachable({ whom: "ledger", detail: "money moved all the while it was compared" })
  })

/**
 * Compares, and where there is a difference once more: of both the treasury is believed to hold the more. Where that is less than is owed,
 * and less than an operator has accepted, withdrawals are stopped. What it holds beyond is nobody's debt, and anybody may send it: that
 * stops nothing, and that it changes from one comparison to the other hides nothing that is lacking.
 */
export const reconcile = (parts: Parts, driver: Driver): Effect.Effect<Report, Trouble> =>
  Effect.gen(function*() {
    const first = yield* compare(parts, driver)
    if (first.differenceAtoms === 0n) return first
    yield* Effect.sleep(againMs)
    const second = yield* compare(parts, driver)
    const { atOffset, differenceAtoms, heldAtoms, owedAtoms: owed } = first.differenceAtoms > second.differenceAtoms ? first : second
    const { acceptedAtoms, stop } = parts.reads.funds
    if (stop === undefined && differenceAtoms < BigInt(acceptedAtoms)) {
      yield* Effect.logError(`the treasury holds ${heldAtoms} atoms at offset ${atOffset}, the journal says ${owed}`)
      yield* note(parts, "StopWithdrawals", { reason: "reconciliation", differenceAtoms: clamped(differenceAtoms), atOffset })
    }
    return second
  })

/** As the journal's numbers can say it. */
const clamped = (atoms: bigint): number => {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  return Number(atoms > most ? most : atoms < -most ? -most : atoms)
}
