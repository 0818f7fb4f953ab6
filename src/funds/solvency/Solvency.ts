/**
 * What anybody may check the venue's solvency by: every account's balance at one sequence under the root of a Merkle sum tree, the
 * venue's other sums at that sequence, and what the treasury held on the ledger at the same moment.
 *
 * It is made when somebody asks and the last is a minute old, beside the venue's work: the writer waits for one copy of the accounts'
 * equities and no longer. The latest and the one before are kept.
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

/** How long after one was made the next may be, and how long after one that could not be. */
const everyMs = 60_000
const againMs = 5_000
/** How often it is tried while money or funding moves. */
const mostTries = 5

/** The venue's sums at the tree's sequence, money atoms. */
interface Sums {
  readonly sequence: number
  readonly atEpochMs: number
  /** Of all accounts, the insurance fund's included. */
  readonly collateralAtoms: bigint
  readonly entryImbalanceAtoms: bigint
  /** What accounts under nothing lack: their leaves say 0. */
  readonly shortfallAtoms: bigint
  /** The insurance fund's own equity. */
  readonly fundAtoms: bigint
  readonly reservedAtoms: bigint
  readonly feesAtoms: bigint
  readonly fundingPoolAtoms: bigint
  readonly creditedAtoms: bigint
  readonly depositedAtoms: bigint
  readonly withdrawnAtoms: bigint
  /** What the treasury held with all that of the journal; undefined where the ledger could not be asked. */
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
}

/** Floors what was copied, in place, and gives what that added. */
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

/** The state as it is, in one turn; undefined where funding is under way, or money moved since the ledger was asked. */
const takeNow = (reads: Reads, treasury: Report | undefined): Taken | undefined => {
  const { depositedAtoms, uncreditedAtoms, withdrawnAtoms } = owedBy(reads)
  const isMoved = treasury !== undefined && (
    treasury.depositedAtoms !== depositedAtoms || treasury.withdrawnAtoms !== withdrawnAtoms || treasury.uncreditedAtoms !== uncreditedAtoms
  )
  const view = isMoved ? undefined : reads.equities()
  if (view === undefined) return undefined
  const { creditedAtoms, feesAtoms, fundingPoolAtoms, reservedAtoms } = reads.funds
  const fund = reads.findAccount(Ids.insuranceFundId)
  const fundAtoms = fund === none ? 0n : BigInt(view.equityAtoms[fund]!)
  const { collateralAtoms, entryImbalanceAtoms } = view
  const shortfallAtoms = floored(view)
  const { atEpochMs, sequence } = reads
  return {
    balances: view.equityAtoms,
    sums: {
      sequence,
      atEpochMs,
      collateralAtoms,
      entryImbalanceAtoms,
      shortfallAtoms,
      fundAtoms,
      reservedAtoms,
      feesAtoms,
      fundingPoolAtoms,
      creditedAtoms,
      depositedAtoms,
      withdrawnAtoms,
      treasury
    }
  }
}

/** The ledger is asked first, so that nothing lies between its answer and the copy; without its answer there is no treasury in it. */
const take = ({ nextSlice, reads, reconcile }: Parts): Effect.Effect<Taken | undefined> =>
  Effect.gen(function*() {
    for (let tries = 0; tries < mostTries; tries++) {
      const report = yield* Effect.option(reconcile)
      const taken = takeNow(reads, Option.getOrUndefined(report))
      if (taken !== undefined) return taken
      yield* nextSlice
    }
    return undefined
  })

export class Solvency {
  /** The latest first: two at most. */
  private kept: ReadonlyArray<Published> = []
  private isMaking = false
  private nextAtEpochMs = 0

  constructor(private readonly parts: Parts) {}

  /** The one of a sequence, or the latest; undefined where there is none. Begins to make another when it is time to. */
  published(sequence?: number): Published | undefined {
    this.ask()
    return sequence === undefined ? this.kept[0] : this.kept.find((one) => one.sequence === sequence)
  }

  private ask(): void {
    const { fork, now } = this.parts
    const leftMs = this.nextAtEpochMs - now()
    // Further ahead than the longest wait it is only where the clock was set back since: then it is time.
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
    // Not in the turn of the request that asked.
    yield* nextSlice
    const taken = yield* take(this.parts)
    if (taken === undefined) return
    const { balances, sums } = taken
    const tree = new Tree(sums.sequence, balances, (account) => reads.accountId(account), new Salts(secret, sums.sequence))
    for (const _ of tree.making()) yield* nextSlice
    const before = this.kept.filter(({ sequence }) => sequence !== sums.sequence)
    this.kept = [{ ...sums, tree }, ...before].slice(0, 2)
    this.nextAtEpochMs = now() + everyMs
  })
}
