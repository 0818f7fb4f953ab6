/** Asks for confirmation at the terminal before something that cannot be undone. */
import * as Prompt from "@effect/cli/Prompt"
import * as Effect from "effect/Effect"
import { Ended, usage } from "../Exit.js"
import { refusedCode } from "./Against.js"

/** Continues if the person agrees. `does` names what `--yes` would do without asking, `undone` is the message where the person declines. */
export const beSure = (message: string, does: string, undone: string) =>
  Effect.gen(function*() {
    if (!process.stdin.isTTY) return yield* usage(`${message}\nnobody can be asked here: --yes ${does} without asking`)
    const sure = yield* Prompt.confirm({ message, initial: false }).pipe(
      Effect.catchTag("QuitException", () => Effect.succeed(false))
    )
    if (!sure) return yield* new Ended({ code: refusedCode, text: undone })
  })
