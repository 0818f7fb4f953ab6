/**
 * `npm run venue -- <task>`: what an operator does, and how an agent gets a key (`connect`). An operator's tasks against a
 * running venue go through its operator routes under an idempotency key of their own; `journal` tasks and `audit` work on a
 * data directory.
 *
 * Exit codes: 0 done; 1 refused (by the venue, by its lock, by the person asked); 2 no answer, not ready, or
 * the journal cannot be read; 3 the command line, a file or a setting is wrong.
 */
import * as Args from "@effect/cli/Args"
import * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import * as Prompt from "@effect/cli/Prompt"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { randomBytes, randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { defaultKeyFile } from "../client/ccxt/KeyFile.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import { isRetention } from "../domain/Retention.js"
import * as Fields from "../edge/http/Fields.js"
import { Scopes } from "../edge/identity/ApiKeyRecord.js"
import type { MarketSession } from "../edge/markets/Snapshot.js"
import type { OperatorCancel } from "../edge/operator/cancelByOperator.js"
import type { OperatorResult } from "../edge/operator/OperatorResult.js"
import { PutMarketBody } from "../edge/operator/putMarket.js"
import type { Disk, DiskError } from "../journal/Disk.js"
import * as NodeDisk from "../journal/NodeDisk.js"
import * as SnapshotStore from "../journal/SnapshotStore.js"
import { operatorTokenFile } from "../identity/NodeSecrets.js"
import { capacity, settingTooSmall } from "./Capacity.js"
import { Ended, settle, teardown, teardownOfFollowing, unreadable, unreadableCode, usage } from "./Exit.js"
import * as Format from "./replay/Format.js"
import { flagNames } from "../operations/accounts/SetAccountFlags.js"
import * as Audit from "./venue/Audit.js"
import * as BundleTask from "./venue/BundleTask.js"
import * as Connect from "./venue/Connect.js"
import * as JournalTasks from "./venue/JournalTasks.js"
import * as Metrics from "./venue/Metrics.js"
import * as Operator from "./venue/Operator.js"
import { programVersion } from "../domain/Version.js"
import * as Reconcile from "./venue/Reconcile.js"
import * as Tail from "./venue/Tail.js"
import * as VerifySolvency from "./venue/VerifySolvency.js"

/** Why a data directory's journal cannot be read, as a tool ends. */
const endedUnreadable = {
  JournalCorrupt: unreadable,
  JournalNewerFormat: unreadable,
  JournalOlderFormat: unreadable,
  DiskError: unreadable
} as const

const refusedCode = 1
const noAnswerCode = 2

/** About half a minute of a venue's restart. */
const retries = 20

const url = CliOptions.text("url").pipe(
  CliOptions.withDescription("Where the venue listens"),
  CliOptions.withDefault("http://127.0.0.1:8080"),
  CliOptions.map((text) => text.replace(/\/+$/, ""))
)

const data = CliOptions.text("data").pipe(
  CliOptions.withDescription("The venue's data directory (DATA_DIR, or ./data)"),
  CliOptions.withFallbackConfig(Config.nonEmptyString("DATA_DIR").pipe(Config.withDefault("./data")))
)

const key = CliOptions.text("key").pipe(
  CliOptions.withDescription("The idempotency key: the one of an earlier try that got no answer"),
  CliOptions.optional
)

const remote = { url, data, key }

/** The operator token: OPERATOR_TOKEN, or what a development venue keeps in its data directory. */
const token = (dataDir: string): Effect.Effect<string, Ended> =>
  Effect.gen(function*() {
    const configured = yield* Config.option(Config.redacted(Config.nonEmptyString("OPERATOR_TOKEN"))).pipe(
      Effect.mapError((error) => usage(error.message))
    )
    if (Option.isSome(configured)) return Redacted.value(configured.value)
    const file = path.join(dataDir, operatorTokenFile)
    return yield* Effect.try({
      try: () => fs.readFileSync(file, "utf8").trim(),
      catch: () => usage(`OPERATOR_TOKEN is not set, and ${file} cannot be read (--data is the venue's DATA_DIR)`)
    })
  })

interface Remote {
  readonly url: string
  readonly data: string
  readonly key: Option.Option<string>
}

/** Runs a task against a venue, under a fresh key unless one is given. */
const against = <A>(
  { data, key, url }: Remote,
  task: (target: Operator.Target, key: string) => Effect.Effect<A, Operator.Failure, HttpClient.HttpClient>
): Effect.Effect<A, Ended> =>
  Effect.gen(function*() {
    const used = Option.getOrElse(key, () => randomUUID())
    if (!Ids.isIdempotencyKey(used)) return yield* usage("--key takes 1..255 visible ASCII characters")
    const target = { url, token: yield* token(data), retries }
    return yield* task(target, used).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.catchTags({
        Refused: (error) => new Ended({ code: refusedCode, text: `refused: ${error.text}` }),
        NoAnswer: (error) =>
          new Ended({
            code: noAnswerCode,
            text: `no answer: ${error.text}\nwhether it was done is unknown; the same again with --key ${used} tells`
          }),
        Unexpected: (error) => new Ended({ code: noAnswerCode, text: error.text })
      })
    )
  })

