/** The venue as a process: provides the real leaves, starts it, and ends with the reason for which it stopped. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Redacted from "effect/Redacted"
import * as Bootstrap from "./Bootstrap.js"
import * as NodeAssets from "./edge/console/NodeAssets.js"
import * as NodeWritten from "./edge/system/docs/NodeWritten.js"
import * as NodeDescriptors from "./edge/http/NodeDescriptors.js"
import { ListenError } from "./edge/http/Listener.js"
import * as NodeListener from "./edge/http/NodeListener.js"
import * as NodeTls from "./edge/http/NodeTls.js"
import type { Setting } from "./funds/Parts.js"
import { siteAt } from "./identity/Identity.js"
import * as NodePasskeyVerifier from "./identity/NodePasskeyVerifier.js"
import * as NodeSecureRandom from "./identity/NodeSecureRandom.js"
import * as NodeWorkloads from "./identity/NodeWorkloads.js"
import { type Disk, type DiskError, isLockSpoiled } from "./journal/Disk.js"
import * as NodeDisk from "./journal/NodeDisk.js"
import * as Segment from "./journal/Segment.js"
import { lockPath } from "./journal/SegmentJournal.js"
import * as SnapshotStore from "./journal/SnapshotStore.js"
import { SecureRandom } from "./identity/SecureRandom.js"
import * as NodeSecrets from "./identity/NodeSecrets.js"
import * as NodeDevelopmentLedger from "./ledger/development/NodeDevelopmentLedger.js"
import type { StoreUnreadable } from "./ledger/development/NodeStore.js"
import * as HttpLedger from "./ledger/HttpLedger.js"
import type { Ledger } from "./ledger/Ledger.js"
import { runMainAsked } from "./NodeMain.js"
import * as NodeAuthorities from "./NodeAuthorities.js"
import * as NodeThreads from "./NodeThreads.js"
import { toldUnusable } from "./NodeUnusable.js"
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
import { aheadAtStart } from "./edge/system/ClockWatch.js"
import * as NodeFollower from "./sequencer/NodeFollower.js"
import * as NodeTurns from "./sequencer/NodeTurns.js"
import { Corrupt, NewerFormat, OlderFormat, SegmentGone } from "./journal/Journal.js"
import * as Recovery from "./sequencer/Recovery.js"
import * as Sequencer from "./sequencer/Sequencer.js"
import { NotFlushed, NotSaved, stopMsForTables, whyEnded, WriterStopped } from "./sequencer/Writer.js"
import * as HttpSigner from "./signer/HttpSigner.js"
import { StoreRefused } from "./signer/KeyStore.js"
import * as NodeKeyStore from "./signer/NodeKeyStore.js"
import type { PartySigner } from "./signer/PartySigner.js"
import * as Signer from "./signer/Signer.js"
import * as SignerConfig from "./SignerConfig.js"
import { faultOfSecret, faultOfToken } from "./SecretSetting.js"
import { inWords, SettingRefused } from "./SettingTexts.js"
import * as Venue from "./Venue.js"
import { config, type IndexExchanges, type IndexSetting, type VenueConfig } from "./VenueConfig.js"

/**
 * Exit codes: 1 could not start or stopped for good; 65 (sysexits' EX_DATAERR) the data directory needs another version of the program,
 * which the message names; 70 (EX_SOFTWARE) the journal is damaged, or replaying it differs from its digests or from the follower, and
 * somebody has to look at the directory before anything is written to it; 78 (EX_CONFIG) a setting is wrong. Restarting can help only after
 * 1.
 */
const exitFailed = 1
const exitOtherVersion = 65
const exitToBeLookedAt = 70
const exitConfig = 78

/** The markets file that comes with the program, relative to the compiled output. */
const bundledMarkets = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../fixtures/markets.json")

/** The owner's pages, where the build puts them in the output. */
const builtPages = path.join(path.dirname(fileURLToPath(import.meta.url)), "../console")

