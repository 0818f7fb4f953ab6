/**
 * `npm run replay`: answers questions about a journal by running it again, from a data directory or from an incident bundle. Only reads,
 * and may run beside a venue.
 *
 * Exit codes: 0 done; 1 replay differs from the journal, the bundle or a snapshot, an invariant is broken, or a statement does not add up;
 * 2 the journal, the bundle or a snapshot is damaged, of another version, or cannot be read; 3 the command line is wrong, or names
 * something that the journal does not know.
 */
import * as Cli from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { options } from "./replay/Options.js"
import { runTool } from "./Tool.js"

// Its help is shown without loading the replay code.
const command = Cli.make(
  "replay",
  options,
  (parsed) => Effect.flatMap(Effect.promise(() => import("./replay/Replaying.js")), ({ replay }) => replay(parsed))
).pipe(Cli.withDescription("What a journal or a bundle says, by running it again. Reads only, also beside a running venue."))

/** `--diff SEQUENCE` as `--diff --snapshot SEQUENCE`: the parser would read a 1 after a flag as true. */
const spelledOut = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.flatMap((arg, index) => args[index - 1] === "--diff" && /^[0-9]+$/.test(arg) ? ["--snapshot", arg] : [arg])

runTool(command, "replay", {
  args: spelledOut(process.argv),
  isFollowing: false,
  exitCodes: {
    0: "done",
    1: "replay differs from the journal, the bundle or a snapshot, an invariant is broken, or a statement does not add up",
    2: "the journal, the bundle or a snapshot is damaged, of another version, or cannot be read",
    3: "the command line or a setting is wrong, or names what the journal does not know"
  }
})