const sayDone = (result: OperatorResult) =>
  Console.log(
    `${result.operation}${result.marketId === undefined ? "" : ` ${result.marketId}`}: sequence ${result.sequence}, ${
      Format.time(result.decidedAtEpochMs)
    }`
  )

const named = (name: string, description: string) =>
  CliOptions.text(name).pipe(CliOptions.withDescription(description), CliOptions.optional)

const marketId = Args.text({ name: "market" }).pipe(Args.withDescription("BTC-USDC-PERP"))

const isDecimal = Schema.is(Fields.DecimalInput)
const isScopes = Schema.is(Scopes)

const demo = Cli.make("demo", {
  ...remote,
  accounts: CliOptions.integer("accounts").pipe(
    CliOptions.withDescription("How many accounts to open"),
    CliOptions.withDefault(2)
  ),
  collateral: CliOptions.text("collateral").pipe(
    CliOptions.withDescription("USDC for each"),
    CliOptions.withDefault("1000000")
  ),
  json: CliOptions.boolean("json").pipe(CliOptions.withDescription("Prints [{accountId, apiKey}] and nothing else"))
}, (parsed) =>
  Effect.gen(function*() {
    if (parsed.accounts < 1) return yield* usage("--accounts is at least 1")
    if (!isDecimal(parsed.collateral)) return yield* usage(`--collateral takes a decimal, and not ${parsed.collateral}`)
    const opened = yield* against(
      parsed,
      (target, key) => Operator.openDemoAccounts(target, key, parsed.accounts, parsed.collateral)
    )
    yield* Console.log(
      parsed.json
        ? JSON.stringify(opened.map(({ accountId, apiKey }) => ({ accountId, apiKey })))
        : Format.table(["account", "api key"], opened.map(({ accountId, apiKey }) => [accountId, apiKey]))
    )
  })).pipe(Cli.withDescription("Opens and funds accounts on a development venue, each with an API key"))

/** A market's session, and when it becomes another. */
const sessionText = (session: typeof MarketSession.Type | undefined): string => {
  if (session === undefined) return "always open"
  const { nextCloseEpochMs, nextOpenEpochMs, riskIncreasingOrderCutoffEpochMs, state } = session
  const until = state === "closed" ? nextOpenEpochMs : state === "open" ? riskIncreasingOrderCutoffEpochMs : nextCloseEpochMs
  return until === 0 ? state : `${state} until ${Format.time(until)}`
}