/** The API reference, where the build puts it in the output. */
const writtenReference = path.join(path.dirname(fileURLToPath(import.meta.url)), "../docs")

const marketsFileOf = ({ marketsFile }: VenueConfig): string => Option.getOrElse(marketsFile, () => bundledMarkets)

/** Names the file that a fault of the markets is in: it may be found when it is read, and when its markets are put. */
const withMarketsFile = (settings: VenueConfig) => ({
  MarketsFileInvalid: ({ reason }: Bootstrap.MarketsFileInvalid) =>
    new Bootstrap.MarketsFileInvalid({ reason, file: marketsFileOf(settings) })
})

const readMarkets = (settings: VenueConfig) =>
  Effect.try({
    try: () => fs.readFileSync(marketsFileOf(settings), "utf8"),
    catch: (cause) => new Bootstrap.MarketsFileInvalid({ reason: String(cause) })
  }).pipe(Effect.flatMap(Bootstrap.parseMarkets), Effect.catchTags(withMarketsFile(settings)))

/** Codes of a data directory that is no directory, or which another user has to make or give to the venue's. */
const noDirectory: ReadonlySet<string> = new Set(["EEXIST", "ENOTDIR"])
const notGiven: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "ENOENT"])

/** The data directory's disk. A directory that cannot be made or written is a wrong setting: no further start could use it either. */
const diskAt = (dataDir: string): Layer.Layer<Disk, DiskError | ConfigError.ConfigError> => {
  const refused = (why: string, code: string) => ConfigError.InvalidData(["DATA_DIR"], `${why}: ${code}`)
  return NodeDisk.layer(dataDir).pipe(
    Layer.tap(() => NodeDisk.writable(dataDir)),
    Layer.mapError((error) => {
      if (noDirectory.has(error.code)) return refused("it, or what is above it, is no directory", error.code)
      return notGiven.has(error.code) ? refused("it cannot be made or written by the venue's user", error.code) : error
    })
  )
}

/** The file of an embedded development ledger, within the data directory. */
const ledgerFile = "ledger.sqlite"

/** What a start needs of a data directory. */
const needed = [lockPath, Segment.directory, SnapshotStore.directory, NodeSecrets.signerSecretFile, NodeSecrets.operatorTokenFile,
  NodeSecrets.keysDirectory, ledgerFile]

/**
 * Tells of a file of the data directory that belongs to another user, as after a restore by root, or of a lock's file that something was
 * written to: no further start could use it either. Others' files are looked for in the directory itself, since the errors of a start do
 * not all say why a file cannot be opened.
 */
const withFilesUsable = ({ dataDir }: VenueConfig) => {
  const told = <E extends Error>(error: E): Effect.Effect<never, E | ConfigError.ConfigError> => {
    const remedy = toldUnusable(dataDir, needed, "venue")
    return Effect.fail(remedy === undefined ? error : ConfigError.InvalidData(["DATA_DIR"], `${error.message}: ${remedy}`))
  }
  return {
    DiskError: (error: DiskError) => isLockSpoiled(error) ? Effect.fail(ConfigError.InvalidData(["DATA_DIR"], error.message)) : told(error),
    SecretUnavailable: (error: NodeSecrets.SecretUnavailable) => told(error),
    StoreRefused: (error: StoreRefused) => told(error),
    StoreUnreadable: (error: StoreUnreadable) => told(error)
  }
}

/**
 * A configured secret, or the one that a development venue generates and stores. A file that was cut, or written by hand, is refused as the
 * setting would be: with an emptied one anybody could act as the operator.
 */
