/**
 * Messages for an operator about wrong settings: the variable, its value, and what is allowed, one sentence for each. The value of a secret
 * is never shown.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { secretSettings } from "./observe/SecretSettings.js"

/** A setting is wrong. The message can be shown to the operator as it is. */
export class SettingRefused extends Data.TaggedError("SettingRefused")<{ readonly message: string }> {}

/** The longest part of a value that is shown. */
const mostCharacters = 120

/**
 * A credential in a URL is secret too. Everything before the last @ may belong to it, since an unencoded password may contain any
 * character: rather too much is hidden than too little.
 */
const withoutCredentials = (value: string): string => value.replace(/(:?\/\/)[^]*@|(:\/*)\S*@/, "$1$2...@")

const wasText = (name: string, value: string | undefined): string => {
  if (value === undefined) return "is not set"
  if (value === "") return "is empty"
  if (secretSettings.includes(name)) return `has ${value.length} ${value.length === 1 ? "character" : "characters"}`
  const shown = withoutCredentials(value)
  return `is ${JSON.stringify(shown.length > mostCharacters ? `${shown.slice(0, mostCharacters)}...` : shown)}`
}

/** A message without the hidden parts of the value, which some messages repeat. */
const withoutHidden = (fault: string, value: string): string => {
  const shown = withoutCredentials(value)
  return fault.split(" ").map((word) => {
    const told = withoutCredentials(word)
    return told === word && value.includes(word) && !shown.includes(word) ? "..." : told
  }).join(" ")
}

/** The message without the variable's name, with which some begin, and without the hidden parts of the value. */
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
      // Some errors have no path: their message begins with the name.
      return [{
        name: error.path.at(-1) ?? error.message.split(" ")[0]!,
        message: error._op === "MissingData" ? "must be set" : error.message
      }]
  }
}

/** The messages, one line for each setting, with the present values. */
const textOf = (error: ConfigError.ConfigError): Effect.Effect<string> =>
  Effect.forEach(faultsOf(error), ({ message, name }) =>
    Effect.map(
      Effect.option(Config.string(name)),
      (value) => {
        // No message repeats a secret. Searching it for the secret would remove words that they have in common, and so reveal them.
        const repeated = secretSettings.includes(name) ? "" : Option.getOrElse(value, () => "")
        return `${name} ${wasText(name, Option.getOrUndefined(value))}: ${faultText(name, message, repeated)}`
      }
    )).pipe(Effect.map((lines) => [...new Set(lines)].join("\n")))

/** Replaces Effect's error for a wrong setting with a message for the operator. */
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

/** The refusal of a setting that does not go with the others. */
export const refuse = (name: string, message: string) => Either.left(ConfigError.InvalidData([name], message))

/**
 * A setting's text. One that is set to nothing is refused: a variable that somebody's script has not filled in would otherwise make a
 * production venue one of development, or one without an operator.
 */
export const filled = (name: string): Config.Config<string> =>
  Config.string(name).pipe(
    // Without a path of its own: this adds the name.
    Config.mapOrFail((found) =>
      found === "" ? Either.left(ConfigError.InvalidData([], "must have a value, or be left out")) : Either.right(found)
    )
  )

/** A setting that must be one of several words. */
export const oneOf = <A extends string>(name: string, ...values: ReadonlyArray<A>): Config.Config<A> =>
  filled(name).pipe(
    Config.mapOrFail((word) => {
      const found = values.find((value) => value === word)
      return found === undefined ? refuse(name, `must be ${listed(values)}`) : Either.right(found)
    })
  )

/** A setting of plain digits within bounds. */
export const between = (name: string, low: number, high: number, fallback: number): Config.Config<number> =>
  filled(name).pipe(
    Config.withDefault(String(fallback)),
    Config.validate({
      message: `${name} must be a whole number from ${low} to ${high}`,
      validation: (text) => /^[0-9]{1,10}$/.test(text) && Number(text) >= low && Number(text) <= high
    }),
    Config.map(Number)
  )

/** All of several settings, or what is wrong with each that is refused: told one at a time, each would cost another start. */
export const gathered = <R extends Readonly<Record<string, Either.Either<unknown, ConfigError.ConfigError>>>>(
  each: R
): Either.Either<{ -readonly [Name in keyof R]: Either.Either.Right<R[Name]> }, ConfigError.ConfigError> => {
  const faults = Object.values(each).flatMap((one) => Either.isLeft(one) ? [one.left] : [])
  const right = ([name, one]: readonly [string, Either.Either<unknown, unknown>]) => [name, Either.getOrThrow(one)] as const
  return faults.length > 0
    ? Either.left(faults.reduce((one, other) => ConfigError.And(one, other)))
    : Either.right(Object.fromEntries(Object.entries(each).map(right)) as { -readonly [Name in keyof R]: Either.Either.Right<R[Name]> })
}