const status = Cli.make("status", {
  url,
  data: data.pipe(CliOptions.withDescription("Taken as by the other tasks, though the status needs no token"))
}, ({ url }) =>
  Effect.gen(function*() {
    const { metrics, readiness } = yield* Operator.status(url).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.mapError((error) => new Ended({ code: noAnswerCode, text: error.text }))
    )
    yield* Console.log(Format.table(["what", "value"], [
      ["status", readiness.status],
      ["durable sequence", String(readiness.durableSequence)],
      ...Object.entries(readiness.details).map(([name, value]) => [name, String(value)]),
      ["trading", Metrics.isHalted(metrics) ? "halted" : "not halted"],
      ...Metrics.summarize(metrics).map(({ name, value }) => [name, value])
    ]))
    yield* Console.log(Format.table(
      ["market", "status", "session", "index age ms>", "index"],
      readiness.markets.map(({ indexAgeMs, indexHeld, indexStale, marketId, session, status }) => [
        marketId,
        status,
        sessionText(session),
        indexAgeMs === undefined ? "-" : Format.count(indexAgeMs),
        `${session?.state === "closed" ? "-" : indexStale ? "stale" : "fresh"}${indexHeld ? ", a step is held back" : ""}`
      ])
    ))
    if (readiness.status !== "ready") return yield* new Ended({ code: noAnswerCode, text: `the venue is ${readiness.status}` })
  })).pipe(Cli.withDescription("Whether the venue takes requests, its metrics, and each market's status, session and index"))

const marketStatus = Cli.make("status", {
  ...remote,
  marketId,
  status: Args.choice(Market.statuses.map((name) => [name, name] as [string, Market.Status]), { name: "status" })
}, (parsed) =>
  against(parsed, (target, key) => Operator.setMarketStatus(target, key, parsed.marketId, parsed.status)).pipe(
    Effect.flatMap(sayDone)
  )).pipe(Cli.withDescription("Moves a market to another status"))

const MarketFile = Schema.parseJson(Schema.Struct({ marketId: Fields.Name, ...PutMarketBody.fields }))

const issues = (error: ParseResult.ParseError): string =>
  ParseResult.ArrayFormatter.formatErrorSync(error)
    .map(({ message, path }) => path.length === 0 ? message : `${path.join(".")}: ${message}`)
    .join("; ")

const marketPut = Cli.make("put", { ...remote, file: Args.text({ name: "file" }) }, (parsed) =>
  Effect.gen(function*() {
    const text = yield* Effect.try({
      try: () => fs.readFileSync(parsed.file, "utf8"),
      catch: (error) => usage(`${parsed.file} cannot be read: ${String(error)}`)
    })
    const { marketId, ...body } = yield* Schema.decode(MarketFile, { onExcessProperty: "error" })(text).pipe(
      Effect.mapError((error) => usage(`${parsed.file} is not a market's parameters: ${issues(error)}`))
    )
    yield* Effect.flatMap(against(parsed, (target, key) => Operator.putMarket(target, key, marketId, body)), sayDone)
  })).pipe(
    Cli.withDescription("Puts a market from a JSON file: marketId, and the body of PUT /v1/operator/markets/{marketId}")
  )

const confirmDelisting = (marketId: string) =>
  Effect.gen(function*() {
    if (!process.stdin.isTTY) return yield* usage("nobody can be asked here: --yes delists without asking")
    const sure = yield* Prompt.confirm({
      message: `Delist ${marketId} at once and close every position in it, for good?`,
      initial: false
    }).pipe(Effect.catchTag("QuitException", () => Effect.succeed(false)))
    if (!sure) return yield* new Ended({ code: refusedCode, text: "nothing was done" })
  }).pipe(Effect.provide(NodeContext.layer))

const marketDelist = Cli.make("delist", {
  ...remote,
  marketId,
  at: named("at", "When it takes effect, a time as 2026-03-01T12:00:00Z, at least 24 hours ahead; without it, at once"),
  withdraw: CliOptions.boolean("withdraw").pipe(CliOptions.withDescription("Withdraws what was announced")),
  yes: CliOptions.boolean("yes").pipe(CliOptions.withDescription("Does not ask"))
}, (parsed) =>
  Effect.gen(function*() {
    const at = Option.getOrUndefined(parsed.at)
    if (parsed.withdraw && at !== undefined) return yield* usage("delist takes --at or --withdraw, and not both")
    if (parsed.withdraw) {
      const withdraw = (target: Operator.Target, key: string) => Operator.withdrawDelisting(target, key, parsed.marketId)
      return yield* Effect.flatMap(against(parsed, withdraw), sayDone)
    }
    const atEpochMs = at === undefined ? undefined : Date.parse(at)
    if (atEpochMs !== undefined && !(atEpochMs > 0)) return yield* usage(`--at takes a time as 2026-03-01T12:00:00Z, and not ${at}`)
    if (atEpochMs === undefined && !parsed.yes) yield* confirmDelisting(parsed.marketId)
    yield* Effect.flatMap(against(parsed, (target, key) => Operator.delist(target, key, parsed.marketId, atEpochMs)), sayDone)
  })).pipe(Cli.withDescription("Delists a market for good, at once or at a time, or withdraws what was announced"))

