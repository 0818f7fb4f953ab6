/**
 * The venue's settings, from environment variables, refused at start with the variable's name when they are
 * wrong. The README lists them with their defaults.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { environments } from "./domain/Environment.js"
import { defaultBounds } from "./sequencer/Recent.js"
import { defaultCapacity } from "./Venue.js"

/** A setting of plain digits between two bounds. Empty is not set, as for texts. */
const between = (name: string, low: number, high: number, fallback: number): Config.Config<number> =>
  Config.nonEmptyString(name).pipe(
    Config.withDefault(String(fallback)),
    Config.validate({
      message: `${name} must be a whole number between ${low} and ${high}`,
      validation: (text) => /^[0-9]{1,10}$/.test(text) && Number(text) >= low && Number(text) <= high
    }),
    Config.map(Number)
  )

/**
 * Orders that are remembered, and idempotency keys: what a venue runs with, and what its journal is replayed under; and one
 * account's part of what is free.
 */
export const capacity = Config.all({
  orders: between("ORDER_CAPACITY", 1_000, 16_000_000, defaultCapacity.orders),
  idempotencyKeys: between("IDEMPOTENCY_CAPACITY", 1_000, 16_000_000, defaultCapacity.idempotencyKeys),
  accountParts: between("ACCOUNT_PARTS", 0, 1_000, defaultCapacity.accountParts)
})

const optionalSecret = (name: string, shortest: number): Config.Config<Option.Option<Redacted.Redacted>> =>
  Config.option(
    Config.redacted(Config.nonEmptyString(name)).pipe(
      Config.validate({
        message: `${name} must have at least ${shortest} characters`,
        validation: (value: Redacted.Redacted) => Redacted.value(value).length >= shortest
      })
    )
  )

/** Settings as they are set, before what one asks of another is looked at. */
const settings = Config.all({
  environment: Config.literal(...environments)("VENUE_ENVIRONMENT").pipe(Config.withDefault("development" as const)),
  host: Config.nonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1")),
  port: between("PORT", 0, 65_535, 8080),
  dataDir: Config.nonEmptyString("DATA_DIR").pipe(Config.withDefault("./data")),
  signerSecret: optionalSecret("SIGNER_SECRET", 16),
  operatorToken: optionalSecret("OPERATOR_TOKEN", 16),
  indexFeed: Config.option(Config.literal("synthetic", "push", "tape")("INDEX_FEED")),
  indexTape: Config.option(Config.nonEmptyString("INDEX_TAPE")),
  indexTapeLoops: Config.literal("true", "false")("INDEX_TAPE_LOOP").pipe(
    Config.withDefault("false" as const),
    Config.map((text) => text === "true")
  ),
  marketsFile: Config.option(Config.nonEmptyString("MARKETS_FILE")),
  capacity,
  inboxCapacity: between("INBOX_CAPACITY", 16, 1_000_000, 8_192),
  snapshotEveryRecords: between("SNAPSHOT_EVERY_RECORDS", 0, 1_000_000_000, 1_000_000),
  feedBlocks: between("FEED_MEMORY_BLOCKS", 0, 1_000_000, defaultBounds.blocks),
  feedMiB: between("FEED_MEMORY_MIB", 0, 4_096, defaultBounds.bytes >> 20),
  segmentMiB: between("SEGMENT_MIB", 2, 4_096, 64),
  connectionLimit: between("CONNECTION_LIMIT", 16, 1_000_000, 10_000),
  /** 0: a quarter of all. */
  connectionsPerAddress: between("CONNECTIONS_PER_ADDRESS", 0, 1_000_000, 0)
})

type Settings = Config.Config.Success<typeof settings>

/** What the venue runs with. A generated secret is none: `main.ts` fills in what development may do without. */
export interface VenueConfig extends Omit<Settings, "indexFeed"> {
  readonly indexFeed: "synthetic" | "push" | "tape"
}

const refuse = (name: string, message: string) => Either.left(ConfigError.InvalidData([name], message))

/** Outside development nothing is generated, and nothing is made up. */
const complete = (found: Settings): Either.Either<VenueConfig, ConfigError.ConfigError> => {
  const development = found.environment === "development"
  const indexFeed = Option.getOrElse(found.indexFeed, () => development ? "synthetic" as const : "push" as const)
  if (found.environment === "production" && (indexFeed === "synthetic" || indexFeed === "tape")) {
    return refuse("INDEX_FEED", `a ${indexFeed === "tape" ? "recorded" : "synthetic"} index is refused in production`)
  }
  if (indexFeed === "tape" && Option.isNone(found.indexTape)) return refuse("INDEX_TAPE", "must name a file where INDEX_FEED is tape")
  if (!development && Option.isNone(found.signerSecret)) return refuse("SIGNER_SECRET", "must be set outside development")
  return Either.right({ ...found, indexFeed })
}

export const config: Config.Config<VenueConfig> = settings.pipe(Config.mapOrFail(complete))
