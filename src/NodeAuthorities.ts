/**
 * Checks the file of `NODE_EXTRA_CA_CERTS`, which Node reads by itself: where that is missing or holds no certificate, Node goes on without
 * it, and neither signer nor participant could be reached.
 */
import * as crypto from "node:crypto"
import * as fs from "node:fs"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { filled } from "./SettingTexts.js"

const setting = "NODE_EXTRA_CA_CERTS"

const certificate = /-----BEGIN (?:X509 )?CERTIFICATE-----/

const inPem = "must be a file of certificates in PEM"

const refused = (fault: string) => (): ConfigError.ConfigError => ConfigError.InvalidData([setting], fault)

const checkFile = (file: string): Effect.Effect<void, ConfigError.ConfigError> =>
  Effect.try({ try: () => fs.readFileSync(file), catch: refused("must be a file of certificates that can be read") }).pipe(
    // Node reads neither certificates in DER nor those of OpenSSL's own kind, and says nothing of the former.
    Effect.filterOrFail((bytes) => certificate.test(bytes.toString("latin1")), refused(inPem)),
    Effect.flatMap((bytes) => Effect.try({ try: () => new crypto.X509Certificate(bytes), catch: refused(inPem) })),
    Effect.asVoid
  )

/** Refuses a file that Node could not use. */
export const check: Effect.Effect<void, ConfigError.ConfigError> = Effect.flatMap(Config.option(filled(setting)),
  (file) => Option.isNone(file) ? Effect.void : checkFile(file.value))