const market = Cli.make("market").pipe(
  Cli.withDescription("A market's status, parameters and delisting"),
  Cli.withSubcommands([marketStatus, marketPut, marketDelist])
)

const index = Cli.make("index", { ...remote, marketId, price: Args.text({ name: "price" }) }, (parsed) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.price)) return yield* usage(`a price is a decimal, and not ${parsed.price}`)
    yield* against(parsed, (target, key) => Operator.setIndexPrice(target, key, parsed.marketId, parsed.price)).pipe(
      Effect.flatMap(sayDone)
    )
  })).pipe(Cli.withDescription("Publishes an index price"))

const fundAdd = Cli.make("add", { ...remote, amount: Args.text({ name: "amount" }) }, (parsed) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.amount)) return yield* usage(`an amount is a decimal, and not ${parsed.amount}`)
    yield* Effect.flatMap(against(parsed, (target, key) => Operator.addToFund(target, key, parsed.amount)), sayDone)
  })).pipe(Cli.withDescription("Moves collected fees, USDC, into the insurance fund"))

const fund = Cli.make("fund").pipe(
  Cli.withDescription("The insurance fund"),
  Cli.withSubcommands([fundAdd])
)

const account = CliOptions.text("account").pipe(CliOptions.withDescription("The account (acc_...)"))

const credit = Cli.make("credit", {
  ...remote,
  account,
  amount: CliOptions.text("amount").pipe(CliOptions.withDescription("USDC"))
}, (parsed) =>
  Effect.gen(function*() {
    if (!isDecimal(parsed.amount)) return yield* usage(`--amount takes a decimal, and not ${parsed.amount}`)
    const told = yield* against(parsed, (target, key) => Operator.credit(target, key, parsed.account, parsed.amount))
    yield* Console.log(
      `${told.accountId} has ${told.balance} USDC: sequence ${told.sequence}, ${Format.time(told.decidedAtEpochMs)}`
    )
  })).pipe(Cli.withDescription("Credits an account on a development or testnet venue, and so enables it for trading"))

const flagList = (name: string, description: string) =>
  CliOptions.choice(name, flagNames).pipe(CliOptions.withDescription(description), CliOptions.repeated)

const flags = Cli.make("flags", {
  ...remote,
  account,
  set: flagList("set", "A flag to set; may be given more than once"),
  clear: flagList("clear", "A flag to clear; likewise")
}, (parsed) =>
  Effect.gen(function*() {
    const twice = parsed.set.find((name) => parsed.clear.includes(name))
    if (twice !== undefined) return yield* usage(`${twice} is either set or cleared`)
    if (parsed.set.length + parsed.clear.length === 0) return yield* usage("flags takes --set, --clear or both")
    const wanted = Object.fromEntries([...parsed.set.map((name) => [name, true]), ...parsed.clear.map((name) => [name, false])])
    const told = yield* against(parsed, (target, key) => Operator.setAccountFlags(target, key, parsed.account, wanted))
    yield* Console.log(Format.table(["what", "value"], [
      ["account", told.accountId],
      ...Object.entries(told.flags).map(([name, isSet]) => [name, isSet ? "set" : "not set"]),
      ["may trade", told.mayTrade ? "yes" : "no"]
    ]))
  })).pipe(Cli.withDescription("Sets and clears an account's flags; a disabled account only reduces and cancels"))

