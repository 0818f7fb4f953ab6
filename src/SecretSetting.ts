/** Settings that are secrets: checks their length, and for those sent as bearer tokens, that they can be sent unchanged. */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import type * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { filled } from "./SettingTexts.js"

const optional = (name: string, faultOf: (value: string) => string | undefined): Config.Config<Option.Option<Redacted.Redacted>> =>
  Config.option(
    filled(name).pipe(
      Config.map(Redacted.make<string>),
      Config.mapOrFail((secret) => {
        const fault = faultOf(Redacted.value(secret))
        return fault === undefined ? Either.right(secret) : Either.left(ConfigError.InvalidData([name], fault))
      })
    )
  )

/** Fewest characters of what the venue is protected with, whether it is set or kept in a file. */
const shortestSecret = 16

const faultOfLength = (value: string, shortest: number): string | undefined =>
  value.length < shortest ? `must have at least ${shortest}` : undefined

/** What is wrong with a secret from which keys are derived. */
export const faultOfSecret = (value: string): string | undefined => faultOfLength(value, shortestSecret)

/** A secret from which keys are derived: all characters are allowed, and all of them count. */
export const optionalSecret = (name: string): Config.Config<Option.Option<Redacted.Redacted>> => optional(name, faultOfSecret)

/** A header cannot carry other characters, and its reader may trim white space at the ends: then no token would ever match. */
const faultOfBearer = (value: string): string | undefined => {
  if (/^[\x21-\x7e]+$/.test(value)) return undefined
  const rule = "must be visible ASCII characters without spaces, as it is sent in a header"
  return /[\r\n]$/.test(value) ? `${rule}: it ends with a line break, as a file does that a secret is read from` : rule
}

/** What is wrong with a secret that is sent as a bearer token. */
export const faultOfToken = (value: string, shortest = shortestSecret): string | undefined =>
  faultOfLength(value, shortest) ?? faultOfBearer(value)

/** A secret that is sent as a bearer token. */
export const optionalBearer = (name: string, shortest = shortestSecret): Config.Config<Option.Option<Redacted.Redacted>> =>
  optional(name, (value) => faultOfToken(value, shortest))
