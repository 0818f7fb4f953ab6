/** What a listener serves for a signer. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import type { Application } from "../edge/http/Listener.js"
import * as SignerApplication from "../signer/SignerApplication.js"

/** Adapts the signer to the listener. */
export const applicationOf = (
  answer: (request: SignerApplication.Request) => Effect.Effect<SignerApplication.Response>,
  runtime: Runtime.Runtime<never>
): Application => ({
  handle: (request, reply) => {
    Runtime.runCallback(runtime)(answer(request), {
      onExit: (exit) => reply(Exit.isSuccess(exit) ? exit.value : SignerApplication.told(503, "the signer is stopping"))
    })
  },
  misframed: (reason) => SignerApplication.told(reason === "body_too_large" ? 413 : 400, "the request cannot be read")
})