const connect = Cli.make("connect", {
  url,
  name: CliOptions.text("name").pipe(
    CliOptions.withDescription("What the agent calls itself, and the key in the file"),
    CliOptions.withDefault("default")
  ),
  scopes: CliOptions.text("scopes").pipe(CliOptions.withDescription("read, trade, or both: read,trade"),
    CliOptions.withDefault("read,trade")),
  lifetime: CliOptions.integer("lifetime").pipe(
    CliOptions.withDescription("How long the key lives, seconds: 300 to 604800"),
    CliOptions.withDefault(86_400)
  ),
  keyFile: named("key-file", "Where the key is kept, instead of $XDG_CONFIG_HOME/perpetuum/keys.json")
}, (parsed) =>
  Effect.gen(function*() {
    const scopes = parsed.scopes.split(",")
    if (!isScopes(scopes)) return yield* usage(`--scopes takes read, trade or read,trade, and not ${parsed.scopes}`)
    if (parsed.lifetime < 300 || parsed.lifetime > 604_800) return yield* usage("--lifetime is from 300 to 604800 seconds")
    const keyFile = Option.getOrElse(parsed.keyFile, () => defaultKeyFile())
    const asked = {
      url: parsed.url,
      name: parsed.name,
      scopes,
      keyLifetimeSeconds: parsed.lifetime,
      keyFile,
      codeVerifier: randomBytes(32).toString("base64url")
    }
    const kept = yield* Connect.connect(asked, (lines) => Console.log(lines.join("\n"))).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.catchTags({
        Denied: ({ text }) => new Ended({ code: refusedCode, text: `refused: ${text}` }),
        NoVenue: ({ text }) => new Ended({ code: noAnswerCode, text }),
        NoFile: ({ text }) => usage(text)
      })
    )
    yield* Console.log(
      `${kept.keyId} of ${kept.accountId} (${kept.scopes.join(", ")}) until ${Format.time(kept.expiresAtEpochMs)}, kept in ${keyFile}`
    )
  })).pipe(Cli.withDescription("Asks an account's owner for an API key, as an agent, and keeps it in a file; the key is never shown"))

const halt = Cli.make("halt", remote, (parsed) => Effect.flatMap(against(parsed, Operator.halt), sayDone)).pipe(
  Cli.withDescription("Refuses every trading command until resumed")
)

const resume = Cli.make("resume", remote, (parsed) => Effect.flatMap(against(parsed, Operator.resume), sayDone)).pipe(
  Cli.withDescription("Lifts the halt")
)

const durations: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `90m`, `12h` or `2d` as milliseconds. */
const durationOf = (text: string): number => {
  const [, count = "", unit = ""] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? []
  return Number(count) * (durations[unit] ?? Number.NaN)
}

const limits = Cli.make("limits", {
  ...remote,
  retention: named("retention", "How long what is decided from now on is remembered: 90m, 12h, 2d; from 10m to 30d")
}, (parsed) =>
  Effect.gen(function*() {
    const retention = Option.getOrUndefined(parsed.retention)
    if (retention !== undefined) {
      const retentionMs = durationOf(retention)
      if (!isRetention(retentionMs)) return yield* usage(`--retention is from 10m to 30d, like 90m, 12h or 2d, and not ${retention}`)
      yield* Effect.flatMap(against(parsed, (target, key) => Operator.setRetention(target, key, retentionMs)), sayDone)
    }
    const told = yield* Operator.limits(parsed.url).pipe(
      Effect.provide(FetchHttpClient.layer),
      Effect.mapError((error) => new Ended({ code: noAnswerCode, text: error.text }))
    )
    yield* Console.log(Format.table(["what", "value"], Object.entries(told).map(([name, value]) => [name, String(value)])))
  })).pipe(Cli.withDescription("Shows the venue's limits; with --retention, sets how long what is decided is remembered"))

const sayCanceled = (answer: OperatorCancel) =>
  Console.log(
    `${answer.canceledOrders} cancelled, ${answer.remainingOrders} left: sequence ${answer.lastSequence}, ${
      Format.time(answer.decidedAtEpochMs)
    }`
  )

