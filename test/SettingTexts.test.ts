/** What an operator reads about a wrong setting: the variable, its value, the allowed ones, and never a secret. */
import * as fs from "node:fs"
import * as ConfigError from "effect/ConfigError"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { expect, test } from "vitest"
import { inWords } from "../src/SettingTexts.js"
import { custody, processConfig, signer } from "../src/SignerConfig.js"
import { config } from "../src/VenueConfig.js"

const said = (setting: Effect.Effect<unknown, unknown>, variables: Readonly<Record<string, string>>): string =>
  Effect.runSync(Effect.withConfigProvider(
    Effect.match(inWords(setting), { onFailure: (error) => (error as Error).message, onSuccess: () => "" }),
    ConfigProvider.fromMap(new Map(Object.entries(variables)))
  ))

const production = {
  VENUE_ENVIRONMENT: "production",
  SIGNER_SECRET: "x".repeat(32),
  SIGNER_URL: "https://signer.example:8090",
  SIGNER_TOKEN: "y".repeat(32),
  LEDGER_URL: "https://participant.example:7575",
  PUBLIC_ORIGIN: "https://venue.example"
}

const without = (name: keyof typeof production): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(production).filter(([one]) => one !== name))

const numbers: ReadonlyArray<readonly [string, number, number]> = [
  ["PORT", 0, 65_535],
  ["ORDER_CAPACITY", 1_000, 16_000_000],
  ["IDEMPOTENCY_CAPACITY", 1_000, 16_000_000],
  ["ACCOUNT_PARTS", 0, 1_000],
  ["RECONCILE_SECONDS", 0, 86_400],
  ["INDEX_POLL_MS", 100, 60_000],
  ["INDEX_SOURCE_STALE_MS", 1_000, 60_000],
  ["INDEX_OUTLIER_BPS", 1, 5_000],
  ["INDEX_MIN_SOURCES", 2, 16],
  ["INBOX_CAPACITY", 16, 1_000_000],
  ["SNAPSHOT_EVERY_RECORDS", 0, 1_000_000_000],
  ["FEED_MEMORY_BLOCKS", 0, 1_000_000],
  ["FEED_MEMORY_MIB", 0, 4_096],
  ["SEGMENT_MIB", 2, 4_096],
  ["CONNECTION_LIMIT", 16, 1_000_000],
  ["CONNECTIONS_PER_ADDRESS", 0, 1_000_000],
  ["UNREAD_ANSWERS_MIB", 16, 65_536],
  ["RATE_LIMIT_PER_MINUTE", 1, 1_000_000_000],
  ["PUBLIC_RATE_LIMIT_PER_MINUTE", 1, 1_000_000_000],
  ["SIGN_IN_LIMIT_PER_MINUTE", 1, 1_000_000_000],
  ["STREAM_MESSAGES_PER_SECOND", 10, 1_000_000],
  ["ACCOUNT_OPENINGS_PER_HOUR", 1, 1_000_000_000]
]

const texts: ReadonlyArray<string> = [
  ...Object.keys(production),
  "OPERATOR_TOKEN",
  "LEDGER_TOKEN",
  "HOST",
  "DATA_DIR",
  "RP_ID",
  "TLS_CERT",
  "TLS_KEY",
  "AFFILIATE_ENABLED",
  "WORKLOAD_JWKS",
  "WORKLOAD_ISSUER",
  "WORKLOAD_AUDIENCE",
  "WORKLOAD_ACCOUNTS",
  "INDEX_FEED",
  "INDEX_TAPE",
  "INDEX_TAPE_LOOP",
  "INDEX_EXCHANGES",
  "INDEX_EXCHANGE_URLS",
  "MARKETS_FILE",
  "FOLLOWER",
  "TRUST_PROXY",
  "CORS_ORIGINS"
]

