/** How the tools end: their last message, and an exit code for scripts. */
import { ValidationError } from "@effect/cli"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { DiskError } from "../journal/Disk.js"
import type { Corrupt, Unknown, Unreadable } from "../journal/Journal.js"

/** Ends a tool with a sentence on standard error and an exit code. */
export class Ended extends Data.TaggedError("Ended")<{ readonly code: number; readonly text: string }> {}

/** The command line or the settings are wrong. */
const usageCode = 3
/** The tool itself failed (sysexits' EX_SOFTWARE). */
export const bugCode = 70
export const interruptedCode = 130

/** A wrong command line. */
export const usage = (text: string): Ended => new Ended({ code: usageCode, text })

/** A command line that names a sequence behind the last record. */
export const behindEnd = (last: number): Ended => usage(`the journal ends at sequence ${last}`)

/** The journal, or something beside it, is damaged or cannot be read. */
export const unreadableCode = 2

const putBack = "a segment of a copy (venue journal copy) goes to journal/ under its own name"

/**
 * What to do about damage. Restoring a backup loses the least, and a cut that drops whole segments the most: it is never suggested first.
 */
const wayOn = ({ missing, sequence }: Corrupt): string => {
  const cut = `npm run venue -- journal cut --at ${sequence} --data DIR`
  if (missing === "misplaced") return "nothing is to be cut: keep what is moved away until the venue has started without it"
  if (missing === "beginning") {
    return `nothing is to be cut: ${putBack}; where none has it, restore the newest copy as a whole, to a directory of its own`
  }
  if (missing === "between") {
    return `copy the data directory first; ${putBack}; `
      + `only where none has it, to give up everything from there on, whole segments too: ${cut}`
  }
  return `copy the data directory first; to give up everything from there on: ${cut}`
}

/** A journal that cannot be read, with a way to continue where there is one. */
export const unreadable = (error: Unreadable | Unknown | DiskError): Ended => {
  switch (error._tag) {
    case "JournalCorrupt":
      return new Ended({
        code: unreadableCode,
        text: `corrupt: ${error.message}\n${wayOn(error)}`
      })
    case "JournalNewerFormat":
    case "JournalOlderFormat":
    case "JournalReplaced":
      // Nothing is damaged, so there is nothing to cut.
      return new Ended({ code: unreadableCode, text: error.message })
    case "JournalUnknown":
      return new Ended({ code: unreadableCode, text: `the journal cannot be read: ${String(error.cause)}` })
    case "DiskError":
      return new Ended({ code: unreadableCode, text: error.message })
  }
}

/** How a tool ends, by the tag of the error, for every way in which a data directory's journal cannot be read. */
export const endedUnreadable = {
  JournalCorrupt: unreadable,
  JournalNewerFormat: unreadable,
  JournalOlderFormat: unreadable,
  JournalReplaced: unreadable,
  DiskError: unreadable
} as const

/** A journal of which its end is missing, as its newest snapshot shows, or the state of its last step. */
export const missingEnd = ({ message }: { readonly message: string }): Ended =>
  new Ended({ code: unreadableCode, text: `incomplete: ${message}` })

/** A tool's exit code. An `Ended` is printed here; the parser has already printed a wrong command line. */
export const settle = <R>(
  tool: Effect.Effect<void, Ended | ValidationError.ValidationError, R>
): Effect.Effect<number, never, R> =>
  tool.pipe(
    Effect.as(0),
    Effect.catchAll((error) =>
      ValidationError.isValidationError(error)
        ? Effect.succeed(usageCode)
        : Effect.as(Console.error(error.text), error.code)
    )
  )

/** The teardown of a tool that runs until it is interrupted: an interrupt is its normal end. */
export const teardownOfFollowing = <E, A>(exit: Exit.Exit<E, A>, onExit: (code: number) => void): void =>
  teardown(exit, (code) => onExit(code === interruptedCode ? 0 : code))

/** Ends the process with the exit code from `settle`. */
export const teardown = <E, A>(exit: Exit.Exit<E, A>, onExit: (code: number) => void): void => {
  if (Exit.isSuccess(exit)) return onExit(typeof exit.value === "number" ? exit.value : 0)
  if (Cause.isInterruptedOnly(exit.cause)) return onExit(interruptedCode)
  process.stderr.write(`${Cause.pretty(exit.cause)}\n`)
  onExit(bugCode)
}
