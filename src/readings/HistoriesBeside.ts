/**
 * The histories of a venue, made by a worker (`HistoriesServing`): the venue sends it the records in its memory as they are, and sends
 * it the reads. A worker that ends or answers nothing is started again; until then nothing can be read. Readers wait a moment for a
 * worker that only has to open the histories: they exist, but the venue is ready before they are.
 */
import type * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Histories from "../readmodel/Histories.js"
import type { Source } from "../readmodel/HistoriesHost.js"
import { AccountLines } from "./AccountLines.js"
import { type Asked, type Begun, noteGivenUp, type Question, type Said } from "./HistoriesProtocol.js"

/** Most records sent at once: copying them takes well under a millisecond. */
const recordsAtOnce = 1_024

/** Most reads of all accounts together that the worker has been sent and has not answered. It answers them one after the other. */
export const mostWithWorker = 4_096
/** Most reads of one account that the worker has been sent and has not answered. Further reads of the account wait in a line of its own. */
export const mostAtOnce = 8

/** Most reads of one account that are not answered, whether the worker has them or they wait in the account's line. */
export const mostOfAccount = 512
/** Most reads that wait in the lines of all accounts together. Waiting takes memory alone: reads of other accounts are sent meanwhile. */
export const mostInLines = 16_384

/** Most readers that wait until the histories are open. */
const mostEarly = 4_096

/**
 * How long readers wait for histories that are only being opened, ms: a thread takes more than two seconds to start on a busy machine,
 * while clients wait ten for an answer.
 */
export const openingMs = 5_000

/**
 * How long a read may take, ms. One that takes longer fails alone while the worker answers others. Where it answers nothing for so long,
 * the disk under the histories does not answer either.
 */
export const patienceMs = 30_000

/** How often the log says that reads take too long, in ms. */
const saidEveryMs = 60_000

/** How long shutdown waits for missing records, and how often it checks, in milliseconds. */
const lastWaitMs = 1_000
const lookMs = 10

/** A connection to a process or thread that makes histories. */
export interface Line {
  readonly tell: (asked: Asked, transfer: ReadonlyArray<ArrayBuffer>) => void
  /** Ends the worker in good order, within so many milliseconds. Another may start only when nothing of this one is running any more. */
  readonly end: (patienceMs: number) => Effect.Effect<void>
}

/** Starts one; `gone` is called once, when it has ended. */
export type Dial = (begun: Begun, heard: (said: Said) => void, gone: (reason: string) => void) => Line

/** A read that the worker has not answered. */
interface Waiting {
  readonly id: number
  /** Whose rows it asks for; undefined of what is public. */
  readonly account: number | undefined
  readonly asked: Asked
  settle: (read: Histories.Read<unknown> | undefined) => void
}

/** The account whose rows a read asks for; undefined of a read that is the same for all. */
const accountOf = (question: Question, [first]: ReadonlyArray<unknown>): number | undefined => {
  if (question === "firstOrderSince") return undefined
  return typeof first === "number" ? first : (first as { readonly account?: number }).account
}