const secret = (
  { dataDir }: VenueConfig,
  configured: Option.Option<Redacted.Redacted>,
  file: string,
  faultOf: (value: string) => string | undefined
) =>
  Option.isSome(configured)
    ? Effect.succeed(Redacted.value(configured.value))
    : Effect.flatMap(NodeSecrets.keep(dataDir, file), (value) => {
      const fault = faultOf(value)
      return fault === undefined ? Effect.succeed(value) : Effect.fail(ConfigError.InvalidData(
        ["DATA_DIR"],
        `the secret in ${file} has ${value.length} characters and ${fault}: put back what the venue had made`
      ))
    })

/** Fewest connections with which a venue starts. */
const fewestConnections = 16

/** Most connections: as configured, but no more than the system's limit on open files leaves beside the journal's files. */
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

/** The index from a recorded file. */
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

/** The index made from exchanges. */
const indexOfExchanges = ({ exchanges, rules, urls }: IndexExchanges): Layer.Layer<IndexFeed.IndexFeed, ConfigError.ConfigError> =>
  NodeCcxt.sources(exchanges, urls, { answerWithinMs: rules.staleMs }).pipe(
    Effect.map((sources) => IndexSources.layer(sources, rules)),
    Effect.mapError((error) => ConfigError.InvalidData(["INDEX_EXCHANGES"], error.message)),
    Layer.unwrapScoped
  )

/** The configured index feed. */
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

/** The time limit for an answer from a signer in another process, in milliseconds. */
const signerTimeoutMs = 10_000

/** log2 of scrypt's cost for a generated secret: it is random and cannot be guessed, so it needs little key stretching. */
const ownSecretCostLog2 = 14

/** Where the signer is, with the settings of an embedded one: read before anything is created in the data directory. */
type SignerPlace = Extract<VenueConfig["signer"], { readonly at: "url" }> | { readonly at: "embedded"; readonly settings: Signer.Settings }

const signerPlace = ({ signer }: VenueConfig): Effect.Effect<SignerPlace, ConfigError.ConfigError> =>
  signer.at === "url" ? Effect.succeed(signer) : Effect.map(SignerConfig.signer, (settings) => ({ at: "embedded", settings }))

/** The signer of parties' transactions: another process or, outside production, this one. */
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
    directory: path.join(dataDir, NodeSecrets.keysDirectory),
    secret: Redacted.make(secret),
    ...(Option.isNone(signerSecret) ? { costLog2: ownSecretCostLog2 } : {})
  })
  return Signer.layer(signer.settings).pipe(Layer.provide(Layer.merge(keys, NodePasskeyVerifier.layer)))
}

/** The hashing scheme requested from a participant: the one that covers the maximum record time. */
const scheme = 3

/** The ledger: a participant, or in development one in this process. */
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

/** A random secret that nobody knows. */
const nobodys = (random: SecureRandom["Type"]): string => Buffer.from(random.bytes(32)).toString("base64url")

/** Whether anybody can act as the operator. */
const hasOperator = ({ environment, operatorToken }: VenueConfig): boolean => environment === "development" || Option.isSome(operatorToken)

const withoutOperator = "OPERATOR_TOKEN is not set: nobody can halt this venue, stop its withdrawals or change its markets"

/** Opens secrets, keys and ledger once the data directory is locked for this venue; creates in it what is missing. */
const opening = (settings: VenueConfig, custody: Setting, signer: SignerPlace) =>
  Effect.gen(function*() {
    const signerSecret = yield* secret(settings, settings.signerSecret, NodeSecrets.signerSecretFile, faultOfSecret)
    const operatorToken = hasOperator(settings)
      ? yield* secret(settings, settings.operatorToken, NodeSecrets.operatorTokenFile, faultOfToken)
      : undefined
    const services = yield* Layer.build(Layer.merge(partySigner(settings, signer, signerSecret), ledgerAt(settings, custody)))
    return { operatorToken, signerSecret, services }
  })

/**
 * What runs in threads of its own: making the histories, reading the journal for clients, and the follower, without which the writer takes
 * the snapshots.
 */
