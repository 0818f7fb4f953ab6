/**
 * What a process that serves says of itself, on standard output, and its last word on standard error: a line of JSON for each
 * event where nobody sits in front of it, and for people at a terminal. Nothing that looks like a credential gets out in a line.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { secretSettings } from "./SecretSettings.js"

/** How it is said: `auto` is `pretty` at a terminal and `json` otherwise. */
const formats = ["auto", "json", "pretty"] as const
type Format = (typeof formats)[number]

const setting: Config.Config<Format> = Config.nonEmptyString("LOG_FORMAT").pipe(
  Config.mapOrFail((text) => {
    const found = formats.find((format) => format === text)
    return found === undefined
      ? Either.left(ConfigError.InvalidData(["LOG_FORMAT"], "must be auto, json or pretty"))
      : Either.right(found)
  }),
  Config.withDefault("auto" as const)
)

const lost = (): void => {}

/** Whoever reads what is said may go away: then lines are lost, and nothing else. Where nobody listens that would end the process. */
const outlives = (stream: NodeJS.WriteStream): void => {
  if (!stream.listeners("error").includes(lost)) stream.on("error", lost)
}

/** Where no letter of a token stands beside it. */
const begins = String.raw`(?<![A-Za-z0-9_-])`
const ends = String.raw`(?![A-Za-z0-9_-])`

/** What a bearer, a signed token (JWT), an API key, a session, a device code, a ticket or a secret of 256 bits looks like. */
const credentials = new RegExp(
  [
    String.raw`\bbearer\s+[^\s"',]+`,
    String.raw`${begins}eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`,
    String.raw`${begins}(?:pk_[a-z]+_[A-Za-z0-9]{1,64}_|ses_|dvc_)?[A-Za-z0-9_-]{43}${ends}`
  ].join("|"),
  "gi"
)

const hidden = "[hidden]"

/** The longest text of one event, in characters: a cause may repeat what it was given. */
const longestText = 16_384

/** A text without what nobody may read. `environment` is where the settings are. */
export const withoutCredentials = (text: string, environment: Readonly<Record<string, string | undefined>>): string => {
  let told = text
  for (const name of secretSettings) {
    const value = environment[name]
    if (value !== undefined && value !== "") told = told.replaceAll(value, hidden)
  }
  return told.replace(credentials, hidden)
}

/** As much of a text is looked at for credentials: what is hidden makes it shorter, so that more is looked at than is said. */
const longestLooked = 4 * longestText

/**
 * A text as it gets out. Credentials are hidden before it is shortened: of one that is cut in two no half looks like one. What ends
 * where no more was looked at may be such a half, so that as much as any credential is long is left out in front of there.
 */
const said = (text: string): string => {
  const isCut = text.length > longestLooked
  const told = withoutCredentials(isCut ? text.slice(0, longestLooked) : text, process.env)
  const length = Math.min(longestText, isCut ? Math.max(0, told.length - longestText) : told.length)
  return isCut || length < told.length ? `${told.slice(0, length)}...` : told
}

const textOf = (message: unknown): string =>
  Arr.ensure(message).map((part) => typeof part === "string" ? part : Inspectable.toStringUnknown(part, 0)).join(" ")

/** An event as a line of JSON: `time`, `level` and `message`, what the event is annotated with (`requestId`), and `cause`. */
export const json: Logger.Logger<unknown, string> = Logger.make(({ annotations, cause, date, logLevel, message }) => {
  const noted = Object.fromEntries(Array.from(HashMap.toEntries(annotations), ([name, value]) => [name, said(textOf(value))]))
  return JSON.stringify({
    ...noted,
    time: date.toISOString(),
    level: logLevel.label.toLowerCase(),
    message: said(textOf(message)),
    ...(Cause.isEmpty(cause) ? undefined : { cause: said(Cause.pretty(cause, { renderErrorCause: true })) })
  })
})

/** The same for people. */
const pretty: Logger.Logger<unknown, void> = Logger.mapInputOptions(
  Logger.prettyLoggerDefault,
  (options: Logger.Logger.Options<unknown>) => ({
    ...options,
    message: said(textOf(options.message)),
    cause: Cause.isEmpty(options.cause) ? options.cause : Cause.die(said(Cause.pretty(options.cause, { renderErrorCause: true })))
  })
)

const isJson = (format: string | undefined, stream: { readonly isTTY?: boolean }): boolean =>
  format === "json" || (format !== "pretty" && stream.isTTY !== true)

/** Everything that is logged, as LOG_FORMAT has it. */
export const layer: Layer.Layer<never, ConfigError.ConfigError> = Layer.unwrapEffect(
  Effect.map(setting, (format) => {
    outlives(process.stdout)
    outlives(process.stderr)
    return Logger.replace(Logger.defaultLogger, isJson(format, process.stdout) ? Logger.withConsoleLog(json) : pretty)
  })
)

/** What a process says before it ends, on standard error: also where it could not read its settings. */
export const lastWord = (program: string, message: string): void => {
  const line = isJson(process.env["LOG_FORMAT"], process.stderr)
    ? JSON.stringify({ time: new Date().toISOString(), level: "fatal", message: said(`${program}: ${message}`) })
    : said(`${program}: ${message}`)
  outlives(process.stderr)
  process.stderr.write(`${line}\n`)
}
