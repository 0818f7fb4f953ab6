/**
 * Reads a venue's journal for clients outside the writer's thread. Building an engine from a snapshot takes as long as a start, and the
 * writer waits for none of it.
 *
 * A reader is started when something is to be read, ended when it has been idle for a while, and started again where it died: open requests
 * are then repeated.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import { Unread } from "../sequencer/Feed.js"
import type { Page, Piece, Replaying } from "../streams/Replay.js"
import { ReplayHost } from "../streams/ReplayHost.js"
import type { Asked, Said, Wanted } from "./Protocol.js"

/** How long an idle reader is kept, in milliseconds. */
const idleMs = 60_000

/** How often a request is tried where the reader dies, and the pause in between, in milliseconds. */
const attempts = 3
const againMs = 100

/** A connection to a reader. */
export interface Line {
  readonly tell: (asked: Asked) => void
  /** Ends it; none of its messages are heard any more. */
  readonly end: Effect.Effect<void>
}

/** Starts a reader; `gone` is called once, when it has died by itself. */
export type Dial = (heard: (said: Said) => void, gone: (reason: string) => void) => Line

/** The reader died before it had answered. */
class Died {
  readonly _tag = "Died"
  constructor(readonly reason: string) {}
}

type Settle = (answer: Effect.Effect<unknown, Unread | Died>) => void

class Readings implements Replaying {
  private line: Line | undefined
  private readonly waiting = new Map<number, Settle>()
  private ids = 0
  private standing = 0
  /** Requests that are not over. */
  private underway = 0
  private resting: Fiber.RuntimeFiber<void> | undefined

  constructor(private readonly dial: Dial, private readonly runtime: Runtime.Runtime<never>) {}

  get engines(): number {
    return this.standing
  }

  readonly missed: Replaying["missed"] = (channel, account, after, upTo, give) =>
    this.ask({ _tag: "Piece", channel, account, after, upTo }, (piece: Piece | undefined) =>
      piece === undefined ? Effect.succeed(undefined) : give(piece))

  readonly page: Replaying["page"] = (account, after, upTo, mostRecords) =>
    this.ask({ _tag: "Page", account, after, upTo, mostRecords }, (page: Page | undefined) => Effect.succeed(page))

  /** Ends the reader. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { line, resting } = this
      this.line = undefined
      return Effect.zipRight(resting === undefined ? Effect.void : Fiber.interruptFork(resting), line?.end ?? Effect.void)
    })
  }

  /** Has something read and used. The result counts as held until `use` is over. */
  private ask<Found, A>(wanted: Wanted, use: (found: Found) => Effect.Effect<A>): Effect.Effect<A, Unread> {
    const once = Effect.acquireUseRelease(
      Effect.sync(() => {
        this.underway++
        return ++this.ids
      }),
      (id) => Effect.flatMap(this.answer(id, wanted), (found) => use(found as Found)),
      (id) =>
        Effect.sync(() => {
          this.waiting.delete(id)
          this.line?.tell({ _tag: "Over", id })
          this.underway--
          this.restIfIdle()
        })
    )
    const from = (attempt: number): Effect.Effect<A, Unread> =>
      Effect.catchTag(once, "Died", ({ reason }) =>
        attempt < attempts
          ? Effect.zipRight(Effect.sleep(againMs), from(attempt + 1))
          : Effect.fail(new Unread({ reason, why: "ended" })))
    return from(1)
  }

  private answer(id: number, wanted: Wanted): Effect.Effect<unknown, Unread | Died> {
    return Effect.async((resume) => {
      this.waiting.set(id, resume)
      this.line ??= this.begun()
      this.line.tell({ _tag: "Wanted", id, wanted })
    })
  }

  private begun(): Line {
    const line: Line = this.dial(
      (said) => {
        if (this.line === line) this.heard(said)
      },
      (reason) => {
        if (this.line !== line) return
        this.line = undefined
        this.standing = 0
        const waiting = [...this.waiting.values()]
        this.waiting.clear()
        for (const settle of waiting) settle(Effect.fail(new Died(reason)))
      }
    )
    return line
  }

  private heard(said: Said): void {
    switch (said._tag) {
      case "Engines":
        this.standing = said.count
        return
      case "Warned":
        Runtime.runFork(this.runtime)(Effect.logWarning(said.text))
        return
      case "Found":
        return this.settle(said.id, Effect.succeed(said.found))
      case "Failed":
        return this.settle(said.id, Effect.fail(new Unread({ reason: said.reason, why: said.why })))
    }
  }

  private settle(id: number, answer: Effect.Effect<unknown, Unread>): void {
    const settle = this.waiting.get(id)
    this.waiting.delete(id)
    settle?.(answer)
  }

  /** Ends the reader once nothing has been requested for a while; a later request starts another. */
  private restIfIdle(): void {
    if (this.underway > 0 || this.resting !== undefined) return
    const asked = this.ids
    const rest = Effect.flatMap(Effect.sleep(idleMs), () => {
      this.resting = undefined
      if (this.underway > 0) return Effect.void
      if (asked !== this.ids) return Effect.sync(() => this.restIfIdle())
      const { line } = this
      this.line = undefined
      this.standing = 0
      return line?.end ?? Effect.void
    })
    this.resting = Runtime.runFork(this.runtime)(rest)
  }
}

/** Reads the journal through a reader that `dial` starts. */
export const layer = (dial: Dial): Layer.Layer<ReplayHost> =>
  Layer.scoped(ReplayHost, Effect.flatMap(Effect.runtime<never>(), (runtime) =>
    Effect.acquireRelease(Effect.sync(() =>
      new Readings(dial, runtime)
    ), ({ end }) => end)))
