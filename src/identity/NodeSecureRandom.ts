/** `SecureRandom` from the operating system. */
import { randomBytes } from "node:crypto"
import * as Layer from "effect/Layer"
import { SecureRandom } from "./SecureRandom.js"

export const layer: Layer.Layer<SecureRandom> = Layer.succeed(SecureRandom, { bytes: (count) => randomBytes(count) })