const cancel = Cli.make("cancel", {
  ...remote,
  order: named("order", "One order (ord_...), whosever it is"),
  account: named("account", "All open orders of an account (acc_...)"),
  market: named("market", "All open orders in a market (BTC-USDC-PERP), or the account's in it")
}, (parsed) =>
  Effect.gen(function*() {
    const orderId = Option.getOrUndefined(parsed.order)
    const accountId = Option.getOrUndefined(parsed.account)
    const marketId = Option.getOrUndefined(parsed.market)
    const isSelection = orderId === undefined
      ? accountId !== undefined || marketId !== undefined
      : accountId === undefined && marketId === undefined
    if (!isSelection) return yield* usage("cancel takes --order alone, or --account, --market or both")
    const selection = {
      ...(orderId === undefined ? undefined : { orderId }),
      ...(accountId === undefined ? undefined : { accountId }),
      ...(marketId === undefined ? undefined : { marketId })
    }
    const canceled = yield* against(parsed, (target, key) => Operator.cancel(target, key, selection, sayCanceled))
    yield* Console.log(`${canceled} orders cancelled in all`)
  })).pipe(Cli.withDescription("Cancels one order, or all open orders of an account, of a market, or of both, with the reason `operator`"))

/** Runs a task on a data directory that is there. */
const onDisk = <A, E>(
  dataDir: string,
  task: Effect.Effect<A, E, Disk | SnapshotStore.SnapshotStore>
): Effect.Effect<A, E | DiskError | Ended> =>
  // The disk would make the directory.
  fs.existsSync(dataDir)
    ? Effect.provide(task, Layer.provideMerge(SnapshotStore.layerReadOnly, NodeDisk.layer(dataDir)))
    : usage(`there is no directory ${dataDir}`)

const sayLines = (lines: ReadonlyArray<string>) => Console.log(lines.join("\n"))

const journalInfo = Cli.make("info", { data }, (parsed) =>
  onDisk(parsed.data, JournalTasks.info).pipe(
    Effect.flatMap(sayLines),
    Effect.catchTags(endedUnreadable)
  )).pipe(Cli.withDescription("Where a journal ends, its segments and snapshots; checks every block"))

const lockedError = () => new Ended({ code: refusedCode, text: "refused: a venue is running on this data directory" })

const confirm = (sequence: number, dataDir: string) =>
  Effect.gen(function*() {
    if (!process.stdin.isTTY) return yield* usage("nobody can be asked here: --yes cuts without asking")
    const sure = yield* Prompt.confirm({
      message: `Give up everything from sequence ${sequence} on in ${dataDir}, for good?`,
      initial: false
    }).pipe(Effect.catchTag("QuitException", () => Effect.succeed(false)))
    if (!sure) return yield* new Ended({ code: refusedCode, text: "nothing was cut" })
  })

const journalCut = Cli.make("cut", {
  data,
  at: CliOptions.integer("at").pipe(CliOptions.withDescription("The first sequence to give up")),
  yes: CliOptions.boolean("yes").pipe(CliOptions.withDescription("Does not ask"))
}, (parsed) =>
  Effect.gen(function*() {
    if (parsed.at < 1) return yield* usage("--at is a sequence, from 1")
    yield* onDisk(parsed.data, JournalTasks.unlocked)
    if (!parsed.yes) yield* confirm(parsed.at, parsed.data)
    yield* sayLines(yield* onDisk(parsed.data, JournalTasks.cut(parsed.at)))
  }).pipe(Effect.catchTags({ Locked: lockedError, ...endedUnreadable }))).pipe(
    Cli.withDescription("Gives up everything from a sequence on: the way on from a damaged journal")
  )

const journalCopy = Cli.make("copy", {
  data,
  out: CliOptions.text("out").pipe(CliOptions.withDescription("The directory to copy to; it must be empty or not there yet"))
}, ({ data: from, out }) =>
  Effect.gen(function*() {
    if (fs.existsSync(out) && fs.readdirSync(out).length > 0)
      return yield* usage(
        `${out} is not empty: a copy is made into a directory of its own`
      )
    yield* sayLines(yield* onDisk(from, JournalTasks.copy(NodeDisk.layer(out))))
  }).pipe(Effect.catchTags(endedUnreadable))).pipe(
    Cli.withDescription(
      "Copies the journal and the snapshots as they are now, also beside a running venue; the copy is checked and started from"
    )
  )

