/**
 * What breaks a rule today and is known to. The list only shrinks: an entry that excuses nothing any more is itself a
 * violation, so that whoever mends the last of it takes the entry out in the same commit.
 */
import type { Violation } from "./Source.js"

/** Subjects that are excused, by rule. */
export type Exceptions = Readonly<Record<string, ReadonlyArray<string>>>

export const granted: Exceptions = {
  circle: [
    "Simulation"
  ],
  document: [
    "Margin.risk",
    "Positions.risk"
  ],
  "long-function": [
    "Exchanges.write",
    "Handlers.make",
    "Journeys.make",
    "Matching.matchTaker",
    "NaiveVenue.test.nextCommand",
    "Operator.make",
    "OrderEntry.check",
    "SimDisk.make",
    "SimDisk.mount",
    "SimNetwork.make",
    "Snapshot.unsafeDecode",
    "Story.make",
    "Synthetic.captures",
    "Trader.drafts",
    "Trader.make",
    "Views.make",
    "Wishes.make",
    "Writer.make"
  ],
  "unused-export": [
    "Accounts.ApiKeyCurrent",
    "Accounts.ApiKeyRecord",
    "Accounts.FillList",
    "Accounts.PositionList",
    "Book.none",
    "Calls.nativeBody",
    "Compat.CompatBook",
    "Compat.CompatCancelAll",
    "Compat.CompatOrder",
    "Compat.CompatTime",
    "Compat.CreateOrdersResult",
    "Contract.api",
    "Determinism.resetFiberIds",
    "Engine.maxAccounts",
    "Engine.maxMarkets",
    "Envelopes.ApiKeyRejection",
    "Envelopes.guards",
    "EventLog.EventFields",
    "EventLog.eventNames",
    "Failures.normalised",
    "Fields.CursorText",
    "Fields.PageText",
    "Fields.SignedAtoms",
    "Fills.fillsKept",
    "Idempotency.scopeOf",
    "Market.MaintenanceTier",
    "Markets.Level",
    "Markets.MarketDetails",
    "Markets.MarketList",
    "Markets.MarketTradeList",
    "Operator.DemoAccountsBody",
    "Options.intents",
    "Orders.AcceptedEntry",
    "Orders.AmendResult",
    "Orders.Flags",
    "Orders.PlaceBatchResult",
    "Orders.RefusedEntry",
    "Readiness.layer",
    "Requests.bodyLimit",
    "Safety.CancelAllAfterResult",
    "Safety.CancelAllAfterState",
    "Safety.FenceResult",
    "Safety.OutcomeLookup",
    "Scan.genesis",
    "SegmentJournal.defaultOptions",
    "SnapshotStore.directory",
    "Stats.fundingIntervalMs",
    "Story.claim",
    "Story.describeFault",
    "System.Health",
    "Views.bookChecksum",
    "Views.maxDepth"
  ]
}

const here = "scripts/check/Exceptions.ts"

/** The violations that nothing excuses, and the exceptions that excuse nothing. */
export const settle = (found: ReadonlyArray<Violation>, exceptions: Exceptions): ReadonlyArray<Violation> => {
  const isOf = (violation: Violation, rule: string, subject: string): boolean => violation.rule === rule && violation.subject === subject
  const isExcused = (violation: Violation): boolean => exceptions[violation.rule]?.includes(violation.subject ?? "") ?? false
  const idle = Object.entries(exceptions).flatMap(([rule, subjects]) =>
    subjects.filter((subject) => !found.some((violation) => isOf(violation, rule, subject))).map((subject) => ({
      path: here,
      line: 1,
      rule,
      message: `${subject} is excused and breaks no rule any more`
    }))
  )
  return [...found.filter((violation) => !isExcused(violation)), ...idle]
}