const rows: ReadonlyArray<readonly [Readonly<Record<string, string>>, string]> = [
  ...numbers.flatMap(([name, low, high]) =>
    ["abc", String(high + 1), ...(low === 0 ? ["-1"] : [String(low - 1)])].map((value) =>
      [{ [name]: value }, `${name} is "${value}": it must be a whole number from ${low} to ${high}`] as const
    )
  ),
  ...[...numbers.map(([name]) => name), ...texts].map((name) =>
    [{ ...production, [name]: "" }, `${name} is empty: it must have a value, or be left out`] as const
  ),
  [{ VENUE_ENVIRONMENT: "prod" }, "VENUE_ENVIRONMENT is \"prod\": it must be development, testnet, staging or production"],
  [{ FOLLOWER: "process" }, "FOLLOWER is \"process\": it must be thread or none"],
  [{ AFFILIATE_ENABLED: "yes" }, "AFFILIATE_ENABLED is \"yes\": it must be true or false"],
  [{ INDEX_TAPE_LOOP: "1" }, "INDEX_TAPE_LOOP is \"1\": it must be true or false"],
  [{ INDEX_FEED: "oracle" }, "INDEX_FEED is \"oracle\": it must be synthetic, push, tape or ccxt"],
  [{ INDEX_FEED: "tape" }, "INDEX_TAPE is not set: it must name a file where INDEX_FEED is tape"],
  [{ INDEX_FEED: "ccxt" }, "INDEX_EXCHANGES is not set: it must name exchanges where INDEX_FEED is ccxt"],
  [{ ...production, INDEX_EXCHANGES: "kraken,okx" },
    "INDEX_EXCHANGES is \"kraken,okx\": it must be left out unless INDEX_FEED is ccxt; it is push"],
  [{ INDEX_FEED: "tape", INDEX_TAPE: "a.csv", INDEX_EXCHANGE_URLS: "kraken=http://a.example" },
    "INDEX_EXCHANGE_URLS is \"kraken=http://a.example\": it must be left out unless INDEX_FEED is ccxt; it is tape"],
  [{ INDEX_TAPE: "a.csv" }, "INDEX_TAPE is \"a.csv\": it must be left out unless INDEX_FEED is tape; it is synthetic"],
  [{ INDEX_FEED: "push", INDEX_TAPE_LOOP: "true" },
    "INDEX_TAPE_LOOP is \"true\": it must be left out unless INDEX_FEED is tape; it is push"],
  [{ ...production, INDEX_FEED: "synthetic" },
    "INDEX_FEED is \"synthetic\": it must be push or ccxt in production: a synthetic index is for trying the venue out"],
  [{ TRUST_PROXY: "17" }, "TRUST_PROXY is \"17\": it must be off, on, or how many proxies stand before the venue, 1 to 16"],
  [{ OPERATOR_TOKEN: "short" }, "OPERATOR_TOKEN has 5 characters: it must have at least 16"],
  [{ SIGNER_SECRET: "x" }, "SIGNER_SECRET has 1 character: it must have at least 16"],
  [{ SIGNER_URL: "https://signer.example" }, "SIGNER_TOKEN is not set: it must be set where SIGNER_URL is"],
  [{ SIGNER_TOKEN: "y".repeat(16) }, "SIGNER_URL is not set: it must be set where SIGNER_TOKEN is"],
  [{ SIGNER_URL: "https://me:hidden@signer.example", SIGNER_TOKEN: "y".repeat(16) },
    "SIGNER_URL is \"https://...@signer.example\": it must be scheme, host and port alone, as https://signer.internal:8090"],
  [{ LEDGER_TOKEN: "t" }, "LEDGER_URL is not set: it must be set where LEDGER_TOKEN is"],
  [{ LEDGER_URL: "participant" },
    "LEDGER_URL is \"participant\": it must be scheme, host and port alone, as https://participant.internal:7575"],
  [without("SIGNER_SECRET"), "SIGNER_SECRET is not set: it must be set outside development, with at least 16 characters"],
  [{ ...production, RATE_LIMIT_PER_MINUTE: "6001" }, "RATE_LIMIT_PER_MINUTE is \"6001\": it must be at most 6000 in production"],
  [{ ...production, STREAM_MESSAGES_PER_SECOND: "1001" }, "STREAM_MESSAGES_PER_SECOND is \"1001\": it must be at most 1000 in production"],
  [without("PUBLIC_ORIGIN"), "PUBLIC_ORIGIN is not set: it must be set outside development: passkeys are bound to it"],
  [{ PUBLIC_ORIGIN: "https://venue.example", RP_ID: "evil.example" },
    "RP_ID is \"evil.example\": it must be the domain of PUBLIC_ORIGIN (venue.example) or one that it lies in"],
  [{ TLS_CERT: "a.pem" }, "TLS_KEY is not set: it must be set where TLS_CERT is"],
  [{ TLS_KEY: "a.pem" }, "TLS_CERT is not set: it must be set where TLS_KEY is"],
  [{ WORKLOAD_JWKS: "a.json" }, "WORKLOAD_ISSUER is not set: it must be set where another of the WORKLOAD_ settings is"],
  [{ INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_MIN_SOURCES: "3" },
    "INDEX_MIN_SOURCES is \"3\": it must be at most 2, as many as INDEX_EXCHANGES names"],
  [{ INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_POLL_MS: "6000" },
    "INDEX_POLL_MS is \"6000\": it must be below INDEX_SOURCE_STALE_MS, which is 5000: no answer would last until the next one"],
  [{ INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_POLL_MS: "4999" }, ""],
  [{ INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken" },
    "INDEX_EXCHANGES is \"kraken\": at least two exchanges are needed: one alone has nobody to contradict it"],
  [{ PORT: "x", SEGMENT_MIB: "1" },
    "PORT is \"x\": it must be a whole number from 0 to 65535\nSEGMENT_MIB is \"1\": it must be a whole number from 2 to 4096"]
]

test("every setting of the venue is among those that are tried here, numbers with their range", () => {
  const code = ["Venue", "Capacity", "Site"].map((name) => fs.readFileSync(`src/${name}Config.ts`, "utf8")).join("")
  const between = [...code.matchAll(/between\("([A-Z_]+)", ([\d_]+), ([\d_]+)/g)].map(([, name, ...range]) =>
    [name, ...range.map((bound) => Number(bound.replaceAll("_", "")))].join(" ")
  )
  const tried = numbers.map((row) => row.join(" "))
  expect(between.filter((row) => !tried.includes(row))).toEqual([])
  const named = new Set([...numbers.map(([name]) => name), ...texts])
  expect([...code.matchAll(/\("([A-Z][A-Z_]+)"/g)].map(([, name]) => name!).filter((name) => !named.has(name))).toEqual([])
})

test("every setting of the venue that is wrong is said in a sentence", () => {
  expect(rows.flatMap(([variables, expected]) => {
    const told = said(config, variables)
    return told === expected ? [] : [{ variables, told, expected }]
  })).toEqual([])
})

test("and the signer's", () => {
  const told = [
    said(processConfig, {}),
    said(processConfig, { SIGNER_SECRET: "s".repeat(16), SIGNER_TOKEN: "secret" }),
    said(signer, { TREASURY_WITHDRAWAL_LIMIT: "0" }),
    said(signer, { TREASURY_DAILY_LIMIT: "1.1234567" }),
    said(signer, { VENUE_ENVIRONMENT: "" }),
    said(signer, { TREASURY_DAILY_LIMIT: "" }),
    said(custody, { LEDGER_TOKEN_ID: "" }),
    said(signer, { LEDGER_USER_ID: "a b" }),
    said(signer, { LEDGER_SYNCHRONIZER_ID: "a b" }),
    said(signer, { LEDGER_CUSTODY_PACKAGE_ID: "#name" }),
    said(signer, { LEDGER_TOKEN_PACKAGE_ID: "#name" }),
    said(signer, { LEDGER_TOKEN_ADMIN: "nobody" }),
    said(signer, { VENUE_ENVIRONMENT: "testnet", PUBLIC_ORIGIN: "https://venue.example" }).split("\n")[0]
  ]
  expect(told).toEqual([
    "SIGNER_SECRET is not set: it must be set, with at least 16 characters\nSIGNER_TOKEN is not set: it must be set, with at least 16 characters",
    "SIGNER_TOKEN has 6 characters: it must have at least 16",
    "TREASURY_WITHDRAWAL_LIMIT is \"0\": it must be USDC above zero, with at most six decimals",
    "TREASURY_DAILY_LIMIT is \"1.1234567\": it must be USDC above zero, with at most six decimals",
    "VENUE_ENVIRONMENT is empty: it must have a value, or be left out",
    "TREASURY_DAILY_LIMIT is empty: it must have a value, or be left out",
    "LEDGER_TOKEN_ID is empty: it must have a value, or be left out",
    "LEDGER_USER_ID is \"a b\": it must be a user's id of the ledger, 1 to 128 characters without spaces",
    "LEDGER_SYNCHRONIZER_ID is \"a b\": it must be a synchronizer's id, as name::fingerprint, at most 255 letters, digits, :, _ and -",
    "LEDGER_CUSTODY_PACKAGE_ID is \"#name\": it must be a package's id, at most 64 letters, digits, _ and -",
    "LEDGER_TOKEN_PACKAGE_ID is \"#name\": it must be a package's id, at most 64 letters, digits, _ and -",
    "LEDGER_TOKEN_ADMIN is \"nobody\": it must be a party's id of the ledger, as name::fingerprint",
    "LEDGER_USER_ID is not set: it must be set outside development"
  ])
})

const unsendable = "it must be visible ASCII characters without spaces, as it is sent in a header"
const lineEnd = ": it ends with a line break, as a file does that a secret is read from"
const bearers = [
  ["a bearer from a file, to its line break", "sixteen-letters-\n", `has 17 characters: ${unsendable}${lineEnd}`],
  ["and from another system's", "sixteen-letters-\r\n", `has 18 characters: ${unsendable}${lineEnd}`],
  ["a space within", "sixteen letters-", `has 16 characters: ${unsendable}`],
  ["a space at an end", " sixteen-letters", `has 16 characters: ${unsendable}`],
  ["a letter that no header has", "sixteen\u2013letters-", `has 16 characters: ${unsendable}`]
] as const

test.each(bearers)("what is sent as a bearer is refused where it would arrive as another: %s", (_, value, expected) => {
  expect([
    said(config, { OPERATOR_TOKEN: value }),
    said(config, { SIGNER_URL: "https://signer.example", SIGNER_TOKEN: value }),
    said(config, { LEDGER_URL: "https://participant.example", LEDGER_TOKEN: value }),
    said(processConfig, { SIGNER_SECRET: "s".repeat(16), SIGNER_TOKEN: value })
  ]).toEqual(["OPERATOR_TOKEN", "SIGNER_TOKEN", "LEDGER_TOKEN", "SIGNER_TOKEN"].map((name) => `${name} ${expected}`))
})

test.each(bearers)("keys are made of a secret as it is, and would be others without a part of it: %s", (_, value) => {
  expect([said(config, { SIGNER_SECRET: value }), said(processConfig, { SIGNER_SECRET: value, SIGNER_TOKEN: "t".repeat(16) })])
    .toEqual(["", ""])
})

test("what is said of a secret that is too short is the same whatever is in it", () => {
  const told = ["x:at@y", "x:yy@y", "//ha@z"].map((value) => said(config, { SIGNER_SECRET: value }))
  expect(new Set(told).size).toBe(1)
  expect(told[0]).toContain("must have at least 16")
})

const exchanges = { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,binance" }
const alone = "it must be scheme, host and port alone, as https://participant.internal:7575"
const noOrigin = "is no origin, as https://example.com or http://localhost:3000"

test.each<readonly [string, Readonly<Record<string, string>>, string]>([
  ["in the fault", { CORS_ORIGINS: "https://me:hunter2@a.example" },
    `CORS_ORIGINS is "https://...@a.example": https://...@a.example ${noOrigin}`],
  ["of one of several", { CORS_ORIGINS: "https://b.example,https://me:hunter2@a.example" },
    `CORS_ORIGINS is "https://...@a.example": https://...@a.example ${noOrigin}`],
  ["of an exchange", { ...exchanges, INDEX_EXCHANGE_URLS: "kraken=https://me:hunter2@a.example/?a=1" },
    "INDEX_EXCHANGE_URLS is \"kraken=https://...@a.example/?a=1\": kraken=https://...@a.example/?a=1 has no http or https address"],
  ["with a slash in it", { LEDGER_URL: "https://me:hun/ter2@a.example" }, `LEDGER_URL is "https://...@a.example": ${alone}`],
  ["with slashes and an @ in it", { LEDGER_URL: "https://me:hu//n@ter2@a.example" }, `LEDGER_URL is "https://...@a.example": ${alone}`],
  ["with a space in it", { LEDGER_URL: "https://me:hun ter2@a.example" }, `LEDGER_URL is "https://...@a.example": ${alone}`],
  ["with a comma in it, at which a list is split", { CORS_ORIGINS: "https://me:hun,ter2@a.example" },
    `CORS_ORIGINS is "https://...@a.example": ... ${noOrigin}`],
  ["and of an exchange's", { ...exchanges, INDEX_EXCHANGE_URLS: "kraken=https://me.example,hunter2@a.example" },
    "INDEX_EXCHANGE_URLS is \"kraken=https://...@a.example\": ... names none of the exchanges"],
  ["without the slashes that browsers do without", { LEDGER_URL: "https:me:hunter2@a.example" },
    `LEDGER_URL is "https:...@a.example": ${alone}`]
])("a credential in an address is said in no half of the line: %s", (_, variables, expected) => {
  expect(said(config, variables)).toBe(expected)
})

test("an @ in a path hides nothing of why a file cannot be read", () => {
  const told = said(
    Effect.fail(ConfigError.InvalidData(["TLS_CERT"], "/etc/a@1/cert.pem cannot be read: Error: ENOENT, open '/etc/a@1/cert.pem'")),
    { TLS_CERT: "/etc/a@1/cert.pem" }
  )
  expect(told).toBe("TLS_CERT is \"/etc/a@1/cert.pem\": /etc/a@1/cert.pem cannot be read: Error: ENOENT, open '/etc/a@1/cert.pem'")
})

test("a start tells every setting that others make wrong or missing, and not the first alone", () => {
  const both = Config.all({ settings: config, custody })
  const lines = said(both, { VENUE_ENVIRONMENT: "production", RATE_LIMIT_PER_MINUTE: "7000" }).split("\n")
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    "PUBLIC_ORIGIN",
    "SIGNER_URL",
    "LEDGER_URL",
    "SIGNER_SECRET",
    "RATE_LIMIT_PER_MINUTE",
    "LEDGER_USER_ID",
    "LEDGER_SYNCHRONIZER_ID",
    "LEDGER_CUSTODY_PACKAGE_ID",
    "LEDGER_TOKEN_PACKAGE_ID",
    "LEDGER_TOKEN_ADMIN",
    "LEDGER_TOKEN_ID"
  ])
  // A setting that both read is told of once.
  expect(said(both, { VENUE_ENVIRONMENT: "prod" }).split("\n")).toHaveLength(1)
})
