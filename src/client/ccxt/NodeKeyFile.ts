/**
 * API keys in a file of the user's own: `venue connect` stores them there and programs read them, so that no key appears on a command line,
 * on a screen or in a program. JSON: `{"keys": [{url, name, accountId, keyId, scopes, expiresAtEpochMs, apiKey}]}`.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** A key with its venue and its terms. */
export interface StoredKey {
  /** The venue's URL, without a trailing slash. */
  readonly url: string
  /** The user's name for it, unique for each venue. */
  readonly name: string
  readonly accountId: string
  readonly keyId: string
  readonly scopes: ReadonlyArray<string>
  readonly expiresAtEpochMs: number
  readonly apiKey: string
}

/** The default key file. */
export const defaultKeyFile = (environment: Readonly<Record<string, string | undefined>> = process.env): string =>
  path.join(environment["XDG_CONFIG_HOME"] ?? path.join(os.homedir(), ".config"), "perpetuum", "keys.json")

const members = ["url", "name", "accountId", "keyId", "apiKey"] as const

const isStoredKey = (value: unknown): value is StoredKey => {
  if (typeof value !== "object" || value === null) return false
  const key = value as Readonly<Record<string, unknown>>
  return members.every((member) => typeof key[member] === "string") && Array.isArray(key["scopes"])
    && Number.isSafeInteger(key["expiresAtEpochMs"])
}

/** The keys in a file; empty where there is no file. Throws where the file has another format. */
export const readKeys = (file: string): ReadonlyArray<StoredKey> => {
  if (!fs.existsSync(file)) return []
  const parsed: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
  const keys = typeof parsed === "object" && parsed !== null && "keys" in parsed ? parsed.keys : undefined
  if (!Array.isArray(keys) || !keys.every(isStoredKey)) throw new Error(`${file} is no file of API keys`)
  return keys
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "")

/** The API key of a venue, for `new Perpetuum({ apiKey, baseURL })`. Throws where the file has none, with the command that obtains one. */
export const apiKeyOf = (url: string, name: string = "default", file: string = defaultKeyFile()): string => {
  const found = readKeys(file).find((key) => key.url === withoutSlash(url) && key.name === name)
  if (found === undefined) {
    throw new Error(`${file} has no key "${name}" of ${url}: npm run venue -- connect --url ${withoutSlash(url)} --name ${name}`)
  }
  return found.apiKey
}
