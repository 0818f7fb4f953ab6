/**
 * `npm run signer -- --port N --data DIR`: the signer in a process of its own, which alone holds the parties' keys and signs what their
 * owners have approved. Its settings are environment variables; CONFIGURATION.md lists them. With `--give-treasury` it only has the
 * treasury be another venue's.
 *
 * Exit codes: 0 stopped as requested; 1 it cannot listen; 2 the keys cannot be opened; 3 the command line or a setting is wrong.
 */
import * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Listener } from "../edge/http/Listener.js"
import * as NodeListener from "../edge/http/NodeListener.js"
import * as NodeTls from "../edge/http/NodeTls.js"
import * as NodePasskeyVerifier from "../identity/NodePasskeyVerifier.js"
import { toldUnusable } from "../NodeUnusable.js"
import * as NodeLog from "../observe/NodeLog.js"
import * as NodeKeyStore from "../signer/NodeKeyStore.js"
import { PartySigner } from "../signer/PartySigner.js"
import { mostBodyBytes } from "../signer/Protocol.js"
import { Claim } from "../signer/Requests.js"
import * as Signer from "../signer/Signer.js"
import * as SignerApplication from "../signer/SignerApplication.js"
import { inWords } from "../SettingTexts.js"
import { processConfig } from "../SignerConfig.js"
import { Ended, unreadableCode, usage } from "./Exit.js"
import { applicationOf } from "./SignerListening.js"
import { runTool } from "./Tool.js"

const cannotListenCode = 1

/** Error codes that may come of a file which is another user's. */
const isOfAnother = /^(?:EACCES|EPERM|SQLITE_CANTOPEN|SQLITE_READONLY)/

/** Most connections: the venue and its operators need no more than a handful. */
const mostConnections = 64

const options = {
  host: CliOptions.text("host").pipe(CliOptions.withDescription("Where it listens"), CliOptions.withDefault("127.0.0.1")),
  port: CliOptions.integer("port").pipe(CliOptions.withDescription("The port; 0 takes a free one"), CliOptions.withDefault(8090)),
  data: CliOptions.text("data").pipe(CliOptions.withDescription("The directory of its keys"), CliOptions.withDefault("./signer-data")),
  giveTreasury: CliOptions.text("give-treasury").pipe(
    CliOptions.withDescription("Only gives the treasury to the venue of this digest, which its refusal tells, and ends"),
    CliOptions.optional
  )
}

const isClaim = Schema.is(Claim)

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

const command = Cli.make("signer", options, ({ data, giveTreasury, host, port }) =>
  Effect.gen(function*() {
    if (port < 0 || port > 65_535) return yield* usage(`--port is ${port}: it must be a whole number from 0 to 65535`)
    if (Option.isSome(giveTreasury) && !isClaim({ venue: giveTreasury.value })) {
      return yield* usage("--give-treasury takes the 64 hexadecimal digits that the signer refused the venue by")
    }
    const { isEnvironmentSet, secret, signer, tls, token } = yield* processConfig
    const store = NodeKeyStore.layer({ directory: data, secret, environment: signer.custody.environment, isEnvironmentSet })
    const kept = Layer.merge(store, NodePasskeyVerifier.layer)
    if (Option.isSome(giveTreasury)) return yield* Effect.provide(Signer.giveTreasury(signer, { venue: giveTreasury.value }), kept)
    if (tls === undefined && !isLoopback(host)) {
      return yield* usage("to listen beyond this machine it needs TLS_CERT and TLS_KEY: its token would be read on the way")
    }
    const served = tls === undefined ? undefined : yield* NodeTls.load(tls.certFile, tls.keyFile)
    const keys = Signer.layer(signer).pipe(Layer.provide(kept))
    const listener = NodeListener.layer({
      ...NodeListener.defaults,
      host,
      port,
      tls: served,
      bodyLimit: mostBodyBytes,
      connectionLimit: mostConnections,
      connectionsPerAddress: mostConnections
    })
    yield* Effect.scoped(Effect.gen(function*() {
      const answer = SignerApplication.make(yield* PartySigner, token)
      const { serve } = yield* Listener
      const { address, port: taken } = yield* serve(applicationOf(answer, yield* Effect.runtime<never>()))
      const scheme = served === undefined ? "http" : "https"
      yield* Effect.log(`${signer.custody.environment} signer at ${scheme}://${address}:${taken}, keys in ${data}`)
      return yield* Effect.never
    })).pipe(Effect.provide(Layer.merge(keys, listener)))
  }).pipe(
    Effect.provide(NodeLog.layer),
    inWords,
    Effect.catchTags({
      SettingRefused: ({ message }) => usage(message),
      StoreRefused: ({ code = "", message }) => {
        const remedy = isOfAnother.test(code) ? toldUnusable(data, ["."], "signer") : undefined
        return new Ended({ code: unreadableCode, text: remedy === undefined ? message : `${message}: ${remedy}` })
      },
      SignerRefused: ({ message }) => new Ended({ code: unreadableCode, text: message }),
      SignerUnavailable: ({ message }) => new Ended({ code: unreadableCode, text: message }),
      ListenError: ({ message }) => new Ended({ code: cannotListenCode, text: message })
    })
  )).pipe(Cli.withDescription("The signer of parties' transactions, as a process of its own."))

runTool(command, "signer", {
  args: process.argv,
  isFollowing: true,
  isServer: true,
  exitCodes: {
    0: "stopped as asked",
    1: "it cannot listen",
    2: "the keys cannot be opened",
    3: "the command line or a setting is wrong"
  }
})
