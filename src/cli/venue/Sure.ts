/** Asks whoever sits at the terminal before what cannot be taken back. */
import * as Prompt from "@effect/cli/Prompt"
import * as Effect from "effect/Effect"
import { Ended, usage } from "../Exit.js"
import { refusedCode } from "./Against.js"

/** Goes on where the person says so. `does` is what the task does unasked with `--yes`, `undone` what is said where they do not. */
export const beSure = (message: string, does: string, undone: string) =>
  Effect.gen(function*() {
    if (!process.stdin.isTTY) return yield* usage(`${message}\nnobody can be asked here: --yes ${does} without asking`)
    const sure = yield* Prompt.confirm({ message, initial: false }).pipe(
      Effect.catchTag("QuitException", () => Effect.succeed(false))
    )
    if (!sure) return yield* new Ended({ code: refusedCode, text: undone })
  })
