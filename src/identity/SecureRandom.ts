/** Randomness that nobody can predict: the only source of ids and secrets born at the edge. */
import * as Context from "effect/Context"

export class SecureRandom extends Context.Tag("venue/identity/SecureRandom")<SecureRandom, {
  /** That many bytes. */
  readonly bytes: (count: number) => Uint8Array
}>() {}
