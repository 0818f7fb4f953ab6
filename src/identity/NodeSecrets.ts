/** Secrets that a development venue makes for itself: kept in its data directory, readable by its owner only. */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as NodeDirectory from "../NodeDirectory.js"

/** A secret could not be read or stored. */
export class SecretUnavailable extends Schema.TaggedError<SecretUnavailable>()("SecretUnavailable", {
  file: Schema.String,
  cause: Schema.Defect
}) {
  override get message() {
    return `${this.file} could not be read or written: ${String(this.cause)}`
  }
}

/** The file that `npm run venue` reads the operator token from. */
export const operatorTokenFile = "operator-token"
export const signerSecretFile = "signer-secret"

/** The directory of the keys of a signer in the venue's process, sealed with that secret. */
export const keysDirectory = "signer"

/**
 * The secret stored under a name, created at the first start: 32 random bytes, base64url, mode 0600. The complete file is linked into
 * place, so that two processes that start at once read the same secret.
 */
export const keep = (dataDir: string, name: string): Effect.Effect<string, SecretUnavailable> =>
  Effect.try({
    try: () => {
      const file = path.join(dataDir, name)
      NodeDirectory.make(dataDir)
      if (!fs.existsSync(file)) {
        const unfinished = `${file}.${process.pid}.tmp`
        fs.writeFileSync(unfinished, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "w", flush: true })
        try {
          fs.linkSync(unfinished, file)
        } catch (cause) {
          if (!(cause instanceof Error && "code" in cause && cause.code === "EEXIST")) throw cause
        } finally {
          fs.unlinkSync(unfinished)
        }
      }
      return fs.readFileSync(file, "utf8").trim()
    },
    catch: (cause) => new SecretUnavailable({ file: path.join(dataDir, name), cause })
  })
