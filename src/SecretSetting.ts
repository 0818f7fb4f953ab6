/** Settings that are secrets: how long they are, and of those that are sent as a bearer, that they can be sent as they are. */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import type * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

const optional = (name: string, faultOf: (value: string) => string | undefined): Config.Config<Option.Option<Redacted.Redacted>> =>
  Config.option(
    Config.redacted(Config.nonEmptyString(name)).pipe(
      Config.mapOrFail((secret) => {
        const fault = faultOf(Redacted.value(secret))
        return fault === undefined ? Either.right(secret) : Either.left(ConfigError.InvalidData([name], fault))
      })
    )
  )

const faultOfLength = (value: string, shortest: number): string | undefined =>
  value.length < shortest ? `must have at least ${shortest}` : undefined

/** A secret that keys are made of: every one of its characters counts, whatever they are. */
export const optionalSecret = (name: string, shortest: number): Config.Config<Option.Option<Redacted.Redacted>> =>
  optional(name, (value) => faultOfLength(value, shortest))

/** A header has no other characters to its end, and whoever reads it may take those at its edges away: then no bearer would ever fit. */
const faultOfBearer = (value: string): string | undefined => {
  if (/^[\x21-\x7e]+$/.test(value)) return undefined
  const rule = "must be visible ASCII characters without spaces, as it is sent in a header"
  return /[\r\n]$/.test(value) ? `${rule}: it ends with a line break, as a file does that a secret is read from` : rule
}

/** A secret that is sent as a bearer. */
export const optionalBearer = (name: string, shortest: number): Config.Config<Option.Option<Redacted.Redacted>> =>
  optional(name, (value) => faultOfLength(value, shortest) ?? faultOfBearer(value))