class Beside {
  private line: Line | undefined
  /** How far the histories are, as the worker last reported. */
  private reached: Histories.Reached | undefined
  private lastBeginning: Histories.Reached["beginning"]
  /** Completed once the worker has reported whether anything can be read, or has ended; undefined from then on. */
  private opening: Deferred.Deferred<void> | undefined
  /** The number of readers waiting for that. */
  private early = 0
  /** Whether any worker has opened the database before. */
  private hasBegun = false
  /** Since when there has been a durable record that the worker is not known to have; undefined where there is none. */
  private behindSinceEpochMs: number | undefined
  private readonly standstill: Histories.Standstill
  /** Also those that nobody waits for any more, until the worker has come to them. */
  private readonly waiting = new Map<number, Waiting>()
  private lines = new AccountLines<Waiting>(mostAtOnce)
  private ids = 0
  /** What any worker has ever said of the database: while this grows, it answers. */
  private said = 0
  /** When the log last said that reads take too long, by a monotonic clock. */
  private lateSaidNanos: bigint | undefined
  private readonly durable = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)
  private readonly givenUp = new SharedArrayBuffer(mostWithWorker * BigInt64Array.BYTES_PER_ELEMENT)

  constructor(
    private readonly dial: Dial,
    private readonly source: Source,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly clock: Clock.Clock
  ) {
    this.standstill = new Histories.Standstill(clock)
    const durableAt = new BigInt64Array(this.durable)
    const note = (sequence: number): void => {
      Atomics.store(durableAt, 0, BigInt(sequence))
      this.behindSinceEpochMs ??= this.now()
      // Measured from here on, since there may be no readers for a while.
      if (this.reached !== undefined) this.standstill.lookMs(this.reached, sequence)
    }
    source.listen(note)
    note(source.durableSequence())
  }

  private now(): number {
    return this.clock.unsafeCurrentTimeMillis()
  }

  readonly standing = (): Histories.Standing | undefined => {
    const { behindSinceEpochMs, reached } = this
    if (reached === undefined) return undefined
    const told = { ...reached, behindSinceEpochMs: reached.behindSinceEpochMs ?? behindSinceEpochMs }
    const durableSequence = this.source.durableSequence()
    return Histories.standingOf(told, durableSequence, this.now(), this.standstill.lookMs(reached, durableSequence))
  }

  readonly beginning = (): Histories.Reached["beginning"] => this.lastBeginning

  /** Keeps a worker running for as long as the venue lives. */
  get run(): Effect.Effect<never> {
    const { options: { endingMs, retryMs } } = this.source
    const one = Effect.acquireUseRelease(
      Effect.flatMap(Deferred.make<string>(), (gone) => Effect.as(Effect.sync(() => this.begin(gone)), gone)),
      (gone) => Deferred.await(gone),
      (_, exit) =>
        Effect.zipRight(
          Exit.isInterrupted(exit) ? this.caughtUp : Effect.void,
          Effect.suspend(() => {
            const { line } = this
            this.stopped()
            return line === undefined ? Effect.void : line.end(endingMs)
          })
        )
    )
    return Effect.forever(
      Effect.flatMap(one,
        (reason) =>
          Effect.zipRight(Effect.logWarning(`the histories stopped and go on in ${retryMs} ms: ${reason}`), Effect.sleep(retryMs)))
    )
  }

  /** Sends a read; a worker that answers nothing for as long as this one may take is ended. */
  read<A>(question: Question, parameters: ReadonlyArray<unknown>): Effect.Effect<Histories.Read<A>, Histories.Unavailable> {
    return Effect.zipRight(this.opened, Effect.suspend(() => {
      const { line, said } = this
      const account = accountOf(question, parameters)
      if (line === undefined || this.reached === undefined) return Effect.fail(new Histories.Unavailable())
      const id = ++this.ids
      const answer = Effect.async<Histories.Read<unknown> | undefined>((resume) => {
        // Looked at here, where the read takes its place: others may have taken it since, or the worker may have ended.
        if (this.isFull(account) || this.line !== line) return resume(Effect.succeed(undefined))
        const asked: Asked = { _tag: "Read", id, question, parameters }
        const read: Waiting = { id, account, asked, settle: (found) => resume(Effect.succeed(found)) }
        this.waiting.set(id, read)
        if (this.lines.begin(account, read)) line.tell(asked, [])
        return Effect.sync(() => this.giveUp(read))
      })
      const late = (): undefined => {
        if (this.line === line) this.late(said)
        return undefined
      }
      return Effect.flatMap(
        Effect.timeoutTo(answer, { duration: patienceMs, onSuccess: (read) => read, onTimeout: late }),
        (read) => read === undefined ? Effect.fail(new Histories.Unavailable()) : Effect.succeed(read as Histories.Read<A>)
      )
    }))
  }

  /** Whether there is no room for another read of an account. */
  private isFull(account: number | undefined): boolean {
    const { lines, waiting } = this
    if (lines.isBusy(account)) return lines.countOf(account) >= mostOfAccount || lines.waitingCount >= mostInLines
    return waiting.size - lines.waitingCount >= mostWithWorker
  }

  /** Nobody waits for a read any more. */
  private giveUp(read: Waiting): void {
    if (this.lines.leave(read.account, read)) {
      this.waiting.delete(read.id)
      return
    }
    read.settle = () => {}
    noteGivenUp(this.givenUp, read.id)
  }

  /** A read was not answered in time; `said`: how much the worker had said when it was asked. */
  private late(said: number): void {
    if (this.said === said) return this.broken(`the database has not answered for ${patienceMs} ms`)
    const nowNanos = this.clock.unsafeCurrentTimeNanos()
    if (this.lateSaidNanos !== undefined && nowNanos - this.lateSaidNanos < BigInt(saidEveryMs) * 1_000_000n) return
    this.lateSaidNanos = nowNanos
    const text = `a read of the histories was given up after ${patienceMs} ms: they answer others, and ${this.waiting.size} wait`
    Runtime.runFork(this.runtime)(Effect.logWarning(text))
  }

  /** Waits briefly while the histories are being opened, unless too many readers are waiting already. */
  private get opened(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { opening } = this
      if (opening === undefined || this.early >= mostEarly) return Effect.void
      this.early++
      return Effect.ensuring(
        Effect.asVoid(Effect.timeoutOption(Deferred.await(opening), openingMs)),
        Effect.sync(() => void this.early--)
      )
    })
  }

  private noLongerOpening(): void {
    const { opening } = this
    this.opening = undefined
    if (opening !== undefined) Deferred.unsafeDone(opening, Effect.void)
  }

  private broken: (reason: string) => void = () => {}

  private begin(gone: Deferred.Deferred<string>): void {
    const { durable, givenUp, hasBegun, source: { environment, options } } = this
    this.broken = (reason) => void Deferred.unsafeDone(gone, Effect.succeed(reason))
    const line: Line = this.dial(
      { environment, options, hasBegun, durable, givenUp },
      (said) => {
        if (this.line === line) this.heard(said, line)
      },
      (reason) => {
        if (this.line === line) this.broken(reason)
      }
    )
    this.line = line
    this.opening = Deferred.unsafeMake(FiberId.none)
  }

  private heard(said: Said, line: Line): void {
    switch (said._tag) {
      case "Found": {
        this.said++
        const read = this.waiting.get(said.id)
        if (read === undefined) return
        this.waiting.delete(said.id)
        const next = this.lines.next(read.account)
        if (next !== undefined) line.tell(next.asked, [])
        return read.settle(said.read)
      }
      case "Reached":
        this.said++
        this.reached = said.reached
        this.noLongerOpening()
        if (said.reached === undefined) return
        this.hasBegun = true
        this.lastBeginning = said.reached.beginning
        this.behindSinceEpochMs = this.behindSince(said.reached)
        return
      case "Wanted":
        Runtime.runFork(this.runtime)(
          Effect.catchAllDefect(this.give(said.sequence, line), (defect) => Effect.sync(() => this.broken(String(defect))))
        )
        return
      case "Logged":
        Runtime.runFork(this.runtime)(said.isError ? Effect.logError(said.text) : Effect.logWarning(said.text))
    }
  }

  /** Since when there has been a durable record that the histories lack; one may have become durable while they reported none. */
  private behindSince({ behindSinceEpochMs, place }: Histories.Reached): number | undefined {
    return place.sequence >= this.source.durableSequence() ? undefined : behindSinceEpochMs ?? this.now()
  }

  /**
   * Waits briefly at shutdown until the histories have every durable record, even where they were only just started. Normally the journal
   * supplies what is missing at the next start; but another version of the program would discard such histories altogether. Histories that
   * are being rebuilt from the first record are not waited for, since no short wait would be enough.
   */
  private get caughtUp(): Effect.Effect<void> {
    return Effect.gen(this, function*() {
      for (let waitedMs = 0; waitedMs < lastWaitMs; waitedMs += lookMs) {
        const standing = this.standing()
        if (standing !== undefined && (standing.isRebuilding || standing.sequence >= this.source.durableSequence())) return
        yield* Effect.sleep(lookMs)
      }
    })
  }

  /** Sends the records in memory from a sequence on, once they are durable. */
  private give(sequence: number, line: Line): Effect.Effect<void> {
    const { reached, run } = this.source
    return Effect.zipRight(reached(sequence), Effect.sync(() => {
      const found = run(sequence, recordsAtOnce)
      if (this.line === line) line.tell({ _tag: "Given", sequence, run: found }, found === undefined ? [] : [found.memory])
    }))
  }

  private stopped(): void {
    this.line = undefined
    this.reached = undefined
    this.noLongerOpening()
    const waiting = [...this.waiting.values()]
    this.waiting.clear()
    this.lines = new AccountLines(mostAtOnce)
    for (const { settle } of waiting) settle(undefined)
  }
}

