/**
 * The venue's settings, from environment variables. A wrong one is refused at the start with the variable's name. CONFIGURATION.md lists
 * them with their defaults.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import { capacity } from "./CapacityConfig.js"
import { minuteMs } from "./domain/Durations.js"
import { isPublic } from "./domain/Environment.js"
import { faultOfOrigin } from "./edge/http/Cors.js"
import { usualRoom } from "./edge/socket/Setting.js"
import * as RateLimits from "./identity/RateLimits.js"
import { type ExchangeSetting, parseExchanges, parseUrls } from "./oracle/Exchanges.js"
import type { SiteSetting } from "./identity/Identity.js"
import type { WorkloadSetting } from "./identity/WorkloadIdentity.js"
import type * as IndexSources from "./oracle/IndexSources.js"
import { defaultBounds } from "./sequencer/Recent.js"
import { optionalBearer, optionalSecret } from "./SecretSetting.js"
import { between, filled, gathered, oneOf, refuse } from "./SettingTexts.js"
import { isLocal, siteOf, siteSettings, type TlsFiles, tlsOf } from "./SiteConfig.js"

/** A number that exceeds any need. */
const mostRequests = 1_000_000_000

/** Most frames per second on one connection of the stream, where anybody may connect. */
const mostStreamMessages = 1_000

/** The number of the venue's own proxies in front of it: `off` for none, `on` for one, or a number. */
const trustedProxies = filled("TRUST_PROXY").pipe(
  Config.withDefault("off"),
  Config.validate({
    message: "TRUST_PROXY must be off, on, or how many proxies stand before the venue, 1 to 16",
    validation: (text) => text === "off" || text === "on" || /^(?:[1-9]|1[0-6])$/.test(text)
  }),
  Config.map((text) => text === "off" ? 0 : text === "on" ? 1 : Number(text))
)

/** Origins, separated by commas. */
const corsOrigins = filled("CORS_ORIGINS").pipe(
  Config.map((text) => text.split(",").map((origin) => origin.trim())),
  Config.withDefault([] as ReadonlyArray<string>),
  Config.mapOrFail((origins) => {
    const fault = origins.map(faultOfOrigin).find((one) => one !== undefined)
    return fault === undefined ? Either.right(origins) : Either.left(ConfigError.InvalidData(["CORS_ORIGINS"], fault))
  })
)

