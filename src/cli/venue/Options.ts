/** The arguments and options of each command of `npm run venue`. Importing this loads nothing of what the commands do. */
import * as Args from "@effect/cli/Args"
import type * as Cli from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as CliOptions from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Effect from "effect/Effect"
import * as Market from "../../domain/Market.js"
import { usualDemoKeySeconds } from "../../operations/accounts/OpenDemoAccounts.js"
import { flagNames } from "../../operations/accounts/SetAccountFlags.js"
import { data, named } from "../Options.js"

/** The origin that a text names; undefined where it has more than scheme, host and port. */
const originIn = (text: string): string | undefined => {
  const url = /^https?:\/\/[^/]/i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && url.href === `${url.origin}/` ? url.origin : undefined
}

/**
 * A venue's URL without a slash at its end. Anything else is a wrong command line: asked for, it would look like a venue that does not
 * answer, like one that has no such route, or like one that is asked without TLS. It is not repeated, since it may have a password in it.
 */
const urlOf = (description: string) =>
  CliOptions.text("url").pipe(
    CliOptions.withDescription(description),
    CliOptions.mapEffect((text) => {
      const origin = originIn(text)
      return origin === undefined
        ? Effect.fail(ValidationError.invalidValue(HelpDoc.p("--url takes scheme, host and port alone, as https://venue.example")))
        : Effect.succeed(origin)
    })
  )

const url = urlOf("Where the venue listens").pipe(CliOptions.withDefault("http://127.0.0.1:8080"))

const key = CliOptions.text("key").pipe(
  CliOptions.withDescription("The idempotency key: the one of an earlier try that got no answer"),
  CliOptions.optional
)

const overHttp = CliOptions.boolean("over-http").pipe(
  CliOptions.withDescription("Asks a venue beyond this machine without TLS: whoever is on the way reads the operator's token")
)

export const remote = { url, data, key, overHttp }

const marketId = Args.text({ name: "market" }).pipe(Args.withDescription("BTC-USDC-PERP"))

const account = CliOptions.text("account").pipe(CliOptions.withDescription("The account (acc_...)"))

const flagList = (name: string, description: string) =>
  CliOptions.choice(name, flagNames).pipe(CliOptions.withDescription(description), CliOptions.repeated)

/** How many accounts are opened at most: all their keys are printed at the end. */
export const mostAccounts = 10_000

export const demo = {
  ...remote,
  accounts: CliOptions.integer("accounts").pipe(
    CliOptions.withDescription(`How many accounts to open, 1 to ${mostAccounts}`),
    CliOptions.withDefault(2)
  ),
  collateral: CliOptions.text("collateral").pipe(
    CliOptions.withDescription("USDC for each"),
    CliOptions.withDefault("1000000")
  ),
  lifetime: CliOptions.integer("lifetime").pipe(
    CliOptions.withDescription("How long the keys live, seconds: 300 to 31536000; an account gets no other one"),
    CliOptions.withDefault(usualDemoKeySeconds)
  ),
  json: CliOptions.boolean("json").pipe(CliOptions.withDescription("Prints [{accountId, apiKey, expiresAtEpochMs}] and nothing else"))
}

export const status = {
  url,
  data: data.pipe(CliOptions.withDescription("Taken as by the other tasks, though the status needs no token"))
}

export const info = { data }

export const rebuild = {
  data,
  fromStep: CliOptions.boolean("from-step").pipe(
    CliOptions.withDescription("Where an earlier version decided the first records and this one cannot replay them: begins behind them")
  )
}

export const put = {
  ...remote,
  file: Args.text({ name: "file" }).pipe(Args.withDescription("As `market show --json` prints it, and as fixtures/market.json")),
  dryRun: CliOptions.boolean("dry-run").pipe(
    CliOptions.withDescription("Shows what would change, what the venue would say to it, and whom it would touch; changes nothing")
  )
}

export const marketList = remote

export const marketShow = {
  ...remote,
  marketId,
  json: CliOptions.boolean("json").pipe(CliOptions.withDescription("Prints what `market put` takes, and nothing else"))
}

export const marketStatus = {
  ...remote,
  marketId,
  status: Args.choice(Market.statuses.map((name) => [name, name] as [string, Market.Status]), { name: "status" })
}

export const delist = {
  ...remote,
  marketId,
  at: named("at",
    "When it takes effect, a time as 2026-03-01T12:00:00Z (UTC without a zone), at least 24 hours ahead; without it, at once"),
  withdraw: CliOptions.boolean("withdraw").pipe(CliOptions.withDescription("Withdraws what was announced")),
  yes: CliOptions.boolean("yes").pipe(CliOptions.withDescription("Does not ask"))
}

