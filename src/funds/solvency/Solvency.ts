/**
 * The public proof of solvency: every account's balance at one sequence, and what withdrawals hold of the account, under the root of
 * a Merkle sum tree, the venue's other totals at that sequence, and the treasury's holdings on the ledger at the same moment.
 *
 * It is made on request once the last one is a minute old, beside the venue's work: the writer only waits for one copy of the
 * accounts' equities and of what is held. The latest two are kept; one that is no longer of the present is found by its sequence alone.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ids from "../../domain/Ids.js"
import { none } from "../../domain/None.js"
import type { EquitiesView, Reads } from "../../engine/Reads.js"
import { owedBy, type Report } from "../Reconciliation.js"
import type { Trouble } from "../Trouble.js"
import { Salts } from "./Salts.js"
import { Tree } from "./Tree.js"

/** Shortest interval between two proofs, and after a failed attempt, in ms. */
const everyMs = 60_000
const againMs = 5_000
/** How long one is told as the latest, in ms: while another one is asked for each time, there is a later one long before. */
const latestForMs = 600_000
/** Most attempts while money or funding is moving. */
const mostTries = 5

/** The venue's sums at the tree's sequence, money atoms. */
interface Sums {
  readonly sequence: number
  readonly atEpochMs: number
  /** When this state was the present one, by the clock: its last record may be much older. */
  readonly takenAtEpochMs: number
  /** Of all accounts, the insurance fund's included. */
  readonly collateralAtoms: bigint
  readonly entryImbalanceAtoms: bigint
  /** The total of negative equities, whose leaves are 0. */
  readonly shortfallAtoms: bigint
  /** The insurance fund's own equity. */
  readonly fundAtoms: bigint
  readonly feesAtoms: bigint
  readonly fundingPoolAtoms: bigint
  readonly creditedAtoms: bigint
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  /** The treasury's holdings at that state of the journal; undefined where the ledger could not be asked. */
  readonly treasury: Report | undefined
}

export interface Published extends Sums {
  readonly tree: Tree
}

export interface Parts {
  readonly reads: Reads
  /** Compares the books with the ledger now. */
  readonly reconcile: Effect.Effect<Report, Trouble>
  readonly nextSlice: Effect.Effect<void>
  readonly now: () => number
  readonly secret: string
  /** Runs beside everything else. */
  readonly fork: (effect: Effect.Effect<void>) => void
}

interface Taken {
  readonly sums: Sums
  readonly balances: Float64Array
  readonly heldByAccount: ReadonlyMap<number, bigint>
}

/** Raises negative equities of the copy to 0, in place. Returns the total added. */
const floored = ({ equityAtoms }: EquitiesView): bigint => {
  let lacking = 0n
  for (let account = 0; account < equityAtoms.length; account++) {
    const atoms = equityAtoms[account]!
    if (atoms >= 0) continue
    lacking -= BigInt(atoms)
    equityAtoms[account] = 0
  }
  return lacking
}

/**
 * The present state, copied in one turn; undefined where funding is being settled, or money has moved since the ledger was asked.
 */
const takeNow = ({ now, reads }: Parts, treasury: Report | undefined): Taken | undefined => {
  const { depositedAtoms, uncreditedAtoms, withdrawnAtoms } = owedBy(reads)
  const isMoved = treasury !== undefined && (
    treasury.depositedAtoms !== depositedAtoms || treasury.withdrawnAtoms !== withdrawnAtoms || treasury.uncreditedAtoms !== uncreditedAtoms
  )
  const view = isMoved ? undefined : reads.equities()
  if (view === undefined) return undefined
  const { creditedAtoms, feesAtoms, fundingPoolAtoms } = reads.funds
  const fund = reads.findAccount(Ids.insuranceFundId)
  const fundAtoms = fund === none ? 0n : BigInt(view.equityAtoms[fund]!)
  const { collateralAtoms, entryImbalanceAtoms } = view
  const shortfallAtoms = floored(view)
  const { atEpochMs, sequence } = reads
  return {
    balances: view.equityAtoms,
    heldByAccount: reads.heldByWithdrawals(),
    sums: {
      sequence,
      atEpochMs,
      takenAtEpochMs: now(),
      collateralAtoms,
      entryImbalanceAtoms,
      shortfallAtoms,
      fundAtoms,
      feesAtoms,
      fundingPoolAtoms,
      creditedAtoms,
      depositedAtoms,
      withdrawnAtoms,
      treasury
    }
  }
}

/** The ledger is asked first, so that nothing lies between its answer and the copy; without an answer the proof has no treasury. */
const take = (parts: Parts): Effect.Effect<Taken | undefined> =>
  Effect.gen(function*() {
    for (let tries = 0; tries < mostTries; tries++) {
      const report = yield* Effect.option(parts.reconcile)
      const taken = takeNow(parts, Option.getOrUndefined(report))
      if (taken !== undefined) return taken
      yield* parts.nextSlice
    }
    return undefined
  })

export class Solvency {
  /** At most two, the latest first. */
  private kept: ReadonlyArray<Published> = []
  private isMaking = false
  private nextAtEpochMs = 0

  constructor(private readonly parts: Parts) {}

  /** The proof of a sequence, or the latest; undefined where there is none, or none of late. Starts another one when it is due. */
  published(sequence?: number): Published | undefined {
    this.ask()
    return sequence === undefined ? this.latest : this.kept.find((one) => one.sequence === sequence)
  }

  private get latest(): Published | undefined {
    const [latest] = this.kept
    return latest !== undefined && this.parts.now() - latest.takenAtEpochMs <= latestForMs ? latest : undefined
  }

  private ask(): void {
    const { fork, now } = this.parts
    const leftMs = this.nextAtEpochMs - now()
    // A due time further ahead than the longest interval means that the clock was set back: it is due then.
    if (this.isMaking || (leftMs > 0 && leftMs <= everyMs)) return
    this.isMaking = true
    this.nextAtEpochMs = now() + againMs
    fork(this.make.pipe(
      Effect.catchAllCause((cause) => Effect.logError("what shows the venue's solvency could not be made", cause)),
      Effect.ensuring(Effect.sync(() => {
        this.isMaking = false
      }))
    ))
  }

  private readonly make: Effect.Effect<void> = Effect.gen(this, function*() {
    const { nextSlice, now, reads, secret } = this.parts
    // Not in the turn of the request.
    yield* nextSlice
    const taken = yield* take(this.parts)
    if (taken === undefined) return
    const { balances, heldByAccount, sums } = taken
    const tree = new Tree(sums.sequence, balances, heldByAccount, (account) => reads.accountId(account), new Salts(secret, sums.sequence))
    for (const _ of tree.making()) yield* nextSlice
    const before = this.kept.filter(({ sequence }) => sequence !== sums.sequence)
    this.kept = [{ ...sums, tree }, ...before].slice(0, 2)
    this.nextAtEpochMs = now() + everyMs
  })
}