/** The settings as given, before they are checked against each other. */
const settings = Config.all({
  host: filled("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: between("PORT", 0, 65_535, 8080),
  dataDir: filled("DATA_DIR").pipe(Config.withDefault("./data")),
  ...siteSettings,
  affiliateEnabled: oneOf("AFFILIATE_ENABLED", "true", "false").pipe(
    Config.withDefault("false" as const),
    Config.map((text) => text === "true")
  ),
  workloadJwks: Config.option(filled("WORKLOAD_JWKS")),
  workloadIssuer: Config.option(filled("WORKLOAD_ISSUER")),
  workloadAudience: Config.option(filled("WORKLOAD_AUDIENCE")),
  workloadAccounts: Config.option(filled("WORKLOAD_ACCOUNTS")),
  signerSecret: optionalSecret("SIGNER_SECRET"),
  signerUrl: Config.option(filled("SIGNER_URL")),
  signerToken: optionalBearer("SIGNER_TOKEN"),
  ledgerUrl: Config.option(filled("LEDGER_URL")),
  ledgerToken: optionalBearer("LEDGER_TOKEN", 1),
  reconcileSeconds: between("RECONCILE_SECONDS", 0, 86_400, 60),
  operatorToken: optionalBearer("OPERATOR_TOKEN"),
  indexFeed: Config.option(oneOf("INDEX_FEED", "synthetic", "push", "tape", "ccxt")),
  indexTape: Config.option(filled("INDEX_TAPE")),
  indexTapeLoops: oneOf("INDEX_TAPE_LOOP", "true", "false").pipe(
    Config.withDefault("false" as const),
    Config.map((text) => text === "true")
  ),
  indexExchanges: Config.option(filled("INDEX_EXCHANGES")),
  indexExchangeUrls: Config.option(filled("INDEX_EXCHANGE_URLS")),
  indexSources: Config.all({
    pollMs: between("INDEX_POLL_MS", 100, 60_000, 1_000),
    staleMs: between("INDEX_SOURCE_STALE_MS", 1_000, 60_000, 5_000),
    outlierBps: between("INDEX_OUTLIER_BPS", 1, 5_000, 100),
    minSources: between("INDEX_MIN_SOURCES", 2, 16, 2)
  }),
  marketsFile: Config.option(filled("MARKETS_FILE")),
  capacity,
  inboxCapacity: between("INBOX_CAPACITY", 16, 1_000_000, 8_192),
  follower: oneOf("FOLLOWER", "thread", "none").pipe(Config.withDefault("thread" as const)),
  snapshotEveryRecords: between("SNAPSHOT_EVERY_RECORDS", 0, 1_000_000_000, 1_000_000),
  feedBlocks: between("FEED_MEMORY_BLOCKS", 0, 1_000_000, defaultBounds.blocks),
  feedMiB: between("FEED_MEMORY_MIB", 0, 4_096, defaultBounds.bytes >> 20),
  segmentMiB: between("SEGMENT_MIB", 2, 4_096, 64),
  connectionLimit: between("CONNECTION_LIMIT", 16, 1_000_000, 10_000),
  /** 0: a quarter of all connections. */
  connectionsPerAddress: between("CONNECTIONS_PER_ADDRESS", 0, 1_000_000, 0),
  unreadAnswersMiB: between("UNREAD_ANSWERS_MIB", 16, 65_536, 512),
  rateLimits: Config.all({
    perKey: between("RATE_LIMIT_PER_MINUTE", 1, mostRequests, RateLimits.defaults.perKey),
    perAddress: between("PUBLIC_RATE_LIMIT_PER_MINUTE", 1, mostRequests, RateLimits.defaults.perAddress),
    signInsPerAddress: between("SIGN_IN_LIMIT_PER_MINUTE", 1, mostRequests, RateLimits.defaults.signInsPerAddress),
    openingsPerHour: between("ACCOUNT_OPENINGS_PER_HOUR", 1, mostRequests, RateLimits.usualOpeningsPerHour),
    windowMs: Config.succeed(minuteMs)
  }),
  stream: Config.all({ messagesPerSecond: between("STREAM_MESSAGES_PER_SECOND", 10, 1_000_000, usualRoom.messagesPerSecond) }),
  trustedProxies,
  corsOrigins
})

type Settings = Config.Config.Success<typeof settings>

/** The exchanges that make up an index, and the rules for combining them. */
export interface IndexExchanges {
  readonly exchanges: ReadonlyArray<ExchangeSetting>
  readonly urls: ReadonlyMap<string, string>
  readonly rules: IndexSources.Options
}

/** The source of the index. */
export type IndexSetting =
  | { readonly feed: "synthetic" | "push" }
  | { readonly feed: "tape"; readonly file: string; readonly loops: boolean }
  | { readonly feed: "ccxt"; readonly from: IndexExchanges }

/** Where parties' keys are held: in this process, or by a signer at a URL. */
export type SignerSetting =
  | { readonly at: "embedded" }
  | { readonly at: "url"; readonly url: string; readonly token: Redacted.Redacted }

/** Where the ledger is: a development ledger in this process, or a participant at a URL. */
export type LedgerSetting =
  | { readonly at: "embedded" }
  | { readonly at: "url"; readonly url: string; readonly token: Redacted.Redacted | undefined }

type ReckonedNames =
  | "ledgerUrl"
  | "ledgerToken"
  | "signerUrl"
  | "signerToken"
  | "publicOrigin"
  | "rpId"
  | "tlsCert"
  | "tlsKey"
  | "indexFeed"
  | "indexTape"
  | "indexTapeLoops"
  | "indexExchanges"
  | "indexExchangeUrls"
  | "indexSources"
  | "workloadJwks"
  | "workloadIssuer"
  | "workloadAudience"
  | "workloadAccounts"

/** The settings with which the venue runs. Secrets that development generates are not filled in here, but by `main.ts`. */
export interface VenueConfig extends Omit<Settings, ReckonedNames> {
  readonly index: IndexSetting
  readonly site: SiteSetting
  /** Undefined: served without TLS. */
  readonly tls: TlsFiles | undefined
  readonly signer: SignerSetting
  readonly ledger: LedgerSetting
  /** Undefined: bots cannot obtain keys. */
  readonly workloads: WorkloadSetting | undefined
}

/** The exchanges of an index, whose settings belong together. */
const indexExchanges = (
  { indexExchangeUrls, indexExchanges, indexSources: rules }: Settings
): Either.Either<IndexExchanges, ConfigError.ConfigError> => {
  const exchanges = parseExchanges(Option.getOrElse(indexExchanges, () => ""))
  if (Option.isNone(indexExchanges)) return refuse("INDEX_EXCHANGES", "must name exchanges where INDEX_FEED is ccxt")
  if (Either.isLeft(exchanges)) return refuse("INDEX_EXCHANGES", exchanges.left)
  const urls = Option.isNone(indexExchangeUrls)
    ? Either.right(new Map<string, string>())
    : parseUrls(indexExchangeUrls.value, exchanges.right)
  if (Either.isLeft(urls)) return refuse("INDEX_EXCHANGE_URLS", urls.left)
  if (rules.minSources > exchanges.right.length)
    return refuse("INDEX_MIN_SOURCES", `must be at most ${exchanges.right.length}, as many as INDEX_EXCHANGES names`)
  return rules.pollMs >= rules.staleMs
    ? refuse("INDEX_POLL_MS", `must be below INDEX_SOURCE_STALE_MS, which is ${rules.staleMs}: no answer would last until the next one`)
    : Either.right({ exchanges: exchanges.right, urls: urls.right, rules })
}

/** Whether a host is this machine, so that nothing leaves it over a network. */
const isLoopback = (hostname: string): boolean => isLocal(hostname) || hostname === "127.0.0.1" || hostname === "[::1]"

/** Where parties' keys are held: in production never in the venue's process. */
const signerOf = ({ environment, signerToken, signerUrl }: Settings): Either.Either<SignerSetting, ConfigError.ConfigError> => {
  if (Option.isNone(signerUrl)) {
    if (environment === "production")
      return refuse("SIGNER_URL", "must be set in production: no keys of parties are in the venue's process there")
    return Option.isNone(signerToken) ? Either.right({ at: "embedded" }) : refuse("SIGNER_URL", "must be set where SIGNER_TOKEN is")
  }
  const url = URL.canParse(signerUrl.value) ? new URL(signerUrl.value) : undefined
  if (url === undefined || url.origin !== signerUrl.value) {
    return refuse("SIGNER_URL", "must be scheme, host and port alone, as https://signer.internal:8090")
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    return refuse("SIGNER_URL", "must be https, but for this machine: it carries the signer's token")
  }
  return Option.isNone(signerToken)
    ? refuse("SIGNER_TOKEN", "must be set where SIGNER_URL is")
    : Either.right({ at: "url", url: url.origin, token: signerToken.value })
}

/** Where the ledger is: outside development at a participant. */
const ledgerOf = ({ environment, ledgerToken, ledgerUrl }: Settings): Either.Either<LedgerSetting, ConfigError.ConfigError> => {
  if (Option.isNone(ledgerUrl)) {
    if (environment !== "development")
      return refuse("LEDGER_URL", "must be set outside development: the ledger in the venue's process is for trying it out")
    return Option.isNone(ledgerToken) ? Either.right({ at: "embedded" }) : refuse("LEDGER_URL", "must be set where LEDGER_TOKEN is")
  }
  const url = URL.canParse(ledgerUrl.value) ? new URL(ledgerUrl.value) : undefined
  if (url === undefined || url.origin !== ledgerUrl.value) {
    return refuse("LEDGER_URL", "must be scheme, host and port alone, as https://participant.internal:7575")
  }
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    return refuse("LEDGER_URL", "must be https, but for this machine: whoever stands between could answer in the ledger's place")
  }
  return Either.right({ at: "url", url: url.origin, token: Option.getOrUndefined(ledgerToken) })
}