/** How what follows a journal ends that it cannot read on. */
const endedFollowing = {
  ...endedUnreadable,
  JournalUnknown: unreadable,
  ReplayDiverged: (error: { readonly message: string }) =>
    new Ended({ code: unreadableCode, text: `another version decided this: ${error.message}` }),
  CapacityTooSmall: (error: { readonly message: string }) => usage(error.message)
} as const

/** Standard output is the records' alone. */
const warningsAside = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.stringLogger))

const journalTail = Cli.make("tail", {
  data,
  account: CliOptions.text("account").pipe(CliOptions.withDescription("Only what concerns an account (acc_...)"), CliOptions.optional),
  market: CliOptions.text("market").pipe(
    CliOptions.withDescription("Only what concerns a market (BTC-USDC-PERP)"),
    CliOptions.optional
  ),
  from: CliOptions.integer("from").pipe(
    CliOptions.withDescription("The first sequence; without it the last 20 records"),
    CliOptions.optional
  ),
  json: CliOptions.boolean("json").pipe(CliOptions.withDescription("Prints one JSON object a record")),
  follow: CliOptions.boolean("follow").pipe(
    CliOptions.withDescription("Goes on as records become durable, until interrupted")
  )
}, (parsed) =>
  Effect.gen(function*() {
    const from = Option.getOrUndefined(parsed.from)
    if (from !== undefined && from < 1) return yield* usage("--from is a sequence, from 1")
    const asked: Tail.Asked = {
      from,
      accountId: Option.getOrUndefined(parsed.account),
      marketId: Option.getOrUndefined(parsed.market),
      json: parsed.json,
      follow: parsed.follow,
      capacity: yield* capacity
    }
    yield* onDisk(parsed.data, Stream.runForEach(Tail.lines(asked), (line) => Console.log(line)))
  }).pipe(
    Effect.provide(warningsAside),
    settingTooSmall,
    Effect.catchTags(endedFollowing)
  )).pipe(Cli.withDescription("What records asked for and decided, the last ones or from a sequence on"))

const audit = Cli.make("audit", {
  data,
  account: CliOptions.text("account").pipe(CliOptions.withDescription("Only what concerns an account (acc_...)"), CliOptions.optional),
  from: CliOptions.integer("from").pipe(CliOptions.withDescription("The first sequence"), CliOptions.withDefault(1)),
  follow: CliOptions.boolean("follow").pipe(CliOptions.withDescription("Goes on as records become durable, until interrupted"))
}, (parsed) =>
  Effect.gen(function*() {
    if (parsed.from < 1) return yield* usage("--from is a sequence, from 1")
    const asked: Audit.Asked = {
      from: parsed.from,
      accountId: Option.getOrUndefined(parsed.account),
      follow: parsed.follow,
      capacity: yield* capacity
    }
    yield* onDisk(parsed.data, Stream.runForEach(Audit.lines(asked), (line) => Console.log(line)))
  }).pipe(Effect.provide(warningsAside), settingTooSmall, Effect.catchTags(endedFollowing))).pipe(
    Cli.withDescription("What operators did, and who signed in, got keys and lost them, from a data directory's journal")
  )

const journal = Cli.make("journal").pipe(
  Cli.withDescription("A data directory's journal"),
  Cli.withSubcommands([journalInfo, journalTail, journalCopy, journalCut])
)

const bundle = Cli.make("bundle", {
  data,
  out: CliOptions.text("out").pipe(CliOptions.withDescription("The file to write; it must not be there yet")),
  from: CliOptions.integer("from").pipe(
    CliOptions.withDescription("The first sequence of interest; the bundle begins at the snapshot before it, if there is one"),
    CliOptions.withDefault(1)
  ),
  to: CliOptions.integer("to").pipe(
    CliOptions.withDescription("The last sequence of interest"),
    CliOptions.withDefault(Number.MAX_SAFE_INTEGER)
  ),
  redact: CliOptions.text("redact").pipe(
    CliOptions.withDescription("Puts every text of all other accounts under pseudonyms (acc_...)"),
    CliOptions.optional
  )
}, (parsed) =>
  Effect.gen(function*() {
    if (parsed.from < 1 || parsed.to < parsed.from) return yield* usage("--from is a sequence from 1, and --to not before it")
    const asked = {
      file: parsed.out,
      from: parsed.from,
      to: parsed.to,
      redact: Option.getOrUndefined(parsed.redact),
      capacity: yield* capacity
    }
    yield* sayLines(yield* onDisk(parsed.data, BundleTask.make(asked)))
  }).pipe(Effect.catchTags(endedUnreadable))).pipe(
    Cli.withDescription("Writes an incident bundle: all it takes to replay a stretch of the journal elsewhere, in one file")
  )

