/**
 * Logs of a server process on standard output, and its final message on standard error: one line of JSON for each event where no terminal
 * is attached, and readable text at a terminal. Anything that looks like a credential is removed, and a terminal finds nothing to obey.
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
import * as List from "effect/List"
import * as Logger from "effect/Logger"
import * as LogSpan from "effect/LogSpan"
import { escaped, withoutUnseen } from "../domain/Unseen.js"
import { secretSettings } from "./SecretSettings.js"

/** The log format: `auto` is `pretty` at a terminal and `json` otherwise. */
const formats = ["auto", "json", "pretty"] as const
type Format = (typeof formats)[number]

const setting: Config.Config<Format> = Config.string("LOG_FORMAT").pipe(
  Config.mapOrFail((text) => {
    const found = formats.find((format) => format === text)
    return found === undefined
      ? Either.left(ConfigError.InvalidData(["LOG_FORMAT"], "must be auto, json or pretty"))
      : Either.right(found)
  }),
  Config.withDefault("auto" as const)
)

const lost = (): void => {}

/** The reader of the output may go away: then lines are lost, and nothing else. Without a listener the error would end the process. */
const outlives = (stream: NodeJS.WriteStream): void => {
  if (!stream.listeners("error").includes(lost)) stream.on("error", lost)
}

/** Word boundaries of a token: no character of the token's alphabet may be adjacent. */
const begins = String.raw`(?<![A-Za-z0-9_-])`
const ends = String.raw`(?![A-Za-z0-9_-])`

/** The forms of a bearer header, a signed token (JWT), an API key, a session, a device code, a ticket and a 256-bit secret. */
const credentials = new RegExp(
  [
    String.raw`\bbearer\s+[^\s"',]+`,
    String.raw`${begins}eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`,
    String.raw`${begins}(?:pk_[a-z]+_[A-Za-z0-9]{1,64}_|ses_|dvc_)?[A-Za-z0-9_-]{43}${ends}`
  ].join("|"),
  "gi"
)

const hidden = "[hidden]"

/** The longest text of one event, in characters: an error's cause may repeat its input. */
const longestText = 16_384

/**
 * From this length on, in characters, a secret is hidden: a token of one letter would be hidden in every word that has the letter, which
 * tells it, and leaves nothing to read.
 */
const leastHidden = 4

/** A text with secrets and credentials replaced. `environment` holds the settings. */
export const withoutCredentials = (text: string, environment: Readonly<Record<string, string | undefined>>): string => {
  let told = text
  for (const name of secretSettings) {
    const value = environment[name]
    if (value !== undefined && value.length >= leastHidden) told = told.replaceAll(value, hidden)
  }
  return told.replace(credentials, hidden)
}

/** How much of a text is searched for credentials, in characters: more than is logged, since hiding them shortens the text. */
const longestLooked = 4 * longestText

/**
 * A text as it is logged. Credentials are hidden before the text is shortened, since half of one would not be recognized. The end of the
 * searched part may be such a half, so more than the length of any credential is dropped there.
 */
const said = (text: string): string => {
  const isCut = text.length > longestLooked
  const told = withoutCredentials(isCut ? text.slice(0, longestLooked) : text, process.env)
  const length = Math.min(longestText, isCut ? Math.max(0, told.length - longestText) : told.length)
  return isCut || length < told.length ? `${told.slice(0, length)}...` : told
}

/**
 * An output in which all is seen: what somebody else chose may be part of it, such as a header, and whoever reads the log at a terminal
 * would have that obeyed. JSON keeps its meaning, since it has such characters only within strings; line breaks and tabs remain.
 */
const seen = (output: string): string => withoutUnseen(output, (found) => found === "\n" || found === "\t" ? found : escaped(found))

const textOf = (message: unknown): string =>
  Arr.ensure(message).map((part) => typeof part === "string" ? part : Inspectable.toStringUnknown(part, 0)).join(" ")

/** The values of an event's annotations, as they are logged. */
const noted = (annotations: HashMap.HashMap<string, unknown>): HashMap.HashMap<string, string> =>
  HashMap.map(annotations, (value) => said(textOf(value)))

/** An event as a line of JSON: `time`, `level` and `message`, the event's annotations (such as `requestId`), and `cause`. */
export const json: Logger.Logger<unknown, string> = Logger.make(({ annotations, cause, date, logLevel, message }) => {
  return seen(JSON.stringify({
    ...Object.fromEntries(HashMap.toEntries(noted(annotations))),
    time: date.toISOString(),
    level: logLevel.label.toLowerCase(),
    message: said(textOf(message)),
    ...(Cause.isEmpty(cause) ? undefined : { cause: said(Cause.pretty(cause, { renderErrorCause: true })) })
  }))
})

/** Events for people at a terminal. */
const pretty: Logger.Logger<unknown, void> = Logger.mapInputOptions(
  Logger.prettyLoggerDefault,
  (options: Logger.Logger.Options<unknown>) => ({
    ...options,
    annotations: HashMap.map(noted(options.annotations), seen),
    spans: List.map(options.spans, ({ label, startTime }) => LogSpan.make(seen(said(label)), startTime)),
    message: seen(said(textOf(options.message))),
    cause: Cause.isEmpty(options.cause) ? options.cause : Cause.die(seen(said(Cause.pretty(options.cause, { renderErrorCause: true }))))
  })
)

const isJson = (format: string | undefined, stream: { readonly isTTY?: boolean }): boolean =>
  format === "json" || (format !== "pretty" && stream.isTTY !== true)

/** The logger that LOG_FORMAT selects. */
export const layer: Layer.Layer<never, ConfigError.ConfigError> = Layer.unwrapEffect(
  Effect.map(setting, (format) => {
    outlives(process.stdout)
    outlives(process.stderr)
    return Logger.replace(Logger.defaultLogger, isJson(format, process.stdout) ? Logger.withConsoleLog(json) : pretty)
  })
)

/** Writes a process's final message to standard error, even where it could not read its settings. */
export const lastWord = (program: string, message: string): void => {
  const line = isJson(process.env["LOG_FORMAT"], process.stderr)
    ? JSON.stringify({ time: new Date().toISOString(), level: "fatal", message: said(`${program}: ${message}`) })
    : said(`${program}: ${message}`)
  outlives(process.stderr)
  process.stderr.write(`${seen(line)}\n`)
}
