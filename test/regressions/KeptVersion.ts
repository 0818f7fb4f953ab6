/**
 * Data directories left by earlier versions, on a disk in memory or a real one, and the present venue over them: with a clock soon after
 * the last record, since keys are remembered for a day.
 */
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import * as WorkloadIdentity from "../../src/identity/WorkloadIdentity.js"
import * as fs from "node:fs"
import * as path from "node:path"
import * as zlib from "node:zlib"
import { Clock, Context, Duration, Effect, Exit, Layer, Logger, Scope } from "effect"
import { expect } from "vitest"
import * as Version from "../../scripts/fixtures/Version.js"
import * as SimDisk from "../../sim/world/SimDisk.js"
import * as Bootstrap from "../../src/Bootstrap.js"
import { type Application, Listener, type Response } from "../../src/edge/http/Listener.js"
import { SecureRandom } from "../../src/identity/SecureRandom.js"
import { Disk, type DiskError } from "../../src/journal/Disk.js"
import * as Absent from "../../src/funds/Absent.js"
import * as IndexFeed from "../../src/oracle/IndexFeed.js"
import * as HistoriesDatabase from "../../src/readmodel/HistoriesDatabase.js"
import * as NodeTurns from "../../src/sequencer/NodeTurns.js"
import * as Sequencer from "../../src/sequencer/Sequencer.js"
import * as Venue from "../../src/Venue.js"

/** Two directories are kept for each version. */
export type Name =
  | "rules-1"
  | "rules-1-crashed"
  | "rules-2"
  | "rules-2-crashed"
  | "rules-3"
  | "rules-3-crashed"
  | "rules-4"
  | "rules-4-crashed"
  | "rules-5"
  | "rules-5-crashed"
  | "rules-6"
  | "rules-6-crashed"
  | "rules-7"
  | "rules-7-crashed"

/** The sequence of the snapshot with which everything is taken over. */
export const takenOverAt = 48
/** The same for rules 4, in whose directories marks are made. */
export const takenOverOfRules4 = 52
/** The same for rules 5. */
export const takenOverOfRules5 = 53
/** The same for rules 6, whose histories, ledger and signer are kept as well. */
export const takenOverOfRules6 = 62
/** The same for rules 7. */
export const takenOverOfRules7 = 62

/** A minute after the last record of either directory; the last record's exact time is shown by `venue journal info`. */
export const soonAfterMs = (exchanges: ReadonlyArray<Version.Exchange>): number => {
  const times = exchanges.flatMap(({ answer }) =>
    [...answer.body.matchAll(/"(?:decided|occurred)AtEpochMs":(\d+)/g)].map(([, text]) => Number(text))
  )
  return Math.max(...times) + 60_000
}

export const directoryOf = (name: Name): string => path.join("fixtures/versions", name)

export const exchangesOf = (name: Name): ReadonlyArray<Version.Exchange> =>
  JSON.parse(fs.readFileSync(path.join(directoryOf(name), "requests.json"), "utf8")) as Array<Version.Exchange>

/** The files of journal and snapshots, by path. */
export const filesOf = (name: Name): ReadonlyMap<string, Uint8Array> => {
  const data = path.join(directoryOf(name), "data")
  const read = (directory: string) =>
    fs.readdirSync(path.join(data, directory)).map((file) =>
      [`${directory}/${file.replace(/\.gz$/, "")}`, zlib.gunzipSync(fs.readFileSync(path.join(data, directory, file)))] as const
    )
  return new Map([...read("journal"), ...read("snapshots")])
}

/** Writes files to a disk, durably. */
export const lay = (files: ReadonlyMap<string, Uint8Array>): Effect.Effect<void, DiskError, Disk> =>
  Effect.scoped(Effect.gen(function*() {
    const disk = yield* Disk
    for (const directory of ["journal", "snapshots"]) yield* disk.makeDirectory(directory)
    yield* disk.syncDirectory("")
    for (const [name, bytes] of files) {
      const file = yield* disk.open(name, "create")
      yield* file.writeAt(0, bytes)
      yield* file.dataSync
    }
    for (const directory of ["journal", "snapshots"]) yield* disk.syncDirectory(directory)
  }))

/** All files of a simulated disk except the lock, as texts to compare. */
export const contents = (disk: SimDisk.SimDisk): Readonly<Record<string, string>> =>
  Object.fromEntries(
    disk.files().filter((file) => !file.startsWith("lock.db")).map((file) => [file, Buffer.from(disk.bytes(file)).toString("base64")])
  )

