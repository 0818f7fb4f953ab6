/**
 * The passkey verifier, with a promise for the proofs in progress. The system's own threads verify proofs, so a test that lets a
 * venue's turns pass waits for this promise and not for a period of time.
 */
import { Context, Effect, Layer } from "effect"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import { PasskeyVerifier } from "../../src/identity/PasskeyVerifier.js"

export class Proofs {
  private readonly begun = new Set<Promise<void>>()

  /** The verifier, whose proofs are tracked here while they are being verified. */
  readonly layer: Layer.Layer<PasskeyVerifier> = Layer.map(NodePasskeyVerifier.layer, (context) => {
    const { asserted, registered } = Context.get(context, PasskeyVerifier)
    return Context.make(PasskeyVerifier, {
      registered: (...asked) => this.known(registered(...asked)),
      asserted: (...asked) => this.known(asserted(...asked))
    })
  })

  private known<A, E>(proof: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      let end = (): void => {}
      const ended = new Promise<void>((resolve) => {
        end = resolve
      })
      this.begun.add(ended)
      return Effect.ensuring(
        proof,
        Effect.sync(() => {
          this.begun.delete(ended)
          end()
        })
      )
    })
  }

  /** Resolves when every proof in progress has been verified; undefined where there is none. */
  ended(): Promise<unknown> | undefined {
    return this.begun.size === 0 ? undefined : Promise.all(this.begun)
  }
}
