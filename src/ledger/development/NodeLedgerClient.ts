/** Sends requests to a development ledger in a thread of its own (`NodeLedgerThread`), as to one in another process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Worker } from "node:worker_threads"
import * as NodeThreads from "../../NodeThreads.js"
import { Lost, type Question, type Reply, type Transport, Unsent } from "../Transport.js"
import type { Handled } from "./DevelopmentLedger.js"
import type { Script } from "./Faults.js"
import { StoreUnreadable } from "./NodeStore.js"

/** The thread's start parameters. */
export interface Begun {
  readonly file: string
  readonly script: Script
}

/** Why the ledger cannot be opened. */
export interface Unopened {
  readonly reason: string
}

/** A request to the thread. */
export interface Asked {
  readonly id: number
  readonly question: Question
  readonly epochMs: number
}

/** The result of a request, or why its input was not stored. */
export type Answer =
  | { readonly id: number; readonly handled: Handled }
  | { readonly id: number; readonly failure: string }

/** How long an answer may take, and how long closing may. */
const patienceMs = 10_000
const closingMs = 400

/** Most requests that the thread has not answered. */
const mostWaiting = 64

/** The client's view of the thread. */
class Thread {
  private readonly waiting = new Map<number, (answer: Answer) => void>()
  private asked = 0
  private answered = 0
  /** Why no further requests are answered. */
  private broken: string | undefined

  private constructor(private readonly worker: Worker) {}

  /** Starts the thread; completes once the file is open. */
  static readonly start = (begun: Begun): Effect.Effect<Thread, StoreUnreadable> =>
    Effect.async((resume) => {
      const worker = NodeThreads.begin(new URL("./NodeLedgerThread.js", import.meta.url), begun)
      const thread = new Thread(worker)
      const unopened = ({ reason }: Unopened): void => resume(Effect.fail(new StoreUnreadable({ file: begun.file, reason })))
      worker.on("message", (message: "open" | Unopened | Answer) => {
        if (message === "open") resume(Effect.succeed(thread))
        else if ("id" in message) thread.hear(message)
        else unopened(message)
      })
      worker.on("error", (cause) => {
        thread.breaks(String(cause))
        unopened({ reason: String(cause) })
      })
      worker.on("exit", () => thread.breaks("the ledger's thread has ended"))
      // The thread alone does not keep the process alive.
      worker.unref()
    })

  private hear(answer: Answer): void {
    this.answered++
    this.waiting.get(answer.id)?.(answer)
  }

  private breaks(reason: string): void {
    this.broken ??= reason
    for (const [id, settle] of [...this.waiting]) settle({ id, failure: reason })
  }

  /** The result of a request. One whose caller has gone may still be answered by the thread. */
  readonly handled = (question: Question, epochMs: number): Effect.Effect<Handled, Unsent | Lost> =>
    Effect.async<Handled, Unsent | Lost>((resume) => {
      if (this.broken !== undefined) return resume(Effect.fail(new Unsent(this.broken)))
      if (this.asked - this.answered >= mostWaiting) {
        return resume(Effect.fail(new Unsent(`the ledger has not answered ${mostWaiting} questions that came before`)))
      }
      const id = ++this.asked
      this.waiting.set(id, (answer) => {
        this.waiting.delete(id)
        resume("failure" in answer ? Effect.fail(new Lost(answer.failure)) : Effect.succeed(answer.handled))
      })
      this.worker.postMessage({ id, question, epochMs } satisfies Asked)
      return Effect.sync(() => void this.waiting.delete(id))
    }).pipe(Effect.timeoutFail({
      duration: patienceMs,
      onTimeout: () => new Lost(`the ledger has not answered for ${patienceMs} ms`)
    }))

  /** Has the file closed. A thread that does not do so soon is not waited for: it ends by itself once it has. */
  get close(): Effect.Effect<void> {
    return Effect.async((resume) => {
      if (this.broken !== undefined) return resume(Effect.void)
      const end = (): void => {
        clearTimeout(patience)
        resume(Effect.void)
      }
      const patience = setTimeout(end, closingMs)
      this.worker.once("exit", end)
      this.worker.postMessage("close")
    })
  }
}

/** The ledger stored in a file, in a thread that lives as long as the scope. */
export const open = (begun: Begun): Effect.Effect<Transport, StoreUnreadable, Scope.Scope> =>
  Effect.map(Effect.acquireRelease(Thread.start(begun), (thread) => thread.close), (thread): Transport => (question) =>
    Effect.gen(function*() {
      const handled = yield* thread.handled(question, yield* Clock.currentTimeMillis)
      if (handled.reply === undefined)
        return yield* Effect.fail(new Lost("the connection ended without an answer"))
      const { body, status } = handled.reply
      const reply = Effect.succeed<Reply>({ status, body })
      return yield* handled.afterMs === 0 ? reply : Effect.delay(reply, handled.afterMs)
    }))
