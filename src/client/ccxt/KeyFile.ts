/**
 * API keys in a file of the user's own: `venue connect` puts them there, and programs take them from there, so that no key is
 * ever on a command line, on a screen or in a program. JSON: `{"keys": [{url, name, accountId, keyId, scopes, expiresAtEpochMs, apiKey}]}`.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** A key, of which venue, and what it was asked for as. */
export interface StoredKey {
  /** Where the venue is, without a slash at the end. */
  readonly url: string
  /** What its user calls it: one for each venue and name. */
  readonly name: string
  readonly accountId: string
  readonly keyId: string
  readonly scopes: ReadonlyArray<string>
  readonly expiresAtEpochMs: number
  readonly apiKey: string
}

/** Where keys are unless another file is named. */
export const defaultKeyFile = (environment: Readonly<Record<string, string | undefined>> = process.env): string =>
  path.join(environment["XDG_CONFIG_HOME"] ?? path.join(os.homedir(), ".config"), "perpetuum", "keys.json")

const members = ["url", "name", "accountId", "keyId", "apiKey"] as const

const isStoredKey = (value: unknown): value is StoredKey => {
  if (typeof value !== "object" || value === null) return false
  const key = value as Readonly<Record<string, unknown>>
  return members.every((member) => typeof key[member] === "string") && Array.isArray(key["scopes"])
    && Number.isSafeInteger(key["expiresAtEpochMs"])
}

/** The keys of a file; none where there is no file. Throws where it is not one of keys. */
export const readKeys = (file: string): ReadonlyArray<StoredKey> => {
  if (!fs.existsSync(file)) return []
  const parsed: unknown = JSON.parse(fs.readFileSync(file, "utf8"))
  const keys = typeof parsed === "object" && parsed !== null && "keys" in parsed ? parsed.keys : undefined
  if (!Array.isArray(keys) || !keys.every(isStoredKey)) throw new Error(`${file} is no file of API keys`)
  return keys
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, "")

/** The API key of a venue, for `new Perpetuum({ apiKey, baseURL })`. Throws where the file has none, with the command that gets one. */
export const apiKeyOf = (url: string, name: string = "default", file: string = defaultKeyFile()): string => {
  const found = readKeys(file).find((key) => key.url === withoutSlash(url) && key.name === name)
  if (found === undefined) {
    throw new Error(`${file} has no key "${name}" of ${url}: npm run venue -- connect --url ${withoutSlash(url)} --name ${name}`)
  }
  return found.apiKey
}