/** Histories made by a worker that `dial` starts, within the scope. */
export const make = (dial: Dial, source: Source): Effect.Effect<Histories.Histories["Type"], never, Scope.Scope> =>
  Effect.gen(function*() {
    const clock = yield* Effect.clock
    const beside = new Beside(dial, source, yield* Effect.runtime<never>(), clock)
    yield* Effect.forkScoped(beside.run)
    const asking = <Q extends Question>(question: Q): Histories.Histories["Type"][Q] =>
      ((...parameters: ReadonlyArray<unknown>) => beside.read(question, parameters)) as unknown as Histories.Histories["Type"][Q]
    return {
      standing: beside.standing,
      beginning: beside.beginning,
      candles: asking("candles"),
      episodes: asking("episodes"),
      board: asking("board"),
      order: asking("order"),
      clientOrder: asking("clientOrder"),
      ordersBefore: asking("ordersBefore"),
      ordersBehind: asking("ordersBehind"),
      firstOrderSince: asking("firstOrderSince"),
      fillsBefore: asking("fillsBefore"),
      fillsSince: asking("fillsSince"),
      changesBefore: asking("changesBefore"),
      paymentsBefore: asking("paymentsBefore"),
      transfersBefore: asking("transfersBefore"),
      notesBefore: asking("notesBefore")
    }
  })
