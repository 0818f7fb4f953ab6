/**
 * `npm run venue -- <task>`: an operator's tasks, and an agent's request for a key (`connect`). Tasks for a running venue use its operator
 * routes, each under an idempotency key of its own; `journal` tasks and `audit` work on a data directory.
 *
 * Exit codes: 0 done; 1 refused (by the venue, by its lock, or by the person asked); 2 no answer, not ready, or the journal cannot be read;
 * 3 the command line, a file or a setting is wrong.
 */
import * as Cli from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { runTool } from "./Tool.js"
import * as Options from "./venue/Options.js"

// The code of a task is loaded only when it is used: in an emergency, nobody should wait for the replay code to load.
const accounts = Effect.promise(() => import("./venue/AccountTasks.js"))
const agent = Effect.promise(() => import("./venue/ConnectTask.js"))
const directory = Effect.promise(() => import("./venue/DirectoryTasks.js"))
const markets = Effect.promise(() => import("./venue/MarketTasks.js"))
const venue = Effect.promise(() => import("./venue/VenueTasks.js"))

const connect = Cli.make("connect", Options.connect, (parsed) => Effect.flatMap(agent, (tasks) => tasks.connect(parsed))).pipe(
  Cli.withDescription("Asks an account's owner for an API key, as an agent, and keeps it in a file; the key is never shown")
)

const demo = Cli.make("demo", Options.demo, (parsed) => Effect.flatMap(accounts, (tasks) => tasks.demo(parsed))).pipe(
  Cli.withDescription("Opens and funds accounts on a development venue, each with an API key")
)

const status = Cli.make("status", Options.status, (parsed) => Effect.flatMap(venue, (tasks) => tasks.status(parsed))).pipe(
  Cli.withDescription("Whether the venue takes requests, its metrics, and each market's status, session and index")
)

const marketStatus = Cli.make("status", Options.marketStatus, (parsed) => Effect.flatMap(markets, (tasks) => tasks.marketStatus(parsed)))
  .pipe(
    Cli.withDescription("Moves a market to another status")
  )

const marketList = Cli.make("list", Options.marketList, (parsed) => Effect.flatMap(markets, (tasks) => tasks.list(parsed))).pipe(
  Cli.withDescription("All markets, drafts too, with their status and their main parameters")
)

const marketShow = Cli.make("show", Options.marketShow, (parsed) => Effect.flatMap(markets, (tasks) => tasks.show(parsed))).pipe(
  Cli.withDescription("A market's parameters; with --json just what `market put` takes")
)

const marketPut = Cli.make("put", Options.put, (parsed) => Effect.flatMap(markets, (tasks) => tasks.put(parsed))).pipe(
  Cli.withDescription("Puts a market from a JSON file: marketId, and the body of PUT /v1/operator/markets/{marketId}")
)

const marketDelist = Cli.make("delist", Options.delist, (parsed) => Effect.flatMap(markets, (tasks) => tasks.delist(parsed))).pipe(
  Cli.withDescription(
    "Delists a market for good, at once or at a time, or withdraws what was announced. A venue that is down or "
      + "halted for a minute or more from that time announces it anew, for half an hour after it goes on"
  )
)

const marketCommands = [marketList, marketShow, marketPut, marketStatus, marketDelist] as const

const market = Cli.make("market").pipe(
  Cli.withDescription("A market's status, parameters and delisting"),
  Cli.withSubcommands(marketCommands)
)

const index = Cli.make("index", Options.index, (parsed) => Effect.flatMap(markets, (tasks) => tasks.index(parsed))).pipe(
  Cli.withDescription("Publishes an index price")
)

const fundAdd = Cli.make("add", Options.fundAdd, (parsed) => Effect.flatMap(venue, (tasks) => tasks.fundAdd(parsed))).pipe(
  Cli.withDescription("Moves collected fees, USDC, into the insurance fund")
)

const fundCommands = [fundAdd] as const

const fund = Cli.make("fund").pipe(
  Cli.withDescription("The insurance fund"),
  Cli.withSubcommands(fundCommands)
)

const credit = Cli.make("credit", Options.credit, (parsed) => Effect.flatMap(accounts, (tasks) => tasks.credit(parsed))).pipe(
  Cli.withDescription("Credits an account on a development or testnet venue, and so enables it for trading")
)

const revokeKey = Cli.make("revoke-key", Options.revokeKey, (parsed) => Effect.flatMap(accounts, (tasks) => tasks.revokeKey(parsed))).pipe(
  Cli.withDescription("Revokes an API key at once, whosever it is; its owner is told")
)

const flags = Cli.make("flags", Options.flags, (parsed) => Effect.flatMap(accounts, (tasks) => tasks.flags(parsed))).pipe(
  Cli.withDescription("Sets and clears an account's flags; a disabled account only reduces and cancels")
)

const halt = Cli.make("halt", Options.remote, (parsed) => Effect.flatMap(venue, (tasks) => tasks.halt(parsed))).pipe(
  Cli.withDescription("Refuses every trading command until resumed, cancels too")
)

const resume = Cli.make("resume", Options.remote, (parsed) => Effect.flatMap(venue, (tasks) => tasks.resume(parsed))).pipe(
  Cli.withDescription("Lifts the halt")
)

