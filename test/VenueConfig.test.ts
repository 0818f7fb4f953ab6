/** Settings that depend on each other, read from their variables. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { describe, expect, test } from "vitest"
import { siteAt } from "../src/identity/Identity.js"
import { config } from "../src/VenueConfig.js"

const read = (variables: Readonly<Record<string, string>>) =>
  Effect.runSync(Effect.either(Effect.withConfigProvider(config, ConfigProvider.fromMap(new Map(Object.entries(variables))))))

const production = {
  VENUE_ENVIRONMENT: "production",
  SIGNER_SECRET: "x".repeat(32),
  SIGNER_URL: "https://signer.example:8090",
  SIGNER_TOKEN: "y".repeat(32),
  LEDGER_URL: "https://participant.example:7575"
}
const { SIGNER_TOKEN: _token, SIGNER_URL: _signer, ...withoutSigner } = production
const { LEDGER_URL: _ledger, ...withoutLedger } = production

describe("where passkeys are bound to", () => {
  test.each([
    ["nothing set", {}, "http://localhost:8080", "localhost"],
    ["a port", { PORT: "9000" }, "http://localhost:9000", "localhost"],
    ["TLS", { TLS_CERT: "a.pem", TLS_KEY: "b.pem" }, "https://localhost:8080", "localhost"],
    ["an origin", { ...production, PUBLIC_ORIGIN: "https://trade.venue.example" }, "https://trade.venue.example", "trade.venue.example"],
    ["the domain that an origin lies in", { ...production, PUBLIC_ORIGIN: "https://trade.venue.example", RP_ID: "venue.example" },
      "https://trade.venue.example", "venue.example"],
    ["an origin with a port", { PUBLIC_ORIGIN: "http://localhost:3000" }, "http://localhost:3000", "localhost"]
  ])("is told by %s", (_, variables, publicOrigin, rpId) => {
    const { port, site } = Either.getOrThrow(read(variables))
    expect(siteAt(site, port)).toEqual({ publicOrigin, rpId })
  })

  test("is the port that the system chose, where it chose one", () => {
    expect(siteAt(Either.getOrThrow(read({ PORT: "0" })).site, 54_321).publicOrigin).toBe("http://localhost:54321")
  })

  test.each([
    ["no origin outside development", production, "PUBLIC_ORIGIN"],
    ["an origin without TLS", { ...production, PUBLIC_ORIGIN: "http://venue.example" }, "PUBLIC_ORIGIN"],
    ["this machine outside development", { ...production, PUBLIC_ORIGIN: "http://localhost:8080" }, "PUBLIC_ORIGIN"],
    ["an address", { ...production, PUBLIC_ORIGIN: "https://192.0.2.1" }, "PUBLIC_ORIGIN"],
    ["an address of version 6", { ...production, PUBLIC_ORIGIN: "https://[2001:db8::1]" }, "PUBLIC_ORIGIN"],
    ["an origin with a path", { ...production, PUBLIC_ORIGIN: "https://venue.example/" }, "PUBLIC_ORIGIN"],
    ["no origin at all", { ...production, PUBLIC_ORIGIN: "venue.example" }, "PUBLIC_ORIGIN"],
    ["another domain", { ...production, PUBLIC_ORIGIN: "https://venue.example", RP_ID: "evil.example" }, "RP_ID"],
    ["a top-level domain", { ...production, PUBLIC_ORIGIN: "https://venue.example", RP_ID: "example" }, "RP_ID"],
    ["a domain without its origin", { RP_ID: "venue.example" }, "RP_ID"]
  ])("is refused: %s", (_, variables, name) => {
    const found = read(variables)
    expect(Either.isLeft(found)).toBe(true)
    if (Either.isLeft(found)) expect(String(found.left)).toContain(name)
  })
})

describe("where parties' keys are", () => {
  const at = (variables: Readonly<Record<string, string>>) =>
    Either.map(read(variables), ({ signer }) => signer.at === "url" ? signer.url : signer.at)
  const token = { SIGNER_TOKEN: "y".repeat(16) }

  test.each([
    ["embedded", {}],
    ["http://127.0.0.1:8090", { SIGNER_URL: "http://127.0.0.1:8090", ...token }],
    ["http://localhost:8090", { SIGNER_URL: "http://localhost:8090", ...token }],
    ["https://signer.example", { SIGNER_URL: "https://signer.example", ...token }],
    ["https://signer.example:8090", { ...production, PUBLIC_ORIGIN: "https://venue.example" }]
  ])("is %s", (expected, variables) => {
    expect(Either.getOrThrow(at(variables))).toBe(expected)
  })

  test.each([
    ["in the venue's process in production", { ...withoutSigner, PUBLIC_ORIGIN: "https://venue.example" }, "SIGNER_URL"],
    ["an address without a token", { SIGNER_URL: "https://signer.example" }, "SIGNER_TOKEN"],
    ["a token without an address", token, "SIGNER_URL"],
    ["an address over a line without TLS", { SIGNER_URL: "http://signer.example", ...token }, "SIGNER_URL"],
    ["an address with a path", { SIGNER_URL: "https://signer.example/v1", ...token }, "SIGNER_URL"],
    ["an address with a credential", { SIGNER_URL: "https://a:b@signer.example", ...token }, "SIGNER_URL"],
    ["no address", { SIGNER_URL: "signer.example", ...token }, "SIGNER_URL"],
    ["a short token", { SIGNER_URL: "https://signer.example", SIGNER_TOKEN: "y".repeat(15) }, "SIGNER_TOKEN"]
  ])("is refused: %s", (_, variables, name) => {
    const found = at(variables)
    expect(Either.isLeft(found) && String(found.left)).toContain(name)
  })
})

describe("where the ledger is", () => {
  const at = (variables: Readonly<Record<string, string>>) =>
    Either.map(read(variables), ({ ledger }) => ledger.at === "url" ? ledger.url : ledger.at)

  test.each([
    ["embedded", {}],
    ["http://127.0.0.1:7575", { LEDGER_URL: "http://127.0.0.1:7575" }],
    ["https://participant.example", { LEDGER_URL: "https://participant.example", LEDGER_TOKEN: "a-bearer" }],
    ["https://participant.example:7575", { ...production, PUBLIC_ORIGIN: "https://venue.example" }]
  ])("is %s", (expected, variables) => {
    expect(Either.getOrThrow(at(variables))).toBe(expected)
  })

  test.each([
    ["in the venue's process in production", { ...withoutLedger, PUBLIC_ORIGIN: "https://venue.example" }],
    ["in the venue's process on a testnet", { ...withoutLedger, VENUE_ENVIRONMENT: "testnet", PUBLIC_ORIGIN: "https://venue.example" }],
    ["a bearer without an address", { LEDGER_TOKEN: "a-bearer" }],
    ["an address over a line without TLS", { LEDGER_URL: "http://participant.example" }],
    ["an address with a path", { LEDGER_URL: "https://participant.example/v2" }],
    ["no address", { LEDGER_URL: "participant.example" }]
  ])("is refused: %s", (_, variables) => {
    const found = at(variables)
    expect(Either.isLeft(found) && String(found.left)).toContain("LEDGER_URL")
  })
})

test.each<readonly [string, Readonly<Record<string, string>>, string]>([
  ...([
    ["PORT", "8080x"],
    ["PORT", "1e3"],
    ["ORDER_CAPACITY", "5"],
    ["SNAPSHOT_EVERY_RECORDS", "-1"],
    ["RATE_LIMIT_PER_MINUTE", "0"],
    ["RATE_LIMIT_PER_MINUTE", "many"],
    ["PUBLIC_RATE_LIMIT_PER_MINUTE", "0"],
    ["SIGN_IN_LIMIT_PER_MINUTE", "-1"],
    ["TRUST_PROXY", "yes"],
    ["TRUST_PROXY", "0"],
    ["TRUST_PROXY", "17"],
    ["CORS_ORIGINS", "*"],
    ["CORS_ORIGINS", "https://example.com,https://example.org/"],
    ["AFFILIATE_ENABLED", "yes"],
    ["FOLLOWER", "process"],
    ["INDEX_FEED", "oracle"]
  ] as const).map(([name, value]) => [`${name}=${value}`, { [name]: value }, name] as const),
  ...["production", "staging"].map((environment) =>
    [
      `more than 6000 requests a minute of a key in ${environment}`,
      { ...production, VENUE_ENVIRONMENT: environment, PUBLIC_ORIGIN: "https://venue.example", RATE_LIMIT_PER_MINUTE: "6001" },
      `must be at most 6000 in ${environment}`
    ] as const
  ),
  ["workloads of which only some is set", {
    WORKLOAD_JWKS: "/nowhere/jwks.json",
    WORKLOAD_ISSUER: "https://platform.example",
    WORKLOAD_AUDIENCE: "perpetuum"
  }, "WORKLOAD_ACCOUNTS"],
  ["a tape without a file", { INDEX_FEED: "tape" }, "must name a file where INDEX_FEED is tape"],
  ["a loop that is none", { INDEX_FEED: "tape", INDEX_TAPE_LOOP: "yes" }, "INDEX_TAPE_LOOP"],
  ["an index of exchanges without any", { INDEX_FEED: "ccxt" }, "must name exchanges"],
  ["one exchange alone", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken:1" }, "at least two exchanges"],
  ["an address of another", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_EXCHANGE_URLS: "gemini=http://a" },
    "names none of the"],
  ["more sources than there are", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_MIN_SOURCES: "3" }, "must be at most 2"],
  ["one source as enough", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_MIN_SOURCES: "1" }, "INDEX_MIN_SOURCES"],
  ["pauses in which every answer becomes stale", { INDEX_FEED: "ccxt", INDEX_EXCHANGES: "kraken,okx", INDEX_POLL_MS: "6000" },
    "must be below INDEX_SOURCE_STALE_MS, which is 5000"],
  ["pauses that are as long as an answer lasts", {
    INDEX_FEED: "ccxt",
    INDEX_EXCHANGES: "kraken,okx",
    INDEX_POLL_MS: "1000",
    INDEX_SOURCE_STALE_MS: "1000"
  }, "INDEX_POLL_MS"],
  ["a tape in production", { INDEX_FEED: "tape", VENUE_ENVIRONMENT: "production" }, "a recorded index is for trying the venue out"]
])("refuses %s", (_, variables, said) => {
  const found = read(variables)
  expect(Either.isLeft(found)).toBe(true)
  if (Either.isLeft(found)) expect(String(found.left)).toContain(said)
})
