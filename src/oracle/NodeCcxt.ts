/**
 * Exchanges as sources of an index, through the package `ccxt` in a process of its own (see `NodeCcxtProcess.ts`). Exchanges' market lists
 * are megabytes of JSON that would stall the writer; a bad answer can harm only that process and never the venue's; and the package sees
 * none of the venue's secrets. A process that has ended is started again with the next request, and one that no longer answers is killed.
 */
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Answered } from "./Batches.js"
import { type ExchangeSetting, symbolOf } from "./Exchanges.js"
import { type Answered as FromSource, type Source, SourceFailed } from "./IndexSources.js"
import type { Ticker } from "./Ticker.js"

/** The process's start parameters. */
export interface Asking extends Limits {
  /** The exchanges, and the URL of each where it is not the exchange's own. */
  readonly exchanges: ReadonlyArray<{ readonly id: string; readonly url: string | undefined }>
}

/** How exchanges are asked. */
export interface Limits {
  /** When an answer is too late, in milliseconds from its request. */
  readonly answerWithinMs: number
  /** The pause between requests to an exchange, in milliseconds, where it is not the one that the package keeps to for the exchange. */
  readonly requestEveryMs?: number
}

/** The process's first message: the exchanges that the package does not know. If there are any, it polls none. */
export interface Begun {
  readonly unknown: ReadonlyArray<string>
}

/** A request to the process. */
export interface Question {
  readonly number: number
  readonly exchange: string
  readonly symbols: ReadonlyArray<string>
  /** The venue's time. */
  readonly nowEpochMs: number
}

/** Its answer: what was found, is refused, and is not sorted out yet of the symbols (see `Batches.ts`), or why nothing was found. */
export type Answer = { readonly number: number } & (Answered<Ticker> | { readonly reason: string })

/** The package has no such exchanges. */
class ExchangesUnknown extends Schema.TaggedError<ExchangesUnknown>()("ExchangesUnknown", { ids: Schema.Array(Schema.String) }) {
  override get message() {
    return `the package ccxt knows no ${this.ids.join(", ")}`
  }
}

/** The process's heap limit, in MiB: enough for the longest accepted answer, parsed in the worst way. */
const heapMiB = 1_024

/** The environment variables that the process inherits. */
const inherited: ReadonlyArray<string> = ["PATH", "TZ", "NODE_EXTRA_CA_CERTS"]

/** How long the process may stay silent in all, in milliseconds: it gives up on a single exchange's answer after ten seconds. */
const hungMs = 60_000

/** The one process, and the callers that wait for its answers. */
class Asker {
  private child: ChildProcess | undefined = undefined
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private questions = 0
  /** Since when it has been silent with requests open; undefined where none are. */
  private silentSinceMs: number | undefined = undefined

  constructor(private readonly asking: Asking) {}

  /** Starts the process; `begun` is told which exchanges it does not know. */
  begin(begun: (begun: Begun) => void, failed: (reason: string) => void): void {
    const child = fork(fileURLToPath(new URL("NodeCcxtProcess.js", import.meta.url)), [JSON.stringify(this.asking)], {
      env: Object.fromEntries(inherited.flatMap((name) => process.env[name] === undefined ? [] : [[name, process.env[name]]])),
      execArgv: [`--max-old-space-size=${heapMiB}`],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"]
    })
    this.child = child
    child.on("message", () => {
      if (this.child === child) this.silentSinceMs = undefined
    })
    child.once("message", (first: Begun) => {
      begun(first)
      child.on("message", (answer: Answer) => this.settle(answer))
    })
    child.once("error", (cause) => this.end(child, String(cause), failed))
    child.once("exit", (code, signal) => this.end(child, `the process that asks exchanges ended with ${code ?? signal}`, failed))
    // The process does not keep the venue's alive.
    child.unref()
    child.channel?.unref()
  }

  /** Sends a request; `answer` is called once. The returned function withdraws the request. */
  ask(nowEpochMs: number, exchange: string, symbols: ReadonlyArray<string>, answer: (answer: Answer) => void): () => void {
    this.endHung(nowEpochMs)
    const number = ++this.questions
    this.waiting.set(number, answer)
    try {
      if (this.child === undefined) this.begin(() => {}, () => {})
      this.silentSinceMs ??= nowEpochMs
      // Where the system could not start the process there is no channel to it, and the error event with the cause comes later.
      this.child!.send({ number, exchange, symbols, nowEpochMs } satisfies Question, (cause) => {
        if (cause !== null) this.settle({ number, reason: String(cause) })
      })
    } catch (cause) {
      this.settle({ number, reason: `the process that asks exchanges could not be asked: ${String(cause)}` })
    }
    return () => void this.waiting.delete(number)
  }

  /** Kills a process that has been silent for too long with requests open: the next request starts another. */
  private endHung(nowEpochMs: number): void {
    const { child, silentSinceMs } = this
    if (child === undefined || silentSinceMs === undefined) return
    if (nowEpochMs < silentSinceMs) this.silentSinceMs = nowEpochMs
    if (nowEpochMs - silentSinceMs < hungMs) return
    child.kill("SIGKILL")
    this.end(child, `the process that asks exchanges has answered nothing for ${hungMs} ms`, () => {})
  }

  close(): void {
    this.child?.kill("SIGKILL")
  }

  private settle(answer: Answer): void {
    const { number } = answer
    this.waiting.get(number)?.(answer)
    this.waiting.delete(number)
  }

  private end(child: ChildProcess, reason: string, failed: (reason: string) => void): void {
    if (this.child !== child) return
    this.child = undefined
    this.silentSinceMs = undefined
    failed(reason)
    for (const number of [...this.waiting.keys()]) this.settle({ number, reason })
  }
}

const fetchFrom = (asker: Asker, exchange: string, symbols: ReadonlyArray<string>) =>
  Effect.flatMap(Clock.currentTimeMillis, (nowEpochMs) =>
    Effect.async<FromSource, SourceFailed>((resume) => {
      const takeBack = asker.ask(nowEpochMs, exchange, symbols, (answer) =>
        resume("reason" in answer
          ? new SourceFailed({ reason: answer.reason })
          : Effect.succeed({ tickers: new Map(answer.found), refused: new Map(answer.refused), open: new Set(answer.open) })))
      return Effect.sync(takeBack)
    }))

/** The exchanges as sources, for as long as the scope is open; fails where the package does not know one of them. */
export const sources = (
  exchanges: ReadonlyArray<ExchangeSetting>,
  urls: ReadonlyMap<string, string>,
  limits: Limits
): Effect.Effect<ReadonlyArray<Source>, ExchangesUnknown, Scope.Scope> =>
  Effect.gen(function*() {
    const asker = new Asker({ ...limits, exchanges: exchanges.map(({ id }) => ({ id, url: urls.get(id) })) })
    yield* Effect.addFinalizer(() => Effect.sync(() => asker.close()))
    const { unknown } = yield* Effect.async<Begun>((resume) =>
      asker.begin((begun) => resume(Effect.succeed(begun)), (reason) => resume(Effect.dieMessage(reason)))
    )
    if (unknown.length > 0) return yield* new ExchangesUnknown({ ids: unknown })
    return exchanges.map((exchange) => ({
      name: exchange.id,
      weight: exchange.weight,
      symbolOf: (underlyingSymbol) => symbolOf(exchange, underlyingSymbol),
      fetch: (symbols) => fetchFrom(asker, exchange.id, symbols)
    }))
  })
