/** The venue as a process: picks the real leaves, launches, and ends with what stopped it. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Cause from "effect/Cause"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Bootstrap from "./Bootstrap.js"
import * as NodeAssets from "./edge/console/NodeAssets.js"
import * as NodeWritten from "./edge/system/docs/NodeWritten.js"
import * as NodeDescriptors from "./edge/http/NodeDescriptors.js"
import * as NodeListener from "./edge/http/NodeListener.js"
import * as NodeTls from "./edge/http/NodeTls.js"
import type { Setting } from "./funds/Parts.js"
import { siteAt } from "./identity/Identity.js"
import * as NodePasskeyVerifier from "./identity/NodePasskeyVerifier.js"
import * as NodeSecureRandom from "./identity/NodeSecureRandom.js"
import * as NodeWorkloads from "./identity/NodeWorkloads.js"
import * as NodeDisk from "./journal/NodeDisk.js"
import { SecureRandom } from "./identity/SecureRandom.js"
import * as NodeSecrets from "./identity/NodeSecrets.js"
import * as NodeDevelopmentLedger from "./ledger/development/NodeDevelopmentLedger.js"
import type { StoreUnreadable } from "./ledger/development/NodeStore.js"
import * as HttpLedger from "./ledger/HttpLedger.js"
import type { Ledger } from "./ledger/Ledger.js"
import { runMainAsked } from "./NodeMain.js"
import * as NodeThreads from "./NodeThreads.js"
import * as NodeEventLoop from "./observe/NodeEventLoop.js"
import * as NodeLog from "./observe/NodeLog.js"
import * as IndexFeed from "./oracle/IndexFeed.js"
import * as NodeCcxt from "./oracle/NodeCcxt.js"
import * as IndexSources from "./oracle/IndexSources.js"
import * as NodeHistoriesBeside from "./readings/NodeHistoriesBeside.js"
import * as NodeReadings from "./readings/NodeReadings.js"
import * as NodeHistories from "./readmodel/NodeHistories.js"
import * as IndexTape from "./oracle/IndexTape.js"
import { defaultBounds } from "./sequencer/Inbox.js"
import type { Reads } from "./engine/Reads.js"
import type { Capacity } from "./engine/State.js"
import * as NodeFollower from "./sequencer/NodeFollower.js"
import * as NodeTurns from "./sequencer/NodeTurns.js"
import { Corrupt, NewerFormat, OlderFormat } from "./journal/Journal.js"
import * as Recovery from "./sequencer/Recovery.js"
import * as Sequencer from "./sequencer/Sequencer.js"
import { NotFlushed, NotSaved, stopMsForTables, whyEnded, WriterStopped } from "./sequencer/Writer.js"
import * as HttpSigner from "./signer/HttpSigner.js"
import { StoreRefused } from "./signer/KeyStore.js"
import * as NodeKeyStore from "./signer/NodeKeyStore.js"
import type { PartySigner } from "./signer/PartySigner.js"
import * as Signer from "./signer/Signer.js"
import * as SignerConfig from "./SignerConfig.js"
import { inWords, SettingRefused } from "./SettingTexts.js"
import * as Venue from "./Venue.js"
import { config, type IndexExchanges, type IndexSetting, type VenueConfig } from "./VenueConfig.js"

/**
 * Exit codes: 1 could not start or stopped for good; 65 (sysexits' EX_DATAERR) the data directory needs another version of
 * the program, whose name is said; 70 (EX_SOFTWARE) the journal is damaged, or what it comes to differs from what it or the follower
 * says, and somebody has to look at the directory before anything is written to it; 78 (EX_CONFIG) a setting is wrong. Starting
 * again helps after none but the first.
 */
const exitFailed = 1
const exitOtherVersion = 65
const exitToBeLookedAt = 70
const exitConfig = 78

/** The markets that come with the program, beside the compiled output. */
const bundledMarkets = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../fixtures/markets.json")

/** The owner's pages, as the build leaves them beside the compiled output. */
const builtPages = path.join(path.dirname(fileURLToPath(import.meta.url)), "../console")

/** The reference, as the build writes it there. */
const writtenReference = path.join(path.dirname(fileURLToPath(import.meta.url)), "../docs")

const readMarkets = (settings: VenueConfig) =>
  Effect.try({
    try: () => fs.readFileSync(Option.getOrElse(settings.marketsFile, () => bundledMarkets), "utf8"),
    catch: (cause) => new Bootstrap.MarketsFileInvalid({ reason: String(cause) })
  }).pipe(Effect.flatMap(Bootstrap.parseMarkets))