/** The platform of workloads, whose settings belong together. */
const workloadsOf = (
  { workloadAccounts, workloadAudience, workloadIssuer, workloadJwks }: Settings
): Either.Either<WorkloadSetting | undefined, ConfigError.ConfigError> => {
  const given = {
    WORKLOAD_JWKS: Option.getOrUndefined(workloadJwks),
    WORKLOAD_ISSUER: Option.getOrUndefined(workloadIssuer),
    WORKLOAD_AUDIENCE: Option.getOrUndefined(workloadAudience),
    WORKLOAD_ACCOUNTS: Option.getOrUndefined(workloadAccounts)
  }
  const { WORKLOAD_ACCOUNTS: accounts, WORKLOAD_AUDIENCE: audience, WORKLOAD_ISSUER: issuer, WORKLOAD_JWKS: jwks } = given
  if (accounts !== undefined && audience !== undefined && issuer !== undefined && jwks !== undefined) {
    return Either.right({ jwks, issuer, audience, accounts })
  }
  const missing = Object.entries(given).find(([, value]) => value === undefined)
  return Object.values(given).every((value) => value === undefined)
    ? Either.right(undefined)
    : refuse(missing![0], "must be set where another of the WORKLOAD_ settings is")
}

/** The source of the index: in production an external one. */
const indexOf = (found: Settings): Either.Either<IndexSetting, ConfigError.ConfigError> => {
  const { environment, indexTape, indexTapeLoops: loops } = found
  const feed = Option.getOrElse(found.indexFeed, () => environment === "development" ? "synthetic" as const : "push" as const)
  if (environment === "production" && (feed === "synthetic" || feed === "tape")) {
    const made = feed === "tape" ? "recorded" : "synthetic"
    return refuse("INDEX_FEED", `must be push or ccxt in production: a ${made} index is for trying the venue out`)
  }
  // A setting that the chosen feed does not use was meant for another feed: the venue would wait for prices that nobody sends.
  const meant = [
    ["INDEX_EXCHANGES", "ccxt", Option.isSome(found.indexExchanges)],
    ["INDEX_EXCHANGE_URLS", "ccxt", Option.isSome(found.indexExchangeUrls)],
    ["INDEX_TAPE", "tape", Option.isSome(indexTape)],
    ["INDEX_TAPE_LOOP", "tape", loops]
  ] as const
  const stray = meant.find(([, reader, isSet]) => isSet && reader !== feed)
  if (stray !== undefined) return refuse(stray[0], `must be left out unless INDEX_FEED is ${stray[1]}; it is ${feed}`)
  switch (feed) {
    case "ccxt":
      return Either.map(indexExchanges(found), (from) => ({ feed, from }))
    case "tape":
      return Option.isNone(indexTape)
        ? refuse("INDEX_TAPE", "must name a file where INDEX_FEED is tape")
        : Either.right({ feed, file: indexTape.value, loops })
    case "synthetic":
    case "push":
      return Either.right({ feed })
  }
}

