/**
 * Compares what the ledger holds for the venue with what the journal says it owes, to the atom, at one offset of the ledger. The
 * amount owed is confirmed deposits minus confirmed withdrawals; a comparison is only valid where neither changed while the ledger
 * was asked.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import type { Driver } from "./Driver.js"
import { note } from "./Journaled.js"
import { ofLedger, type Parts } from "./Parts.js"
import { type Trouble, Unreachable } from "./Trouble.js"

/** Most attempts while money is moving. */
const mostTries = 5
/** Pause before a difference is checked again, in ms. */
const againMs = 1_000

/** What the journal says is owed, money atoms. */
export interface Owed {
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  /** Confirmed deposits whose account has no room for the amount yet. */
  readonly uncreditedAtoms: bigint
}

export interface Report extends Owed {
  readonly treasury: string
  readonly atOffset: number
  readonly atEpochMs: number
  readonly heldAtoms: bigint
  /** The number of these holdings, in whole atoms, and of all holdings that the treasury sees in any asset. */
  readonly pieces: number
  readonly seen: number
  readonly owedAtoms: bigint
  /** Holdings minus the amount owed, which nothing in the journal accounts for. */
  readonly differenceAtoms: bigint
}

/** The amount owed by the present state. */
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

/** Makes one comparison: the ledger must have been read up to the offset of its answer. */
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
 * Compares and, if there is a difference, compares once more: the higher of both holdings counts. Where that is below the amount
 * owed by more than an operator has accepted, withdrawals are stopped. A surplus is nobody's debt, and anybody may send one: it
 * stops nothing, and its changes between comparisons hide no deficit.
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
      yield* note(parts, "StopWithdrawals", stopOf({ atoms: differenceAtoms, atOffset }))
    }
    return second
  })

/** What the treasury lacks, money atoms, 0 or below, and at which offset of the ledger. */
export interface Lacking {
  readonly atoms: bigint
  readonly atOffset: number
}

/**
 * What the treasury lacks now, by a comparison made for it. Where nothing is owed nothing can be lacking, and the ledger is not asked:
 * a venue that has none can have its withdrawals stopped, too.
 */
export const lackingOf = <E>(
  reads: Pick<Reads, "funds" | "openTransfers">,
  compared: Effect.Effect<Pick<Report, "differenceAtoms" | "atOffset">, E>
): Effect.Effect<Lacking, E> =>
  Effect.suspend(() =>
    owedAtoms(owedBy(reads)) <= 0n
      ? Effect.succeed({ atoms: 0n, atOffset: reads.funds.offset })
      : Effect.map(compared, ({ atOffset, differenceAtoms }) => ({ atoms: differenceAtoms < 0n ? differenceAtoms : 0n, atOffset }))
  )

/** The stop by what was found lacking. */
export const stopOf = ({ atOffset, atoms }: Lacking) => ({ reason: "reconciliation", differenceAtoms: clamped(atoms), atOffset }) as const

/** Clamped to the range of the journal's numbers. */
const clamped = (atoms: bigint): number => {
  const most = BigInt(Number.MAX_SAFE_INTEGER)
  return Number(atoms > most ? most : atoms < -most ? -most : atoms)
}
