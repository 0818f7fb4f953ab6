/**
 * `npm run ledger`: the development ledger in a process of its own, with a participant's JSON Ledger API. For trying the venue out with a
 * ledger over the network, including one that misbehaves by a script; never for money.
 *
 * Exit codes: 0 stopped; 1 the address or the file cannot be had, or nothing can be stored any more; 3 the command line or the script is
 * wrong.
 */
import * as Cli from "@effect/cli/Command"
import * as CliOptions from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as fs from "node:fs"
import * as path from "node:path"
import { Script } from "../ledger/development/Faults.js"
import { opened } from "../ledger/development/NodeDevelopmentLedger.js"
import { listen } from "../ledger/development/NodeLedgerServer.js"
import { Ended, usage } from "./Exit.js"
import { dataOf, named } from "./Options.js"
import { runTool } from "./Tool.js"

const failedCode = 1

const options = {
  host: CliOptions.text("host").pipe(
    CliOptions.withDescription("The address to listen on"),
    CliOptions.withDefault("127.0.0.1")
  ),
  port: CliOptions.integer("port").pipe(
    CliOptions.withDescription("The port to listen on; 0 takes any free one"),
    CliOptions.withDefault(7575)
  ),
  data: dataOf("The directory of the ledger's file, ledger.sqlite (DATA_DIR, or ./data)"),
  script: named("script", "A file with the faults that befall it, as JSON; what there is stands in src/ledger/README.md")
}

const readScript = (file: string): Effect.Effect<Script, Ended> =>
  Effect.try({ try: () => fs.readFileSync(file, "utf8"), catch: (error) => usage(`the script cannot be read: ${String(error)}`) }).pipe(
    Effect.flatMap((text) =>
      Effect.mapError(
        Schema.decodeUnknown(Schema.parseJson(Script), { onExcessProperty: "error" })(text),
        (error) => usage(`${file} is no script of faults: ${ParseResult.TreeFormatter.formatErrorSync(error)}`)
      )
    )
  )

const failed = (error: unknown): Ended => new Ended({ code: failedCode, text: error instanceof Error ? error.message : String(error) })

const serve = (host: string, port: number, data: string, script: Script) =>
  Effect.scoped(Effect.gen(function*() {
    const broken = yield* Deferred.make<never, Ended>()
    const ledger = yield* Effect.mapError(opened(path.join(data, "ledger.sqlite"), script), failed)
    const told = (error: unknown): void => Deferred.unsafeDone(broken, Effect.fail(failed(error)))
    const { address } = yield* Effect.mapError(listen(ledger, { host, port }, told), failed)
    yield* Console.log(`ledger of ${ledger.setting.participantId} on ${address}, at offset ${ledger.offset}`)
    return yield* Deferred.await(broken)
  }))

const command = Cli.make("ledger", options, ({ data, host, port, script }) =>
  Effect.gen(function*() {
    if (port < 0 || port > 65_535) return yield* Effect.fail(usage("--port is between 0 and 65535"))
    const rules = Option.isNone(script) ? [] : yield* readScript(script.value)
    return yield* serve(host, port, data, rules)
  })).pipe(Cli.withDescription("Serves the development ledger"))

runTool(command, "ledger", {
  args: process.argv,
  isFollowing: true,
  isServer: true,
  exitCodes: {
    0: "stopped as asked",
    1: "the address or the file cannot be had, or nothing can be kept any more",
    3: "the command line or the script is wrong"
  }
})