/** Outside development no secret is generated, and no value is invented. */
const complete = (found: Settings): Either.Either<VenueConfig, ConfigError.ConfigError> => {
  const { environment, rateLimits: { perKey }, signerSecret, stream: { messagesPerSecond } } = found
  const atMost = (name: string, value: number, most: number): Either.Either<void, ConfigError.ConfigError> =>
    isPublic(environment) && value > most ? refuse(name, `must be at most ${most} in ${environment}`) : Either.void
  const reckoned = {
    index: indexOf(found),
    site: siteOf(found),
    tls: tlsOf(found),
    workloads: workloadsOf(found),
    signer: signerOf(found),
    ledger: ledgerOf(found)
  }
  const checked = {
    signerSecret: environment !== "development" && Option.isNone(signerSecret)
      ? refuse("SIGNER_SECRET", "must be set outside development, with at least 16 characters")
      : Either.right(signerSecret),
    perKey: atMost("RATE_LIMIT_PER_MINUTE", perKey, RateLimits.mostPerKey),
    messagesPerSecond: atMost("STREAM_MESSAGES_PER_SECOND", messagesPerSecond, mostStreamMessages)
  }
  return Either.map(gathered({ reckoned: gathered(reckoned), checked: gathered(checked) }), ({ reckoned: complete }) => ({
    ...found,
    ...complete
  }))
}

export const config: Config.Config<VenueConfig> = settings.pipe(Config.mapOrFail(complete))
