/**
 * Which of the treasury's holdings other withdrawals already name: two that spend the same one would be one that is paid and one that the
 * ledger refuses. What is told here decides only which holdings are chosen; that nothing is paid twice is the ledger's and the command's.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Reads, TransferView } from "../engine/Reads.js"
import type { Claims } from "../ledger/Ledger.js"
import * as Prepared from "../ledger/prepared/PreparedTransaction.js"
import { Malformed } from "../ledger/prepared/Wire.js"

/** What a transaction spends. */
const inputsOf = (preparedTransaction: string): ReadonlyArray<string> => {
  const prepared = Prepared.decode(Buffer.from(preparedTransaction, "base64"))
  return prepared instanceof Malformed ? [] : prepared.metadata.inputContracts.map(({ v1 }) => v1.contractId)
}

export class Spending {
  /** What the transactions of open withdrawals spend, by hash. */
  private inputs = new Map<string, ReadonlyArray<string>>()
  /** One withdrawal is prepared at a time, until it is journaled: what it spends is then known to the next. */
  private readonly turn = Effect.unsafeMakeSemaphore(1)

  constructor(private readonly reads: Pick<Reads, "openTransfers">) {}

  /** Prepares what spends of the treasury, with what others claim of it by then. */
  readonly inTurn = <A, E>(prepare: (claims: Claims) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    this.turn.withPermits(1)(Effect.flatMap(Clock.currentTimeMillis, (nowEpochMs) => prepare(this.claims(nowEpochMs))))

  private claims(nowEpochMs: number): Claims {
    const [asked, underWay] = [new Set<string>(), new Set<string>()]
    const known = this.inputs
    this.inputs = new Map()
    for (const transfer of this.reads.openTransfers()) {
      const preparation = transfer.kind === "withdrawal" ? transfer.stepAtHand?.preparation : undefined
      if (preparation === undefined || preparation === null || preparation.preparedTransaction === "") continue
      const spent = known.get(preparation.hash) ?? inputsOf(preparation.preparedTransaction)
      this.inputs.set(preparation.hash, spent)
      for (const each of claimOf(transfer, preparation.maxRecordTimeEpochMs, nowEpochMs, asked, underWay))
        for (const id of spent) each.add(id)
    }
    return { asked, underWay }
  }
}

/** Where the claim of a withdrawal belongs: nowhere once it was refused, or its time has passed without an approval. */
const claimOf = (
  { awaits }: TransferView,
  maxRecordTimeEpochMs: number,
  nowEpochMs: number,
  asked: Set<string>,
  underWay: Set<string>
): ReadonlyArray<Set<string>> => {
  if (awaits === "submission" || awaits === "resolution") return [underWay]
  return awaits === "approval" && nowEpochMs <= maxRecordTimeEpochMs ? [asked] : []
}
