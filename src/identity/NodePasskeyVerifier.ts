/**
 * `PasskeyVerifier` by a library that is only loaded for the first proof: it is large, and takes a tenth of the start of a process in which
 * nobody may ever sign in.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { PasskeyVerifier, Unproven } from "./PasskeyVerifier.js"

/** Where it cannot be loaded, that is a defect of the program, and says nothing about any proof. */
const loaded = Effect.promise(() => import("./NodeWebAuthn.js"))

/** The library's error describes the response, so it is only logged; the sender is told the reason alone. */
const attempt = <A>(reason: string, evaluate: (by: Effect.Effect.Success<typeof loaded>) => Promise<A>): Effect.Effect<A, Unproven> =>
  Effect.flatMap(loaded, (by) => Effect.tryPromise(() => evaluate(by))).pipe(
    Effect.tapError(({ error }) => Effect.logDebug(reason, error)),
    Effect.mapError(() => new Unproven(reason))
  )

export const layer: Layer.Layer<PasskeyVerifier> = Layer.succeed(PasskeyVerifier, {
  registered: (...given) => attempt("The registration does not hold.", ({ registered }) => registered(...given)),
  asserted: (...given) => attempt("The assertion does not hold.", ({ asserted }) => asserted(...given))
})
