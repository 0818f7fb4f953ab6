/** The TLS files of a listener. Problems are reported in a sentence that names the setting. */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as tls from "node:tls"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"

/** A certificate with its chain, and its private key, both PEM. */
export interface Tls {
  readonly cert: string
  readonly key: string
}

/** Names of the settings. */
const certSetting = "TLS_CERT"
const keySetting = "TLS_KEY"

const attempt = <A>(setting: string, make: () => A, fault: (cause: unknown) => string): Effect.Effect<A, ConfigError.ConfigError> =>
  Effect.try({ try: make, catch: (cause) => ConfigError.InvalidData([setting], fault(cause)) })

/** The library's reason for refusing a certificate, which contains no part of it. */
const reasonOf = (cause: unknown): string =>
  cause instanceof Error && "reason" in cause && typeof cause.reason === "string" ? cause.reason : "it is not taken"

/** Reads both files, and refuses those that cannot be served: no PEM, a damaged chain, or a key of another certificate. */
export const load = (certFile: string, keyFile: string): Effect.Effect<Tls, ConfigError.ConfigError> =>
  Effect.gen(function*() {
    const cert = yield* attempt(certSetting, () => fs.readFileSync(certFile, "utf8"),
      (cause) => `${certFile} cannot be read: ${String(cause)}`)
    const key = yield* attempt(keySetting, () => fs.readFileSync(keyFile, "utf8"), (cause) => `${keyFile} cannot be read: ${String(cause)}`)
    const certificate = yield* attempt(certSetting, () => new crypto.X509Certificate(cert), () => `${certFile} is no certificate in PEM`)
    const secret = yield* attempt(keySetting, () => crypto.createPrivateKey(key),
      () => `${keyFile} is no private key in PEM, or has a passphrase`)
    if (!certificate.checkPrivateKey(secret)) {
      return yield* Effect.fail(ConfigError.InvalidData([keySetting], `${keyFile} is not the key of the certificate in ${certFile}`))
    }
    // So far only the first certificate was read; a listener reads the whole chain.
    yield* attempt(certSetting, () => tls.createSecureContext({ cert, key }),
      (cause) => `${certFile} cannot be served, for its certificate or one that vouches for it: ${reasonOf(cause)}`)
    return { cert, key }
  })
