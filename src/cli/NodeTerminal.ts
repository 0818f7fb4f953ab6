/** The services that the command line's parser needs: the terminal, for its prompts. It touches no files. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Terminal from "@effect/platform/Terminal"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Option from "effect/Option"
import * as readline from "node:readline"

/** The keyboard, key by key, for as long as the scope is open. */
const keyboard = Effect.acquireRelease(
  Effect.sync(() => {
    const lines = readline.createInterface({ input: process.stdin, escapeCodeTimeout: 50 })
    readline.emitKeypressEvents(process.stdin, lines)
    if (process.stdin.isTTY) process.stdin.setRawMode(true)
    return lines
  }),
  (lines) =>
    Effect.sync(() => {
      if (process.stdin.isTTY) process.stdin.setRawMode(false)
      lines.close()
    })
)

const isQuit = ({ key: { ctrl, name } }: Terminal.UserInput): boolean => ctrl && (name === "c" || name === "d")

const readInput = Effect.gen(function*() {
  yield* keyboard
  const keys = yield* Mailbox.make<Terminal.UserInput>()
  const press = (text: string | undefined, key: readline.Key): void => {
    const { ctrl = false, meta = false, name = "", shift = false } = key
    const input = { input: Option.fromNullable(text), key: { name, ctrl, meta, shift } }
    keys.unsafeOffer(input)
    if (isQuit(input)) keys.unsafeDone(Exit.void)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => process.stdin.on("keypress", press)),
    () => Effect.sync(() => process.stdin.off("keypress", press))
  )
  return keys
})

const readLine = Effect.scoped(Effect.flatMap(keyboard, (lines) =>
  Effect.async<string>((resume) => {
    const told = (line: string): void => resume(Effect.succeed(line))
    lines.once("line", told)
    return Effect.sync(() => lines.off("line", told))
  })))

const terminal = Terminal.Terminal.of({
  columns: Effect.sync(() => process.stdout.columns ?? 0),
  rows: Effect.sync(() => process.stdout.rows ?? 0),
  isTTY: Effect.sync(() => process.stdout.isTTY),
  readInput,
  readLine,
  display: (text) => Effect.sync(() => void process.stdout.write(text))
})

export const layer: Layer.Layer<Terminal.Terminal | FileSystem.FileSystem | Path.Path> = Layer.mergeAll(
  Layer.succeed(Terminal.Terminal, terminal),
  FileSystem.layerNoop({}),
  Path.layer
)