export const credit = {
  ...remote,
  account,
  amount: CliOptions.text("amount").pipe(CliOptions.withDescription("USDC"))
}

export const flags = {
  ...remote,
  account,
  set: flagList("set", "A flag to set; may be given more than once"),
  clear: flagList("clear", "A flag to clear; likewise")
}

export const revokeKey = {
  ...remote,
  id: CliOptions.text("id").pipe(CliOptions.withDescription("The key's id, key_..."))
}

const keyFile = named("key-file", "Where keys are kept, instead of $XDG_CONFIG_HOME/perpetuum/keys.json")

export const connect = {
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
  keyFile,
  overHttp: CliOptions.boolean("over-http").pipe(
    CliOptions.withDescription("Asks a venue beyond this machine without TLS: whoever is on the way reads the key")
  )
}

export const limits = {
  ...remote,
  retention: named("retention", "How long what is decided from now on is remembered: 90m, 12h, 2d; from 10m to 30d")
}

export const cancel = {
  ...remote,
  order: named("order", "One order (ord_...), whosever it is"),
  account: named("account", "All open orders of an account (acc_...)"),
  market: named("market", "All open orders in a market (BTC-USDC-PERP), or the account's in it")
}

export const cut = {
  data,
  at: CliOptions.integer("at").pipe(
    CliOptions.withDescription(
      "The first sequence to give up; a block is given up as a whole, so that what is in front of it there goes too"
    )
  ),
  yes: CliOptions.boolean("yes").pipe(CliOptions.withDescription("Does not ask"))
}

export const copy = {
  data,
  out: CliOptions.text("out").pipe(CliOptions.withDescription("The directory to copy to; it must be empty or not there yet"))
}

export const tail = {
  data,
  account: named("account", "Only what concerns an account (acc_...)"),
  market: named("market", "Only what concerns a market (BTC-USDC-PERP)"),
  from: CliOptions.integer("from").pipe(
    CliOptions.withDescription("The first sequence; without it the last 20 records"),
    CliOptions.optional
  ),
  json: CliOptions.boolean("json").pipe(CliOptions.withDescription("Prints one JSON object a record")),
  follow: CliOptions.boolean("follow").pipe(
    CliOptions.withDescription("Goes on as records become durable, until interrupted")
  )
}

export const audit = {
  data,
  account: named("account", "Only what concerns an account (acc_...)"),
  from: CliOptions.integer("from").pipe(
    CliOptions.withDescription("The first sequence; without it the first that this version decided"),
    CliOptions.optional
  ),
  follow: CliOptions.boolean("follow").pipe(CliOptions.withDescription("Goes on as records become durable, until interrupted"))
}

export const bundle = {
  data,
  out: CliOptions.text("out").pipe(CliOptions.withDescription("The file to write; it must not be there yet")),
  from: named("from", "Where what is of interest begins: a sequence, or a time (ISO, or milliseconds since 1970), both inclusive; without "
    + "it with the first record that this version decided. The bundle begins at the snapshot before it, if there is one"),
  to: named("to", "Where it ends: a sequence, inclusive, or a time, exclusive; without it with the last record there is"),
  order: named("order", "In place of --from and --to: from an order's placement to its end. Its id (ord_...), its clientOrderId, or an "
    + "Idempotency-Key of what placed, changed or cancelled it"),
  account: named("account", "With --order: whose order it is (acc_...), where several accounts used the same name"),
  redact: named("redact", "Puts every text of all other accounts under pseudonyms (acc_...)")
}

export const verifySolvency = {
  proof: CliOptions.text("proof").pipe(
    CliOptions.withDescription("A file with the answer of GET /v1/accounts/{accountId}/solvency-proof")
  ),
  published: named("published", "A file with the answer of GET /v1/solvency of the same sequence"),
  url: urlOf("Where the venue listens, to be asked for what it published instead").pipe(CliOptions.optional),
  account: named("account", "The account that the proof has to be of (acc_...); without it, anybody's proof holds"),
  testMoney: CliOptions.boolean("test-money").pipe(
    CliOptions.withDescription("Counts what was credited without a deposit as if the treasury held it: of a venue with test money")
  ),
  anyAge: CliOptions.boolean("any-age").pipe(
    CliOptions.withDescription(
      "Takes figures of any age, and those of venues before 0.8.0: of files that were kept. Otherwise they fail, after an hour"
    )
  )
}

export const index = { ...remote, marketId, price: Args.text({ name: "price" }) }

export const allow = {
  ...remote,
  accept: named("accept", "The shortfall that this accepts at most, USDC: needed where the treasury lacks any")
}

export const fundAdd = { ...remote, amount: Args.text({ name: "amount" }) }

/** The parsed arguments and options of a command. */
export type Of<A extends Cli.Command.Config> = Cli.Command.ParseConfig<A>
