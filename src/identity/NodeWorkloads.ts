/** The configured platform of workloads: its keys and accounts, from files, URLs and lists. Errors name the setting. */
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { JSONWebKeySet } from "jose"
import * as fs from "node:fs"
import { givenTwice } from "../domain/GivenTwice.js"
import * as NodeWorkloadIdentity from "./NodeWorkloadIdentity.js"
import { layerNone, type WorkloadIdentity, type WorkloadSetting } from "./WorkloadIdentity.js"

const AccountId = Schema.String.pipe(Schema.pattern(/^acc_[0-9a-z]+$/))
const AccountsFile = Schema.parseJson(Schema.Record({ key: Schema.String, value: AccountId }))
const KeySet = Schema.parseJson(Schema.Struct({
  keys: Schema.Array(Schema.Struct({ kty: Schema.String }, { key: Schema.String, value: Schema.Unknown })).pipe(Schema.minItems(1))
}))

/** JSON's texts, and the colon behind those that are names of members. */
const jsonText = /("(?:[^"\\]|\\.)*")\s*(:?)/g

/** Of an object in JSON whose values are texts: a name that occurs in it twice, of which `JSON.parse` keeps the last alone. */
const nameGivenTwice = (json: string): string | undefined => {
  const names = [...json.matchAll(jsonText)].flatMap(([, text, colon]) => colon === "" ? [] : [String(JSON.parse(text!))])
  return givenTwice(names)
}

const refuse = (name: string, message: string): ConfigError.ConfigError => ConfigError.InvalidData([name], message)

const read = (name: string, file: string): Effect.Effect<string, ConfigError.ConfigError> =>
  Effect.try({ try: () => fs.readFileSync(file, "utf8"), catch: (cause) => refuse(name, `${file} cannot be read: ${String(cause)}`) })

const isLocal = ({ hostname }: URL): boolean => ["localhost", "127.0.0.1", "[::1]"].includes(hostname)

const keysOf = (jwks: string): Effect.Effect<NodeWorkloadIdentity.Platform["keys"], ConfigError.ConfigError> => {
  if (/^https?:\/\//.test(jwks)) {
    const url = URL.canParse(jwks) ? new URL(jwks) : undefined
    // Such an address is never asked: `fetch` refuses it, so that no bot would ever get a key.
    if (url !== undefined && url.username + url.password !== "") {
      return Effect.fail(refuse("WORKLOAD_JWKS", "must be a URL without a user and a password: the keys are public"))
    }
    return url !== undefined && (url.protocol === "https:" || isLocal(url))
      ? Effect.succeed({ url: jwks })
      : Effect.fail(refuse("WORKLOAD_JWKS", "must be an https URL, but in the machine itself, or a file"))
  }
  return Effect.flatMap(read("WORKLOAD_JWKS", jwks), (text) =>
    Either.match(Schema.decodeUnknownEither(KeySet)(text), {
      onLeft: () => Effect.fail(refuse("WORKLOAD_JWKS", `${jwks} is no JSON Web Key Set with a key`)),
      onRight: (set) => Effect.succeed({ set: set as unknown as JSONWebKeySet })
    }))
}

type Accounts = ReadonlyMap<string, string>

/** A key that trades would go to whichever of a subject's accounts stands last. */
const bound = (pairs: Accounts, twice: string | undefined): Effect.Effect<Accounts, ConfigError.ConfigError> =>
  twice === undefined ? Effect.succeed(pairs) : Effect.fail(refuse("WORKLOAD_ACCOUNTS", `gives the subject ${twice} more than once`))

/** `subject=acc_...,subject=acc_...`: everything before the last `=` is the subject. */
const listed = (text: string): Effect.Effect<Accounts, ConfigError.ConfigError> => {
  const pairs = text.split(",").map((pair) => /^(.+)=(acc_[0-9a-z]+)$/.exec(pair.trim()))
  if (!pairs.every((pair) => pair !== null)) {
    return Effect.fail(refuse("WORKLOAD_ACCOUNTS", "must be a list of subject=acc_..., parted by commas, or a JSON file of the same"))
  }
  return bound(new Map(pairs.map(([, subject, accountId]) => [subject!, accountId!])), givenTwice(pairs.map(([, subject]) => subject!)))
}

const accountsOf = (accounts: string): Effect.Effect<Accounts, ConfigError.ConfigError> =>
  // A file that is there may have a = in its name.
  accounts.includes("=") && !fs.existsSync(accounts)
    ? listed(accounts)
    : Effect.flatMap(read("WORKLOAD_ACCOUNTS", accounts), (text) =>
      Either.match(Schema.decodeUnknownEither(AccountsFile)(text), {
        onLeft: () => Effect.fail(refuse("WORKLOAD_ACCOUNTS", `${accounts} is no JSON object of subjects and their acc_...`)),
        onRight: (pairs) => bound(new Map(Object.entries(pairs)), nameGivenTwice(text))
      }))

export const layer = (setting: WorkloadSetting | undefined): Layer.Layer<WorkloadIdentity, ConfigError.ConfigError> =>
  setting === undefined ? layerNone : Layer.unwrapEffect(Effect.gen(function*() {
    const { audience, issuer } = setting
    const keys = yield* keysOf(setting.jwks)
    const accounts = yield* accountsOf(setting.accounts)
    return NodeWorkloadIdentity.layer({ keys, issuer, audience, accounts })
  }))
