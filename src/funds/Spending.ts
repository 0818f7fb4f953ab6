/**
 * Which of the treasury's holdings are claimed by other withdrawals: of two that spend the same holding, the ledger would refuse
 * one. Claims only affect which holdings are chosen; the ledger and the command ids guarantee that nothing is paid twice.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reads, TransferView } from "../engine/Reads.js"
import { type Claims, codes } from "../ledger/Ledger.js"
import * as Prepared from "../ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../ledger/prepared/Wire.js"
import type { PreparationView } from "./Facts.js"
import { Declined } from "./Trouble.js"

/** How long after its maximum record time a transaction may still be reported, in ms: by then it has taken effect or never will. */
const decidedMs = 60_000
/** How long a transaction without a maximum record time is waited for, in ms. */
const untimedMs = 10 * 60_000
/** How long a withdrawal waits for its preparation, in ms. After that its owner is asked to come back, and has probably left. */
const mostWaitMs = 30_000

/** The answer to the owner of a withdrawal that waits for its turn. */
export const behindOthers = (): Declined => new Declined({ code: codes.inUse, detail: "other withdrawals are prepared before it" })

/** What a transaction spends. */
const inputsOf = (preparedTransaction: string): ReadonlyArray<string> => {
  const prepared = Prepared.decode(Buffer.from(preparedTransaction, "base64"))
  return prepared instanceof Malformed ? [] : prepared.metadata.inputContracts.map(({ v1 }) => v1.contractId)
}

export class Spending {
  /** The inputs of open withdrawals' transactions, by hash. */
  private inputs = new Map<string, ReadonlyArray<string>>()
  private readonly turn = Effect.unsafeMakeSemaphore(1)

  constructor(private readonly reads: Pick<Reads, "openTransfers">) {}

  /**
   * Prepares one withdrawal at a time until it is journaled, so that the next one knows its inputs. One that has waited too long is
   * declined in its turn, so that a queue on a slow ledger does not prepare for owners who have left. `places`: slots that have to
   * be waited for within the turn.
   */
  inTurn<A, E>(prepare: Effect.Effect<A, E>, places?: Effect.Semaphore): Effect.Effect<A, E | Declined> {
    return Effect.flatMap(Clock.currentTimeMillis, (sinceEpochMs) => {
      const inPlace = Effect.flatMap(Clock.currentTimeMillis,
        (nowEpochMs): Effect.Effect<A, E | Declined> => nowEpochMs - sinceEpochMs > mostWaitMs ? behindOthers() : prepare)
      return this.turn.withPermits(1)(places === undefined ? inPlace : places.withPermits(1)(inPlace))
    })
  }

  /** The present claims of others. */
  readonly claims: Effect.Effect<Claims> = Effect.map(Clock.currentTimeMillis, (nowEpochMs) => this.claimsAt(nowEpochMs))

  private claimsAt(nowEpochMs: number): Claims {
    const [asked, underWay] = [new Set<string>(), new Set<string>()]
    const known = this.inputs
    this.inputs = new Map()
    for (const transfer of this.reads.openTransfers()) {
      const preparation = transfer.kind === "withdrawal" ? transfer.stepAtHand?.preparation : undefined
      if (preparation === undefined || preparation === null || preparation.preparedTransaction === "") continue
      const spent = known.get(preparation.hash) ?? inputsOf(preparation.preparedTransaction)
      this.inputs.set(preparation.hash, spent)
      const claim = claimOf(transfer, preparation, nowEpochMs)
      for (const id of spent) if (claim !== undefined) (claim === "asked" ? asked : underWay).add(id)
    }
    return { asked, underWay }
  }
}

/**
 * How long a withdrawal claims its inputs: as long as its transaction may be recorded, not after a refusal or the end of its time.
 * Otherwise one that waits for an operator would hold up all others. If it is recorded after all, by a ledger whose clock is far
 * behind, the owner of the other withdrawal is asked again.
 */
const claimOf = (
  { awaits }: TransferView,
  { maxRecordTimeEpochMs, preparedAtEpochMs }: PreparationView,
  nowEpochMs: number
): keyof Claims | undefined => {
  const untilEpochMs = maxRecordTimeEpochMs > 0 ? maxRecordTimeEpochMs : preparedAtEpochMs + untimedMs
  if (awaits === "submission" || awaits === "resolution") return nowEpochMs <= untilEpochMs + decidedMs ? "underWay" : undefined
  return awaits === "approval" && nowEpochMs <= untilEpochMs ? "asked" : undefined
}
