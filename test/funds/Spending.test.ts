/** How long withdrawals claim the holdings that their transactions spend. */
import { Effect, TestClock, TestContext } from "effect"
import { expect, test } from "vitest"
import { Spending } from "../../src/funds/Spending.js"
import type { Reads } from "../../src/engine/Reads.js"
import { setting } from "../../src/ledger/development/Setting.js"
import { plan } from "../../src/ledger/Planned.js"
import * as Prepared from "../../src/ledger/prepared/PreparedTransaction.js"
import { honest } from "../signer/Prepare.js"

const custody = { ...setting, environment: "development", userId: "perpetuum", treasury: "treasury::1220" } as const
const transaction = honest(
  plan(custody, { step: "treasury_withdrawal", transferId: "wdr_1", receiver: "receiver::1220", amountAtoms: 5 }),
  600_000
)
const spent = transaction.metadata.inputContracts.map(({ v1 }) => v1.contractId)
const preparedTransaction = Buffer.from(Prepared.encode(transaction)).toString("base64")

/** When it was prepared, and until when it may be recorded: 0 where nothing says so. */
const preparedMs = 5_000_000
const maximumMs = 5_600_000

interface Row {
  readonly awaits: string
  readonly maxRecordTimeEpochMs: number
  readonly nowEpochMs: number
  readonly claims: "asked" | "underWay" | "none"
  readonly kind?: string
}

const until = (awaits: string, maxRecordTimeEpochMs: number, lastEpochMs: number, claims: Row["claims"]): ReadonlyArray<Row> => [
  { awaits, maxRecordTimeEpochMs, nowEpochMs: preparedMs, claims },
  { awaits, maxRecordTimeEpochMs, nowEpochMs: lastEpochMs, claims },
  { awaits, maxRecordTimeEpochMs, nowEpochMs: lastEpochMs + 1, claims: "none" }
]

const rows: ReadonlyArray<Row> = [
  ...until("approval", maximumMs, maximumMs, "asked"),
  // It may be reported for a minute after it could be recorded last.
  ...until("submission", maximumMs, maximumMs + 60_000, "underWay"),
  ...until("resolution", maximumMs, maximumMs + 60_000, "underWay"),
  // Without a maximum it is taken to have ten minutes.
  ...until("approval", 0, preparedMs + 600_000, "asked"),
  ...until("submission", 0, preparedMs + 660_000, "underWay"),
  ...until("resolution", 0, preparedMs + 660_000, "underWay"),
  ...["party", "preparation", "scan", "nothing"].map((awaits): Row => ({
    awaits,
    maxRecordTimeEpochMs: maximumMs,
    nowEpochMs: preparedMs,
    claims: "none"
  })),
  { awaits: "approval", maxRecordTimeEpochMs: maximumMs, nowEpochMs: preparedMs, claims: "none", kind: "deposit" }
]

test.each(rows)("a withdrawal that awaits $awaits, to be recorded by $maxRecordTimeEpochMs, claims at $nowEpochMs: $claims",
  async (row) => {
    const { awaits, claims, kind = "withdrawal", maxRecordTimeEpochMs, nowEpochMs } = row
    const preparation = { preparedTransaction, hash: "ab", hashingScheme: 3, maxRecordTimeEpochMs, preparedAtEpochMs: preparedMs }
    const transfer = { awaits, kind, stepAtHand: { preparation } } as unknown as ReturnType<Reads["openTransfers"]>[number]
    const spending = new Spending({ openTransfers: () => [transfer] })
    const { asked, underWay } = await Effect.runPromise(
      Effect.zipRight(TestClock.setTime(nowEpochMs), spending.claims).pipe(Effect.provide(TestContext.TestContext))
    )
    expect(spent.length).toBeGreaterThan(0)
    expect([...asked]).toEqual(claims === "asked" ? spent : [])
    expect([...underWay]).toEqual(claims === "underWay" ? spent : [])
  })
