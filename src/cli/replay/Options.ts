/** The command line of `npm run replay`. */
import type * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import { named, namedData } from "../Options.js"

export const options = {
  data: namedData,
  bundle: named("bundle", "An incident bundle to replay, in place of a data directory"),
  diff: CliOptions.boolean("diff").pipe(
    CliOptions.withDescription("Holds the snapshots to replay, thing by thing; --diff SEQUENCE, the one there")
  ),
  snapshot: CliOptions.integer("snapshot").pipe(
    CliOptions.withDescription("With --diff: the sequence of the snapshot to look at"),
    CliOptions.optional
  ),
  verify: CliOptions.boolean("verify").pipe(
    CliOptions.withDescription("Replays everything and compares every digest, proves every snapshot, checks the invariants")
  ),
  at: named("at", "The state after a sequence, or at a time (ISO, UTC without a zone, or epoch ms)"),
  order: named("order", "The life of an order: its id (ord_...), its clientOrderId, or an Idempotency-Key of what placed, changed or "
    + "cancelled it; with --account where several accounts used the same"),
  request: named("request",
    "The record that decided a request, by the x-request-id of its answer (req_..._...); an id without a second part "
      + "is of an answer that no record decided"),
  account: named("account", "The life of an account (acc_...); with --at only that account, with --order only its orders"),
  market: named("market", "The life of a market (BTC-USDC-PERP); with --at only that market"),
  deposit: named("deposit", "The life of a deposit, a withdrawal or a change of ledger party (dep_..., wdr_..., pch_...)"),
  statement: named("statement",
    "An account's statement (acc_...): opening balance, every fill, fee, funding and transfer, closing balance"),
  format: CliOptions.choice("format", ["csv", "json"]).pipe(
    CliOptions.withDescription("With --statement: how it is written"),
    CliOptions.withDefault("csv" as const)
  ),
  from: named("from", "Where a story or a statement begins: a sequence, or a time (as for --at), both inclusive"),
  to: named("to", "Where it ends: a sequence, inclusive, or a time, exclusive"),
  why: CliOptions.boolean("why").pipe(
    CliOptions.withDescription("With --order, --request and --account: what each refusal was decided from, as it was before that record")
  ),
  json: CliOptions.boolean("json").pipe(
    CliOptions.withDescription("Prints the report as one JSON object, and nothing else (src/cli/README.md has its members)")
  ),
  limit: CliOptions.integer("limit").pipe(
    CliOptions.withDescription("Most lines of a story or of differences, and most rows of a table"),
    CliOptions.withDefault(200)
  ),
  invariantsEvery: CliOptions.integer("invariants-every").pipe(
    CliOptions.withDescription("With --verify: blocks between two checks of the invariants"),
    CliOptions.withDefault(10_000)
  )
}

export type Parsed = Cli.Command.ParseConfig<typeof options>
