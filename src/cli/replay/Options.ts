/** The command line of `npm run replay`. */
import type * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import * as Config from "effect/Config"

export const options = {
  data: CliOptions.text("data").pipe(
    CliOptions.withDescription("The venue's data directory (DATA_DIR, or ./data)"),
    CliOptions.withFallbackConfig(Config.nonEmptyString("DATA_DIR").pipe(Config.withDefault("./data")))
  ),
  bundle: CliOptions.text("bundle").pipe(
    CliOptions.withDescription("An incident bundle to replay, in place of a data directory"),
    CliOptions.optional
  ),
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
  at: CliOptions.text("at").pipe(
    CliOptions.withDescription("The state after a sequence, or at a time (ISO or epoch ms)"),
    CliOptions.optional
  ),
  order: CliOptions.text("order").pipe(CliOptions.withDescription("The life of an order (ord_...)"), CliOptions.optional),
  account: CliOptions.text("account").pipe(CliOptions.withDescription("The life of an account (acc_...)"), CliOptions.optional),
  market: CliOptions.text("market").pipe(CliOptions.withDescription("The life of a market (BTC-USDC-PERP)"), CliOptions.optional),
  deposit: CliOptions.text("deposit").pipe(
    CliOptions.withDescription("The life of a deposit, a withdrawal or a change of ledger party (dep_..., wdr_..., pch_...)"),
    CliOptions.optional
  ),
  from: CliOptions.integer("from").pipe(CliOptions.withDescription("A story's first sequence"), CliOptions.withDefault(1)),
  to: CliOptions.integer("to").pipe(
    CliOptions.withDescription("A story's last sequence"),
    CliOptions.withDefault(Number.MAX_SAFE_INTEGER)
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
