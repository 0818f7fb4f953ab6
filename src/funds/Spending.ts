/**
 * Which of the treasury's holdings other withdrawals already name: two that spend the same one would be one that is paid and one that the
 * ledger refuses. What is told here decides only which holdings are chosen; that nothing is paid twice is the ledger's and the command's.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reads, TransferView } from "../engine/Reads.js"
import { type Claims, codes } from "../ledger/Ledger.js"
import * as Prepared from "../ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../ledger/prepared/Wire.js"
import type { PreparationView } from "./Facts.js"
import { Declined } from "./Trouble.js"

/** How long after its last record time a transaction may still be told of: by then it is spent, or never will be. */
const decidedMs = 60_000
/** How long one is waited for that has no last record time. */
const untimedMs = 10 * 60_000
/** How long a withdrawal waits to be prepared. Whoever has waited longer is told to come again, and has gone away as likely as not. */
const mostWaitMs = 30_000

/** What is told to whoever asks for a withdrawal that waits for its turn. */
export const behindOthers = (): Declined => new Declined({ code: codes.inUse, detail: "other withdrawals are prepared before it" })

/** What a transaction spends. */
const inputsOf = (preparedTransaction: string): ReadonlyArray<string> => {
  const prepared = Prepared.decode(Buffer.from(preparedTransaction, "base64"))
  return prepared instanceof Malformed ? [] : prepared.metadata.inputContracts.map(({ v1 }) => v1.contractId)
}

export class Spending {
  /** What the transactions of open withdrawals spend, by hash. */
  private inputs = new Map<string, ReadonlyArray<string>>()
  private readonly turn = Effect.unsafeMakeSemaphore(1)

  constructor(private readonly reads: Pick<Reads, "openTransfers">) {}

  /**
   * One withdrawal is prepared at a time, until it is journaled: what it spends is then known to the next. Who has waited too long is told
   * so when it is its turn, so that a queue on a slow ledger does not prepare for owners who have gone. `places`: what else is waited
   * for in the turn, which counts as well.
   */
  inTurn<A, E>(prepare: Effect.Effect<A, E>, places?: Effect.Semaphore): Effect.Effect<A, E | Declined> {
    return Effect.flatMap(Clock.currentTimeMillis, (sinceEpochMs) => {
      const inPlace = Effect.flatMap(Clock.currentTimeMillis,
        (nowEpochMs): Effect.Effect<A, E | Declined> => nowEpochMs - sinceEpochMs > mostWaitMs ? behindOthers() : prepare)
      return this.turn.withPermits(1)(places === undefined ? inPlace : places.withPermits(1)(inPlace))
    })
  }

  /** What others claim by now. */
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
 * How a withdrawal claims what it spends, for as long as its transaction may be recorded: not once it was refused, or its time has passed.
 * One that waits for an operator behind that would otherwise hold everybody up. Should it be recorded after all, by a ledger whose clock
 * is far behind, whoever has chosen the same holding is asked again.
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