/** A configured secret, or the one that a development venue keeps for itself. */
const secret = (settings: VenueConfig, configured: Option.Option<Redacted.Redacted>, file: string) =>
  Option.isSome(configured)
    ? Effect.succeed(Redacted.value(configured.value))
    : NodeSecrets.keep(settings.dataDir, file)

/** Fewest connections that a venue is started for. */
const fewestConnections = 16

/** How many connections are held: as configured, and no more than the system's limit on open files leaves beside the journal's. */
const connectionLimit = (settings: VenueConfig): Effect.Effect<number, ConfigError.ConfigError> => {
  const files = NodeDescriptors.openFiles()
  const limit = NodeDescriptors.connectionsWithin(settings.connectionLimit, files)
  if (limit < fewestConnections) {
    return Effect.fail(ConfigError.InvalidData(
      ["CONNECTION_LIMIT"],
      `the system lets the venue open ${files} files and sockets, which leaves ${limit} for connections: raise its limit (ulimit -n)`
    ))
  }
  return limit === settings.connectionLimit ? Effect.succeed(limit) : Effect.as(
    Effect.logWarning(
      `${limit} connections at most instead of ${settings.connectionLimit}: the system lets the venue open ${files} files`
    ),
    limit
  )
}

/** The recorded index, from its file. */
const indexTape = (file: string, loops: boolean): Effect.Effect<Layer.Layer<IndexFeed.IndexFeed>, ConfigError.ConfigError> =>
  Effect.try({
    try: () => fs.readFileSync(file, "utf8"),
    catch: (cause) => ConfigError.InvalidData(["INDEX_TAPE"], `${file} cannot be read: ${String(cause)}`)
  }).pipe(
    Effect.flatMap((text) =>
      Either.mapBoth(IndexTape.parse(text), {
        onLeft: (fault) => ConfigError.InvalidData(["INDEX_TAPE"], `${file}: ${fault}`),
        onRight: (lines) => IndexTape.layer(lines, loops)
      })
    )
  )

/** The index of exchanges. */
const indexOfExchanges = ({ exchanges, rules, urls }: IndexExchanges): Layer.Layer<IndexFeed.IndexFeed, ConfigError.ConfigError> =>
  NodeCcxt.sources(exchanges, urls).pipe(
    Effect.map((sources) => IndexSources.layer(sources, rules)),
    Effect.mapError((error) => ConfigError.InvalidData(["INDEX_EXCHANGES"], error.message)),
    Layer.unwrapScoped
  )

/** Where the index comes from, as it is set. */
const indexFeed = (
  setting: IndexSetting,
  markets: ReadonlyArray<Bootstrap.ListedMarket>
): Layer.Layer<IndexFeed.IndexFeed, ConfigError.ConfigError> => {
  switch (setting.feed) {
    case "push":
      return IndexFeed.layerPush
    case "tape":
      return Layer.unwrapEffect(indexTape(setting.file, setting.loops))
    case "ccxt":
      return indexOfExchanges(setting.from)
    case "synthetic":
      return IndexFeed.layerSynthetic(markets.map(({ developmentIndexPriceAtoms, parameters }) => ({
        marketId: parameters.marketId,
        aroundAtoms: developmentIndexPriceAtoms
      })))
  }
}

/** How long an answer of a signer that is another process may take. */
const signerTimeoutMs = 10_000

/** Where the keys of an embedded signer are, in the data directory. */
const keysDirectory = "signer"

/** A secret that a development venue made for itself is one that nobody guesses: it needs no stretching. */
const ownSecretCostLog2 = 14

/** Where the signer is, with the settings of one that is in this process: read before anything is made in the data directory. */
type SignerPlace = Extract<VenueConfig["signer"], { readonly at: "url" }> | { readonly at: "embedded"; readonly settings: Signer.Settings }

const signerPlace = ({ signer }: VenueConfig): Effect.Effect<SignerPlace, ConfigError.ConfigError> =>
  signer.at === "url" ? Effect.succeed(signer) : Effect.map(SignerConfig.signer, (settings) => ({ at: "embedded", settings }))

/** The signer of parties' transactions: another process, or, but in production, this one. */
const partySigner = (
  { dataDir, signerSecret }: VenueConfig,
  signer: SignerPlace,
  secret: string
): Layer.Layer<PartySigner, StoreRefused> => {
  if (signer.at === "url") {
    const { token, url } = signer
    return HttpSigner.layer({ url, token, timeoutMs: signerTimeoutMs }).pipe(Layer.provide(FetchHttpClient.layer))
  }
  const keys = NodeKeyStore.layer({
    directory: path.join(dataDir, keysDirectory),
    secret: Redacted.make(secret),
    ...(Option.isNone(signerSecret) ? { costLog2: ownSecretCostLog2 } : {})
  })
  return Signer.layer(signer.settings).pipe(Layer.provide(Layer.merge(keys, NodePasskeyVerifier.layer)))
}