const threads = ({ dataDir, follower }: VenueConfig, capacity: Capacity) =>
  Layer.mergeAll(
    // The database is used by the histories' thread, and by the writer's where there is none.
    NodeHistories.layer(dataDir),
    NodeHistoriesBeside.layer(dataDir, capacity),
    NodeReadings.layer(dataDir, capacity),
    follower === "thread" ? NodeFollower.layer(dataDir) : Layer.empty
  )

/** The listener's address and its limits for connections. */
const listening = (settings: VenueConfig, connectionLimit: number, tls: NodeTls.Tls | undefined): NodeListener.Options => ({
  ...NodeListener.defaults,
  host: settings.host,
  port: settings.port,
  connectionLimit,
  connectionsPerAddress: settings.connectionsPerAddress,
  isBehindProxies: settings.trustedProxies > 0,
  unreadBytes: settings.unreadAnswersMiB * 1024 * 1024,
  tls
})

/** The writer's inbox, with the usual share reserved for commands that reduce risk. */
const inboxOf = (capacity: number) => ({
  capacity,
  reserved: Math.floor((capacity * defaultBounds.reserved) / defaultBounds.capacity)
})

/** The state of which a stop takes a snapshot, once there is one, and the error that prevented the stop from completing, if any. */
const stop: { state: Reads | undefined; fault: Error | undefined } = { state: undefined, fault: undefined }

const notClean = (fault: Error): void => {
  stop.fault = fault
}

/**
 * The venue was stopped before there was a writer, which takes a last snapshot. No record was written by then, so that who may start on the
 * directory depends on the stop before.
 */
class StoppedEarly extends Error {
  override readonly name = "StoppedEarly"
  constructor() {
    super(
      "stopped before it had recovered: nothing was decided, and neither a record nor a snapshot was written. Nothing is lost, and what "
        + "could start on this directory still can: another version where the stop before had ended with 0, and otherwise only the one "
        + "that wrote its last records"
    )
  }
}

/** Prints where a started venue is, from where it continues, and what can be done next. */
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

/**
 * What an operator has to know of the recovered state: a clock far ahead of it, histories that are missing or know more, and a markets file
 * that says otherwise.
 */
const saidOf = ({ dataDir }: VenueConfig, markets: ReadonlyArray<Bootstrap.ListedMarket>, state: Reads): Effect.Effect<void> => {
  const lines = [aheadAtStart(state, Date.now()), Bootstrap.differing(state, markets)].filter((line) => line !== undefined)
  return Effect.zipRight(NodeHistories.toldAtStart(dataDir, state.sequence), Effect.forEach(lines, (line) => Effect.logWarning(line)))
}

/** The kernel gives the first process of a container no signal that it does not handle, not even SIGKILL of its own. */
const firstOfContainer =
  "this is the first process of its container (PID 1), which cannot kill itself: where an operation of the disk never "
  + "returns, it stays, and nothing starts it again. Run the container with an init (docker run --init)"

