/**
 * `venue connect`: an agent asks an owner for a key. It shows a code and a link, waits for the owner's decision, fetches the key and stores
 * it in the user's own file. The key is never shown.
 */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as NodeDirectory from "../../NodeDirectory.js"
import * as NodeLock from "../../NodeLock.js"
import { readKeys, type StoredKey } from "../../client/ccxt/NodeKeyFile.js"
import { AgentConnect, Exchanged } from "../../edge/identity/agentConnect.js"
import * as Http from "./Http.js"

export interface Asked {
  /** Without a trailing slash. */
  readonly url: string
  readonly name: string
  readonly scopes: ReadonlyArray<string>
  readonly keyLifetimeSeconds: number
  readonly keyFile: string
  /** Proves that the program that fetches the key is the one that asked for it, base64url. */
  readonly codeVerifier: string
}

/** The owner or the venue refused. */
class Denied extends Data.TaggedError("Denied")<{ readonly text: string }> {}
/** There is no venue at this URL, or none that speaks this contract. */
class NoVenue extends Data.TaggedError("NoVenue")<{ readonly text: string }> {}
/** The key file cannot be read or written. */
class NoFile extends Data.TaggedError("NoFile")<{ readonly text: string }> {}

export type Failure = Denied | NoVenue | NoFile

const requestTimeout = Duration.seconds(10)
/** How much longer the polling interval becomes after each answer that the venue was asked too often. */
const slowerBy = Duration.seconds(5)

interface Answer {
  readonly status: number
  readonly text: string
}

/** Sends a body; fails where there is no answer. */
const post = (url: string, target: string, body: unknown): Effect.Effect<Answer, NoVenue, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const response = yield* client.execute(HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post(`${url}${target}`), body))
    return { status: response.status, text: yield* response.text }
  }).pipe(
    Effect.timeoutFail({ duration: requestTimeout, onTimeout: () => new NoVenue({ text: `${url} takes too long` }) }),
    Effect.catchTags({
      RequestError: (error) => new NoVenue({ text: Http.textOf(url, error) }),
      ResponseError: (error) => new NoVenue({ text: Http.textOf(url, error) })
    })
  )

const decode = <A, I>(url: string, schema: Schema.Schema<A, I>, text: string): Effect.Effect<A, NoVenue> =>
  Effect.mapError(Http.decoded(url, schema, text), (told) => new NoVenue({ text: told }))

const Refusal = Schema.Struct({ code: Schema.String, safeMessage: Schema.String })

/** The refusal in an answer; fails where a proxy answered instead, and for an internal error, which decides nothing. */
const refusalIn = (url: string, { status, text }: Answer): Effect.Effect<typeof Refusal.Type, NoVenue> =>
  Effect.filterOrFail(
    decode(url, Refusal, text).pipe(Effect.mapError(() => new NoVenue({ text: `${url} answers ${status}, and not as a venue does` }))),
    ({ code }) => code !== "internal_error",
    ({ code, safeMessage }) => new NoVenue({ text: `${code}: ${safeMessage}` })
  )

const usable = (file: string): Effect.Effect<void, NoFile> =>
  Effect.try({
    try: () => {
      NodeDirectory.make(path.dirname(file))
      readKeys(file)
      fs.accessSync(path.dirname(file), fs.constants.W_OK)
    },
    catch: (cause) => new NoFile({ text: `${file} cannot be used: ${String(cause)}` })
  })

/** How long to wait for another program's lock on the file. */
const turnMs = 5_000

/**
 * Adds a key to the file, or replaces the one with the same venue and name; readable by the user only, and written atomically. Programs
 * that do so at the same time take turns, by a lock that the system releases with the process.
 */