/** Where a development ledger in this process keeps what it has, in the data directory. */
const ledgerFile = "ledger.sqlite"

/** How a participant hashes what is to be signed: the scheme that signs until when it may be recorded. */
const scheme = 3

/** The ledger: a participant's, or in development one in this process. */
const ledgerAt = (
  { dataDir, ledger }: VenueConfig,
  custody: Setting
): Layer.Layer<Ledger, StoreUnreadable> => {
  if (ledger.at === "embedded") return NodeDevelopmentLedger.layer({ file: path.join(dataDir, ledgerFile) })
  const { token: bearer, url } = ledger
  return HttpLedger.layer({ ...custody, url, bearer, scheme, timeoutMs: HttpLedger.defaultTimeoutMs }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )
}

/** A secret that is forgotten as soon as it is made. */
const nobodys = (random: SecureRandom["Type"]): string => Buffer.from(random.bytes(32)).toString("base64url")

/** Whether anybody can be the operator. */
const hasOperator = ({ environment, operatorToken }: VenueConfig): boolean => environment === "development" || Option.isSome(operatorToken)

/** What is opened once the data directory is this venue's: what is not there yet is made in it. */
const opening = (settings: VenueConfig, custody: Setting, signer: SignerPlace) =>
  Effect.gen(function*() {
    const signerSecret = yield* secret(settings, settings.signerSecret, NodeSecrets.signerSecretFile)
    const operatorToken = hasOperator(settings)
      ? yield* secret(settings, settings.operatorToken, NodeSecrets.operatorTokenFile)
      : undefined
    const services = yield* Layer.build(Layer.merge(partySigner(settings, signer, signerSecret), ledgerAt(settings, custody)))
    return { operatorToken, signerSecret, services }
  })

/**
 * What runs in threads of its own: what makes the histories, what reads the journal for clients, and the follower, without which the
 * writer takes the snapshots.
 */
const threads = ({ dataDir, follower }: VenueConfig, capacity: Capacity) =>
  Layer.mergeAll(
    // Made by their thread, and by the writer's where there is none.
    NodeHistories.layer(dataDir),
    NodeHistoriesBeside.layer(dataDir, capacity),
    NodeReadings.layer(dataDir, capacity),
    follower === "thread" ? NodeFollower.layer(dataDir) : Layer.empty
  )

/** Where it listens, and how much it holds of those who come there. */
const listening = (settings: VenueConfig, connectionLimit: number, tls: NodeTls.Tls | undefined): NodeListener.Options => ({
  ...NodeListener.defaults,
  host: settings.host,
  port: settings.port,
  connectionLimit,
  connectionsPerAddress: settings.connectionsPerAddress,
  unreadBytes: settings.unreadAnswersMiB * 1024 * 1024,
  tls
})

/** What may wait for the writer, of which as large a part as usual is kept for what takes risk away. */
const inboxOf = (capacity: number) => ({
  capacity,
  reserved: Math.floor((capacity * defaultBounds.reserved) / defaultBounds.capacity)
})

/** The state that a stop leaves, once there is one, and what kept it from its end, once something has. */
const stop: { state: Reads | undefined; fault: Error | undefined } = { state: undefined, fault: undefined }

/** A stop before there was a writer whose last snapshot it would have left: whoever waits for one to go on from is told. */
class StoppedEarly extends Error {
  override readonly name = "StoppedEarly"
  constructor() {
    super(
      "stopped before it had recovered: nothing was decided, and no snapshot was taken. Nothing is lost; a version with other rules can "
        + "take over only once this one was started again and has stopped with 0"
    )
  }
}

/** Says where a venue is that has started, what it goes on from, and what may be done next. */
const told = (settings: VenueConfig, { fromSequence, records }: Venue.Venue["Type"]["recovered"], url: string, pages: string) =>
  Effect.gen(function*() {
    const { dataDir, environment, operatorToken } = settings
    const development = environment === "development"
    yield* Effect.log(`${environment} venue at ${url}, data in ${dataDir}, snapshot ${fromSequence}, ${records} records replayed`)
    if (!development && fromSequence + records === 0) {
      yield* Effect.logWarning(
        `a new journal begins in ${dataDir}, which had none: where this venue has traded before, stop it and look where its data are`
      )
    }
    yield* Effect.log(`the owner's pages at ${pages}, the API reference at ${url}/docs`)
    if (development && Option.isNone(operatorToken)) {
      yield* Effect.log(`the operator token is kept in ${path.join(dataDir, NodeSecrets.operatorTokenFile)}`)
    }
    yield* Effect.log(`next, in another terminal: ${nextCommand(settings, url)}`)
  })

