/**
 * Each alert fires for what it is about and for nothing less: its comparisons are read here, and the functions of Prometheus around a metric
 * (rates, increases, quantiles) are taken for the value that the case gives.
 */
import * as fs from "node:fs"
import { expect, test } from "vitest"
import * as Yaml from "yaml"

type Figures = Readonly<Record<string, number>>

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: "page" | "ticket" }
  readonly annotations: { readonly runbook_url?: string }
}

const { groups } = Yaml.parse(fs.readFileSync("scripts/observe/alerts.yaml", "utf8")) as {
  readonly groups: ReadonlyArray<{ readonly rules: ReadonlyArray<Rule> }>
}
const rules: ReadonlyMap<string, string> = new Map(groups.flatMap((group) => group.rules.map(({ alert, expr }) => [alert, expr] as const)))

const comparing = /^(.*venue_(\w+?)(?:_bucket)?\b.*?) (==|<=|>=|<|>) (?:([\d.]+))?(?: \* )?(?:venue_(\w+))?$/

/** Whether a comparison of a metric with a number, another metric, or a part of one holds. */
const holds = (comparison: string, figures: Figures): boolean => {
  const absent = /^absent\(venue_(\w+)\)$/.exec(comparison)
  if (absent !== null) return figures[absent[1]!] === undefined
  const [, , name, sign, factor = "1", of] = comparing.exec(comparison) ?? []
  if (name === undefined) throw new Error(`this test does not understand: ${comparison}`)
  const value = figures[name]
  if (value === undefined) return false
  const bound = Number(factor) * (of === undefined ? 1 : figures[of]!)
  switch (sign) {
    case "==":
      return value === bound
    case "<":
      return value < bound
    case "<=":
      return value <= bound
    default:
      return value > bound
  }
}

const fires = (alert: string, figures: Figures): boolean =>
  rules.get(alert)!.split(" or ").some((one) => one.split(" and ").every((each) => holds(each, figures)))

/** What is well, and what fires, by the alert. */
const flag = (name: string) => [{ [name]: 0 }, { [name]: 1 }] as const
const cases: Readonly<Record<string, readonly [well: Figures, ...fires: ReadonlyArray<Figures>]>> = {
  VenueDown: [{ durable_sequence: 0 }, {}],
  VenueRestarted: flag("started_at_seconds"),
  JournalWentBack: flag("durable_sequence"),
  VenueHalted: flag("halted"),
  JournalFull: flag("journal_full"),
  DiskSlow: [{ stage_duration_seconds: 0.25 }, { stage_duration_seconds: 0.26 }],
  WriterBehind: [{ inbox_depth: 50, inbox_capacity: 100 }, { inbox_depth: 51, inbox_capacity: 100 }],
  FollowerDown: [{ follower_running: 1 }, { follower_running: 0 }],
  FollowerBehind: [{ follower_behind_records: 10_000 }, { follower_behind_records: 10_001 }],
  SnapshotsUnsaved: flag("snapshot_failing"),
  HistoriesBehind: [{ histories_lag_ms: 30_000 }, { histories_lag_ms: 30_001 }, {}],
  EventLoopLate: [{ event_loop_delay_seconds: 0.25 }, { event_loop_delay_seconds: 0.26 }],
  Defects: flag("refusals_total"),
  OrdersSlow: [{ http_request_duration_seconds: 0.5 }, { http_request_duration_seconds: 0.51 }],
  OrdersTableFilling: [{ orders: 80, orders_capacity: 100 }, { orders: 81, orders_capacity: 100 }],
  KeysTableFilling: [{ idempotency_entries: 80, idempotency_capacity: 100 }, { idempotency_entries: 81, idempotency_capacity: 100 }],
  AccountsFilling: [{ accounts: 800_000 }, { accounts: 800_001 }],
  TransfersFilling: [{ open_transfers: 80, open_transfers_capacity: 100 }, { open_transfers: 81, open_transfers_capacity: 100 }],
  ClockBehind: [{ clock_behind_ms: 10_000 }, { clock_behind_ms: 10_001 }],
  ClockAhead: flag("clock_steps_ahead_total"),
  IndexStale: flag("index_stale"),
  LiquidationExhausted: flag("liquidation_exhausted_total"),
  MarketHalted: flag("market_status"),
  LiquidationsStay: flag("accounts_under_liquidation"),
  Deleveraging: flag("deleveragings_total"),
  InsuranceFundEmpty: [{ insurance_fund_equity_atoms: 1 }, { insurance_fund_equity_atoms: 0 }, { insurance_fund_equity_atoms: -1 }],
  SettlementWaits: flag("settlement_waiting"),
  RefusalsForMargin: [{ market_refusals_total: 50 }, { market_refusals_total: 51 }],
  LedgerUnreachable: [{ ledger_reachable: 1 }, { ledger_reachable: 0 }],
  LedgerAlarm: flag("ledger_alarms_total"),
  TransfersStopped: flag("stopped_transfers"),
  BooksShort: [
    { reconciliation_difference_atoms: -5, reconciliation_accepted_atoms: -5 },
    { reconciliation_difference_atoms: -6, reconciliation_accepted_atoms: -5 }
  ],
  BooksNotCompared: flag("reconciliation_failing"),
  WithdrawalsStopped: flag("withdrawals_stopped"),
  WithdrawalsContradicted: flag("withdrawals_contradicted"),
  TreasuryInPieces: [
    { treasury_holdings: 8_000, treasury_contracts: 80_000 },
    { treasury_holdings: 8_001, treasury_contracts: 0 },
    { treasury_holdings: 0, treasury_contracts: 80_001 }
  ],
  BooksOver: flag("reconciliation_difference_atoms"),
  ConnectionsTurnedAway: flag("connections_turned_away_total"),
  ConnectionsFlood: [{ connections_accepted_total: 100 }, { connections_accepted_total: 101 }],
  AnswersUntaken: flag("connections_closed_for_unread_total")
}

test("every alert has its case here", () => {
  expect(Object.keys(cases)).toEqual([...rules.keys()])
})

test("every alert points at a section of OPERATIONS that tells its severity and what to do, and every section has its alert", () => {
  const [, alerts] = /^## Alerts\n(.*?)^## /ms.exec(fs.readFileSync("OPERATIONS.md", "utf8"))!
  const sections = alerts!.split(/^### /m).slice(1).map((section) => {
    const [heading, , first] = section.split("\n")
    return { url: `OPERATIONS.md#${heading!.toLowerCase()}`, severity: first!.slice(0, first!.indexOf(".")).toLowerCase() }
  })
  const pointing = groups.flatMap((group) =>
    group.rules.map(({ annotations, labels }) => ({ url: annotations.runbook_url, severity: labels.severity }))
  )
  expect(sections).toEqual(pointing)
})

test.each(Object.entries(cases))("%s fires for what it is about, and not for what is well", (alert, [well, ...troubles]) => {
  expect([fires(alert, well), ...troubles.map((trouble) => fires(alert, trouble))]).toEqual([false, ...troubles.map(() => true)])
})