/** An account that a kept version opened. */
export interface Trader {
  readonly accountId: string
  readonly apiKey: string
}

/** The traders who sent a kept version's requests. */
export const tradersOf = (exchanges: ReadonlyArray<Version.Exchange>): ReadonlyArray<Trader> => {
  const { body } = exchanges.find(({ title }) => title === "three demo accounts")!.answer
  return (JSON.parse(body) as { readonly accounts: ReadonlyArray<Trader> }).accounts
}

/** A trader's placement: by default a small bid below the mark. */
export const order = ({ accountId, apiKey }: Trader, clientOrderId: string, more: object): Version.Exchange["request"] => ({
  method: "POST",
  target: "/v1/orders",
  headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", "idempotency-key": clientOrderId },
  body: JSON.stringify({
    accountId,
    marketId: "BTC-USDC-PERP",
    clientOrderId,
    side: "buy",
    orderType: "limit",
    price: "59970.0",
    quantity: "0.010",
    ...more
  })
})

/** A current index price, since the last one before the directory was kept is stale by now. */
export const freshIndex: Version.Exchange["request"] = {
  method: "PUT",
  target: "/v1/operator/markets/BTC-USDC-PERP/index-price",
  headers: { authorization: `Bearer ${Version.operatorToken}`, "content-type": "application/json", "idempotency-key": "fresh-index" },
  body: JSON.stringify({ price: "60000.0" })
}

const pair = (name: string): string => `"${name}":"[^"]*","${name}Atoms":"[^"]*",`

/** Margins, leverage and liquidation price of positions: native ones in a row, after their mark; and unified ones. */
const risk = new RegExp(
  `${pair("initialMargin")}${pair("maintenanceMargin")}"leverageX":\\d+,"liquidationPrice":[^,]*,"liquidationPriceAtoms":[^,]*,`
    + "|\"leverage\":\\d+,\"liquidationPrice\":[^,]*,",
  "g"
)

/** An answer without the members added since, and with funding rates, which were not computed then, as they were shown. */
export const asBefore = (body: string): string =>
  body
    .replaceAll(/"(?:fundingRateBasisMs|fundingRateE9|predictedFundingRateE9|fundingPaid|fundingPaidAtoms)":(?:"[^"]*"|\d+),/g, "")
    .replaceAll(/"withdrawable":"[^"]*","withdrawableAtoms":"[^"]*",/g, "")
    .replaceAll(risk, "")
    .replaceAll(/,"stale":(?:true|false)/g, "")
    .replaceAll(/,"staleMarkets":\d+|,"markets":\[\{"marketId":"[^"]*","status":"[^"]*",[^\]]*"indexHeld":(?:true|false)\}\]/g, "")
    .replaceAll(/,"ledger":"[^"]*","ledgerOffset":[^}]*"reconciliation":"[^"]*"/g, "")
    .replaceAll(/"maxCancelsBeyondPerKey":\d+,/g, "")
    .replaceAll(/"min(?:Deposit|Withdrawal)Atoms":"\d+",|"maxOpen(?:Deposits|Withdrawals)":\d+,/g, "")
    .replaceAll(/"predictedFundingRateBps":"1"/g, "\"predictedFundingRateBps\":\"0\"")
    .replaceAll(/"nextFundingRate":0\.0000125/g, "\"nextFundingRate\":0")

/** A venue that receives one request after another. */
export interface Running {
  readonly venue: Venue.Venue["Type"]
  readonly time: { nowMs: number }
  /** The lines that the venue logged. */
  readonly logged: ReadonlyArray<string>
  readonly ask: (request: Version.Exchange["request"]) => Promise<Response>
  readonly stop: () => Promise<void>
}

/** The present markets file. */
export const presentMarkets = Effect.suspend(() => Bootstrap.parseMarkets(fs.readFileSync("fixtures/markets.json", "utf8")))

/** The markets that kept versions knew: there were no sessions then. */
const markets = Effect.map(presentMarkets, (all) => all.filter(({ parameters }) => parameters.marketType === "crypto"))

const settings: Omit<Venue.Options, "markets"> = {
  environment: "development",
  operatorToken: Version.operatorToken,
  signerSecret: Version.signerSecret,
  acceptsIndexPrices: true,
  acceptsIndexStream: true,
  site: { publicOrigin: "http://localhost:8080", rpId: "localhost" },
  affiliateEnabled: false,
  capacity: { orders: 10_000, idempotencyKeys: 10_000 },
  sequencer: Sequencer.defaultOptions,
  snapshotEveryRecords: 0,
  journal: { segmentBytes: 2 ** 21, maxBlockBytes: 2 ** 16 },
  // The default 16 MiB, allocated at each of hundreds of starts, would be most of the garbage.
  feed: { bytes: 1 << 20 },
  ledger: Absent.setting
}