/** Starts the venue, and runs until it is stopped. */
const run = Effect.gen(function*() {
  const { custody, settings } = yield* Config.all({ settings: config, custody: SignerConfig.custody })
  if (process.pid === 1) yield* Effect.logWarning(firstOfContainer)
  yield* NodeAuthorities.check
  if (!hasOperator(settings)) yield* Effect.logWarning(withoutOperator)
  const connections = yield* connectionLimit(settings)
  const signer = yield* signerPlace(settings)
  const markets = yield* readMarkets(settings)
  const tls = settings.tls === undefined ? undefined : yield* NodeTls.load(settings.tls.certFile, settings.tls.keyFile)
  const random = yield* SecureRandom
  const hashWords = new Int32Array(Uint8Array.from(random.bytes(8)).buffer)
  const hashKey = [hashWords[0]!, hashWords[1]!] as const
  const capacity = { ...settings.capacity, hashKey }
  const leaves = Layer.mergeAll(
    diskAt(settings.dataDir),
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
  const runtime = yield* Effect.runtime()
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
    journal: { segmentBytes: settings.segmentMiB * 2 ** 20, segmentGone: notClean },
    ledger: custody,
    funds: { reconcileMs: settings.reconcileSeconds * 1_000 },
    feed: { blocks: settings.feedBlocks, bytes: settings.feedMiB * 2 ** 20 },
    recovered: (state) => {
      stop.state = state
      // Ahead of the first request.
      Runtime.runFork(runtime)(saidOf(settings, markets, state))
    },
    drained: (sequence) => {
      late.words = `the stop did not end in time: all that was decided up to sequence ${sequence} is durable, and its snapshot may `
        + "not have been saved; killed"
    },
    saved: (sequence) => {
      late.words = `the end did not come in time: all that was decided up to sequence ${sequence} is durable, and its snapshot is saved; `
        + "killed"
    },
    stopFailed: notClean
  }, opening(settings, custody, signer))
  return yield* Effect.flatMap(Venue.Venue, (running) =>
    Effect.gen(function*() {
      const url = `${tls === undefined ? "http" : "https"}://${running.address}:${running.port}`
      yield* told(settings, running.recovered, url, siteAt(settings.site, running.port).publicOrigin)
      const failure = yield* running.failure
      const stopped = new WriterStopped(failure)
      // Nobody has requested this stop, so nobody would notice if it did not complete.
      late.words = `${stopped.message}; ${late.words}`
      endIn(stopMs)
      return yield* Effect.die(stopped)
    })).pipe(Effect.provide(Layer.provide(venue, leaves)), Effect.catchTags({ ...withMarketsFile(settings), ...withFilesUsable(settings) }))
})

/** A command to try next: opening demo accounts in development, otherwise showing the status. */
const nextCommand = ({ dataDir, environment }: VenueConfig, url: string): string => {
  const place = `${url === defaultUrl ? "" : ` --url ${url}`}${path.resolve(dataDir) === path.resolve("data") ? "" : ` --data ${dataDir}`}`
  return environment === "development"
    ? `npm run --silent venue -- demo --accounts 2 --collateral 1000${place}`
    : `npm run --silent venue -- status${place}`
}

/** The URL that the tools use by default. */
const defaultUrl = "http://127.0.0.1:8080"

/** Why the process ends other than cleanly. What is not known of blocks on their way matters less than a segment that is gone. */
const causeOf = (exit: Exit.Exit<unknown, unknown>): Cause.Cause<unknown> | undefined =>
  stop.fault instanceof SegmentGone ? Cause.die(stop.fault) : whyEnded(exit, stop.fault)

/** Runs the venue, and reports at the end of a requested stop that nothing is left to be done. */
const launch = Effect.onExit(run, (exit) => {
  if (!Exit.isFailure(exit) || causeOf(exit) !== undefined) return Effect.void
  if (stop.state !== undefined) return Effect.log(`stopped cleanly at sequence ${stop.state.sequence}: all that was decided is durable`)
  stop.fault = new StoppedEarly()
  return Effect.void
})

/** The message for the operator when the process ends by itself. */
const explain = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  if (error instanceof ListenError) return `${error.message}; HOST and PORT say where it is to listen`
  const isSaid = !Cause.isDie(cause)
    || [WriterStopped, NotFlushed, NotSaved, SegmentGone, StoppedEarly].some((kind) => error instanceof kind)
  return error instanceof Error && isSaid ? error.message : Cause.pretty(cause)
}

/** Whether a setting is wrong, in itself or for the contents of the data directory. */
const isSettingWrong = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  // Every tagged error is an Effect as well, and looks much the same from outside.
  return [SettingRefused, Recovery.CapacityTooSmall, Bootstrap.MarketsFileInvalid, Bootstrap.WrongEnvironment].some((tag) =>
    error instanceof tag
  )
    || error instanceof StoreRefused && error.setting !== undefined
}