const limits = Cli.make("limits", Options.limits, (parsed) => Effect.flatMap(venue, (tasks) => tasks.limits(parsed))).pipe(
  Cli.withDescription("Shows the venue's limits; with --retention, sets how long what is decided is remembered")
)

const cancel = Cli.make("cancel", Options.cancel, (parsed) => Effect.flatMap(accounts, (tasks) => tasks.cancel(parsed))).pipe(
  Cli.withDescription("Cancels one order, or all open orders of an account, of a market, or of both, with the reason `operator`")
)

const journalInfo = Cli.make("info", Options.info, (parsed) => Effect.flatMap(directory, (tasks) => tasks.info(parsed))).pipe(
  Cli.withDescription("Where a journal ends, its segments and snapshots; checks every block")
)

const journalCut = Cli.make("cut", Options.cut, (parsed) => Effect.flatMap(directory, (tasks) => tasks.cut(parsed))).pipe(
  Cli.withDescription("Gives up everything from a sequence on: the way on from a damaged journal")
)

const journalTail = Cli.make("tail", Options.tail, (parsed) => Effect.flatMap(directory, (tasks) => tasks.tail(parsed))).pipe(
  Cli.withDescription("What records asked for and decided, the last ones or from a sequence on")
)

const audit = Cli.make("audit", Options.audit, (parsed) => Effect.flatMap(directory, (tasks) => tasks.audit(parsed))).pipe(
  Cli.withDescription("What operators did, and who signed in, got keys and lost them, from a data directory's journal")
)

const journalCopy = Cli.make("copy", Options.copy, (parsed) => Effect.flatMap(directory, (tasks) => tasks.copy(parsed))).pipe(
  Cli.withDescription(
    "Copies the journal, the snapshots and the histories as they are now, also beside a running venue; the copy is checked and started from"
  )
)

const journalCommands = [journalInfo, journalTail, journalCopy, journalCut] as const

const journal = Cli.make("journal").pipe(
  Cli.withDescription("A data directory's journal"),
  Cli.withSubcommands(journalCommands)
)

const historiesRebuild = Cli.make("rebuild", Options.rebuild,
  (parsed) => Effect.flatMap(directory, (tasks) => tasks.rebuildHistories(parsed)))
  .pipe(
    Cli.withDescription(
      "Makes a data directory's histories anew from its journal; a running venue does so by itself where they are no good"
    )
  )

const historiesCommands = [historiesRebuild] as const

const histories = Cli.make("histories").pipe(
  Cli.withDescription("What candles, position histories and the leaderboard are read from"),
  Cli.withSubcommands(historiesCommands)
)

const bundle = Cli.make("bundle", Options.bundle, (parsed) => Effect.flatMap(directory, (tasks) => tasks.bundle(parsed))).pipe(
  Cli.withDescription("Writes an incident bundle: all it takes to replay a stretch of the journal elsewhere, in one file")
)

const reconcile = Cli.make("reconcile", Options.remote, (parsed) => Effect.flatMap(venue, (tasks) => tasks.reconcile(parsed))).pipe(
  Cli.withDescription("Compares what the treasury holds on the ledger with what the venue owes by its journal, to the atom")
)

const verifySolvency = Cli.make("verify-solvency", Options.verifySolvency,
  (parsed) => Effect.flatMap(venue, (tasks) => tasks.verifySolvency(parsed))).pipe(
    Cli.withDescription("Checks that an account's balance is counted in what the venue published of its solvency, and that it adds up")
  )

const withdrawalsStop = Cli.make("stop", Options.remote, (parsed) => Effect.flatMap(venue, (tasks) => tasks.stopWithdrawals(parsed))).pipe(
  Cli.withDescription("Accepts and approves no withdrawals from now on")
)

const withdrawalsAllow = Cli.make("allow", Options.allow, (parsed) => Effect.flatMap(venue, (tasks) => tasks.allowWithdrawals(parsed)))
  .pipe(
    Cli.withDescription("Lets withdrawals go on, once the books have been compared")
  )

const withdrawalCommands = [withdrawalsStop, withdrawalsAllow] as const

const withdrawals = Cli.make("withdrawals").pipe(
  Cli.withDescription("Whether withdrawals are taken"),
  Cli.withSubcommands(withdrawalCommands)
)

const commands = [
  status,
  halt,
  resume,
  market,
  index,
  cancel,
  fund,
  credit,
  flags,
  revokeKey,
  limits,
  reconcile,
  withdrawals,
  verifySolvency,
  demo,
  connect,
  journal,
  histories,
  audit,
  bundle
] as const

const command = Cli.make("venue").pipe(
  Cli.withDescription("What an operator does to a venue, and how an agent gets a key"),
  Cli.withSubcommands(commands)
)

runTool(command, "venue", {
  args: process.argv,
  groups: {
    "": commands,
    market: marketCommands,
    fund: fundCommands,
    journal: journalCommands,
    histories: historiesCommands,
    withdrawals: withdrawalCommands
  },
  isFollowing: process.argv.includes("--follow"),
  exitCodes: {
    0: "done",
    1: "refused: by the venue, by its lock, or by the person asked",
    2: "no answer, not ready, or the journal cannot be read",
    3: "the command line, a file or a setting is wrong"
  }
})
