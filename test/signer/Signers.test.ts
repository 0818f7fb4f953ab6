/**
 * The suite for signers, over the one in the venue's process, the simulated one, and one over HTTP. That it is a process of its own is
 * tested in `Process.test.ts` and `Killed.test.ts`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SimKeyStore } from "../../sim/world/SimKeyStore.js"
import { applicationOf } from "../../src/cli/SignerListening.js"
import { Listener } from "../../src/edge/http/Listener.js"
import * as NodeListener from "../../src/edge/http/NodeListener.js"
import { mostBodyBytes } from "../../src/signer/Protocol.js"
import * as SignerApplication from "../../src/signer/SignerApplication.js"
import { signerContract } from "../contracts/SignerContract.js"
import { over, storeIn, temporary } from "./Directory.js"
import { signerAt, token } from "./SignerProcess.js"

signerContract("the embedded signer", Effect.map(temporary, (directory) => ({ start: Effect.suspend(() => over(storeIn(directory))) })))

signerContract("a signer over simulated keys", Effect.sync(() => {
  const keys = new SimKeyStore()
  return { start: Effect.suspend(() => over(keys.layer)) }
}))

/** A signer over a directory that is asked over HTTP, by the listener that its process has. */
const served = (directory: string) =>
  Effect.gen(function*() {
    const { serve } = Context.get(
      yield* Layer.build(NodeListener.layer({ ...NodeListener.defaults, host: "127.0.0.1", port: 0, bodyLimit: mostBodyBytes })),
      Listener
    )
    const answer = SignerApplication.make(yield* over(storeIn(directory)), Redacted.make(token))
    const { port } = yield* serve(applicationOf(answer, yield* Effect.runtime()))
    return yield* signerAt(`http://127.0.0.1:${port}`)
  })

signerContract("the signer over HTTP", Effect.map(temporary, (directory) => ({ start: served(directory) })))
