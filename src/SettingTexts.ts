/**
 * What an operator reads of a setting that is wrong: the variable, what it was, and what it may be, a sentence for each. What a
 * secret was is never said.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { secretSettings } from "./observe/SecretSettings.js"

/** A setting is wrong. The message is for the operator as it is. */
export class SettingRefused extends Data.TaggedError("SettingRefused")<{ readonly message: string }> {}

/** More of a value says no more. */
const mostCharacters = 120

/**
 * A credential in an address is a secret too. Whatever stands before its last @ may be of it, as a password that is not encoded has any
 * characters: rather too much is hidden.
 */
const withoutCredentials = (value: string): string => value.replace(/(:?\/\/)[^]*@|(:\/*)\S*@/, "$1$2...@")

const wasText = (name: string, value: string | undefined): string => {
  if (value === undefined || value === "") return "is not set"
  if (secretSettings.includes(name)) return `has ${value.length} ${value.length === 1 ? "character" : "characters"}`
  const shown = withoutCredentials(value)
  return `is ${JSON.stringify(shown.length > mostCharacters ? `${shown.slice(0, mostCharacters)}...` : shown)}`
}

/** A fault without what is hidden of the value, of which some repeat a part. */
const withoutHidden = (fault: string, value: string): string => {
  const shown = withoutCredentials(value)
  return fault.split(" ").map((word) => {
    const told = withoutCredentials(word)
    return told === word && value.includes(word) && !shown.includes(word) ? "..." : told
  }).join(" ")
}

/** What is wrong, without the name that some messages begin with, and without what is hidden of the value. */
const faultText = (name: string, message: string, value: string): string => {
  const fault = withoutHidden(message.startsWith(`${name} `) ? message.slice(name.length + 1) : message, value)
  return /^(?:must|is|has) /.test(fault) ? `it ${fault}` : fault
}

interface Fault {
  readonly name: string
  readonly message: string
}

const faultsOf = (error: ConfigError.ConfigError): ReadonlyArray<Fault> => {
  switch (error._op) {
    case "And":
    case "Or":
      return [...faultsOf(error.left), ...faultsOf(error.right)]
    case "InvalidData":
    case "MissingData":
    case "SourceUnavailable":
    case "Unsupported":
      // Some faults come without the place that they are of: their message begins with its name.
      return [{
        name: error.path.at(-1) ?? error.message.split(" ")[0]!,
        message: error._op === "MissingData" ? "must be set" : error.message
      }]
  }
}

/** What is wrong, a line for each setting, by the settings as they are. */
const textOf = (error: ConfigError.ConfigError): Effect.Effect<string> =>
  Effect.forEach(faultsOf(error), ({ message, name }) =>
    Effect.map(
      Effect.option(Config.string(name)),
      (value) => {
        // No fault repeats a secret: looked for in one, its own words would be left out, and so tell which the secret has.
        const repeated = secretSettings.includes(name) ? "" : Option.getOrElse(value, () => "")
        return `${name} ${wasText(name, Option.getOrUndefined(value))}: ${faultText(name, message, repeated)}`
      }
    )).pipe(Effect.map((lines) => lines.join("\n")))

/** A wrong setting as an operator reads it, in place of the error that Effect has for it. */
export const inWords = <A, E, R>(
  effect: Effect.Effect<A, E | ConfigError.ConfigError, R>
): Effect.Effect<A, Exclude<E, ConfigError.ConfigError> | SettingRefused, R> =>
  Effect.catchAll(effect, (error): Effect.Effect<never, Exclude<E, ConfigError.ConfigError> | SettingRefused> =>
    ConfigError.isConfigError(error)
      ? Effect.flatMap(textOf(error), (message) =>
        new SettingRefused({ message }))
      : Effect.fail(error as Exclude<E, ConfigError.ConfigError>))

/** `a, b or c`. */
const listed = (values: ReadonlyArray<string>): string =>
  values.length === 1 ? values[0]! : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`

/** A setting that is one of some words. */
export const oneOf = <A extends string>(name: string, ...values: ReadonlyArray<A>): Config.Config<A> =>
  Config.nonEmptyString(name).pipe(
    Config.mapOrFail((text) => {
      const found = values.find((value) => value === text)
      return found === undefined ? Either.left(ConfigError.InvalidData([name], `must be ${listed(values)}`)) : Either.right(found)
    })
  )