/** Starts the venue, and goes on until it is stopped. */
const run = Effect.gen(function*() {
  const settings = yield* config
  const connections = yield* connectionLimit(settings)
  const custody = yield* SignerConfig.custody
  const signer = yield* signerPlace(settings)
  const markets = yield* readMarkets(settings)
  const tls = settings.tls === undefined ? undefined : yield* NodeTls.load(settings.tls.certFile, settings.tls.keyFile)
  const random = yield* SecureRandom
  const hashWords = new Int32Array(Uint8Array.from(random.bytes(8)).buffer)
  const hashKey = [hashWords[0]!, hashWords[1]!] as const
  const capacity = { ...settings.capacity, hashKey }
  const leaves = Layer.mergeAll(
    NodeDisk.layer(settings.dataDir),
    NodeListener.layer(listening(settings, connections, tls)),
    NodeTurns.layer,
    NodeEventLoop.layer,
    NodeSecureRandom.layer,
    NodePasskeyVerifier.layer,
    NodeAssets.layer(builtPages),
    NodeWritten.layer(writtenReference),
    NodeWorkloads.layer(settings.workloads),
    threads(settings, capacity),
    indexFeed(settings.index, markets)
  )
  const venue = Venue.layerOpening({
    environment: settings.environment,
    operatorToken: hasOperator(settings) ? nobodys(random) : undefined,
    signerSecret: nobodys(random),
    acceptsIndexPrices: settings.environment !== "production" || settings.index.feed === "push",
    acceptsIndexStream: settings.index.feed === "push",
    indexFeedName: settings.index.feed,
    rateLimits: settings.rateLimits,
    trustedProxies: settings.trustedProxies,
    stream: { ...settings.stream, connections },
    corsOrigins: settings.corsOrigins,
    site: settings.site,
    affiliateEnabled: settings.affiliateEnabled,
    markets,
    capacity,
    sequencer: {
      ...Sequencer.defaultOptions,
      inbox: inboxOf(settings.inboxCapacity)
    },
    snapshotEveryRecords: settings.snapshotEveryRecords,
    journal: { segmentBytes: settings.segmentMiB * 2 ** 20 },
    ledger: custody,
    funds: { reconcileMs: settings.reconcileSeconds * 1_000 },
    feed: { blocks: settings.feedBlocks, bytes: settings.feedMiB * 2 ** 20 },
    recovered: (state) => {
      stop.state = state
    },
    drained: (sequence) => {
      late.words = `the stop did not end in time: all that was decided up to sequence ${sequence} is durable, and its snapshot may `
        + "not have been saved; killed"
    },
    stopFailed: (fault) => {
      stop.fault = fault
    }
  }, opening(settings, custody, signer))
  return yield* Effect.flatMap(Venue.Venue, (running) =>
    Effect.gen(function*() {
      const url = `${tls === undefined ? "http" : "https"}://${running.address}:${running.port}`
      yield* told(settings, running.recovered, url, siteAt(settings.site, running.port).publicOrigin)
      const failure = yield* running.failure
      const stopped = new WriterStopped(failure)
      // Nobody has asked for this end, and nobody would look for one that does not come.
      late.words = `${stopped.message}; ${late.words}`
      endIn(stopMs)
      return yield* Effect.die(stopped)
    })).pipe(Effect.provide(Layer.provide(venue, leaves)))
})

/** What whoever started a venue may type next: with nothing to try in it, how it stands. */
const nextCommand = ({ dataDir, environment }: VenueConfig, url: string): string => {
  const place = `${url === defaultUrl ? "" : ` --url ${url}`}${path.resolve(dataDir) === path.resolve("data") ? "" : ` --data ${dataDir}`}`
  return environment === "development"
    ? `npm run --silent venue -- demo --accounts 2 --collateral 1000${place}`
    : `npm run --silent venue -- status${place}`
}

/** Where the tools look for a venue unless they are told. */
const defaultUrl = "http://127.0.0.1:8080"

/** The same, and says at the end of a stop that was asked for that nothing is left to be done. */
const launch = Effect.onExit(run, (exit) => {
  if (!Exit.isFailure(exit) || whyEnded(exit, stop.fault) !== undefined) return Effect.void
  if (stop.state !== undefined) return Effect.log(`stopped cleanly at sequence ${stop.state.sequence}: all that was decided is durable`)
  stop.fault = new StoppedEarly()
  return Effect.void
})

