/** How a task reaches a venue: with the operator's token and an idempotency key. The answer decides the exit code. */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Ids from "../../domain/Ids.js"
import * as Fields from "../../edge/http/Fields.js"
import type { OperatorResult } from "../../edge/operator/OperatorResult.js"
import { operatorTokenFile } from "../../identity/NodeSecrets.js"
import { optionalBearer } from "../../SecretSetting.js"
import { inWords } from "../../SettingTexts.js"
import { Ended, usage } from "../Exit.js"
import * as Format from "../replay/Format.js"
import * as Http from "./Http.js"
import type * as Operator from "./Operator.js"
import type * as Options from "./Options.js"

/** The venue, its lock or the person who was asked to confirm refused. */
export const refusedCode = 1
/** There was no answer, or the venue is not ready. */
export const noAnswerCode = 2

/** Retries for about half a minute, while a venue restarts. */
const retries = 20

/** An operator who waits learns why, and that something is still being done. */
const triesAgain = (text: string): Effect.Effect<void> => Console.error(`no answer yet: ${text}; trying again, up to ${retries} times`)

/** The operator token: OPERATOR_TOKEN, or what a development venue keeps in its data directory. */
const token = (dataDir: string): Effect.Effect<string, Ended> =>
  Effect.gen(function*() {
    const configured = yield* inWords(optionalBearer("OPERATOR_TOKEN", 1)).pipe(
      Effect.mapError(({ message }) => usage(message))
    )
    if (Option.isSome(configured)) return Redacted.value(configured.value)
    const file = path.join(dataDir, operatorTokenFile)
    return yield* Effect.try({
      try: () => fs.readFileSync(file, "utf8").trim(),
      catch: () => usage(`OPERATOR_TOKEN is not set, and ${file} cannot be read (--data is the venue's DATA_DIR)`)
    })
  })

type Remote = Options.Of<typeof Options.remote>

/** A task, given the idempotency key to use. */
type Task<A> = (target: Operator.Target, key: string) => Effect.Effect<A, Operator.Failure, HttpClient.HttpClient>

/** Runs a task under a fresh key unless one is given. `unsaid` makes the message for a task without an answer. */
const run = <A>(
  { data, key, overHttp, url }: Remote,
  task: Task<A>,
  unsaid: (text: string, key: string) => string
): Effect.Effect<A, Ended> =>
  Effect.gen(function*() {
    const used = Option.getOrElse(key, () => randomUUID())
    if (!Ids.isIdempotencyKey(used)) return yield* usage("--key takes 1..255 visible ASCII characters")
    yield* Http.keepSecret(url, overHttp, "the operator's token")
    const target = { url, token: yield* token(data), retries, triesAgain }
    const open = (text: string) => new Ended({ code: noAnswerCode, text: unsaid(text, used) })
    return yield* task(target, used).pipe(
      Effect.provide(Http.layer),
      Effect.catchTags({
        Refused: (error) => new Ended({ code: refusedCode, text: `refused: ${error.text}` }),
        NoAnswer: (error) => open(`no answer: ${error.text}`),
        Untrusted: ({ text }) => new Ended({ code: noAnswerCode, text }),
        Unexpected: (error) => open(error.text)
      })
    )
  })

/** Runs a task that changes something at a venue: without an answer its outcome is unknown. */
export const against = <A>(remote: Remote, task: Task<A>): Effect.Effect<A, Ended> =>
  run(remote, task, (text, key) => `${text}\nwhether it was done is unknown; the same again with --key ${key} tells`)

/** Runs a task that only reads: it changes nothing, with or without an answer. */
export const looking = <A>(remote: Remote, task: Task<A>): Effect.Effect<A, Ended> => run(remote, task, (text) => text)

/** Prints what was decided, where and when, and from when on what was announced takes effect. */
export const sayDone = ({ announced, decidedAtEpochMs, delistedAtEpochMs, marketId, operation, sequence }: OperatorResult) => {
  const effectiveAtEpochMs = announced?.effectiveAtEpochMs ?? delistedAtEpochMs
  const effective = effectiveAtEpochMs === undefined ? "" : `, effective ${Format.time(effectiveAtEpochMs)}`
  return Console.log(
    `${operation}${marketId === undefined ? "" : ` ${marketId}`}: sequence ${sequence}, ${Format.time(decidedAtEpochMs)}${effective}`
  )
}

export const isDecimal = Schema.is(Fields.DecimalInput)

/** Asks a venue for something that needs no token. */
export const asked = <A>(
  question: Effect.Effect<A, Operator.Failure, HttpClient.HttpClient>
): Effect.Effect<A, Ended> =>
  question.pipe(
    Effect.provide(Http.layer),
    Effect.mapError((error) => new Ended({ code: noAnswerCode, text: error.text }))
  )