/** Whether the data directory is intact, but needs another version of the program. */
const isOtherVersions = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return [Recovery.UndecidedByOther, Recovery.NewerRules, Recovery.MigrationDiffers, NewerFormat, OlderFormat].some((tag) =>
    error instanceof tag
  )
}

/**
 * Whether the journal, a snapshot or one of two engines is wrong: only the present files can show which, and a start would write to them.
 */
const isToBeLookedAt = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return [Corrupt, Recovery.Diverged, Recovery.JournalBehind, Recovery.SnapshotUnexplained, Recovery.StepMissing].some((tag) =>
    error instanceof tag
  )
    || error instanceof WriterStopped && error.why === "FollowerDiffers"
    || error instanceof SegmentGone && !error.isSaved
}

const exitCode = (cause: Cause.Cause<unknown>): number => {
  if (isSettingWrong(cause)) return exitConfig
  if (isOtherVersions(cause)) return exitOtherVersion
  return isToBeLookedAt(cause) ? exitToBeLookedAt : exitFailed
}

/** How long the process may take to stop after a request or a failure, in milliseconds, without the time that its tables need. */
const stopMs = 9_500

/**
 * How long it waits at the end, in milliseconds, for file operations that have not returned, and for threads, which on a busy machine may
 * have to write a batch of the histories before they learn that they are to end.
 */
const fileMs = 500
const threadMs = 8_000

const tell = (message: string): void => NodeLog.lastWord("venue", message)

/** Whether the system is still working on a file operation. */
const worksOnFiles = (): boolean => process.getActiveResourcesInfo().includes("FSReqCallback")

/**
 * Ends the process where a file operation or a thread does not complete, for which an ordinary exit would wait. The exit status is that of
 * SIGKILL. The first process of a container cannot kill itself: it ends only when what it waits for does.
 */
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

/** What an exit would wait for at present, and the longest time to wait for that first; undefined where there is nothing. */
const heldBy = (): Held | undefined => worksOnFiles() ? heldByFiles : NodeThreads.areLeft() ? heldByThreads : undefined

/** The message for a stop that exceeds its time. Once everything is done only the exit is delayed, and nothing can be lost any more. */
const late = { words: "the stop did not end in time, and what was not acknowledged may not be durable; killed" }

/** Exits with a code; by SIGKILL where file operations do not return in time, or threads do not end. */
const leave = (onExit: (code: number) => void, code: number, before?: Held, waitedMs = 0): void => {
  // A process that cannot kill itself ends by itself at last, and would do so with 0, after which no supervisor starts it again.
  process.exitCode = code
  const held = heldBy()
  if (held === undefined) return onExit(code)
  late.words = `${held.what}; killed, where the exit code would have been ${code}`
  // A different cause of delay gets its full time.
  const heldMs = held === before ? waitedMs : 0
  if (heldMs >= held.mostMs) return killItself(late.words)
  setTimeout(() => leave(onExit, code, held, heldMs + 20), 20)
}

/** Ends the process after so many milliseconds, if it has not ended by itself. */
const endIn = (mostMs: number): void => void setTimeout(() => killItself(late.words), mostMs).unref()

/** Ends the process some time after a requested stop, which takes a snapshot of all that is remembered, if it has not ended by itself. */
const endAsked = (): void => endIn(stopMs + (stop.state === undefined ? 0 : stopMsForTables(stop.state)))

runMainAsked(endAsked)(inWords(Effect.provide(launch, Layer.merge(NodeSecureRandom.layer, NodeLog.layer))), {
  disableErrorReporting: true,
  // Logging is configured by the layer.
  disablePrettyLogger: true,
  teardown: (exit, onExit) => {
    const cause = causeOf(exit)
    if (cause === undefined) return leave(onExit, 0)
    tell(explain(cause))
    leave(onExit, exitCode(cause))
  }
})