/** What the operator reads when the process ends by itself. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  const isSaid = !Cause.isDie(cause) || [WriterStopped, NotFlushed, NotSaved, StoppedEarly].some((kind) => error instanceof kind)
  return error instanceof Error && isSaid ? error.message : Cause.pretty(cause)
}

/** Whether a setting is wrong: by itself, or for what the data directory holds. */
const isSettingWrong = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  // Every tagged error is an Effect too, and looks much the same from outside.
  return [SettingRefused, Recovery.CapacityTooSmall, Bootstrap.MarketsFileInvalid, Bootstrap.WrongEnvironment].some((tag) =>
    error instanceof tag
  )
    || error instanceof StoreRefused && error.setting !== undefined
}

/** Whether nothing is wrong with the data directory, and another version of the program has to be started on it. */
const isOtherVersions = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return [Recovery.UndecidedByOther, Recovery.NewerRules, Recovery.MigrationDiffers, NewerFormat, OlderFormat].some((tag) =>
    error instanceof tag
  )
}

/** Whether the journal, a snapshot or one of two engines is wrong: what is there is all that can tell which, and a start writes to it. */
const isToBeLookedAt = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return [Corrupt, Recovery.Diverged, Recovery.JournalBehind, Recovery.SnapshotUnexplained].some((tag) => error instanceof tag)
    || error instanceof WriterStopped && error.why === "FollowerDiffers"
}

const exitCode = (cause: Cause.Cause<unknown>): number => {
  if (isSettingWrong(cause)) return exitConfig
  if (isOtherVersions(cause)) return exitOtherVersion
  return isToBeLookedAt(cause) ? exitToBeLookedAt : exitFailed
}

/** How long the process may take to stop once it was asked to, beside what its tables need, or has nothing to go on for. */
const stopMs = 9_500

/**
 * How long it waits, when all is done, for operations on files that have not returned, and for threads, which on a busy machine may
 * have a batch of the histories to write before they hear that they are to end.
 */
const fileMs = 500
const threadMs = 8_000

const tell = (message: string): void => NodeLog.lastWord("venue", message)

/** Whether the system still works on an operation on a file. */
const worksOnFiles = (): boolean => process.getActiveResourcesInfo().includes("FSReqCallback")

/** The end where an operation on a file or a thread comes to none: an ordinary exit would wait for it. The status is that of SIGKILL. */
const killItself = (message: string): void => {
  tell(message)
  process.kill(process.pid, "SIGKILL")
}

interface Held {
  readonly what: string
  readonly mostMs: number
}

const heldByFiles: Held = { what: "an operation of the disk does not return", mostMs: fileMs }
const heldByThreads: Held = { what: "a thread does not end", mostMs: threadMs }

/** What an exit would wait for by now, and for how long at most that is waited for before it; undefined where there is nothing. */
const heldBy = (): Held | undefined => worksOnFiles() ? heldByFiles : NodeThreads.areLeft() ? heldByThreads : undefined

/** What is said where the time for a stop is over. Once all is done only the exit is held up, and nothing can be lost any more. */
const late = { words: "the stop did not end in time, and what was not acknowledged may not be durable; killed" }

/** Leaves with an exit code; by SIGKILL where operations on files do not return in time, or threads do not end. */
const leave = (onExit: (code: number) => void, code: number, before?: Held, waitedMs = 0): void => {
  const held = heldBy()
  if (held === undefined) return onExit(code)
  late.words = `${held.what}; killed, where the exit code would have been ${code}`
  // What only now holds it up has its own time.
  const heldMs = held === before ? waitedMs : 0
  if (heldMs >= held.mostMs) return killItself(late.words)
  setTimeout(() => leave(onExit, code, held, heldMs + 20), 20)
}

/** Sees to it that the process ends within so many milliseconds, if it does not by itself. */
const endIn = (mostMs: number): void => void setTimeout(() => killItself(late.words), mostMs).unref()

/** The same of a stop that somebody asked for: it leaves a snapshot of all that is remembered. */
const endAsked = (): void => endIn(stopMs + (stop.state === undefined ? 0 : stopMsForTables(stop.state)))

runMainAsked(endAsked)(inWords(Effect.provide(launch, Layer.merge(NodeSecureRandom.layer, NodeLog.layer))), {
  disableErrorReporting: true,
  // What is logged, and how, is the layer's to say.
  disablePrettyLogger: true,
  teardown: (exit, onExit) => {
    const cause = whyEnded(exit, stop.fault)
    if (cause === undefined) return leave(onExit, 0)
    tell(explain(cause))
    leave(onExit, exitCode(cause))
  }
})
