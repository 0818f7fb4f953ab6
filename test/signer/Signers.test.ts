/** The suite for signers, over the one in the venue's process, the simulated one, and the one that is a process of its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"
import { signerContract } from "../contracts/SignerContract.js"
import { over, storeIn, temporary } from "./Directory.js"
import { start } from "./SignerProcess.js"

signerContract("the embedded signer", Effect.map(temporary, (directory) => ({ start: Effect.suspend(() => over(storeIn(directory))) })))

signerContract("a signer over simulated keys", Effect.sync(() => {
  const keys = new SimKeyStore()
  return { start: Effect.suspend(() => over(keys.layer)) }
}))

signerContract("the signer as a process", Effect.gen(function*() {
  const directory = yield* temporary
  // The file's header sets the cost of a guess at the secret: made here with a low one, so that starts are fast.
  yield* Effect.orDie(Effect.scoped(Layer.build(storeIn(directory))))
  return { start: Effect.map(start(directory), ({ signer }) => signer) }
}))