/** Starts the present venue over a disk, at a time. Fails with the reason if the start is refused. Its histories are new by default. */
export const start = (
  disk: Layer.Layer<Disk, DiskError>,
  atEpochMs: number,
  options: Partial<Venue.Options> = {},
  histories: Layer.Layer<HistoriesDatabase.HistoriesDatabase> = HistoriesDatabase.layerMemory
): Effect.Effect<Running, Venue.StartError | DiskError | Bootstrap.MarketsFileInvalid> =>
  Effect.gen(function*() {
    const time = { nowMs: atEpochMs }
    const clock: Clock.Clock = Object.assign(Clock.make(), {
      unsafeCurrentTimeMillis: () => time.nowMs,
      currentTimeMillis: Effect.sync(() => time.nowMs),
      // Nothing happens except what is requested and what is due at once: between two requests no mark is made, except the first of a
      // market that comes back.
      sleep: (duration: Duration.DurationInput) => Duration.toMillis(duration) === 0 ? Effect.void : Effect.never
    })
    const served: Array<Application> = []
    const logged: Array<string> = []
    const leaves = Layer.mergeAll(
      disk,
      Layer.succeed(Listener, {
        serve: (application) =>
          Effect.sync(() => {
            served.push(application)
            return { address: "kept", port: 0, cut: () => {} }
          })
      }),
      NodeTurns.layer,
      NodePasskeyVerifier.layer,
      WorkloadIdentity.layerNone,
      Layer.succeed(SecureRandom, { bytes: (count) => new Uint8Array(count).fill(7) }),
      IndexFeed.layerPush,
      histories,
      Absent.layer
    )
    const logger = Logger.replace(Logger.defaultLogger, Logger.make(({ message }) => logged.push(String(message))))
    const scope = yield* Scope.make()
    const context = yield* Layer.buildWithScope(
      Layer.provide(Venue.layer({ ...settings, markets: yield* markets, ...options }), Layer.merge(leaves, logger)),
      scope
    ).pipe(Effect.withClock(clock), Effect.onError(() => Scope.close(scope, Exit.void)))
    return {
      venue: Context.get(context, Venue.Venue),
      time,
      logged,
      ask: (request) =>
        new Promise((resolve) => {
          time.nowMs += 1
          const body = request.body === undefined ? new Uint8Array(0) : new TextEncoder().encode(request.body)
          // The address of the kept requests: the use of a key from another one would add a record.
          served[0]!.handle({ ...request, body, remoteAddress: "127.0.0.1" }, resolve)
        }),
      stop: () => Effect.runPromise(Scope.close(scope, Exit.void))
    } satisfies Running
  })

/** A simulated disk without faults that holds a kept directory; `files`: its content, for callers that read it once for many disks. */
export const diskOf = async (
  name: Name,
  options: Partial<SimDisk.Options> = {},
  files: ReadonlyMap<string, Uint8Array> = filesOf(name)
): Promise<SimDisk.SimDisk> => {
  const disk = SimDisk.make({ random: () => 0, ...options })
  await Effect.runPromise(Effect.provide(lay(files), disk.mount()))
  return disk
}

/** Writes a simulated disk's files into a real directory, for a tool to run over. */
export const writeOut = (disk: SimDisk.SimDisk, directory: string): void => {
  for (const file of disk.files()) {
    if (file.startsWith("lock.db")) continue
    fs.mkdirSync(path.join(directory, path.dirname(file)), { recursive: true })
    fs.writeFileSync(path.join(directory, file), disk.bytes(file))
  }
}

/** Expects a start over what another version left undecided to be refused, naming that version, and to change nothing. */
export const refusedByName = async (crashed: Name, atEpochMs: number, program: string, rules: number): Promise<void> => {
  const disk = await diskOf(crashed)
  const before = contents(disk)
  const refused = await Effect.runPromise(Effect.flip(start(disk.mount(), atEpochMs)))
  expect(refused).toMatchObject({ _tag: "UndecidedByOther", fromSequence: 41, program, rules })
  expect(refused.message).toContain(`version ${program} (rules ${rules})`)
  expect(refused.message).not.toContain("cut")
  expect(contents(disk)).toEqual(before)
}
