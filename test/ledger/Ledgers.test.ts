/**
 * The ledger's contract, over the ledger in memory, with its file, and with its file over HTTP. That it is a process of its own is tested
 * in `test/cli/ledger.test.ts`.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { FetchHttpClient, HttpClient } from "@effect/platform"
import { Clock, Context, Effect, Layer } from "effect"
import * as SimLedger from "../../sim/world/SimLedger.js"
import { Faucet, faucet } from "../../src/ledger/development/Faucet.js"
import * as InMemory from "../../src/ledger/development/InMemory.js"
import { opened } from "../../src/ledger/development/NodeDevelopmentLedger.js"
import { listen } from "../../src/ledger/development/NodeLedgerServer.js"
import { setting } from "../../src/ledger/development/Setting.js"
import * as HttpLedger from "../../src/ledger/HttpLedger.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { Ledger } from "../../src/ledger/Ledger.js"
import { ledgerContract } from "../contracts/LedgerContract.js"
import * as SimRandom from "../../sim/world/SimRandom.js"

/** A clock that advances by a millisecond whenever it is read. */
const ticking = (): Clock.Clock => {
  let epochMs = 1_750_000_000_000
  const clock = Clock.make()
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => ++epochMs,
    currentTimeMillis: Effect.sync(() => ++epochMs),
    unsafeCurrentTimeNanos: () => BigInt(++epochMs) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(++epochMs) * 1_000_000n),
    sleep: (duration) => clock.sleep(duration)
  }
}

ledgerContract(
  "SimLedger",
  Effect.suspend(() => {
    const { layer, transport } = SimLedger.make(SimRandom.make("1", "ledger"))
    return Effect.map(Layer.build(layer),
      (context) => ({ ledger: Context.get(context, Ledger), faucet: Context.get(context, Faucet), transport }))
  }),
  ticking()
)

const directory = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "ledger-"))),
  (root) => Effect.sync(() => fs.rmSync(root, { recursive: true }))
)

ledgerContract(
  "the development ledger with its file",
  Effect.gen(function*() {
    const root = yield* directory
    const development = yield* opened(path.join(root, "ledger.sqlite"), [])
    const random = SimRandom.make("2", "ledger")
    const transport = InMemory.transport(development, (count) => random.bytes(count))
    return { ledger: yield* JsonLedger.make(transport, setting), faucet: faucet(transport), transport }
  }),
  ticking()
)

ledgerContract(
  "the development ledger over HTTP",
  Effect.gen(function*() {
    const development = yield* opened(path.join(yield* directory, "ledger.sqlite"), [])
    const { address: url } = yield* listen(development, { host: "127.0.0.1", port: 0 }, (error) => {
      throw new Error("the ledger failed", { cause: error })
    })
    const context = yield* Layer.build(FetchHttpClient.layer)
    const client = Context.get(context, HttpClient.HttpClient)
    const settings = { ...setting, url, bearer: undefined, timeoutMs: HttpLedger.defaultTimeoutMs }
    const layer = Layer.provide(HttpLedger.layer(settings), Layer.succeed(HttpClient.HttpClient, client))
    const ledger = Context.get(yield* Layer.build(layer), Ledger)
    const transport = HttpLedger.transport(client, settings)
    return { ledger, faucet: faucet(transport), transport }
  })
)
