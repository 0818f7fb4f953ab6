/**
 * A SQLite client whose database is in a thread of its own (`NodeDatabaseThread`): the venue's thread waits for no disk but the
 * journal's. A statement that is not answered in its time fails, and all after it do: whoever uses the client opens another one.
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import { Worker } from "node:worker_threads"
import { DatabaseUnusable } from "./HistoriesDatabase.js"

/** A statement, on its way to the thread. */
export interface Asked {
  readonly id: number
  readonly text: string
  readonly parameters: ReadonlyArray<unknown>
}

/** What went wrong, as `better-sqlite3` says it. */
export interface Failure {
  readonly code: string
  readonly message: string
}

/** What it came to. */
export interface Answer {
  readonly id: number
  readonly rows?: ReadonlyArray<unknown>
  readonly failure?: Failure
}

/** How long a statement may take, and how long the database has to close. */
const patienceMs = 30_000
const closingMs = 400

type Settle = (answer: Omit<Answer, "id">) => void

/** The thread as its client knows it. */
class Thread {
  private readonly waiting = new Map<number, Settle>()
  private asked = 0
  /** Why nothing is answered any more. */
  private broken: string | undefined

  private constructor(private readonly worker: Worker) {}

  /** Starts it; it is there once the database is open. */
  static readonly start = (file: string): Effect.Effect<Thread, DatabaseUnusable> =>
    Effect.async((resume) => {
      const worker = new Worker(new URL("./NodeDatabaseThread.js", import.meta.url), { workerData: file })
      const thread = new Thread(worker)
      worker.on("message", (message: "open" | Failure | Answer) => {
        if (message === "open") resume(Effect.succeed(thread))
        else if ("id" in message) thread.answered(message)
        else resume(Effect.fail(new DatabaseUnusable({ reason: message.message })))
      })
      worker.on("error", (cause) => {
        thread.breaks(String(cause))
        resume(Effect.fail(new DatabaseUnusable({ reason: thread.broken! })))
      })
      worker.on("exit", () => thread.breaks("the database's thread has ended"))
      // It alone does not keep the process.
      worker.unref()
    })

  private answered({ id, ...answer }: Answer): void {
    const settle = this.waiting.get(id)
    this.waiting.delete(id)
    settle?.(answer)
  }

  private breaks(message: string): void {
    this.broken ??= message
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    for (const settle of waiting) settle({ failure: { code: "", message } })
  }

  /** Runs a statement: its rows. */
  readonly run = (text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<object>, SqlError> =>
    Effect.async((resume) => {
      if (this.broken !== undefined) return resume(failed({ code: "", message: this.broken }))
      const id = ++this.asked
      const patience = setTimeout(() => this.breaks(`the database has not answered for ${patienceMs} ms`), patienceMs)
      this.waiting.set(id, ({ failure, rows }) => {
        clearTimeout(patience)
        resume(failure === undefined ? Effect.succeed((rows ?? []) as ReadonlyArray<object>) : failed(failure))
      })
      this.worker.postMessage({ id, text, parameters } satisfies Asked)
    })

  /** Has the database closed, and lets go of a thread that does not come to it. */
  get close(): Effect.Effect<void> {
    return Effect.async((resume) => {
      const end = (): void => {
        clearTimeout(patience)
        resume(Effect.void)
      }
      const patience = setTimeout(() => {
        void this.worker.terminate()
        end()
      }, closingMs)
      this.worker.once("exit", end)
      this.worker.postMessage("close")
    })
  }
}

/** A failure as `better-sqlite3` has it, by its code. */
const failed = ({ code, message }: Failure): Effect.Effect<never, SqlError> =>
  Effect.fail(new SqlError({ cause: Object.assign(new Error(message), { code }), message: "Failed to execute statement" }))

const connectionOf = ({ run }: Thread): Connection => {
  const rows: Connection["execute"] = (text, parameters, transform) =>
    transform === undefined ? run(text, parameters) : Effect.map(run(text, parameters), transform)
  return {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: run,
    executeValues: (text, parameters) => Effect.map(run(text, parameters), (found) => found.map((row) => Object.values(row))),
    executeStream: () => {
      throw new Error("histories are read in pages")
    }
  }
}

/** Opens a database in a thread of its own. One user at a time: a transaction is nobody else's. */
export const open = (file: string): Effect.Effect<SqlClient.SqlClient, DatabaseUnusable, Scope.Scope> =>
  Effect.gen(function*() {
    const thread = yield* Effect.acquireRelease(Thread.start(file), ({ close }) => close)
    const connection = connectionOf(thread)
    const turn = yield* Effect.makeSemaphore(1)
    const acquirer = turn.withPermits(1)(Effect.succeed(connection))
    const transactionAcquirer = Effect.uninterruptibleMask((restore) =>
      Effect.as(
        Effect.zipRight(
          restore(turn.take(1)),
          Effect.tap(Effect.scope, (scope) => Scope.addFinalizer(scope, turn.release(1)))
        ),
        connection
      )
    )
    return yield* SqlClient.make({
      acquirer,
      transactionAcquirer,
      compiler: Statement.makeCompilerSqlite(),
      spanAttributes: [["db.system.name", "sqlite"]]
    }).pipe(Effect.provide(Reactivity.layer))
  })
