/** How a command line tool runs: its help, its parser and its exit code. */
import type * as CliApp from "@effect/cli/CliApp"
import * as Cli from "@effect/cli/Command"
import type * as Descriptor from "@effect/cli/CommandDescriptor"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { programVersion } from "../domain/Version.js"
import { runMain } from "../NodeMain.js"
import { bugCode, type Ended, interruptedCode, settle, teardown, teardownOfFollowing, usage } from "./Exit.js"
import * as Help from "./Help.js"
import * as NodeTerminal from "./NodeTerminal.js"
import { printed } from "./Visible.js"

interface Options {
  /** The commands by group; those outside any group are under the empty name. Absent where the tool has no commands. */
  readonly groups?: Readonly<Record<string, ReadonlyArray<{ readonly descriptor: Descriptor.Command<unknown> }>>>
  /** What each exit code means, for the help. */
  readonly exitCodes: Help.Tool["exitCodes"]
  /** Whether the tool normally runs until it is interrupted. */
  readonly isFollowing: boolean
  /** Whether it serves others, so that it goes on where nobody reads its output any more. */
  readonly isServer?: boolean
  /** The command line as the parser gets it. */
  readonly args: ReadonlyArray<string>
}

/** Removes the parser's colours where the output is no terminal, and escapes invisible characters everywhere. */
const plainly = (console: Console.Console): Console.Console => {
  const { unsafe } = console
  const said = (stream: NodeJS.WriteStream, say: (...words: ReadonlyArray<unknown>) => void) => (...words: ReadonlyArray<unknown>): void =>
    say(...words.map((word) => typeof word !== "string" ? word : printed(stream.isTTY ? word : Help.plain(word))))
  const [log, error] = [said(process.stdout, unsafe.log), said(process.stderr, unsafe.error)]
  return {
    ...console,
    log: (...words) => Effect.sync(() => log(...words)),
    error: (...words) => Effect.sync(() => error(...words)),
    unsafe: { ...unsafe, log, error }
  }
}

/** What a shell tells of a program whose reader has gone away. It is not 0: nobody knows what the rest would have said. */
const readerGoneCode = 141

/** The exit codes of every tool beside its own. One that serves goes on until it is interrupted, whoever reads its output. */
const commonCodes = (isServer: boolean): Help.Tool["exitCodes"] => ({
  [bugCode]: "an internal error",
  ...(isServer ? {} : {
    [interruptedCode]: "interrupted; 0 with --follow",
    [readerGoneCode]: "nobody reads the output any more, as before `| head`"
  })
})

/** Ends the process without a word where nobody reads its output any more, as where it is piped to `head`. */
const endWithReader = (error: NodeJS.ErrnoException): void => {
  if (error.code !== "EPIPE") throw error
  process.exit(readerGoneCode)
}

/** Runs a tool as this process. */
export const runTool = <Name extends string, E extends Ended, A>(
  command: Cli.Command<Name, CliApp.CliApp.Environment, E, A>,
  name: string,
  { args, exitCodes, groups = {}, isFollowing, isServer = false }: Options
): void => {
  // A process may run a tool several times.
  if (!isServer && !process.stdout.listeners("error").includes(endWithReader)) process.stdout.on("error", endWithReader)
  const descriptors = Object.entries(groups).map(([group, commands]) => [group, commands.map(({ descriptor }) => descriptor)] as const)
  const tool: Help.Tool = {
    name,
    version: programVersion,
    command: command.descriptor,
    groups: Object.fromEntries(descriptors),
    exitCodes: { ...exitCodes, ...commonCodes(isServer) }
  }
  const words = args.slice(2)
  const unnamed = Help.unnamed(tool, words)
  const ran = Help.isAsked(tool, words)
    ? Effect.as(Console.log(Help.lines(tool, words).join("\n")), 0)
    : settle(unnamed === undefined ? Cli.run(command, { name, version: programVersion })(args) : Effect.fail(usage(unnamed)))
  runMain(
    Effect.provide(Effect.flatMap(Effect.console, (console) => Effect.withConsole(ran, plainly(console))), NodeTerminal.layer),
    { teardown: isFollowing ? teardownOfFollowing : teardown, disableErrorReporting: true, disablePrettyLogger: isFollowing }
  )
}
