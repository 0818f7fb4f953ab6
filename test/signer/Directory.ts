/** Directories of keys, removed when the scope closes, and embedded signers over them. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as NodePasskeyVerifier from "../../src/identity/NodePasskeyVerifier.js"
import type { KeyStore, StoreRefused } from "../../src/signer/KeyStore.js"
import * as NodeKeyStore from "../../src/signer/NodeKeyStore.js"
import { PartySigner } from "../../src/signer/PartySigner.js"
import * as Signer from "../../src/signer/Signer.js"
import { custody, limits, origin, rpId, type Service } from "./Desk.js"
import { secret } from "./SignerProcess.js"

export const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "signer-"))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

export const settings: Signer.Settings = { custody, limits, site: { publicOrigin: origin, rpId } }

/** Cheap to guess, so the tests are fast. */
const costLog2 = 10

export const storeIn = (
  directory: string,
  withSecret = secret,
  environment?: string,
  isEnvironmentSet = true
): Layer.Layer<KeyStore, StoreRefused> =>
  NodeKeyStore.layer({
    directory,
    secret: Redacted.make(withSecret),
    costLog2,
    ...(environment === undefined ? {} : { environment, isEnvironmentSet })
  })

/** A signer in this process over a store. */
export const over = (store: Layer.Layer<KeyStore, StoreRefused>, by = settings): Effect.Effect<Service, StoreRefused, Scope.Scope> =>
  Effect.map(
    Layer.build(Signer.layer(by).pipe(Layer.provide(Layer.merge(store, NodePasskeyVerifier.layer)))),
    (context) => Context.get(context, PartySigner)
  )
