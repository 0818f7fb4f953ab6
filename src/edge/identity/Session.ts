/** A session as its owner sees it. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { assert } from "../../domain/Assert.js"
import { Refusal } from "../../domain/Refusal.js"
import * as SessionTokens from "../../identity/SessionTokens.js"
import type { Command } from "../../operations/Operations.js"
import type { Services } from "../http/Call.js"
import * as Errors from "../http/Errors.js"
import { fail } from "../http/Executor.js"
import * as Fields from "../http/Fields.js"
import * as Submission from "../http/Submission.js"

export const Session = Schema.Struct({
  version: Schema.Literal("session/v1"),
  accessToken: Fields.Text.annotations({ description: "Shown this once: send it as a bearer." }),
  tokenType: Schema.Literal("Bearer"),
  accountId: Fields.Text,
  expiresAtEpochMs: Fields.EpochMs
}).annotations({ identifier: "Session" })

/** Opens a session by the command made for its token; fails with the command's refusal. */
export const opened = (
  services: Services,
  make: (opening: { readonly tokenSha256: string }) => Command
): Effect.Effect<typeof Session.Type, Errors.Failure> =>
  Effect.suspend(() => {
    const token = SessionTokens.issue(services.identity.random.bytes)
    return Effect.flatMap(Submission.submitted(services, make({ tokenSha256: token.sha256 })), ({ entries: [entry] }) => {
      assert(entry?._tag === "SessionOpened", "signing in comes to a session")
      const session = services.state.findSession(token.sha256)
      // A following record may have ended it already: the owner has ended all others, or removed the passkey.
      if (session === undefined) return fail(Errors.refused(Refusal.sessionEnded))
      return Effect.succeed({
        version: "session/v1" as const,
        accessToken: token.text,
        tokenType: "Bearer" as const,
        accountId: services.state.accountId(entry.account),
        expiresAtEpochMs: session.expiresAtEpochMs
      })
    })
  })
