/** The configured platform of workloads: its keys and accounts, from files, URLs and lists. Errors name the setting. */
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { JSONWebKeySet } from "jose"
import * as fs from "node:fs"
import * as NodeWorkloadIdentity from "./NodeWorkloadIdentity.js"
import { layerNone, type WorkloadIdentity, type WorkloadSetting } from "./WorkloadIdentity.js"

const AccountId = Schema.String.pipe(Schema.pattern(/^acc_[0-9a-z]+$/))
const Accounts = Schema.parseJson(Schema.Record({ key: Schema.String, value: AccountId }))
const KeySet = Schema.parseJson(Schema.Struct({
  keys: Schema.Array(Schema.Struct({ kty: Schema.String }, { key: Schema.String, value: Schema.Unknown })).pipe(Schema.minItems(1))
}))

const refuse = (name: string, message: string): ConfigError.ConfigError => ConfigError.InvalidData([name], message)

const read = (name: string, file: string): Effect.Effect<string, ConfigError.ConfigError> =>
  Effect.try({ try: () => fs.readFileSync(file, "utf8"), catch: (cause) => refuse(name, `${file} cannot be read: ${String(cause)}`) })

const isLocal = ({ hostname }: URL): boolean => ["localhost", "127.0.0.1", "[::1]"].includes(hostname)

const keysOf = (jwks: string): Effect.Effect<NodeWorkloadIdentity.Platform["keys"], ConfigError.ConfigError> => {
  if (/^https?:\/\//.test(jwks)) {
    const url = URL.canParse(jwks) ? new URL(jwks) : undefined
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

/** `subject=acc_...,subject=acc_...`: everything before the last `=` is the subject. */
const listed = (text: string): Either.Either<ReadonlyMap<string, string>, ConfigError.ConfigError> => {
  const pairs = text.split(",").map((pair) => /^(.+)=(acc_[0-9a-z]+)$/.exec(pair.trim()))
  return pairs.every((pair) => pair !== null)
    ? Either.right(new Map(pairs.map(([, subject, accountId]) => [subject!, accountId!])))
    : Either.left(refuse("WORKLOAD_ACCOUNTS", "must be a list of subject=acc_..., parted by commas, or a JSON file of the same"))
}

const accountsOf = (accounts: string): Effect.Effect<ReadonlyMap<string, string>, ConfigError.ConfigError> =>
  // A file that is there may have a = in its name.
  accounts.includes("=") && !fs.existsSync(accounts)
    ? listed(accounts)
    : Effect.flatMap(read("WORKLOAD_ACCOUNTS", accounts), (text) =>
      Either.match(Schema.decodeUnknownEither(Accounts)(text), {
        onLeft: () => Effect.fail(refuse("WORKLOAD_ACCOUNTS", `${accounts} is no JSON object of subjects and their acc_...`)),
        onRight: (bound) => Effect.succeed(new Map(Object.entries(bound)))
      }))

export const layer = (setting: WorkloadSetting | undefined): Layer.Layer<WorkloadIdentity, ConfigError.ConfigError> =>
  setting === undefined ? layerNone : Layer.unwrapEffect(Effect.gen(function*() {
    const { audience, issuer } = setting
    const keys = yield* keysOf(setting.jwks)
    const accounts = yield* accountsOf(setting.accounts)
    return NodeWorkloadIdentity.layer({ keys, issuer, audience, accounts })
  }))