const reconcile = Cli.make("reconcile", remote, (parsed) =>
  Effect.gen(function*() {
    const report = yield* against(parsed, Operator.reconcile)
    yield* sayLines(Reconcile.lines(report))
    if (report.unattributedAtoms !== "0") {
      return yield* new Ended({ code: refusedCode, text: "the ledger does not hold what the journal says: withdrawals are stopped" })
    }
  })).pipe(Cli.withDescription("Compares what the treasury holds on the ledger with what the venue owes by its journal, to the atom"))

/** A file's JSON. */
const jsonOf = (file: string): Effect.Effect<unknown, Ended> =>
  Effect.try({
    try: () => JSON.parse(fs.readFileSync(file, "utf8")) as unknown,
    catch: (error) => usage(`${file} cannot be read as JSON: ${String(error)}`)
  })

const verifySolvency = Cli.make("verify-solvency", {
  proof: CliOptions.text("proof").pipe(
    CliOptions.withDescription("A file with the answer of GET /v1/accounts/{accountId}/solvency-proof")
  ),
  published: named("published", "A file with the answer of GET /v1/solvency of the same sequence"),
  url: named("url", "Where the venue listens, to be asked for what it published instead")
}, (parsed) =>
  Effect.gen(function*() {
    const file = Option.getOrUndefined(parsed.published)
    const url = Option.getOrUndefined(parsed.url)?.replace(/\/+$/, "")
    const proof = yield* jsonOf(parsed.proof)
    const published = file !== undefined && url === undefined
      ? yield* jsonOf(file)
      : url !== undefined && file === undefined
      ? yield* Operator.solvency(url, VerifySolvency.sequenceOf(proof)).pipe(
        Effect.provide(FetchHttpClient.layer),
        Effect.mapError((error) => new Ended({ code: noAnswerCode, text: error.text }))
      )
      : yield* usage("verify-solvency takes --published or --url")
    const { holds, lines } = VerifySolvency.told(proof, published)
    yield* sayLines(lines)
    if (!holds) return yield* new Ended({ code: refusedCode, text: "not all of it holds" })
  })).pipe(
    Cli.withDescription("Checks that an account's balance is counted in what the venue published of its solvency, and that it adds up")
  )

const withdrawals = Cli.make("withdrawals").pipe(
  Cli.withDescription("Whether withdrawals are taken"),
  Cli.withSubcommands([
    Cli.make("stop", remote, (parsed) => Effect.flatMap(against(parsed, Operator.stopWithdrawals), sayDone)).pipe(
      Cli.withDescription("Takes and approves none from here on")
    ),
    Cli.make("allow", remote, (parsed) => Effect.flatMap(against(parsed, Operator.allowWithdrawals), sayDone)).pipe(
      Cli.withDescription("Lets them go on")
    )
  ])
)

const command = Cli.make("venue").pipe(
  Cli.withDescription("What an operator does to a venue"),
  Cli.withSubcommands([
    connect,
    demo,
    status,
    market,
    index,
    fund,
    credit,
    flags,
    cancel,
    halt,
    resume,
    limits,
    reconcile,
    verifySolvency,
    withdrawals,
    journal,
    audit,
    bundle
  ])
)

const run = Cli.run(command, { name: "venue", version: programVersion })

run(process.argv).pipe(
  settle,
  Effect.provide(NodeContext.layer),
  NodeRuntime.runMain({
    teardown: process.argv.includes("--follow") ? teardownOfFollowing : teardown,
    disableErrorReporting: true
  })
)