export const put = (file: string, key: StoredKey): Effect.Effect<void, NoFile> =>
  Effect.try({
    try: () => {
      const turn = NodeLock.take(`${file}.lock`, undefined, turnMs)
      try {
        const others = readKeys(file).filter(({ name, url }) => url !== key.url || name !== key.name)
        const unfinished = `${file}.tmp`
        // Nobody else may write it now: what is there was left behind by a program that was killed. A file of its name that is there all
        // the same is somebody else's, whose owner and mode the keys would get.
        fs.rmSync(unfinished, { force: true })
        fs.writeFileSync(unfinished, `${JSON.stringify({ keys: [...others, key] }, undefined, 2)}\n`, {
          mode: 0o600,
          flag: "wx",
          flush: true
        })
        fs.renameSync(unfinished, file)
      } finally {
        turn.release()
      }
    },
    catch: (cause) => new NoFile({ text: `${file} cannot be written: ${String(cause)}` })
  })

type Fetched = typeof Exchanged.Type

/** Polls until the owner has decided: at an interval, which grows where the venue asks for that. */
const fetched = (
  { codeVerifier, url }: Pick<Asked, "codeVerifier" | "url">,
  begun: typeof AgentConnect.Type,
  interval: Duration.Duration
): Effect.Effect<Fetched, Denied | NoVenue, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    yield* Effect.sleep(interval)
    const again = (next: Duration.Duration) => fetched({ codeVerifier, url }, begun, next)
    const isOver = (yield* Clock.currentTimeMillis) >= begun.expiresAtEpochMs + Duration.toMillis(requestTimeout)
    // Where the venue reported no decision until the end, it is unknown whether somebody decided.
    const undecided = isOver ? new NoVenue({ text: `${url} did not tell a decision in time` }) : again(interval)
    const answer = yield* Effect.option(post(url, "/v1/agent-connect/exchange", { deviceCode: begun.deviceCode, codeVerifier }))
    // A lost answer or a restarting venue decides nothing.
    if (answer._tag === "None" || answer.value.status === 503 || answer.value.status === 429) return yield* undecided
    if (answer.value.status === 200) return yield* decode(url, Exchanged, answer.value.text)
    const refusal = yield* Effect.option(refusalIn(url, answer.value))
    if (refusal._tag === "None") return yield* undecided
    const { code, safeMessage } = refusal.value
    if (code === "authorization_pending") return yield* again(interval)
    if (code === "slow_down") return yield* again(Duration.sum(interval, slowerBy))
    return yield* new Denied({ text: `${code}: ${safeMessage}` })
  })

/** Obtains a key and stores it. Returns its description without the key itself. `show` receives what the owner has to see. */
export const connect = <R>(
  asked: Asked,
  show: (lines: ReadonlyArray<string>) => Effect.Effect<void, never, R>
): Effect.Effect<Omit<StoredKey, "apiKey">, Failure, HttpClient.HttpClient | R> =>
  Effect.gen(function*() {
    const { codeVerifier, keyFile, keyLifetimeSeconds, name, scopes, url } = asked
    // Checked before anybody is asked: a key that cannot be stored would be lost.
    yield* usable(keyFile)
    const codeChallenge = createHash("sha256").update(codeVerifier).digest("base64url")
    const first = yield* post(url, "/v1/agent-connect", { clientName: name, scopes, keyLifetimeSeconds, codeChallenge })
    if (first.status !== 200) {
      const { code, safeMessage } = yield* refusalIn(url, first)
      return yield* new Denied({ text: `${code}: ${safeMessage}` })
    }
    const begun = yield* decode(url, AgentConnect, first.text)
    yield* show([`code   ${begun.userCode}`, `link   ${begun.verificationUriComplete}`, "waiting for the account's owner"])
    const { apiKey, key } = yield* fetched(asked, begun, Duration.seconds(begun.pollIntervalSeconds))
    const { accountId, expiresAtEpochMs, keyId } = key
    const kept = { url, name, accountId, keyId, scopes: key.scopes, expiresAtEpochMs }
    yield* put(keyFile, { ...kept, apiKey })
    return kept
  })
